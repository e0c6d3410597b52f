r"""Regular expressions as Go's `regexp.Compile` judges them, without compiling them.

One pass over the text, and for each piece of it a few numbers: the size of what Go would compile,
how often its innermost part is repeated, how high its tree is. Go refuses an expression where these
numbers are too large, and it simplifies while it parses: it joins what stands side by side and
takes common beginnings out of alternatives. Where that makes something smaller we count what was
written, and where it can make a tree higher, as much as it can: what we take, Go takes.
"""

import re
from typing import Final

from msgspec import Struct

from stoker.golang import NEWEST, Go
from stoker.golang.charclasses import (
    CharacterSet,
    RefusedRegexError,
    bracketed,
    escaped,
    escaped_class,
)
from stoker.golang.pieces import (
    ANY,
    ASSERTION,
    NEVER_EMPTY,
    Account,
    Group,
    Piece,
    captured,
    character_set,
    literal,
    repeated,
)
from stoker.remembered import remembered

# Go's own limits: of the instructions of a program, of the numbers in the ranges of all sets, and
# of the height of the tree. A tree that is too high has more than a thousand characters.
MAX_SIZE: Final = (128 << 20) // 40
MAX_RUNES: Final = (128 << 20) // 4
MAX_HEIGHT: Final = 1000
# Go makes fewer nodes than this for each token.
_NODES: Final = 5
# With fewer instructions than this, Go makes a second program, with copies of all ranges.
_ONE_PASS: Final = 1000
_NAMED_GROUPS: Final = (1, 22)
_MEMORY: Final = 4 << 20

_PLAIN: Final = re.compile(r"[^\\.+*?()|\[{^$]*+")
# A text ends before the character that a repetition may repeat, be there flags between them.
_TOKEN: Final = re.compile(
    r"""(?xs)
      ( [^\\.+*?()|\[{^$]+ (?! [*+?{] | \(\? | \\Q ) | [^\\.+*?()|\[{^$] )
    | ( [*+?]\?? | \{ (?:0|[1-9][0-9]*+) (?:,(?:0|[1-9][0-9]*+)?)? \}\?? )
    | ( \( (?!\?) ) | ( \) ) | ( \| ) | ( \. ) | ( \[ ) | ( [$^] | \\[AbBz] )
    | ( \\Q (?s:.*?) (?:\\E|\Z) ) | ( \\ ) | ( \(\? ) | ( \{ )
    """
)
_FLAGS: Final = re.compile(r"\(\?([imsU]*+)(?:-([imsU]++))?([:)])")
_NAME: Final = re.compile(r"\(\?(P?)<[A-Za-z0-9_]++>")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Regex(Struct, frozen=True):
    """What is known of an expression.

    `problem` says why Go refuses it. One without a problem has a `weight`: what compiling costs, in
    instructions or their like (about 40 bytes that stay, 200 that do not, a third of a
    microsecond). `matches_empty` tells whether it matches all of an empty text; `height` is that of
    its tree at most, and counted for long expressions only.
    """

    problem: str = ""
    matches_empty: bool = False
    weight: int = 0
    height: int = 0


@remembered(_MEMORY)
def parsed(pattern: str, go: Go = NEWEST) -> Regex:
    """What Go's `regexp.Compile` says of an expression, in that version of Go."""
    if not pattern.isascii() and _SURROGATE.search(pattern):
        return Regex("it is not valid UTF-8")
    if _PLAIN.fullmatch(pattern):
        return Regex(matches_empty=not pattern, weight=len(pattern) + 1)
    try:
        return _compiled(pattern, go)
    except RefusedRegexError as error:
        return Regex(str(error))


def _compiled(pattern: str, go: Go) -> Regex:
    reader = _Reader(pattern, go)
    whole = reader.read()
    size = _Reader(pattern, go, Account()).read().size if reader.counted else whole.size
    if max(size, whole.size, reader.largest) > MAX_SIZE or reader.runes > MAX_RUNES:
        raise RefusedRegexError("it is too large")
    if whole.height > MAX_HEIGHT:
        raise RefusedRegexError("it nests too deeply")
    copied = whole.ranges if whole.size < _ONE_PASS else 0
    weight = whole.size + (copied + reader.cost) // 4
    return Regex("", whole.empty, weight, whole.height)


def _counts(text: str) -> tuple[int, int]:
    """How often at least and at most a repetition repeats, -1 for no end; `*` has no numbers."""
    if text[0] != "{":
        return 0, 0
    low, comma, high = text.rstrip("?")[1:-1].partition(",")
    if len(low) > 4 or len(high) > 4:
        raise RefusedRegexError("more than 1000 repetitions")
    least = int(low)
    most = least if not comma else int(high) if high else -1
    if max(least, most) > 1000 or 0 <= most < least:
        raise RefusedRegexError(f"`{text}` is no number of repetitions")
    return least, most


