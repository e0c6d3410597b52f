"""The log: one line for each event on standard error, as logfmt or JSON.

What is logged are names of files, states and numbers, never the text of a configuration.
"""

from __future__ import annotations

import json
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

LEVELS: Final = ("all", "debug", "info", "warn", "error", "none")
FORMATS: Final = ("logfmt", "json")


class Journal:
    """Writes what is at least as important as the level."""

    def __init__(self, level: str = "info", style: str = "logfmt") -> None:
        self._least = LEVELS.index(level)
        self._style = style

    def debug(self, message: str, **fields: object) -> None:
        """Of use when looking for a mistake."""
        self._write("debug", message, fields)

    def info(self, message: str, **fields: object) -> None:
        """Something happened as it should."""
        self._write("info", message, fields)

    def warn(self, message: str, **fields: object) -> None:
        """Something is not as it should be, but all works."""
        self._write("warn", message, fields)

    def error(self, message: str, **fields: object) -> None:
        """Something failed."""
        self._write("error", message, fields)

    def _write(self, level: str, message: str, fields: dict[str, object]) -> None:
        if LEVELS.index(level) < self._least:
            return
        moment = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))
        entry = {"ts": f"{stamp}.{int(moment % 1 * 1000):03}Z", "level": level, "msg": message}
        entry |= {name: str(value) for name, value in fields.items()}
        text = json.dumps(entry) if self._style == "json" else " ".join(map(_pair, entry.items()))
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _pair(field: tuple[str, str]) -> str:
    name, value = field
    plain = value.isprintable() and value and not set(value) & set(' "=')
    return f"{name}={value if plain else json.dumps(value)}"
