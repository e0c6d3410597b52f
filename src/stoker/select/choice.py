"""Which resources apply to a workload, by their labels and those of their namespaces.

A workload chooses among the kinds that its specification has selectors for: a Prometheus monitors
and rules, an agent monitors alone, a Thanos Ruler rules alone.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct

from stoker.api.core import LabelSelector
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.api.rules import PrometheusRule
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.api.workload import WorkloadSpec
from stoker.select.labels import Selector, selector_of
from stoker.select.workload import Scraper, Workload
from stoker.settings import OperatorSettings

Monitor: TypeAlias = ServiceMonitor | PodMonitor | Probe | ScrapeConfig
Candidate: TypeAlias = Monitor | PrometheusRule
NamespaceLabels: TypeAlias = Mapping[str, Mapping[str, str]]

R = TypeVar("R", bound=Candidate)

# Kubernetes puts this label on every namespace.
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"


class SelectedKind(Struct, frozen=True):
    """A kind of resource: its name, its type, and the workload's selectors for it."""

    name: str
    model: type
    selector: str
    namespace_selector: str


def _kind(model: type, prefix: str) -> SelectedKind:
    return SelectedKind(model.__name__, model, f"{prefix}_selector", f"{prefix}_namespace_selector")


MONITOR_KINDS: Final = (
    _kind(ServiceMonitor, "service_monitor"),
    _kind(PodMonitor, "pod_monitor"),
    _kind(Probe, "probe"),
    _kind(ScrapeConfig, "scrape_config"),
)
RULE_KIND: Final = _kind(PrometheusRule, "rule")
SELECTED_KINDS: Final = (*MONITOR_KINDS, RULE_KIND)
UNMANAGED: Final = (
    "no selector for ServiceMonitors, PodMonitors, Probes or ScrapeConfigs is set, so the "
    "configuration's Secret is left to you; set one, if only to `{}`, to have it written"
)
_POSITION: Final = {kind.model: position for position, kind in enumerate(SELECTED_KINDS)}


class Choice(Struct, frozen=True):
    """Which resources of a kind a workload asks for.

    Without `namespaces`, it looks in `own_namespace` alone.
    """

    labels: Selector
    namespaces: Selector | None
    own_namespace: str

    def takes_namespace(self, name: str, labels: Mapping[str, str] | None) -> bool:
        """Whether the workload looks in a namespace; labels are unknown where there are none."""
        if self.namespaces is None:
            return name == self.own_namespace
        return self.namespaces.matches(labels if labels is not None else {NAMESPACE_NAME: name})


def is_unmanaged(scraper: Scraper, settings: OperatorSettings) -> bool:
    """Whether the configuration of a workload is its user's own, as `UNMANAGED` says."""
    return (
        settings.unmanaged_configurations
        and isinstance(scraper, Prometheus)
        and all(getattr(scraper.spec, kind.selector) is None for kind in MONITOR_KINDS)
    )


def choice(spec: WorkloadSpec, namespace: str, kind: SelectedKind) -> Choice:
    """Which resources of a kind a workload asks for."""
    namespaces: LabelSelector | None = getattr(spec, kind.namespace_selector)
    return Choice(
        selector_of(getattr(spec, kind.selector)),
        None if namespaces is None else selector_of(namespaces),
        namespace,
    )


def choices(spec: WorkloadSpec, namespace: str) -> dict[str, Choice]:
    """Which resources a workload asks for, by the names of the kinds that it can ask for."""
    known = (kind for kind in SELECTED_KINDS if hasattr(spec, kind.selector))
    return {kind.name: choice(spec, namespace, kind) for kind in known}


def applicable(workload: Workload, candidates: Iterable[R], namespaces: NamespaceLabels) -> list[R]:
    """The resources that apply to a workload, by kind, namespace and name."""
    return chosen(choices(workload.spec, workload.namespace), candidates, namespaces)


def chosen(
    wanted: Mapping[str, Choice], candidates: Iterable[R], namespaces: NamespaceLabels
) -> list[R]:
    """The resources that choices take, by kind, namespace and name."""
    found = [one for one in candidates if _applies(one, wanted.get(type(one).__name__), namespaces)]
    return sorted(found, key=_order)


def _applies(resource: Candidate, wanted: Choice | None, namespaces: NamespaceLabels) -> bool:
    name = resource.metadata.namespace or ""
    return (
        wanted is not None
        and wanted.labels.matches(resource.metadata.labels)
        and wanted.takes_namespace(name, namespaces.get(name))
    )


def _order(resource: Candidate) -> tuple[int, str, str]:
    metadata = resource.metadata
    return _POSITION[type(resource)], metadata.namespace or "", metadata.name or ""
