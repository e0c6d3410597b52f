"""The running operator: caches fill, a leader is found, and the loops begin.

    caches ──listeners──> triggers ──> queue ──> reconcile ──> objects
                             │                      ├──> statuses queue ──> status of the workload
                             └──────────────────────┴──> bindings queue ──> status of each resource

Whoever does not lead keeps its caches warm and writes nothing. When leadership is lost the workers
end, and what they knew of written objects with them; when it comes back everything is looked at.
"""

import asyncio
import socket
import time
import uuid
from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar

from stoker.errors import StokerError, WorkloadError
from stoker.kube.client import Client
from stoker.kube.errors import ApiError, NotLeading
from stoker.kube.lease import Leadership
from stoker.kube.queue import KeyedQueue, QueueClosedError
from stoker.logs import logger
from stoker.run.bindings import Bindings
from stoker.run.caches import RESOURCES, WORKLOADS, Caches
from stoker.run.events import Events, Subject
from stoker.run.held import object_keys
from stoker.run.judgements import Judgements, is_managed
from stoker.run.reconcile import Reconciler
from stoker.run.statuses import Statuses
from stoker.run.tools import Tools
from stoker.run.triggers import Named, Triggers
from stoker.run.values import Values
from stoker.run.writer import Writer
from stoker.select.choice import Choice, choices
from stoker.select.members import ObjectKey, WorkloadKey
from stoker.select.references import ObjectKey as Referenced
from stoker.select.workload import Scraper
from stoker.settings import Capabilities, OperatorSettings
from stoker.status.workload import failed
from stoker.web.operator_metrics import OperatorMetrics

K = TypeVar("K", bound=Hashable)

CONTROLLERS: Final = {"Prometheus": "prometheus", "PrometheusAgent": "prometheus-agent"}
_STATUS_GATE: Final = "StatusForConfigurationResources"
_STATUS_WORKERS: Final = 2
_BINDING_WORKERS: Final = 4


