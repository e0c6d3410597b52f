"""YAML text to plain values, read as Kubernetes reads it.

Kubernetes turns a manifest into JSON with go-yaml v2, whose rules are neither YAML 1.1 nor 1.2:
`yes`, `on` and `y` are booleans and `0777` is octal, but `12:30` and `2026-01-31` are strings. A
general loader would give a manifest another meaning than the cluster does, so only the scanning is
left to libyaml, and its events are assembled here:

    text ── libyaml ──> events ──> a stack of open mappings and lists ──> dict, list, str, …

The stack takes the place of recursion: depth is a number that is compared, not a crash. Aliases
share the value that they repeat, and what they would amount to when written out is bounded, so a
few hundred bytes cannot make others walk over billions of values. Where go-yaml is lenient and the
author most likely wrong (a key twice, a key overwritten by a later `<<`, an unknown tag), this
reader refuses.
"""

import base64
import binascii
import ctypes
import math
import re
from collections.abc import Container, Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple

import yaml

from stoker.errors import StokerError

MAX_DEPTH: Final = 100
MAX_ALIASED: Final = 400_000
"""What aliases may amount to, in values or stretches of 64 characters; go-yaml's own bound."""

_MAX_DIRECTIVES = 16
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NODES: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class YamlError(StokerError):
    """Text that is not YAML, or YAML that Kubernetes cannot turn into JSON."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.line = line
        self.column = column
        self.reason = reason


def parse(text: str, first_line: int = 1) -> Any:
    """The value of a single document; None where there is nothing in it.

    `first_line` is the line of its file on which the text begins; errors are counted from there.
    """
    tree = _Tree(first_line, first_line + text.rstrip().count("\n"))
    _refuse_unprintable(text, first_line)
    if len(_DIRECTIVE.findall(text)) > _MAX_DIRECTIVES:
        raise YamlError(first_line, 1, f"more than {_MAX_DIRECTIVES} directives (`%`)")
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            tree.take(event)
    except yaml.MarkedYAMLError as error:
        raise tree.error(error.problem_mark or error.context_mark, _problem(error)) from None
    except yaml.YAMLError as error:
        raise YamlError(first_line, 1, " ".join(str(error).split())) from None
    return tree.root


def json_number(value: float) -> float:
    """A number as it is after Kubernetes has written it as JSON: `1e3` and `1.0` are integers."""
    return int(value) if value.is_integer() and -(2**63) <= value < 2**63 else value


class Places:
    """Finds paths in a document, which is read only when the first is asked for."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        self._text = text
        self._first_line = first_line
        self._members: dict[int, dict[str, tuple[Any, Any]]] = {}
        self._root: Any = None
        self._composed = False

    def line(self, path: str) -> int:
        """The line of a path, or of its nearest existing parent."""
        return self.place(path)[0]

    def place(self, path: str) -> tuple[int, int]:
        """The line and the column, in characters from 1, of a path or its nearest parent."""
        if not self._composed:
            self._composed, self._root = True, _nodes(self._text)
        node = self._root
        mark = node.start_mark if node else None
        while path and (found := self._step(node, path)):
            mark, node, path = found
        return (self._first_line + mark.line, mark.column + 1) if mark else (self._first_line, 1)

    def _step(self, node: Any, path: str) -> tuple[Any, Any, str] | None:
        if isinstance(node, yaml.SequenceNode) and (index := _INDEX.match(path)):
            number = int(index[1])
            if number >= len(node.value):
                return None
            item = node.value[number]
            return item.start_mark, item, path[index.end() :]
        if not isinstance(node, yaml.MappingNode):
            return None
        members = self._members_of(node)
        name = leading_name(path, members)
        return (*members[name], rest_after(path, name)) if name is not None else None

    def _members_of(self, node: Any) -> dict[str, tuple[Any, Any]]:
        if id(node) not in self._members:
            self._members[id(node)] = {
                key.value: (key.start_mark, value)
                for key, value in node.value
                if isinstance(key, yaml.ScalarNode)
            }
        return self._members[id(node)]


def leading_name(path: str, names: Container[str]) -> str | None:
    """The longest of the names that a path begins with: names may contain dots themselves."""
    found = None
    for count, end in enumerate(_ends_of_names(path)):
        if path[:end] in names:
            found = path[:end]
        if count == _MAX_DOTS:
            break
    return found


def rest_after(path: str, name: str) -> str:
    """What follows a path's first name."""
    return path[len(name) :].removeprefix(".")


def _ends_of_names(path: str) -> Iterator[int]:
    for found in _NAME_END.finditer(path):
        yield found.start()


