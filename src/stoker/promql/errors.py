"""What is wrong with an expression, and where.

Exception
└── ParseError    the text is no PromQL expression that this Prometheus would take
"""

from msgspec import Struct


class Problem(Struct, frozen=True):
    """A finding about the characters from `start` up to `end` of an expression."""

    message: str
    start: int
    end: int


class ParseError(Exception):
    """Why a text is refused: a message, the place it is about, and the text there."""

    def __init__(self, problem: Problem, text: str) -> None:
        self.problem = problem
        self.text = text
        super().__init__(f"{self.line}:{self.column}: {problem.message}")

    @property
    def position(self) -> int:
        """The index of the first character at fault."""
        return min(self.problem.start, len(self.text))

    @property
    def line(self) -> int:
        """The line at fault, counted from 1."""
        return self.text.count("\n", 0, self.position) + 1

    @property
    def column(self) -> int:
        """The character in the line, counted from 1."""
        return self.position - self.text.rfind("\n", 0, self.position)
