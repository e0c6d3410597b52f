"""Text to tokens.

There are two ways to read a text. `phrases` takes what people write as large as it comes: a
selector with its matchers and its range, a name with the parenthesis of its call, an aggregation
with its labels are one token each, if nothing in them is unusual. `tokens` takes each sign for
itself. What is made of phrases is what would be made of tokens, and where something is wrong, it is
the tokens that tell where.

Every pattern is possessive (`++`, `*+`): it never goes back, so that time is proportional to the
text. What begins no token is an `error`, which says why, and the end is an `eof`; either is last.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec import Struct

from stoker.promql.syntax import AGGREGATORS, DURATION_WORDS, KEYWORDS, ONLY_BEFORE_PARENTHESIS


class Token(Struct, frozen=True, gc=False):
    """A word of an expression. The kind of keywords and operators is their own text.

    A token that is a whole `phrase` has the match, with the groups below.
    """

    kind: str
    text: str
    start: int
    end: int
    problem: str = ""
    phrase: re.Match[str] | None = None


_SPACE: Final = r"[ \t\r\n]*+"
_WORD: Final = r"[A-Za-z_:][A-Za-z0-9_:]*+"
_LABEL: Final = r"[A-Za-z_][A-Za-z0-9_]*+"
_STRING: Final = r""""(?:[^"\\\n]++|\\[^\n])*+"|'(?:[^'\\\n]++|\\[^\n])*+'|`[^`]*+`"""
_SIGN: Final = r"==|!=|<=|</|>=|>/|=(?!~)|[-+*/%^@<>(),}\]]"
_TOKEN: Final = re.compile(rf"{_SPACE}(?:({_WORD})|({_SIGN})|({_STRING}))")
_OPENS: Final = re.compile(rf"{_SPACE}\(")


def tokens(text: str) -> list[Token]:
    """All tokens of a text, with `eof` or the first `error` at the end."""
    found: list[Token] = []
    scanner = _Scanner(text, found)
    place = 0
    while place >= 0:
        hit = _TOKEN.match(text, place)
        if hit is None:
            place = scanner.read(place)
            continue
        word, sign, string = hit.groups()
        place = hit.end()
        kind = _word_kind(text, word, place) if word else sign or "string"
        piece = word or sign or string
        found.append(Token(kind, piece, place - len(piece), place))
    return found


def _word_kind(text: str, word: str, end: int) -> str:
    kind = KEYWORDS.get(word.lower())
    if kind is None or (kind in ONLY_BEFORE_PARENTHESIS and not _OPENS.match(text, end)):
        return "metric" if ":" in word else "identifier"
    return kind


# --- Phrases --------------------------------------------------------------------------------------

SELECTOR: Final = "a selector"
CALL: Final = "a call"
AGGREGATION: Final = "an aggregation"
SUBQUERY: Final = "a subquery"

_COMPARED: Final = (
    rf"({_LABEL}){_SPACE}(=~|!~|!=|=){_SPACE}({_STRING}){_SPACE}(?:,{_SPACE}|(?=\}}))"
)
_MATCHERS: Final = rf"\{{{_SPACE}(?:{_COMPARED.replace('(', '(?:').replace('(?:?', '(?')})*+\}}"
_LENGTH: Final = r"[1-9][0-9]{0,3}+[smhd]"  # none is so long or so short that it is refused
_RANGE: Final = rf"\[{_LENGTH}\]"
_LABELS: Final = rf"\({_SPACE}(?:{_LABEL}{_SPACE}(?:,{_SPACE}|(?=\))))*+\)"
_PHRASE: Final = re.compile(
    rf"""(?x) {_SPACE} (?:
      (?: (on|ignoring|group_left|group_right) {_SPACE} ({_LABELS}) )
    | ({_WORD} | (?=\{{)) (?:
        {_SPACE} (?: \( () | (by|without) {_SPACE} ({_LABELS}) {_SPACE} \( () )
      | (?:{_SPACE}({_MATCHERS}))?+ (?:{_SPACE}({_RANGE}))?+
      )
    | ({_SIGN})
    | ([0-9]++ (?:\.[0-9]++)?+ (?:[eE][+-]?+[0-9]++)?+ (?![A-Za-z0-9_.]))
    | ([0-9]++[smhdwy] (?![A-Za-z0-9_]))
    | ({_STRING})
    | (\[{_LENGTH}:(?:{_LENGTH})?+\])
    | (\Z)
    )"""
)
# The groups of the pattern; the last one that matched tells what was found.
_MATCHING, _ITS_LABELS = 1, 2
_NAMED, _CALLED, _BY, _BY_LABELS, _GROUPED, _BRACES, _BRACKETS, _SIGNS = range(3, 11)
_OTHERS: Final = {11: "number", 12: "duration", 13: "string", 14: SUBQUERY, 15: "eof"}
_MATCHER: Final = re.compile(_COMPARED)
_NAME: Final = re.compile(_LABEL)


