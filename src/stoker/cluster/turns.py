"""Turns for reads that tenants ask for: who asks for much waits for its own, and not for others'.

A namespace has few reads under way at a time and a rate of its own, and of all namespaces together
few are under way. A read that takes long gives its turns back, so that slow answers hold up nobody
else; but of slow ones, too, a namespace has only so many.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from stoker.kube.limits import RateLimit

_OF_ONE: Final = 8
_WITH_SLOW: Final = 64
_OF_ALL: Final = 16
_QUICK_SECONDS: Final = 0.4
# For one namespace; of all together, twice as much.
_A_SECOND: Final = 50.0
_BURST: Final = 200


class _Lane:
    """The turns of one namespace."""

    def __init__(self) -> None:
        self.places = asyncio.Semaphore(_WITH_SLOW)
        self.turns = asyncio.Semaphore(_OF_ONE)
        self.limits = RateLimit(_A_SECOND, _BURST, clock=asyncio.get_running_loop().time)
        self.slow = 0


class Lanes:
    """Hands out turns by namespace."""

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane] = {}
        self._quick = asyncio.Semaphore(_OF_ALL)
        self._limits: RateLimit | None = None

    @asynccontextmanager
    async def turn(self, name: str, *, limited: bool = True) -> AsyncIterator[None]:
        """Wait for a turn in a lane, and have it for as long as the block runs.

        Without `limited` the rates do not count: only how many are under way at a time.
        """
        # They stay: a rate must be remembered, and namespaces are not for tenants to make.
        lane = self._lanes.setdefault(name, _Lane())
        async with lane.places:
            await lane.turns.acquire()
            try:
                if limited:
                    await lane.limits.take()
                    await self._limit_of_all().take()
                await self._quick.acquire()
            except BaseException:
                lane.turns.release()
                raise
            async with self._quick_turn(lane):
                yield

    def _limit_of_all(self) -> RateLimit:
        if self._limits is None:
            clock = asyncio.get_running_loop().time
            self._limits = RateLimit(2 * _A_SECOND, 2 * _BURST, clock=clock)
        return self._limits

    def slow(self, name: str) -> int:
        """How many answers are slow to come in a lane."""
        lane = self._lanes.get(name)
        return lane.slow if lane else 0

    @asynccontextmanager
    async def _quick_turn(self, lane: _Lane) -> AsyncIterator[None]:
        """The turns that were taken, given back soon, or when the block is over."""
        is_slow = False

        def give_back() -> None:
            self._quick.release()
            lane.turns.release()

        def note_slow() -> None:
            nonlocal is_slow
            is_slow = True
            lane.slow += 1
            give_back()

        timer = asyncio.get_running_loop().call_later(_QUICK_SECONDS, note_slow)
        try:
            yield
        finally:
            timer.cancel()
            if is_slow:
                lane.slow -= 1
            else:
                give_back()
