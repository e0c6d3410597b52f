"""The parser's place in the tokens: what comes next, what is required, what is allowed."""

from collections.abc import Container
from typing import Final, NoReturn

from stoker.promql.errors import ParseError, Problem
from stoker.promql.nodes import Span
from stoker.promql.strings import BadStringError, unquoted
from stoker.promql.syntax import Gate, Options
from stoker.promql.tokens import Token

# Each parenthesis, call, sign and right operand within another counts as one level.
MOST_LEVELS: Final = 200

_SHOWN: Final = 40


class Cursor:
    """The token that comes next, and its kind."""

    __slots__ = ("_at", "_tokens", "kind", "levels", "options", "text", "token")

    def __init__(self, text: str, tokens: list[Token], options: Options) -> None:
        self.text = text
        self.options = options
        self._tokens = tokens
        self._at = 0
        self.levels = 0
        self.token = self._tokens[0]
        self.kind = self.token.kind

    @property
    def following(self) -> str:
        """The kind of the token after the next one, which must not be the last."""
        return self._tokens[self._at + 1].kind

    @property
    def last_end(self) -> int:
        """Where the last token that was taken ended."""
        return self._tokens[self._at - 1].end if self._at else 0

    def take(self) -> Token:
        """The next token, and go on to the one after it."""
        taken = self.token
        self._at = at = self._at + 1
        self.token = token = self._tokens[at]
        self.kind = token.kind
        return taken

    def expect(self, kinds: Container[str], wanted: str) -> Token:
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

    def string(self, literal: str, start: int) -> str:
        """What a string that begins there stands for."""
        try:
            return unquoted(literal)
        except BadStringError as error:
            self.fail(str(error), (start + error.start, start + error.end))

    def down(self) -> None:
        """One level of nesting more; who calls this counts it down again."""
        self.levels += 1
        if self.levels > MOST_LEVELS:
            message = f"nested more than {MOST_LEVELS} levels deep: use recording rules"
            token = self.token
            self.fail(message, (token.start, token.end))


def _described(token: Token) -> str:
    if token.kind == "eof":
        return "end of the expression"
    short = token.text if len(token.text) <= _SHOWN else f"{token.text[:_SHOWN]}…"
    return f"`{short}`"
