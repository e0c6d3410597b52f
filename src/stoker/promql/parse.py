"""Text to tree: a Pratt parser over the tables of operators, aggregations and functions."""

from difflib import get_close_matches
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
from stoker.promql.selectors import labels, modified, selector
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
from stoker.promql.tokens import Token

_DEFAULT: Final = Options()
_GROUPINGS: Final = ("by", "without")
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
    cursor = Cursor(text, options)
    if cursor.kind == "eof":
        cursor.fail("there is no expression", (0, len(text)))
    node = _expression(cursor, 0)
    if cursor.kind != "eof":
        cursor.unexpected("an operator or the end")
    return node


def _expression(cursor: Cursor, floor: int) -> Node:
    """An operand and the operators after it that bind at least as tightly as `floor`."""
    cursor.down()
    left = _operand(cursor)
    while operator := OPERATORS.get(cursor.kind):
        if operator.precedence < floor:
            break
        left = _binary(cursor, left, operator)
    cursor.up()
    return left


def _operand(cursor: Cursor) -> Node:
    kind = cursor.kind
    if kind in SIGNS:
        return _signed(cursor)
    if kind in AGGREGATORS and cursor.following in ("(", *_GROUPINGS):
        node: Node = _aggregation(cursor)
    elif kind in CALLABLE_KINDS and cursor.following == "(":
        node = _call(cursor)
    elif kind in METRIC_KINDS or kind == "{":
        node = selector(cursor)
    elif kind == "(":
        node = _group(cursor)
    elif kind in AMOUNTS:
        node = scalar(cursor)
    else:
        node = _text(cursor)
    return modified(cursor, node)


def _text(cursor: Cursor) -> Text:
    token = cursor.expect(("string",), "an expression")
    return Text(cursor.string(token), (token.start, token.end))


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
    start = cursor.take().start
    returns_bool = cursor.accept("bool") is not None
    matching = _matching(cursor) if cursor.kind in MATCHING_KINDS else None
    place = (start, cursor.last_end)
    cursor.require(operator.since, place)
    right = _expression(cursor, operator.precedence + (not operator.right))
    scalars = left.type == SCALAR and right.type == SCALAR
    return Binary(
        operator,
        left,
        right,
        returns_bool,
        _meaningful(matching, left, right),
        (left.span[0], right.span[1]),
        place,
        SCALAR if scalars else VECTOR,
    )


def _meaningful(matching: Matching | None, left: Node, right: Node) -> Matching | None:
    """The matching, unless it says nothing or there are not two vectors to match."""
    if matching is None or matching.labels or filled(matching):
        return matching
    if left.type != VECTOR or right.type != VECTOR:
        return None
    return matching if matching.on or matching.many else None


def _matching(cursor: Cursor) -> Matching:
    on, many = False, ""
    names: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    if cursor.kind in ("on", "ignoring"):
        on = cursor.take().kind == "on"
        names = labels(cursor)
        if cursor.kind in ("group_left", "group_right"):
            many = cursor.take().kind.removeprefix("group_")
            include = labels(cursor) if cursor.kind == "(" else ()
    left, right = _fills(cursor)
    return Matching(on, names, many, include, left, right)


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
    aggregator = AGGREGATORS[name.kind]
    grouping = cursor.kind if cursor.kind in _GROUPINGS else ""
    names = _grouping(cursor) if grouping else ()
    arguments = _arguments(cursor)
    if not grouping and cursor.kind in _GROUPINGS:
        grouping = cursor.kind
        names = _grouping(cursor)
    span = (name.start, cursor.last_end)
    cursor.require(aggregator.gate, span)
    count = 2 if aggregator.parameter else 1
    if len(arguments) != count:
        cursor.fail(f"`{name.kind}` takes {_counted(count)}, not {len(arguments)}", span)
    parameter = arguments[0] if aggregator.parameter else None
    return Aggregation(aggregator, arguments[-1], parameter, grouping == "without", names, span)


def _grouping(cursor: Cursor) -> tuple[str, ...]:
    cursor.take()
    return labels(cursor)


def _arguments(cursor: Cursor) -> tuple[Node, ...]:
    cursor.expect(("(",), "`(`")
    found: list[Node] = []
    if cursor.kind != ")":
        found.append(_expression(cursor, 0))
        while cursor.accept(","):
            found.append(_expression(cursor, 0))
    cursor.expect((")",), "an operator, `,` or `)`")
    return tuple(found)


def _call(cursor: Cursor) -> Call:
    name = cursor.take()
    function = _function(cursor, name)
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
        cursor.fail(f"there is no function `{name.text[:_LONGEST_GUESS]}`{_guess(name.text)}", span)
    cursor.require(function.gate, span)
    return function


def _guess(name: str) -> str:
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
