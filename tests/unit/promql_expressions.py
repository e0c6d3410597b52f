"""Expressions made of the grammar of PromQL, for tests: well-formed, well-typed, any shape.

And whether two of them are the same.
"""

import random
from typing import Any, Final

from msgspec import Struct

from stoker.promql.nodes import Matcher

FEATURES: Final = (
    "promql-experimental-functions",
    "promql-extended-range-selectors",
    "promql-binop-fill-modifiers",
)
_METRICS: Final = ("up", "foo:bar", "sum", "offset", "step", "fill", "by", "end", ":a", "_x1")
_LABELS: Final = ("job", "instance", "on", "bool", "le", '"a.b"', '"ä"', "namespace", "inf")
_KEYS: Final = ("job", "sum", "__name__", '"a.b"', "namespace", "'namespace'", "`x y`", "inf")
_VALUES: Final = ('"a"', "'it'", "`raw\\n`", '"\\n\\"é"', '"\\xff"', '".+"', '"a|b"')
_NUMBERS: Final = ("0", "1", "1.50", ".5", "5.", "1e3", "0x1F", "017", "1_000", "nan", "5m")
_PERIODS: Final = ("5m", "1h30m", "90s", "300", "1.5", "1w", "100ms", "0x10", "8d", "1y")
_OPERATORS: Final = ("+", "-", "*", "/", "%", "^", "atan2", "==", "!=", "<", ">=", "</", ">/")
_OF_VECTOR: Final = ("abs", "absent", "ceil", "sort_desc", "timestamp", "histogram_avg", "sgn")
_OF_RANGE: Final = ("rate", "increase", "max_over_time", "deriv", "mad_over_time", "changes")
_AGGREGATIONS: Final = ("sum", "AVG", "count", "min", "Max", "group", "stddev", "stdvar")


