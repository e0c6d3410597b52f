"""Templates in labels and annotations of alerts, read as Go's text/template reads them.

Only whether they can be read is checked, as Prometheus does when it loads a rule; what they give
shows when an alert fires. One pass, no recursion, and time in proportion to the text.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from stoker.version import Version, parse_version

# Functions of templates, and the Prometheus that brought them.
_FUNCTIONS: Final[dict[str, str]] = dict.fromkeys((
    "and", "call", "html", "index", "slice", "js", "len", "not", "or", "print", "printf",
    "println", "urlquery", "eq", "ge", "gt", "le", "lt", "ne",
    "query", "first", "label", "value", "strvalue", "sortByLabel", "args", "tmpl", "safeHtml",
    "reReplaceAll", "match", "title", "toUpper", "toLower", "graphLink", "tableLink",
    "humanize", "humanize1024", "humanizeDuration", "humanizePercentage", "humanizeTimestamp",
    "pathPrefix", "externalURL",
), "") | {
    "parseDuration": "2.32.0", "stripPort": "2.33.0", "stripDomain": "2.36.0", "toTime": "2.38.0",
    "toDuration": "3.6.0", "now": "3.6.0", "urlQueryEscape": "3.8.0",
}  # fmt: skip
_VARIABLES: Final = ("$", "$labels", "$externalLabels", "$externalURL", "$value")
_KEYWORDS: Final = frozenset(
    ["block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"]
)
_LITERALS: Final = frozenset(("bool", "field.", "nil", "number", "char", "string"))
_OPERANDS: Final = _LITERALS | {"function", "variable", "field", "("}

_DIGITS: Final = r"""[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?
    |0[oO][0-7_]+|0[bB][01_]+|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:[eE][+-]?[0-9_]*)?)"""
_TOKEN: Final = re.compile(
    rf"""(?x)
      (?P<close> (?:[ \t\r\n]+-)? \}}\}} )
    | (?P<space> [ \t\r\n]+ )
    | (?P<string> "(?:[^"\\\n]|\\[^\n])*" | `[^`]*` )
    | (?P<char> '(?:[^'\\\n]|\\[^\n])*' )
    | (?P<variable> \$\w* )
    | (?P<field> \.(?![0-9])\w* )
    | (?P<number> (?: {_DIGITS}(?=[+-]){_DIGITS}i | {_DIGITS}i? ) (?![\w+-]) )
    | (?P<word> (?![0-9])\w+ )
    | (?P<sign> :=|[=|(),] )
    """
)
_OPEN: Final = re.compile(r"\{\{(?:-(?=[ \t\r\n]))?")
_COMMENT: Final = re.compile(r"\{\{(?:-[ \t\r\n])?/\*")
_COMMENT_END: Final = re.compile(r"(?:[ \t\r\n]-)?\}\}")
_AFTER_NAME: Final = re.compile(r"[ \t\r\n.,|:()]|\}\}|$")
_ESCAPE: Final = (
    r"\\[abfnrtv\\{0}]|\\x[0-9a-fA-F]{{2}}|\\[0-3][0-7]{{2}}|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{{4}}"
    r"|\\U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{{4}}"
)
_STRING: Final = re.compile(rf'"(?:[^"\\\n]|{_ESCAPE.format(chr(34))})*"|`[^`]*`')
_CHAR: Final = re.compile(rf"'(?:[^'\\\n]|{_ESCAPE.format(chr(39))})'")


_DEEPEST: Final = 10_001
_SIGN: Final = re.compile(r"[+-]")
_OCTAL: Final = re.compile(r"0[0-7_]*")
# What makes a number other than whole; in hexadecimal, `e` is a digit.
_FRACTION: Final = (re.compile(r"[.eEpP]"), re.compile(r"[.pP]"))


class _RefusedError(Exception):
    """Why Go would not take the template."""


class _Token(NamedTuple):
    kind: str
    text: str
    spaced: bool


class _Block(Struct):
    """An `if`, `range`, `with`, `define` or `block` that is not yet ended."""

    kind: str
    around: "_Variables"
    seen: int
    ranges: int
    has_else: bool = False


class _Variables:
    """The variables that can be used, in the order in which they were declared."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.counts = Counter(names)

    def declare(self, name: str) -> None:
        self.names.append(name)
        self.counts[name] += 1

    def forget(self, seen: int) -> None:
        """Forget all but the first ones."""
        while len(self.names) > seen:
            self.counts[self.names.pop()] -= 1


class _Pipeline(Struct):
    """The commands of an action or of a parenthesis, as far as they have been read."""

    commands: int = 0
    arguments: int = 0
    last: str = ""