class Operator:
    """One replica of the operator. `run` is all there is to do with it.

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
        self._metrics = {
            kind: metrics.controller(controller) for kind, controller in CONTROLLERS.items()
        }
        self._queue: KeyedQueue[WorkloadKey] = KeyedQueue()
        self._tools = self._made_tools(client, status_client, capabilities)
        self._triggers = Triggers(
            wake=self._queue.add,
            look=self._look,
            choices=self._choices,
            readers=self._readers,
            is_written=self._tools.writer.is_written,
        )
        self._reconciler = Reconciler(self._tools, self._triggers)
        self._judgements = Judgements(
            self._tools.caches, self._triggers.members, self._reconciler.held, settings
        )
        self._statuses = Statuses(self._tools)
        self._bindings = Bindings(
            self._tools, self._judgements, enabled=settings.gates[_STATUS_GATE]
        )
        self._events = Events(status_client, self._event_failed)
        self._leadership: Leadership | None = None
        self._working = asyncio.Event()
        self._listen()

    def _made_tools(
        self, client: Client, status_client: Client, capabilities: Capabilities
    ) -> Tools:
        caches = Caches(client, self._settings)
        return Tools(
            client=client,
            status_client=status_client,
            caches=caches,
            values=Values(client, caches.is_absent),
            writer=Writer(client, caches.metadata),
            settings=self._settings,
            capabilities=capabilities,
            now=lambda: datetime.now(UTC),
        )

    # --- What happens -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._tools.caches.run(), name="caches")
            tasks.create_task(self._events.run(), name="events")
            await self._tools.caches.settled()
            self._log.info("caches are filled")
            await self._lead()

    def not_ready(self) -> str:
        """Why this replica cannot do its work; empty when it can, or could if it led."""
        missing = [
            str(each.scope) for each in self._tools.caches.all if not each.store.ready.is_set()
        ]
        troubles = [str(error) for each in self._tools.caches.all for error in each.troubles]
        if missing and not troubles:
            return f"waiting for the first list of {', '.join(missing)}"
        return "; ".join(troubles)

    async def _lead(self) -> None:
        """Work whenever this replica leads, for ever."""
        if not self._settings.leader.enabled:
            await self._work()
            return
        leader = self._settings.leader
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        namespace = leader.namespace or self._client.access.namespace or "default"
        leadership = Leadership(self._client, namespace, leader.name, identity)
        for client in (self._client, self._tools.status_client):
            client.fence = leadership.fence
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(leadership.run(), name="lease")
            while True:
                await leadership.leading.wait()
                work = tasks.create_task(self._work(), name="work")
                leadership.on_lost = lambda work=work: work.cancel() and None
                with suppress(asyncio.CancelledError):
                    await asyncio.shield(work)
                if not work.done():
                    work.cancel()
                    raise asyncio.CancelledError
                await work if not work.cancelled() else None

    async def _work(self) -> None:
        """Reconcile everything, then whatever changes."""
        self._tools.writer.forget_all()
        for kind, reflector in self._tools.caches.workloads.items():
            for found in reflector.store:
                self._triggers.workload(kind, None, found)
        self._bindings.look_at_all()
        for metrics in self._metrics.values():
            metrics.ready(True)
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._settings.workers):
                    tasks.create_task(_worker(self._queue, self._reconcile, self._failed))
                for _ in range(_STATUS_WORKERS):
                    tasks.create_task(
                        _worker(self._statuses.queue, self._write_status, self._status_failed)
                    )
                for _ in range(_BINDING_WORKERS):
                    tasks.create_task(
                        _worker(self._bindings.queue, self._bindings.write, self._binding_failed)
                    )
        finally:
            for metrics in self._metrics.values():
                metrics.ready(False)

    # --- One workload -----------------------------------------------------------------------------

    async def _reconcile(self, key: WorkloadKey) -> None:
        scraper = self._tools.caches.workload(key)
        if scraper is None or not self._is_ours(scraper):
            self._forget(key)
            return
        metrics, begun = self._metrics[key.kind], time.monotonic()
        try:
            done = await self._reconciler.reconcile(key, scraper)
        except (WorkloadError, ApiError) as error:
            metrics.reconciled(key.namespace, key.name, time.monotonic() - begun, failed=True)
            if isinstance(error, NotLeading):
                raise
            self._statuses.record(key, failed(str(error)))
            self._log.warn("cannot reconcile", **_named(key), error=str(error))
            self._announce(key)
            if isinstance(error, ApiError):
                raise
            return
        metrics.reconciled(key.namespace, key.name, time.monotonic() - begun, failed=False)
        self._statuses.record(key, done.outcome)
        if done.again:
            self._queue.add_after(key, max((done.again - self._tools.now()).total_seconds(), 1))
        self._announce(key)

    def _announce(self, key: WorkloadKey) -> None:
        """Say what became of the resources that were judged anew."""
        held = self._reconciler.held.get(key)
        if held is None or held.kept is None:
            return
        news = held.kept.take_news()
        self._bindings.look(object_keys(news))
        for each in news:
            verdict, _ = held.kept.verdict(each) or (None, ())
            if verdict is not None and not verdict.accepted:
                resource, _ = RESOURCES[verdict.kind]
                subject = Subject(resource.api_version, verdict.kind, verdict.resource.metadata)
                self._events.warn(
                    subject, str(key), f"rejected by {_words(key)}: {verdict.message}"
                )

    def _forget(self, key: WorkloadKey) -> None:
        """Clean up after a workload that is gone, or is another's now."""
        held = self._reconciler.held.get(key)
        if held is not None:
            self._judgements.deleted(key)
            if held.kept is not None:
                self._bindings.look(object_keys(held.kept.verdicts))
        self._reconciler.forget(key)
        self._statuses.forget(key)
        self._metrics[key.kind].forget(key.namespace, key.name)

    async def _write_status(self, key: WorkloadKey) -> None:
        if await self._statuses.write(key):
            self._metrics[key.kind].status_written()

    # --- What others ask for ----------------------------------------------------------------------

    def _is_ours(self, scraper: Scraper) -> bool:
        return is_managed(scraper, self._settings) and not scraper.metadata.deletion_timestamp

    def _choices(self, kind: str, found: Named) -> Mapping[str, Choice] | None:
        scraper = self._tools.caches.workload(
            WorkloadKey(kind, found.metadata.namespace or "", found.metadata.name or "")
        )
        if scraper is None or not self._is_ours(scraper):
            return None
        return choices(scraper.spec, scraper.metadata.namespace or "")

    def _readers(self, key: Referenced) -> list[WorkloadKey]:
        """The workloads that looked for a Secret or ConfigMap."""
        return [
            workload
            for workload, held in self._reconciler.held.items()
            if held.kept is not None and held.kept.refers_to(key)
        ]

    def _look(self, key: WorkloadKey) -> None:
        self._statuses.queue.add(key)

    def _listen(self) -> None:
        """Let every change in the caches reach those that it concerns."""
        caches = self._tools.caches
        for kind, reflector in caches.workloads.items():
            reflector.store.listen(partial(self._triggers.workload, kind))
        for kind, reflector in caches.resources.items():
            reflector.store.listen(partial(self._resource_changed, kind))
        caches.namespaces.store.listen(self._triggers.namespace)
        for kind, reflector in caches.owned.items():
            reflector.store.listen(partial(self._object_changed, kind))

    def _resource_changed(self, kind: str, old: Any, new: Any) -> None:
        self._triggers.resource(kind, old, new)
        if new is not None and new.status and new.status.bindings:
            metadata = new.metadata
            self._bindings.look([ObjectKey(kind, metadata.namespace, metadata.name)])

    def _object_changed(self, kind: str, old: Any, new: Any) -> None:
        metadata = (new or old).metadata
        if new is None:
            self._tools.writer.forget(kind, metadata)
        if kind in ("Secret", "ConfigMap"):
            identity = (kind, metadata.namespace or "", metadata.name or "")
            version = metadata.resource_version if new is not None else ""
            self._tools.values.changed(identity, version or "")
            self._triggers.value(kind, old, new)
        self._triggers.owned(kind, WORKLOADS, old, new)

    # --- Failures ---------------------------------------------------------------------------------

    def _failed(self, key: WorkloadKey, error: StokerError) -> None:
        self._log.debug("will be tried again", **_named(key), error=str(error))

    def _status_failed(self, key: WorkloadKey, error: StokerError) -> None:
        self._metrics[key.kind].status_written(failed=True)
        self._log.warn("cannot write the status", **_named(key), error=str(error))

    def _binding_failed(self, key: ObjectKey, error: StokerError) -> None:
        self._log.warn("cannot write a binding", **_named(key), error=str(error))

    def _event_failed(self, error: ApiError) -> None:
        self._log.debug("cannot write an event", error=str(error))


async def _worker(
    queue: KeyedQueue[K],
    work: Callable[[K], Awaitable[object]],
    report: Callable[[K, StokerError], None],
) -> None:
    """Take keys and work on them, for ever; failures are reported and come back."""
    while True:
        try:
            async with queue.take() as key:
                try:
                    await work(key)
                except StokerError as error:
                    report(key, error)
                    raise
        except QueueClosedError:
            return
        except StokerError:
            continue


def _named(key: WorkloadKey | ObjectKey) -> dict[str, str]:
    return {"kind": key.kind, "namespace": key.namespace, "name": key.name}


def _words(key: WorkloadKey) -> str:
    return f"{key.kind} {key.namespace}/{key.name}"
