"""The tree of an expression. Nodes never change; `span` says where in the text they stood.

Two trees are the `same` if they say the same, wherever it stood. Chains such as `a + b + c + …`
make trees as deep as they are long, so whoever walks a tree does it with a stack of its own. The
leaves are spared Python's search for cycles (`gc=False`). What may be deep is not: without it, a
tree is taken apart by recursion when it is no longer needed, and that ends the process.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final, TypeAlias

from msgspec import Struct

from stoker.promql.functions import MATRIX, SCALAR, STRING, VECTOR, Function
from stoker.promql.syntax import Aggregator, Operator

Span: TypeAlias = tuple[int, int]


class Matcher(Struct, frozen=True, gc=False):
    """A condition on a label: `operator` is one of `=`, `!=`, `=~`, `!~`."""

    name: str
    operator: str
    value: str


class Number(Struct, frozen=True, eq=False, gc=False):
    """A number; one written as a duration is the number of its seconds."""

    value: float
    duration: bool
    span: Span
    type: ClassVar[str] = SCALAR


class Text(Struct, frozen=True, eq=False, gc=False):
    """A string; bytes that are no UTF-8 are lone surrogates."""

    value: str
    span: Span
    type: ClassVar[str] = STRING


class Duration(Struct, frozen=True, eq=False):
    """A calculated duration: an operator, a sign (no `left`), a function, or just parentheses."""

    operator: str
    left: "Number | Duration | None"
    right: "Number | Duration | None"
    wrapped: bool
    span: Span


# A length of time: nanoseconds, or how to calculate them.
Period: TypeAlias = int | Duration


class Moment(Struct, frozen=True, gc=False):
    """When a selector looks: `@` milliseconds or `start` or `end`, moved back by `offset`."""

    at: int | str | None = None
    offset: Period = 0


NOW: Final = Moment()


class Selector(Struct, frozen=True, eq=False, gc=False):
    """An instant vector selector: the name before the braces and what is in them."""

    name: str
    matchers: tuple[Matcher, ...]
    span: Span
    moment: Moment = NOW
    extension: str = ""
    type: ClassVar[str] = VECTOR


class Range(Struct, frozen=True, eq=False, gc=False):
    """A range vector selector; its moment and extension are those of the selector."""

    selector: Selector
    length: Period
    span: Span
    type: ClassVar[str] = MATRIX


class Subquery(Struct, frozen=True, eq=False):
    """An expression evaluated over a range of time; without a step, the default one."""

    inner: "Node"
    length: Period
    step: Period
    span: Span
    moment: Moment = NOW
    type: ClassVar[str] = MATRIX


class Group(Struct, frozen=True, eq=False):
    """An expression in parentheses."""

    inner: "Node"
    span: Span
    type: str


class Signed(Struct, frozen=True, eq=False):
    """An expression with a sign before it."""

    sign: str
    inner: "Node"
    span: Span
    type: str


class Matching(Struct, frozen=True, gc=False):
    """How series of two vectors find each other; `many` is the side with more, if one has."""

    on: bool
    labels: tuple[str, ...] = ()
    many: str = ""
    include: tuple[str, ...] = ()
    fill_left: float | None = None
    fill_right: float | None = None


def filled(matching: Matching) -> bool:
    """Whether missing series are filled in."""
    return matching.fill_left is not None or matching.fill_right is not None


class Binary(Struct, frozen=True, eq=False):
    """An operation on two expressions; `place` is where the operator stood."""

    operator: Operator
    left: "Node"
    right: "Node"
    returns_bool: bool
    matching: Matching | None
    span: Span
    place: Span
    type: str


class Aggregation(Struct, frozen=True, eq=False):
    """An aggregation; `labels` are those kept, or those removed if `without`."""

    aggregator: Aggregator
    inner: "Node"
    parameter: "Node | None"
    without: bool
    labels: tuple[str, ...]
    span: Span
    type: ClassVar[str] = VECTOR


class Call(Struct, frozen=True, eq=False):
    """A call of a function."""

    function: Function
    arguments: "tuple[Node, ...]"
    span: Span

    @property
    def type(self) -> str:
        """What the function returns."""
        return self.function.returns


Node: TypeAlias = (
    Number | Text | Selector | Range | Subquery | Group | Signed | Binary | Aggregation | Call
)


# The expressions directly within one, as they stand in the text; the others have none.
_CHILDREN: Final[dict[type, Callable[[Any], tuple[Node, ...]]]] = {
    Binary: lambda node: (node.left, node.right),
    Call: lambda node: node.arguments,
    Aggregation: lambda node: (
        (node.inner,) if node.parameter is None else (node.parameter, node.inner)
    ),
    Group: lambda node: (node.inner,),
    Signed: lambda node: (node.inner,),
    Subquery: lambda node: (node.inner,),
    Range: lambda node: (node.selector,),
}


# A node with other children, of the same number and types.
_REBUILT: Final[dict[type, Callable[[Any, Any], Node]]] = {
    Binary: lambda node, inner: Binary(
        *(node.operator, inner[0], inner[1], node.returns_bool),
        *(node.matching, node.span, node.place, node.type),
    ),
    Call: lambda node, inner: Call(node.function, inner, node.span),
    Aggregation: lambda node, inner: Aggregation(
        *(node.aggregator, inner[-1], None if node.parameter is None else inner[0]),
        *(node.without, node.labels, node.span),
    ),
    Group: lambda node, inner: Group(inner[0], node.span, node.type),
    Signed: lambda node, inner: Signed(node.sign, inner[0], node.span, node.type),
    Subquery: lambda node, inner: Subquery(
        inner[0], node.length, node.step, node.span, node.moment
    ),
    Range: lambda node, inner: Range(inner[0], node.length, node.span),
}


def walk(node: Node) -> Iterator[Node]:
    """Every node, each before what is within it, from left to right."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        children = _CHILDREN.get(type(one))
        if children is not None:
            waiting.extend(children(one)[::-1])


def rewritten(node: Node, change: Callable[[Node, Node], Node]) -> Node:
    """The tree with every node changed, from the inside out.

    `change` gets a node as it was, and as it is with what is within it changed already.
    """
    done: list[Node] = []
    for one in reversed(list(walk(node))):
        children = _CHILDREN.get(type(one))
        if children is None:
            done.append(change(one, one))
            continue
        # Walked backwards, what is within a node comes before it: its children are on top.
        inner = tuple([done.pop() for _ in children(one)])
        done.append(change(one, _REBUILT[type(one)](one, inner)))
    return done[0]
