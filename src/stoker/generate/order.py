"""The order in which the peer writes the members of a mapping that a user gave.

Objects of the Kubernetes API have no order, so one must be chosen for the text to be reproducible.
The peer's is that of its YAML library: letters come after all else, and numbers inside a name
compare as numbers (`param2` before `param10`).
"""

import re
from collections.abc import Mapping
from functools import cmp_to_key
from typing import Final, TypeVar

Value = TypeVar("Value")


def in_order(members: Mapping[str, Value]) -> dict[str, Value]:
    """The same members, ordered by their names."""
    if len(members) < 2:
        return dict(members)
    # Of small letters alone, and `_`, the order is that of the characters.
    by_name = None if _SMALL.fullmatch("".join(members)) else _by_name
    return {name: members[name] for name in sorted(members, key=by_name)}


_SMALL: Final = re.compile(r"[a-z_]*+")


def _compared(one: str, other: str) -> int:
    """Negative where the first name comes first; decided by where the two begin to differ."""
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    else:
        return len(one) - len(other)
    left, right = one[shared], other[shared]
    if left.isalpha() or right.isalpha():
        both = left.isalpha() and right.isalpha()
        return ord(left) - ord(right) if both else left.isalpha() - right.isalpha()
    start = _number_start(one, shared) if "0" in (left, right) else shared
    ends = _digits_end(one, shared), _digits_end(other, shared)
    numbers = one[start : ends[0]].lstrip("0"), other[start : ends[1]].lstrip("0")
    if numbers[0] != numbers[1]:
        # Longer is larger, without making numbers of digits that may be endless.
        return -1 if (len(numbers[0]), numbers[0]) < (len(numbers[1]), numbers[1]) else 1
    return ends[0] - ends[1] or ord(left) - ord(right)


_by_name = cmp_to_key(_compared)


def _digits_end(text: str, start: int) -> int:
    end = start
    while end < len(text) and text[end] in "0123456789":
        end += 1
    return end


def _number_start(text: str, end: int) -> int:
    start = end
    while start and text[start - 1] in "0123456789":
        start -= 1
    return start
