"""The running operator: caches fill, a leader is found, and the loops begin.

    caches ──listeners──> triggers ──> queues ──> reconcile ──> objects
                             │                       ├──> statuses queue ──> status of the workload
                             └───────────────────────┴──> bindings queue ──> status of each resource

Whoever does not lead keeps its caches warm and writes nothing. When leadership is lost the workers
end, and what they knew of written objects with them; when it comes back everything is looked at.
"""

import asyncio
import socket
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from msgspec.structs import asdict, replace

from stoker.api.prometheus import PrometheusAgent
from stoker.build.names import FIELD_MANAGER
from stoker.cluster.kinds import WORKLOADS
from stoker.cluster.values import Values
from stoker.errors import StokerError, WorkloadError
from stoker.kube.backoff import GRANT_SECONDS
from stoker.kube.client import Client
from stoker.kube.endless import Work, endless, until_done, words
from stoker.kube.errors import Conflict, Forbidden, NotLeading, TooManyRequests, Unavailable
from stoker.kube.lease import Leadership
from stoker.kube.queue import KeyedQueue
from stoker.logs import logger
from stoker.operator.announcements import Announcements
from stoker.operator.bindings import Bindings
from stoker.operator.caches import Caches
from stoker.operator.checks import AwaitedError
from stoker.operator.consolidation import Consolidation
from stoker.operator.events import Events
from stoker.operator.footprint import watch_footprint
from stoker.operator.judgements import Judgements
from stoker.operator.kubelet import Kubelets
from stoker.operator.leading import lead
from stoker.operator.listeners import Listeners
from stoker.operator.looking import Inside
from stoker.operator.notebook import SUFFIX, Notebook
from stoker.operator.own_secrets import own_secrets
from stoker.operator.reconcile import Done, Reconciler
from stoker.operator.refusals import Refusals
from stoker.operator.replacing import Replacing
from stoker.operator.sight import Sight
from stoker.operator.standing_in import StandingIn
from stoker.operator.statuses import Statuses
from stoker.operator.targets import Observed, TargetRounds
from stoker.operator.tools import Tools
from stoker.operator.traces import traces
from stoker.operator.triggers import Named, Triggers
from stoker.operator.workers import Job, tell, worker
from stoker.operator.writer import Writer
from stoker.plan.custody import is_for, not_ours
from stoker.ref import Ref, ref_from
from stoker.select.choice import Choice, choices
from stoker.select.workload import Workload
from stoker.settings import STATUS_GATE, Capabilities, OperatorSettings
from stoker.status.conditions import Because
from stoker.status.workload import Reconciliation, failed
from stoker.web.operator_metrics import OperatorMetrics, QueueMetrics

