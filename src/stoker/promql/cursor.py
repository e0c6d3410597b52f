"""The parser's place in the tokens: what comes next, what is required, what is allowed."""

from collections.abc import Iterable
from typing import Final, NoReturn

from stoker.promql.errors import ParseError, Problem
from stoker.promql.nodes import Span
from stoker.promql.strings import BadStringError, unquoted
from stoker.promql.syntax import Gate, Options
from stoker.promql.tokens import Scanner, Token

# Each parenthesis, call, sign and right operand within another counts as one level.
MOST_LEVELS: Final = 200

_SHOWN: Final = 40


class Cursor:
    """The token that comes next. Further ones are read when they are needed."""

    def __init__(self, text: str, options: Options) -> None:
        self.text = text
        self.options = options
        self.last_end = 0  # Where the last token that was taken ended.
        self._scanner = Scanner(text)
        self.token = self._scanner.read()
        self.kind = self.token.kind
        self._ahead: Token | None = None
        self._levels = 0

    @property
    def following(self) -> str:
        """The kind of the token after the next one."""
        if self._ahead is None:
            self._ahead = self._scanner.read()
        return self._ahead.kind

    def take(self) -> Token:
        """The next token, and go on to the one after it."""
        taken = self.token
        self.last_end = taken.start + len(taken.text)
        self.token = self._ahead or self._scanner.read()
        self.kind = self.token.kind
        self._ahead = None
        return taken

    def expect(self, kinds: Iterable[str], wanted: str) -> Token:
        """The next token, which must be of one of these kinds."""
        if self.kind not in kinds:
            self.unexpected(wanted)
        return self.take()

    def accept(self, kind: str) -> Token | None:
        """The next token if it is of this kind."""
        return self.take() if self.kind == kind else None

    def unexpected(self, wanted: str) -> NoReturn:
        """Refuse the next token: something else must stand here."""
        token = self.token
        if token.kind == "error":
            self.fail(token.problem, (token.start, token.end))
        self.fail(f"unexpected {_described(token)}: expected {wanted}", (token.start, token.end))

    def fail(self, message: str, span: Span) -> NoReturn:
        """Refuse the expression."""
        raise ParseError(Problem(message, *span), self.text)

    def require(self, gate: Gate | None, span: Span) -> None:
        """Refuse what this Prometheus does not have."""
        refusal = gate.refusal(self.options) if gate else ""
        if refusal:
            self.fail(refusal, span)

    def string(self, token: Token) -> str:
        """What a string stands for."""
        try:
            return unquoted(token.text)
        except BadStringError as error:
            self.fail(str(error), (token.start + error.start, token.start + error.end))

    def down(self) -> None:
        """One level of nesting more."""
        self._levels += 1
        if self._levels > MOST_LEVELS:
            message = f"nested more than {MOST_LEVELS} levels deep: use recording rules"
            self.fail(message, (self.token.start, self.token.end))

    def up(self) -> None:
        """One level of nesting less."""
        self._levels -= 1


def _described(token: Token) -> str:
    if token.kind == "eof":
        return "end of the expression"
    short = token.text if len(token.text) <= _SHOWN else f"{token.text[:_SHOWN]}…"
    return f"`{short}`"
