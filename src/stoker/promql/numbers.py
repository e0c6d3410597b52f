"""Numbers as Prometheus reads and prints them.

Read are decimals (`1_000.5e3`), hexadecimal and octal integers (`0x1F`, `017`); printed is the
shortest text that reads back as the same number, in the forms that Go calls `f` and `g`.
"""

import math
from decimal import Decimal
from typing import Final

INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)

_OCTAL: Final = frozenset("01234567")


def number_of(text: str) -> float | None:
    """The value of a number's text; nothing for one that no float can hold."""
    digits = text.replace("_", "")
    if digits[0] in "123456789":
        return _finite(digits)
    if digits[:2] in ("0x", "0X"):
        value = int(digits, 16)
        return float(value) if value <= INT64_MAX else None
    if digits.startswith("0") and _OCTAL.issuperset(digits):
        value = int(digits, 8)
        return float(value) if value <= INT64_MAX else _finite(digits)
    return float(digits) if digits[0] in "iInN" else _finite(digits)


def _finite(digits: str) -> float | None:
    value = float(digits)
    return None if math.isinf(value) else value


def rounded_int64(value: float) -> int:
    """The nearest integer, halves away from zero; the least int64 for what does not fit in one."""
    if not math.isfinite(value):
        return INT64_MIN
    whole = math.trunc(value)
    if abs(value - whole) >= 0.5:
        whole += 1 if value > 0 else -1
    return whole if INT64_MIN <= whole <= INT64_MAX else INT64_MIN


def plain_text(value: float) -> str:
    """A number without an exponent, however long that is."""
    special = _special(value)
    return special or format(Decimal(repr(value)), "f").removesuffix(".0")


def short_text(value: float) -> str:
    """A number with an exponent where it is very large or very small."""
    special = _special(value)
    if special:
        return special
    sign, digits, _ = Decimal(repr(value)).as_tuple()
    exponent = Decimal(repr(value)).adjusted() if value else 0
    if -4 <= exponent < 21:
        return plain_text(value)
    figures = "".join(map(str, digits)).rstrip("0")
    mantissa = f"{figures[0]}.{figures[1:]}".removesuffix(".")
    return f"{'-' if sign else ''}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return ""
