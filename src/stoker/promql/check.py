"""What is wrong with an expression although it can be read: types, mostly."""

from collections.abc import Iterator
from typing import Final

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


def check(node: Node, options: Options = _DEFAULT) -> Iterator[Problem]:
    """Every problem of a tree."""
    bare: set[int] = set()  # The selectors that may select everything.
    for one in walk(node):
        match one:
            case Selector():
                yield from _selector_problems(one, options, bare=id(one) in bare)
            case Binary():
                yield from _binary_problems(one)
            case Call():
                yield from _call_problems(one)
                if one.function.name == "info":
                    bare.update(map(id, one.arguments[1:]))
            case Aggregation():
                yield from _aggregation_problems(one)
            case Signed():
                yield from _signed_problems(one)
            case Subquery() if one.inner.type != VECTOR:
                yield _expected(VECTOR, one.inner, "a subquery")


def _expected(wanted: str, node: Node, where: str) -> Problem:
    article = "an" if wanted[0] in "aeiou" else "a"
    return Problem(f"{where} takes {article} {wanted}, this is a {node.type}", *node.span)


def _selector_problems(node: Selector, options: Options, *, bare: bool) -> Iterator[Problem]:
    if node.name:
        if any(matcher.name == NAME for matcher in node.matchers):
            yield Problem(f"the name is given twice: `{node.name}` and in braces", *node.span)
    elif not bare and all(matches_empty(matcher, options) for matcher in node.matchers):
        message = "this selects everything: at least one matcher must not match the empty text"
        yield Problem(message, *node.span)


def matches_empty(matcher: Matcher, options: Options = _DEFAULT) -> bool:
    """Whether a series without that label matches."""
    is_regex = "~" in matcher.operator
    empty = regex_of(matcher.value, options).matches_empty if is_regex else not matcher.value
    return empty != matcher.operator.startswith("!")


def _signed_problems(node: Signed) -> Iterator[Problem]:
    if node.inner.type not in (SCALAR, VECTOR):
        message = f"a sign needs a scalar or an instant vector, this is a {node.inner.type}"
        yield Problem(message, *node.span)


def _aggregation_problems(node: Aggregation) -> Iterator[Problem]:
    name = f"`{node.aggregator.name}`"
    if node.inner.type != VECTOR:
        yield _expected(VECTOR, node.inner, name)
    if node.parameter is not None and node.parameter.type != node.aggregator.parameter:
        yield _expected(node.aggregator.parameter, node.parameter, f"the parameter of {name}")


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


def _binary_problems(node: Binary) -> Iterator[Problem]:
    operator, types = node.operator, (node.left.type, node.right.type)
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
