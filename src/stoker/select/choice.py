"""Which resources apply to a workload, by their labels and those of their namespaces.

A workload chooses among the kinds that its specification has selectors for: a Prometheus monitors
and rules, an agent monitors alone, a Thanos Ruler rules alone, an Alertmanager AlertmanagerConfigs,
of which it may also name one.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, TypeVar, get_args

from msgspec import Struct

from stoker.api.alertmanager import AlertmanagerSpec
from stoker.api.amconfig import v1alpha1, v1beta1
from stoker.api.core import LabelSelector
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import Prometheus
from stoker.api.rules import PrometheusRule
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.api.workload import WorkloadSpec
from stoker.roles import RESOURCES
from stoker.select.consolidated import monitor_behind
from stoker.select.labels import Selector, selector_of
from stoker.select.workload import Scraper, Workload
from stoker.settings import OperatorSettings

Monitor: TypeAlias = ServiceMonitor | PodMonitor | Probe | ScrapeConfig
AlertmanagerConfig: TypeAlias = v1alpha1.AlertmanagerConfig | v1beta1.AlertmanagerConfig
Resource: TypeAlias = Monitor | PrometheusRule | AlertmanagerConfig
NamespaceLabels: TypeAlias = Mapping[str, Mapping[str, str]]

R = TypeVar("R", bound=Resource)

# Kubernetes puts this label on every namespace.
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"


class SelectedKind(Struct, frozen=True):
    """A kind of resource: its name, its type, and the workload's selectors for it."""

    name: str
    model: type
    selector: str
    namespace_selector: str


# Of a kind with several types the first counts: it is the one that objects are read as.
_MODELS: Final[dict[str, type]] = {each.__name__: each for each in reversed(get_args(Resource))}
SELECTED_KINDS: Final = tuple(
    SelectedKind(
        role.kind,
        _MODELS[role.kind],
        f"{role.selector}_selector",
        f"{role.selector}_namespace_selector",
    )
    for role in RESOURCES.values()
)
MONITOR_KINDS: Final = tuple(kind for kind in SELECTED_KINDS if RESOURCES[kind.name].monitor)
RULE_KIND: Final = next(kind for kind in SELECTED_KINDS if kind.model is PrometheusRule)
SELECTORS: Final = tuple(
    selector
    for kind in (*MONITOR_KINDS, RULE_KIND)
    for selector in (kind.selector, kind.namespace_selector)
)
"""The members by which a Prometheus chooses resources; an agent has those for monitors."""
_MONITORS: Final = [f"{kind.name}s" for kind in MONITOR_KINDS]
UNMANAGED: Final = (
    f"no selector for {', '.join(_MONITORS[:-1])} or {_MONITORS[-1]} is set, so the "
    "configuration's Secret is left to you; set one, if only to `{}`, to have it written"
)
_POSITION: Final = {kind.name: position for position, kind in enumerate(SELECTED_KINDS)}


class Choice(Struct, frozen=True):
    """Which resources of a kind a workload asks for.

    Without `namespaces`, it looks in `own_namespace` alone. The one that it calls by its name lies
    there too, and is taken whatever its labels are.
    """

    labels: Selector
    namespaces: Selector | None
    own_namespace: str
    named: str = ""

    @property
    def is_of_nothing(self) -> bool:
        """Whether no resource can ever be taken."""
        return self.labels.nothing and not self.named

    @property
    def asks_for_labels(self) -> bool:
        """Whether the namespaces to look in are chosen by labels other than their name."""
        required = self.namespaces.requirements if self.namespaces else ()
        return any(each.key != NAMESPACE_NAME for each in required)

    def names(self, namespace: str, name: str) -> bool:
        """Whether the workload calls a resource by its name."""
        return bool(self.named) and (namespace, name) == (self.own_namespace, self.named)

    def takes_namespace(self, name: str, labels: Mapping[str, str] | None) -> bool:
        """Whether the workload looks in a namespace; labels are unknown where there are none."""
        if self.namespaces is None:
            return name == self.own_namespace
        return self.namespaces.matches(labels if labels is not None else {NAMESPACE_NAME: name})


def is_unmanaged(workload: Workload, settings: OperatorSettings) -> bool:
    """Whether the configuration of a workload is its user's own, as `UNMANAGED` says."""
    return (
        settings.unmanaged_configurations
        and isinstance(workload, Prometheus)
        and all(getattr(workload.spec, kind.selector) is None for kind in MONITOR_KINDS)
    )


def choice(spec: WorkloadSpec, namespace: str, kind: SelectedKind) -> Choice:
    """Which resources of a kind a workload asks for."""
    namespaces: LabelSelector | None = getattr(spec, kind.namespace_selector)
    return Choice(
        selector_of(getattr(spec, kind.selector)),
        None if namespaces is None else selector_of(namespaces),
        namespace,
        _named(spec) if RESOURCES[kind.name].named_by else "",
    )


def _named(spec: WorkloadSpec) -> str:
    """The AlertmanagerConfig that an Alertmanager starts from."""
    start = spec.alertmanager_configuration if isinstance(spec, AlertmanagerSpec) else None
    return (start.name if start else None) or ""


def choices(workload: Workload) -> dict[str, Choice]:
    """Which resources a workload asks for, by the names of the kinds that it can ask for."""
    return choices_in(workload.metadata.namespace or "", workload.spec)


def choices_in(namespace: str, spec: WorkloadSpec) -> dict[str, Choice]:
    """The same for a workload of which no more is known."""
    known = (kind for kind in SELECTED_KINDS if hasattr(spec, kind.selector))
    return {kind.name: choice(spec, namespace, kind) for kind in known}


def applicable(scraper: Scraper, candidates: Iterable[R], namespaces: NamespaceLabels) -> list[R]:
    """The resources that apply to a workload, by kind, namespace and name."""
    return chosen(choices_in(scraper.namespace, scraper.spec), candidates, namespaces)


def chosen(
    wanted: Mapping[str, Choice], candidates: Iterable[R], namespaces: NamespaceLabels
) -> list[R]:
    """The resources that choices take, by kind, namespace and name."""
    found = [one for one in candidates if _applies(one, wanted.get(type(one).__name__), namespaces)]
    return sorted(found, key=_order)


def _applies(resource: Resource, wanted: Choice | None, namespaces: NamespaceLabels) -> bool:
    if wanted is None:
        return False
    metadata = resource.metadata
    if isinstance(resource, ScrapeConfig) and monitor_behind(metadata):
        return False
    namespace = metadata.namespace or ""
    return wanted.names(namespace, metadata.name or "") or (
        wanted.labels.matches(metadata.labels)
        and wanted.takes_namespace(namespace, namespaces.get(namespace))
    )


def _order(resource: Resource) -> tuple[int, str, str]:
    metadata = resource.metadata
    return _POSITION[type(resource).__name__], metadata.namespace or "", metadata.name or ""
