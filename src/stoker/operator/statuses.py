"""The status of workloads, written when it says something new.

It has a line of its own: looking at pods and writing a status never delays a configuration. It
speaks of the state of the workload that was reconciled last: while a newer one waits for its turn,
nothing is written. Pods are at hand here, so those that hold up a rollout are dealt with as well.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.prometheus import PrometheusAgent
from stoker.build.names import FIELD_MANAGER
from stoker.build.sets import replicas_of
from stoker.cluster.kinds import WORKLOADS
from stoker.kube.errors import ApiError, Conflict, NotFound
from stoker.kube.queue import KeyedQueue
from stoker.kube.takeover import adopt
from stoker.operator.nodes import Nodes
from stoker.operator.pods import pods_of
from stoker.operator.repairs import Repairs
from stoker.operator.tools import Tools
from stoker.plan import Outline
from stoker.plan.existing import Running
from stoker.ref import Ref
from stoker.select.workload import Workload, scraper_of
from stoker.status.conditions import AVAILABLE, TRUE, json_of, same_conditions
from stoker.status.reloaders import strange_reloaders
from stoker.status.workload import (
    DAEMON_SET,
    STATEFUL_SET,
    Observations,
    PodSet,
    Reconciliation,
    Remark,
    workload_status,
)
from stoker.web.operator_metrics import ControllerMetrics

_STATUS: Final = "status"
_DESIRED: Final = "desiredReplicas"
# What an API server says of it where the definition does not have it.
_UNDECLARED: Final = f".status.{_DESIRED}: field not declared in schema"
# Why a pod is not ready is found out by asking: no StatefulSet changes when it does.
_UNAVAILABLE_FOR: Final = 5.0
# What it is about is asked for at once; should the server say so again, there is no hurry.
_CONFLICT_SECONDS: Final = 1.0
# Nodes come and go in groups.
_NODES_FOR: Final = 0.5


class _Attempt(Struct, frozen=True):
    """What came of reconciling one state of a workload."""

    uid: str
    generation: int
    outcome: Reconciliation


class Statuses:
    """Writes the status of each workload in `queue`."""

    def __init__(
        self, tools: Tools, queue: KeyedQueue[Ref], metrics: Mapping[str, ControllerMetrics]
    ) -> None:
        self.queue = queue
        self._client = tools.status_client
        self._caches = tools.caches
        self._capabilities = tools.capabilities
        self._outline = tools.outline
        self._now = tools.now
        self._metrics = metrics
        self._repairs = Repairs(tools.status_client, tools.settings.repair_policy)
        self.nodes = Nodes(tools.status_client, lambda key: self.queue.add_after(key, _NODES_FOR))
        self._attempts: dict[Ref, _Attempt] = {}
        self._adopted: set[Ref] = set()
        # Kinds whose definition is not ours, and has no place for the number of pods.
        self._undeclared: set[str] = set()

    def record(self, key: Ref, workload: Workload, outcome: Reconciliation) -> None:
        """What came of an attempt to reconcile; the status is looked at again."""
        metadata = workload.metadata
        self._attempts[key] = _Attempt(metadata.uid or "", metadata.generation or 0, outcome)
        self.queue.add(key)

    def failure(self, key: Ref) -> Remark | None:
        """Why the last attempt to reconcile a workload failed, if it did."""
        attempt = self._attempts.get(key)
        return attempt.outcome.failure if attempt else None

    def forget(self, key: Ref) -> None:
        """A workload is gone, or another's now."""
        self._attempts.pop(key, None)
        self.nodes.forget(key)
        self._adopted.discard(key)

    async def keep(self, key: Ref) -> None:
        """Bring the status of a workload up to date, and count it."""
        metrics = self._metrics[key.kind]
        try:
            is_written = await self._is_new(key)
        except Exception:
            metrics.status_written(failed=True)
            raise
        if is_written:
            metrics.status_written()

    async def _is_new(self, key: Ref) -> bool:
        """Bring the status of a workload up to date; whether it had to be written."""
        workload, attempt = self._caches.workload(key), self._attempts.get(key)
        if workload is None or attempt is None or not _is_about(attempt, workload):
            # A newer state is about to be reconciled, and then it is looked at again.
            return False
        observed = await self._observed(key, workload, attempt.outcome)
        if self._attempts.get(key) is not attempt:
            return False
        # While pods were looked at, something may have been written.
        workload = self._caches.workload(key)
        if workload is None or not _is_about(attempt, workload):
            return False
        stored = _stored(workload)
        status = workload_status(observed, stored, self._now())
        self._measure(key, workload, observed, status)
        is_new = not _is_same(stored, status)
        if is_new and not await self._is_written(key, workload, status):
            return False
        await self._repairs.repair(_stateful_sets(observed), observed.pods)
        return is_new

    def _measure(
        self, key: Ref, workload: Workload, observed: Observations, status: Object
    ) -> None:
        """Count what is seen, and come back where it may change without an event."""
        metrics = self._metrics[key.kind]
        conditions = {each["type"]: each["status"] for each in status["conditions"]}
        metrics.conditions(key.namespace, key.name, conditions)
        if any(part.kind == STATEFUL_SET for part in observed.parts):
            shards = observed.scale.shards if observed.scale else None
            metrics.asks_for(key.namespace, key.name, replicas_of(workload.spec), shards)
        changing = observed.old_parts or any(map(_is_behind, observed.parts))
        if conditions[AVAILABLE] != TRUE or changing:
            self.queue.add_after(key, _UNAVAILABLE_FOR)

    async def _is_written(self, key: Ref, workload: Workload, status: Object) -> bool:
        """Write it, if the workload is still as it was seen; otherwise it is looked at again."""
        try:
            await self._written(key, workload, status)
        except Conflict:
            resource = WORKLOADS[key.kind].resource
            await self._caches.ask(self._client, resource, workload.metadata)
            self.queue.add_after(key, _CONFLICT_SECONDS)
            return False
        return True

    async def _written(self, key: Ref, workload: Workload, status: Object) -> None:
        """Write it; with definitions of prometheus-operator, without the member of our own."""
        try:
            await self._write(key, workload, status)
        except ApiError as error:
            if _UNDECLARED not in error.message:
                raise
            self._undeclared.add(key.kind)
            plain = {name: value for name, value in status.items() if name != _DESIRED}
            await self._write(key, workload, plain)

    async def _write(self, key: Ref, workload: Workload, status: Object) -> None:
        try:
            await self._apply(key, workload, status)
        except NotFound as error:
            # Without a reason it is not the workload that is gone: its kind is not served now.
            if not error.reason:
                raise

    async def _apply(self, key: Ref, workload: Workload, status: Object) -> None:
        resource = WORKLOADS[key.kind].resource
        version = workload.metadata.resource_version
        # Nobody has a field of a status that is not there: it is written to that version alone.
        if key not in self._adopted and workload.status is not None:
            live = await self._client.get(resource, key.namespace, key.name)
            if live["metadata"]["resourceVersion"] == version:
                live = await adopt(self._client, live, FIELD_MANAGER, subresource=_STATUS)
                version = live["metadata"]["resourceVersion"]
        wanted = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            # A precondition: of what it is by now, or of another by this name, this says nothing.
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "resourceVersion": version,
            },
            "status": status,
        }
        answer = await self._client.apply(wanted, manager=FIELD_MANAGER, subresource=_STATUS)
        self._adopted.add(key)
        self._caches.saw(key.kind, answer)

    async def _observed(
        self, key: Ref, workload: Workload, outcome: Reconciliation
    ) -> Observations:
        outline = self._outline(workload)
        # It may take seconds, so that what is counted is looked at after it.
        remarks = await self.nodes.remarks(key, _daemon_set(self._parts(outline)))
        exists = any(part.found for part in (*self._parts(outline), *self._old_parts(workload)))
        pods = await pods_of(self._client, outline) if exists else ()
        # Last: the news of what runs the pods may have come while they were asked for.
        parts, old = self._parts(outline), self._old_parts(workload)
        if isinstance(workload, PrometheusAgent) and self._get_portions(workload):
            remarks += strange_reloaders(pods)
        return Observations(
            namespace=key.namespace,
            generation=workload.metadata.generation or 0,
            parts=parts,
            old_parts=old,
            pods=pods,
            paused=bool(workload.spec.paused),
            reconciliation=outcome,
            scale=outline.scale,
            remarks=remarks,
            tells_desired=_tells_desired(workload) and key.kind not in self._undeclared,
        )

    def _get_portions(self, agent: PrometheusAgent) -> bool:
        return scraper_of(agent, self._capabilities).portions

    def _old_parts(self, workload: Workload) -> tuple[PodSet, ...]:
        """What runs pods of the mode that an agent is leaving."""
        if not isinstance(workload, PrometheusAgent):
            return ()
        kind = STATEFUL_SET if workload.spec.mode == DAEMON_SET else DAEMON_SET
        found = self._caches.belonging(kind, workload.metadata.uid or "")
        return tuple(
            PodSet(
                name=each.metadata.name or "",
                kind=kind,
                replicas=(each.spec or {}).get("replicas", 1),
                found={**msgspec.to_builtins(each), "kind": kind},
            )
            for each in found
        )

    def _parts(self, outline: Outline) -> tuple[PodSet, ...]:
        """What should run pods, with what there is of it now."""
        return tuple(replace(part, found=self._found(outline, part)) for part in outline.parts)

    def _found(self, outline: Outline, part: PodSet) -> Object | None:
        store = self._caches.owned[part.kind].store
        found: Running | None = store.get(outline.namespace, part.name)
        return None if found is None else {**msgspec.to_builtins(found), "kind": part.kind}


