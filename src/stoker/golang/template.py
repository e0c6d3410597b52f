"""Templates as Go's text/template parses them: what is one, and which functions it calls.

    problem = refusal(text, Setting(name="__alert_Down", functions=known))

One pass over the text, no recursion, and time in proportion to its length. Operands must be parted
by spaces, so a pattern reads each together with what may follow it, and the grammar is left with a
few words per action. Nothing is executed: what a template gives shows when it is used.
"""

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import Struct

from stoker.golang import NEWEST, Go
from stoker.golang.letters import is_name
from stoker.golang.literals import CHARACTER, STRING, is_number, unquoted

BUILT_IN: Final[Mapping[str, str]] = MappingProxyType(dict.fromkeys((
    "and", "call", "html", "index", "slice", "js", "len", "not", "or", "print", "printf",
    "println", "urlquery", "eq", "ge", "gt", "le", "lt", "ne",
), ""))  # fmt: skip
"""The functions that every template has; `slice` since Go 1.13."""


class Setting(Struct, frozen=True):
    """What a text is parsed with.

    `functions` has why the reader lacks each; empty for those that it has. `variables` are there
    before the text declares its own. `begun` tells that something is parsed before the text, under
    the same name, so that this name must not be defined in it.
    """

    name: str = ""
    functions: Mapping[str, str] = BUILT_IN
    variables: tuple[str, ...] = ("$",)
    begun: bool = False
    go: Go = NEWEST


class Token(NamedTuple):
    """A word of a pipeline and its place; the kinds are in `_KINDS`, and `end` ends a pipeline."""

    kind: str
    start: int
    end: int


class RefusedTemplateError(Exception):
    """Why Go would not take the template."""


def refusal(text: str, setting: Setting) -> str:
    """Why Go would not take a text for a template; empty where it does."""
    if "{{" not in text or is_plain(text, setting):
        return ""
    try:
        _Parser(text, setting).parse()
    except RefusedTemplateError as refused:
        return str(refused)
    return ""


def is_plain(text: str, setting: Setting) -> bool:
    """Whether the text has nothing but actions such as `{{ $labels.job | title }}`, all known.

    Nearly all templates of alerts are such, and every Go takes them. Of others this tells nothing.
    """
    if not _PLAIN.fullmatch(text):
        return False
    for action in _PLAIN_ACTION.findall(text):
        for word in _PLAIN_WORD.findall(action):
            if word[0] == "$":
                if word not in setting.variables:
                    return False
            elif word[0] not in '".' and setting.functions.get(word) != "":
                return False
    return True


def tokens(text: str, setting: Setting) -> list[Token]:
    """The words of all pipelines in the text; RefusedTemplateError if none."""
    if "{{" not in text:
        return []
    parser = _Parser(text, setting)
    parser.seen = []
    parser.parse()
    return parser.seen


# --- Patterns -------------------------------------------------------------------------------------

_SPACE: Final = r"[ \t\r\n]"
# Every character beyond ASCII is read into names, and looked up after.
_LETTER: Final = r"[0-9A-Za-z_\x80-\U0010ffff]"
_FIELD: Final = rf"(?:\.(?![0-9]){_LETTER}++)"
_AFTER: Final = rf"(?={_SPACE}|[|)]|\}}\}})"
_KEYWORD: Final = "block|break|continue|define|else|end|if|range|template|with"
_KINDS: Final = (
    "", "close", "variable", "sign", "field", "word", "string", "number", "character", "dot",
    "open", "parenthesis", "pipe", "other",
)  # fmt: skip
(
    _CLOSE, _VARIABLE, _SIGN, _FIELDS, _WORD, _STRING, _NUMBER, _CHARACTER, _DOT, _OPENED,
    _CLOSED, _PIPE, _OTHER,
) = range(1, len(_KINDS))  # fmt: skip
_TOKEN: Final = rf"""(?x) {_SPACE}*+ (?:
      ((?<={_SPACE})-\}}\}}|\}}\}})
    | (\${_LETTER}*+{_FIELD}*+)(?={_SPACE}|[|),:]|\}}\}})({_SPACE}*+(?::=|=|,))?
    | ({_FIELD}++){_AFTER}
    | ((?![0-9]){_LETTER}++{_FIELD}*+){_AFTER}
    | ({STRING}){_AFTER}
    | ([+-]?\.?[0-9][0-9A-Za-z_.+-]*+){_AFTER}
    | ({CHARACTER}){_AFTER}
    | (\.){_AFTER}
    | (\()
    | (\){_FIELD}*+){_AFTER}
    | (\|)
    | (:=|[=,])
    )"""
_OPEN: Final = re.compile(
    rf"""(?x) \{{\{{(?:-{_SPACE})?+
    (?: (/\*) | {_SPACE}*+(?:({_KEYWORD})(?={_SPACE}|[.,|:()]|\}}\}}))?+ )"""
)

