"""How everything is, in one word and one sentence: the page and `stoker status` say the same."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from stoker.page.answers import Row, Totals
from stoker.view.states import NOT_WELL, in_numbers
from stoker.view.wording import counted

GOOD: Final = "good"
PROBLEM: Final = "problem"
UNKNOWN: Final = "unknown"


class Mistakes(Struct, frozen=True):
    """How many objects cannot be used as they are written, and have fields that do not exist."""

    unusable: int = 0
    misspelt: int = 0


def wellness_of(
    rows: Sequence[Row],
    totals: Totals,
    mistakes: Mistakes,
    *,
    inside: str = "",
    all_seen: bool = True,
) -> tuple[str, str]:
    """Whether all is well (good, problem or unknown), and everything in a sentence.

    `inside` is the namespace of all this, where it is one. Without `all_seen` there may be
    workloads that whoever asks is not allowed to see.
    """
    first = [] if inside and not rows else [_workloads(rows, all_seen=all_seen)]
    parts = [*first, *_resources(totals)]
    if mistakes.unusable:
        parts.append(f"{counted(mistakes.unusable, 'object')} cannot be used")
    if mistakes.misspelt:
        have = "has" if mistakes.misspelt == 1 else "have"
        parts.append(f"{counted(mistakes.misspelt, 'object')} {have} fields that do not exist")
    told = "; ".join(parts) or f"There is nothing in namespace {inside}"
    return _state(rows, totals, mistakes), told[:1].upper() + told[1:]


def _state(rows: Sequence[Row], totals: Totals, mistakes: Mistakes) -> str:
    doubtful, nothing = totals.unclear, not rows and not totals.total
    wrong = mistakes.unusable + mistakes.misspelt
    if wrong or totals.total - totals.used - doubtful or _number(rows, PROBLEM):
        return PROBLEM
    return UNKNOWN if doubtful or _number(rows, UNKNOWN) or nothing else GOOD


def _number(rows: Sequence[Row], state: str) -> int:
    return sum(1 for each in rows if each.state == state)


def _workloads(rows: Sequence[Row], *, all_seen: bool) -> str:
    every, bad = len(rows), len(rows) - _number(rows, GOOD)
    if not every:
        return "There is no workload yet" if all_seen else "There is no workload that you may see"
    if bad:
        number = "1 workload" if bad == 1 else f"{bad:,} workloads"
        return f"{number} of {every:,} {'needs' if bad == 1 else 'need'} a look"
    return "The one workload is well" if every == 1 else f"All {every:,} workloads are well"


def _resources(totals: Totals) -> Iterator[str]:
    told = in_numbers({each: getattr(totals, each.name.lower()) for each in NOT_WELL})
    if told:
        yield f"of {counted(totals.total, 'resource')} {told}"
    elif totals.total:
        yield f"{counted(totals.total, 'resource')} {'is' if totals.total == 1 else 'are'} used"
