"""What commands say on a terminal: text from users is shown, never obeyed."""

import json
import sys
import unicodedata
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stoker.api.core import Object

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


def print_value(schema: str, value: dict[str, Any], form: str, indent: int | None = 2) -> None:
    """Print a value as JSON or YAML; its first member says of which schema it is.

    What the members of a schema mean is in docs/commands.md.
    """
    whole = {"schema": schema} | value
    if form == "yaml":
        import yaml

        print_utf8()
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        text = yaml.dump(whole, Dumper=dumper, sort_keys=False, allow_unicode=True)
        print("---", text, sep="\n", end="")
    else:
        print(json.dumps(whole, indent=indent))


def print_list(objects: "Sequence[Object]") -> None:
    """Print objects as kubectl prints several of them as JSON."""
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}, indent=2))


def harmless(text: str) -> str:
    """Text that a terminal only shows: what would move, colour or reorder it is spelt out."""
    return "".join(_spelt(letter) if _acts(letter) else letter for letter in text)


def _acts(letter: str) -> bool:
    return unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _spelt(letter: str) -> str:
    return letter.encode("unicode_escape").decode()
