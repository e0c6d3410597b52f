"""A limit on our own requests, so that an operator with much to do does not crowd out others.

A bucket of `burst` tokens fills at `qps` tokens a second. A token may be taken in advance: who
comes when the bucket is empty is told how long to wait, so waiters pass in their order.
"""

import asyncio
import time
from collections.abc import Callable


class RateLimit:
    """A token bucket; `qps` 0 or less means no limit."""

    def __init__(
        self, qps: float, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.waited_seconds = 0.0
        self.waits = 0
        self._qps = qps
        self._burst = max(burst, 1)
        self._clock = clock
        self._tokens = float(self._burst)
        self._at = clock()

    async def take(self) -> float:
        """Wait for a token; return the seconds that this took."""
        delay = self._reserved()
        if delay <= 0:
            return 0.0
        self.waits += 1
        self.waited_seconds += delay
        try:
            await asyncio.sleep(delay)
        except asyncio.CancelledError:
            self._tokens += 1
            raise
        return delay

    def _reserved(self) -> float:
        """Take a token, in advance if there is none; return the seconds until it is due."""
        if self._qps <= 0:
            return 0.0
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps) - 1
        self._at = now
        return max(0.0, -self._tokens / self._qps)
