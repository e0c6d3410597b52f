"""The running operator: caches fill, a leader is found, and the loops begin.

Whoever does not lead keeps its caches warm, judges what it would have to judge, and writes nothing.
When leadership is lost the workers end, and what they knew with them; when it comes back everything
is looked at.
"""

import asyncio
from functools import partial
from typing import Any, Final

from stoker.kube.client import Client
from stoker.kube.endless import endless, until_done
from stoker.logs import logger
from stoker.operator.assembly import Parts, assembled, beside_queues, jobs_of
from stoker.operator.changes import Changes
from stoker.operator.leading import lead
from stoker.operator.looking import Inside
from stoker.operator.workers import Duty, worker
from stoker.ref import ref_from
from stoker.settings import Capabilities, OperatorSettings
from stoker.web.operator_metrics import OperatorMetrics

# How long the first look at all workloads may hold up what is said of them and of resources.
_FIRST_SECONDS: Final = 10.0


class Operator:
    """One replica of the operator: `run` does all its work, `not_ready` tells how it fares.

    `client` writes objects, `status_client` everything that must not delay them.
    """

    def __init__(
        self,
        client: Client,
        status_client: Client,
        settings: OperatorSettings,
        capabilities: Capabilities,
        metrics: OperatorMetrics,
    ) -> None:
        self.parts = assembled(client, status_client, settings, capabilities, metrics)
        self._jobs = tuple(jobs_of(self.parts, metrics))
        self._beside = beside_queues(self.parts, metrics)
        self._stumbled = self.parts.failures.stumbled

    async def run(self) -> None:
        """Work until cancelled."""
        caches, leadership = self.parts.tools.caches, self.parts.leadership
        async with asyncio.TaskGroup() as tasks:
            told = partial(self._stumbled, "namespaces")
            tasks.create_task(caches.run(told), name="caches")
            await caches.settled()
            logger("operator").info("caches are filled")
            for name, work in self.parts.discovery.work.items():
                told = partial(self._stumbled, name)
                tasks.create_task(endless(work, told), name=name)
            if leadership:
                told = partial(self._stumbled, "lease")
                await lead(leadership, self.work, told, self._stand_by)
            else:
                await self.work()

    async def _stand_by(self) -> None:
        await endless(self.parts.standby.run, partial(self._stumbled, "standby"))

    def not_ready(self) -> str:
        """Why this replica cannot do its work; empty when it can, or could if it led."""
        unseen, leadership = self.parts.sight.not_ready(), self.parts.leadership
        if unseen or leadership is None or leadership.holder:
            return unseen
        return "waiting for the Lease by which a leader is elected"

    @property
    def inside(self) -> Inside:
        """What there is to see of this replica."""
        parts = self.parts
        statuses = parts.outlets.statuses
        return Inside(
            tools=parts.tools,
            members=parts.register.members,
            published=parts.published,
            held=parts.reconciler.held,
            failure=statuses.failure,
            nodes=lambda: statuses.nodes.listing,
            leadership=parts.leadership,
            not_ready=self.not_ready,
            failing=parts.outlets.targets.failing,
        )

    async def work(self) -> None:
        """Reconcile everything, then whatever changes."""
        self._begin_anew()
        self._set_ready(True)
        try:
            async with asyncio.TaskGroup() as tasks:
                swept = until_done(partial(sweep, self.parts), partial(self._stumbled, "sweep"))
                tasks.create_task(swept, name="sweep")
                taken_up = until_done(self._take_up, partial(self._stumbled, "replacements"))
                tasks.create_task(taken_up, name="replacements")
                for name, work in self._beside.items():
                    told = partial(self._stumbled, name)
                    tasks.create_task(endless(work, told), name=name)
                for job in self._jobs:
                    for _ in range(job.workers):
                        tasks.create_task(self._worker(job))
        finally:
            self._set_ready(False)

    async def _worker(self, job: Duty[Any]) -> None:
        """Work on a job; what is said of workloads waits for their first configurations."""
        if job.waits:
            await self.parts.turns.first.left_after(_FIRST_SECONDS)
        await worker(job)

    def _begin_anew(self) -> None:
        """Trust nothing that was found out before: another may have led since.

        What was judged while another led is what there is now.
        """
        parts = self.parts
        ready = parts.standby.take()
        parts.tools.writer.forget_all()
        parts.tools.notebook.forget()
        for key in parts.reconciler.held.keys() - ready:
            parts.turns.forget(key)
        parts.announcements.begin_anew()
        found = [
            ref_from(kind, each.metadata)
            for kind, reflector in parts.tools.caches.workloads.items()
            for each in reflector.store
        ]
        parts.turns.first.begin(found)
        for key in found:
            parts.agenda.note(key, Changes(own=True))

    async def _take_up(self) -> None:
        """Look at workloads that something was begun for, also where they are gone since."""
        for key in await self.parts.reconciler.interrupted():
            self.parts.agenda.wake(key)

    def _set_ready(self, ready: bool) -> None:
        for metrics in self.parts.outlets.metrics.values():
            metrics.ready(ready)


async def sweep(parts: Parts) -> None:
    """Look at all bindings, after the configurations: with thousands it takes a while."""
    for key in await parts.turns.first.left_after(_FIRST_SECONDS):
        parts.announcements.without_turn(key)
    parts.outlets.bindings.look_at_all()
    parts.outlets.consolidation.look_at_all()
