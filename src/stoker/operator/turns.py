"""Turns of workloads: each brings about what it asks for, and reports what came of it.

    agenda ──> turn ──> reconcile ──> announcements
       └─────── later, again ─┘

What fails comes back: at once and then later and later, where that may help though no event tells
of it; when something changes, where only that can help.
"""

import time
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from stoker.api.prometheus import PrometheusAgent
from stoker.kube.backoff import GRANT_SECONDS
from stoker.kube.errors import Conflict, NotLeading, TooManyRequests, Unavailable
from stoker.operator.agenda import Agenda, FirstTurns
from stoker.operator.announcements import Announcements
from stoker.operator.checks import may_go_well
from stoker.operator.reconcile import Done, Reconciler
from stoker.operator.sight import Sight
from stoker.operator.tools import Tools
from stoker.operator.traces import traces
from stoker.operator.workers import Failures
from stoker.plan.custody import is_for, not_ours
from stoker.ref import Ref
from stoker.select.choice import choices
from stoker.select.workload import Workload
from stoker.status.workload import Reconciliation

NOT_RECONCILED: Final = "cannot reconcile"
_PASSING: Final = (Conflict, TooManyRequests, Unavailable)
# Attempts, the last of them about two seconds after the first.
_PATIENCE: Final = 3


class Turns:
    """What workers do with the workloads of the agenda; `first` are those that had no turn yet."""

    def __init__(  # noqa: PLR0913 - where work comes from, who does it, and who says so
        self,
        *,
        tools: Tools,
        agenda: Agenda,
        sight: Sight,
        reconciler: Reconciler,
        announcements: Announcements,
        failures: Failures,
    ) -> None:
        self.first = FirstTurns()
        self._tools = tools
        self._agenda = agenda
        self._sight = sight
        self._reconciler = reconciler
        self._announcements = announcements
        self._failures = failures

    async def take(self, key: Ref) -> None:
        """Let a workload have its turn, unless all that it would take up must wait."""
        wait = self._reconciler.set_aside(key)
        if wait is not None:
            self._agenda.wake_after(key, wait)
            return
        try:
            await self._take(key)
        finally:
            self.first.had(key)
            if self._reconciler.awaits_permission(key):
                self._agenda.wake_after(key, GRANT_SECONDS)

    async def _take(self, key: Ref) -> None:
        workload, settings = self._tools.caches.workload(key), self._tools.settings
        if workload is not None and not_ours(workload, settings) is None:
            await self._turn(key, workload)
            return
        if workload is not None and is_for(workload, settings):
            await self._reconciler.release(key, workload)
        self.forget(key)
        self._announcements.left(key)
        await self._reconciler.finish(key)

    async def _turn(self, key: Ref, workload: Workload) -> None:
        begun, told = time.monotonic(), self._announcements
        if isinstance(workload, PrometheusAgent):
            # What becomes ready from now on may be what it waits for.
            self._agenda.await_pods(key, awaits=True)
        try:
            done = await self._done(key, workload)
        except NotLeading:
            raise
        except Exception as error:
            told.ended(key, time.monotonic() - begun, failed=True)
            if not self._may_pass(key, error):
                told.failed(key, workload, error)
            self._try_again(key, error)
            return
        outcome = self._outcome(workload, done)
        told.ended(key, time.monotonic() - begun, failed=outcome.failure is not None)
        told.done(key, workload, done, outcome)
        told.resources(key, workload, self._reconciler.kept(key))
        self._come_back(key, done)

    async def _done(self, key: Ref, workload: Workload) -> Done:
        """Reconcile a workload, unless that would take away what we cannot see."""
        wanted = choices(workload)
        hidden = self._sight.never_seen(wanted)
        tools, lost = self._tools, list[str]()
        if hidden and not workload.spec.paused:
            outline = tools.outline(workload)
            lost = await traces(tools.client, tools.caches, workload, outline, hidden)
        if not lost:
            self._sight.release(key)
            return await self._reconciler.reconcile(key, workload)
        # What comes into sight may be nothing that concerns it, and then nothing wakes it.
        again = tools.now() + timedelta(seconds=GRANT_SECONDS)
        return Done(Reconciliation(failure=self._sight.keep(key, wanted, lost)), again)

    def _outcome(self, workload: Workload, done: Done) -> Reconciliation:
        """What came of it; without sight of all that was asked for, that is a failure."""
        unseen = self._sight.unseen(choices(workload))
        return replace(done.outcome, failure=done.outcome.failure or unseen)

    def _come_back(self, key: Ref, done: Done) -> None:
        """Put down for later what there is to do without a cause."""
        self._agenda.await_pods(key, awaits=done.waits)
        if done.later is not None:
            self._agenda.wake_after(key, done.later)
        if done.again:
            wait = max((done.again - self._tools.now()).total_seconds(), 1)
            self._agenda.wake_after(key, wait)
        if done.refused:
            self._try_again(key, done.refused)

    def forget(self, key: Ref) -> None:
        """Drop what is known of a workload: it is gone, another's, or another may have led."""
        self._sight.release(key)
        self._announcements.gone(key)
        self._reconciler.forget(key)

    # --- What failed ------------------------------------------------------------------------------

    def _may_pass(self, key: Ref, error: Exception) -> bool:
        """Whether it may be over with the next attempt, so that nothing is said yet."""
        failures = self._agenda.workloads[key.kind].failures(key)
        return isinstance(error, _PASSING) and failures < _PATIENCE

    def _try_again(self, key: Ref, error: Exception) -> None:
        """Raise what may go well the next time though no event tells us; else it is in the log."""
        if may_go_well(error):
            raise error
        self._failures.tell(NOT_RECONCILED, key, error)