def template_problem(
    text: str, version: Version | None = None, *, variables: Sequence[str] = _VARIABLES
) -> str:
    """Why this Prometheus (None: any) would refuse a template; empty if it would take it.

    `variables` are those that are there before the template declares its own.
    """
    if "{{" not in text:
        return ""
    try:
        _Template(text, version, variables).check()
    except _RefusedError as refused:
        return str(refused)
    return ""


class _Template:
    def __init__(self, text: str, version: Version | None, variables: Sequence[str]) -> None:
        self.text = text
        self.version = version
        self.variables = _Variables(*variables)
        self.blocks: list[_Block] = []
        self.defined: set[str] = set()
        self.ranges = 0

    def check(self) -> None:
        place = self.text.find("{{")
        while place >= 0:
            place = self.text.find("{{", self._after_action(place))
        if self.blocks:
            raise _RefusedError(f"`{self.blocks[-1].kind}` has no `end`")

    def _after_action(self, place: int) -> int:
        comment = _COMMENT.match(self.text, place)
        if comment:
            inner = self.text.find("*/", comment.end())
            found = _COMMENT_END.match(self.text, inner + 2) if inner >= 0 else None
            if not found:
                raise _RefusedError("a comment must end with `*/}}`")
            return found.end()
        tokens, end = self._tokens(place)
        self._action(tokens)
        return end

    def _tokens(self, place: int) -> tuple[list[_Token], int]:
        """The words of the action that begins here, and where it ends."""
        opened = _OPEN.match(self.text, place)
        end = opened.end() if opened else place
        tokens: list[_Token] = []
        spaced = False
        while found := _TOKEN.match(self.text, end):
            end, kind, word = found.end(), found.lastgroup or "", found[0]
            if kind == "close":
                return tokens, end
            if kind in ("word", "field", "variable") and not _AFTER_NAME.match(self.text, end):
                raise _RefusedError(f"unexpected `{self.text[end]}` after `{word}`")
            if kind != "space":
                tokens.append(_Token(_kind(kind, word), word, spaced))
            spaced = kind == "space"
        if end == len(self.text):
            raise _RefusedError("`{{` has no `}}`")
        raise _RefusedError(f"unexpected `{self.text[end : end + 20]}` in an action")

    def _action(self, tokens: list[_Token]) -> None:
        kind, rest = (tokens[0].kind, tokens[1:]) if tokens else ("", [])
        if kind in ("if", "range", "with"):
            self._begin(kind)
            self._pipeline(rest, kind)
            self.ranges += kind == "range"
        elif kind in ("define", "block", "template"):
            self._named(kind, rest)
        elif kind == "else":
            self._else(rest)
        elif kind in ("end", "break", "continue"):
            self._word(kind, rest)
        else:
            self._pipeline(tokens, "an action")

    def _named(self, kind: str, rest: list[_Token]) -> None:
        """A template of its own: it does not see the variables around it."""
        if not rest or rest[0].kind != "string" or not _STRING.fullmatch(rest[0].text):
            raise _RefusedError(f"`{kind}` needs a name in quotes")
        if kind == "define" and (self.blocks or len(rest) > 1):
            raise _RefusedError("`define` takes a name and cannot stand inside another block")
        if kind == "block" or (kind == "template" and len(rest) > 1):
            self._pipeline(rest[1:], kind)
        if kind != "template":
            self._define(_unquoted(rest[0].text))
            self._begin(kind)
            self.variables, self.ranges = _Variables("$"), 0

    def _define(self, name: str) -> None:
        if name in self.defined:
            raise _RefusedError(f"the template `{name[:40]}` is defined twice")
        self.defined.add(name)

    def _begin(self, kind: str) -> None:
        seen = len(self.variables.names)
        self.blocks.append(_Block(kind, self.variables, seen, self.ranges))

    def _else(self, rest: list[_Token]) -> None:
        block = self.blocks[-1] if self.blocks else None
        if not block or block.has_else or block.kind not in ("if", "range", "with"):
            raise _RefusedError("`else` without `if`, `range` or `with`")
        if rest and rest[0].kind == block.kind != "range":
            self._pipeline(rest[1:], block.kind)
            return
        if rest:
            raise _RefusedError(f"unexpected `{rest[0].text}` after `else`")
        block.has_else, self.ranges = True, block.ranges

    def _word(self, kind: str, rest: list[_Token]) -> None:
        if rest:
            raise _RefusedError(f"unexpected `{rest[0].text}` after `{kind}`")
        if kind != "end":
            if not self.ranges:
                raise _RefusedError(f"`{kind}` outside of `range`")
        elif not self.blocks:
            raise _RefusedError("`end` without anything to end")
        else:
            block = self.blocks.pop()
            self.variables, self.ranges = block.around, block.ranges
            self.variables.forget(block.seen)

    def _pipeline(self, tokens: list[_Token], context: str) -> None:
        levels = [_Pipeline()]
        index = self._declared(tokens, 0, context)
        while index < len(tokens):
            token = tokens[index]
            index += 1
            if token.kind == "(":
                _add(levels[-1], token)
                levels.append(_Pipeline())
                if len(levels) > _DEEPEST:
                    raise _RefusedError("too many parentheses inside each other")
                index = self._declared(tokens, index, "a parenthesis")
            elif token.kind == ")" and len(levels) > 1:
                _complete(levels.pop(), "a parenthesis")
                levels[-1].last = ")"
            elif token.kind == "|" and levels[-1].arguments:
                levels[-1] = _Pipeline(levels[-1].commands + 1)
            elif token.kind in _OPERANDS:
                if not _add(levels[-1], token):
                    self._known(token)
            else:
                raise _RefusedError(f"unexpected `{token.text}` in {context}")
        if len(levels) > 1:
            raise _RefusedError("`(` has no `)`")
        _complete(levels[0], context)

    def _declared(self, tokens: list[_Token], index: int, context: str) -> int:
        """Read `$name :=` or, in a range, `$index, $name :=`; return where the rest begins."""
        count = 0
        while index + 1 < len(tokens) and tokens[index].kind == "variable":
            sign = tokens[index + 1].kind
            if sign not in (":=", "=", ","):
                break
            self.variables.declare(tokens[index].text)
            index, count = index + 2, count + 1
            if sign != ",":
                break
            if context != "range" or count > 1:
                raise _RefusedError(f"too many variables are declared in {context}")
            if index < len(tokens) and tokens[index].kind != "variable":
                raise _RefusedError("`range` can only declare variables before `:=`")
        return index

    def _known(self, token: _Token) -> None:
        """Refuse what has the form of an operand and yet is none."""
        kind, text = token.kind, token.text
        if kind == "function":
            since = _FUNCTIONS.get(text)
            if since is None:
                raise _RefusedError(f"there is no function `{text}`")
            if since and self.version and self.version < parse_version(since):
                raise _RefusedError(f"the function `{text}` needs Prometheus {since} or newer")
        elif kind == "variable" and not self.variables.counts[text]:
            raise _RefusedError(f"there is no variable `{text}`")
        elif kind == "string" and not _STRING.fullmatch(text):
            raise _RefusedError(f"the string {text[:40]} has an escape that Go does not know")
        elif kind == "char" and not _CHAR.fullmatch(text):
            raise _RefusedError(f"{text[:40]} is not one character; a string is in double quotes")
        elif kind == "number" and not _is_number(text):
            raise _RefusedError(f"`{text[:40]}` is not a number")