_TASKS: Final = (
    "events",
    "kubelets",
    "lease",
    "namespaces",
    "nodes",
    "replacements",
    "sweep",
    "targets",
)
_STATUS_WORKERS: Final = 2
_BINDING_WORKERS: Final = 4
_CONSOLIDATION_WORKERS: Final = 2
_PASSING: Final = (Conflict, TooManyRequests, Unavailable)
# Attempts, the last of them about two seconds after the first.
_PATIENCE: Final = 3
# How long the first look at all workloads may hold up what is said of them and of resources.
_FIRST_SECONDS: Final = 10.0
# So often a right is named that is missing for what is tried all the time.
_NAMED_AGAIN: Final = 60.0
_NO_TURN: Final = "the operator has not come to the workload"
_UNSEEN: Final = "the workload stays as it is: its condition Reconciled says what is not seen"
_PAUSED: Final = "the workload is paused"


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
        self._settings = settings
        self._client = client
        self._log = logger("operator")
        self._refusals = Refusals(self._log)
        self._ungranted = Refusals(self._log, again=_NAMED_AGAIN)
        self._faults = metrics.counter("task_faults_total")
        for task in _TASKS:
            self._faults.add(0, task)
        self._metrics = {
            name: metrics.controller(kind.role.controller) for name, kind in WORKLOADS.items()
        }
        self._tools = self._made_tools(client, status_client, capabilities)
        watch_footprint(metrics, self._tools)
        self._sight = Sight(self._tools.caches, self._is_ours)
        self._triggers = self._made_triggers()
        self._reconciler = Reconciler(self._tools, self._triggers)
        self._tools.values.listen(lambda key: bool(self._readers(key)), self._triggers.arrived)
        self._tell_of_outcomes(status_client)
        self._kubelets = partial(
            Kubelets, status_client, settings.kubelet, settings.objects, metrics
        )
        self._leadership = self._made_leadership()
        self._queues: dict[str, KeyedQueue[Ref]] = {kind: KeyedQueue() for kind in WORKLOADS}
        # Those that must be looked at when pods become ready.
        self._waiting: set[Ref] = set()
        # Those that were not yet reconciled since we lead, and that there are none left.
        self._first: set[Ref] = set()
        self._begun = asyncio.Event()
        self._jobs = self._made_jobs(metrics)
        listeners = Listeners(self._tools, self._triggers, self._bindings, self._consolidation)
        listeners.listen(self._sight)
        for kind, controller in self._metrics.items():
            controller.watches(self._sight.reports(kind))

    def _made_triggers(self) -> Triggers:
        return Triggers(
            wake=self._wake,
            look=self._look,
            choices=self._choices,
            readers=self._readers,
            is_written=self._tools.writer.is_written,
            count=self._triggered,
            scopes=self._tools.caches.selected_scopes,
        )

    def _tell_of_outcomes(self, client: Client) -> None:
        """Set up all that says, or keeps beside, what came of workloads and resources."""
        tools, settings, members = self._tools, self._settings, self._triggers.members
        judgements = Judgements(tools.caches, members, settings, client)
        self._judgements = judgements
        self._statuses = Statuses(tools, self._metrics)
        observed = Observed(wanted=settings.targets.interval_seconds > 0)
        self._bindings = Bindings(tools, judgements, observed, enabled=settings.gates[STATUS_GATE])
        self._targets = TargetRounds(tools, judgements, observed, self._bindings.look)
        self._consolidation = Consolidation(tools, judgements, members, self._triggers.stand_in)
        self._events = Events(client, self._event_failed)
        self._announcements = Announcements(
            tools.caches, judgements, self._bindings, self._events, self._metrics
        )

    def _made_tools(
        self, client: Client, status_client: Client, capabilities: Capabilities
    ) -> Tools:
        caches = Caches(client, self._settings)
        namespace, name = self._place
        notebook = Notebook(client, namespace, name + SUFFIX)
        replacing = Replacing(client, notebook, FIELD_MANAGER, self._replaced)
        return Tools(
            client=client,
            status_client=status_client,
            caches=caches,
            values=Values(
                client, caches.is_absent, own_secrets(caches, self._place), caches.exists
            ),
            writer=Writer(client, caches.metadata, caches, replacing, caches.is_absent),
            notebook=notebook,
            settings=self._settings,
            capabilities=capabilities,
            now=lambda: datetime.now(UTC),
            stand_ins=StandingIn(caches) if self._settings.consolidate_monitors else None,
        )

    @property
    def _place(self) -> tuple[str, str]:
        """The namespace and the name of what operators have that share the work."""
        leader = self._settings.leader
        return leader.namespace or self._client.access.namespace or "default", leader.name

    def _replaced(self, kind: str) -> None:
        self._metrics[kind].recreated()

    def _made_leadership(self) -> Leadership | None:
        if not self._settings.leader.enabled:
            return None
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        leadership = Leadership(self._client, *self._place, identity)
        for client in (self._client, self._tools.status_client):
            client.fence = leadership.fence
        return leadership

    def _made_jobs(self, metrics: OperatorMetrics) -> list[Job[Any]]:
        """What there is to do for workers."""

        def job(controller: str, name: str, **rest: Any) -> Job[Any]:
            observed = QueueMetrics(metrics, (controller, name), rest["queue"])
            return Job(done=observed.done, **rest)

        return [
            *(
                job(
                    WORKLOADS[kind].role.controller,
                    WORKLOADS[kind].role.controller,
                    queue=queue,
                    work=self._work_on,
                    failed=self._failed,
                    workers=self._settings.workers,
                )
                for kind, queue in self._queues.items()
            ),
            job(
                "status",
                "workloads",
                queue=self._statuses.queue,
                work=self._write_status,
                failed=self._status_failed,
                workers=_STATUS_WORKERS,
            ),
            job(
                "status",
                "resources",
                queue=self._bindings.queue,
                work=self._bindings.write,
                failed=self._binding_failed,
                workers=_BINDING_WORKERS,
            ),
            job(
                "consolidation",
                "resources",
                queue=self._consolidation.queue,
                work=self._consolidation.keep,
                failed=self._consolidation_failed,
                workers=_CONSOLIDATION_WORKERS,
            ),
        ]

    # --- What happens -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            told = partial(self._stumbled, "namespaces")
            tasks.create_task(self._tools.caches.run(told), name="caches")
            await self._tools.caches.settled()
            self._log.info("caches are filled")
            if self._leadership:
                await lead(self._leadership, self._work, partial(self._stumbled, "lease"))
            else:
                await self._work()

    def not_ready(self) -> str:
        """Why this replica cannot do its work; empty when it can, or could if it led."""
        unseen = self._sight.not_ready()
        if unseen or self._leadership is None or self._leadership.holder:
            return unseen
        return "waiting for the Lease by which a leader is elected"

    @property
    def inside(self) -> Inside:
        """What there is to see of this replica."""
        return Inside(
            tools=self._tools,
            members=self._triggers.members,
            judgements=self._judgements,
            held=self._reconciler.held,
            failure=self._statuses.failure,
            nodes=lambda: self._statuses.nodes.listing,
            leadership=self._leadership,
            not_ready=self.not_ready,
        )

    async def _work(self) -> None:
        """Reconcile everything, then whatever changes."""
        self._begin_anew()
        self._set_ready(True)
        try:
            async with asyncio.TaskGroup() as tasks:
                swept = until_done(self._sweep, partial(self._stumbled, "sweep"))
                tasks.create_task(swept, name="sweep")
                taken_up = until_done(self._take_up, partial(self._stumbled, "replacements"))
                tasks.create_task(taken_up, name="replacements")
                for name, work in self._endless_work().items():
                    told = partial(self._stumbled, name)
                    tasks.create_task(endless(work, told), name=name)
                for job in self._jobs:
                    for _ in range(job.workers):
                        tasks.create_task(self._worker(job))
        finally:
            self._set_ready(False)

    async def _worker(self, job: Job[Any]) -> None:
        """Work on a job; what is said of workloads waits for their first configurations."""
        if job.queue in (self._statuses.queue, self._bindings.queue):
            await self._first_turns()
        await worker(job)

    async def _first_turns(self) -> None:
        """Wait until all workloads were looked at since we lead, but not for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_SECONDS):
                await self._begun.wait()

    def _endless_work(self) -> dict[str, Work]:
        """What goes on beside the queues, by name."""
        work: dict[str, Work] = {"events": self._events.run, "nodes": self._statuses.nodes.run}
        if self._settings.targets.interval_seconds:
            work["targets"] = self._targets.run
        if self._settings.kubelet.name:
            work["kubelets"] = lambda: self._kubelets().run()
        return work

    def _begin_anew(self) -> None:
        """Trust nothing that was found out before: another may have led since."""
        self._tools.writer.forget_all()
        self._tools.notebook.forget()
        for key in list(self._reconciler.held):
            self._forget(key)
        self._first.clear()
        for kind, reflector in self._tools.caches.workloads.items():
            for found in reflector.store:
                self._first.add(ref_from(kind, found.metadata))
                self._triggers.everything(ref_from(kind, found.metadata))
        self._begun.clear()
        self._seen()

    async def _take_up(self) -> None:
        """Look at workloads that something was begun for, also where they are gone since."""
        for key in await self._reconciler.interrupted():
            self._wake(key)

    async def _sweep(self) -> None:
        """Look at all bindings, after the configurations: with thousands it takes a while."""
        await self._first_turns()
        for key in self._first:
            self._announcements.delayed(key, _NO_TURN, Because.RECONCILIATION_PENDING)
        self._bindings.look_at_all()
        self._consolidation.look_at_all()

    def _seen(self, *keys: Ref) -> None:
        """These were reconciled, or at least tried."""
        self._first.difference_update(keys)
        if not self._first:
            self._begun.set()

    def _set_ready(self, ready: bool) -> None:
        for metrics in self._metrics.values():
            metrics.ready(ready)

    # --- One workload -----------------------------------------------------------------------------

    async def _work_on(self, key: Ref) -> None:
        wait = self._reconciler.set_aside(key)
        if wait is not None:
            self._queues[key.kind].add_after(key, wait)
            return
        try:
            await self._reconcile(key)
        finally:
            self._seen(key)
            held = self._reconciler.held.get(key)
            if held is not None and held.awaits_permission:
                self._queues[key.kind].add_after(key, GRANT_SECONDS)

    async def _reconcile(self, key: Ref) -> None:
        workload = self._tools.caches.workload(key)
        if workload is None or not self._is_ours(workload):
            if workload is not None and is_for(workload, self._settings):
                await self._reconciler.release(key, workload)
            self._forget(key)
            await self._reconciler.finish(key)
            return
        begun = time.monotonic()
        if isinstance(workload, PrometheusAgent):
            # What becomes ready from now on may be what it waits for.
            self._waiting.add(key)
        try:
            done = await self._done(key, workload)
        except NotLeading:
            raise
        except Exception as error:
            self._count(key, begun, failed=True)
            self._record_failure(key, workload, error)
            self._try_again(key, error)
            return
        outcome = self._outcome(workload, done)
        self._count(key, begun, failed=outcome.failure is not None)
        self._statuses.record(key, workload, outcome)
        self._tell(key, workload, done)
        if not done.waits:
            self._waiting.discard(key)
        if done.later is not None:
            self._queues[key.kind].add_after(key, done.later)
        if done.again:
            wait = max((done.again - self._tools.now()).total_seconds(), 1)
            self._queues[key.kind].add_after(key, wait)
        if done.refused:
            self._try_again(key, done.refused)

    def _try_again(self, key: Ref, error: Exception) -> None:
        """Raise what may go well the next time though nobody tells us; else it is in the log."""
        if not isinstance(error, WorkloadError) or isinstance(error, AwaitedError):
            raise error
        self._failed(key, error)

    def _tell(self, key: Ref, workload: Workload, done: Done) -> None:
        """Say what came of it, in events and in what resources say."""
        if done.outcome.failure:
            self._announcements.failed(key, workload, done.outcome.failure.message)
        else:
            self._announcements.succeeded(workload)
        if done.without:
            self._announcements.warned(key, workload, f"the mode is changed without {done.without}")
        self._announce(key, workload)

    async def _done(self, key: Ref, workload: Workload) -> Done:
        """Reconcile a workload, unless that would take away what we may not see."""
        wanted = choices(workload)
        hidden = self._sight.never_seen(wanted)
        tools, lost = self._tools, list[str]()
        if hidden and not workload.spec.paused:
            outline = tools.outline(workload)
            lost = await traces(self._client, tools.caches, workload, outline, hidden)
        if not lost:
            self._sight.release(key)
            return await self._reconciler.reconcile(key, workload)
        # What comes into sight may be nothing that concerns it, and then nobody wakes it.
        again = tools.now() + timedelta(seconds=GRANT_SECONDS)
        return Done(Reconciliation(failure=self._sight.keep(key, wanted, lost)), again)

    def _outcome(self, workload: Workload, done: Done) -> Reconciliation:
        """What came of it; without sight of all that was asked for, that is a failure."""
        unseen = self._sight.unseen(choices(workload))
        return replace(done.outcome, failure=done.outcome.failure or unseen)

    def _count(self, key: Ref, begun: float, *, failed: bool) -> None:
        seconds = time.monotonic() - begun
        self._metrics[key.kind].reconciled(key.namespace, key.name, seconds, failed=failed)

    def _record_failure(self, key: Ref, workload: Workload, error: Exception) -> None:
        """Say that it failed, unless that may be over with the next attempt."""
        if isinstance(error, _PASSING) and self._queues[key.kind].failures(key) < _PATIENCE:
            return
        self._statuses.record(key, workload, failed(words(error)))
        # Each of its resources says it: what may change with every attempt is told once, here.
        why = "its condition Reconciled says why"
        if isinstance(error, WorkloadError):
            self._announcements.failed(key, workload, str(error))
            why = str(error)
        told = f"the workload cannot be reconciled: {why}"
        self._announcements.delayed(key, told, Because.RECONCILIATION_FAILED)

    def _announce(self, key: Ref, workload: Workload) -> None:
        """Say what became of the resources that were judged anew, or that nothing does."""
        if workload.spec.paused:
            self._announcements.delayed(key, _PAUSED, Because.PAUSED)
            return
        held = self._reconciler.held.get(key)
        if held is None or held.kept is None:
            self._announcements.delayed(key, _UNSEEN, Because.RECONCILIATION_FAILED)
            return
        self._consolidation.look(self._announcements.reconciled(key, held.kept))

    def _forget(self, key: Ref) -> None:
        """Clean up after a workload that is gone, or is another's now."""
        self._waiting.discard(key)
        self._sight.release(key)
        self._consolidation.look(self._announcements.forget(key))
        self._reconciler.forget(key)
        self._statuses.forget(key)
        self._targets.forget(key)
        self._metrics[key.kind].forget(key.namespace, key.name)

    async def _write_status(self, key: Ref) -> None:
        if await self._statuses.write(key):
            self._metrics[key.kind].status_written()

    # --- What others ask for ----------------------------------------------------------------------

    def _is_ours(self, workload: Workload) -> bool:
        return not_ours(workload, self._settings) is None

    def _choices(self, kind: str, found: Named) -> Mapping[str, Choice] | None:
        workload = self._tools.caches.workload(ref_from(kind, found.metadata))
        if workload is None or not self._is_ours(workload):
            return None
        return choices(workload)

    def _readers(self, key: Ref) -> set[Ref]:
        """The workloads that looked for a Secret or ConfigMap."""
        return self._reconciler.readers(key)

    def _wake(self, key: Ref) -> None:
        self._queues[key.kind].add(key)

    def _look(self, key: Ref) -> None:
        self._statuses.queue.add(key)
        if key in self._waiting:
            self._wake(key)

    def _triggered(self, key: Ref, kind: str, action: str) -> None:
        self._metrics[key.kind].triggered(kind, action)

    # --- Failures ---------------------------------------------------------------------------------

    def _failed(self, key: Ref, error: Exception) -> None:
        self._told("cannot reconcile", error, key)

    def _status_failed(self, key: Ref, error: Exception) -> None:
        self._metrics[key.kind].status_written(failed=True)
        self._told("cannot write the status", error, key)

    def _binding_failed(self, key: Ref, error: Exception) -> None:
        self._told("cannot write a binding", error, key)

    def _consolidation_failed(self, key: Ref, error: Exception) -> None:
        self._told("cannot keep the ScrapeConfigs of a monitor", error, key)

    def _told(self, message: str, error: Exception, key: Ref | Ref) -> None:
        if isinstance(error, Forbidden):
            # It is tried every few seconds, and one line names the right for all that need it.
            self._ungranted.tell(message, error, **asdict(key))
        else:
            tell(self._log, message, error, **asdict(key))

    def _stumbled(self, task: str, error: Exception) -> None:
        self._faults.add(1, task)
        tell(self._log, "a task ended unforeseen, and begins anew", error, task=task)

    def _event_failed(self, error: StokerError) -> None:
        # Events are a courtesy, and there may be many.
        self._refusals.tell("cannot write an event", error)
