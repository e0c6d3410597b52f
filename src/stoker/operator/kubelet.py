"""The kubelets' Service and the lists of nodes behind it, kept as the nodes are.

    nodes: address, readiness ───┐
    Service, Endpoints, slices ──┼──> queue ──> read, plan, write what differs
    now and then ────────────────┘

`stoker.build.kubelet` plans, this module says when. Nodes report every few seconds, so only what
the plan depends on is kept of them, and a report that leaves that as it was ends right there.
What exists is read from the server each time: a watch lags behind our own writes, and addresses
would move between slices for nothing. The watches of objects only wake us, and not for what we
wrote ourselves.
"""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec import Raw, Struct

from stoker.api.core import Object, ObjectMeta
from stoker.api.declare import Model
from stoker.api.decode import decode
from stoker.build.kubelet import KubeletExisting, KubeletPlan, kubelet_plan
from stoker.build.names import MANAGING_OPERATOR
from stoker.errors import StokerError
from stoker.kube.client import Client, ListPage
from stoker.kube.errors import ApiError, Forbidden, NotFound
from stoker.kube.queue import KeyedQueue
from stoker.kube.reading import Head, typed
from stoker.kube.reflector import Reflector
from stoker.kube.resources import ENDPOINT_SLICE, ENDPOINTS, NODE, SERVICE, ApiResource, resource_of
from stoker.kube.watch import WatchScope
from stoker.logs import logger
from stoker.operator.workers import Duty, tell, worker
from stoker.operator.writer import Writer
from stoker.ref import Ref, ref_from, ref_of_manifest
from stoker.settings import KubeletSettings, ObjectSettings
from stoker.targets.objects import NodeCondition, ReportedAddress
from stoker.web.operator_metrics import OperatorMetrics

# Nodes come and go in groups, and each time a list of all of them may have to be written.
_GATHER_SECONDS: Final = 0.5


class Kubelets:
    """Keeps the objects for as long as `run` runs, which is once."""

    def __init__(
        self,
        client: Client,
        settings: KubeletSettings,
        objects: ObjectSettings,
        metrics: OperatorMetrics,
    ) -> None:
        self._client = client
        self._plan = partial(kubelet_plan, settings=settings, objects=objects)
        self._sync_seconds = settings.sync_seconds
        self._metrics = metrics
        self._log = logger("kubelet", namespace=settings.namespace, name=settings.name)
        self._queue: KeyedQueue[Ref | None] = KeyedQueue()
        self._found: dict[Ref, ObjectMeta] = {}
        self._writer = Writer(client, self._found.get)
        self._problems: frozenset[str] = frozenset()
        self._service = _named(SERVICE, settings)
        self._lists = _lists(settings)
        watched = [self._service, *(each.scope for each in self._lists if each.kept)]
        self._watches = {
            scope.resource.kind: Reflector(client, scope, typed(Head)) for scope in watched
        }
        self._nodes = Reflector(
            client, WatchScope(NODE, label_selector=settings.node_selector), _node
        )
        self._listen()

    async def run(self) -> None:
        """Work until cancelled."""
        for each in self._lists:
            self._metrics.kubelet_keeps(each.label, each.kept)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._nodes.run())
                for watch in self._watches.values():
                    tasks.create_task(watch.run())
                await self._all_nodes()
                await self._work()
        finally:
            await self._queue.shutdown()

    async def _work(self) -> None:
        self._queue.add(None)
        await worker(
            Duty(
                queue=self._queue, work=self._look, failed=self._failed, done=lambda _seconds: None
            )
        )

    def _failed(self, _: Ref | None, error: Exception) -> None:
        # What was foreseen has been reported.
        if not isinstance(error, StokerError):
            self._count(failed=True)
            tell(self._log, "cannot keep the nodes", error)

    async def _all_nodes(self) -> None:
        """Wait until all nodes are known: one that is not would be taken out."""
        await self._nodes.settled()
        if self._nodes.troubles:
            self._count(failed=True)
        await self._nodes.ready()

    # --- When -------------------------------------------------------------------------------------

    def _listen(self) -> None:
        self._nodes.store.listen(self._node_changed)
        for kind, reflector in self._watches.items():
            reflector.store.listen(partial(self._object_changed, kind))

    def _node_changed(self, old: "_Node | None", new: "_Node | None") -> None:
        if old != new:
            self._queue.add_after(None, _GATHER_SECONDS)

    def _object_changed(self, kind: str, old: Head | None, new: Head | None) -> None:
        # Whether it was us is looked at later: the watch may be faster than the answer to a write.
        found = new or old
        if found is not None:
            identity = ref_from(kind, found.metadata)
            self._queue.add_after(identity, _GATHER_SECONDS)

    async def _look(self, changed: Ref | None) -> None:
        """Look at everything, unless only an object changed, and to what it should be."""
        if changed is not None and self._is_written(changed):
            return
        await self._sync()
        if self._sync_seconds > 0:
            self._queue.add_after(None, self._sync_seconds)

    def _is_written(self, identity: Ref) -> bool:
        kind, namespace, name = identity
        found = self._watches[kind].store.get(namespace, name)
        return found is not None and self._writer.is_written(kind, found.metadata)

    # --- What -------------------------------------------------------------------------------------

    async def _sync(self) -> None:
        """Make the objects as they should be; what cannot be written keeps no other from it."""
        self._found.clear()
        nodes: list[Object] = [msgspec.to_builtins(node) for node in self._nodes.store]
        wanted = self._plan(nodes, KubeletExisting())
        self._tell(wanted.problems)
        service, failures = await self._kept_service(wanted.service)
        for each in self._lists:
            # A list that is wanted no longer goes when the others are there.
            if each.kept or not failures:
                failures += await self._kept_list(each, nodes, service)
        if failures:
            raise failures[0]

    async def _kept_service(self, wanted: Object) -> tuple[Object | None, list[ApiError]]:
        """The Service as it is in the cluster then, and what went wrong."""
        live: list[Object] = []
        try:
            live = await self._live(self._service)
            if await self._write(wanted):
                live = await self._live(self._service)
        except ApiError as error:
            self._log.warn("cannot keep the Service", error=str(error))
            return _first(live), [error]
        return _first(live), []

    async def _kept_list(
        self, each: "_List", nodes: Sequence[Object], service: Object | None
    ) -> list[ApiError]:
        """Keep the nodes as objects of one kind, or see to it that there are none."""
        try:
            live = await self._live(each.scope)
        except (Forbidden, NotFound) as error:
            # Whoever never wanted them need not let us see them.
            return self._not_kept(each, error) if each.kept else []
        except ApiError as error:
            return self._not_kept(each, error)
        try:
            planned = self._plan(nodes, each.existing(service, live))
            for wanted in each.wanted(planned):
                await self._write(wanted)
            for gone in planned.deletions:
                await self._delete(gone)
        except ApiError as error:
            return self._not_kept(each, error)
        self._count(each)
        return []

    def _not_kept(self, each: "_List", error: ApiError) -> list[ApiError]:
        wanted = "keep the nodes" if each.kept else "remove what is left of the nodes"
        self._log.warn(f"cannot {wanted} as {each.kind}", error=str(error))
        self._count(each, failed=True)
        return [error]

    async def _live(self, scope: WatchScope) -> list[Object]:
        """What the cluster has of a kind."""
        resource = scope.resource
        found = await self._client.ask(ListPage[Object], "GET", scope.path, query=scope.query())
        # Items of a list do not say what they are.
        own = {"apiVersion": resource.api_version, "kind": resource.kind}
        objects: list[Object] = [own | one for one in found.items]
        self._found |= {ref_of_manifest(one): _metadata(one) for one in objects}
        return objects

    async def _write(self, wanted: Object) -> bool:
        identity = ref_of_manifest(wanted)
        if identity not in self._found:
            self._writer.forget(wanted["kind"], _metadata(wanted))
        written = await self._writer.write(wanted)
        if written:
            self._log.info("written", kind=wanted["kind"], object=identity.name)
        return written

    async def _delete(self, gone: Object) -> None:
        await self._writer.delete(resource_of(gone), _metadata(gone))
        self._log.info("deleted", kind=gone["kind"], object=gone["metadata"]["name"])

    # --- What is reported -------------------------------------------------------------------------

    def _tell(self, problems: Sequence[str]) -> None:
        """Count all problems, and log those that are new."""
        self._metrics.addresses_missing(len(problems))
        for problem in problems:
            if problem not in self._problems:
                self._log.warn(problem)
        self._problems = frozenset(problems)

    def _count(self, only: "_List | None" = None, *, failed: bool = False) -> None:
        for each in (only,) if only else self._lists:
            if each.kept:
                self._metrics.nodes_synced(each.label, failed=failed)


