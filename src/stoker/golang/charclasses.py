r"""Sets of characters in Go's regular expressions: `[a-z]`, `[[:alpha:]]`, `\d`, `\p{Greek}`.

What is read is the syntax, and how many numbers the ranges of a set take at most: Go keeps a list
of them, and limits it. No set is ever made.
"""

import re
from typing import Final

from msgspec import Struct

from stoker.golang import Go
from stoker.golang.classnames import ALIASES, CATEGORIES, SCRIPTS

MAX_RUNE: Final = 0x10FFFF
# Between these are the characters that differ in case; Go looks at each one of them in a range.
_MIN_FOLD: Final = 0x41
_MAX_FOLD: Final = 0x1E943
# No set can gain more than this by letting case go: so many characters have others beside them.
_MOST_FOLDED: Final = 3000
# The named sets of ASCII are small, also with `ſ` and the Kelvin sign, which fold into it.
_SMALL_SET: Final = 12

_LOOSE_NAMES: Final = (1, 25)
_LOOSE_SCRIPTS: Final = (1, 27)
_SEPARATORS: Final = str.maketrans("", "", "_- ")

_ESCAPE: Final = re.compile(
    r"""(?xs) \\ (?:
      ([^A-Za-z0-9\x80-\U0010ffff]) | ([afnrtv]) | (0[0-7]{0,2}|[1-7][0-7]{1,2})
      | x ([0-9A-Fa-f]{2}) | x \{ ([0-9A-Fa-f]+) \} )"""
)
_CONTROLS: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_UNICODE: Final = re.compile(r"(?s)\\[pP](?:\{\^?([^}]*)\}|([^{]))")
_PERL: Final = "dDsSwW"
_POSIX: Final = frozenset(
    (
        *("alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print"),
        *("punct", "space", "upper", "word", "xdigit"),
    )
)
# The sets that people write: every range is in order, and every `-` is in a range or the last.
_COMMON: Final = re.compile(
    r"\[\^?+(?:a-z|A-Z|0-9|a-f|A-F|[a-zA-Z0-9_.:/ ](?!-))++-?\]",
)


class RefusedRegexError(Exception):
    """Go does not take the expression; the text says why."""


class CharacterSet(Struct, frozen=True):
    """Where a set `end`s in the text, how many numbers its ranges take, and what reading it costs.

    A set of one character is that character: its `only`.
    """

    end: int
    runes: int
    cost: int = 0
    only: str = ""


def escaped(text: str, start: int) -> tuple[int, int]:
    r"""The character that an escape such as `\n` or `\x{41}` stands for, and where it ends."""
    found = _ESCAPE.match(text, start)
    if not found:
        if start + 1 == len(text):
            raise RefusedRegexError("it ends with a backslash")
        if text[start + 1] == "C":
            raise RefusedRegexError("`\\C` matches bytes, which labels do not have")
        raise RefusedRegexError(f"there is no escape `{text[start : start + 2]}`")
    itself, control, octal, pair, digits = found.groups()
    if itself:
        return ord(itself), found.end()
    if control:
        return _CONTROLS[control], found.end()
    number = int(octal, 8) if octal else int(pair or digits, 16)
    if number > MAX_RUNE:
        raise RefusedRegexError("there is no such character as `\\x{…}` asks for")
    return number, found.end()


def named_class(text: str, start: int, go: Go, *, fold: bool) -> CharacterSet:
    r"""The set behind `\p{Greek}`, `\pN` or `\P{^Lu}`."""
    found = _UNICODE.match(text, start)
    if not found:
        raise RefusedRegexError("`\\p` needs the name of a class")
    name = found[2] or found[1]
    sizes = _sizes(name, go)
    if sizes is None:
        raise RefusedRegexError(f"there is no class `{found[0][:60]}`")
    # The numbers of what is not in it are two more at most.
    return CharacterSet(found.end(), sizes[fold] + 2)


def _sizes(name: str, go: Go) -> tuple[int, int] | None:
    """How many numbers the ranges of a class take, as it is and without case; None for no class."""
    if go < _LOOSE_NAMES:
        row = (9, 2, 2) if name == "Any" else CATEGORIES.get(name) or SCRIPTS.get(name)
        return row[1:] if row and row[0] <= go[1] else None
    loose = name.translate(_SEPARATORS)
    loose = loose[:1].upper() + loose[1:].lower() if name.isascii() else ""
    row = _SPECIAL.get(loose) or CATEGORIES.get(loose) or SCRIPTS.get(loose)
    row = row or CATEGORIES.get(_LOOSE_ALIASES.get(loose, ""))
    if row is None and go >= _LOOSE_SCRIPTS:
        row = SCRIPTS.get(_LOOSE_SCRIPT_NAMES.get(loose, ""))
    return row[1:] if row else None


