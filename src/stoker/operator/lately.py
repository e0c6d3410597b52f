"""Answers that are true for a while: asked for once, however many wait, and soon forgotten."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lately(Generic[K, V]):
    """What was answered in the last `seconds`, of at most so many questions.

    An answer is as old as its question. A failure reaches those who wait, and is not kept.
    """

    def __init__(
        self, seconds: float, most: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._kept: OrderedDict[K, tuple[float, asyncio.Future[V]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """The answer to a question, which is asked if it was not lately."""
        found = self._kept.get(key)
        if found is None or self._clock() - found[0] >= self._seconds:
            found = self._asked(key, ask)
        # Others may wait for it, too, and go on doing so when this one gives up.
        return await asyncio.shield(found[1])

    def _asked(self, key: K, ask: Callable[[], Awaitable[V]]) -> tuple[float, asyncio.Future[V]]:
        now = self._clock()
        made = self._kept[key] = now, asyncio.ensure_future(ask())
        self._kept.move_to_end(key)
        self._forget(now)
        made[1].add_done_callback(lambda done: self._settled(key, done))
        return made

    def _forget(self, now: float) -> None:
        """Let go of what is no answer any longer, and of the oldest of too many."""
        while self._kept:
            key, (asked, _) = next(iter(self._kept.items()))
            if len(self._kept) <= self._most and now - asked < self._seconds:
                return
            del self._kept[key]

    def _settled(self, key: K, done: asyncio.Future[V]) -> None:
        failed = done.cancelled() or done.exception() is not None
        if failed and key in self._kept and self._kept[key][1] is done:
            del self._kept[key]