_ESCAPED: Final = re.compile(r"\\(?:[xuU]([0-9a-fA-F]+)|([0-7]{3})|(.))", re.DOTALL)
_LETTERS: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


def _unquoted(string: str) -> str:
    """What a string of Go stands for."""
    if string.startswith("`"):
        return string[1:-1].replace("\r", "")

    def character(found: re.Match[str]) -> str:
        if found[3]:
            return _LETTERS.get(found[3], found[3])
        return chr(int(found[1], 16) if found[1] else int(found[2], 8))

    return _ESCAPED.sub(character, string[1:-1])


def _kind(kind: str, word: str) -> str:
    """What a token is to the grammar: a keyword or a sign is its own kind."""
    if kind == "sign" or (kind == "word" and (word in _KEYWORDS or word == "nil")):
        return word
    if kind == "word":
        return "bool" if word in ("true", "false") else "function"
    return "field." if word == "." else kind


def _add(pipeline: _Pipeline, token: _Token) -> bool:
    """Add an operand to the command; whether it is only a field of the one before."""
    if pipeline.last and not token.spaced:
        if token.kind == "field" and pipeline.last not in _LITERALS:
            return True
        raise _RefusedError(f"unexpected `{token.text}`: operands are parted by spaces")
    if pipeline.commands and not pipeline.arguments and token.kind in _LITERALS:
        raise _RefusedError(f"`{token.text}` after `|` is not a function")
    pipeline.arguments += 1
    pipeline.last = token.kind
    return False


def _complete(pipeline: _Pipeline, context: str) -> None:
    if not pipeline.commands and not pipeline.arguments:
        raise _RefusedError(f"a value is missing in {context}")


def _is_number(text: str) -> bool:
    body = text.lstrip("+-").removesuffix("i")
    if "i" in text and _SIGN.search(body):
        return True
    is_hex = body[:2] in ("0x", "0X")
    try:
        if not _FRACTION[is_hex].search(body):
            return int(body, 8 if _OCTAL.fullmatch(body) else 0) < 2**64 or text != body
        _ = float.fromhex(body) if is_hex else float(body)
        return not is_hex or "p" in body.lower()
    except (ValueError, OverflowError):
        return False
