"""Parses selectors: a metric's name, matchers in braces, lists of labels, and modifiers."""

import math
import re
from typing import Final

from msgspec.structs import replace

from stoker.promql.cursor import Cursor
from stoker.promql.nodes import (
    Matcher,
    Moment,
    Node,
    Period,
    Range,
    Selector,
    Span,
    Subquery,
)
from stoker.promql.numbers import INT64_MAX, rounded_int64
from stoker.promql.periods import offset_period, positive_period, signed_amount, whole_period
from stoker.promql.regexes import regex_of
from stoker.promql.syntax import AT, EXTENDED, KEYWORDS, LABEL_KINDS, METRIC_KINDS, UTF8
from stoker.promql.tokens import SUBQUERY, Token, phrase_of, selected

NAME: Final = "__name__"
_OF_REGEXES: Final = ("=~", "!~")
_COMPARISONS: Final = ("=", "!=", *_OF_REGEXES)
_LEGACY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
_LEGACY_METRIC: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_EDGES: Final = ("start", "end")
_LABELS: Final = LABEL_KINDS | {"string"}


def legacy_label(name: str) -> bool:
    """Whether a label may have this name without quotes."""
    return _LEGACY.fullmatch(name) is not None


def selector(cursor: Cursor) -> Selector:
    """A metric's name, or matchers in braces, or both."""
    start = cursor.token.start
    name = cursor.take().text if cursor.kind in METRIC_KINDS else ""
    matchers = _matchers(cursor) if cursor.kind == "{" else ()
    return Selector(name, matchers, (start, cursor.last_end))


def whole_selector(cursor: Cursor) -> Selector | Range:
    """A selector that is one phrase, with its range if it has one."""
    token = cursor.take()
    matchers, length, end, plain = selected(phrase_of(token))
    made = tuple(
        [
            Matcher(name, operator, literal[1:-1])
            if plain and operator not in _OF_REGEXES
            else _compared_as(cursor, token, name, operator, literal)
            for name, operator, literal in matchers
        ]
    )
    found = Selector(token.text, made, (token.start, end))
    return Range(found, whole_period(length[1:-1]), (token.start, token.end)) if length else found


def _compared_as(cursor: Cursor, token: Token, name: str, operator: str, literal: str) -> Matcher:
    value = cursor.string(literal, token.start)
    if operator in _OF_REGEXES:
        _require_regex(cursor, value, _span(token))
    return Matcher(name, operator, value)


def _require_regex(cursor: Cursor, value: str, span: Span) -> None:
    problem = regex_of(value, cursor.options).problem
    if problem:
        cursor.fail(f"not a regular expression: {problem}", span)


def _matchers(cursor: Cursor) -> tuple[Matcher, ...]:
    cursor.take()
    found: list[Matcher] = []
    while not cursor.accept("}"):
        found.append(_matcher(cursor))
        if cursor.kind != "}":
            cursor.expect((",",), "`,` or `}`")
    return tuple(found)


def _matcher(cursor: Cursor) -> Matcher:
    label = cursor.expect(("identifier", "string"), "a label's name or `}`")
    if label.kind == "identifier":
        return _compared(cursor, label, label.text)
    name = cursor.string(label.text, label.start)
    if cursor.kind in _COMPARISONS:
        _allow(cursor, label, legacy=legacy_label(name))
        return _compared(cursor, label, name)
    _allow(cursor, label, legacy=_LEGACY_METRIC.fullmatch(name) is not None)
    return Matcher(NAME, "=", name)


def _allow(cursor: Cursor, token: Token, *, legacy: bool) -> None:
    if not legacy:
        cursor.require(UTF8, (token.start, token.end))


def _compared(cursor: Cursor, label: Token, name: str) -> Matcher:
    operator = cursor.expect(_COMPARISONS, "one of `=`, `!=`, `=~`, `!~`").kind
    token = cursor.expect(("string",), "a string in quotes")
    value = cursor.string(token.text, token.start)
    if operator in _OF_REGEXES:
        _require_regex(cursor, value, (label.start, token.end))
    return Matcher(name, operator, value)


def labels(cursor: Cursor) -> tuple[str, ...]:
    """Names of labels in parentheses; a comma may follow the last."""
    cursor.expect(("(",), "`(` and names of labels")
    found: list[str] = []
    while not cursor.accept(")"):
        found.append(_label(cursor))
        if cursor.kind != ")":
            cursor.expect((",",), "`,` or `)`")
    return tuple(found)


def whole_labels(cursor: Cursor, token: Token, names: list[str]) -> tuple[str, ...]:
    """The names of labels in a phrase."""
    for name in names:
        if KEYWORDS.get(name.lower(), "identifier") not in LABEL_KINDS:
            cursor.fail("a label cannot have this name", _span(token))
    return tuple(names)