# What is plain: variables with fields, and functions of these and of strings without escapes.
_ASCII_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*+"
_PLAIN_VARIABLE: Final = rf"\${_ASCII_NAME}(?:\.{_ASCII_NAME})*+"
_PLAIN_STRING: Final = r'"[^"\\\n]*+"'
_PLAIN_CALL: Final = rf"{_ASCII_NAME}(?:[ ]++(?:{_PLAIN_VARIABLE}|{_PLAIN_STRING}))*+"
_PLAIN_ACTION: Final = re.compile(
    rf"\{{\{{[ ]*+(?:{_PLAIN_VARIABLE}|{_PLAIN_CALL})(?:[ ]*+\|[ ]*+{_PLAIN_CALL})*+[ ]*+\}}\}}"
)
_PLAIN: Final = re.compile(rf"(?:[^{{]++|\{{(?!\{{)|{_PLAIN_ACTION.pattern})*+")
_PLAIN_WORD: Final = re.compile(rf"{_PLAIN_STRING}|[.$]?{_ASCII_NAME}")
_COMMENT_END: Final = re.compile(rf"(?:{_SPACE}-)?\}}\}}")
_NAME: Final = re.compile(rf"{_SPACE}*+({STRING})")
_RIGHT: Final = re.compile(rf"{_SPACE}*+(?:(?<={_SPACE})-\}}\}}|\}}\}})")
_ELSE: Final = re.compile(rf"{_SPACE}++(if|with)(?={_SPACE}|[.,|:()]|\}}\}})")
_ANYTHING: Final = re.compile(rf"{_SPACE}*+(.{{0,20}})", re.DOTALL)
# What unicode.IsSpace takes for white space; Python's strip takes more.
_BLANKS: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_CONSTANTS: Final = frozenset(("true", "false", "nil"))
_LITERALS: Final = frozenset((_STRING, _NUMBER, _CHARACTER, _DOT))
_OPERANDS: Final = _LITERALS | {_VARIABLE, _FIELDS, _WORD, _OPENED}
_DEEPEST: Final = 10_000
_BREAK_SINCE: Final[Go] = (1, 18)
# Its first release takes no space after `break`.
_SPACE_AFTER_BREAK: Final[Go] = (1, 19)
_ELSE_WITH_SINCE: Final[Go] = (1, 23)
_LINES_SINCE: Final[Go] = (1, 16)
_ASSIGN_SINCE: Final[Go] = (1, 11)
_NEW_LINE: Final = re.compile(r"[\r\n]|[ \t]{2}-\}\}")


@cache
def token_pattern() -> re.Pattern[str]:
    """What reads the words of a pipeline: made when one is not plain, since it takes its time."""
    return re.compile(_TOKEN)


# How far a pipeline is: nothing read, in its first command, after `|`, in a later command.
_BEGIN, _FIRST, _PIPED, _LATER = range(4)


class _Tree:
    """A template, or one that is defined in it: its variables and how many `range` are around."""

    __slots__ = ("counts", "full", "name", "order", "ranges")

    def __init__(self, name: bytes, variables: tuple[str, ...] = ("$",)) -> None:
        self.name = name
        self.full = False
        self.ranges = 0
        self.order: list[str] = []
        self.counts = dict.fromkeys(variables, 1)

    def declare(self, name: str) -> None:
        self.order.append(name)
        self.counts[name] = self.counts.get(name, 0) + 1

    def forget(self, seen: int) -> None:
        """Forget all but the first variables."""
        while len(self.order) > seen:
            name = self.order.pop()
            self.counts[name] -= 1


class _Block(Struct):
    """An `if`, `range`, `with`, `define` or `block` that is not yet ended."""

    kind: str
    around: _Tree
    seen: int
    ranges: int
    has_else: bool = False


class _Pipeline:
    """How far a pipeline is, and those around it.

    `declarable` is 1 where it begins, and 2 where the second variable of a `range` must follow.
    """

    __slots__ = ("around", "context", "declarable", "state")

    def __init__(self, context: str) -> None:
        self.context = context
        self.state = _BEGIN
        self.declarable = 1
        self.around: list[int] = []

    def declared(self, sign: str) -> None:
        if sign != ",":
            self.declarable = 0
        elif self.declarable > 1 or self.around or self.context != "range":
            raise RefusedTemplateError(f"too many variables are declared in {self.context}")
        else:
            self.declarable = 2

    def hand_on(self) -> bool:
        """Begin the command after `|`; False if there is none before it."""
        handed = self.state in (_FIRST, _LATER)
        self.state = _PIPED
        return handed

    def enter(self) -> None:
        """Begin a parenthesis."""
        if len(self.around) >= _DEEPEST:
            raise RefusedTemplateError("too many parentheses inside each other")
        self.around.append(self.state)
        self.state, self.declarable = _BEGIN, 1

    def leave(self) -> None:
        """End a parenthesis."""
        if not self.around or self.state == _BEGIN:
            raise RefusedTemplateError("`)` without a value before it")
        self.state, self.declarable = self.around.pop(), 0

    def complete(self) -> None:
        """End the action."""
        if self.around:
            raise RefusedTemplateError("`(` has no `)`")
        if self.state == _BEGIN:
            raise RefusedTemplateError(f"a value is missing in {self.context}")


