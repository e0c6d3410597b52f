"""Which resources a workload gets its configuration from, and why others are left out.

A resource applies to a workload when its labels match the workload's selector for that kind and
its namespace matches the selector for namespaces. Each one that applies is judged: accepted, or
rejected with everything that is wrong with it. A verdict depends on the resource, the workload's
settings and the values that were read, nothing else, so it can be kept as long as these stay.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, Final, TypeAlias

from msgspec import Struct

from stoker.api.core import LabelSelector
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.select.assets import Assets, Missing, Source
from stoker.select.labels import Selector, selector_of
from stoker.validate.findings import INVALID_CONFIGURATION, Finding, Findings
from stoker.validate.monitors import pod_monitor, probe, service_monitor
from stoker.validate.scope import Scope, Workload
from stoker.validate.scrapeconfig import scrape_config
from stoker.validate.workload import workload as workload_findings

Monitor: TypeAlias = ServiceMonitor | PodMonitor | Probe | ScrapeConfig
NamespaceLabels: TypeAlias = Mapping[str, Mapping[str, str]]

# Kubernetes puts this label on every namespace.
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"


class MonitorKind(Struct, frozen=True):
    """A kind of resource: its name, its type, the workload's selectors for it, and its checks."""

    name: str
    model: type
    selector: str
    namespace_selector: str
    findings: Callable[[Any, Scope], Findings]


MONITOR_KINDS: Final = tuple(
    MonitorKind(model.__name__, model, f"{prefix}_selector", f"{prefix}_namespace_selector", check)
    for model, prefix, check in (
        (ServiceMonitor, "service_monitor", service_monitor),
        (PodMonitor, "pod_monitor", pod_monitor),
        (Probe, "probe", probe),
        (ScrapeConfig, "scrape_config", scrape_config),
    )
)
_BY_MODEL: Final = {kind.model: kind for kind in MONITOR_KINDS}


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


class Verdict(Struct, frozen=True):
    """What a workload makes of a resource.

    `reads` are the values it was judged by, `files` what must be mounted for it (file name to
    text), empty for a rejected one.
    """

    kind: str
    resource: Monitor
    findings: tuple[Finding, ...] = ()
    reads: Mapping[Source, str | Missing] = {}
    files: Mapping[str, str] = {}

    @property
    def accepted(self) -> bool:
        """Whether the resource goes into the configuration."""
        return not self.findings

    @property
    def reason(self) -> str:
        """The word for a condition; empty for an accepted resource."""
        return INVALID_CONFIGURATION if self.findings else ""

    @property
    def message(self) -> str:
        """The sentence for a condition."""
        return "; ".join(map(str, self.findings))

    @property
    def key(self) -> tuple[str, str, str]:
        """Kind, namespace and name."""
        metadata = self.resource.metadata
        return self.kind, metadata.namespace or "", metadata.name or ""


class Selection(Struct, frozen=True):
    """The verdicts on all resources that apply to a workload, and on the workload itself.

    With findings about the workload there is no configuration to be made.
    """

    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...] = ()
    own_reads: Mapping[Source, str | Missing] = {}
    own_files: Mapping[str, str] = {}

    @property
    def accepted(self) -> tuple[Verdict, ...]:
        """What goes into the configuration, by kind, namespace and name."""
        return tuple(verdict for verdict in self.verdicts if verdict.accepted)

    @property
    def rejected(self) -> tuple[Verdict, ...]:
        """What is left out and reported."""
        return tuple(verdict for verdict in self.verdicts if not verdict.accepted)

    @property
    def references(self) -> frozenset[tuple[str, str, str]]:
        """The Secrets and ConfigMaps that were read: a change of one may change the outcome."""
        reads = chain(self.own_reads, *(verdict.reads for verdict in self.verdicts))
        return frozenset((source.kind, source.namespace, source.name) for source in reads)

    @property
    def files(self) -> dict[str, str]:
        """The files to mount: name to text."""
        together = dict(self.own_files)
        for verdict in self.verdicts:
            together.update(verdict.files)
        return together


def select(
    workload: Workload,
    candidates: Iterable[Monitor],
    namespaces: NamespaceLabels,
    assets: Assets,
) -> Selection:
    """Judge the workload and every resource that applies to it.

    `namespaces` holds the labels of namespaces by name.
    """
    scope = Scope(workload, assets, workload.namespace)
    findings = tuple(workload_findings(workload.spec, scope))
    chosen = applicable(workload, candidates, namespaces)
    verdicts = tuple(judge(workload, resource, assets) for resource in chosen)
    return Selection(verdicts, findings, scope.reads, scope.files)


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
    position = MONITOR_KINDS.index(_BY_MODEL[type(resource)])
    return position, resource.metadata.namespace or "", resource.metadata.name or ""


def judge(workload: Workload, resource: Monitor, assets: Assets) -> Verdict:
    """Whether a resource that applies to a workload can be used by it."""
    kind = _BY_MODEL[type(resource)]
    scope = Scope(workload, assets, resource.metadata.namespace or "")
    findings = tuple(kind.findings(resource, scope))
    return Verdict(kind.name, resource, findings, scope.reads, {} if findings else scope.files)
