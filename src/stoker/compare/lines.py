"""Two texts as a unified diff.

Only what lies between the first and the last difference is searched: a configuration may have a
million lines, of which a change concerns a few.
"""

import difflib
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

_CONTEXT: Final = 3
_LONGEST: Final = 80
_Step: TypeAlias = tuple[str, int, int, int, int]


class FileDiff(Struct, frozen=True):
    """How one text becomes another; `lines` are those of a unified diff after its two heads."""

    name: str
    lines: tuple[str, ...]


def file_diff(name: str, before: str | None, after: str | None) -> FileDiff | None:
    """The difference of two texts; None where there is none."""
    if (before or "") == (after or ""):
        return None
    lines = tuple(_hunks((before or "").splitlines(), (after or "").splitlines()))
    return FileDiff(name, lines)


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    grouping = difflib.SequenceMatcher[str]()
    grouping.opcodes = _steps(before, after)  # type: ignore[attr-defined]
    for group in grouping.get_grouped_opcodes(_CONTEXT):
        _, start, _, new_start, _ = group[0]
        _, _, end, _, new_end = group[-1]
        place = f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@"
        changed = next(first for kind, first, *_ in group if kind != "equal")
        yield f"{place} {_section(before, changed)}".rstrip()
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                yield from (f" {line}" for line in before[i1:i2])
                continue
            yield from (f"-{line}" for line in before[i1:i2])
            yield from (f"+{line}" for line in after[j1:j2])


def _steps(before: Sequence[str], after: Sequence[str]) -> list[_Step]:
    """How to come from one to the other, the same lines at both ends included."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    one, other = before[start : len(before) - end], after[start : len(after) - end]
    inside = difflib.SequenceMatcher(None, one, other).get_opcodes()
    between = [(kind, *(place + start for place in places)) for kind, *places in inside]
    first, last = ("equal", 0, start, 0, start), ("equal", *_ends(before, end), *_ends(after, end))
    return [first, *between, last]  # type: ignore[list-item]


def _ends(lines: Sequence[str], count: int) -> tuple[int, int]:
    return len(lines) - count, len(lines)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _range(start: int, end: int) -> str:
    """Lines as a unified diff counts them: from 1, and one line without its number."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _section(before: Sequence[str], start: int) -> str:
    """The line without indent above a change, such as the name of a job."""
    above = (before[place] for place in range(start - 1, -1, -1))
    return next((line[:_LONGEST] for line in above if line[:1].strip()), "")
