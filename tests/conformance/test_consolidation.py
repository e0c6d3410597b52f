"""Every monitor and probe of the recorded cases scrapes the same as ScrapeConfigs."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from stoker.api.decode import convert
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from tests.conformance.cases import Case, suites
from tests.conformance.compare import without_nulls
from tests.conformance.configuration import contents_of, workload_of
from tests.equivalence import differences

_SUITES: Final = {"prometheus-config": False, "agent-config": True}
_KINDS: Final[dict[str, Any]] = {
    "serviceMonitors": ServiceMonitor,
    "podMonitors": PodMonitor,
    "probes": Probe,
}


def test_recorded_monitors_become_scrape_configs_with_the_same_jobs(conformance: Path) -> None:
    """What cannot be said in a ScrapeConfig is told, and is a small part."""
    counts: Counter[str] = Counter()
    different = []
    found = suites(conformance)
    for suite, agent in _SUITES.items():
        for case in found[suite].cases():
            for monitor, workload, assets in monitors(case, agent=agent):
                told = differences(monitor, workload, assets)
                if isinstance(told, list):
                    counts["same"] += not told
                    different += [(case.name, each) for each in told]
                else:
                    counts.update(each.reason for each in told.problems[:1])
    print(*(f"{count:5} {reason}" for reason, count in counts.most_common()), sep="\n")
    assert not different, different[0]
    assert counts["same"] > 0.7 * counts.total()


def monitors(case: Case, *, agent: bool) -> Iterator[tuple[Any, Scraper, AssetsAtHand]]:
    """The monitors of a case, each with the workload and the values that it refers to."""
    workload, assets = workload_of(case.given, agent=agent), contents_of(case.given)
    for field, model in _KINDS.items():
        for value in (case.given.get(field) or {}).values():
            yield convert(model, without_nulls(value)), workload, assets