def _nodes(text: str) -> Any:
    try:
        return yaml.compose(text, Loader=_NODES)
    except (yaml.YAMLError, RecursionError, UnicodeError):
        return None


_MAX_DOTS = 64
_INDEX = re.compile(r"\[([0-9]{1,9})\]\.?")
_NAME_END = re.compile(r"[.\[]|\Z")
_DIRECTIVE = re.compile(r"^%", re.MULTILINE)
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _refuse_unprintable(text: str, first_line: int) -> None:
    found = _UNPRINTABLE.search(text)
    if found:
        line = first_line + text.count("\n", 0, found.start())
        column = found.start() - text.rfind("\n", 0, found.start())
        raise YamlError(line, column, f"the character U+{ord(found[0]):04X} is not allowed")


def _problem(error: yaml.MarkedYAMLError) -> str:
    if error.problem and "<document start>" in error.problem:
        return "the document has ended, but more text follows"
    return " ".join(part for part in (error.problem, error.context) if part) or "not YAML"


class _Node(NamedTuple):
    """A finished value, with what it amounts to when every alias in it is written out."""

    value: Any
    size: int
    height: int


class _Open:
    """A mapping or list whose end has not come yet."""

    def __init__(self, values: Any, anchor: str | None) -> None:
        self.values = values
        self.anchor = anchor
        self.key: str | None = None
        self.merging = False
        self.merged: set[str] = set()
        self.size = 1
        self.height = 0

    @property
    def wants_key(self) -> bool:
        return isinstance(self.values, dict) and self.key is None and not self.merging


