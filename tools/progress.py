"""Shows how far a long build is.

A person at a terminal sees one line that redraws itself; a log (CI, a pipe) gets plain lines: one
at the start, one at the end, and one every :data:`LOG_EVERY` seconds in between, because a silent
job looks hung. How a line looks is decided by pure functions; only :class:`Progress` writes.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

BAR_CELLS = 24
LOG_EVERY = 15.0


def clock(seconds: float) -> str:
    """Render elapsed time as minutes and seconds."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"


def bar(done: int, total: int | None, cells: int = BAR_CELLS) -> str:
    """Draw a bar of fixed width; an unknown total gives an empty one, nothing to do a full one."""
    filled = 0 if total is None else min(cells, cells * done // total) if total else cells
    return "[" + "#" * filled + "." * (cells - filled) + "]"


def phase(done: int, total: int | None) -> str:
    """Say what is going on: a build reads sources, compiles packages, and links them."""
    if total is None:
        return "reading sources"
    return f"{done}/{total} packages" if done < total else "linking"


def terminal_line(name: str, done: int, total: int | None, seconds: float, width: int) -> str:
    """Render the redrawn line, cut so that it never wraps."""
    line = f"{name:<24} {bar(done, total)} {phase(done, total)}  {clock(seconds)}"
    return line[: max(width - 1, 0)]


def log_line(name: str, done: int, total: int | None, seconds: float) -> str:
    """Render the plain line written now and then while a build runs."""
    return f"{name}: {phase(done, total)} after {clock(seconds)}"


class Progress:
    """The progress of one binary, from its start to its end."""

    def __init__(
        self,
        name: str,
        *,
        stream: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.done = 0
        self.total: int | None = None
        self._stream = sys.stderr if stream is None else stream
        self._now = now
        self._redraws = self._stream.isatty()
        self._began = self._written = now()
        self._began_line()

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return self._now() - self._began

    def tick(self) -> None:
        """Show the present state; call it often, it decides whether a line is due."""
        if self._redraws:
            width = shutil.get_terminal_size().columns
            self._redraw(terminal_line(self.name, self.done, self.total, self.seconds, width))
        elif self._now() - self._written >= LOG_EVERY:
            self._written = self._now()
            self._print(log_line(self.name, self.done, self.total, self.seconds))

    def finish(self) -> None:
        """Leave one line that says how long it took."""
        self._end(f"{self.name}: built in {clock(self.seconds)}")

    def fail(self) -> None:
        """Leave one line that says when it failed; the reason is the caller's to tell."""
        self._end(f"{self.name}: failed after {clock(self.seconds)}")

    def _began_line(self) -> None:
        if not self._redraws:
            self._print(f"{self.name}: building")

    def _end(self, line: str) -> None:
        if self._redraws:
            self._redraw("")
        self._print(line)

    def _redraw(self, line: str) -> None:
        self._stream.write(f"\r\x1b[K{line}")
        self._stream.flush()

    def _print(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()


def say(line: str) -> None:
    """Write one line outside of any bar, on the stream that the bars use."""
    print(line, file=sys.stderr, flush=True)
