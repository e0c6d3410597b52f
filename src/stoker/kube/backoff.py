"""How long to wait before the next try.

Each failure in a row doubles the wait, up to a limit. The wait is then drawn from its upper half,
so that many who failed at the same moment do not come back at the same moment.
"""

import random
from typing import Final

from msgspec import Struct

GRANT_SECONDS: Final = 5.0
"""After how long what we were not allowed to do is tried again: no event says when it is."""


class Backoff(Struct, frozen=True):
    """The wait after the first failure, and the longest wait, in seconds."""

    first: float
    longest: float

    def delay(self, failures: int) -> float:
        """The seconds to wait after this many failures in a row; 0 after none."""
        if failures < 1:
            return 0.0
        # The exponent is bounded, as a failure may last for weeks and floats do not.
        whole = min(self.longest, self.first * 2.0 ** min(failures - 1, 64))
        return whole * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
