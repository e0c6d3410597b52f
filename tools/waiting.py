"""Waits for conditions, never for a fixed time: machines differ, and so do their hours."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from typing import TypeVar

from tools.api import ApiError

DEADLINE = 240.0
POLL = 0.05

T = TypeVar("T")


class NotInTimeError(Exception):
    """A condition did not become true before its deadline."""


def until(what: str, condition: Callable[[], T], seconds: float = DEADLINE) -> T:
    """Wait for a condition to be true, and return what it returned.

    An error of the API or the connection counts as not yet; the last one is told at the end. It is
    looked at once after the time is over: we may have been stopped ourselves.
    """
    deadline = time.monotonic() + seconds
    is_over = False
    while not is_over:
        is_over = time.monotonic() >= deadline
        try:
            if result := condition():
                return result
            last = repr(result)
        except (OSError, http.client.HTTPException, ApiError) as error:
            # Only in words: the traceback would keep an answer open, until anything else runs.
            last = repr(error)
        time.sleep(POLL)
    raise NotInTimeError(f"not in {seconds:.0f} s: {what} (last: {last})")
