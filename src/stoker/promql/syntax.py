"""The language as data: features with their versions and flags, keywords, operators.

A version is `(major, minor, patch)` of Prometheus. All versions before 2.25 are treated alike.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from msgspec import Struct

from stoker.golang import NEWEST_MATCHERS, Go

Version: TypeAlias = tuple[int, int, int]

NEWEST: Final[Version] = (3, 15, 0)
ALWAYS: Final[Version] = (0, 0, 0)

# What `--enable-feature` calls them.
EXPERIMENTAL_FUNCTIONS: Final = "promql-experimental-functions"
DURATION_EXPRESSIONS: Final = "promql-duration-expr"
EXTENDED_RANGES: Final = "promql-extended-range-selectors"
FILL_MODIFIERS: Final = "promql-binop-fill-modifiers"
UTF8_NAMES: Final = "utf8-names"
EVERY_FLAG: Final = (
    EXPERIMENTAL_FUNCTIONS,
    DURATION_EXPRESSIONS,
    EXTENDED_RANGES,
    FILL_MODIFIERS,
    UTF8_NAMES,
)

# Features that a version has without being asked; its flag, if it still exists, does nothing.
ON_BY_DEFAULT: Final[dict[str, Version]] = {
    DURATION_EXPRESSIONS: (3, 14, 0),
    UTF8_NAMES: (3, 0, 0),
}


# Since then a matcher of words compares texts, and anchors stand around what Go read already.
FAST_MATCHERS: Final[Version] = (2, 52, 0)


class Options(Struct, frozen=True):
    """Which Prometheus an expression is for: its version, and the features that are on.

    `go` is whose parser reads matchers, and `fast_matchers` tells whether it has those of 2.52.
    """

    version: Version = NEWEST
    features: frozenset[str] = frozenset()
    go: Go = NEWEST_MATCHERS
    fast_matchers: bool = True


def options_for(version: Version, flags: Iterable[str] = (), go: Go = NEWEST_MATCHERS) -> Options:
    """The options of a Prometheus of this version, started with these feature flags."""
    default = {name for name, since in ON_BY_DEFAULT.items() if version >= since}
    return Options(version, frozenset((*default, *flags)), go, version >= FAST_MATCHERS)


class Gate(Struct, frozen=True):
    """When a part of the language exists: `since` and before `until`, behind a flag or `stable`."""

    what: str
    since: Version = ALWAYS
    until: Version | None = None
    flag: str = ""
    stable: Version | None = None
    instead: str = ""

    def refusal(self, options: Options) -> str:
        """Why these options do not allow it; nothing where they do."""
        version = options.version
        if version < self.since:
            return f"{self.what} needs Prometheus {_text(self.since)}, this is {_text(version)}"
        if self.until and version >= self.until:
            return f"{self.what} is gone since Prometheus {_text(self.until)}{self.instead}"
        stable = self.stable is not None and version >= self.stable
        if self.flag and not stable and self.flag not in options.features:
            return f"{self.what} is experimental: it needs the feature `{self.flag}`"
        return ""


def _text(version: Version) -> str:
    return ".".join(map(str, version))


# The parts of the syntax that some Prometheus does not have.
DURATION_ARITHMETIC: Final = Gate("a calculated duration", (3, 4, 0), flag=DURATION_EXPRESSIONS)
DURATION_WORDS: Final = {
    "step": Gate("`step()` as a duration", (3, 6, 0), flag=DURATION_EXPRESSIONS),
    "range": Gate("`range()` as a duration", (3, 6, 0), flag=DURATION_EXPRESSIONS),
    "min_of": Gate("`min_of()` as a duration", (3, 13, 0), flag=DURATION_EXPRESSIONS),
    "max_of": Gate("`max_of()` as a duration", (3, 13, 0), flag=DURATION_EXPRESSIONS),
}
EXTENDED: Final = {
    word: Gate(f"the modifier `{word}`", (3, 7, 0), flag=EXTENDED_RANGES)
    for word in ("anchored", "smoothed")
}
FILL: Final = Gate("filling in missing series", (3, 10, 0), flag=FILL_MODIFIERS)
WRAPPED_AMOUNTS: Final[Version] = (3, 15, 0)
"""Since then an amount in parentheses is calculated; before, it is as good as without them.

