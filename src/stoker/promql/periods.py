"""Parses lengths of time: ranges and steps in brackets, and what follows `offset`."""

from typing import Final

from stoker.promql.cursor import Cursor
from stoker.promql.durations import (
    UNITS,
    BadDurationError,
    nanoseconds_from,
    nanoseconds_of,
    out_of_range,
    seconds_of,
)
from stoker.promql.nodes import Duration, Number, Period, Span
from stoker.promql.numbers import number_of
from stoker.promql.syntax import (
    DURATION_ARITHMETIC,
    DURATION_AS_NUMBER,
    DURATION_OPERATORS,
    DURATION_WORDS,
    NEGATIVE_OFFSET,
    NUMBER_AS_DURATION,
    OPERATORS,
    SIGN_PRECEDENCE,
    UNDERSCORES,
    WRAPPED_AMOUNTS,
)
from stoker.promql.tokens import Token

AMOUNTS: Final = ("number", "duration")
SIGNS: Final = ("+", "-")
_WANTED: Final = "an amount of time such as 5m"
_PAIRS: Final = ("min_of", "max_of")


def amount(cursor: Cursor, wanted: str) -> Number:
    """A number, or a duration as the number of its seconds."""
    token = cursor.expect(AMOUNTS, wanted)
    span = (token.start, token.end)
    if token.kind == "duration":
        return Number(seconds_of(_nanoseconds(cursor, token)), True, span)
    if "_" in token.text:
        cursor.require(UNDERSCORES, span)
    value = number_of(token.text)
    if value is None:
        cursor.fail("this number is too large", span)
    return Number(value, False, span)


def scalar(cursor: Cursor) -> Number:
    """A number as an expression."""
    number = amount(cursor, "a number")
    if number.duration:
        cursor.require(DURATION_AS_NUMBER, number.span)
    return number


def signed_amount(cursor: Cursor, wanted: str) -> Number:
    """An amount that may have a sign."""
    sign = cursor.take() if cursor.kind in SIGNS else None
    number = amount(cursor, wanted)
    return signed_number(sign, number) if sign else number


def signed_number(sign: Token, number: Number) -> Number:
    """A number with a sign before it."""
    value = -number.value if sign.kind == "-" else number.value
    return Number(value, number.duration, (sign.start, number.span[1]))


def _nanoseconds(cursor: Cursor, token: Token) -> int:
    try:
        return nanoseconds_of(token.text)
    except BadDurationError as error:
        cursor.fail(str(error), (token.start, token.end))


def whole_period(length: str) -> int:
    """The length of a range or a step in a phrase, such as `5m`."""
    return int(length[:-1]) * UNITS[length[-1]]


def positive_period(cursor: Cursor) -> Period:
    """A range or a step: more than nothing, where that can be seen."""
    found = _calculated(cursor, 0)
    if isinstance(found, Number) and found.value <= 0:
        cursor.fail("this must be more than 0", found.span)
    return _period(cursor, found)


def offset_period(cursor: Cursor) -> Period:
    """What follows `offset`: one amount; it can be calculated only from a parenthesis on."""
    negative = cursor.kind == "-"
    start = cursor.token.start
    found = _offset(cursor)
    if negative:
        cursor.require(NEGATIVE_OFFSET, (start, cursor.last_end))
    return _period(cursor, found)


def _period(cursor: Cursor, found: Number | Duration) -> Period:
    if isinstance(found, Duration):
        return found
    if not found.duration:
        cursor.require(NUMBER_AS_DURATION, found.span)
    return nanoseconds_from(found.value)


def _offset(cursor: Cursor) -> Number | Duration:
    signed = cursor.kind in SIGNS
    first = cursor.following if signed else cursor.kind
    if first in AMOUNTS or first in DURATION_WORDS:
        sign = cursor.take() if signed else None
        return _with_sign(cursor, sign, _operand(cursor))
    if signed and first == "(":
        # Unlike other parentheses these need no feature, unless what is in them does.
        sign = cursor.take()
        return _with_sign(cursor, sign, _wrapped(cursor))
    return _calculated(cursor, 0)


def _calculated(cursor: Cursor, floor: int) -> Number | Duration:
    """An operand and the operators after it that bind at least as tightly as `floor`."""
    cursor.down()
    left = _signed(cursor) if cursor.kind in SIGNS else _operand(cursor)
    while cursor.kind in DURATION_OPERATORS:
        operator = OPERATORS[cursor.kind]
        if operator.precedence < floor:
            break
        sign = cursor.take()
        right = _calculated(cursor, operator.precedence + (not operator.right))
        left = _operation(cursor, left, sign, right)
    cursor.levels -= 1
    return left


def _operation(
    cursor: Cursor, left: Number | Duration, sign: Token, right: Number | Duration
) -> Duration:
    span = (left.span[0], right.span[1])
    cursor.require(DURATION_ARITHMETIC, span)
    if sign.kind in "/%" and isinstance(right, Number) and right.value == 0:
        cursor.fail("division by zero", (sign.start, right.span[1]))
    return Duration(sign.kind, left, right, False, span)


def _signed(cursor: Cursor) -> Number | Duration:
    sign = cursor.take()
    return _with_sign(cursor, sign, _calculated(cursor, SIGN_PRECEDENCE))


def _with_sign(cursor: Cursor, sign: Token | None, inner: Number | Duration) -> Number | Duration:
    if isinstance(inner, Number):
        number = signed_number(sign, inner) if sign else inner
        if out_of_range(number.value):
            cursor.fail("this is longer than 292 years", number.span)
        return number
    if sign is None or sign.kind == "+":
        return inner
    return Duration("-", None, inner, False, (sign.start, inner.span[1]))


def _operand(cursor: Cursor) -> Number | Duration:
    if cursor.kind == "(":
        start = cursor.token.start
        found = _wrapped(cursor)
        cursor.require(DURATION_ARITHMETIC, (start, cursor.last_end))
        return found
    if cursor.kind in DURATION_WORDS:
        return _function(cursor)
    return _with_sign(cursor, None, amount(cursor, _WANTED))


def _wrapped(cursor: Cursor) -> Number | Duration:
    start = cursor.take().start
    inner = _calculated(cursor, 0)
    span = (start, cursor.expect((")",), "`)`").end)
    if isinstance(inner, Duration):
        return Duration(inner.operator, inner.left, inner.right, True, span)
    if cursor.options.version < WRAPPED_AMOUNTS:
        return Number(inner.value, inner.duration, span)
    return Duration("", None, inner, True, span)


def _function(cursor: Cursor) -> Duration:
    name = cursor.take()
    cursor.expect(("(",), "`(`")
    left = right = None
    if name.kind in _PAIRS:
        left = _calculated(cursor, 0)
        cursor.expect((",",), "`,`")
        right = _calculated(cursor, 0)
    span: Span = (name.start, cursor.expect((")",), "`)`").end)
    cursor.require(DURATION_WORDS[name.kind], span)
    return Duration(name.kind, left, right, False, span)
