"""What came of a workload's turn, given to those that write it down, count it or say it.

the workload ──────────────────────────────> status, metrics, an event where it failed
judged again ──> published ──> bindings of the resources, ScrapeConfigs in place of monitors
 not at all ──>     ├────────> managed_resources
                    └────────> an event and a line in the log for each that was rejected
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from stoker.cluster.kinds import WORKLOADS
from stoker.errors import WorkloadError
from stoker.kube.endless import words
from stoker.operator.bindings import Bindings, bound_workload, cached_bindings
from stoker.operator.caches import Caches
from stoker.operator.consolidation import Consolidation
from stoker.operator.events import RECONCILING, Events, Subject
from stoker.operator.published import PublishedVerdicts
from stoker.operator.reconcile import Done
from stoker.operator.rejections import Rejections
from stoker.operator.statuses import Statuses
from stoker.operator.targets import TargetRounds
from stoker.plan import Kept
from stoker.ref import Ref
from stoker.select.workload import Workload
from stoker.status.bindings import is_told
from stoker.status.conditions import RECONCILED, Because, bounded
from stoker.status.workload import Reconciliation, Remark, failed
from stoker.validate.verdicts import Verdict
from stoker.web.operator_metrics import ControllerMetrics

_UNSEEN: Final = "the workload stays as it is: its condition Reconciled says what is not seen"
_PAUSED: Final = "the workload is paused"
_NO_TURN: Final = "the operator has not come to the workload"


class Outlets(Struct, frozen=True, kw_only=True):
    """Those to whom it is given; `metrics` by kind of workload."""

    statuses: Statuses
    bindings: Bindings
    consolidation: Consolidation
    targets: TargetRounds
    events: Events
    rejections: Rejections
    metrics: Mapping[str, ControllerMetrics]


class Announcements:
    """Gives away what became of workloads and their resources."""

    def __init__(self, caches: Caches, published: PublishedVerdicts, outlets: Outlets) -> None:
        self._caches = caches
        self._published = published
        self._statuses = outlets.statuses
        self._bindings = outlets.bindings
        self._consolidation = outlets.consolidation
        self._targets = outlets.targets
        self._events = outlets.events
        self._rejections = outlets.rejections
        self._metrics = outlets.metrics

    # --- Of a workload ----------------------------------------------------------------------------

    def ended(self, key: Ref, seconds: float, *, failed: bool) -> None:
        """Count a turn."""
        self._metrics[key.kind].reconciled(key.namespace, key.name, seconds, failed=failed)

    def done(self, key: Ref, workload: Workload, done: Done, outcome: Reconciliation) -> None:
        """Say what came of a turn; `outcome` is what the status says of it."""
        self._statuses.record(key, workload, outcome)
        if done.outcome.failure:
            self._warn_once(key, workload, done.outcome.failure.message)
        else:
            self._events.settled(workload.metadata.uid or "", RECONCILING)
        if done.without:
            self._warn(key, workload, f"the mode is changed without {done.without}")

    def failed(self, key: Ref, workload: Workload, error: Exception) -> None:
        """Say that a workload cannot be reconciled as it is."""
        self._statuses.record(key, workload, failed(words(error)))
        # Each of its resources says it: what may change with every attempt is said once, here.
        why = "its condition Reconciled says why"
        if isinstance(error, WorkloadError):
            self._warn_once(key, workload, str(error))
            why = str(error)
        told = f"the workload cannot be reconciled: {why}"
        self._delayed(key, told, Because.RECONCILIATION_FAILED)

    def without_turn(self, key: Ref) -> None:
        """Say that a workload still waits for its first turn."""
        self._delayed(key, _NO_TURN, Because.RECONCILIATION_PENDING)

    def gone(self, key: Ref) -> None:
        """What is known of a workload is void: what was said about its resources is looked at."""
        had = self._published.forget(key)
        self._bindings.look(had | self._published.resume(key))
        self._bindings.decided(key)
        self._consolidation.look(had)
        self._statuses.forget(key)
        self._targets.forget(key)
        self._metrics[key.kind].forget(key.namespace, key.name)
        self._rejections.hush(key)

    def left(self, key: Ref) -> None:
        """A workload is gone, or another's now: the next of its name has said nothing yet."""
        self._rejections.forget(key)

    def begin_anew(self) -> None:
        """Begin to lead, again perhaps: what was said stays said, where it may still be true."""
        self._rejections.keep(self._published.selected)

    def _warn_once(self, key: Ref, workload: Workload, message: str) -> None:
        """Say what is wrong with a workload, unless its status says so already."""
        uid, status = workload.metadata.uid or "", workload.status
        conditions = (status.conditions if status else None) or ()
        if any(each.type == RECONCILED and each.message == bounded(message) for each in conditions):
            self._events.known(uid, RECONCILING, message)
            return
        self._warn(key, workload, message)

    def _warn(self, key: Ref, workload: Workload, message: str) -> None:
        resource = WORKLOADS[key.kind].resource
        subject = Subject(resource.api_version, key.kind, workload.metadata)
        self._events.warn(subject, RECONCILING, message, RECONCILING)

    # --- Of its resources -------------------------------------------------------------------------

    def resources(self, key: Ref, workload: Workload, kept: Kept | None) -> None:
        """Say what became of the resources that were judged again, or that nothing does."""
        if workload.spec.paused:
            self._delayed(key, _PAUSED, Because.PAUSED)
        elif kept is None:
            self._delayed(key, _UNSEEN, Because.RECONCILIATION_FAILED)
        else:
            self._publish(key, kept)

    def _delayed(self, key: Ref, why: str, reason: Because) -> None:
        """Let the resources of a workload know why it has not judged them, where it has not."""
        cause = Remark(reason, f"not decided yet: {why}")
        self._bindings.look(self._published.delay(key, cause))

    def _publish(self, key: Ref, kept: Kept) -> None:
        news = kept.take_news()
        self._published.publish(key, kept, news)
        self._bindings.look(news | self._published.resume(key))
        self._bindings.decided(key)
        self._metrics[key.kind].manages(key.namespace, key.name, self._published.counts(key))
        verdicts = {each: found[0] if (found := kept.verdict(each)) else None for each in news}
        self._rejections.take(key, verdicts)
        for each, verdict in verdicts.items():
            if verdict is not None:
                self._say(key, each, verdict)
        self._consolidation.look(news)

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


def _words(key: Ref) -> str:
    return f"{key.kind} {key.namespace}/{key.name}"
