"""A clock for spans of time that must not be taken for shorter than they were."""

import time
from typing import Final

_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def awake_or_asleep() -> float:
    """Seconds on a clock that only goes forward, also while this process or the machine stops.

    The clock of the event loop stands still while a machine sleeps; where there is none that goes
    on (outside Linux), this one does too.
    """
    return time.clock_gettime(_CLOCK)