def _loose(name: str) -> str:
    return name.translate(_SEPARATORS).capitalize()


_SPECIAL: Final = {
    "Any": (25, 2, 2),
    "Assigned": CATEGORIES["Cn"],
    "Ascii": (25, 2, 6),
    "Lc": CATEGORIES["LC"],
}
_LOOSE_ALIASES: Final = {_loose(name): category for name, category in ALIASES.items()}
_LOOSE_SCRIPT_NAMES: Final = {_loose(name): name for name in SCRIPTS}


def escaped_class(text: str, start: int, go: Go, *, fold: bool) -> CharacterSet | None:
    r"""The set behind an escape such as `\d` or `\pL`; None for an escape that is a character."""
    letter = text[start + 1 : start + 2]
    if letter and letter in _PERL:
        return CharacterSet(start + 2, _SMALL_SET)
    if letter and letter in "pP":
        return named_class(text, start, go, fold=fold)
    return None


def bracketed(text: str, start: int, go: Go, *, fold: bool) -> CharacterSet:
    """The set in brackets that begin at `start`."""
    common = _COMMON.match(text, start)
    if common:
        end = common.end()
        only = text[start + 1] if end - start == 3 and not fold else ""
        return CharacterSet(end, (end - start) * (8 if fold else 2), only=only)
    return _Brackets(text, start, go, fold=fold).read()


class _Brackets:
    """Reads a set in brackets, member by member."""

    def __init__(self, text: str, start: int, go: Go, *, fold: bool) -> None:
        self._text = text
        self._go = go
        self._fold = fold
        self._at = start + 1
        self._runes = 2
        self._cost = 0
        self._members = 0
        self._only = -1
        self._seen: set[str] = set()
        # Without another `:]`, no `[:` begins a name: that is found out once.
        self._no_names = False

    def read(self) -> CharacterSet:
        text = self._text
        negated = text.startswith("^", self._at)
        self._at += negated
        first = self._at
        while self._at == first or not text.startswith("]", self._at):
            if self._at >= len(text):
                raise RefusedRegexError("a `]` is missing")
            if not self._class():
                self._range()
            self._members += 1
        single = self._members == 1 and self._only >= 0 and not negated and not self._fold
        only = chr(self._only) if single else ""
        return CharacterSet(self._at + 1, self._runes, self._cost, only)

    def _class(self) -> bool:
        text, at = self._text, self._at
        if text.startswith("[:", at):
            return self._posix()
        if text[at] != "\\":
            return False
        found = escaped_class(text, at, self._go, fold=self._fold)
        if found is None:
            return False
        name = text[at : found.end]
        self._runes += 0 if name in self._seen else found.runes
        self._cost += found.runes
        self._seen.add(name)
        self._at = found.end
        return True

    def _posix(self) -> bool:
        end = -1 if self._no_names else self._text.find(":]", self._at + 2)
        if end < 0:
            self._no_names = True
            # Go looks for it each time, through all that follows.
            self._cost += (len(self._text) - self._at) // 500
            return False
        name = self._text[self._at + 2 : end].removeprefix("^")
        if name not in _POSIX:
            raise RefusedRegexError(f"there is no class `[:{name[:60]}:]`")
        self._runes += 0 if name in self._seen else _SMALL_SET
        self._seen.add(name)
        self._at = end + 2
        return True

    def _range(self) -> None:
        text = self._text
        low = high = self._character()
        if text.startswith("-", self._at) and text[self._at + 1 : self._at + 2] not in ("", "]"):
            self._at += 1
            high = self._character()
            if high < low:
                raise RefusedRegexError("a range in brackets ends before it begins")
        self._only = low if low == high else -1
        self._runes += 2
        if self._fold:
            looked_at = max(0, min(high, _MAX_FOLD) - max(low, _MIN_FOLD) + 1)
            self._runes += min(6 * looked_at, _MOST_FOLDED)
            self._cost += looked_at // 4

    def _character(self) -> int:
        text, at = self._text, self._at
        if at >= len(text):
            raise RefusedRegexError("a `]` is missing")
        if text[at] != "\\":
            self._at += 1
            return ord(text[at])
        number, self._at = escaped(text, at)
        return number
