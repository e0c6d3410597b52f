"""One life of what portions are made of: from the first list until nobody asks or something fails.

All work that may take a while is done in one thread of its own, in its order: nothing is looked at
while it changes, and the event loop goes on.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from stoker.errors import StokerError
from stoker.handout.request import not_yet
from stoker.handout.stock import (
    Change,
    NotPlannedError,
    OfNode,
    PlannedJobs,
    PortionNews,
    Stock,
)
from stoker.handout.watched import PackedWatches
from stoker.kube.client import Client
from stoker.kube.endless import undisturbed
from stoker.portions.packed import Packed, Place
from stoker.ref import Ref
from stoker.targets.discovery import POD

T = TypeVar("T")

# Changes come in bursts: a pod, its slice, and the slice again.
_TOGETHER_SECONDS: Final = 0.1
_AT_ONCE: Final = 500
# Far longer than the loop is ever away; while the thread works, it may take as long as it does.
_STUCK_SECONDS: Final = 20.0
# So few are taken up at once, in less than a millisecond, if nobody is at work.
_FEW: Final = 10

Tell = Callable[[Iterable[OfNode] | None], None]
"""Called with the portions that may have changed; None for all."""
TellOfPod = Callable[[Place], None]
"""Called with each pod that changes, or goes, at once."""


class StuckError(StokerError):
    """Whoever should take up what is new does not, for whatever reason."""


class StockLife:
    """What is watched, and the stock that is made of it. `is_ready` once all of it is taken up."""

    def __init__(
        self,
        client: Client,
        namespaces: Sequence[str] | None,
        tell: Tell,
        tell_of_pod: TellOfPod,
    ) -> None:
        self.stock = Stock()
        self.watches = PackedWatches(client, namespaces, self._changed)
        self.is_ready = False
        self._tell = tell
        self._tell_of_pod = tell_of_pod
        self._changes: list[Change] = []
        self._plans: dict[Ref, PlannedJobs | None] = {}
        self._forgotten: list[OfNode] = []
        # How much the thread was given to do, and has done; only the thread counts the second.
        self._given = self._done = 0
        self._news = asyncio.Event()
        # Since when there is something that was not taken up.
        self._waits_since: float | None = None
        self._is_listed = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="portions")

    async def run(self) -> None:
        """Keep the stock up until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for work in (self.watches.run, self._await_lists, self._keep_up, self._watch_over):
                # What is cancelled by something else would end unnoticed.
                tasks.create_task(undisturbed(work()), name=work.__name__)

    def close(self) -> None:
        """End it; what is being worked on ends by itself."""
        self._thread.shutdown(wait=False)

    def plan(self, key: Ref, planned: PlannedJobs | None) -> None:
        """Take up the jobs of an agent; None if it gets none any longer."""
        self._plans[key] = planned
        self._note()

    def forget(self, of: OfNode) -> None:
        """Nobody asks for a portion any longer."""
        self._forgotten.append(of)
        self._note()

    async def news(self, of: OfNode, sent: Mapping[str, str]) -> PortionNews:
        """What is different from what was sent; RefusedError where that is not known."""
        if self._given == self._done and self.stock.is_quick(of):
            return _told(lambda: self.stock.news(of, sent))
        return await self.work(lambda: _told(lambda: self.stock.news(of, sent)))

    async def work(self, step: Callable[[], T]) -> T:
        """Do something with the stock in its thread; RefusedError if that is not possible now."""
        try:
            future = asyncio.get_running_loop().run_in_executor(self._thread, self._counted, step)
        except RuntimeError:
            raise not_yet("portions are being worked out again") from None
        self._given += 1
        # Who asked may go; what was begun is done all the same.
        return await asyncio.shield(future)

    def _counted(self, step: Callable[[], T]) -> T:
        try:
            return step()
        finally:
            self._done += 1

    def _note(self) -> None:
        """There is something to take up."""
        if self._waits_since is None:
            self._waits_since = asyncio.get_running_loop().time()
        self._news.set()

    async def _watch_over(self) -> None:
        """StuckError where what is to be taken up is not, and nobody works: all begins anew.

        It acts on an effect that was seen once, in minutes of a test while the sources were being
        replaced: a plan was there and never taken up, and nothing had failed. No order of events
        is known that leads to it, and none was found by trying thousands.
        """
        loop, done = asyncio.get_running_loop(), -1
        while True:
            await asyncio.sleep(_STUCK_SECONDS / 2)
            seconds = loop.time() - self._waits_since if self._waits_since is not None else 0.0
            if seconds > _STUCK_SECONDS and self._given == self._done == done:
                raise StuckError(f"what is new was not taken up for {seconds:.0f} s")
            done = self._done

    def _changed(self, old: Packed | None, new: Packed | None) -> None:
        if old is not new:
            self._changes.append((old, new))
            self._note()
            if old is not None and old.role == POD:
                self._tell_of_pod(old.place)

    async def _await_lists(self) -> None:
        await self.watches.complete()
        self._is_listed = True
        self._note()

    async def _keep_up(self) -> None:
        while True:
            await self._news.wait()
            await asyncio.sleep(_TOGETHER_SECONDS)
            self._news.clear()
            is_listed = self._is_listed
            changes, self._changes = self._changes, []
            plans, self._plans = self._plans, {}
            for start in range(0, len(changes), _AT_ONCE):
                self._tell(await self._taken_up(changes[start : start + _AT_ONCE]))
            await self._forget()
            moved = [await self._planned(*each) for each in plans.items()]
            if any(moved) or is_listed is not self.is_ready:
                self.is_ready = is_listed
                self._tell(None)
            self._waits_since = asyncio.get_running_loop().time() if self._news.is_set() else None

    async def _taken_up(self, changes: Sequence[Change]) -> list[OfNode]:
        if len(changes) <= _FEW and self._given == self._done:
            return self.stock.take_up(changes)
        return await self.work(lambda: self.stock.take_up(changes))

    async def _forget(self) -> None:
        forgotten, self._forgotten = self._forgotten, []
        if forgotten:
            await self.work(lambda: self.stock.forget(forgotten))

    async def _planned(self, key: Ref, planned: PlannedJobs | None) -> bool:
        return await self.work(lambda: self.stock.plan(key, planned))


def _told(news: Callable[[], PortionNews]) -> PortionNews:
    try:
        return news()
    except NotPlannedError:
        raise not_yet("the agent is being planned") from None
