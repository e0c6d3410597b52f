"""Text to tree: a Pratt parser over the tables of operators, aggregations and functions."""

from collections.abc import Callable
from typing import Final

from stoker.promql.check import check
from stoker.promql.cursor import MOST_LEVELS, Cursor
from stoker.promql.errors import ParseError, Problem
from stoker.promql.functions import FUNCTIONS, SCALAR, VECTOR, Function
from stoker.promql.nodes import (
    Aggregation,
    Binary,
    Call,
    Group,
    Matching,
    Node,
    Number,
    Signed,
    Text,
    filled,
)
from stoker.promql.periods import AMOUNTS, SIGNS, scalar, signed_amount, signed_number
from stoker.promql.selectors import (
    MODIFIERS,
    labels,
    modified,
    selector,
    whole_labels,
    whole_selector,
)
from stoker.promql.syntax import (
    AGGREGATORS,
    CALLABLE_KINDS,
    FILL,
    MATCHING_KINDS,
    METRIC_KINDS,
    OPERATORS,
    SIGN_PRECEDENCE,
    Operator,
    Options,
)
from stoker.promql.tokens import (
    AGGREGATION,
    CALL,
    SELECTOR,
    Token,
    grouped,
    matched,
    phrase_of,
    phrases,
    tokens,
)

_DEFAULT: Final = Options()
_GROUPINGS: Final = ("by", "without")
_AFTER_AGGREGATION: Final = ("(", *_GROUPINGS)
_LONGEST_GUESS: Final = 40


def parse(text: str, options: Options = _DEFAULT) -> Node:
    """The tree of an expression that this Prometheus would take; ParseError for any other."""
    try:
        node = _parsed(text, options)
    except RecursionError:  # The caller is deep down already.
        message = f"nested too deeply: {MOST_LEVELS} levels are the most"
        raise ParseError(Problem(message, 0, len(text)), text) from None
    for problem in check(node, options):
        raise ParseError(problem, text)
    return node


def _parsed(text: str, options: Options) -> Node:
    try:
        return read(Cursor(text, phrases(text), options))
    except ParseError:
        # Sign by sign, it shows where something is wrong.
        return read(Cursor(text, tokens(text), options))


def read(cursor: Cursor) -> Node:
    """The tree of all tokens; what they mean is not checked. ParseError where there is none."""
    if cursor.kind == "eof":
        cursor.fail("there is no expression", (0, len(cursor.text)))
    node = _expression(cursor, 0)
    if cursor.kind != "eof":
        cursor.unexpected("an operator or the end")
    return node


def _expression(cursor: Cursor, floor: int) -> Node:
    """An operand and the operators after it that bind at least as tightly as `floor`."""
    cursor.down()
    left = _OPERANDS.get(cursor.kind, _text)(cursor)
    if cursor.kind in MODIFIERS:
        left = modified(cursor, left)
    while operator := OPERATORS.get(cursor.kind):
        if operator.precedence < floor:
            break
        left = _binary(cursor, left, operator)
    cursor.levels -= 1
    return left


def _named(cursor: Cursor) -> Node:
    """A call, or a selector that begins with a name."""
    called = cursor.following == "(" and cursor.kind in CALLABLE_KINDS
    return _call(cursor) if called else selector(cursor)


def _aggregated(cursor: Cursor) -> Node:
    """An aggregation, or a selector with its name."""
    called = cursor.following in _AFTER_AGGREGATION
    return _aggregation(cursor) if called else selector(cursor)


def _text(cursor: Cursor) -> Text:
    token = cursor.expect(("string",), "an expression")
    return Text(cursor.string(token.text, token.start), (token.start, token.end))


def _group(cursor: Cursor) -> Group:
    start = cursor.take().start
    inner = _expression(cursor, 0)
    end = cursor.expect((")",), "an operator or `)`").end
    return Group(inner, (start, end), inner.type)


def _signed(cursor: Cursor) -> Node:
    sign = cursor.take()
    inner = _expression(cursor, SIGN_PRECEDENCE)
    if isinstance(inner, Number):
        return signed_number(sign, inner)
    return Signed(sign.kind, inner, (sign.start, inner.span[1]), inner.type)


def _binary(cursor: Cursor, left: Node, operator: Operator) -> Binary:
    sign = cursor.take()
    place, returns_bool, matching = (sign.start, sign.end), False, None
    if cursor.kind in MATCHING_KINDS:
        returns_bool = cursor.accept("bool") is not None
        matching = _matching(cursor) if cursor.kind in MATCHING_KINDS else None
        place = (sign.start, cursor.last_end)
    cursor.require(operator.since, place)
    right = _expression(cursor, operator.precedence + (not operator.right))
    return Binary(
        operator,
        left,
        right,
        returns_bool,
        _meaningful(matching, left, right) if matching else None,
        (left.span[0], right.span[1]),
        place,
        SCALAR if left.type == SCALAR and right.type == SCALAR else VECTOR,
    )


def _meaningful(matching: Matching, left: Node, right: Node) -> Matching | None:
    """The matching, unless it says nothing or there are not two vectors to match."""
    if matching.labels or filled(matching):
        return matching
    if left.type != VECTOR or right.type != VECTOR:
        return None
    return matching if matching.on or matching.many else None


