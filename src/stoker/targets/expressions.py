"""The expressions of relabeling, as Prometheus matches them, in time that no tenant can stretch.

Prometheus puts an expression between `^(?s:` and `)$` and has Go compile it. Most are one of three
forms that need no matching at all. The others are first judged as Go's parser does it and then run
in RE2, whose time is proportional to the length of the text times the size of the program: both are
bounded here, and what is too much is reported, not run.
"""

from collections.abc import Mapping
from typing import Final

import re2
from msgspec import Struct

from stoker.golang.regex import parsed
from stoker.targets.discovery import CannotTellError

DEFAULT: Final = "(.*)"
_SOMETHING: Final = "(.+)"
_MOST_WEIGHT: Final = 20_000
"""Instructions of Go's program, or their like: Prometheus' own limit is a thousand times more."""
_MOST_WORK: Final = 20_000_000
"""Weight times characters of one text; a tenth of a second where RE2 is at its slowest."""
_MEMORY: Final = 1 << 20
# Candidates share most names of labels, and many values.
_MOST_SEEN: Final = 512
_SHORT: Final = 128
_META: Final = frozenset("\\.+*?()|[]{}^$")


def _options() -> "re2.Options":
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    return options


class Match(Struct, frozen=True):
    """What the groups of an expression matched, by number; None where one took no part."""

    groups: tuple[str | None, ...]
    names: Mapping[str, int] = {}

    def group(self, name: str) -> str:
        """The text of a group by number or name; empty where there is none."""
        number = _number(name)
        if number is None:
            number = self.names.get(name, -1)
        return (self.groups[number] or "") if 0 <= number < len(self.groups) else ""


def _number(name: str) -> int | None:
    """A name as the number of a group; None where it is a name, -1 for what can be no number."""
    if not (name.isascii() and name.isdigit()):
        return None
    return int(name) if len(name) < 9 and (name == "0" or name[0] != "0") else -1


class Expression:
    """One expression; CannotTellError where it is too large to be run here, or not Go's.

    `weight` is what it costs to match one character, at most; nothing where none is matched.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._literal = not _META.intersection(text)
        self._plain = self._literal or text in (DEFAULT, _SOMETHING)
        self.weight = 0
        if not self._plain:
            self._compile(text)

    def _compile(self, text: str) -> None:
        # An expression that closes the parentheses around it is one to Prometheus, too.
        for pattern in (text, whole := f"^(?s:{text})$"):
            read = parsed(pattern)
            if read.problem:
                raise CannotTellError(f"`{text[:80]}`: {read.problem}")
        self.weight = read.weight
        if self.weight > _MOST_WEIGHT:
            raise CannotTellError(f"the expression `{text[:40]}…` is too large to be tried here")
        try:
            self._program = re2.compile(whole, _options())
        except re2.error:
            raise CannotTellError(f"`{text[:80]}` is an expression that only Go reads") from None
        self._names = self._program.groupindex
        self._seen: dict[str, Match | None] = {}

    def match(self, text: str) -> Match | None:
        """What the groups matched; None where the whole text does not match."""
        if self._plain:
            return self._without_program(text)
        if text in self._seen:
            return self._seen[text]
        self._check(text)
        found = self._program.search(text)
        match = Match((found.group(), *found.groups()), self._names) if found else None
        if len(text) <= _SHORT:
            if len(self._seen) >= _MOST_SEEN:
                self._seen.clear()
            self._seen[text] = match
        return match

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        return self.match(text) is not None

    def _without_program(self, text: str) -> Match | None:
        if self._literal:
            return Match((text,)) if text == self.text else None
        return Match((text, text)) if text or self.text == DEFAULT else None

    def _check(self, text: str) -> None:
        if self.weight * len(text) > _MOST_WORK:
            raise CannotTellError(
                f"`{self.text[:40]}` on a text of {len(text)} characters is too much to be tried"
            )


# --- Templates ------------------------------------------------------------------------------------


class Template:
    """A replacement: texts, and the groups that stand between them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.varies = "$" in text
        self._pieces = list(_pieces(text)) if self.varies else [(text, "")]

    def filled(self, match: Match) -> str:
        """The text with what the groups matched."""
        if not self.varies:
            return self.text
        return "".join(
            literal + (match.group(name) if name else "") for literal, name in self._pieces
        )


def _pieces(text: str) -> list[tuple[str, str]]:
    """Texts with the name of the group that follows each; as Go reads them."""
    pieces: list[tuple[str, str]] = []
    rest, literal = text, ""
    while True:
        before, dollar, rest = rest.partition("$")
        literal += before
        if not dollar:
            return [*pieces, (literal, "")]
        if rest.startswith("$"):
            literal, rest = literal + "$", rest[1:]
            continue
        name, after = _reference(rest)
        if not name:
            # What is no reference is text.
            literal += "$"
            continue
        pieces.append((literal, name))
        literal, rest = "", after


def _reference(text: str) -> tuple[str, str]:
    """The name that a text begins with, in braces or not, and what follows; empty for none."""
    braced = text.startswith("{")
    start = end = 1 if braced else 0
    while end < len(text) and (text[end] == "_" or text[end].isalpha() or text[end].isdecimal()):
        end += 1
    name, rest = text[start:end], text[end:]
    if not braced:
        return name, rest
    return (name, rest[1:]) if rest.startswith("}") else ("", text)
