"""Where a line stands in block YAML, found line by line and without reading values.

An operator's configuration is block YAML: indentation alone tells what a line belongs to. The
outline keeps, for the current line, the keys above it, `-` for an item of a list:

    scrape_configs:                       (scrape_configs)
    - job_name: shop                      (scrape_configs, -, job_name)
      relabel_configs:                    (scrape_configs, -, relabel_configs)
      - source_labels:                    (scrape_configs, -, relabel_configs, -, source_labels)

A text of several lines is indented deeper than its key, so whatever it contains stands below that
key in the outline: no text can pretend to stand elsewhere.
"""

from __future__ import annotations

from stoker.reloader.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

ITEM: Final = b"-"
_REMEMBERED: Final = 512  # most lines of a configuration are lines that it has elsewhere too
_SHORT: Final = 100


@record
class Line:
    """The keys that a line begins, with their levels, whether it begins an item, and its value."""

    keys: list[tuple[int, bytes]]
    item: bool
    value: bytes


class Outline:
    """Follows the lines of a document."""

    def __init__(self) -> None:
        self._stack: list[tuple[int, bytes]] = []
        self._known: dict[bytes, Line] = {}

    @property
    def path(self) -> tuple[bytes, ...]:
        """The keys that lead to the last line, outermost first."""
        return tuple(name for _, name in self._stack)

    def depth(self) -> int:
        """How many they are."""
        return len(self._stack)

    def follow(self, line: bytes) -> Line:
        """Take the next line, and return what stands on it."""
        known = self._known.get(line) or self._remember(line)
        stack = self._stack
        for key in known.keys:
            while stack and stack[-1][0] >= key[0]:
                stack.pop()
            stack.append(key)
        return known

    def _remember(self, line: bytes) -> Line:
        known = _read(line.rstrip(b"\r\n"))
        if len(line) <= _SHORT and len(self._known) < _REMEMBERED:
            self._known[line] = known
        return known


def _read(line: bytes) -> Line:
    rest = line.lstrip(b" ")
    if not rest or rest.startswith(b"#"):
        return Line([], False, b"")
    # An item stands half a step below a key with its indentation, for lists need not be indented:
    # `- a` belongs to the key above it in the same column.
    keys = []
    indent = len(line) - len(rest)
    while rest.startswith(b"- ") or rest == ITEM:
        keys.append((2 * indent + 1, ITEM))
        after = rest[1:].lstrip(b" ")
        indent += len(rest) - len(after)
        rest = after
    name, colon, value = rest.partition(b":")
    if colon:
        return Line([*keys, (2 * indent, name)], bool(keys), value.strip())
    return Line(keys, bool(keys), rest)