class _Parser:
    def __init__(self, text: str, setting: Setting) -> None:
        self.text = text
        self.functions = setting.functions
        self.go = setting.go
        self.tree = _Tree(setting.name.encode("utf-8", "surrogatepass"), setting.variables)
        self.tree.full = setting.begun
        self.blocks: list[_Block] = []
        self.full: set[bytes] = set()
        self.seen: list[Token] | None = None

    def parse(self) -> None:
        text, place = self.text, 0
        while (start := text.find("{{", place)) >= 0:
            if not self.tree.full and text[place:start].strip(_BLANKS):
                self.tree.full = True
            place = self._action(start)
        if text[place:].strip(_BLANKS):
            self.tree.full = True
        if self.blocks:
            raise RefusedTemplateError(f"`{self.blocks[-1].kind}` has no `end`")
        self._add(self.tree)

    def _action(self, start: int) -> int:
        """Read the action that begins here; return where it ends."""
        opened = _OPEN.match(self.text, start)
        if opened is None:
            raise self._unexpected(start, "in a text")
        place, keyword = opened.end(), opened[2]
        if opened[1]:
            return self._after_comment(place)
        if keyword is None:
            self.tree.full = True
            end = self._pipeline(place, "an action")
        else:
            end = _KEYWORDS[keyword](self, place, keyword)
        if self.go < _LINES_SINCE and _NEW_LINE.search(self.text, start, end):
            raise RefusedTemplateError("an action over several lines, or with spaces before ` -}}`")
        return end

    def _after_comment(self, place: int) -> int:
        inner = self.text.find("*/", place)
        found = _COMMENT_END.match(self.text, inner + 2) if inner >= 0 else None
        if not found:
            raise RefusedTemplateError("a comment must end with `*/}}`")
        return found.end()

    # --- Keywords ---------------------------------------------------------------------------------

    def _control(self, place: int, kind: str) -> int:
        tree = self.tree
        tree.full = True
        self.blocks.append(_Block(kind, tree, len(tree.order), tree.ranges))
        end = self._pipeline(place, kind)
        tree.ranges += kind == "range"
        return end

    def _named(self, place: int, kind: str) -> int:
        """A template of its own: it does not see the variables around it."""
        found = _NAME.match(self.text, place)
        if not found:
            raise RefusedTemplateError(f"`{kind}` needs a name in quotes")
        if kind == "define":
            if self.blocks:
                raise RefusedTemplateError("`define` cannot stand inside another block")
            end = self._closed(found.end(), kind)
        else:
            self.tree.full = True
            right = _RIGHT.match(self.text, found.end()) if kind == "template" else None
            end = right.end() if right else self._pipeline(found.end(), kind)
        if kind != "template":
            tree = self.tree
            self.blocks.append(_Block(kind, tree, len(tree.order), tree.ranges))
            self.tree = _Tree(unquoted(found[1]))
        return end

    def _else(self, place: int, _kind: str) -> int:
        block = self.blocks[-1] if self.blocks else None
        if not block or block.has_else or block.kind not in ("if", "range", "with"):
            raise RefusedTemplateError("`else` without `if`, `range` or `with`")
        again = _ELSE.match(self.text, place)
        if again and again[1] == block.kind:
            if block.kind == "with" and self.go < _ELSE_WITH_SINCE:
                raise RefusedTemplateError("`else with` needs a newer Go")
            return self._pipeline(again.end(), block.kind)
        block.has_else, self.tree.ranges = True, block.ranges
        return self._closed(place, "else")

    def _end(self, place: int, kind: str) -> int:
        if not self.blocks:
            raise RefusedTemplateError("`end` without anything to end")
        block = self.blocks.pop()
        if self.tree is not block.around:
            self._add(self.tree)
        self.tree = block.around
        self.tree.ranges = block.ranges
        if block.kind not in ("define", "block"):
            self.tree.forget(block.seen)
        return self._closed(place, kind)

    def _leave(self, place: int, kind: str) -> int:
        """`break` or `continue`."""
        if self.go < _BREAK_SINCE:
            raise RefusedTemplateError(f"there is no function `{kind}`")
        if not self.tree.ranges:
            raise RefusedTemplateError(f"`{kind}` outside of `range`")
        if self.go < _SPACE_AFTER_BREAK and not self.text.startswith("}}", place):
            raise RefusedTemplateError(f"`{kind}` must stand before `}}}}`")
        return self._closed(place, kind)

    def _closed(self, place: int, kind: str) -> int:
        found = _RIGHT.match(self.text, place)
        if not found:
            raise self._unexpected(place, f"after `{kind}`")
        return found.end()

    def _add(self, tree: _Tree) -> None:
        if tree.full:
            if tree.name in self.full:
                name = tree.name.decode(errors="replace")
                raise RefusedTemplateError(f"the template `{name[:40]}` is defined twice")
            self.full.add(tree.name)

    # --- Pipelines --------------------------------------------------------------------------------

    def _pipeline(self, place: int, context: str) -> int:
        """Read a pipeline and the end of its action; return where that is."""
        text, match, seen = self.text, token_pattern().match, self.seen
        pipeline = _Pipeline(context)
        while found := match(text, place):
            kind, place = found.lastindex or 0, found.end()
            if seen is not None:
                seen.append(Token(_KINDS[kind], *found.span(_VARIABLE if kind == _SIGN else kind)))
            if kind == _CLOSE:
                pipeline.complete()
                return place
            if kind in _OPERANDS:
                self._operand(kind, found[kind], pipeline)
            elif kind == _SIGN:
                self._declare(found, pipeline)
            elif kind == _CLOSED:
                self._named_well(found[kind])
                pipeline.leave()
            elif kind == _OTHER or not pipeline.hand_on():
                raise self._unexpected(found.start(), f"in {context}")
        raise self._unexpected(place, f"in {context}")

    def _declare(self, found: re.Match[str], pipeline: "_Pipeline") -> None:
        """Declare a variable that stands before `:=`, `=` or `,`."""
        name, sign = found[_VARIABLE], found[_SIGN].lstrip(" \t\r\n")
        if not pipeline.declarable or "." in name:
            raise RefusedTemplateError(f"unexpected `{sign}` after `{name[:40]}`")
        self._named_well(name)
        self.tree.declare(name)
        if sign == "=" and self.go < _ASSIGN_SINCE:
            raise RefusedTemplateError("`=` needs a newer Go")
        pipeline.declared(sign)

    def _operand(self, kind: int, word: str, pipeline: "_Pipeline") -> None:
        """Refuse what has the form of an operand and yet is none."""
        literal = kind in _LITERALS
        if kind == _VARIABLE:
            self._variable(word)
        elif kind == _WORD:
            literal = self._function(word)
        elif kind == _FIELDS:
            self._named_well(word)
        elif kind == _NUMBER and not is_number(word, self.go):
            raise RefusedTemplateError(f"`{word[:40]}` is not a number")
        if pipeline.declarable > 1 and kind != _VARIABLE:
            raise RefusedTemplateError("`range` can only declare variables before `:=`")
        if literal and pipeline.state == _PIPED:
            raise RefusedTemplateError(f"`{word[:40]}` after `|` is not a function")
        pipeline.state |= 1
        pipeline.declarable = 0
        if kind == _OPENED:
            pipeline.enter()

    def _variable(self, word: str) -> None:
        self._named_well(word)
        name = word.partition(".")[0]
        if not self.tree.counts.get(name):
            raise RefusedTemplateError(f"there is no variable `{name[:40]}`")

    def _function(self, word: str) -> bool:
        if word in _CONSTANTS:
            return True
        name, dot, fields = word.partition(".")
        lack = self.functions.get(name)
        if lack is None:
            raise RefusedTemplateError(f"there is no function `{name[:40]}`")
        if lack:
            raise RefusedTemplateError(f"the function `{name}` {lack}")
        if dot:
            self._named_well(fields)
        return False

    def _named_well(self, word: str) -> None:
        if not word.isascii() and not is_name(word, self.go):
            raise RefusedTemplateError(f"`{word[:40]}` has a character that no name has")

    def _unexpected(self, place: int, where: str) -> RefusedTemplateError:
        found = _ANYTHING.match(self.text, place)
        rest = found[1] if found else ""
        if not rest:
            return RefusedTemplateError("`{{` has no `}}`")
        if rest[0] in "\"'`":
            return RefusedTemplateError(
                f"{rest} is not a string of Go: how does it end, and escape?"
            )
        return RefusedTemplateError(f"unexpected `{rest}` {where}")


_KEYWORDS: Final = {
    "if": _Parser._control,
    "range": _Parser._control,
    "with": _Parser._control,
    "define": _Parser._named,
    "block": _Parser._named,
    "template": _Parser._named,
    "else": _Parser._else,
    "end": _Parser._end,
    "break": _Parser._leave,
    "continue": _Parser._leave,
}
