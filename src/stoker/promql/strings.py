r"""Quoted strings: `"…"` and `'…'` with escapes, and raw ones in backquotes.

An escape such as `\xff` may stand for a byte that is no UTF-8. Such a byte is kept in a `str` as a
lone surrogate (Python's `surrogateescape`), and printed as the escape it came from.
"""

import re
from typing import Final

_SIMPLE: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\",
}  # fmt: skip
_LENGTHS: Final = {"x": 2, "u": 4, "U": 8}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OCTAL: Final = frozenset("01234567")
_ESCAPED: Final = {value: f"\\{name}" for name, value in _SIMPLE.items()} | {'"': '\\"'}
_UNSAFE: Final = re.compile(r"[^ !#-\[\]-~]")
_UNREADABLE: Final = re.compile("[\ufffd\ud800-\udfff]")


class BadStringError(ValueError):
    """A string that cannot be read; knows how far in the bad part begins and ends."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.start = start
        self.end = end


def unquoted(literal: str) -> str:
    """What a literal, quotes included, stands for."""
    bad = _UNREADABLE.search(literal)
    if bad:
        raise BadStringError("a string must be valid UTF-8", bad.start(), bad.end())
    body = literal[1:-1]
    if literal[0] == "`" or "\\" not in body:
        return body
    return _unescaped(literal).decode("utf-8", "surrogateescape")


def _unescaped(literal: str) -> bytes:
    parts, position, end = [], 1, len(literal) - 1
    while position < end:
        escape = literal.find("\\", position, end)
        stop = end if escape < 0 else escape
        parts.append(literal[position:stop].encode())
        if escape < 0:
            break
        value, position = _escape(literal, escape)
        parts.append(value)
    return b"".join(parts)


def _escape(literal: str, start: int) -> tuple[bytes, int]:
    """The bytes of the escape that begins here, and where it ends."""
    name = literal[start + 1]
    if name in _SIMPLE:
        return _SIMPLE[name].encode(), start + 2
    if name == literal[0]:
        return name.encode(), start + 2
    if name in _OCTAL:
        return _octal(literal, start)
    if name in _LENGTHS:
        return _hexadecimal(literal, start, name)
    raise BadStringError(f"there is no escape `\\{name}`", start, start + 2)


def _octal(literal: str, start: int) -> tuple[bytes, int]:
    digits = literal[start + 1 : start + 4]
    if len(digits) < 3 or not _OCTAL.issuperset(digits) or int(digits, 8) > 255:
        raise BadStringError("`\\` takes three octal digits up to 377", start, start + 4)
    return bytes([int(digits, 8)]), start + 4


def _hexadecimal(literal: str, start: int, name: str) -> tuple[bytes, int]:
    length = _LENGTHS[name]
    end = start + 2 + length
    digits = literal[start + 2 : min(end, len(literal) - 1)]
    if len(digits) < length or not _HEX.issuperset(digits):
        raise BadStringError(f"`\\{name}` takes {length} hexadecimal digits", start, end)
    value = int(digits, 16)
    if name == "x":
        return bytes([value]), end
    if value > 0x10FFFF or 0xD800 <= value < 0xE000:
        raise BadStringError(f"there is no character `\\{name}{digits}`", start, end)
    return chr(value).encode(), end


def quoted(value: str) -> str:
    """A string in double quotes, with escapes for what is not printable."""
    return f'"{_UNSAFE.sub(_escape_of, value)}"'


def _escape_of(found: re.Match[str]) -> str:
    character = found[0]
    if character in _ESCAPED:
        return _ESCAPED[character]
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