# --- Kinds ----------------------------------------------------------------------------------------


class _List(Struct, frozen=True):
    """A kind of object that lists nodes. `label` is its name in metrics."""

    scope: WatchScope
    label: str
    kept: bool

    @property
    def kind(self) -> str:
        return self.scope.resource.kind

    def existing(self, service: Object | None, live: Sequence[Object]) -> KubeletExisting:
        """What there is of this kind alone, so that a plan removes nothing else."""
        if self.scope.resource is ENDPOINTS:
            return KubeletExisting(service=service, endpoints=_first(live))
        return KubeletExisting(service=service, slices=live)

    def wanted(self, planned: KubeletPlan) -> Iterator[Object]:
        """The objects of this kind that a plan asks for."""
        if self.scope.resource is not ENDPOINTS:
            yield from planned.slices
        elif planned.endpoints is not None:
            yield planned.endpoints


def _lists(settings: KubeletSettings) -> list[_List]:
    """Both kinds, those that are kept first."""
    ours = (
        f"kubernetes.io/service-name={settings.name}",
        f"endpointslice.kubernetes.io/managed-by={MANAGING_OPERATOR}",
    )
    slices = WatchScope(ENDPOINT_SLICE, settings.namespace, ",".join(ours), metadata_only=True)
    both = [
        _List(_named(ENDPOINTS, settings), "endpoints", settings.endpoints),
        _List(slices, "endpointslice", settings.endpoint_slices),
    ]
    return sorted(both, key=lambda each: not each.kept)


def _named(resource: ApiResource, settings: KubeletSettings) -> WatchScope:
    """The one object of that name. A role for that name alone is enough."""
    name = f"metadata.name={settings.name}"
    return WatchScope(resource, settings.namespace, field_selector=name, metadata_only=True)


def _first(objects: Sequence[Object]) -> Object | None:
    return objects[0] if objects else None


def _metadata(found: Object) -> ObjectMeta:
    return msgspec.convert(found["metadata"], ObjectMeta)


# --- Nodes ----------------------------------------------------------------------------------------


class _NodeMeta(Model):
    name: str = ""
    uid: str = ""


class _NodeStatus(Model):
    addresses: tuple[ReportedAddress, ...] | None = None
    conditions: tuple[NodeCondition, ...] | None = None


class _Node(Model):
    """A node, as far as its kubelet's address goes."""

    metadata: _NodeMeta = _NodeMeta()
    status: _NodeStatus = _NodeStatus()


def _node(raw: Raw) -> _Node:
    found = decode(_Node, raw)
    ready = tuple(each for each in found.status.conditions or () if each.type == "Ready")
    status = msgspec.structs.replace(found.status, conditions=ready)
    return msgspec.structs.replace(found, status=status)
