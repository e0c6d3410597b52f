"""What commands say on a terminal: text from users is shown, never obeyed."""

import os
import sys
import unicodedata
from collections.abc import Iterable
from io import TextIOWrapper
from typing import TypeAlias

_FAILED = 2


def failed(command: str, reason: object) -> int:
    """Say why a command cannot do its work; the exit status for that."""
    text = reason
    if isinstance(reason, OSError):
        text = f"{reason.filename}: {reason.strerror}" if reason.filename else reason.strerror
    print(harmless(f"stoker {command}: {text}"), file=sys.stderr)
    return _FAILED


def print_utf8() -> None:
    """From now on print UTF-8, whatever the terminal speaks: so YAML is written."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


Line: TypeAlias = tuple[str, int]
"""A line, and the number of its colour; 0 for none."""


def print_coloured(lines: Iterable[Line]) -> None:
    """Print lines, in colours on a terminal that wants some, in letters that it has."""
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    encoding = sys.stdout.encoding or "utf-8"
    for line, colour in lines:
        safe = harmless(line).encode(encoding, "backslashreplace").decode(encoding)
        print(f"\033[{colour}m{safe}\033[0m" if coloured and colour and safe else safe)


def harmless(text: str) -> str:
    """Text that a terminal only shows: what would move, colour or reorder it is spelt out."""
    return "".join(_spelt(letter) if _acts(letter) else letter for letter in text)


def _acts(letter: str) -> bool:
    return unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _spelt(letter: str) -> str:
    return letter.encode("unicode_escape").decode()
