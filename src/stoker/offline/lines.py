"""The line of a fault: that of the field that a reason is about, or that of its object."""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

from stoker.offline.manifests import MAX_DOCUMENT, STDIN
from stoker.offline.world import Place
from stoker.yamltree import Places

# The field stands first, or behind the workload that complains.
_FIELD: Final = re.compile(r"(?:^|: )((?:spec|metadata)(?:\.[\w$-]+|\[\d+\])*)")


class Lines:
    """Finds lines; a document is read again for it, once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], Places | None] = {}

    def line(self, place: Place, reason: str) -> int:
        """The line of what a reason is about; that of the document where it is not known."""
        field = _FIELD.search(reason)
        path = ".".join(each for each in (place.path, field[1] if field else "") if each)
        found = self._places(place) if path else None
        return found.line(path) if found else place.line

    def _places(self, place: Place) -> Places | None:
        key = (place.source, place.line)
        if key not in self._known:
            text = _document(*key)
            self._known[key] = Places(text, place.line) if text else None
        return self._known[key]


def _document(source: str, first: int) -> str:
    """The document that begins on a line; empty where it cannot be read again."""
    try:
        if source == STDIN or not os.path.isfile(source):
            return ""
        with open(source, encoding="utf-8", errors="replace") as stream:
            text = "".join(_until_the_next(stream, first))
    except OSError:
        return ""
    return text if len(text) <= MAX_DOCUMENT else ""


def _until_the_next(lines: Iterable[str], first: int) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if number > first and line.startswith("---"):
            return
        if number >= first:
            yield line
