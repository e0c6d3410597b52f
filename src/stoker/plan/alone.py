"""What is made of a resource by a workload that is made up: what can be said without one.

The workload selects everything and has no settings of its own, so what it rejects, any workload of
its version rejects. What another workload might allow (an experimental function, a scrape class)
and what is not there to be read is not known, and says so.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.alertmanager import Alertmanager, AlertmanagerSpec
from stoker.api.core import LabelSelector, ObjectMeta
from stoker.api.prometheus import Prometheus, PrometheusSpec
from stoker.api.thanosruler import ThanosRuler, ThanosRulerSpec
from stoker.plan.kept import Kept
from stoker.plan.kinds import kept_of
from stoker.promql import EVERY_FLAG
from stoker.ref import ref_of
from stoker.select.assets import WholeAssets
from stoker.select.choice import Resource
from stoker.select.workload import Workload
from stoker.settings import (
    DEFAULT_ALERTMANAGER_VERSION,
    DEFAULT_PROMETHEUS_VERSION,
    Capabilities,
)
from stoker.validate.findings import Finding, Reason
from stoker.validate.verdicts import Outcome, Verdict

_NOBODY: Final = ObjectMeta(name="", namespace="")


class Versions(Struct, frozen=True, kw_only=True):
    """The versions of the programs that a resource is judged for; of Thanos none if it is empty."""

    prometheus: str = DEFAULT_PROMETHEUS_VERSION
    alertmanager: str = DEFAULT_ALERTMANAGER_VERSION
    thanos: str = ""


class Bystanders:
    """Workloads of these versions that judge one resource after the other, each for itself.

    WorkloadError where a version cannot be read.
    """

    def __init__(self, versions: Versions, capabilities: Capabilities, assets: WholeAssets) -> None:
        self._assets = assets
        plain, lenient = (
            tuple(kept_of(each, capabilities, assets) for each in _workloads(versions, flags))
            for flags in ((), EVERY_FLAG)
        )
        self._plain, self._lenient = plain, lenient

    def verdict(self, resource: Resource) -> Verdict:
        """What becomes of a resource: rejected if one of those that could select it rejects it."""
        found = self._verdict(self._plain, resource)
        if found.outcome is not Outcome.REJECTED:
            return found
        excused = self._verdict(self._lenient, resource)
        certain = set(map(str, excused.findings))
        return replace(found, findings=tuple(_weighed(found.findings, certain)))

    def _verdict(self, judges: Iterable[Kept], resource: Resource) -> Verdict:
        verdicts = [found for each in judges if (found := self._asked(each, resource))]
        rejecting = [each for each in verdicts if each.outcome is Outcome.REJECTED]
        return (rejecting or [each for each in verdicts if not each.accepted] or verdicts)[0]

    def _asked(self, judge: Kept, resource: Resource) -> Verdict | None:
        key = ref_of(resource)
        judge.put_all({key: resource}, self._assets)
        found = judge.verdict(key)
        judge.remove(key, self._assets)
        return found[0] if found else None


def _workloads(versions: Versions, flags: Iterable[str]) -> Iterator[Workload]:
    features = tuple(flags) or None
    yield Prometheus(
        metadata=_NOBODY, spec=PrometheusSpec(version=versions.prometheus, enable_features=features)
    )
    if versions.thanos:
        ruler = ThanosRulerSpec(version=versions.thanos, enable_features=features)
        yield ThanosRuler(metadata=_NOBODY, spec=ruler)
    alerting = AlertmanagerSpec(
        version=versions.alertmanager, alertmanager_config_selector=LabelSelector()
    )
    yield Alertmanager(metadata=_NOBODY, spec=alerting)


def _weighed(findings: Iterable[Finding], certain: Iterable[str]) -> Iterator[Finding]:
    """The findings; what hangs on settings of a workload is not known."""
    for each in findings:
        if each.reason is Reason.SCRAPE_CLASS_NOT_FOUND or str(each) not in certain:
            yield replace(each, reason=Reason.NOT_KNOWN)
        else:
            yield each
