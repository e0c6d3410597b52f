"""What a piece of text must look like for Alertmanager: URLs, templates, mail servers, ranges.

Two fields are parsed as templates when the configuration is loaded: the URL of a webhook and the
type of a responder of Opsgenie. They may use what every Go template can, and none of the functions
that Alertmanager has for notifications. All others are read when something is sent; of those, the
ones that are URLs are held to the same, as the peer holds them.
"""

import re
from typing import Final

from msgspec import Struct

from stoker.golang import NEWEST
from stoker.golang.template import Setting, refusal
from stoker.golang.versions import go_of_alertmanager
from stoker.validate.syntax import web_url_problem
from stoker.version import Version

TEMPLATES_IN_URLS: Final = "0.31.0"
TEMPLATES_IN_RESPONDERS: Final = "0.25.0"
"""The Alertmanagers that read a template in the URL of a webhook, and in the type of a responder.

To those before them, it is a URL like any other, or a type that there is not.
"""


def go_template_problem(text: str, version: Version | None = None, *, secret: bool = False) -> str:
    """Why this Alertmanager (None: the newest) takes a text for no template; empty where it does.

    A text without any action is one. A `secret` is not quoted.
    """
    go = go_of_alertmanager(version) if version else NEWEST
    problem = refusal(text, Setting(go=go)) if "{{" in text else ""
    if not problem:
        return ""
    return f"is a template that cannot be read{'' if secret else f': {problem}'}"


def url_or_template_problem(
    text: str, version: Version | None = None, *, secret: bool = False
) -> str:
    """Why a text is neither a URL nor a template; empty for one that is, and for none at all."""
    if not text:
        return ""
    if "{{" in text:
        return go_template_problem(text, version, secret=secret)
    return web_url_problem(text)


def smart_host_problem(text: str) -> str:
    """Why this is not a mail server with its port; empty if it is."""
    host, colon, port = text.rpartition(":")
    if not colon or not port or "]" in port:
        return "needs a port, as `mail.example.com:587`"
    name = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if "[" in name + port or "]" in name:
        return "has a bracket out of place"
    return "has too many colons" if ":" in name and name == host else ""


# --- Ranges of time -------------------------------------------------------------------------------

_CLOCK: Final = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00")
_WEEKDAYS: Final = (
    "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
)  # fmt: skip
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,9}")


def clock_problem(start: str, end: str) -> str:
    """Why two times of day are not a range; both as `HH:MM`."""
    if not _CLOCK.fullmatch(start) or not _CLOCK.fullmatch(end):
        return "needs a start and an end as `HH:MM`"
    return "" if start < end else "must end after it starts"


def weekday(text: str) -> int | None:
    """The number of a day of the week."""
    return _WEEKDAYS.index(text) if text in _WEEKDAYS else None


def month(text: str) -> int | None:
    """The number of a month, by its name or as it is."""
    return _MONTHS.index(text) + 1 if text in _MONTHS else integer(text)


def integer(text: str) -> int | None:
    """A whole number."""
    return int(text) if _INTEGER.fullmatch(text) else None


class Range(Struct, frozen=True):
    """A range as Alertmanager writes it (`text`), or why it is none (`problem`)."""

    text: str = ""
    problem: str = ""


def range_of(kind: str, text: str) -> Range:
    """A range of `weekdays`, `days_of_month`, `months` or `years`, or a single one."""
    member = _MEMBERS[kind]
    ends = [member(part) for part in text.lower().split(":")]
    if len(ends) > 2 or None in ends:
        return Range(problem=f"`{text[:40]}` is no range of {kind.replace('_', ' ')}")
    first, last = ends[0] or 0, ends[-1] or 0
    problem = _order_problem(kind, first, last)
    if problem:
        return Range(problem=problem)
    words = [_WEEKDAYS[end] if kind == "weekdays" else str(end) for end in (first, last)]
    return Range(words[0] if first == last else ":".join(words))


def _order_problem(kind: str, first: int, last: int) -> str:
    if kind == "days_of_month":
        return _days_problem(first, last)
    return "" if first <= last else "ends before it starts"


def _days_problem(first: int, last: int) -> str:
    """Days are compared in the shortest month."""
    for day in (first, last):
        if not 1 <= abs(day) <= _LONGEST_MONTH:
            return f"{day} is no day of a month"
    if first < 0 < last:
        return "must end with a negative day too if it starts with one"
    counted = [day + _SHORTEST_MONTH if day < 0 else day for day in (first, last)]
    return "" if counted[0] <= counted[1] else "ends before it starts"


_LONGEST_MONTH: Final = 31
_SHORTEST_MONTH: Final = 28
_MEMBERS: Final = {
    "weekdays": weekday,
    "days_of_month": integer,
    "months": month,
    "years": integer,
}