def _matching(cursor: Cursor) -> Matching:
    on, many = False, ""
    names: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    if cursor.kind in ("on", "ignoring"):
        word = cursor.take()
        on, names = word.kind == "on", _labels_of(cursor, word)
        if cursor.kind in ("group_left", "group_right"):
            word = cursor.take()
            many = word.kind.removeprefix("group_")
            include = _labels_of(cursor, word) if word.phrase or cursor.kind == "(" else ()
    left, right = _fills(cursor)
    return Matching(on, names, many, include, left, right)


def _labels_of(cursor: Cursor, word: Token) -> tuple[str, ...]:
    """The labels behind a word such as `on`, which is a phrase with them or stands alone."""
    return whole_labels(cursor, word, matched(word.phrase)) if word.phrase else labels(cursor)


def _fills(cursor: Cursor) -> tuple[float | None, float | None]:
    if cursor.kind == "fill":
        both = _fill(cursor)
        return both, both
    values: dict[str, float] = {}
    while (name := cursor.kind) in ("fill_left", "fill_right") and name not in values:
        values[name] = _fill(cursor)
    return values.get("fill_left"), values.get("fill_right")


def _fill(cursor: Cursor) -> float:
    name = cursor.take()
    cursor.require(FILL, (name.start, name.end))
    cursor.expect(("(",), "`(` and a number")
    value = signed_amount(cursor, "a number").value
    cursor.expect((")",), "`)`")
    return value


def _aggregation(cursor: Cursor) -> Aggregation:
    name = cursor.take()
    aggregator = AGGREGATORS[name.text.lower()]
    grouping, names = _grouping(cursor, name)
    if name.kind != AGGREGATION:
        cursor.expect(("(",), "`(`")
    arguments = _arguments(cursor)
    if not grouping and cursor.kind in _GROUPINGS:
        grouping, names = cursor.take().kind, labels(cursor)
    span = (name.start, cursor.last_end)
    cursor.require(aggregator.gate, span)
    count = 2 if aggregator.parameter else 1
    if len(arguments) != count:
        cursor.fail(f"`{aggregator.name}` takes {_counted(count)}, not {len(arguments)}", span)
    parameter = arguments[0] if aggregator.parameter else None
    return Aggregation(aggregator, arguments[-1], parameter, grouping == "without", names, span)


def _grouping(cursor: Cursor, name: Token) -> tuple[str, tuple[str, ...]]:
    """What stands between the name of an aggregation and its parenthesis."""
    if name.kind == AGGREGATION:
        grouping, names = grouped(phrase_of(name))
        return grouping, whole_labels(cursor, name, names)
    if cursor.kind in _GROUPINGS:
        return cursor.take().kind, labels(cursor)
    return "", ()


def _arguments(cursor: Cursor) -> tuple[Node, ...]:
    """What stands in parentheses, after the first of them."""
    if cursor.kind == ")":
        cursor.take()
        return ()
    found = [_expression(cursor, 0)]
    while cursor.kind == ",":
        cursor.take()
        found.append(_expression(cursor, 0))
    cursor.expect((")",), "an operator, `,` or `)`")
    return tuple(found)


def _call(cursor: Cursor) -> Call:
    name = cursor.take()
    function = _function(cursor, name)
    if name.kind != CALL:
        cursor.expect(("(",), "`(`")
    arguments = _arguments(cursor)
    span = (name.start, cursor.last_end)
    count = len(arguments)
    if count < function.least or (function.most is not None and count > function.most):
        cursor.fail(f"`{function.name}` takes {_allowed(function)}, not {count}", span)
    return Call(function, arguments, span)


def _function(cursor: Cursor, name: Token) -> Function:
    span = (name.start, name.end)
    function = FUNCTIONS.get(name.text)
    if function is None:
        # What is wrong with a phrase is said of its words, in a second reading.
        guess = "" if name.kind == CALL else _guess(name.text)
        cursor.fail(f"there is no function `{name.text[:_LONGEST_GUESS]}`{guess}", span)
    cursor.require(function.gate, span)
    return function


def _guess(name: str) -> str:
    from difflib import get_close_matches

    known = [*FUNCTIONS, *AGGREGATORS]
    near = get_close_matches(name.lower(), known, 1) if len(name) <= _LONGEST_GUESS else []
    return f": did you mean `{near[0]}`?" if near else ""


def _allowed(function: Function) -> str:
    if function.most is None:
        return f"at least {_counted(function.least)}"
    if function.least == function.most:
        return _counted(function.most)
    return f"{function.least} to {_counted(function.most)}"


def _counted(count: int) -> str:
    return f"{count or 'no'} argument{'' if count == 1 else 's'}"


# How an operand is read, by the kind of its first token; any other must be a string.
_OPERANDS: Final[dict[str, Callable[[Cursor], Node]]] = {
    **dict.fromkeys(METRIC_KINDS | CALLABLE_KINDS, _named),
    **dict.fromkeys(AGGREGATORS, _aggregated),
    **dict.fromkeys(AMOUNTS, scalar),
    **dict.fromkeys(SIGNS, _signed),
    "{": selector,
    "(": _group,
    SELECTOR: whole_selector,
    CALL: _call,
    AGGREGATION: _aggregation,
}
