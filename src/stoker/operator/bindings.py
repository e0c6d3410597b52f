"""What the workloads made of each configuration resource, written into its status.

The unit is the resource: what its status should say about all workloads of ours is compared with
what it says, and only the difference is written, each binding by the field manager of its workload.
So a restart, a deleted workload or a binding that somebody removed need no case of their own.

A binding of a workload that is not ours stays as it is: another operator may look after it. One of
a workload that was deleted goes, if we would know of it. One of a workload that has not said
anything yet waits until it has; a resource without one learns why it has not (`Unknown`).
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from stoker.api.common import Binding
from stoker.api.core import Object
from stoker.api.crd import GROUP
from stoker.build.names import FIELD_MANAGER
from stoker.cluster.kinds import WORKLOADS
from stoker.cluster.live import only_at
from stoker.kube.backoff import GRANT_SECONDS
from stoker.kube.errors import Conflict, Forbidden, NotFound
from stoker.kube.queue import KeyedQueue
from stoker.operator.published import Ownership, PublishedVerdicts
from stoker.operator.targets import Observed
from stoker.operator.tools import Tools
from stoker.ref import Ref, ref_from
from stoker.select.choice import Resource
from stoker.status.bindings import (
    BoundWorkload,
    ResourceIdentity,
    binding,
    dated_binding,
    is_known,
    is_news,
    is_unknown,
    manager_of,
    status_apply,
    told_targets,
    unknown_binding,
)
from stoker.status.workload import Remark

_KINDS: Final = {kind.resource.plural: name for name, kind in WORKLOADS.items()}
_STATUS: Final = "status"
# What it is about is asked for at once; should the server say so again, there is no hurry.
_CONFLICT_SECONDS: Final = 1.0
_BINDINGS: Final = "/status/bindings"


class Bindings:
    """Brings the bindings of each resource in `queue` up to date.

    Without `enabled` there should be none, and those of ours are removed.
    """

    def __init__(
        self, tools: Tools, published: PublishedVerdicts, observed: Observed, *, enabled: bool
    ) -> None:
        self.queue: KeyedQueue[Ref] = KeyedQueue()
        self._client = tools.status_client
        self._caches = tools.caches
        self._now = tools.now
        self._published = published
        self._observed = observed
        self._enabled = enabled
        self._undecided: defaultdict[Ref, set[Ref]] = defaultdict(set)
        self._forbidden: dict[tuple[str, str], float] = {}

    def look(self, keys: Iterable[Ref]) -> None:
        """Something was said, or is no longer true, about these."""
        for key in keys:
            self.queue.add(key)

    def look_at_all(self) -> None:
        """Find what was left behind: whatever has a binding is looked at."""
        for kind, reflector in self._caches.resources.items():
            for found in reflector.store:
                self.changed(kind, None, found)

    def changed(self, kind: str, old: Resource | None, new: Resource | None) -> None:
        """A resource is another: one that has bindings, had them or should is looked at."""
        if new is None:
            return
        key = ref_from(kind, new.metadata)
        if _has_bindings(new) or _has_bindings(old) or any(self._delayed(key)):
            self.queue.add(key)

    def _delayed(self, key: Ref) -> Iterator[tuple[Ref, Remark]]:
        """The workloads that select a resource and do not judge what is new, and why."""
        for workload in self._published.users(key):
            cause = self._published.delayed(workload)
            if cause is not None:
                yield workload, cause

    def decided(self, workload: Ref) -> None:
        """A workload has said what applies to it, or is gone: what waited for that is looked at."""
        self.look(self._undecided.pop(workload, ()))

    async def write(self, key: Ref) -> int:
        """Bring the bindings of a resource up to date; how many writes it took."""
        wait = self._forbidden.get((key.kind, key.namespace), 0.0) - _clock()
        if wait > 0:
            self.queue.add_after(key, wait)
            return 0
        found = self._caches.resource(key)
        if found is None:
            return 0
        try:
            return await self._write(key, found)
        except Forbidden:
            # A role that forbids one write forbids all of that kind in its namespace: asking for
            # each would be a storm.
            self._forbidden[key.kind, key.namespace] = _clock() + GRANT_SECONDS
            raise
        except Conflict as error:
            # It changed meanwhile, or the server says so: what is true then is written then.
            await self._caches.ask(self._client, self._caches.place(key.kind), found.metadata)
            self.queue.add_after(key, max(_CONFLICT_SECONDS, error.asked_wait))
            return 0

    async def _write(self, key: Ref, found: Resource) -> int:
        stored, version = cached_bindings(found), found.metadata.resource_version or ""
        writes = 0
        with _event_comes():
            for mine, manager in self._news(key, found, stored):
                # A namesake that came since has not been judged.
                answer = await self._client.apply(
                    only_at(version, mine), manager=manager, subresource=_STATUS
                )
                self._caches.saw(key.kind, answer)
                stored, version = _bindings(answer), answer["metadata"]["resourceVersion"]
                writes += 1
            stale = [each for each in stored if await self._is_stale(key, each)]
            if stale:
                await self._remove(key, stored, stale, version)
                writes += 1
        return writes

    def _news(
        self, key: Ref, found: Resource, stored: list[Object]
    ) -> Iterator[tuple[Object, str]]:
        """What is to be applied, and by which manager."""
        if not self._enabled:
            return
        identity = self._identity(key, found.metadata.uid or "")
        made = self._decided(key, found, stored)
        for bound, each in (self._unjudged(key, stored) | made).items():
            mine = dated_binding(stored, each, self._now())
            if is_news(stored, mine):
                yield status_apply(identity, mine), manager_of(bound)

    def _decided(
        self, key: Ref, found: Resource, stored: list[Object]
    ) -> dict[BoundWorkload, Binding]:
        """What workloads made of a resource."""
        made = {}
        for workload, (verdict, ignored) in self._published.of(key):
            then = verdict.resource.metadata
            if then.uid != found.metadata.uid:
                # Another resource had that name; this one is about to be judged.
                continue
            bound = bound_workload(workload)
            targets = self._observed.of(workload, key, told_targets(stored, bound))
            made[bound] = binding(bound, verdict, then.generation or 0, ignored, targets)
        return made

    def _unjudged(self, key: Ref, stored: list[Object]) -> dict[BoundWorkload, Binding]:
        """What is said for workloads that do not judge; what is known from before stays."""
        delayed = ((bound_workload(each), cause) for each, cause in self._delayed(key))
        return {
            bound: unknown_binding(bound, cause.reason, cause.message)
            for bound, cause in delayed
            if not is_known(stored, bound)
        }

    def _identity(self, key: Ref, uid: str) -> ResourceIdentity:
        # In the version that is watched: the status is the same in all, but not all may be served.
        resource = self._caches.place(key.kind)
        return ResourceIdentity(resource.api_version, resource.kind, key.namespace, key.name, uid)

    async def _is_stale(self, key: Ref, stored: Object) -> bool:
        """Whether a binding must go."""
        kind = _KINDS.get(stored.get("resource", ""))
        if kind is None or stored.get("group") != GROUP:
            return False
        workload = Ref(kind, stored.get("namespace", ""), stored.get("name", ""))
        ownership = await self._published.ownership(workload)
        if ownership is Ownership.GONE or (ownership is Ownership.OURS and not self._enabled):
            return True
        ours = ownership is Ownership.OURS
        if ours and is_unknown(stored):
            return workload not in self._published.users(key)
        applies = self._published.applies(key, workload) if ours else None
        if applies is None and self._caches.workload(workload) is not None:
            self._undecided[workload].add(key)
        return applies is False

    async def _remove(
        self, key: Ref, stored: list[Object], stale: list[Object], version: str
    ) -> None:
        """Remove bindings, whoever wrote them, if the resource is still as it was seen."""
        places = [index for index, each in enumerate(stored) if each in stale]
        gone = [f"{_BINDINGS}/{index}" for index in reversed(places)]
        removals: list[Object] = [
            {"op": "remove", "path": path}
            for path in ([_BINDINGS] if len(places) == len(stored) else gone)
        ]
        # A version in a patch is a precondition: the places are those of this version.
        same = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
        resource = self._caches.place(key.kind)
        answer = await self._client.json_patch(
            resource,
            key.namespace,
            key.name,
            [same, *removals],
            subresource=_STATUS,
            manager=FIELD_MANAGER,
        )
        self._caches.saw(key.kind, answer)


def cached_bindings(found: Resource) -> list[Object]:
    """The bindings of a resource as the cache has them."""
    status = found.status
    made: list[Object] = msgspec.to_builtins((status and status.bindings) or ())
    return made


def bound_workload(workload: Ref) -> BoundWorkload:
    """A workload as bindings name it."""
    resource = WORKLOADS[workload.kind].resource
    return BoundWorkload(resource.plural, workload.namespace, workload.name)


def _has_bindings(found: Resource | None) -> bool:
    return bool(found is not None and found.status and found.status.bindings)


def _bindings(answer: Object) -> list[Any]:
    return (answer.get(_STATUS) or {}).get("bindings") or []


@contextmanager
def _event_comes() -> Iterator[None]:
    """A resource that is gone is no failure: its own event comes."""
    try:
        yield
    except NotFound as error:
        # Without a reason it is the version that is gone, not the resource: the watch will move.
        if not error.reason:
            raise


def _clock() -> float:
    return asyncio.get_running_loop().time()
