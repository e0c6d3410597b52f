"""Feature flags, and what is odd about Prometheus and agents."""

import pytest

from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgentSpec, PrometheusSpec
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.api.remote import RemoteWrite
from stoker.api.workload import Argument
from stoker.validate.features import (
    FEATURES,
    IDLE_ON_NODES,
    WithoutEffect,
    alertmanager_notes,
    scraper_notes,
)
from stoker.validate.findings import Reason
from stoker.version import parse_version

SENDS = (RemoteWrite(url="https://store.example.com/write"),)


@pytest.mark.parametrize(
    ("version", "feature", "words"),
    [
        ("3.8.0", "native-histograms", ""),
        ("3.14.0", "native-histograms", "does nothing: since Prometheus 3.9.0 `scrapeNative"),
        ("3.14.0", "auto-gomaxprocs", "does not know"),
        ("2.40.0", "auto-gomaxprocs", ""),
        ("2.40.0", "utf8-names", "does not know"),
        ("3.14.0", "native-histogram", "no Prometheus up to 3.15.0 knows"),
        ("3.14.0", "promql-experimental-functions", "a server's"),
    ],
)
def test_flags_that_an_agent_does_not_know_are_noted(
    version: str, feature: str, words: str
) -> None:
    """With the path to the flag; the agent runs all the same."""
    spec = PrometheusAgentSpec(enable_features=(feature,), remote_write=SENDS)
    notes = list(scraper_notes(spec, parse_version(version)))
    assert [note.path for note in notes] == (["spec.enableFeatures[0]"] if words else [])
    assert all(words in note.message for note in notes)


@pytest.mark.parametrize(
    ("version", "feature", "reason"),
    [
        ("3.14.0", "promql-experimental-functions", None),
        ("3.14.0", "native-histogram", Reason.INVALID_VALUE),
        ("2.45.0", "promql-experimental-functions", Reason.UNSUPPORTED_VERSION),
        ("2.33.0", "promql-at-modifier", Reason.INVALID_VALUE),
        ("2.55.0", "agent", Reason.WILL_NOT_START),
        ("3.0.0", "agent", Reason.UNSUPPORTED_VERSION),
    ],
)
def test_flags_that_a_server_does_not_know_or_need_are_noted(
    version: str, feature: str, reason: Reason | None
) -> None:
    """A server needs no remote write, and has features of its own."""
    notes = list(scraper_notes(PrometheusSpec(enable_features=(feature,)), parse_version(version)))
    assert [note.reason for note in notes] == ([reason] if reason else [])


@pytest.mark.parametrize("kind", [PrometheusSpec, PrometheusAgentSpec])
def test_what_prometheus_ends_with_has_a_word_of_its_own(kind: type[PrometheusCommonSpec]) -> None:
    """Arguments of the other mode, and features that exclude each other; the path says which."""
    spec = kind(
        enable_features=("otlp-deltatocumulative", "otlp-native-delta-ingestion"),
        additional_args=(
            Argument(name="storage.agent.retention.min-time", value="5m"),
            Argument(name="query.max-samples", value="5"),
            Argument(name="storage.remote.flush-deadline", value="5m"),
        ),
        remote_write=SENDS,
    )
    found = [
        note.path
        for note in scraper_notes(spec, parse_version("3.5.0"))
        if note.reason is Reason.WILL_NOT_START
    ]
    other = 1 if kind is PrometheusAgentSpec else 0
    assert found == ["spec.enableFeatures", f"spec.additionalArgs[{other}]"]


@pytest.mark.parametrize(
    ("version", "names", "paths"),
    [
        ("0.34.0", ("classic-mode", "event-recorder"), []),
        ("0.34.0", ("classic", "auto-gomaxprocs"), ["[0]", "[1]"]),
        ("0.27.0", ("auto-gomemlimit",), ["[0]"]),
        ("0.34.0", ("classic-mode", "utf8-strict-mode"), [""]),
        ("0.26.0", ("anything",), []),
    ],
)
def test_features_with_which_an_alertmanager_ends_are_noted(
    version: str, names: tuple[str, ...], paths: list[str]
) -> None:
    """It does not go on as Prometheus does; one that has no such flag is not given it."""
    notes = list(alertmanager_notes(names, parse_version(version)))
    assert [note.path for note in notes] == [f"spec.enableFeatures{path}" for path in paths]
    assert all(note.reason is Reason.WILL_NOT_START for note in notes)


def test_an_agent_without_remote_write_is_noted() -> None:
    """It scrapes for nobody."""
    notes = list(scraper_notes(PrometheusAgentSpec(), parse_version("3.14.0")))
    assert [note.path for note in notes] == ["spec.remoteWrite"]


def test_versions_in_the_table_can_be_read() -> None:
    """A row with a misspelt version would fail on a user's cluster."""
    for feature in FEATURES.values():
        assert isinstance(feature.known_to(parse_version("3.0.0")), bool)
        assert isinstance(feature.idle_in(parse_version("3.0.0")), bool)


@pytest.mark.parametrize(("version", "noted"), [("2.31.2", True), ("2.32.0", False)])
def test_a_prometheus_that_is_no_agent_is_noted(version: str, noted: bool) -> None:
    """Agents came with 2.32: before, the flag keeps Prometheus from starting."""
    spec = PrometheusAgentSpec(remote_write=(RemoteWrite(url="http://a"),))
    found = [each.path for each in scraper_notes(spec, parse_version(version))]
    assert found == (["spec.version"] if noted else [])


@pytest.mark.parametrize("each", IDLE_ON_NODES, ids=lambda each: each.field)
def test_a_field_without_effect_on_every_node_is_noted(each: WithoutEffect) -> None:
    """Only in that mode, and with what does it instead."""
    given = {
        "updateStrategy": {"type": "OnDelete"},
        "podManagementPolicy": "Parallel",
        "serviceName": "own",
        "serviceDiscoveryRole": "Endpoints",
    }
    for mode in ("DaemonSet", "StatefulSet"):
        spec = {"mode": mode, "remoteWrite": [{"url": "http://a"}], each.field: given[each.field]}
        found = list(scraper_notes(convert(PrometheusAgentSpec, spec), parse_version("3.5.0")))
        assert [note.path for note in found] == (
            [f"spec.{each.field}"] if mode == "DaemonSet" else []
        )
        assert all(each.instead in note.message for note in found)
