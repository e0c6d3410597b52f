"""Which resources apply to a workload, by their labels and those of their namespaces."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from stoker.api.core import LabelSelector
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.select.labels import Selector, selector_of
from stoker.select.workload import Workload

Monitor: TypeAlias = ServiceMonitor | PodMonitor | Probe | ScrapeConfig
NamespaceLabels: TypeAlias = Mapping[str, Mapping[str, str]]

# Kubernetes puts this label on every namespace.
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"


class MonitorKind(Struct, frozen=True):
    """A kind of resource: its name, its type, and the workload's selectors for it."""

    name: str
    model: type
    selector: str
    namespace_selector: str


MONITOR_KINDS: Final = tuple(
    MonitorKind(model.__name__, model, f"{prefix}_selector", f"{prefix}_namespace_selector")
    for model, prefix in (
        (ServiceMonitor, "service_monitor"),
        (PodMonitor, "pod_monitor"),
        (Probe, "probe"),
        (ScrapeConfig, "scrape_config"),
    )
)
_POSITION: Final = {kind.model: position for position, kind in enumerate(MONITOR_KINDS)}


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


def choice(spec: PrometheusCommonSpec, namespace: str, kind: MonitorKind) -> Choice:
    """Which resources of a kind a workload asks for."""
    namespaces: LabelSelector | None = getattr(spec, kind.namespace_selector)
    return Choice(
        selector_of(getattr(spec, kind.selector)),
        None if namespaces is None else selector_of(namespaces),
        namespace,
    )


def applicable(
    workload: Workload, candidates: Iterable[Monitor], namespaces: NamespaceLabels
) -> list[Monitor]:
    """The resources that apply to a workload, by kind, namespace and name."""
    choices = {
        kind.model: choice(workload.spec, workload.namespace, kind) for kind in MONITOR_KINDS
    }
    chosen = [one for one in candidates if _applies(one, choices[type(one)], namespaces)]
    return sorted(chosen, key=_order)


def _applies(resource: Monitor, wanted: Choice, namespaces: NamespaceLabels) -> bool:
    name = resource.metadata.namespace or ""
    return wanted.labels.matches(resource.metadata.labels) and wanted.takes_namespace(
        name, namespaces.get(name)
    )


def _order(resource: Monitor) -> tuple[int, str, str]:
    metadata = resource.metadata
    return _POSITION[type(resource)], metadata.namespace or "", metadata.name or ""