def phrases(text: str) -> list[Token]:
    """The tokens of a text, as large as they come, with `eof` or the first `error` at the end."""
    found: list[Token] = []
    add, match = found.append, _PHRASE.match
    scanner: _Scanner | None = None
    kind, place = "", 0
    while kind != "eof" and place >= 0:
        hit = match(text, place)
        token = _phrase(text, hit) if hit else None
        if token is None:
            scanner = scanner or _Scanner(text, found)
            place = scanner.read(place)
        else:
            add(token)
            kind, place = token.kind, token.end
    return found


def _phrase(text: str, hit: re.Match[str]) -> Token | None:
    """The token that was found; nothing where braces begin that are not plain."""
    group, end = hit.lastindex or 0, hit.end()
    if group == _SIGNS:
        sign = hit[group]
        return Token(sign, sign, end - len(sign), end)
    if group > _SIGNS:
        return Token(_OTHERS[group], hit[group], hit.start(group), end)
    if group > _ITS_LABELS:
        return _worded(text, hit, group, end)
    return Token(hit[_MATCHING], hit[_MATCHING], hit.start(_MATCHING), end, "", hit)


def _worded(text: str, hit: re.Match[str], group: int, end: int) -> Token | None:
    word, start = hit[_NAMED], hit.start(_NAMED)
    kind = KEYWORDS.get(word.lower())
    if kind is None:
        if group > _GROUPED:
            return Token(SELECTOR, word, start, end, "", hit)
        if group == _CALLED and ":" not in word:
            return Token(CALL, word, start, end)
    elif kind in AGGREGATORS and group in (_CALLED, _GROUPED):
        return Token(AGGREGATION, kind, start, end, "", hit)
    # The word alone: it cannot be one with what follows.
    end = start + len(word)
    return Token(_word_kind(text, word, end), word, start, end) if word else None


def phrase_of(token: Token) -> re.Match[str]:
    """The match of a token that is a phrase."""
    if token.phrase is None:
        raise ValueError(f"no phrase: {token.kind}")
    return token.phrase


class Selected(NamedTuple):
    """The parts of a selector that is a phrase; `end` is where it ends without its range."""

    matchers: list[tuple[str, str, str]]
    range: str
    end: int
    plain: bool


def selected(phrase: re.Match[str]) -> Selected:
    """The parts of a selector; `plain` where its texts stand for themselves."""
    matchers, length = phrase.group(_BRACES, _BRACKETS)
    if not matchers:
        return Selected([], length, phrase.end(_NAMED), True)
    plain = matchers.isascii() and "\\" not in matchers
    return Selected(_MATCHER.findall(matchers), length or "", phrase.end(_BRACES), plain)


def matched(phrase: re.Match[str]) -> list[str]:
    """The labels behind `on` and its like."""
    return _NAME.findall(phrase[_ITS_LABELS])


def grouped(phrase: re.Match[str]) -> tuple[str, list[str]]:
    """How an aggregation groups, if it says that before its parenthesis, and by which labels."""
    grouping, names = phrase.group(_BY, _BY_LABELS)
    return (grouping, _NAME.findall(names)) if grouping else ("", [])


# --- What is not plain ----------------------------------------------------------------------------

_COMMENT: Final = r"(?P<comment>\#[^\r\n]*+)"
_AMOUNT: Final = r"(?P<amount>\.?[0-9])"
_QUOTES: Final = "\"'`"
_QUOTE: Final = rf"(?P<quote>[{_QUOTES}])"
_OUTSIDE: Final = re.compile(rf"{_SPACE}(?:{_AMOUNT}|{_QUOTE}|{_COMMENT}|(?P<sign>[{{\[]))")
_IN_BRACES: Final = re.compile(
    rf"{_SPACE}(?:(?P<name>{_LABEL})|{_QUOTE}|(?P<sign>=~|!~|!=|=|,|\}})|{_COMMENT})"
)
_IN_BRACKETS: Final = re.compile(
    rf"{_SPACE}(?:{_AMOUNT}|(?P<period>[A-Za-z_]++)|(?P<sign>[-+*/%^(),:\]])|{_COMMENT})"
)
_PATTERNS: Final = {"{": _IN_BRACES, "}": _OUTSIDE, "[": _IN_BRACKETS, "]": _OUTSIDE}

