"""What a workload makes of the resources that apply to it: accepted, or rejected and why.

A verdict depends on the resource, the workload's settings and the values that were read, nothing
else, so it can be kept as long as these stay.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from stoker.api.convert import as_written
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import OverBudgetError
from stoker.limits import Limits
from stoker.ref import Ref, ref_from
from stoker.select.assets import Assets, Missing, Source
from stoker.select.choice import Monitor, NamespaceLabels, applicable
from stoker.select.workload import Scraper
from stoker.validate.budget import over_budget, stopped
from stoker.validate.findings import (
    INVALID_CONFIGURATION,
    Finding,
    Findings,
    decisive,
    nothing_known,
)
from stoker.validate.monitors import pod_monitor, probe, service_monitor
from stoker.validate.reading import ScraperReading
from stoker.validate.scrapeconfig import scrape_config
from stoker.validate.workload import workload as workload_findings

_CHECKS: Final[dict[type, Callable[[Any, ScraperReading], Findings]]] = {
    ServiceMonitor: service_monitor,
    PodMonitor: pod_monitor,
    Probe: probe,
    ScrapeConfig: scrape_config,
}


NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})
"""What most resources read and have mounted: kept once for all of them."""


class Outcome(StrEnum):
    """What becomes of a resource; unknown where that hangs on what was not there to be read."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


class Verdict(Struct, frozen=True):
    """What a workload makes of a resource, a monitor or a PrometheusRule.

    `reads` are the values it was judged by, `files` what must be mounted for it (file name to
    text), empty for a rejected one.
    """

    kind: str
    resource: Any
    findings: tuple[Finding, ...] = ()
    reads: Mapping[Source, str | Missing] = NOTHING
    files: Mapping[str, str] = NOTHING

    @property
    def accepted(self) -> bool:
        """Whether the resource goes into the configuration."""
        return not self.findings

    @property
    def first(self) -> Finding:
        """The finding that says most."""
        return self.decisive[0]

    @property
    def decisive(self) -> tuple[Finding, ...]:
        """The findings that say why it is left out."""
        return decisive(self.findings)

    @property
    def outcome(self) -> Outcome:
        """The same, for whoever sees less than an operator would."""
        if self.accepted:
            return Outcome.ACCEPTED
        return Outcome.UNKNOWN if nothing_known(self.findings) else Outcome.REJECTED

    @property
    def reason(self) -> str:
        """The word for a condition; empty for an accepted resource."""
        return INVALID_CONFIGURATION if self.findings else ""

    @property
    def message(self) -> str:
        """The sentence for a condition."""
        return "; ".join(map(str, self.decisive))

    @property
    def ref(self) -> Ref:
        """The resource."""
        metadata = self.resource.metadata
        return ref_from(self.kind, metadata)


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
    def references(self) -> frozenset[Ref]:
        """The Secrets and ConfigMaps that were read: a change of one may change the outcome."""
        reads = chain(self.own_reads, *(verdict.reads for verdict in self.verdicts))
        return frozenset(source.ref for source in reads)

    @property
    def files(self) -> dict[str, str]:
        """The files to mount: name to text."""
        together = dict(self.own_files)
        for verdict in self.verdicts:
            together.update(verdict.files)
        return together


def select(
    scraper: Scraper,
    candidates: Iterable[Monitor],
    namespaces: NamespaceLabels,
    assets: Assets,
) -> Selection:
    """Judge the workload and every resource that applies to it.

    `namespaces` holds the labels of namespaces by name.
    """
    reading = ScraperReading(scraper, assets, scraper.namespace)
    findings = tuple(workload_findings(scraper.spec, reading))
    chosen = applicable(scraper, candidates, namespaces)
    verdicts = tuple(judge(scraper, resource, assets) for resource in chosen)
    return Selection(verdicts, findings, reading.reads, reading.files)


def judge(scraper: Scraper, resource: Monitor, assets: Assets) -> Verdict:
    """Whether a resource that applies to a workload can be used by it."""
    limits = scraper.capabilities.limits
    reading = ScraperReading(scraper, assets, resource.metadata.namespace or "", limits)
    findings = tuple(_as_written(resource, _findings(resource, reading, limits)))
    return Verdict(
        type(resource).__name__,
        resource,
        findings,
        reading.reads or NOTHING,
        NOTHING if findings else reading.files or NOTHING,
    )


def _findings(resource: Monitor, reading: ScraperReading, limits: Limits) -> Findings:
    """What it costs first: what is over its budget is not looked at any further."""
    nested = isinstance(resource, ScrapeConfig)
    over = tuple(over_budget(resource.spec, limits, nested=nested))
    if over:
        yield from over
        return
    try:
        yield from _CHECKS[type(resource)](resource, reading)
    except OverBudgetError as error:
        yield stopped(error)


def _as_written(resource: Monitor, findings: Findings) -> Findings:
    """Findings in the words of the version in which the user wrote the resource."""
    kind = type(resource).__name__
    for one in findings:
        path, message = as_written(resource.api_version, kind, one.path, one.message)
        yield Finding(path, one.reason, message)
