"""Feature flags, and notes about agents (K4)."""

import pytest

from stoker.api.prometheus import PrometheusAgentSpec
from stoker.api.remote import RemoteWrite
from stoker.validate.features import FEATURES, agent_notes
from stoker.version import parse_version

SENDS = (RemoteWrite(url="https://store.example.com/write"),)


@pytest.mark.parametrize(
    ("version", "feature", "words"),
    [
        ("3.14.0", "native-histograms", ""),
        ("3.14.0", "auto-gomaxprocs", "does not know"),
        ("2.40.0", "auto-gomaxprocs", ""),
        ("2.40.0", "utf8-names", "does not know"),
        ("3.14.0", "native-histogram", "no Prometheus knows"),
        ("3.14.0", "promql-experimental-functions", "a server's"),
    ],
)
def test_flags_that_an_agent_does_not_know_are_noted(
    version: str, feature: str, words: str
) -> None:
    """With the path to the flag; the agent runs all the same."""
    spec = PrometheusAgentSpec(enable_features=(feature,), remote_write=SENDS)
    notes = list(agent_notes(spec, parse_version(version)))
    assert [note.path for note in notes] == (["spec.enableFeatures[0]"] if words else [])
    assert all(words in note.message for note in notes)


def test_an_agent_without_remote_write_is_noted() -> None:
    """It scrapes for nobody."""
    notes = list(agent_notes(PrometheusAgentSpec(), parse_version("3.14.0")))
    assert [note.path for note in notes] == ["spec.remoteWrite"]


def test_versions_in_the_table_can_be_read() -> None:
    """A row with a misspelt version would fail on a user's cluster."""
    for feature in FEATURES.values():
        assert isinstance(feature.known_to(parse_version("3.0.0")), bool)
