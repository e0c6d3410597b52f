r"""Numbers, characters and strings as Go writes them: in templates, and as `strconv` reads them.

The patterns have no choice to go back on, so a match takes time in proportion to the text.
"""

import math
import re
from typing import Final

from stoker.golang import Go

_ESCAPE: Final = (
    r"\\(?:[abfnrtv\\{quote}]|x[0-9a-fA-F]{{2}}|[0-3][0-7]{{2}}|u(?![dD][89a-fA-F])[0-9a-fA-F]{{4}}"
    r"|U(?!0000[dD][89a-fA-F])00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{{4}})"
)
_IN_QUOTES: Final = _ESCAPE.format(quote='"')
STRING: Final = rf'(?:"[^"\\\n]*+(?:{_IN_QUOTES}[^"\\\n]*+)*+"|`[^`]*+`)'
"""The pattern of a string, in quotes or in backquotes, that stands for something."""
CHARACTER: Final = rf"'(?:[^'\\\n]|{_ESCAPE.format(quote=chr(39))})'"
"""The pattern of a character."""


# --- Strings --------------------------------------------------------------------------------------

_ESCAPED: Final = re.compile(r"\\(?:(?:x(..)|u(....)|U(........))|([0-7]{3})|(.))", re.DOTALL)
_LETTERS: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f"\\]')


def unquoted(literal: str) -> bytes:
    """What a string stands for: bytes, since an escape may stand for any of them."""
    if literal[0] == "`":
        return _bytes(literal[1:-1].replace("\r", ""))
    parts: list[bytes] = []
    place = 1
    for found in _ESCAPED.finditer(literal, 1, len(literal) - 1):
        parts += (_bytes(literal[place : found.start()]), _meant(found))
        place = found.end()
    return b"".join((*parts, _bytes(literal[place:-1])))


def _meant(escape: re.Match[str]) -> bytes:
    byte, short, long, octal, letter = escape.groups()
    if letter:
        return _LETTERS.get(letter, letter).encode()
    if short or long:
        return chr(int(short or long, 16)).encode()
    return bytes([int(byte, 16) if byte else int(octal, 8)])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def quoted(text: str, *, like: str = '"') -> str:
    """The text as one string; in backquotes where the one that it is `like` is, and it can be."""
    if like.startswith("`") and "`" not in text and "\r" not in text:
        return f"`{text}`"
    return f'"{_UNSAFE.sub(_escaped, text)}"'


def _escaped(unsafe: re.Match[str]) -> str:
    return f"\\{unsafe[0]}" if unsafe[0] in '"\\' else f"\\x{ord(unsafe[0]):02x}"


# --- Numbers --------------------------------------------------------------------------------------

# `_` may part digits, and a prefix from them.
_DIGITS: Final = r"[0-9](?:_?[0-9])*+"
_HEX: Final = r"[0-9a-fA-F](?:_?[0-9a-fA-F])*+"
_FLOAT: Final = (
    rf"(?:0[xX](?:_?{_HEX}(?:\.(?:{_HEX})?)?|\.{_HEX})[pP][+-]?{_DIGITS}"
    rf"|(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?)"
)
_REAL: Final = re.compile(rf"[+-]?{_FLOAT}")
_BROKEN: Final = re.compile(r"[.eEpP]")
_IMAGINARY: Final = re.compile(rf"([+-]?{_FLOAT})i")
_COMPLEX: Final = re.compile(rf"([+-]?{_FLOAT})([+-]{_FLOAT})i")
_INTEGER: Final = re.compile(
    r"""(?x) (?P<sign> [+-]?) (?: 0[xX](?P<hex>(?:_?[0-9a-fA-F])++)
    | 0[oO](?P<prefixed>(?:_?[0-7])++) | 0[bB](?P<binary>(?:_?[01])++)
    | (?P<octal>0(?:_?[0-7])*+) | (?P<decimal>[1-9](?:_?[0-9])*+) )"""
)
_BASES: Final = {"hex": 16, "prefixed": 8, "binary": 2, "octal": 8, "decimal": 10}
_EXPONENT: Final = re.compile(r"(.*)([eEpP])([+-]?)([0-9]+)")
# Go stops reading an exponent when it has this many digits, so `0x1000…p-1000000` may be too large.
_EXPONENT_DIGITS: Final = 5
_LONGEST: Final = 64
_PLAIN: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|0[xX][0-9a-fA-F]+")
# Until then a number had no `_`, no `0b` and `0o`, and no fraction in hexadecimal.
_PLAIN_UNTIL: Final[Go] = (1, 13)


def is_number(text: str, go: Go) -> bool:
    """Whether a number of a template can be read: it has a form of Go's, and is not too large."""
    if go < _PLAIN_UNTIL and not _PLAIN.fullmatch(text):
        return False
    integer = _INTEGER.fullmatch(text)
    if integer:
        return _fits(integer)
    if "i" in text:
        parts = _IMAGINARY.fullmatch(text) or _COMPLEX.fullmatch(text)
        return parts is not None and all(map(_is_finite, parts.groups()))
    return bool(_REAL.fullmatch(text) and _BROKEN.search(text)) and _is_finite(text)


def _fits(integer: re.Match[str]) -> bool:
    """Whether a whole number has 64 bits at most, with its sign."""
    kind = integer.lastgroup or ""
    digits = integer[kind].replace("_", "").lstrip("0") or "0"
    value = int(digits, _BASES[kind]) if len(digits) <= _LONGEST else 2**64
    return value <= {"": 2**64 - 1, "+": 2**63 - 1, "-": 2**63}[integer["sign"]]


def _is_finite(text: str) -> bool:
    """Whether a number with a fraction or an exponent is not beyond all."""
    text = text.replace("_", "")
    is_hex = text.lstrip("+-")[:2] in ("0x", "0X")
    if is_hex or "e" in text or "E" in text:
        text = _EXPONENT.sub(_shortened, text)
    try:
        return math.isfinite(float.fromhex(text) if is_hex else float(text))
    except OverflowError:
        return False


def _shortened(parts: re.Match[str]) -> str:
    digits = parts[4].lstrip("0")[:_EXPONENT_DIGITS] or "0"
    return f"{parts[1]}{parts[2]}{parts[3]}{digits}"
