"""The status of workloads, written when it says something new.

It has a line of its own: looking at pods and writing a status never delays a configuration. It
speaks of the state of the workload that was reconciled last: while a newer one waits for its turn,
nothing is written. Pods are at hand here, so those that hold up a rollout are dealt with as well.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.prometheus import PrometheusAgent
from stoker.build.sets import replicas_of
from stoker.decide import Outline
from stoker.kube.errors import NotFound
from stoker.kube.queue import KeyedQueue
from stoker.kube.takeover import adopt
from stoker.run.caches import Running
from stoker.run.kinds import WORKLOADS
from stoker.run.latest import Latest
from stoker.run.pods import pods_of
from stoker.run.repairs import Repairs
from stoker.run.tools import Tools
from stoker.run.writer import MANAGER
from stoker.select.members import WorkloadKey
from stoker.select.workload import Owner
from stoker.status.conditions import AVAILABLE, TRUE, json_of, same_conditions
from stoker.status.workload import (
    DAEMON_SET,
    STATEFUL_SET,
    Facts,
    Part,
    Reconciliation,
    Remark,
    workload_status,
)
from stoker.web.operator_metrics import ControllerMetrics

_STATUS: Final = "status"
# Why a pod is not ready is found out by asking: no StatefulSet changes when it does.
_UNAVAILABLE_FOR: Final = 5.0


class _Attempt(Struct, frozen=True):
    """What came of reconciling one state of a workload."""

    uid: str
    generation: int
    outcome: Reconciliation


class Statuses:
    """Writes the status of each workload in `queue`."""

    def __init__(self, tools: Tools, metrics: Mapping[str, ControllerMetrics]) -> None:
        self.queue: KeyedQueue[WorkloadKey] = KeyedQueue()
        self._client = tools.status_client
        self._caches = tools.caches
        self._outline = tools.outline
        self._now = tools.now
        self._metrics = metrics
        self._repairs = Repairs(tools.status_client, tools.settings.repair_policy)
        self._attempts: dict[WorkloadKey, _Attempt] = {}
        self._latest: Latest[WorkloadKey] = Latest()
        self._adopted: set[WorkloadKey] = set()

    def record(self, key: WorkloadKey, owner: Owner, outcome: Reconciliation) -> None:
        """What came of an attempt to reconcile; the status is looked at again."""
        metadata = owner.metadata
        self._attempts[key] = _Attempt(metadata.uid or "", metadata.generation or 0, outcome)
        self.queue.add(key)

    def failure(self, key: WorkloadKey) -> Remark | None:
        """Why the last attempt to reconcile a workload failed, if it did."""
        attempt = self._attempts.get(key)
        return attempt.outcome.failure if attempt else None

    def forget(self, key: WorkloadKey) -> None:
        """A workload is gone, or another's now."""
        self._attempts.pop(key, None)
        self._latest.forget(key)
        self._adopted.discard(key)

    async def write(self, key: WorkloadKey) -> bool:
        """Bring the status of a workload up to date; whether it had to be written."""
        owner, attempt = self._caches.workload(key), self._attempts.get(key)
        if owner is None or attempt is None or not _is_about(attempt, owner):
            # A newer state is about to be reconciled, and then it is looked at again.
            return False
        facts = await self._facts(key, owner, attempt.outcome)
        if self._attempts.get(key) is not attempt:
            return False
        written = self._latest.of(key, owner.metadata)
        stored = written.status if written else _stored(owner)
        status = workload_status(facts, stored, self._now())
        self._measure(key, owner, facts, status)
        is_new = not _is_same(stored, status)
        if is_new:
            await self._write(key, status)
        await self._repairs.repair(_stateful_sets(facts), facts.pods)
        return is_new

    def _measure(self, key: WorkloadKey, owner: Owner, facts: Facts, status: Object) -> None:
        """Count what is seen, and come back where it may change without an event."""
        metrics = self._metrics[key.kind]
        conditions = {each["type"]: each["status"] for each in status["conditions"]}
        metrics.conditions(key.namespace, key.name, conditions)
        if any(part.kind == STATEFUL_SET for part in facts.parts):
            shards = facts.scale.shards if facts.scale else None
            metrics.asks_for(key.namespace, key.name, replicas_of(owner.spec), shards)
        changing = facts.old_parts or any(map(_is_behind, facts.parts))
        if conditions[AVAILABLE] != TRUE or changing:
            self.queue.add_after(key, _UNAVAILABLE_FOR)

    async def _write(self, key: WorkloadKey, status: Object) -> None:
        try:
            await self._apply(key, status)
        except NotFound as error:
            # Without a reason it is not the workload that is gone: its kind is not served now.
            if not error.reason:
                raise

    async def _apply(self, key: WorkloadKey, status: Object) -> None:
        resource = WORKLOADS[key.kind].resource
        if key not in self._adopted:
            live = await self._client.get(resource, key.namespace, key.name)
            await adopt(self._client, live, MANAGER, subresource=_STATUS)
            self._adopted.add(key)
        wanted = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": key.name, "namespace": key.namespace},
            "status": status,
        }
        answer = await self._client.apply(wanted, manager=MANAGER, subresource=_STATUS)
        if key in self._attempts:
            self._latest.note(key, answer)

    async def _facts(self, key: WorkloadKey, owner: Owner, outcome: Reconciliation) -> Facts:
        outline = self._outline(owner)
        parts = tuple(replace(part, found=self._found(outline, part)) for part in outline.parts)
        old = self._old_parts(owner)
        exists = any(part.found for part in (*parts, *old))
        return Facts(
            namespace=key.namespace,
            generation=owner.metadata.generation or 0,
            parts=parts,
            old_parts=old,
            pods=await pods_of(self._client, outline) if exists else (),
            paused=bool(owner.spec.paused),
            reconciliation=outcome,
            scale=outline.scale,
        )

    def _old_parts(self, owner: Owner) -> tuple[Part, ...]:
        """What runs pods of the mode that an agent is leaving."""
        if not isinstance(owner, PrometheusAgent):
            return ()
        kind = STATEFUL_SET if owner.spec.mode == DAEMON_SET else DAEMON_SET
        found = self._caches.belonging(kind, owner.metadata.uid or "")
        return tuple(
            Part(
                name=each.metadata.name or "",
                kind=kind,
                replicas=(each.spec or {}).get("replicas", 1),
                found={**msgspec.to_builtins(each), "kind": kind},
            )
            for each in found
        )

    def _found(self, outline: Outline, part: Part) -> Object | None:
        store = self._caches.owned[part.kind].store
        found: Running | None = store.get(outline.namespace, part.name)
        return None if found is None else {**msgspec.to_builtins(found), "kind": part.kind}


def _stored(owner: Owner) -> Object:
    return {} if owner.status is None else json_of(owner.status)


def _is_about(attempt: _Attempt, owner: Owner) -> bool:
    """Whether an attempt was made with the state that a workload is in now."""
    metadata = owner.metadata
    return (attempt.uid, attempt.generation) == (metadata.uid or "", metadata.generation or 0)


def _is_behind(part: Part) -> bool:
    """Whether a DaemonSet is being rolled out, which may get stuck while all its pods are ready."""
    status = (part.found or {}).get("status") or {}
    updated, nodes = (status.get(f"{name}NumberScheduled", 0) for name in ("updated", "desired"))
    return bool(updated < nodes)


def _stateful_sets(facts: Facts) -> list[Object]:
    return [part.found for part in facts.parts if part.found and part.kind == STATEFUL_SET]


def _is_same(stored: Object, status: Object) -> bool:
    """Whether a status says nothing new; the times of conditions do not count."""
    others = {name: value for name, value in status.items() if name != "conditions"}
    before = {name: value for name, value in stored.items() if name != "conditions"}
    pairs = (stored.get("conditions") or (), status.get("conditions") or ())
    return others == before and same_conditions(*pairs)
