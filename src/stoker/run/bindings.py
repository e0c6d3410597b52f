"""What the workloads made of each configuration resource, written into its status (S1–S4).

The unit is the resource: what its status should say about all workloads of ours is compared with
what it says, and only the difference is written, each binding by the field manager of its workload.
So a restart, a deleted workload or a binding that somebody removed need no case of their own.

A binding of a workload that is not ours stays as it is: another operator may look after it. One of
a workload that was deleted goes, if we would know of it.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from stoker.api.core import Object
from stoker.api.crd import GROUP
from stoker.kube.errors import Conflict, NotFound
from stoker.kube.queue import KeyedQueue
from stoker.run.caches import RESOURCES, WORKLOADS
from stoker.run.judgements import Judgements
from stoker.run.tools import Tools
from stoker.select.choice import Candidate
from stoker.select.members import ObjectKey, WorkloadKey
from stoker.status.bindings import (
    BoundWorkload,
    ResourceIdentity,
    binding,
    dated_binding,
    is_news,
    manager_of,
    status_apply,
)

_KINDS: Final = {resource.plural: kind for kind, (resource, _) in WORKLOADS.items()}
_KEYS: Final = ("group", "resource", "namespace", "name")


class Bindings:
    """Brings the bindings of each resource in `queue` up to date.

    Without `enabled` there should be none, and those of ours are removed.
    """

    def __init__(self, tools: Tools, judgements: Judgements, *, enabled: bool) -> None:
        self.queue: KeyedQueue[ObjectKey] = KeyedQueue()
        self._client = tools.status_client
        self._caches = tools.caches
        self._now = tools.now
        self._judgements = judgements
        self._enabled = enabled

    def look(self, keys: Iterable[ObjectKey]) -> None:
        """Something was said, or is no longer true, about these."""
        for key in keys:
            self.queue.add(key)

    def look_at_all(self) -> None:
        """Find what was left behind: whatever has a binding is looked at."""
        for kind, reflector in self._caches.resources.items():
            for found in reflector.store:
                if _stored(found):
                    metadata = found.metadata
                    self.queue.add(ObjectKey(kind, metadata.namespace or "", metadata.name or ""))

    async def write(self, key: ObjectKey) -> int:
        """Bring the bindings of a resource up to date; how many writes it took."""
        found = self._caches.resource(key)
        if found is None or found.metadata.deletion_timestamp:
            return 0
        stored = _stored(found)
        writes = 0
        with suppress(NotFound, Conflict):
            # A resource that is gone, or another one of its name: its own event comes.
            for mine, manager in self._news(key, stored):
                wanted = status_apply(_identity(key), mine)
                await self._client.apply(wanted, manager=manager, subresource="status")
                writes += 1
            for index in reversed(list(self._stale(key, stored))):
                await self._remove(key, stored, index)
                writes += 1
        return writes

    def _news(self, key: ObjectKey, stored: list[Object]) -> Iterator[tuple[Object, str]]:
        if not self._enabled:
            return
        for workload, verdict, ignored in self._judgements.of(key):
            bound = _bound(workload)
            generation = verdict.resource.metadata.generation or 0
            mine = dated_binding(stored, binding(bound, verdict, generation, ignored), self._now())
            if is_news(stored, mine):
                yield mine, manager_of(bound)

    def _stale(self, key: ObjectKey, stored: list[Object]) -> Iterator[int]:
        """The places of the bindings that must go."""
        for index, each in enumerate(stored):
            kind = _KINDS.get(each.get("resource", ""))
            if kind is None or each.get("group") != GROUP:
                continue
            workload = WorkloadKey(kind, each.get("namespace", ""), each.get("name", ""))
            ours = self._judgements.is_ours(workload)
            if ours is None:
                continue
            if not ours or not self._enabled or not self._judgements.applies(key, workload):
                yield index

    async def _remove(self, key: ObjectKey, stored: list[Object], index: int) -> None:
        """Remove a binding, whoever wrote it, if it is still where it was seen."""
        place = f"/status/bindings/{index}"
        tests = [
            {"op": "test", "path": f"{place}/{name}", "value": stored[index].get(name, "")}
            for name in _KEYS
        ]
        resource, _ = RESOURCES[key.kind]
        await self._client.json_patch(
            resource,
            key.namespace,
            key.name,
            [*tests, {"op": "remove", "path": place}],
            subresource="status",
            manager=manager_of(_bound_of(stored[index])),
        )


def _stored(found: Candidate) -> list[Object]:
    status = found.status
    made: list[Object] = msgspec.to_builtins((status and status.bindings) or ())
    return made


def _identity(key: ObjectKey) -> ResourceIdentity:
    resource, _ = RESOURCES[key.kind]
    return ResourceIdentity(resource.api_version, resource.kind, key.namespace, key.name)


def _bound(workload: WorkloadKey) -> BoundWorkload:
    resource, _ = WORKLOADS[workload.kind]
    return BoundWorkload(resource.plural, workload.namespace, workload.name)


def _bound_of(stored: Mapping[str, Any]) -> BoundWorkload:
    return BoundWorkload(stored["resource"], stored["namespace"], stored["name"])
