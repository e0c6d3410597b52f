"""Writes YAML, byte for byte as the peer does, and safely for every string that a user can send.

Only block style, only what a configuration needs: mappings, lists, strings, numbers, booleans. A
string is written plain where a YAML 1.1 reader gives the same string back, and quoted otherwise.
How a string is quoted depends on nothing but the string, so each is analysed once and remembered,
as long as it is short: tenants choose how long one is. A long line goes on below, from a space on:
how many ConfigMaps rules need is counted in such lines.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from stoker.yamltree import number_of

Block: TypeAlias = dict[str, Any]

_LONGEST_SIMPLE_KEY: Final = 128
_SHORT_KEY: Final = _LONGEST_SIMPLE_KEY // 4  # in bytes, a letter has at most four
# What is remembered: so many texts, of so many letters at most. That is ten megabytes, or forty for
# letters of four bytes.
_MOST_TEXTS: Final = 16_384
_SHORT_TEXT: Final = 256
_TEXT_BYTES: Final = 640
# A line that is longer is broken at its next space.
_WIDTH: Final = 80


class Constant(dict[str, Any]):
    """A mapping that is the same in every configuration: its text is written once.

    It must never be changed. Most steps of most scrape jobs are such constants.
    """

    def __init__(self, members: Mapping[str, Any]) -> None:
        super().__init__(members)
        self.texts: dict[str, str] = {}

    def as_item(self, indent: str) -> str:
        """Its lines as an item of a list with that indent."""
        text = self.texts.get(indent)
        if text is None:
            lines: list[str] = []
            _write_mapping(lines, self, f"{indent}- ", indent + "  ")
            text = self.texts[indent] = "".join(lines)
        return text


def text_of(value: Any) -> str:
    """A whole document, ending with a newline."""
    out: list[str] = []
    if isinstance(value, dict):
        _write_mapping(out, value, "", "")
    elif isinstance(value, list | tuple):
        _write_list(out, value, "")
    else:
        out.append(f"{scalar(value)}\n")
    return "".join(out) or f"{value}\n"


def _write_mapping(out: list[str], value: dict[str, Any], first: str, indent: str) -> None:
    """Write a mapping; its first line may begin differently, since it may follow a `- `."""
    start = first
    for key, item in value.items():
        # The same as `_key` and `_text`; nearly all there is takes these ways, a million times.
        name = _key_text(key) if len(key) <= _SHORT_KEY else _key(key, indent)
        head, start = start + name, indent
        if isinstance(item, str):
            short = len(item) <= _SHORT_TEXT and "\n" not in item
            text = _flat(item) if short else _text(item, indent)
            if len(head) + len(text) >= _WIDTH and " " in text:
                text = _folded(text, _column(head) + 2, indent + "  ")
            out.append(f"{head}: {text}\n")
        elif isinstance(item, dict):
            if item:
                out.append(f"{head}:\n")
                _write_mapping(out, item, indent + "  ", indent + "  ")
            else:
                out.append(f"{head}: {{}}\n")
        elif isinstance(item, list | tuple):
            out.append(f"{head}:\n" if item else f"{head}: []\n")
            _write_list(out, item, indent)
        else:
            out.append(f"{head}: {scalar(item)}\n")


def _write_list(out: list[str], value: Sequence[Any], indent: str) -> None:
    for item in value:
        if isinstance(item, Constant):
            out.append(item.texts.get(indent) or item.as_item(indent))
        elif isinstance(item, str):
            out.append(
                f"{indent}- {_folded(_text(item, indent), len(indent) + 2, indent + '  ')}\n"
            )
        elif isinstance(item, dict) and item:
            _write_mapping(out, item, f"{indent}- ", indent + "  ")
        elif isinstance(item, list | tuple) and item:
            inner: list[str] = []
            _write_list(inner, item, indent + "  ")
            out.append(f"{indent}- {inner[0].removeprefix(indent + '  ')}")
            out.extend(inner[1:])
        elif isinstance(item, dict | list | tuple):
            out.append(f"{indent}- {'{}' if isinstance(item, dict) else '[]'}\n")
        else:
            out.append(f"{indent}- {scalar(item)}\n")


def _key(key: str, indent: str) -> str:
    """The text of a key; one that is too long needs the explicit form."""
    if len(key) <= _SHORT_KEY:
        return _key_text(key)
    text = _double_quoted(key) if "\n" in key else _flattened(key)
    if len(key.encode("utf-8", "surrogatepass")) <= _LONGEST_SIMPLE_KEY:
        return text
    return f"? {_folded(text, len(indent) + 2, indent + '  ')}\n{indent}"


@lru_cache(maxsize=_MOST_TEXTS)
def _key_text(key: str) -> str:
    return _double_quoted(key) if "\n" in key else _flat(key)


def _text(value: str, indent: str) -> str:
    """A string. One of several lines becomes a literal block below its key."""
    if "\n" in value and _literal_allowed(value):
        return _literal(value, indent + "  ")
    return _flat(value) if len(value) <= _SHORT_TEXT else _flattened(value)


def _column(head: str) -> int:
    """How long the last line of a text is."""
    return len(head) - head.rfind("\n") - 1


def _folded(text: str, column: int, indent: str) -> str:
    """A scalar that begins at a column, over as many lines as it needs; a reader joins them.

    A line ends at a single space, or in double quotes at any, where it has become too long. The
    first and the last letter in quotes stay where they are.
    """
    if column + len(text) <= _WIDTH or text.startswith("|"):
        return text
    quote = text[0] if text[0] in "'\"" else ""
    first, last = (2, len(text) - 2) if quote else (1, len(text))
    lines, begin, start = [], 0, ""
    while True:
        at = text.find(" ", max(first, begin + _WIDTH + 1 - column))
        while at > 0 and (text[at - 1] == " " or (quote != '"' and text[at + 1] == " ")):
            at = text.find(" ", at + 1)
        if not 0 < at < last:
            break
        lines.append(start + text[begin:at])
        begin = at + 1
        # In double quotes a space at the beginning of a line would go with the break.
        start = indent + ("\\" if text[begin] == " " else "")
        column = len(start)
    return "\n".join((*lines, start + text[begin:]))


def scalar(value: Any) -> str:
    """A single value on one line."""
    if isinstance(value, str):
        return _flat(value) if len(value) <= _SHORT_TEXT else _flattened(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    return "null" if value is None else str(value)


def _float(value: float) -> str:
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent):+03d}" if exponent else text


@lru_cache(maxsize=_MOST_TEXTS)
def _flat(value: str) -> str:
    """The same for a short string, remembered."""
    return _flattened(value)


def held() -> int:
    """How many bytes are kept of texts that were remembered, as estimated."""
    return (_flat.cache_info().currsize + _key_text.cache_info().currsize) * _TEXT_BYTES


def _flattened(value: str) -> str:
    """A string on one line: plain, in single quotes, or in double quotes."""
    if len(value) > _LONGEST_MEANING and _PLAIN.fullmatch(value):
        return value
    if _SPECIAL.search(value) or _SPACE_BEFORE_BREAK.search(value) or _resolves(value):
        return _double_quoted(value)
    if not _NOT_PLAIN.search(value):
        return value
    if "\n" in value:
        return _double_quoted(value)
    return "'" + value.replace("'", "''") + "'"


# What is plain at a glance, however long: no `:` and no space before a `#` or another space. No
# word that means something else, and begins with a letter, is longer than `false`.
_LONGEST_MEANING: Final = 5
_PLAIN: Final = re.compile(r"[A-Za-z_/](?:[!-9;-~]++|:(?=[!-~])|[ ](?=[!-\"$-~]))*+")

# What YAML 1.1 readers would take for something else than a string.
_RESOLVES: Final = re.compile(
    r"""(?x)
      (?: | ~ | null | Null | NULL | << | =
      | y | Y | yes | Yes | YES | n | N | no | No | NO
      | true | True | TRUE | false | False | FALSE | on | On | ON | off | Off | OFF
      | [-+]? (?: \.[0-9]+ | [0-9]+ (?: \.[0-9]* )? ) (?: [eE] [-+]? [0-9]+ )?
      | [-+]? \. (?: inf | Inf | INF ) | \. (?: nan | NaN | NAN )
      | [-+]? 0x [0-9a-fA-F_]+ | [-+]? 0b [01_]+ | [-+]? 0o [0-7_]+ | [-+]? [0-9][0-9_]*
      | [-+]? [0-9][0-9_]* (?: : [0-5]?[0-9] )+ (?: \.[0-9_]* )?
      | [0-9]{4} - [0-9]{1,2} - [0-9]{1,2}
        (?: (?: [Tt] | [ \t]+ ) [0-9]{1,2} : [0-9]{2} : [0-9]{2} (?: \.[0-9]* )?
            (?: [ \t]* (?: Z | [-+] [0-9]{1,2} (?: : [0-9]{2} )? ) )? )?
      )
    """,
    re.ASCII,
)


def _resolves(value: str) -> bool:
    if _RESOLVES.fullmatch(value):
        return True
    # Go takes more for numbers: prefixes in capitals, `_` anywhere.
    return value[0] in _NUMERIC and number_of(value) is not None


_NUMERIC: Final = frozenset("+-.0123456789")


# Characters that may only stand in double quotes: not printable (the peer's writer takes those of
# four bytes for such), or a break that YAML folds.
_SPECIAL: Final = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
_SPACE_BEFORE_BREAK: Final = re.compile(r" \n")

# What keeps a string from being plain in block style, wherever it stands.
_NOT_PLAIN: Final = re.compile(
    r"""(?x)
      ^ [-?:] (?: \s | $ )
    | ^ [\#,\[\]{}&*!|>'"%@`]
    | ^ (?: --- | \.\.\. )
    | ^ \s | \s $
    | : (?: \s | $ )
    | \s \#
    | \n
    """
)


def _literal_allowed(value: str) -> bool:
    return not (_SPECIAL.search(value) or _SPACE_BEFORE_BREAK.search(value)) and value[-1] != " "


def _literal(value: str, indent: str) -> str:
    hint = "2" if value[0] in " \n" else ""
    chomp = "" if value.endswith("\n") else "-"
    if value.endswith("\n\n") or value == "\n":
        chomp = "+"
    lines = value.removesuffix("\n").split("\n")
    body = "\n".join(f"{indent}{line}" if line else "" for line in lines)
    return f"|{hint}{chomp}\n{body}"


_ESCAPES: Final = {
    "\0": "\\0", "\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f",
    "\r": "\\r", "\x1b": "\\e", '"': '\\"', "\\": "\\\\", "\x85": "\\N", "\xa0": "\\_",
    "\u2028": "\\L", "\u2029": "\\P",
}  # fmt: skip


def _double_quoted(value: str) -> str:
    return '"' + "".join(_escaped(letter) for letter in value) + '"'


def _escaped(letter: str) -> str:
    if "\ud800" <= letter <= "\udfff":
        # Half a surrogate pair is no character, and no reader would take the file.
        letter = "\ufffd"
    if letter in ('"', "\\", "\n") or _SPECIAL.match(letter):
        return _ESCAPES.get(letter) or _numbered(ord(letter))
    return letter


def _numbered(code: int) -> str:
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
