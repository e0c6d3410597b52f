"""Prometheus itself reads what stoker makes of every recorded case."""

from collections import Counter
from typing import Any, Final

import pytest

from tests.conformance.cases import default_folder, suites
from tests.conformance.configuration import configuration
from tests.promtool import expanded, refusals

RECORDED: Final = {"prometheus-config": 439, "agent-config": 8, "agent-config-derived": 307}
AGENTS: Final = ("agent-config", "agent-config-derived")

# What the newest Prometheus refuses, and how often: cases that no cluster has, or not with it.
_GONE: Final = "the workload has an old version; the newest no longer knows the field"
REFUSED: Final = {
    "field max_retries not found in type config.QueueConfig": (1, _GONE),
    "field scrape_classic_histograms not found in type config.ScrapeConfig": (4, _GONE),
    "expected Alertmanager api version to be one of [v2] but got v1": (1, _GONE),
    "instance 0 in group 0: no address": (3, "the Probe has no prober, so nothing selects it"),
    "found multiple scrape configs with job name": (54, "two objects of a test have one name"),
}


def texts_of(suite: str) -> dict[str, str]:
    """Write the configurations of all cases in which the peer wrote one."""
    folder = default_folder()
    if not folder.is_dir():
        count = sum(RECORDED.values())
        pytest.skip(f"{count} recorded configurations are missing: no folder {folder}")
    cases = suites(folder)[suite].cases()
    agent = suite in AGENTS
    return {
        case.name: configuration(with_intervals(case.given), agent=agent).text
        for case in cases
        if "config" in case.expect
    }


def with_intervals(given: dict[str, Any]) -> dict[str, Any]:
    """Fill in what the API server would have filled in."""
    spec = dict(given["workload"]["spec"])
    for name in ("scrapeInterval", "evaluationInterval"):
        spec[name] = spec.get(name) or "30s"
    return given | {"workload": given["workload"] | {"spec": spec}}


def group_of(refusal: str) -> str:
    """Find the group of expected refusals that this one is in, or else the refusal itself."""
    return next((group for group in REFUSED if group in refusal), refusal)


def test_prometheus_takes_every_recorded_configuration() -> None:
    """Only the groups in the table are refused, and none of them more or less often."""
    found: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for suite, count in RECORDED.items():
        texts = texts_of(suite)
        assert len(texts) == count
        answers = refusals(list(texts.values()), agent=suite in AGENTS)
        for name, answer in zip(texts, answers, strict=True):
            if answer:
                found[group_of(answer)] += 1
                examples.setdefault(group_of(answer), f"{suite}/{name}")
    assert found == {group: count for group, (count, _) in REFUSED.items()}, examples


def test_variables_are_filled_in_as_in_a_pod() -> None:
    """A number that a pod has makes the file that Prometheus reads; unknown names stay."""
    assert expanded("a: $(SHARD);$(POD_NAME) $(OTHER) $SHARD") == (
        "a: 0;prometheus-test-0 $(OTHER) $SHARD"
    )


def test_a_refusal_is_told_with_its_file() -> None:
    """Each configuration gets its own answer, whatever was said of the one before."""
    good, bad = "global: {}\n", "scrape_configs:\n- job_name: Checking x\n  port: 1\n"
    answers = refusals([good, bad, good])
    assert [bool(answer) for answer in answers] == [False, True, False]
    assert "field port not found" in answers[1]
