"""How a watch fares: counted for metrics, and told in the log when it turns bad or good again."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from stoker.kube.errors import ApiError, Forbidden, NotFound, TooManyRequests, Unavailable

LIST: Final = "list"
WATCH: Final = "watch"

_LOG: Final = logging.getLogger(__name__)


def _untold() -> None:
    """Nobody wants to know."""


class Report:
    """Counts lists and watches, and knows the trouble of the moment.

    `trouble` is None while all is well. A broken connection is only a trouble when the next try
    fails too: servers and what is before them close connections every day. `settled` is set once
    there is a first answer to what exists: a complete list, or that we may not know. `listed` tells
    whether there ever was a complete list. `changed` is called whenever trouble comes, goes or
    becomes another.
    """

    def __init__(self, subject: str = "") -> None:
        self.attempts: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.trouble: ApiError | None = None
        self.settled = asyncio.Event()
        self.listed = False
        self.changed: Callable[[], None] = _untold
        self._subject = subject
        self._in_a_row = 0

    def began(self, operation: str) -> None:
        """A list or a watch is tried."""
        self.attempts[operation] += 1

    def worked(self) -> None:
        """A list is complete, or a watch goes on."""
        self.settled.set()
        self.listed = True
        self._in_a_row = 0
        if self.trouble:
            self.trouble = None
            _LOG.info("%s is watched again", self._subject)
            self.changed()

    def failed(self, operation: str, error: ApiError) -> None:
        """It did not work, and will be tried again."""
        self.failures[operation] += 1
        self._in_a_row += 1
        if isinstance(error, Forbidden | NotFound):
            self.settled.set()
        if isinstance(error, Unavailable | TooManyRequests) and self._in_a_row < 2:
            return
        known, self.trouble = self.trouble, error
        if type(known) is not type(error):
            _LOG.warning("cannot %s %s, trying again: %s", operation, self._subject, error)
            self.changed()
