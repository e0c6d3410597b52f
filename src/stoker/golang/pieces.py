"""The pieces of a regular expression, as numbers: no tree is kept.

A `Group` takes the pieces of its alternatives one after another, and is a piece itself in the end.
A piece that follows another may be joined to it, and alternatives that are single characters become
a set, as Go does it; so the heights are Go's own, except where alternatives begin alike.

Alternatives that begin alike make a tree higher: Go takes the common beginning out, and again from
what is left. For long expressions the beginnings of neighbours are therefore compared.
"""

from typing import Final

from msgspec import Struct

from stoker.golang.charclasses import RefusedRegexError

# What a piece is, where it matters for joining.
OTHER: Final = 0
LITERAL: Final = 1
FOLDED: Final = 2
SET: Final = 3
NOTHING: Final = 4
SEQUENCE: Final = 5
CHOICE: Final = 6

_MAX_REPETITIONS: Final = 1000
# In beginnings: a set, or a character whose case does not matter, each of which may equal anything.
# Longer beginnings than this are not looked at.
_WILD: Final = -1
_ANY_CASE: Final = -2
_LONGEST_BEGINNING: Final = 1100
_TOO_HIGH: Final = 10_000


class Beginning(Struct, frozen=True, gc=False):
    """What a piece begins with, as far as Go could take it out: characters, and sets.

    It is `whole` if the piece is nothing else. The alternatives of a choice have the `edges` of the
    first and of the last.
    """

    characters: list[int]
    whole: bool = False
    edges: "tuple[Beginning, Beginning] | None" = None


_NONE: Final = Beginning([])
_ONE_SET: Final = Beginning([_WILD], whole=True)


class Piece(Struct, frozen=True, gc=False):
    """A part of an expression.

    `size` is that of its program, `product` how often its innermost part is repeated, `height` that
    of its tree, `empty` whether it matches an empty text. `runes` are the numbers that Go keeps for
    a text or a set, `ranges` those of all sets within, each as often as it is repeated.
    """

    kind: int
    size: int = 1
    product: int = 1
    height: int = 1
    empty: bool = False
    runes: int = 0
    ranges: int = 0
    beginning: Beginning = _NONE


EMPTY: Final = Piece(NOTHING, empty=True)
ASSERTION: Final = Piece(OTHER, empty=True)
NEVER_EMPTY: Final = Piece(OTHER)
ANY: Final = Piece(SET, beginning=_ONE_SET)
_SINGLE: Final = (Piece(LITERAL, runes=1), Piece(FOLDED, runes=1))


def literal(text: str, *, tall: bool, fold: bool) -> Piece:
    """A text that stands for itself."""
    if not tall:
        length = len(text)
        return _SINGLE[fold] if length == 1 else Piece(1 + fold, length, runes=length)
    characters = [_ANY_CASE] * len(text) if fold else [*map(ord, text)]
    beginning = Beginning(characters[:_LONGEST_BEGINNING], whole=True)
    return Piece(1 + fold, len(text), runes=len(text), beginning=beginning)


def character_set(runes: int) -> Piece:
    """A set of characters."""
    return Piece(SET, runes=runes, ranges=runes, beginning=_ONE_SET)


def captured(piece: Piece) -> Piece:
    """A piece in a group that can be referred to."""
    height = piece.height + 1
    return Piece(OTHER, piece.size + 2, piece.product, height, piece.empty, ranges=piece.ranges)


def repeated(piece: Piece, operator: str, low: int, high: int) -> Piece:
    """A piece with `*`, `+`, `?`, or repeated from `low` to `high` times (-1 for no end)."""
    height = piece.height + 1
    if operator != "{":
        size = piece.size + (2 if operator == "*" else 1)
        empty = piece.empty or operator != "+"
        return Piece(OTHER, size, piece.product, height, empty, ranges=piece.ranges)
    times = low if high < 0 else high
    product = 1 if high == 0 else piece.product * max(times, 1)
    if max(low, high) >= 2 and product > _MAX_REPETITIONS:
        raise RefusedRegexError(f"more than {_MAX_REPETITIONS} repetitions")
    size = times * piece.size + (max(2 - low, 1) if high < 0 else high - low)
    single = piece.kind == SET or piece.runes == 1
    return Piece(
        OTHER,
        max(size + (piece.size if times == 0 and high < 0 else 0), 1),
        product,
        height,
        piece.empty or low == 0,
        ranges=piece.ranges * max(times, 1),
        beginning=_ONE_SET if single and low == high else _NONE,
    )


class Account(Struct):
    """The largest size of a node that Go has `freed` in an expression since it `began` to count.

    Go uses nodes again, and those that it makes of alternatives may be taken to have the size of
    what was there before.
    """

    began: bool = False
    freed: int = 0

    def free(self, size: int) -> None:
        """Note a node that may be used again."""
        if self.began and size > self.freed:
            self.freed = size


