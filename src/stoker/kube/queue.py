"""Keys that wait for a worker.

    async with queue.take() as key:
        await reconcile(key)

A key waits at most once and is never in two hands: what is added while a worker has it comes back
when the worker is done. A block that raises has failed, and its key comes back by itself, each time
later, up to a minute; up to a few seconds where the server's answer was one of the moment, for
no event tells of a right granted, or of a server that is well again. It does not come before the
time that the API server asked for (`Retry-After`). A block that ends well forgets that. `add` says
that something relevant has changed, so it ends any wait of our own and forgets failures; what the
server asked for holds. Who has waited longest is next.

Nothing is polled: timers of the event loop move keys to the line, and a semaphore counts the line.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from stoker.errors import StokerError
from stoker.kube.backoff import GRANT_SECONDS, Backoff
from stoker.kube.errors import asked_wait, passes_untold

K = TypeVar("K", bound=Hashable)

RETRIES: Final = Backoff(first=0.25, longest=60.0)
UNTOLD: Final = Backoff(first=0.25, longest=GRANT_SECONDS)


class QueueClosedError(StokerError):
    """The queue hands out no more keys."""


def _unobserved(_seconds: float) -> None:
    """Nobody wants to know."""


class KeyedQueue(Generic[K]):
    """A line of keys.

    `waited` gets how long each key was in line before it was taken. `adds` counts the keys that
    came into the line, `retries` those that came back because they had failed.
    """

    def __init__(self, waited: Callable[[float], None] = _unobserved) -> None:
        self.adds = 0
        self.retries = 0
        self.waited = waited
        self._line: dict[K, float] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._in_hand: dict[K, float] = {}
        self._again: dict[K, float] = {}
        self._failures: dict[K, int] = {}
        # Until when the server wants not to be asked.
        self._asked: dict[K, float] = {}
        self._available = asyncio.Semaphore(0)
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    def __len__(self) -> int:
        """How many keys are in line now."""
        return len(self._line)

    @property
    def delayed(self) -> int:
        """How many keys have failed and wait for the time of their next attempt."""
        return sum(key in self._failures for key in self._timers)

    @property
    def in_hand(self) -> Mapping[K, float]:
        """The keys that workers have, and since when, by the clock of the event loop."""
        return MappingProxyType(self._in_hand)

    def failures(self, key: K) -> int:
        """How often in a row the key has failed."""
        return self._failures.get(key, 0)

    def add(self, key: K) -> None:
        """Something relevant has changed: the key's turn is now."""
        self.forget(key)
        self._schedule(key, _now())

    def add_after(self, key: K, seconds: float) -> None:
        """Let the key have a turn in some time, if it has none before."""
        self._schedule(key, _now() + seconds)

    def forget(self, key: K) -> None:
        """Forget that the key has failed: its next failure is the first."""
        self._failures.pop(key, None)

    @asynccontextmanager
    async def take(self) -> AsyncIterator[K]:
        """Wait for a key and hold it for as long as the block runs; raises QueueClosedError."""
        key = await self._next()
        try:
            yield key
        except Exception as error:
            self._failed(key, error)
            raise
        except BaseException:
            # Cancelled: whatever was to be done is not done, through no fault of the key.
            self._again[key] = _now()
            raise
        else:
            self.forget(key)
            self._asked.pop(key, None)
        finally:
            self._put_down(key)

    async def shutdown(self) -> None:
        """Hand out no more keys, and wait until those in hand are put down."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._line.clear()
        self._available.release()
        await self._idle.wait()

    async def _next(self) -> K:
        await self._available.acquire()
        if self._closed:
            # One wakes the next, until none is left waiting.
            self._available.release()
            raise QueueClosedError("the queue is closed")
        key = next(iter(self._line))
        since = self._line.pop(key)
        if not self._line:
            # Room for as many as there ever were would be kept otherwise.
            self._line.clear()
        self._in_hand[key] = _now()
        self._idle.clear()
        self.waited(_now() - since)
        return key

    def _failed(self, key: K, error: Exception) -> None:
        self._failures[key] = self.failures(key) + 1
        self.retries += 1
        if asked := asked_wait(error):
            self._asked[key] = _now() + asked
        retries = UNTOLD if passes_untold(error) else RETRIES
        self._schedule(key, _now() + retries.delay(self._failures[key]))

    def _put_down(self, key: K) -> None:
        del self._in_hand[key]
        if not self._in_hand:
            self._idle.set()
        if key in self._again:
            self._schedule(key, self._again.pop(key))

    def _schedule(self, key: K, due: float) -> None:
        if self._closed or key in self._line:
            return
        due = max(due, self._asked.get(key, due))
        if key in self._in_hand:
            self._again[key] = min(due, self._again.get(key, due))
            return
        timer = self._timers.get(key)
        if timer and timer.when() <= due:
            return
        if timer:
            timer.cancel()
        if due > _now():
            self._timers[key] = asyncio.get_running_loop().call_at(due, self._enter_line, key)
        else:
            self._enter_line(key)

    def _enter_line(self, key: K) -> None:
        self._timers.pop(key, None)
        self._line[key] = _now()
        self.adds += 1
        self._available.release()


def _now() -> float:
    return asyncio.get_running_loop().time()
