"""Durations such as `1h30m`: read to nanoseconds, printed in milliseconds as Prometheus does."""

import re
from typing import Final

from stoker.promql.numbers import INT64_MAX, INT64_MIN, rounded_int64

SECOND: Final = 1_000_000_000
_MILLISECOND: Final = 1_000_000

# From the biggest to the smallest, which is also the order in which they may be written.
UNITS: Final = {
    "y": 365 * 24 * 3600 * SECOND,
    "w": 7 * 24 * 3600 * SECOND,
    "d": 24 * 3600 * SECOND,
    "h": 3600 * SECOND,
    "m": 60 * SECOND,
    "s": SECOND,
    "ms": _MILLISECOND,
}
_ORDER: Final = {unit: place for place, unit in enumerate(UNITS)}
_PART: Final = re.compile(r"([0-9]++)([a-z]++)")
_MOST_DIGITS: Final = 20
_MOST_SECONDS: Final = 2**63 / 1e9


class BadDurationError(ValueError):
    """A text that looks like a duration and is none; says why."""


def nanoseconds_of(text: str) -> int:
    """The length of a duration; BadDurationError where it is none or longer than 292 years."""
    total, last = 0, -1
    for count, unit in _PART.findall(text):
        place = _ORDER.get(unit)
        if place is None:
            raise BadDurationError(f"`{unit[:9]}` is no unit of time: use {', '.join(UNITS)}")
        if place <= last:
            raise BadDurationError("units go from the biggest to the smallest, each once")
        total += int(count[-_MOST_DIGITS:]) * UNITS[unit] if _fits(count) else INT64_MAX + 1
        last = place
    if total > INT64_MAX:
        raise BadDurationError("this is longer than 292 years")
    return total


def _fits(count: str) -> bool:
    return len(count.lstrip("0")) < _MOST_DIGITS


def seconds_of(nanoseconds: int) -> float:
    """Nanoseconds as seconds, rounded as Go does it."""
    whole, rest = divmod(nanoseconds, SECOND)
    return whole + rest / 1e9


def nanoseconds_from(seconds: float) -> int:
    """Seconds as whole nanoseconds."""
    return rounded_int64(seconds * 1e9)


def out_of_range(seconds: float) -> bool:
    """Whether a number of seconds is too long for a duration."""
    return abs(seconds) > _MOST_SECONDS


def duration_text(nanoseconds: int) -> str:
    """The duration in its shortest usual form; what is below a millisecond is lost."""
    rest = abs(nanoseconds) // _MILLISECOND
    if rest == 0:
        return "0s"
    parts = ["-" if nanoseconds < 0 else ""]
    for unit, size in UNITS.items():
        length = size // _MILLISECOND
        if unit in "yw" and rest % length:
            continue  # 90d reads better than 12w6d.
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def signed_duration_text(nanoseconds: int) -> str:
    """A duration after a sign of its own, as it follows `offset`."""
    if nanoseconds >= 0:
        return duration_text(nanoseconds)
    # The least int64 has no positive counterpart: it keeps a second sign, in Go as here.
    return f"-{duration_text(nanoseconds if nanoseconds == INT64_MIN else -nanoseconds)}"
