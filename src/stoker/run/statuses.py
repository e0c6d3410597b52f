"""The status of workloads, written when it says something new.

It has a line of its own: looking at pods and writing a status never delays a configuration. It
speaks of the state of the workload that was reconciled last: while a newer one waits for its turn,
nothing is written. Pods are at hand here, so those that hold up a rollout are dealt with as well.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct

from stoker.api.core import Object
from stoker.build.names import daemon_set_name, selector_labels, stateful_set_name
from stoker.build.objects import MOST_SHARDS
from stoker.generate.sharding import shard_count
from stoker.kube.errors import NotFound
from stoker.kube.queue import KeyedQueue
from stoker.kube.resources import POD
from stoker.kube.takeover import adopt
from stoker.run.caches import WORKLOADS, Running
from stoker.run.latest import Latest
from stoker.run.repairs import Repairs
from stoker.run.tools import Tools
from stoker.run.writer import MANAGER
from stoker.select.members import WorkloadKey
from stoker.select.workload import Scraper, Workload, workload_of
from stoker.status.conditions import AVAILABLE, TRUE, json_of, same_conditions
from stoker.status.workload import (
    DAEMON_SET,
    STATEFUL_SET,
    Facts,
    Part,
    Reconciliation,
    Scale,
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
        self._capabilities = tools.capabilities
        self._now = tools.now
        self._metrics = metrics
        self._repairs = Repairs(tools.status_client, tools.settings.repair_policy)
        self._attempts: dict[WorkloadKey, _Attempt] = {}
        self._latest: Latest[WorkloadKey] = Latest()
        self._adopted: set[WorkloadKey] = set()

    def record(self, key: WorkloadKey, scraper: Scraper, outcome: Reconciliation) -> None:
        """What came of an attempt to reconcile; the status is looked at again."""
        metadata = scraper.metadata
        self._attempts[key] = _Attempt(metadata.uid or "", metadata.generation or 0, outcome)
        self.queue.add(key)

    def forget(self, key: WorkloadKey) -> None:
        """A workload is gone, or another's now."""
        self._attempts.pop(key, None)
        self._latest.forget(key)
        self._adopted.discard(key)

    async def write(self, key: WorkloadKey) -> bool:
        """Bring the status of a workload up to date; whether it had to be written."""
        scraper, attempt = self._caches.workload(key), self._attempts.get(key)
        if scraper is None or attempt is None or not _is_about(attempt, scraper):
            # A newer state is about to be reconciled, and then it is looked at again.
            return False
        facts = await self._facts(key, scraper, attempt.outcome)
        if self._attempts.get(key) is not attempt:
            return False
        written = self._latest.of(key, scraper.metadata)
        stored = written.status if written else _stored(scraper)
        status = workload_status(facts, stored, self._now())
        self._measure(key, scraper, facts, status)
        is_new = not _is_same(stored, status)
        if is_new:
            with suppress(NotFound):
                await self._write(key, status)
        await self._repairs.repair(_stateful_sets(facts), facts.pods)
        return is_new

    def _measure(self, key: WorkloadKey, scraper: Scraper, facts: Facts, status: Object) -> None:
        """Count what is seen, and come back where it may change without an event."""
        metrics, spec = self._metrics[key.kind], scraper.spec
        conditions = {each["type"]: each["status"] for each in status["conditions"]}
        metrics.conditions(key.namespace, key.name, conditions)
        shards = facts.scale.shards if facts.scale else None
        if shards is not None:
            replicas = 1 if spec.replicas is None else spec.replicas
            metrics.asks_for(key.namespace, key.name, replicas, shards)
        if conditions[AVAILABLE] != TRUE:
            self.queue.add_after(key, _UNAVAILABLE_FOR)

    async def _write(self, key: WorkloadKey, status: Object) -> None:
        resource, _ = WORKLOADS[key.kind]
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

    async def _facts(self, key: WorkloadKey, scraper: Scraper, outcome: Reconciliation) -> Facts:
        workload = workload_of(scraper, self._capabilities)
        parts = self._parts(workload)
        exists = any(part.found for part in parts)
        return Facts(
            namespace=key.namespace,
            generation=scraper.metadata.generation or 0,
            parts=parts,
            pods=await self._pods(workload) if exists else (),
            paused=bool(scraper.spec.paused),
            reconciliation=outcome,
            scale=_scale(workload),
        )

    def _parts(self, workload: Workload) -> tuple[Part, ...]:
        if workload.daemon_set:
            name = daemon_set_name(workload)
            return (
                Part(name=name, kind=DAEMON_SET, found=self._found(DAEMON_SET, workload, name)),
            )
        replicas = workload.spec.replicas
        # More than these are refused, and nobody waits for a list of them.
        shards = range(min(shard_count(workload), MOST_SHARDS))
        names = (stateful_set_name(workload, shard) for shard in shards)
        return tuple(
            Part(
                name=name,
                found=self._found(STATEFUL_SET, workload, name),
                replicas=1 if replicas is None else replicas,
                shard=str(shard),
            )
            for shard, name in enumerate(names)
        )

    def _found(self, kind: str, workload: Workload, name: str) -> Object | None:
        found: Running | None = self._caches.owned[kind].store.get(workload.namespace, name)
        return None if found is None else {**msgspec.to_builtins(found), "kind": kind}

    async def _pods(self, workload: Workload) -> Sequence[Object]:
        path = POD.path(workload.namespace)
        query = {"labelSelector": _selector(workload)}
        found: Any = msgspec.json.decode(await self._client.request("GET", path, query=query))
        pods: Sequence[Object] = found["items"]
        return pods


def _stored(scraper: Scraper) -> Object:
    return {} if scraper.status is None else json_of(scraper.status)


def _is_about(attempt: _Attempt, scraper: Scraper) -> bool:
    """Whether an attempt was made with the state that a workload is in now."""
    metadata = scraper.metadata
    return (attempt.uid, attempt.generation) == (metadata.uid or "", metadata.generation or 0)


def _stateful_sets(facts: Facts) -> list[Object]:
    return [part.found for part in facts.parts if part.found and part.kind == STATEFUL_SET]


def _selector(workload: Workload) -> str:
    labels = selector_labels(workload, None)
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))


def _scale(workload: Workload) -> Scale:
    return Scale(_selector(workload), None if workload.daemon_set else shard_count(workload))


def _is_same(stored: Object, status: Object) -> bool:
    """Whether a status says nothing new; the times of conditions do not count."""
    others = {name: value for name, value in status.items() if name != "conditions"}
    before = {name: value for name, value in stored.items() if name != "conditions"}
    pairs = (stored.get("conditions") or (), status.get("conditions") or ())
    return others == before and same_conditions(*pairs)