class _Reader:
    """Reads an expression, and counts what does not belong to one piece of it.

    `runes` is how many numbers Go counts for sets and characters, `repetitions` the product of all
    counts, `largest` the size of the largest piece that was repeated, `cost` the work on sets.
    """

    def __init__(self, pattern: str, go: Go, account: Account | None = None) -> None:
        self.runes = self.cost = self.largest = self.tokens = 0
        self.repetitions = 1
        self._pattern = pattern
        self._go = go
        self._fold = False
        tall = account is not None or len(pattern) > MAX_HEIGHT
        self._account = account
        self._group = Group(tall=tall, account=account)
        self._open: list[tuple[Group, bool, bool]] = []

    def read(self) -> Piece:
        """The whole expression as one piece."""
        pattern, at, after_repetition = self._pattern, 0, False
        while at < len(pattern):
            self.tokens += 1
            found = _TOKEN.match(pattern, at)
            # The table below has a token for every character that is special, and one for the rest.
            kind = found.lastindex if found else 0
            if found is None or kind is None:
                raise RefusedRegexError("it cannot be read")
            if kind == _LITERAL:
                self._text(found[0])
                at, after_repetition = found.end(), False
            elif kind == _REPETITION:
                if after_repetition:
                    raise RefusedRegexError("a repetition is repeated")
                self._repeat(found[0])
                at, after_repetition = found.end(), True
            else:
                at, after_repetition = _READERS[kind](self, at, found.end()), False
        if self._open:
            raise RefusedRegexError("a `)` is missing")
        return self._closed()

    @property
    def counted(self) -> bool:
        """Whether Go may have begun to count sizes: it does so where they could be too large."""
        return self.tokens * _NODES * self.repetitions >= MAX_SIZE

    def _text(self, text: str) -> None:
        self.runes += len(text)
        self._group.push(literal(text, tall=self._group.tall, fold=self._fold))

    def _repeat(self, text: str) -> None:
        top = self._group.top
        if top is None:
            raise RefusedRegexError(f"there is nothing that `{text[:12]}` could repeat")
        low, high = _counts(text)
        self.largest = max(self.largest, top.size)
        self.repetitions = min(self.repetitions * max(high, low, 1), MAX_SIZE)
        self._group.top = repeated(top, text[0], low, high)
        if self._account:
            self._account.began = self._account.began or self.counted

    def _capture(self, _: int, end: int) -> int:
        self._begin(capturing=True)
        return end

    def _begin(self, *, capturing: bool) -> None:
        self._open.append((self._group, self._fold, capturing))
        self._group = Group(tall=self._group.tall, account=self._group.account)

    def _end(self, _: int, end: int) -> int:
        if not self._open:
            raise RefusedRegexError("there is a `)` without its `(`")
        piece = self._closed()
        self._group, self._fold, capturing = self._open.pop()
        self.runes += 0 if capturing else piece.runes
        self._group.push(captured(piece) if capturing else piece)
        return end

    def _closed(self) -> Piece:
        self.runes += self._group.end_branch()
        if self._account:
            self._account.began = self._account.began or self.counted
        piece = self._group.end()
        self.runes += piece.runes
        return piece

    def _bar(self, _: int, end: int) -> int:
        self.runes += self._group.end_branch()
        return end

    def _dot(self, _: int, end: int) -> int:
        self._group.push(ANY)
        return end

    def _assertion(self, start: int, end: int) -> int:
        # In an empty text there is no word, hence no place where one begins or ends.
        self._group.push(NEVER_EMPTY if self._pattern[start:end] == "\\b" else ASSERTION)
        return end

    def _brackets(self, start: int, _: int) -> int:
        return self._set(bracketed(self._pattern, start, self._go, fold=self._fold))

    def _set(self, found: CharacterSet) -> int:
        self.runes += found.runes
        self.cost += found.runes + found.cost
        if found.only:
            self._group.push(literal(found.only, tall=self._group.tall, fold=False))
        else:
            self._group.push(character_set(found.runes))
        return found.end

    def _quotation(self, start: int, end: int) -> int:
        text = self._pattern[start + 2 : end].removesuffix("\\E")
        # Only the last character can be repeated.
        for part in filter(None, (text[:-1], text[-1:])):
            self._text(part)
        return end

    def _escape(self, start: int, _: int) -> int:
        found = escaped_class(self._pattern, start, self._go, fold=self._fold)
        if found:
            return self._set(found)
        number, end = escaped(self._pattern, start)
        self._text(chr(number))
        return end

    def _special(self, start: int, _: int) -> int:
        flags = _FLAGS.match(self._pattern, start)
        if flags:
            if flags[3] == ":":
                self._begin(capturing=False)
            self._fold = (self._fold or "i" in flags[1]) and "i" not in (flags[2] or "")
            return flags.end()
        name = _NAME.match(self._pattern, start)
        if not name or (not name[1] and self._go < _NAMED_GROUPS):
            raise RefusedRegexError(f"there is no group `{self._pattern[start : start + 5]}…`")
        self._begin(capturing=True)
        return name.end()

    def _brace(self, _: int, end: int) -> int:
        self._text("{")
        return end


# The groups of the table of tokens, in its order.
_LITERAL: Final = 1
_REPETITION: Final = 2
_READERS: Final = {
    3: _Reader._capture,
    4: _Reader._end,
    5: _Reader._bar,
    6: _Reader._dot,
    7: _Reader._brackets,
    8: _Reader._assertion,
    9: _Reader._quotation,
    10: _Reader._escape,
    11: _Reader._special,
    12: _Reader._brace,
}
