"""What strangers can make us say in the log: a line a minute at most, with how often it was so."""

import time
from collections.abc import Callable
from typing import Any, Final

Say = Callable[..., None]
"""Writes a line of a level, such as `Logger.warn`."""

_SAID_AGAIN: Final = 60.0


class Seldom:
    """Says one thing with `say`, however often it is so; `now` is a clock in seconds."""

    def __init__(self, say: Say, message: str, now: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._message = message
        self._now = now
        self._count = 0
        self._said = float("-inf")

    def tell(self, **fields: Any) -> None:
        """It was so once more, and this is how; said at once, or counted."""
        self._count += 1
        now = self._now()
        if now - self._said >= _SAID_AGAIN:
            self._say(self._message, count=self._count, **fields)
            self._count, self._said = 0, now
