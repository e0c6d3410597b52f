"""How a watch fares: counted for metrics, and logged when it turns bad or good again."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from stoker.kube.clock import awake_or_asleep
from stoker.kube.errors import ApiError, Forbidden, NotFound, Silent, TooManyRequests, Unavailable

LIST: Final = "list"
WATCH: Final = "watch"

# A watch that is well is heard of sooner than that (`watch.WATCH_SECONDS`, and what may be late).
BLIND_SECONDS: Final = 30.0

_LOG: Final = logging.getLogger(__name__)


def _untold() -> None:
    """Nobody wants to know."""


class Report:
    """Counts lists and watches, and knows the trouble of the moment.

    `trouble` is None while all is well. A broken connection is only a trouble when the next try
    fails too: servers and what is before them close connections every day. `settled` is set once
    there is a first answer to what exists: a complete list, or that we cannot know. `listed` tells
    whether there ever was a complete list. `changed` is called whenever trouble comes, goes or
    becomes another.

    That a watch is open says little: what is between us and the server may hold it open and let
    nothing through. So it is only believed for as long as it was heard of lately (`silence`).
    """

    def __init__(self, subject: str = "") -> None:
        self.attempts: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.trouble: ApiError | None = None
        self.settled = asyncio.Event()
        self.listed = False
        self.changed: Callable[[], None] = _untold
        self.subject = subject
        self._in_a_row = 0
        self._heard: float | None = None
        self._was_silent = False

    def began(self, operation: str) -> None:
        """A list or a watch is tried."""
        self.attempts[operation] += 1

    @property
    def silence(self) -> float:
        """For how many seconds nothing was heard; 0 where nothing is to be heard of.

        That is before the first list, and while we cannot watch or there is nothing to watch.
        """
        if self._heard is None or isinstance(self.trouble, Forbidden | NotFound):
            return 0.0
        return awake_or_asleep() - self._heard

    @property
    def is_blind(self) -> bool:
        """Whether what we know may be older than it should be."""
        return self.silence > BLIND_SECONDS

    def opened(self) -> None:
        """A watch is answered; after one that was silent it has to say something first."""
        if not self._was_silent:
            self._well()

    def heard(self) -> None:
        """A list is complete, or a watch said something, or ended in its time."""
        self._heard = awake_or_asleep()
        self._was_silent = False
        self._well()

    def _well(self) -> None:
        self.settled.set()
        self.listed = True
        self._in_a_row = 0
        if self.trouble:
            self.trouble = None
            _LOG.info("%s is watched again", self.subject)
            self.changed()

    def failed(self, operation: str, error: ApiError) -> None:
        """It did not work, and will be tried again."""
        self.failures[operation] += 1
        self._in_a_row += 1
        self._was_silent = isinstance(error, Silent)
        if isinstance(error, Forbidden | NotFound):
            self.settled.set()
        if isinstance(error, Unavailable | TooManyRequests) and self._in_a_row < 2:
            return
        known, self.trouble = self.trouble, error
        if type(known) is not type(error):
            _LOG.warning("cannot %s %s, trying again: %s", operation, self.subject, error)
            self.changed()
