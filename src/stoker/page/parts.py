"""Parts of a configuration as answers: long texts, and those far down, are asked for alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.page.answers import NamedResource, Part
from stoker.ref import Ref
from stoker.view.configuration import Layout, OwnSection, PartOwner, title_at

_MOST_LINES: Final = 400
_MOST_TEXTS: Final = 50
_MOST_SEARCHED: Final = 3000


class PartSearch(Struct, frozen=True, kw_only=True):
    """Which parts are wanted: those with a text in them, from one on, so many."""

    q: str = ""
    offset: int = 0
    limit: int = 200


def part_of(layout: Layout, place: PartOwner, *, whole: bool = False) -> Part:
    """A part; unless it is wanted whole, without its text if that is long."""
    text = layout.text(place)
    lines = text.count("\n")
    return Part(
        title=title_at(place),
        resource=_named(place),
        lines=lines,
        text=text if whole or lines <= _MOST_LINES else None,
    )


def found_in(layout: Layout, q: str) -> Sequence[PartOwner]:
    """The parts in whose title or text something occurs, of all if it is empty."""
    if not q:
        return layout.places
    word, found = q.lower(), []
    for number, place in enumerate(layout.places):
        text = layout.text(place) if number < _MOST_SEARCHED else ""
        if word in title_at(place).lower() or word in text.lower():
            found.append(place)
    return found


def too_long(layout: Layout) -> str:
    """That not all texts were searched; empty if they were."""
    more = len(layout.places) - _MOST_SEARCHED
    return f"of the last {more:,} parts only the titles were searched" if more > 0 else ""


def parts_of(
    layout: Layout, places: Iterable[PartOwner], times: Mapping[Ref, str]
) -> Iterator[Part]:
    """Some of the parts, written one after the other; only the first have their text.

    `times` says when resources changed, of those that were seen to.
    """
    for number, place in enumerate(places):
        part = part_of(layout, place)
        if isinstance(place, Ref):
            part = replace(part, changed=times.get(place, ""))
        yield part if number < _MOST_TEXTS else replace(part, text=None)


def _named(place: PartOwner) -> NamedResource | None:
    if isinstance(place, OwnSection):
        return None
    return NamedResource(kind=place.kind, namespace=place.namespace, name=place.name)