def _label(cursor: Cursor) -> str:
    token = cursor.expect(_LABELS, "a label's name")
    if token.kind == "identifier":
        return token.text
    name = cursor.string(token.text, token.start) if token.kind == "string" else token.text
    if not name or _SURROGATE.search(name):
        cursor.fail("a label cannot have this name", (token.start, token.end))
    _allow(cursor, token, legacy=legacy_label(name))
    return name


def modified(cursor: Cursor, node: Node) -> Node:
    """The expression with what follows it: a range, `offset`, `@`, `anchored`, `smoothed`."""
    while cursor.kind in MODIFIERS:
        node = MODIFIERS[cursor.kind](cursor, node)
    return node


def _in_brackets(cursor: Cursor, node: Node) -> Node:
    start = cursor.take().start
    length = positive_period(cursor)
    if not cursor.accept(":"):
        span = (start, cursor.expect(("]",), "`:` or `]`").end)
        return _range(cursor, node, length, span)
    step: Period = 0
    if cursor.kind != "]":
        step = positive_period(cursor)
    end = cursor.expect(("]",), "a step or `]`").end
    return Subquery(node, length, step, (node.span[0], end))


def _whole_subquery(cursor: Cursor, node: Node) -> Subquery:
    brackets = cursor.take()
    length, _, step = brackets.text[1:-1].partition(":")
    return Subquery(
        node, whole_period(length), whole_period(step) if step else 0, (node.span[0], brackets.end)
    )


def _range(cursor: Cursor, node: Node, length: Period, brackets: Span) -> Range:
    if not isinstance(node, Selector):
        cursor.fail("only a selector can have a range: a subquery is `[5m:]`", brackets)
    if node.moment.offset != 0:
        cursor.fail("`offset` comes after the range", brackets)
    if node.moment.at is not None:
        cursor.fail("`@` comes after the range", brackets)
    return Range(node, length, (node.span[0], brackets[1]))


def _offset(cursor: Cursor, node: Node) -> Node:
    span = _span(cursor.take())
    offset = offset_period(cursor)
    target = _target(cursor, node, "offset", span)
    if target.moment.offset != 0:
        cursor.fail("`offset` is given twice", span)
    return _around(cursor, node, replace(target, moment=Moment(target.moment.at, offset)))


def _at(cursor: Cursor, node: Node) -> Node:
    span = _span(cursor.take())
    cursor.require(AT, span)
    at = _edge(cursor) if cursor.kind in _EDGES else _timestamp(cursor)
    target = _target(cursor, node, "@", span)
    if target.moment.at is not None:
        cursor.fail("`@` is given twice", span)
    return _around(cursor, node, replace(target, moment=Moment(at, target.moment.offset)))


def _edge(cursor: Cursor) -> str:
    name = cursor.take().kind
    cursor.expect(("(",), "`()`")
    cursor.expect((")",), "`)`")
    return name


def _timestamp(cursor: Cursor) -> int:
    number = signed_amount(cursor, "a timestamp, `start()` or `end()`")
    if not math.isfinite(number.value) or abs(number.value) >= INT64_MAX:
        cursor.fail("there is no such time", number.span)
    return rounded_int64(number.value * 1000)


def _extended(cursor: Cursor, node: Node) -> Node:
    token = cursor.take()
    span = _span(token)
    cursor.require(EXTENDED[token.kind], span)
    inner = node.selector if isinstance(node, Range) else node
    if not isinstance(inner, Selector):
        cursor.fail(f"`{token.kind}` must follow a selector", span)
    if inner.extension not in ("", token.kind):
        cursor.fail("`anchored` and `smoothed` exclude each other", span)
    return _around(cursor, node, replace(inner, extension=token.kind))


def _span(token: Token) -> Span:
    return (token.start, token.end)


def _target(cursor: Cursor, node: Node, modifier: str, span: Span) -> Selector | Subquery:
    """What a modifier changes: a subquery, or a selector, be it one with a range."""
    inner = node.selector if isinstance(node, Range) else node
    if not isinstance(inner, Selector | Subquery):
        cursor.fail(f"`{modifier}` must follow a selector or a subquery", span)
    return inner


def _around(cursor: Cursor, node: Node, changed: Selector | Subquery) -> Node:
    """What was changed, up to here, in its range if it has one."""
    span = (node.span[0], cursor.last_end)
    if isinstance(node, Range) and isinstance(changed, Selector):
        return Range(changed, node.length, span)
    return replace(changed, span=span)


MODIFIERS: Final = {
    "[": _in_brackets,
    SUBQUERY: _whole_subquery,
    "offset": _offset,
    "@": _at,
    "anchored": _extended,
    "smoothed": _extended,
}
