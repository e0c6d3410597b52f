"""What came of reconciling a workload, told to those that write it down, count it or say it.

judged anew ──> judgements ──> bindings of the resources
 not at all ──>     ├────────> managed_resources
                    └────────> an event for each that was rejected
"""

from collections.abc import Mapping

from stoker.cluster.kinds import WORKLOADS
from stoker.operator.bindings import Bindings, bound_workload, cached_bindings
from stoker.operator.caches import Caches
from stoker.operator.events import RECONCILING, Events, Subject
from stoker.operator.judgements import Judgements
from stoker.plan import Kept
from stoker.ref import Ref
from stoker.select.workload import Workload
from stoker.status.bindings import is_told
from stoker.status.conditions import RECONCILED, Because, bounded
from stoker.status.workload import Remark
from stoker.validate.verdicts import Verdict
from stoker.web.operator_metrics import ControllerMetrics


class Announcements:
    """Tells what became of workloads and their resources."""

    def __init__(
        self,
        caches: Caches,
        judgements: Judgements,
        bindings: Bindings,
        events: Events,
        metrics: Mapping[str, ControllerMetrics],
    ) -> None:
        self._caches = caches
        self._judgements = judgements
        self._bindings = bindings
        self._events = events
        self._metrics = metrics

    def reconciled(self, key: Ref, kept: Kept) -> set[Ref]:
        """Say what became of the resources that a workload judged anew, or dropped; which."""
        news = kept.take_news()
        self._judgements.publish(key, kept, news)
        self._bindings.look(news | self._judgements.resume(key))
        self._bindings.decided(key)
        self._metrics[key.kind].manages(key.namespace, key.name, self._judgements.counts(key))
        for each in news:
            judged = kept.verdict(each)
            if judged is not None:
                self._say(key, each, judged[0])
        return news

    def _say(self, key: Ref, each: Ref, verdict: Verdict) -> None:
        metadata, about = verdict.resource.metadata, _words(key)
        if verdict.accepted:
            self._events.settled(metadata.uid or "", about)
            return
        note = f"rejected by {about}: {verdict.message}"
        if self._is_told(key, each, verdict):
            self._events.known(metadata.uid or "", about, note)
            return
        resource = self._caches.place(verdict.kind)
        self._events.warn(Subject(resource.api_version, verdict.kind, metadata), about, note)

    def _is_told(self, key: Ref, resource: Ref, verdict: Verdict) -> bool:
        """Whether the resource itself says so already: then there was an event, too."""
        found = self._caches.resource(resource)
        if found is None or found.metadata.uid != verdict.resource.metadata.uid:
            return False
        return is_told(cached_bindings(found), bound_workload(key), verdict.message)

    def failed(self, key: Ref, workload: Workload, message: str) -> None:
        """Say that a workload itself cannot be reconciled as it is."""
        uid, status = workload.metadata.uid or "", workload.status
        conditions = (status.conditions if status else None) or ()
        if any(each.type == RECONCILED and each.message == bounded(message) for each in conditions):
            self._events.known(uid, RECONCILING, message)
            return
        self.warned(key, workload, message)

    def warned(self, key: Ref, workload: Workload, message: str) -> None:
        """Say something about a workload that its user should see."""
        resource = WORKLOADS[key.kind].resource
        subject = Subject(resource.api_version, key.kind, workload.metadata)
        self._events.warn(subject, RECONCILING, message, RECONCILING)

    def delayed(self, key: Ref, why: str, reason: Because) -> None:
        """Let the resources of a workload know why it has not judged them, where it has not."""
        cause = Remark(reason, f"not decided yet: {why}")
        self._bindings.look(self._judgements.delay(key, cause))

    def succeeded(self, workload: Workload) -> None:
        """Nothing is wrong with a workload any longer."""
        self._events.settled(workload.metadata.uid or "", RECONCILING)

    def forget(self, key: Ref) -> set[Ref]:
        """A workload is gone, or another's now: what was said about its resources is looked at."""
        had = self._judgements.forget(key)
        self._bindings.look(had | self._judgements.resume(key))
        self._bindings.decided(key)
        return had


def _words(key: Ref) -> str:
    return f"{key.kind} {key.namespace}/{key.name}"
