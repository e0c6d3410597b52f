"""How everything is, on a terminal: the sentence, then what is not well in each namespace."""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec

from stoker.cli.options import TEXT
from stoker.cli.terminal import Line, print_coloured
from stoker.cli.values import print_value
from stoker.page.health import MISSPELT, UNUSABLE, Health, Space, Trouble
from stoker.page.wellness import GOOD, PROBLEM
from stoker.view.states import State
from stoker.view.wording import counted

SCHEMA: Final = "stoker/status/v1"
_BOLD, _RED, _GREEN, _YELLOW, _GREY = 1, 31, 32, 33, 90
_COLOURS: Final[dict[str, int]] = {
    UNUSABLE: _RED,
    PROBLEM: _RED,
    State.REJECTED: _RED,
    State.DOWN: _RED,
    State.NO_TARGETS: _YELLOW,
    MISSPELT: _YELLOW,
}
_CLEAR: Final = "\033[H\033[2J"
# More of one state and reason than these share a line.
_ALIKE: Final = 5
_NAMED: Final = 3
_WIDTH: Final = max(map(len, (UNUSABLE, PROBLEM, *(each.value for each in State))))


def printed(found: Health, form: str, *, again: bool = False) -> None:
    """Print it; `again`, on a terminal in the place of what was printed before."""
    if form != TEXT:
        print_value(SCHEMA, msgspec.to_builtins(found), form)
        sys.stdout.flush()
        return
    if again:
        print(_CLEAR if sys.stdout.isatty() else "", end="" if sys.stdout.isatty() else "\n")
    print_coloured(lines(found))
    sys.stdout.flush()


def lines(found: Health) -> Iterator[Line]:
    """All lines, each with its colour."""
    yield found.headline, {GOOD: _GREEN, PROBLEM: _RED}.get(found.state, _YELLOW)
    for space in found.namespaces:
        yield "", 0
        yield _title(space), _BOLD
        for (state, reason), same in groupby(
            space.troubles, lambda each: (each.state, each.reason)
        ):
            yield from _told(state, reason, list(same))
    if found.unseen:
        yield "", 0
        yield "Not seen", _BOLD
        yield from ((f"  {each}", _YELLOW) for each in found.unseen)


def _title(space: Space) -> str:
    every = space.resources.total
    if not space.namespace:
        return "In no namespace"
    bad = every - space.resources.used
    told = f" ({bad:,} of {counted(every, 'resource')} not well)" if bad else ""
    return space.namespace + told


def _told(state: str, reason: str, same: Sequence[Trouble]) -> Iterator[Line]:
    colour = _COLOURS.get(state, _GREY)
    shown = same if len(same) <= _ALIKE else same[:_NAMED]
    for each in shown:
        name = " ".join(part for part in (each.kind, each.name) if part)
        place = f"  {each.place}" if each.place else ""
        yield f"  {state:{_WIDTH}}  {name}{place}", colour
    if len(same) > len(shown):
        yield f"  {'':{_WIDTH}}  and {len(same) - len(shown):,} more", colour
    yield f"  {'':{_WIDTH}}  {reason}", 0
