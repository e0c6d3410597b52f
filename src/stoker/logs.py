"""Structured logs on standard error: logfmt or JSON, one line for each event.

    log = logs.logger("prometheus-controller")
    log.info("configuration written", namespace="shop", name="main", seconds=0.02)

    ts=2026-11-15T11:36:00.123Z level=info caller=loop.py:41 msg="configuration written" \
component=prometheus-controller namespace=shop name=main seconds=0.02

It stands on Python's `logging`, so that lines of asyncio and aiohttp come out in the same form. A
value is never structure: whatever could end it, its line or the terminal's manners is escaped. What
looks like a credential is left out, in every value, as the last line of defence; callers do not
log secrets in the first place.
"""

import json
import logging
import re
import sys
import time
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, TextIO

_LEVELS: Final = {
    "all": logging.NOTSET + 1,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "none": logging.CRITICAL + 1,
}
_LONGEST: Final = 8192
_HIDDEN: Final = "<hidden>"
_FIELDS: Final = "stoker_fields"

_CREDENTIALS: Final = (
    # The user and password in a URL.
    (re.compile(r"(://)[^/?#\s@\"']+@"), rf"\1{_HIDDEN}@"),
    # HTTP's Authorization.
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{6,}", re.IGNORECASE), rf"\1 {_HIDDEN}"),
    # A JSON web token, such as a service account's.
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), _HIDDEN),
    # A private key, whole or begun.
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL),
        _HIDDEN,
    ),
    # `password: x`, `"token": "x"`, `api_key=x`; after a dot it is the path to a field, no value.
    (
        re.compile(
            r"(?<![.\w-])([\w-]{0,32}?(?:password|passwd|secret_?key|client_?secret|api_?key|token|credentials)"
            r"[\"']?\s{0,4}[:=]\s{0,4})(?:\"[^\"]*\"?|'[^']*'?|[^\s,;&\"'}]+)",
            re.IGNORECASE,
        ),
        rf"\1{_HIDDEN}",
    ),
)


class Logger:
    """Writes lines about one component, each with these fields."""

    def __init__(self, component: str = "", /, **fields: Any) -> None:
        self._logger = logging.getLogger(f"stoker.{component}" if component else "stoker")
        self._component = component
        self._fields = fields

    def debug(self, message: str, /, **fields: Any) -> None:
        """Write what helps to find a fault."""
        self._write(logging.DEBUG, message, fields)

    def info(self, message: str, /, **fields: Any) -> None:
        """Write what happened."""
        self._write(logging.INFO, message, fields)

    def warn(self, message: str, /, **fields: Any) -> None:
        """Write what somebody should look at."""
        self._write(logging.WARNING, message, fields)

    def error(self, message: str, /, **fields: Any) -> None:
        """Write what failed; `err` is the error, of which the line says the words."""
        self._write(logging.ERROR, message, fields)

    def _write(self, level: int, message: str, fields: Mapping[str, Any]) -> None:
        if self._logger.isEnabledFor(level):
            own = {"component": self._component} if self._component else {}
            extra = {_FIELDS: {**own, **self._fields, **fields}}
            self._logger.log(level, "%s", message, extra=extra, stacklevel=3)


def logger(component: str = "", /, **fields: Any) -> Logger:
    """A logger for a component."""
    return Logger(component, **fields)


def configure(level: str, form: str, stream: TextIO | None = None) -> None:
    """Send all logs to standard error, in this form (`logfmt` or `json`), from this level on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_JsonLines() if form == "json" else _LogfmtLines())
    logging.basicConfig(level=_LEVELS[level], handlers=[handler], force=True)
    # Each request of a probe or a scrape is no news; neither is what others think worth debugging.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    logging.getLogger("asyncio").setLevel(max(logging.INFO, _LEVELS[level]))


def redact(text: str) -> str:
    """The text less what looks like a credential."""
    for pattern, replacement in _CREDENTIALS:
        text = pattern.sub(replacement, text)
    return text


class _LogfmtLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return " ".join(f"{key}={_logfmt(value)}" for key, value in _members(record).items())


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _without_controls(json.dumps(_members(record), ensure_ascii=False))


def _members(record: logging.LogRecord) -> dict[str, Any]:
    """What a line says, in its order."""
    milliseconds = f"{int(record.msecs):03}"
    members: dict[str, Any] = {
        "ts": time.strftime(f"%Y-%m-%dT%H:%M:%S.{milliseconds}Z", time.gmtime(record.created)),
        "level": _level_name(record.levelno),
        "caller": f"{record.filename}:{record.lineno}",
        "msg": _shown(record.getMessage()),
    }
    fields: Mapping[str, Any] = getattr(record, _FIELDS, None) or {"component": record.name}
    for key, value in fields.items():
        name = _key(key)
        members[f"{name}_" if name in members else name] = _shown(value)
    if record.exc_info:
        members["stack"] = _shown(logging.Formatter().formatException(record.exc_info))
    return members


def _level_name(number: int) -> str:
    names = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING}
    return next((name for name, limit in names.items() if number <= limit), "error")


def _key(text: str) -> str:
    """A key that is one word, whatever it was made of."""
    return re.sub(r"[^\w.-]", "_", text)


def _shown(value: Any) -> Any:
    """A value as a line holds it: numbers as they are, all else as text of a bounded length."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, BaseException):
        value = str(value) or type(value).__name__
    text = redact(str(value)[: _LONGEST + 1])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _logfmt(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if value and value.isprintable() and not set(value) & set(' ="\\'):
        return value
    return _without_controls(json.dumps(value, ensure_ascii=False))


def _without_controls(text: str) -> str:
    """The text with what a terminal would obey spelt out: JSON escapes only a part of that."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def _escaped(letter: str) -> str:
    encoded = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{encoded[at : at + 2].hex()}" for at in range(0, len(encoded), 2))
