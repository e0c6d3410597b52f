"""What each of our kinds is to an operator: one row for each, read by every room.

What a room does with a kind is in a table of that room (`docs/architecture.md` lists them); what a
kind is, is here. It knows no types, so that asking costs nothing at a start.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct


class WorkloadRole(Struct, frozen=True, kw_only=True):
    """A kind of workload.

    `flags` is how flags, and the settings behind them, call it: `--prometheus-instance-selector`.
    `controller` is its name in metrics. `scrapes`: whether it scrapes what resources name.
    """

    kind: str
    flags: str
    controller: str
    scrapes: bool = False


class ResourceRole(Struct, frozen=True, kw_only=True):
    """A kind of resource, which workloads select.

    `selector` is what the members of a workload that select it begin with. `monitor`: whether it
    says what is scraped. `consolidated`: whether a ScrapeConfig can stand in for it. `flags` is how
    flags call it, where it is looked for in namespaces of its own. `named_by` is the kind of
    workload that may name one beside it, wherever others are looked for.
    """

    kind: str
    selector: str
    monitor: bool = False
    consolidated: bool = False
    flags: str = ""
    named_by: str = ""


WORKLOADS: Final[Mapping[str, WorkloadRole]] = {
    role.kind: role
    for role in (
        WorkloadRole(kind="Prometheus", flags="prometheus", controller="prometheus", scrapes=True),
        WorkloadRole(
            kind="PrometheusAgent", flags="prometheus", controller="prometheus-agent", scrapes=True
        ),
        WorkloadRole(kind="Alertmanager", flags="alertmanager", controller="alertmanager"),
        WorkloadRole(kind="ThanosRuler", flags="thanos_ruler", controller="thanos"),
    )
}
RESOURCES: Final[Mapping[str, ResourceRole]] = {
    role.kind: role
    for role in (
        ResourceRole(
            kind="ServiceMonitor", selector="service_monitor", monitor=True, consolidated=True
        ),
        ResourceRole(kind="PodMonitor", selector="pod_monitor", monitor=True, consolidated=True),
        ResourceRole(kind="Probe", selector="probe", monitor=True, consolidated=True),
        ResourceRole(kind="ScrapeConfig", selector="scrape_config", monitor=True),
        ResourceRole(kind="PrometheusRule", selector="rule"),
        ResourceRole(
            kind="AlertmanagerConfig",
            selector="alertmanager_config",
            flags="alertmanager_config",
            named_by="Alertmanager",
        ),
    )
}


def kinds_that(**wanted: bool) -> tuple[str, ...]:
    """The kinds of resources of which all of this is so, in order."""
    return tuple(
        name
        for name, role in RESOURCES.items()
        if all(getattr(role, member) is value for member, value in wanted.items())
    )
