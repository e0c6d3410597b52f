"""An event loop whose clock jumps to the next timer instead of waiting for it.

A coroutine that waits for nothing that could still happen is found at once: there is no timer to
jump to. So is one that polls, as it has timers where it should have none.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class StuckError(Exception):
    """Everything waits, and nothing will happen."""


class _Selector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        """Do not wait: what is there is there, and otherwise time has passed."""
        found = super().select(0)
        if not found:
            if timeout is None:
                raise StuckError("everything waits, and no timer is set")
            self.now += timeout
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, which begins at 0."""

    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        """Return the virtual time."""
        return self._clock.now

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Any, *args: Any
    ) -> asyncio.Future[Any]:
        """Do at once what would be done in a thread: it takes no time, but others get a turn."""
        done = self.create_future()
        try:
            self.call_soon(_set_unless_done, done.set_result, func(*args), done)
        except Exception as error:
            self.call_soon(_set_unless_done, done.set_exception, error, done)
        return done


def _set_unless_done(set_to: Any, outcome: Any, future: asyncio.Future[Any]) -> None:
    if not future.done():
        set_to(outcome)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on virtual time, as `asyncio.run` does on ours."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
