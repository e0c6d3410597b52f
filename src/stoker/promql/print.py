"""Tree to text, in the canonical form in which Prometheus prints an expression."""

from collections.abc import Callable
from math import copysign
from typing import Any, Final, TypeAlias

from stoker.promql.durations import duration_text, signed_duration_text
from stoker.promql.nodes import (
    Aggregation,
    Binary,
    Call,
    Duration,
    Group,
    Matcher,
    Matching,
    Moment,
    Node,
    Number,
    Period,
    Range,
    Selector,
    Signed,
    Subquery,
    Text,
)
from stoker.promql.numbers import plain_text, short_text
from stoker.promql.selectors import legacy_label
from stoker.promql.strings import quoted
from stoker.promql.syntax import DURATION_OPERATORS, DURATION_WORDS

Piece: TypeAlias = str | Node | Duration

_OFFSET: Final = " offset "
_ARITHMETIC: Final = frozenset(f" {operator} " for operator in DURATION_OPERATORS)


def to_text(node: Node) -> str:
    """The canonical text of an expression."""
    return _joined([node])


def _joined(waiting: list[Piece]) -> str:
    """The text of the pieces, last first, each taken apart until it is text."""
    texts: list[str] = []
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, str):
            texts.append(piece)
            continue
        pieces = _PRINTERS[type(piece)](piece)
        if texts and texts[-1] == _OFFSET:
            pieces = _as_offset(piece, pieces, followed=_arithmetic(waiting))
            # Operators between the parts of the offset belong to it.
            texts.append("")
        waiting.extend(reversed(pieces))
    return "".join(texts)


def _arithmetic(waiting: list[Piece]) -> bool:
    following = waiting[-1] if waiting else ""
    return isinstance(following, str) and following[:3] in _ARITHMETIC


def _as_offset(offset: Node | Duration, pieces: list[Piece], *, followed: bool) -> list[Piece]:
    """An offset that is read again as what it is, though Prometheus prints another thing.

    It prints `a offset (5m) @ 0 * b` as `a @ 0.000 offset (5m) * b`, and the operator becomes part
    of the offset. With a sign, `offset +(5m) * b`, the offset ends at the parenthesis. And without
    a parenthesis it ends after one amount: `a offset (5) + 1` is not `a offset 5 + 1`.
    """
    if not isinstance(offset, Duration):
        return pieces
    if offset.wrapped:
        return ["+", *pieces] if followed else pieces
    if _is_one_amount(offset):
        return pieces
    if followed:
        return ["+(", *pieces, ")"]
    return pieces if _begins_wrapped(offset) else ["(", *pieces, ")"]


def _is_one_amount(offset: Duration) -> bool:
    """A function, or a sign before something that ends by itself."""
    if offset.operator in DURATION_WORDS:
        return True
    inner = offset.right
    plain = not isinstance(inner, Duration) or inner.wrapped or inner.operator in DURATION_WORDS
    return offset.left is None and plain


def _begins_wrapped(offset: Duration) -> bool:
    first: Number | Duration | None = offset
    while isinstance(first, Duration) and not first.wrapped:
        first = first.left
    return isinstance(first, Duration)


def _number(node: Number) -> list[Piece]:
    if not node.duration:
        return [plain_text(node.value)]
    sign = "-" if node.value < 0 else ""
    return [sign + duration_text(int(abs(node.value) * 1e9))]


def _text(node: Text) -> list[Piece]:
    return [quoted(node.value)]


def _group(node: Group) -> list[Piece]:
    return ["(", node.inner, ")"]


def _signed(node: Signed) -> list[Piece]:
    return [node.sign, node.inner]


def _call(node: Call) -> list[Piece]:
    return [node.function.name, "(", *_listed(node.arguments), ")"]


def _listed(nodes: tuple[Node, ...]) -> list[Piece]:
    pieces: list[Piece] = []
    for node in nodes:
        pieces += [", ", node]
    return pieces[1:]


