"""The calls of a function in a template, each with its argument where that is a string.

A function of a template is no value: no variable holds it, `call` does not take it, and it is
written out wherever it is called. So the calls of a name are where the name stands.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from stoker.golang.template import Setting, Token, tokens


class Call(NamedTuple):
    """A call, and its only argument; None where it is not one string, written out."""

    at: int
    literal: Token | None


_Command: TypeAlias = list[Token]
_Pipeline: TypeAlias = list[_Command]

_MADE: Final = "made"


def calls(text: str, setting: Setting, function: str) -> list[Call]:
    """All calls of a function in a text that is a template, in the order in which they end."""
    found: list[Call] = []
    levels: list[_Pipeline] = [[[]]]
    for token in tokens(text, setting):
        if token.kind == "open":
            levels.append([[]])
        elif token.kind == "pipe":
            levels[-1].append([])
        elif token.kind in ("parenthesis", "close"):
            pipeline = levels.pop()
            found += _calls_in(pipeline, text, function)
            if token.kind == "parenthesis":
                levels[-1][-1].append(_value(pipeline, token))
            else:
                levels = [[[]]]
        elif token.kind != "sign":
            levels[-1][-1].append(token)
    return found


def _value(pipeline: _Pipeline, end: Token) -> Token:
    """What a parenthesis is to the command that it stands in: a string alone is that string."""
    alone = end.end - end.start == 1 and len(pipeline) == 1
    string = _only_string(pipeline[0]) if alone else None
    return string or Token(_MADE, end.start, end.end)


def _calls_in(pipeline: _Pipeline, text: str, function: str) -> Iterator[Call]:
    for number, command in enumerate(pipeline):
        for place, operand in enumerate(command):
            if operand.kind != "word":
                continue
            word = text[operand.start : operand.end]
            if word.partition(".")[0] == function:
                first = place == 0 and word == function
                given = command[1:] + _piped(pipeline, number) if first else ()
                yield Call(operand.start, _only_string(given))


def _piped(pipeline: _Pipeline, number: int) -> list[Token]:
    """What the command before this one hands on, if there is one."""
    if not number:
        return []
    before = pipeline[number - 1]
    alone = number == 1 and len(before) == 1
    return before if alone else [Token(_MADE, before[0].start, before[-1].end)]


def _only_string(given: Sequence[Token]) -> Token | None:
    return given[0] if len(given) == 1 and given[0].kind == "string" else None
