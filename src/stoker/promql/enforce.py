"""Label enforcement: an expression that sees only series with a certain label.

Every series comes from a selector, but for the info series of `info`: without a second argument it
reads `target_info` of everybody. What stands there selects info series, and it names the labels
that are taken from them; without any, all are. So a matcher for the enforced label has two side
effects:

- Series that have no info series are dropped, where the user's own matchers would have let them
  pass. They are put back: `info(x, {…}) or on (job, instance) x`.
- `info(x)` takes no labels any more. Nothing in the language can say "all labels of those":
  `nameless_info` finds who relied on that, to warn them.

A series that has lost the enforced label on its way gets it back from its info series.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from stoker.promql.check import matches_empty
from stoker.promql.nodes import (
    Binary,
    Call,
    Group,
    Matcher,
    Matching,
    Node,
    Selector,
    rewritten,
    walk,
)
from stoker.promql.selectors import NAME
from stoker.promql.syntax import OPERATORS

# What an info series has in common with the series that it tells more of.
_IDENTIFYING: Final = Matching(on=True, labels=("job", "instance"))


def enforce_label(node: Node, name: str, value: str) -> Node:
    """The expression with `name="value"` in every selector, in place of any matcher on `name`."""
    enforced = Matcher(name, "=", value)

    def limited(before: Node, node: Node) -> Node:
        if isinstance(node, Selector):
            kept = [matcher for matcher in node.matchers if matcher.name != name]
            metric = "" if name == NAME else node.name
            matchers = (*kept, enforced)
            return Selector(metric, matchers, node.span, node.moment, node.extension)
        if isinstance(before, Call) and isinstance(node, Call) and _is_info(node):
            return _limited_info(before, node, enforced)
        return node

    return rewritten(node, limited)


def nameless_info(node: Node) -> bool:
    """Whether the expression wants all labels of info series, and will get none when enforced."""
    calls = (one for one in walk(node) if _is_info(one))
    return any(not list(_data_matchers(one)) for one in calls if isinstance(one, Call))


def _is_info(node: Node) -> bool:
    return isinstance(node, Call) and node.function.name == "info"


def _data_matchers(call: Call) -> Iterator[Matcher]:
    """The matchers of `info` that name labels; one on the name says which info series are meant."""
    for argument in call.arguments[1:]:
        if isinstance(argument, Selector):
            yield from (matcher for matcher in argument.matchers if matcher.name != NAME)


def _limited_info(before: Call, call: Call, enforced: Matcher) -> Node:
    """`info` with info series of one namespace only, and all the series that it had before."""
    series, span = call.arguments[0], call.span
    if len(call.arguments) == 1:
        call = replace(call, arguments=(series, Selector("", (enforced,), span)))
    # Where one `info` is within another, each would double what is within it.
    if not all(map(matches_empty, _data_matchers(before))) or any(map(_is_info, walk(series))):
        return call
    again = Group(series, series.span, series.type) if isinstance(series, Binary) else series
    whole = Binary(OPERATORS["or"], call, again, False, _IDENTIFYING, span, span, call.type)
    return Group(whole, span, call.type)
