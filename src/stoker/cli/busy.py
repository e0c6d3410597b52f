"""What a command does for longer than a moment, on a terminal: one line, which is gone at the end.

    with busy("lint", READING) as work:
        entries = linted(work.counted(read(paths), JUDGING), rules)

It is written to standard error, so that reports stay as they are, and only to people.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import Final, TypeVar

T = TypeVar("T")

READING: Final = "reading manifests"
JUDGING: Final = "judging them"
ASKING: Final = "asking the cluster"
_PATIENCE_SECONDS: Final = 2.0
_AGAIN_SECONDS: Final = 0.5
_ERASE: Final = "\r\033[K"


class Busy:
    """What is being done, and with how many things so far."""

    def __init__(self, command: str, doing: str) -> None:
        self._command, self._doing, self._count = command, doing, 0
        self._begun = monotonic()

    def counted(self, items: Iterable[T], then: str) -> Iterator[T]:
        """The same items, counted as they are read; `then` is what is done after the last."""
        for each in items:
            self._count += 1
            yield each
        self._doing = then

    @property
    def words(self) -> str:
        """All of it in a line, which is short enough for any terminal."""
        so_far = f" ({self._count:,})" if self._count else ""
        return f"stoker {self._command}: {self._doing}{so_far}, {monotonic() - self._begun:.0f} s"

    def tell(self, done: Event) -> None:
        """Say it again and again once it takes long, until it is done."""
        if done.wait(_PATIENCE_SECONDS):
            return
        while not done.is_set():
            print(f"{_ERASE}{self.words}", end="", file=sys.stderr, flush=True)
            done.wait(_AGAIN_SECONDS)
        print(_ERASE, end="", file=sys.stderr, flush=True)


@contextmanager
def busy(command: str, doing: str) -> Iterator[Busy]:
    """Something that may take long; nothing is to be printed inside."""
    work, done = Busy(command, doing), Event()
    teller = Thread(target=work.tell, args=(done,), daemon=True) if sys.stderr.isatty() else None
    if teller:
        teller.start()
    try:
        yield work
    finally:
        done.set()
        if teller:
            teller.join()
