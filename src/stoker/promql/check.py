"""What is wrong with an expression although it can be read: types, mostly."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from stoker.promql.errors import Problem
from stoker.promql.functions import SCALAR, VECTOR
from stoker.promql.nodes import (
    Aggregation,
    Binary,
    Call,
    Matcher,
    Matching,
    Node,
    Selector,
    Signed,
    Span,
    Subquery,
    filled,
    walk,
)
from stoker.promql.regexes import regex_of
from stoker.promql.selectors import NAME
from stoker.promql.syntax import Options

_DEFAULT: Final = Options()
_FINE: Final[tuple[Problem, ...]] = ()
_VECTORS: Final = (VECTOR, VECTOR)
_MIXED: Final = ((VECTOR, SCALAR), (SCALAR, VECTOR))


class _Setting(NamedTuple):
    """What a tree is checked with, and its selectors that may select everything, by identity."""

    options: Options
    bare: set[int]


def check(node: Node, options: Options = _DEFAULT) -> Iterator[Problem]:
    """Every problem of a tree."""
    setting = _Setting(options, set())
    for one in walk(node):
        problems = _CHECKS.get(type(one))
        if problems is not None:
            yield from problems(one, setting)


def _expected(wanted: str, node: Node, where: str) -> Problem:
    article = "an" if wanted[0] in "aeiou" else "a"
    return Problem(f"{where} takes {article} {wanted}, this is a {node.type}", *node.span)


def _selector(node: Selector, setting: _Setting) -> Iterable[Problem]:
    if node.name:
        for matcher in node.matchers:
            if matcher.name == NAME:
                message = f"the name is given twice: `{node.name}` and in braces"
                return (Problem(message, *node.span),)
        return _FINE
    if id(node) in setting.bare:
        return _FINE
    for matcher in node.matchers:
        if not matches_empty(matcher, setting.options):
            return _FINE
    message = "this selects everything: at least one matcher must not match the empty text"
    return (Problem(message, *node.span),)


def matches_empty(matcher: Matcher, options: Options = _DEFAULT) -> bool:
    """Whether a series without that label matches."""
    is_regex = "~" in matcher.operator
    empty = regex_of(matcher.value, options).matches_empty if is_regex else not matcher.value
    return empty != matcher.operator.startswith("!")


def _signed(node: Signed, _: _Setting) -> Iterator[Problem]:
    if node.inner.type not in (SCALAR, VECTOR):
        message = f"a sign needs a scalar or an instant vector, this is a {node.inner.type}"
        yield Problem(message, *node.span)


def _subquery(node: Subquery, _: _Setting) -> Iterator[Problem]:
    if node.inner.type != VECTOR:
        yield _expected(VECTOR, node.inner, "a subquery")


def _aggregation(node: Aggregation, _: _Setting) -> Iterable[Problem]:
    plain = node.parameter is None and node.inner.type == VECTOR
    return _FINE if plain else _aggregation_problems(node)


def _aggregation_problems(node: Aggregation) -> Iterator[Problem]:
    name = f"`{node.aggregator.name}`"
    if node.inner.type != VECTOR:
        yield _expected(VECTOR, node.inner, name)
    if node.parameter is not None and node.parameter.type != node.aggregator.parameter:
        yield _expected(node.aggregator.parameter, node.parameter, f"the parameter of {name}")


def _call(node: Call, setting: _Setting) -> Iterable[Problem]:
    function = node.function
    if function.name == "info":
        setting.bare.update(map(id, node.arguments[1:]))
        return _call_problems(node)
    plain = tuple([argument.type for argument in node.arguments]) == function.arguments
    return _FINE if plain else _call_problems(node)


def _call_problems(node: Call) -> Iterator[Problem]:
    function = node.function
    for index, argument in enumerate(node.arguments):
        wanted = function.arguments[min(index, len(function.arguments) - 1)]
        if argument.type != wanted:
            yield _expected(wanted, argument, f"argument {index + 1} of `{function.name}`")
    if function.name == "info":
        for argument in node.arguments[1:]:
            if not isinstance(argument, Selector) or argument.name:
                yield Problem("`info` takes matchers in braces, without a name", *argument.span)


def _binary(node: Binary, _: _Setting) -> Iterable[Problem]:
    types = (node.left.type, node.right.type)
    fitting = types == _VECTORS or (types in _MIXED and not node.operator.of_sets)
    plain = fitting and node.matching is None and not node.returns_bool
    return _FINE if plain else _binary_problems(node, types)


def _binary_problems(node: Binary, types: tuple[str, str]) -> Iterator[Problem]:
    operator = node.operator
    for side in (node.left, node.right):
        if side.type not in (SCALAR, VECTOR):
            message = f"`{operator.text}` takes scalars and instant vectors"
            yield Problem(f"{message}, this is a {side.type}", *side.span)
    if node.returns_bool and not operator.comparison:
        yield Problem("only a comparison can have `bool`", *node.place)
    if operator.comparison and not node.returns_bool and types == (SCALAR, SCALAR):
        yield Problem("a comparison of scalars needs `bool`", *node.place)
    if operator.of_sets and SCALAR in types:
        yield Problem(f"`{operator.text}` takes instant vectors, not scalars", *node.place)
    if node.matching:
        yield from _matching_problems(node, node.matching, node.place)


def _matching_problems(node: Binary, matching: Matching, place: Span) -> Iterator[Problem]:
    twice = set(matching.labels).intersection(matching.include) if matching.on else ()
    for name in sorted(twice):
        yield Problem(f"label `{name}` cannot be in `on` and in the group at once", *place)
    if (node.left.type, node.right.type) != (VECTOR, VECTOR):
        yield Problem("series can be matched only between two instant vectors", *place)
    elif node.operator.of_sets and matching.many:
        yield Problem(f"`{node.operator.text}` cannot have `group_{matching.many}`", *place)
    elif node.operator.of_sets and filled(matching):
        yield Problem(f"`{node.operator.text}` cannot fill in missing series", *place)


_CHECKS: Final[dict[type, Callable[[Any, _Setting], Iterable[Problem]]]] = {
    Selector: _selector,
    Binary: _binary,
    Call: _call,
    Aggregation: _aggregation,
    Signed: _signed,
    Subquery: _subquery,
}
