"""What the operator keeps of one workload between changes.

`stoker.plan` does the work; here changes are fed to it, and the values that it asks for are
read. All of it is done in threads (`judging`), so that the event loop serves everybody else.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar

from stoker.build.remembered import Built
from stoker.cluster.values import Values, ValueView
from stoker.errors import WorkloadError
from stoker.generate.fragments import StandIns
from stoker.operator.changes import Changes
from stoker.operator.judging import aside, aside_dear
from stoker.operator.shares import Shares
from stoker.operator.tools import Tools
from stoker.plan import Kept, Memory, kept_of
from stoker.ref import Ref
from stoker.select.assets import CONFIG_MAP, SECRET
from stoker.select.choice import Resource
from stoker.select.mentions import mentioned
from stoker.select.workload import Workload
from stoker.settings import Capabilities

T = TypeVar("T")

_VALUES: Final = (SECRET, CONFIG_MAP)

_AT_ONCE: Final = 64
# How often it is looked, while resources are judged, what they ask for: it is read meanwhile.
_LOOK_SECONDS: Final = 0.01
# What is larger than this, as JSON, or took longer the last time, is dear.
_DEAR_BYTES: Final = 32 * 1024
_DEAR_SECONDS: Final = 0.02
# Of so many it is noted how long each of them takes.
_FEW: Final = 4


class Held:
    """One workload. `find` gives a resource as it is now, None if there is none.

    `weigh` tells how many bytes of JSON a resource is. `placed` tells whether its rules have been
    laid out over ConfigMaps, `judging` how many seconds the last `refresh` took. It `is_starting`
    until all that there is was taken up once.
    """

    def __init__(
        self,
        values: Values,
        find: Callable[[Ref], Resource | None],
        capabilities: Capabilities,
        stand_ins: StandIns | None = None,
        weigh: Callable[[Ref], int] = lambda _: 0,
    ) -> None:
        self._weigh = weigh
        self._stand_ins = stand_ins
        self._values = values
        self._find = find
        self._capabilities = capabilities
        self.kept: Kept | None = None
        self.is_starting = True
        self.built = Built()
        self.placed = False
        self.judging = 0.0
        # What is being looked for, or was when that failed: nothing that is kept tells of it.
        self._asked: AbstractSet[Ref] = frozenset()
        # What we were not allowed to read.
        self._refused: AbstractSet[Ref] = frozenset()
        # Resources and values that took long to take up.
        self._slow: set[Ref] = set()
        # Not a method: nothing here refers to itself, so all of it goes with its workload at once.
        self._is_dear = partial(_is_dear, self._slow, weigh)
        self.shares = Shares(self._is_dear, time.monotonic)

    async def refresh(self, workload: Workload, changes: Changes, members: frozenset[Ref]) -> Kept:
        """Take up what changed; WorkloadError where the workload itself cannot be read."""
        begun = time.monotonic()
        try:
            return await self._refreshed(workload, changes, members)
        finally:
            self.judging = time.monotonic() - begun

    async def _refreshed(
        self, workload: Workload, changes: Changes, members: frozenset[Ref]
    ) -> Kept:
        view = self._values.view()
        # What could not be read counted as missing, so whoever asked for it must look again.
        missed, self._asked = self._asked | self._allowed(), view.asked
        for key in changes.values | missed:
            view.ask(key)
        first = self.is_starting
        await self._values.load(view, start=first)
        kept = await self._set_workload(workload, changes, view)
        gone, present = self._stale(kept, changes, members)
        self._slow.difference_update(gone)
        await aside(_dropped, kept, gone, view)
        await self._put(kept, present, view, start=first)
        await self._touch(kept, changes.values | missed, view)
        await self._read(kept, view, start=first)
        refused = filter(self._values.is_refused, view.asked | self._refused)
        self._asked, self._refused = frozenset(), frozenset(filter(kept.refers_to, refused))
        self.is_starting = False
        return kept

    @property
    def memory(self) -> Memory:
        """What is remembered of a workload that was looked at."""
        if self.kept is None:
            raise LookupError("nothing was looked at yet")
        return Memory(self.kept, self.built)

    def _allowed(self) -> set[Ref]:
        """What was refused, and no longer is or might not be: it is asked for again then."""
        self._values.ask_again(self._asked | self._refused)
        return {key for key in self._refused if not self._values.is_refused(key)}

    @property
    def awaits_permission(self) -> bool:
        """Whether something was looked for that we are not allowed to read."""
        return any(map(self._values.is_refused, self._asked | self._refused))

    def refers_to(self, key: Ref) -> bool:
        """Whether a Secret or ConfigMap was looked for, whether or not it exists."""
        return key in self._asked or (self.kept is not None and self.kept.refers_to(key))

    async def _set_workload(self, workload: Workload, changes: Changes, view: ValueView) -> Kept:
        """The workload as it is now; its own additional configuration is read first."""
        if self.kept is None:
            changes.members = True
            return await self._begun(workload, view)
        if changes.own:
            # All fragments may have to be made again, which takes a while with thousands of them.
            kept = self.kept
            await self._with_values(view, lambda: kept.set_workload(workload, view))
        return self.kept

    async def _begun(self, workload: Workload, view: ValueView) -> Kept:
        while True:
            kept = await self._with_values(
                view,
                lambda: kept_of(workload, self._capabilities, view, self._stand_ins),
                start=True,
            )
            if not view.unread:
                self.kept = kept
                return kept
            await self._values.load(view, start=True)

    async def _with_values(
        self, view: ValueView, work: Callable[[], T], *, start: bool = False
    ) -> T:
        """Do this in a thread, and again if it fails for want of a value that is to be read."""
        while True:
            try:
                return await asyncio.to_thread(work)
            except WorkloadError:
                if not view.unread:
                    raise
            await self._values.load(view, start=start)

    def _stale(
        self, kept: Kept, changes: Changes, members: frozenset[Ref]
    ) -> tuple[set[Ref], set[Ref]]:
        """What is to be dropped, and what is to be made (again)."""
        looked_at = set(changes.resources)
        if changes.own or changes.members:
            known = set(kept.verdicts)
            looked_at |= known ^ members
        return looked_at - members, looked_at & members

    async def _read(self, kept: Kept, view: ValueView, *, start: bool) -> None:
        """Read what was asked for, and let those look again who asked."""
        while view.unread:
            # Who has all that it asked for looks again while others are waited for.
            await self._touch(kept, self._values.arrived(view), view)
            await self._touch(kept, await self._values.load(view, start=start), view)

    # --- In threads -------------------------------------------------------------------------------

    async def _put(self, kept: Kept, keys: Iterable[Ref], view: ValueView, *, start: bool) -> None:
        """Judge resources, small ones first; of a few it is noted how long each took."""
        keys = sorted(keys, key=lambda key: (self._weigh(key), key))
        if start:
            resources = [each for each in map(self._find, keys) if each is not None]
            await self._with_reads(aside_dear(_ask_ahead, resources, view), view, start=start)
        for some in self._batches(keys):
            found = {key: each for key in some if (each := self._find(key)) is not None}
            taken = self._timed(kept.put_all, found, found, view)
            await self._with_reads(taken, view, start=start)

    def _batches(self, keys: Sequence[Ref]) -> Iterator[list[Ref]]:
        """What is judged together: of a few, and of large ones, each is judged alone."""
        few = len(keys) <= _FEW
        light = [] if few else [key for key in keys if self._weigh(key) <= _DEAR_BYTES]
        yield from _some(light, _AT_ONCE)
        yield from _some(keys[len(light) :], 1)

    async def _with_reads(
        self, work: Coroutine[Any, Any, None], view: ValueView, *, start: bool
    ) -> None:
        """Do this, and begin at once to read what it asks for."""
        task = asyncio.create_task(work)
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=_LOOK_SECONDS)
                self._values.begin(view, start=start)
            task.result()
        finally:
            task.cancel()

    async def _touch(self, kept: Kept, keys: AbstractSet[Ref], view: ValueView) -> None:
        """Let those look again who asked for Secrets and ConfigMaps."""
        for some in _some(sorted(keys), 1 if len(keys) <= _FEW else len(keys)):
            await self._timed(kept.touched, set(some), some, view)

    async def _timed(
        self, work: Callable[[T, ValueView], None], what: T, keys: Iterable[Ref], view: ValueView
    ) -> None:
        keys = list(keys)
        # Others, with less to do, need not wait for those that take long.
        run = aside_dear if len(keys) > _FEW or any(map(self._is_dear, keys)) else aside
        seconds = await run(_seconds_of, work, what, view)
        if len(keys) == 1:
            note = self._slow.add if seconds > _DEAR_SECONDS else self._slow.discard
            note(keys[0])


def _is_dear(slow: AbstractSet[Ref], weigh: Callable[[Ref], int], key: Ref) -> bool:
    """Whether it takes long to take up a resource or value."""
    return key in slow or (key.kind not in _VALUES and weigh(key) > _DEAR_BYTES)


def held_with(tools: Tools) -> Held:
    """Nothing yet, of a workload whose resources and values the caches have."""
    caches = tools.caches
    return Held(tools.values, caches.resource, tools.capabilities, tools.stand_ins, caches.size)


def _seconds_of(work: Callable[[T, ValueView], None], what: T, view: ValueView) -> float:
    """How much time of a processor this takes."""
    begun = time.thread_time()
    work(what, view)
    return time.thread_time() - begun


def _ask_ahead(resources: Iterable[Resource], view: ValueView) -> None:
    """Ask for what resources name, before one after the other is judged."""
    for each in resources:
        for key in mentioned(each.spec, each.metadata.namespace or ""):
            view.ask(key)


def _dropped(kept: Kept, keys: Iterable[Ref], view: ValueView) -> None:
    for key in keys:
        kept.remove(key, view)


def _some(keys: Sequence[T], count: int) -> Iterator[list[T]]:
    remaining = iter(keys)
    while found := list(islice(remaining, count)):
        yield found