def _tells_desired(workload: Workload) -> bool:
    """Whether the status of a workload says how many pods there should be."""
    return isinstance(workload, PrometheusAgent)


def _stored(workload: Workload) -> Object:
    return {} if workload.status is None else json_of(workload.status)


def _is_about(attempt: _Attempt, workload: Workload) -> bool:
    """Whether an attempt was made with the state that a workload is in now."""
    metadata = workload.metadata
    return (attempt.uid, attempt.generation) == (metadata.uid or "", metadata.generation or 0)


def _is_behind(part: PodSet) -> bool:
    """Whether a DaemonSet is being rolled out, which may get stuck while all its pods are ready."""
    status = (part.found or {}).get("status") or {}
    updated, nodes = (status.get(f"{name}NumberScheduled", 0) for name in ("updated", "desired"))
    return bool(updated < nodes)


def _daemon_set(parts: Iterable[PodSet]) -> Object | None:
    return next((part.found for part in parts if part.kind == DAEMON_SET), None)


def _stateful_sets(observed: Observations) -> list[Object]:
    return [part.found for part in observed.parts if part.found and part.kind == STATEFUL_SET]


def _is_same(stored: Object, status: Object) -> bool:
    """Whether a status says nothing new; the times of conditions do not count."""
    others = {name: value for name, value in status.items() if name != "conditions"}
    before = {name: value for name, value in stored.items() if name != "conditions"}
    pairs = (stored.get("conditions") or (), status.get("conditions") or ())
    return others == before and same_conditions(*pairs)
