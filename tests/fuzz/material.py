"""What objects are made of: whole ones by kind, and their parts by the names of fields.

These are our own examples and, where they are present, the recorded objects.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from tests.conformance.cases import default_folder, suites
from tests.conformance.compare import without_nulls
from tests.fuzz.examples import SPECS, Spec

_FIELDS: Final = {
    "serviceMonitors": "ServiceMonitor",
    "podMonitors": "PodMonitor",
    "probes": "Probe",
    "scrapeConfigs": "ScrapeConfig",
}
_SELECTIONS: Final = {f"selection-{kind.lower()}": kind for kind in _FIELDS.values()}
_CONFIGURATIONS: Final = {"prometheus-config": "Prometheus", "agent-config": "PrometheusAgent"}


@cache
def specs() -> dict[str, list[Spec]]:
    """Every spec that there is, by kind."""
    found = {kind: list(own) for kind, own in SPECS.items()}
    for kind, spec in _recorded():
        found[kind].append(without_nulls(spec))
    return found


def _recorded() -> Iterator[tuple[str, Spec]]:
    present = suites(default_folder())
    for name in (*_CONFIGURATIONS, *_SELECTIONS):
        for case in present[name].cases() if name in present else ():
            given = case.given
            if name in _SELECTIONS:
                yield from ((_SELECTIONS[name], one["spec"]) for one in given["objects"])
                continue
            yield _CONFIGURATIONS[name], given["workload"]["spec"]
            for field, kind in _FIELDS.items():
                yield from ((kind, one["spec"]) for one in (given.get(field) or {}).values())


@cache
def parts() -> dict[str, list[Any]]:
    """Every value that stands under a name somewhere, by that name."""
    found: dict[str, list[Any]] = {}
    for each in specs().values():
        for spec in each:
            _collect(spec, found)
    return found


def _collect(value: Any, found: dict[str, list[Any]]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            found.setdefault(name, []).append(inner)
            _collect(inner, found)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, found)