class Group:
    """The alternatives of a group, or of the whole expression.

    `top` is the piece that a repetition would repeat. With an `account`, sizes are those that Go
    may come to at worst. A group that is `tall` looks at beginnings.
    """

    __slots__ = (
        *("tall", "account", "top", "_nodes", "_last", "_size", "_product", "_height"),
        *("_empty", "_ranges", "_begins", "_open", "_choices"),
    )

    def __init__(self, *, tall: bool, account: Account | None = None) -> None:
        self.tall = tall
        self.account = account
        self._begin_branch()
        self._choices: list[Piece] = []

    def _begin_branch(self) -> None:
        self.top: Piece | None = None
        self._nodes = self._size = self._height = self._ranges = 0
        self._last = NOTHING
        self._product = 1
        self._empty = True
        self._begins: list[int] = []
        self._open = True

    def push(self, piece: Piece) -> None:
        """Add a piece to the alternative."""
        if self.top is not None:
            self._absorb(self.top)
        self.top = piece

    def _absorb(self, piece: Piece) -> None:
        kind, height = piece.kind, piece.height
        if kind == SEQUENCE:
            if self.account:
                self.account.free(piece.size)
            self._nodes += 2
            height -= 1
        # Texts side by side are one.
        elif kind != self._last or kind not in (LITERAL, FOLDED):
            self._nodes += 1
        self._last = kind
        self._size += piece.size
        self._ranges += piece.ranges
        self._empty = self._empty and piece.empty
        self._height = max(self._height, height)
        self._product = max(self._product, piece.product)
        if self.tall and self._open:
            room = _LONGEST_BEGINNING - len(self._begins)
            self._begins += piece.beginning.characters[:room]
            self._open = piece.beginning.whole

    def end_branch(self) -> int:
        """End an alternative; how many numbers of texts and sets Go counts once more for that."""
        piece = self._branch()
        self._begin_branch()
        choices = self._choices
        last = choices[-1] if choices else None
        if last is None:
            choices.append(piece)
        elif _is_set(last) and _is_set(piece):
            # A character may come with those that differ in case.
            runes = last.runes + piece.runes + 8
            choices[-1] = character_set(runes)
        elif piece.kind != NOTHING or last.kind != NOTHING:
            choices.append(piece)
        return piece.runes

    def _branch(self) -> Piece:
        top = self.top
        if top is None:
            return EMPTY
        if self._nodes == 0:
            return top
        self._absorb(top)
        texts = self._nodes == 1
        return Piece(
            top.kind if texts else SEQUENCE,
            self._size,
            self._product,
            self._height if texts else self._height + 1,
            self._empty,
            self._size if texts else 0,
            self._ranges,
            Beginning(self._begins, self._open) if self.tall else _NONE,
        )

    def end(self) -> Piece:
        """The group as one piece."""
        choices = self._choices
        if len(choices) == 1:
            return choices[0]
        size = len(choices) - 1
        height = ranges = 0
        product, empty = 1, False
        for piece in choices:
            size += piece.size
            ranges += piece.ranges
            empty = empty or piece.empty
            product = max(product, piece.product)
            height = max(height, piece.height - (piece.kind == CHOICE))
        beginning, higher, made = _compared(choices) if self.tall else (_NONE, 0, 0)
        if self.account:
            self.account.free(max(piece.size for piece in choices))
            size += made * self.account.freed
        return Piece(CHOICE, size, product, height + 1 + higher, empty, 0, ranges, beginning)


def _is_set(piece: Piece) -> bool:
    return piece.kind == SET or (piece.runes == 1 and piece.kind in (LITERAL, FOLDED))


def _compared(choices: list[Piece]) -> tuple[Beginning, int, int]:
    """What alternatives begin with, and what it means that they begin alike.

    That is how much higher they get, and how many nodes Go makes for it.
    """
    cuts: set[int] = set()
    texts: set[int] = set()
    sets = made = 0
    first, edge = _edges(choices[0].beginning)
    shortest = len(choices[0].beginning.characters)
    for piece in choices[1:]:
        following, last = _edges(piece.beginning)
        length, wild, text = _common(edge.characters, following.characters)
        cuts.add(length)
        sets = max(sets, wild)
        texts.add(length if text else 0)
        made += 2 * (wild + text) if length else 0
        edge = last
        shortest = min(shortest, len(piece.beginning.characters))
    # Texts are taken out up to where they differ, sets one by one: each is a node more, and what
    # follows is another where it differs.
    higher = len(cuts - {0}) + len(texts - {0}) + sets
    if max(cuts) >= _LONGEST_BEGINNING:
        higher = _TOO_HIGH
    # What is common to all may be taken out of the group, with a set that is left.
    wild = min(shortest + 1, _LONGEST_BEGINNING)
    return Beginning([_WILD] * wild, whole=True, edges=(first, edge)), higher, made


def _edges(beginning: Beginning) -> tuple[Beginning, Beginning]:
    return beginning.edges or (beginning, beginning)


def _common(left: list[int], right: list[int]) -> tuple[int, int, bool]:
    """How much two beginnings share, how often Go cuts within it, and whether it ends in a text."""
    length = cuts = before = 0
    for one, other in zip(left, right, strict=False):
        if one < 0 or other < 0:
            # Texts with and without case are two texts.
            kind = one if one == other else _WILD
            cuts += kind != before or kind == _WILD
        elif one != other:
            break
        else:
            kind = 0
            cuts += before == _ANY_CASE
        before = kind
        length += 1
    return length, cuts, before != _WILD