class _Tree:
    """Assembles events into values."""

    def __init__(self, first_line: int, last_line: int) -> None:
        self.root: Any = None
        self._first_line = first_line
        self._last_line = last_line
        self._open: list[_Open] = []
        self._anchors: dict[str, _Node | None] = {}
        self._aliased = 0
        self._documents = 0

    def error(self, mark: Any, reason: str) -> YamlError:
        """The error at a mark of the parser; a mark after the last line means its end."""
        if mark is None:
            return YamlError(self._first_line, 1, reason)
        return YamlError(
            min(self._first_line + mark.line, self._last_line), mark.column + 1, reason
        )

    def take(self, event: Any) -> None:
        """Go one event further."""
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.MappingStartEvent():
                self._start(event, {}, "map")
            case yaml.SequenceStartEvent():
                self._start(event, [], "seq")
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._end(event)
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise self.error(event.start_mark, "a second document begins here")

    def _scalar(self, event: Any) -> None:
        if self._open and self._open[-1].wants_key and _is_merge(event):
            self._open[-1].merging = True
            return
        try:
            value = _resolved(event)
        except ValueError as error:
            raise self.error(event.start_mark, str(error)) from None
        node = _Node(value, 1 + len(event.value) // 64, 0)
        if event.anchor:
            self._anchors[event.anchor] = node
        self._place(node, event)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise self.error(event.start_mark, f"`*{event.anchor}` refers to no anchor before it")
        node = self._anchors[event.anchor]
        if node is None:
            raise self.error(event.start_mark, f"`*{event.anchor}` contains itself")
        self._aliased += node.size
        if self._aliased > MAX_ALIASED:
            raise self.error(event.start_mark, f"aliases expand to more than {MAX_ALIASED} values")
        if len(self._open) + node.height > MAX_DEPTH:
            raise self.error(event.start_mark, _TOO_DEEP)
        if self._open and self._open[-1].merging and not isinstance(node.value, dict):
            raise self.error(event.start_mark, _NO_MERGE)
        self._place(node, event)

    def _start(self, event: Any, values: Any, tag: str) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise self.error(event.start_mark, _TOO_DEEP)
        if event.tag not in (None, "!", _TAG + tag):
            raise self.error(event.start_mark, f"unknown tag `{_short(event.tag)}`")
        if event.anchor:
            self._anchors[event.anchor] = None
        self._open.append(_Open(values, event.anchor))

    def _end(self, event: Any) -> None:
        done = self._open.pop()
        node = _Node(done.values, done.size, done.height + 1)
        if done.anchor:
            self._anchors[done.anchor] = node
        self._place(node, event)

    def _place(self, node: _Node, event: Any) -> None:
        """Put a finished value where it belongs: it is the document, an item, a key or a member."""
        if not self._open:
            self.root = self._json(node.value, event)
            return
        parent = self._open[-1]
        parent.size += node.size
        parent.height = max(parent.height, node.height)
        if isinstance(parent.values, list):
            parent.values.append(self._json(node.value, event))
        elif parent.merging:
            self._merge(parent, node.value, event)
        elif parent.key is None:
            parent.key = self._key(parent, node.value, event)
        else:
            parent.values[parent.key] = self._json(node.value, event)
            parent.key = None

    def _json(self, value: Any, event: Any) -> Any:
        if not isinstance(value, float):
            return value
        if not math.isfinite(value):
            raise self.error(event.start_mark, "infinity and NaN cannot be written as JSON")
        return json_number(value)

    def _key(self, parent: _Open, value: Any, event: Any) -> str:
        try:
            key = _key_text(value)
        except ValueError as error:
            raise self.error(event.start_mark, str(error)) from None
        if key in parent.values and key not in parent.merged:
            raise self.error(event.start_mark, f"the key `{_clipped(key)}` stands here twice")
        parent.merged.discard(key)
        return key

    def _merge(self, parent: _Open, value: Any, event: Any) -> None:
        parent.merging = False
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self.error(event.start_mark, _NO_MERGE)
        for source in reversed(sources):
            for key, item in source.items():
                if key in parent.values and key not in parent.merged:
                    reason = f"`<<` brings the key `{_clipped(key)}` again; put `<<` before it"
                    raise self.error(event.start_mark, reason)
                parent.values[key] = item
                parent.merged.add(key)


_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_NO_MERGE = "`<<` takes a mapping or a list of mappings"
_TAG = "tag:yaml.org,2002:"

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INTEGER = re.compile(
    r"[-+]?(?:(?P<hex>0[xX][0-9a-fA-F]+)|(?P<binary>0[bB][01]+)|(?P<octal>0[oO]?[0-7]+)"
    r"|(?P<decimal>0|[1-9][0-9]{0,19}))"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_DOTTED = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "null": (type(None),),
}


def _is_merge(event: Any) -> bool:
    plain = event.implicit[0] and event.tag is None
    return event.value == "<<" and (plain or event.tag == _TAG + "merge")


def _resolved(event: Any) -> Any:
    """The value of a scalar: by its tag, else by its looks unless it is quoted."""
    if event.tag in (None, "!"):
        plain = event.tag is None and event.implicit[0]
        return _by_looks(event.value) if plain else event.value
    tag = event.tag.removeprefix(_TAG)
    if tag == "str":
        return event.value
    if tag == "binary":
        return _binary(event.value)
    if tag not in _TYPES or tag == event.tag:
        raise ValueError(f"unknown tag `{_short(event.tag)}`")
    value = _by_looks(event.value)
    if type(value) not in _TYPES[tag]:
        raise ValueError(f"`{_clipped(event.value)}` is not a value for `!!{tag}`")
    return value


def _by_looks(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "+-.0123456789":
        number = number_of(text)
        return text if number is None else number
    return text


def number_of(text: str) -> float | None:
    """The number that go-yaml sees in a plain scalar; what fits into no type of Go is none."""
    digits = text if text[0] == "." and not _DOTTED.fullmatch(text) else text.replace("_", "")
    found = _INTEGER.fullmatch(digits)
    if found:
        value = int(digits, _BASES[found.lastgroup or "decimal"])
        if -(2**63) <= value < (2**63 if digits[0] in "+-" else 2**64):
            return value
    if not _FLOAT.fullmatch(digits):
        return None
    number = float(digits)
    return number if math.isfinite(number) else None


def _binary(text: str) -> str:
    try:
        data = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except binascii.Error:
        raise ValueError("`!!binary` holds no base64") from None
    return data.decode("utf-8", errors="replace")


def _key_text(value: Any) -> str:
    """A key as a string, for JSON knows no other keys."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _short_float(value)
        case None:
            raise ValueError("a key is missing: null cannot be one")
        case _:
            raise ValueError("a list or mapping cannot be a key")


def _short_float(value: float) -> str:
    """The shortest text that a 32-bit float reads back; Kubernetes writes float keys so."""
    exact = ctypes.c_float(value).value
    if not math.isfinite(exact):
        return f".{exact}" if exact > 0 or math.isnan(exact) else "-.inf"
    forms = (f"{exact:.{count}e}" for count in range(9))
    shortest = next(form for form in forms if ctypes.c_float(float(form)).value == exact)
    in_full = -4 <= int(shortest.partition("e")[2]) < 6
    return format(Decimal(shortest), "f") if in_full else shortest


def _clipped(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "…"


def _short(tag: str) -> str:
    return _clipped("!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag)