def _aggregation(node: Aggregation) -> list[Piece]:
    grouping = ""
    if node.without or node.labels:
        grouping = f" {'without' if node.without else 'by'} ({_labels(node.labels)}) "
    inner = (node.inner,) if node.parameter is None else (node.parameter, node.inner)
    return [f"{node.aggregator.name}{grouping}(", *_listed(inner), ")"]


def _labels(names: tuple[str, ...]) -> str:
    return ", ".join(map(_label, names))


def _label(name: str) -> str:
    return name if legacy_label(name) else quoted(name)


def _binary(node: Binary) -> list[Piece]:
    condition = " bool" if node.returns_bool else ""
    matching = _matching(node.matching) if node.matching else ""
    return [node.left, f" {node.operator.text}{condition}{matching} ", node.right]


def _matching(matching: Matching) -> str:
    text = ""
    if matching.labels or matching.on or matching.many:
        text = f" {'on' if matching.on else 'ignoring'} ({_labels(matching.labels)})"
    if matching.many:
        text += f" group_{matching.many} ({_labels(matching.include)})"
    left, right = matching.fill_left, matching.fill_right
    if left is not None and left == right:
        return f"{text} fill ({short_text(left)})"
    if left is not None:
        text += f" fill_left ({short_text(left)})"
    if right is not None:
        text += f" fill_right ({short_text(right)})"
    return text


def _selector(node: Selector) -> list[Piece]:
    extension = f" {node.extension}" if node.extension else ""
    return [_selected(node), _at(node.moment), extension, *_offset(node.moment)]


def _selected(node: Selector) -> str:
    matchers = ",".join(sorted(map(_matcher, node.matchers)))
    # Nothing but a name within braces must not become nothing at all.
    braces = f"{{{matchers}}}" if matchers or not node.name else ""
    return f"{node.name}{braces}"


def _matcher(matcher: Matcher) -> str:
    return f"{_label(matcher.name)}{matcher.operator}{quoted(matcher.value)}"


def _range(node: Range) -> list[Piece]:
    inner = node.selector
    extension = f" {inner.extension}" if inner.extension else ""
    return [
        *(_selected(inner), "[", _period(node.length), "]"),
        *(extension, _at(inner.moment), *_offset(inner.moment)),
    ]


def _subquery(node: Subquery) -> list[Piece]:
    step = "" if node.step == 0 else _period(node.step)
    brackets: list[Piece] = ["[", _period(node.length), ":", step, "]"]
    return [node.inner, *brackets, _at(node.moment), *_offset(node.moment)]


def _period(period: Period) -> str | Duration:
    return duration_text(period) if isinstance(period, int) else period


def _at(moment: Moment) -> str:
    if moment.at is None:
        return ""
    if isinstance(moment.at, str):
        return f" @ {moment.at}()"
    return f" @ {moment.at / 1000:.3f}"


def _offset(moment: Moment) -> list[Piece]:
    offset = moment.offset
    if offset == 0:
        return []
    return [_OFFSET, signed_duration_text(offset) if isinstance(offset, int) else offset]


def _duration(node: Duration) -> list[Piece]:
    pieces = _inner_duration(node)
    return ["(", *pieces, ")"] if node.wrapped else pieces


def _inner_duration(node: Duration) -> list[Piece]:
    if node.operator in ("step", "range"):
        return [f"{node.operator}()"]
    right = [] if node.right is None else [node.right]
    if node.left is None:
        return [node.operator, *right]
    if node.operator in ("min_of", "max_of"):
        return [f"{node.operator}(", node.left, ", ", *right, ")"]
    return [*_base(node.left, node.operator), f" {node.operator} ", *right]


def _base(left: Number | Duration, operator: str) -> list[Piece]:
    """What stands before an operator; a sign would be read as that of the whole power."""
    negative = isinstance(left, Number) and copysign(1, left.value) < 0
    return ["(", left, ")"] if operator == "^" and negative else [left]


_PRINTERS: Final[dict[type, Callable[[Any], list[Piece]]]] = {
    Number: _number,
    Text: _text,
    Selector: _selector,
    Range: _range,
    Subquery: _subquery,
    Group: _group,
    Signed: _signed,
    Binary: _binary,
    Aggregation: _aggregation,
    Call: _call,
    Duration: _duration,
}