class Grammar:
    """Makes expressions from a source of chance."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def expression(self, depth: int = 4) -> str:
        """Make an expression of any type."""
        return self.chance.choice((self.vector, self.vector, self.scalar, self.range))(depth)

    def vector(self, depth: int) -> str:
        """Make an instant vector."""
        if depth <= 0:
            return self.selector() + self._extension() + self.moment()
        make = (self._operation, self._sets, self._call, self._aggregation, self._wrapped)
        return self.chance.choice((*make, lambda _: self.vector(0)))(depth - 1)

    def scalar(self, depth: int) -> str:
        """Make a scalar."""
        if depth <= 0:
            return self.chance.choice(_NUMBERS)
        kinds = (
            lambda: f"scalar({self.vector(depth - 1)})",
            lambda: f"({self.scalar(depth - 1)})",
            lambda: f"{self.scalar(0)} {self.chance.choice('+-*/%^')} {self.scalar(depth - 1)}",
            lambda: f"{self.scalar(0)} < bool {self.scalar(0)}",
            lambda: f"-{self.scalar(0)}",
            lambda: self.chance.choice(("time()", "pi()", "start()", "max_of(1, 2)", "step()")),
        )
        return self.chance.choice(kinds)()

    def range(self, depth: int) -> str:
        """Make a range vector."""
        if depth <= 0 or self.chance.random() < 0.6:
            return f"{self.selector()}[{self.period()}]{self._extension()}{self.moment()}"
        step = self.chance.choice(("", self.period()))
        return f"({self.vector(depth - 1)})[{self.period()}:{step}]{self.moment()}"

    def selector(self) -> str:
        """Make a selector that does not select everything."""
        if self.chance.random() < 0.3:
            return self.chance.choice(_METRICS)
        keys = self.chance.sample(_KEYS, self.chance.randrange(3))
        found = [f"{key}{self._compared()}{self.chance.choice(_VALUES)}" for key in keys]
        if self.chance.random() < 0.5:
            name = self.chance.choice(('"m.n"', '__name__="up"', 'job="x"'))
            return f"{{{self._joined([*found, name])}}}"
        kept = [one for one in found if not one.startswith("__name__")]
        return f"{self.chance.choice(_METRICS)}{{{self._joined(kept)}}}"

    def period(self) -> str:
        """Make a length of time."""
        plain = self.chance.choice(_PERIODS)
        calculated = (
            f"{plain} + 5m",
            f"({plain})",
            f"2 * ({plain} - 1)",
            f"{plain}+step() ^ 2",
            f"min_of({plain}, range())",
        )
        return plain if self.chance.random() < 0.7 else self.chance.choice(calculated)

    def moment(self) -> str:
        """Make modifiers of time."""
        at = self.chance.choice(("", "", " @ 1603774568.5", " @ -10", " @ start()", " @ END()"))
        sign = self.chance.choice(("", "-", "+"))
        amounts = (*_PERIODS, "step()", "(5m)", "(5m * 2)", "max_of(1m, 5s)")
        offset = self.chance.choice(("", f" offset {sign}{self.chance.choice(amounts)}"))
        return self.chance.choice((at + offset, offset + at))

    def _extension(self) -> str:
        return self.chance.choice(("", "", "", " anchored", " Smoothed"))

    def _compared(self) -> str:
        return self.chance.choice(("=", "!=", " = ", "!="))

    def _joined(self, parts: list[str]) -> str:
        return self.chance.choice((",", ", ")).join(parts) + self.chance.choice(
            ("", ",") if parts else ("",)
        )

    def _labels(self) -> str:
        return ", ".join(self.chance.sample(_LABELS[:-1], self.chance.randrange(3)))

    def _wrapped(self, depth: int) -> str:
        return self.chance.choice(("({})", "-{}", "+({})", "# why\n{}")).format(self.vector(depth))

    def _operation(self, depth: int) -> str:
        operator = self.chance.choice(_OPERATORS)
        condition = " bool" if operator in ("==", "!=", "<", ">=") else ""
        condition = self.chance.choice(("", condition))
        sides = self.chance.choice(((self.vector, self.scalar), (self.scalar, self.vector)))
        if self.chance.random() < 0.4:
            return f"{sides[0](depth)} {operator}{condition} {sides[1](depth)}"
        return f"{self.vector(depth)} {operator}{condition}{self._matching()} {self.vector(depth)}"

    def _matching(self) -> str:
        label = self.chance.choice(_LABELS[:-1])
        grouped = self.chance.choice(("", " group_left", f" group_right({label})"))
        how = self.chance.choice(("", f" on({self._labels()})", f" ignoring({label})"))
        fills = (" fill(0)", " fill_left(-1) fill_right (5m)", " fill_right(1e30)", " FILL(inf)")
        fill = self.chance.choice(("", "", *fills))
        on_labels = " on()" if "(" in grouped else how
        return f"{on_labels}{grouped if on_labels else ''}{fill}"

    def _sets(self, depth: int) -> str:
        operator = self.chance.choice(("and", "or", "unless", "AND"))
        how = self.chance.choice(("", "", f" on({self._labels()})", " ignoring()"))
        return f"{self.vector(depth)} {operator}{how} {self.vector(depth)}"

    def _call(self, depth: int) -> str:
        kinds = (
            lambda: f"{self.chance.choice(_OF_VECTOR)}({self.vector(depth)})",
            lambda: f"{self.chance.choice(_OF_RANGE)}({self.range(depth)})",
            lambda: f"histogram_quantile({self.scalar(0)}, {self.vector(depth)})",
            lambda: f"clamp({self.vector(depth)},{self.scalar(0)}, {self.scalar(0)})",
            lambda: f'label_join({self.vector(depth)}, "a", "-", {self.chance.choice(_VALUES)})',
            lambda: f"vector({self.scalar(depth)})",
            lambda: f'info({self.vector(depth)}, {{job=~".*"}})',
        )
        return self.chance.choice(kinds)()

    def _aggregation(self, depth: int) -> str:
        name = self.chance.choice(_AGGREGATIONS)
        inner = f"({self.vector(depth)})"
        if self.chance.random() < 0.3:
            name = self.chance.choice(("topk", "quantile", "limitk"))
            inner = f"({self.scalar(1)}, {self.vector(depth)})"
        how = f"{self.chance.choice(('by', 'without'))} ({self._labels()})"
        return self.chance.choice(
            (f"{name}{inner}", f"{name} {how} {inner}", f"{name}{inner}{how}")
        )


def expressions(seed: int, count: int, depth: int = 4) -> list[str]:
    """Make so many expressions that Prometheus takes."""
    grammar = Grammar(random.Random(seed))
    return [grammar.expression(depth) for _ in range(count)]


# --- Trees ----------------------------------------------------------------------------------------


def same(left: Any, right: Any) -> bool:
    """Whether two trees (or parts of them) say the same; where it stood does not count."""
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, Struct):
            names = [name for name in one.__struct_fields__ if name not in ("span", "place")]
            waiting.extend((getattr(one, name), getattr(other, name)) for name in names)
        elif isinstance(one, tuple):
            if len(one) != len(other):
                return False
            waiting.extend(zip(_ordered(one), _ordered(other), strict=True))
        elif repr(one) != repr(other):  # NaN is the same as NaN here, and 0 is not -0.
            return False
    return True


def _ordered(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """The items; the order of matchers says nothing, that of others does."""
    by_text = items and isinstance(items[0], Matcher)
    return tuple(sorted(items, key=repr)) if by_text else items
