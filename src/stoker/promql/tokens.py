"""Text to tokens.

Every pattern is possessive (`++`, `*+`): it never goes back, so that time is proportional to the
text. What begins no token is an `error`, which says why, and the end is an `eof`.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from stoker.promql.syntax import DURATION_WORDS, KEYWORDS, ONLY_BEFORE_PARENTHESIS


class Token(NamedTuple):
    """A word of an expression. The kind of keywords and operators is their own text."""

    kind: str
    text: str
    start: int
    problem: str = ""

    @property
    def end(self) -> int:
        """Where the next token may begin."""
        return self.start + len(self.text)


_QUOTE: Final = "(?P<quote>[\"'`])"
_SPACE: Final = r"[ \t\r\n]*+"
_COMMENT: Final = r"(?P<comment>\#[^\r\n]*+)"
_AMOUNT: Final = r"(?P<amount>\.?[0-9])"

_OUTSIDE: Final = re.compile(
    rf"{_SPACE}(?:(?P<word>[A-Za-z_:][A-Za-z0-9_:]*+)|{_AMOUNT}|{_QUOTE}|{_COMMENT}"
    r"|(?P<sign>==|!=|<=|</|>=|>/|=(?!~)|[-+*/%^@<>(),{}\[\]]))"
)
_IN_BRACES: Final = re.compile(
    rf"{_SPACE}(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*+)|{_QUOTE}|(?P<sign>=~|!~|!=|=|,|\}})|{_COMMENT})"
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
# What a duration with unknown units looks like, so that the units can be told.
_UNITS: Final = re.compile(r"(?:[0-9]++[a-z]++)++(?![A-Za-z0-9_.])")
_AMOUNTS: Final = (("number", _NUMBER), ("duration", _DURATION), ("duration", _UNITS))
_NO_AMOUNT: Final = re.compile(r"[A-Za-z0-9_.]++")
_OPENS: Final = re.compile(rf"{_SPACE}\(")
_BLANK: Final = re.compile(_SPACE)

_STRINGS: Final = {
    '"': re.compile(r'"(?:[^"\\\n]++|\\[^\n])*+"'),
    "'": re.compile(r"'(?:[^'\\\n]++|\\[^\n])*+'"),
    "`": re.compile(r"`[^`]*+`"),
}
_OPEN_STRING: Final = re.compile(r"[^\n]++")


class Scanner:
    """Reads a text token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._pattern = _OUTSIDE
        # Whether an amount was seen in these brackets, and in any.
        self._begun = False
        self._ever_begun = False

    def read(self) -> Token:
        """The next token; at the end, or where nothing can be read, the same again and again."""
        while found := self._pattern.match(self.text, self.position):
            group = found.lastgroup or ""
            self.position = found.start(group)
            token = _READERS[group](self, found[group])
            if token is not None:
                self.position += 0 if token.problem else len(token.text)
                return token
        self.position = _end(_BLANK, self.text, self.position)
        if self.position == len(self.text):
            return Token("eof", "", self.position)
        return self._failed(self._stranger(), 1)

    def _token(self, kind: str, text: str) -> Token:
        return Token(kind, text, self.position)

    def _failed(self, problem: str, width: int | None = None) -> Token:
        """What cannot be read: so many characters, or as many as seem to belong together."""
        pattern = _OPEN_STRING if self.text[self.position] in _STRINGS else _NO_AMOUNT
        end = _end(pattern, self.text, self.position) if width is None else self.position + width
        return Token("error", self.text[self.position : end], self.position, problem)

    def _stranger(self) -> str:
        where = {_IN_BRACES: " in braces", _IN_BRACKETS: " in brackets"}.get(self._pattern, "")
        if self.text.startswith("=~", self.position):
            return "`=~` compares labels: it belongs in braces"
        return f"no token begins with `{self.text[self.position]}`{where}"

    def _comment(self, text: str) -> Token | None:
        if self._pattern is _IN_BRACKETS and not self._begun:
            return self._failed("no comment may stand between `[` and the first amount", 1)
        self.position += len(text)
        return None

    def _name(self, text: str) -> Token:
        return self._token("identifier", text)

    def _word(self, text: str) -> Token:
        kind = KEYWORDS.get(text.lower())
        after = self.position + len(text)
        if kind in ONLY_BEFORE_PARENTHESIS and not _OPENS.match(self.text, after):
            kind = None
        return self._token(kind or ("metric" if ":" in text else "identifier"), text)

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
            found = pattern.match(self.text, self.position)
            if found:
                self._begun = self._pattern is _IN_BRACKETS
                self._ever_begun = self._ever_begun or self._begun
                return self._token(kind, found[0])
        return self._failed("this is neither a number nor a duration")

    def _quote(self, text: str) -> Token:
        found = _STRINGS[text].match(self.text, self.position)
        return self._token("string", found[0]) if found else self._failed("this string has no end")


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Where what matches here ends; the next character where nothing does."""
    found = pattern.match(text, position)
    return found.end() if found else position + 1


_READERS: Final[dict[str, Callable[[Scanner, str], Token | None]]] = {
    "comment": Scanner._comment,
    "name": Scanner._name,
    "word": Scanner._word,
    "period": Scanner._period,
    "sign": Scanner._sign,
    "amount": Scanner._amount,
    "quote": Scanner._quote,
}
