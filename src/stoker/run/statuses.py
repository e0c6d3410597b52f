"""The status of workloads, written when it says something new.

It has a line of its own: looking at pods and writing a status never delays a configuration.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from stoker.api.core import Object
from stoker.build.names import daemon_set_name, selector_labels, stateful_set_name
from stoker.generate.sharding import shard_count
from stoker.kube.errors import NotFound
from stoker.kube.queue import KeyedQueue
from stoker.kube.resources import POD
from stoker.kube.takeover import adopt
from stoker.run.caches import WORKLOADS, Running
from stoker.run.tools import Tools
from stoker.run.writer import MANAGER
from stoker.select.members import WorkloadKey
from stoker.select.workload import Scraper, Workload, workload_of
from stoker.status.conditions import json_of, same_conditions
from stoker.status.workload import (
    DAEMON_SET,
    STATEFUL_SET,
    Facts,
    Part,
    Reconciliation,
    Scale,
    workload_status,
)

_STATUS: Final = "status"


class Statuses:
    """Writes the status of each workload in `queue`."""

    def __init__(self, tools: Tools) -> None:
        self.queue: KeyedQueue[WorkloadKey] = KeyedQueue()
        self._client = tools.status_client
        self._caches = tools.caches
        self._capabilities = tools.capabilities
        self._now = tools.now
        self._outcomes: dict[WorkloadKey, Reconciliation] = {}
        self._written: dict[WorkloadKey, Object] = {}

    def record(self, key: WorkloadKey, outcome: Reconciliation) -> None:
        """What came of an attempt to reconcile; the status is looked at again."""
        self._outcomes[key] = outcome
        self.queue.add(key)

    def outcome(self, key: WorkloadKey) -> Reconciliation | None:
        """What came of the last attempt."""
        return self._outcomes.get(key)

    def forget(self, key: WorkloadKey) -> None:
        """A workload is gone."""
        self._outcomes.pop(key, None)
        self._written.pop(key, None)

    async def write(self, key: WorkloadKey) -> bool:
        """Bring the status of a workload up to date; whether it had to be written."""
        scraper = self._caches.workload(key)
        if scraper is None or key not in self._outcomes:
            return False
        facts = await self._facts(key, scraper)
        stored = self._written.get(key) or (json_of(scraper.status) if scraper.status else {})
        status = workload_status(facts, stored, self._now())
        if _is_same(stored, status):
            self._written.pop(key, None)
            return False
        try:
            await self._write(key, status)
        except NotFound:
            return False
        self._written[key] = status
        return True

    async def _write(self, key: WorkloadKey, status: Object) -> None:
        resource, _ = WORKLOADS[key.kind]
        if key not in self._written:
            live = await self._client.get(resource, key.namespace, key.name)
            await adopt(self._client, live, MANAGER, subresource=_STATUS)
        wanted = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": key.name, "namespace": key.namespace},
            "status": status,
        }
        await self._client.apply(wanted, manager=MANAGER, subresource=_STATUS)

    async def _facts(self, key: WorkloadKey, scraper: Scraper) -> Facts:
        workload = workload_of(scraper, self._capabilities)
        parts = self._parts(workload)
        exists = any(part.found for part in parts)
        return Facts(
            namespace=key.namespace,
            generation=scraper.metadata.generation or 0,
            parts=parts,
            pods=await self._pods(workload) if exists else (),
            paused=bool(scraper.spec.paused),
            reconciliation=self._outcomes[key],
            scale=_scale(workload),
        )

    def _parts(self, workload: Workload) -> tuple[Part, ...]:
        if workload.daemon_set:
            name = daemon_set_name(workload)
            return (
                Part(name=name, kind=DAEMON_SET, found=self._found(DAEMON_SET, workload, name)),
            )
        replicas = workload.spec.replicas
        names = (stateful_set_name(workload, shard) for shard in range(shard_count(workload)))
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
