"""Label enforcement: an expression that sees only series with a certain label."""

from msgspec.structs import replace

from stoker.promql.nodes import Matcher, Node, Selector, with_selectors
from stoker.promql.selectors import NAME


def enforce_label(node: Node, name: str, value: str) -> Node:
    """The expression with `name="value"` in every selector, in place of any matcher on `name`."""
    enforced = Matcher(name, "=", value)

    def limited(selector: Selector) -> Selector:
        kept = tuple(matcher for matcher in selector.matchers if matcher.name != name)
        metric = "" if name == NAME else selector.name
        return replace(selector, name=metric, matchers=(*kept, enforced))

    return with_selectors(node, limited)
