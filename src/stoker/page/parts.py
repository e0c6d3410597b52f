"""Parts of a configuration as answers: long texts, and those far down, are asked for alone."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from stoker.page.answers import Named, Part
from stoker.view.configuration import Layout, Place, Section, title_at

_MOST_LINES: Final = 400
_MOST_TEXTS: Final = 50


def part_of(layout: Layout, place: Place, *, whole: bool = False) -> Part:
    """A part; unless it is wanted whole, without its text if that is long."""
    text = layout.text(place)
    lines = text.count("\n")
    return Part(
        title=title_at(place),
        resource=_named(place),
        lines=lines,
        text=text if whole or lines <= _MOST_LINES else None,
    )


def parts_of(layout: Layout, offset: int, limit: int) -> Iterator[Part]:
    """Some of the parts, written one after the other; only the first have their text."""
    for number, place in enumerate(layout.places[offset : offset + limit]):
        part = part_of(layout, place)
        yield part if number < _MOST_TEXTS else replace(part, text=None)


def _named(place: Place) -> Named | None:
    if isinstance(place, Section):
        return None
    return Named(kind=place.kind, namespace=place.namespace, name=place.name)