_DIGITS: Final = r"[0-9]++(?:_[0-9]++)*+"
_DECIMAL: Final = rf"(?:{_DIGITS}(?:\.(?:{_DIGITS})?+)?+|\.{_DIGITS})(?:[eE][+-]?+{_DIGITS})?+"
# An `e` right after the first digit is taken for an exponent, and what follows it must go on.
_HEXADECIMAL: Final = (
    r"0[xX]_?+[0-9a-fA-F](?:[eE](?=[^._eE+\-])|(?![eE]))[0-9a-fA-F]*+(?:_(?![eE])[0-9a-fA-F]++)*+"
)
_NUMBER: Final = re.compile(rf"(?:{_HEXADECIMAL}|{_DECIMAL})(?![A-Za-z0-9_.])")
_DURATION: Final = re.compile(r"(?:[0-9]++(?:ms|[smhdwy]))++(?![A-Za-z0-9_])")
# What a duration with unknown units looks like, so that they can be named.
_UNITS: Final = re.compile(r"(?:[0-9]++[a-z]++)++(?![A-Za-z0-9_.])")
_AMOUNTS: Final = (("number", _NUMBER), ("duration", _DURATION), ("duration", _UNITS))
_NO_AMOUNT: Final = re.compile(r"[A-Za-z0-9_.]++")
_BLANK: Final = re.compile(_SPACE)
_CLOSED: Final = re.compile(_STRING)
_OPEN_STRING: Final = re.compile(r"[^\n]++")


class _Scanner:
    """Reads what is not plain, sign by sign; adds the tokens to those that were `found`."""

    def __init__(self, text: str, found: list[Token]) -> None:
        self._text = text
        self._found = found
        self._position = 0
        self._pattern = _OUTSIDE
        # Whether an amount was seen in these brackets, and in any.
        self._begun = False
        self._ever_begun = False

    def read(self, place: int) -> int:
        """Read on from here, to the end of braces or brackets; where that is, or -1 at the end."""
        self._position = place
        while found := self._pattern.match(self._text, self._position):
            group = found.lastgroup or ""
            self._position = found.start(group)
            token = _READERS[group](self, found[group])
            if token is not None:
                self._found.append(token)
                self._position = -1 if token.problem else token.end
            if self._pattern is _OUTSIDE or self._position < 0:
                return self._position
        self._position = _end(_BLANK, self._text, self._position)
        at_end = self._position == len(self._text)
        self._found.append(self._token("eof", "") if at_end else self._failed(self._stranger(), 1))
        return -1

    def _token(self, kind: str, text: str) -> Token:
        return Token(kind, text, self._position, self._position + len(text))

    def _failed(self, problem: str, width: int | None = None) -> Token:
        """What cannot be read: so many characters, or as many as seem to belong together."""
        start = self._position
        pattern = _OPEN_STRING if self._text[start] in _QUOTES else _NO_AMOUNT
        end = _end(pattern, self._text, start) if width is None else start + width
        return Token("error", self._text[start:end], start, end, problem)

    def _stranger(self) -> str:
        where = {_IN_BRACES: " in braces", _IN_BRACKETS: " in brackets"}.get(self._pattern, "")
        if self._text.startswith("=~", self._position):
            return "`=~` compares labels: it belongs in braces"
        return f"no token begins with `{self._text[self._position]}`{where}"

    def _comment(self, text: str) -> Token | None:
        if self._pattern is _IN_BRACKETS and not self._begun:
            return self._failed("no comment may stand between `[` and the first amount", 1)
        self._position += len(text)
        return None

    def _name(self, text: str) -> Token:
        return self._token("identifier", text)

    def _period(self, text: str) -> Token:
        kind = text.lower()
        if kind not in DURATION_WORDS:
            return self._failed("this is no duration")
        return self._token(kind, text)

    def _sign(self, text: str) -> Token:
        if text == ":" and not self._ever_begun:
            return self._failed("`:` must come after an amount of time", 1)
        if text in _PATTERNS:
            self._pattern = _PATTERNS[text]
            self._begun = False
        return self._token(text, text)

    def _amount(self, text: str) -> Token:
        for kind, pattern in _AMOUNTS:
            found = pattern.match(self._text, self._position)
            if found:
                self._begun = self._pattern is _IN_BRACKETS
                self._ever_begun = self._ever_begun or self._begun
                return self._token(kind, found[0])
        return self._failed("this is neither a number nor a duration")

    def _quote(self, text: str) -> Token:
        found = _CLOSED.match(self._text, self._position)
        return self._token("string", found[0]) if found else self._failed("this string has no end")


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Where what matches here ends; the next character where nothing does."""
    found = pattern.match(text, position)
    return found.end() if found else position + 1


_READERS: Final[dict[str, Callable[[_Scanner, str], Token | None]]] = {
    "comment": _Scanner._comment,
    "name": _Scanner._name,
    "period": _Scanner._period,
    "sign": _Scanner._sign,
    "amount": _Scanner._amount,
    "quote": _Scanner._quote,
}
