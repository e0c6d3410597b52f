r"""What a regular expression costs whoever reads it, told from its text alone.

An expression of ten letters can ask for a thousand copies of a class of thousands of characters.
`pattern_weight` counts roughly the steps that its program has: characters, those in a repetition as
often as they are repeated. It reads the text once, and is right about what is large; what is no
expression at all has a weight too.
"""

import re
from typing import Final

_PART: Final = re.compile(
    r"""(?xs)
      (?P<class> \\[pP] (?: \{[^}]*+\} | . )?+ | \[\^ \]?+ (?: \\. | [^\]\\] )*+ \]?+ )
    | (?P<some> \[ \]?+ (?: \\. | [^\]\\] )*+ \]?+ )
    | (?P<text> \\Q .*? (?: \\E | \Z ) )
    | (?P<times> \{ [0-9]++ (?: , [0-9]*+ )?+ \} )
    | (?P<open> \( ) | (?P<close> \) ) | \\. | .
    """
)
_NUMBERS: Final = re.compile(r"[0-9]+")
_CLASS: Final = 60
_MOST_DIGITS: Final = 6
_MOST: Final = 10**12


def pattern_weight(pattern: str) -> int:
    """Roughly the steps of an expression's program."""
    # Of each group that is open: what it weighs up to here, and its last part alone.
    groups = [[0, 0]]
    for part in _PART.finditer(pattern):
        kind = part.lastgroup
        top = groups[-1]
        if kind == "open":
            groups.append([0, 0])
        elif kind == "times":
            top[0], top[1] = _repeated(top, part[0])
        elif kind == "close" and len(groups) > 1:
            inner = sum(groups.pop())
            groups[-1] = [sum(groups[-1]), inner + 1]
        else:
            top[0] += top[1]
            top[1] = _weight(part[0], kind)
    return min(sum(map(sum, groups)), _MOST)


def _weight(part: str, kind: str | None) -> int:
    if kind == "class":
        return _CLASS
    named = part.count("\\p") + part.count("\\P") if kind == "some" else 0
    return len(part) + _CLASS * named


def _repeated(top: list[int], times: str) -> tuple[int, int]:
    counts = [int(found[:_MOST_DIGITS]) for found in _NUMBERS.findall(times)]
    return top[0], min(top[1] * max(counts), _MOST)