So `[(0)]` and `5m / (0)` are refused before and not since, and `offset (5)` is `offset 5s` before.
"""
DURATION_AS_NUMBER: Final = Gate("a duration as a number", (2, 54, 0))
NUMBER_AS_DURATION: Final = Gate("a number of seconds as a duration", (2, 54, 0))
UNDERSCORES: Final = Gate("a number with underscores", (2, 54, 0))
UTF8: Final = Gate("a name with such characters", (2, 55, 0), flag=UTF8_NAMES, stable=(3, 0, 0))
AT: Final = Gate("the modifier `@`", (2, 33, 0))
NEGATIVE_OFFSET: Final = Gate("a negative offset", (2, 33, 0))


class Operator(Struct, frozen=True):
    """A binary operator: how tightly it binds, and what kind it is."""

    text: str
    precedence: int
    right: bool = False
    comparison: bool = False
    of_sets: bool = False
    since: Gate | None = None


_PRECEDENCES: Final = (
    ("or",),
    ("and", "unless"),
    ("==", "!=", "<=", "<", ">=", ">", "</", ">/"),
    ("+", "-"),
    ("*", "/", "%", "atan2"),
    ("^",),
)
_SINCE: Final[dict[str, Version]] = {"atan2": (2, 31, 0), "</": (3, 11, 0), ">/": (3, 11, 0)}
OPERATORS: Final = {
    text: Operator(
        text,
        precedence,
        right=text == "^",
        comparison=text in ("==", "!=", "<=", "<", ">=", ">"),
        of_sets=text in ("and", "or", "unless"),
        since=Gate(f"the operator `{text}`", _SINCE[text]) if text in _SINCE else None,
    )
    for precedence, texts in enumerate(_PRECEDENCES, 1)
    for text in texts
}
# What may follow a sign: only what binds tighter than multiplication.
SIGN_PRECEDENCE: Final = OPERATORS["*"].precedence + 1
DURATION_OPERATORS: Final = frozenset("+-*/%^")


class Aggregator(Struct, frozen=True):
    """An aggregation; `parameter` is the type of what comes before the vector, if anything."""

    name: str
    parameter: str = ""
    gate: Gate | None = None


def _limit(name: str) -> Gate:
    return Gate(f"the aggregation `{name}`", (2, 54, 0), flag=EXPERIMENTAL_FUNCTIONS)


AGGREGATORS: Final = {
    one.name: one
    for one in (
        *map(Aggregator, ("sum", "avg", "count", "min", "max", "group", "stddev", "stdvar")),
        *(Aggregator(name, "scalar") for name in ("topk", "bottomk", "quantile")),
        *(Aggregator(name, "scalar", _limit(name)) for name in ("limitk", "limit_ratio")),
        Aggregator("count_values", "string"),
    )
}

_FILLS: Final = ("fill", "fill_left", "fill_right")
_EDGES: Final = ("start", "end")
_MATCHING: Final = ("bool", "on", "ignoring", "group_left", "group_right")
_WORDS: Final = (
    *("and", "or", "unless", "atan2"),
    *AGGREGATORS,
    *("offset", "by", "without", *EXTENDED),
    *(*_MATCHING, *_FILLS),
    *(*_EDGES, *DURATION_WORDS),
)
# Every word that the grammar knows, as the kind of its token; the case does not matter.
KEYWORDS: Final = {word: word for word in _WORDS} | {"inf": "number", "nan": "number"}
# These are keywords only before a parenthesis, so that older metrics may keep the name.
ONLY_BEFORE_PARENTHESIS: Final = frozenset(_FILLS)
# What may stand between an operator and its right operand.
MATCHING_KINDS: Final = frozenset((*_MATCHING, *_FILLS))
# Most keywords may also name a label after `by`, `on` and the like, or a metric.
LABEL_KINDS: Final = frozenset(_WORDS) - {"without"} | {"identifier", "metric"}
METRIC_KINDS: Final = frozenset(_WORDS) - {*_MATCHING, "atan2"} | {"identifier", "metric"}
# These are called like functions, where a parenthesis follows.
CALLABLE_KINDS: Final = frozenset((*_EDGES, *DURATION_WORDS, "identifier"))
