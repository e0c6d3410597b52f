"""Parts of AlertmanagerConfigs, checked on their own: days, HTTP clients, responders."""

from typing import Final

from stoker.api.amconfig.intervals import DayOfMonthRange
from stoker.api.amconfig.paging import OpsgenieResponder
from stoker.api.amconfig.receivers import Http
from stoker.errors import below
from stoker.validate.alertmanager.syntax import go_template_problem
from stoker.validate.findings import Finding, Findings, Reason
from stoker.validate.http import conflict
from stoker.validate.syntax import Url
from stoker.version import Version

_DAYS: Final = 31
_RESPONDERS: Final = ("team", "teams", "user", "escalation", "schedule")


def day_of_month_range(days: DayOfMonthRange, path: str) -> Findings:
    """Days that some month has, the first not after the last in every month."""
    start, end = days.start or 0, days.end or 0
    outside = [(name, day) for name, day in (("start", start), ("end", end)) if not _is_day(day)]
    for name, day in outside:
        yield Finding(below(path, name), Reason.INVALID_VALUE, f"{day} is no day of a month")
    if not outside and _ends_before(start, end):
        message = f"{end} comes before the start, {start}, in every month"
        yield Finding(below(path, "end"), Reason.CONFLICT, message)


def _is_day(day: int) -> bool:
    return 1 <= abs(day) <= _DAYS


def _ends_before(start: int, end: int) -> bool:
    if start < 0 < end:
        # The last days of a month are before the first ones in none.
        return True
    # A day that counts from the end comes latest in the longest month.
    latest = end + _DAYS + 1 if end < 0 < start else end
    return latest < start


def http_client(client: Http, path: str) -> Findings:
    """One way to authenticate, and a proxy that can be read as a URL."""
    given = {
        "authorization": client.authorization,
        "basicAuth": client.basic_auth,
        "oauth2": client.oauth2,
    }
    names = [f"`{name}`" for name, value in given.items() if value is not None]
    if len(names) > 1:
        yield conflict(path, f"{' and '.join(names)} exclude each other")
    for name, text in (("proxyURL", client.deprecated_proxy_url), ("proxyUrl", client.proxy_url)):
        problem = Url(text).problem if text else ""
        if problem:
            yield Finding(below(path, name), Reason.INVALID_VALUE, problem)


def opsgenie_responder(
    responder: OpsgenieResponder, path: str, version: Version | None = None
) -> Findings:
    """Somebody who can be told apart, of a known type or one that a template tells."""
    if not (responder.id or responder.name or responder.username):
        yield Finding(path, Reason.REQUIRED, "needs `id`, `name` or `username`")
    kind = responder.type
    if "{{" in kind:
        problem = go_template_problem(kind, version)
        if problem:
            yield Finding(below(path, "type"), Reason.INVALID_VALUE, problem)
    elif kind not in _RESPONDERS:
        allowed = ", ".join(f"`{one}`" for one in _RESPONDERS)
        yield Finding(below(path, "type"), Reason.INVALID_VALUE, f"is not one of {allowed}")
