"""One AlertmanagerConfig at the door, in either version: what an admission webhook says about it.

The checks are those of `alertmanagerconfig`, with no Secret read and for no version of Alertmanager
in particular, so that the webhook and the operator can never disagree. Added is what only the door
asks: types, which were not checked yet, and the fields that nested routes have in this version.
"""

from typing import Any

from stoker.api.amconfig import v1beta1
from stoker.api.decode import convert
from stoker.errors import DecodeError
from stoker.limits import NO_CHANGES, Limits
from stoker.select.choice import AlertmanagerConfig
from stoker.validate.alertmanager.config import settings_of
from stoker.validate.alertmanager.routes import DEEPEST
from stoker.validate.budget import over_budget
from stoker.validate.findings import Finding, Findings, Reason


def raw_alertmanager_config(
    model: type[AlertmanagerConfig], given: Any, limits: Limits = NO_CHANGES
) -> Findings:
    """What is wrong with JSON that was not decoded yet; what it costs first."""
    over = tuple(over_budget(given.get("spec"), limits, nested=True))
    if over:
        yield from over
        return
    try:
        found: AlertmanagerConfig = convert(model, given)
    except DecodeError as error:
        yield Finding(error.path, Reason.INVALID_VALUE, error.reason)
        return
    yield from alertmanager_config(found)


def alertmanager_config(config: AlertmanagerConfig) -> Findings:
    """What is wrong with an AlertmanagerConfig, as far as it can be seen without its Secrets."""
    said = set()
    for finding in settings_of(config):
        said.add(finding.path)
        yield finding
    for finding in _regexes(config):
        if finding.path not in said:
            yield finding


def _regexes(config: AlertmanagerConfig) -> Findings:
    """Matchers with `regex` inside of nested routes, where no schema keeps v1beta1 from it."""
    if isinstance(config, v1beta1.AlertmanagerConfig) and config.spec.route is not None:
        yield from _regexes_below(config.spec.route.routes, "spec.route.routes", 1)


def _regexes_below(routes: Any, path: str, depth: int) -> Findings:
    for index, route in enumerate(routes or ()) if depth < DEEPEST else ():
        here = f"{path}[{index}]"
        members = route if isinstance(route, dict) else {}
        for at, matcher in enumerate(_list(members.get("matchers"))):
            if isinstance(matcher, dict) and "regex" in matcher:
                where = f"{here}.matchers[{at}].regex"
                message = "v1beta1 has no such field: use `matchType: =~`"
                yield Finding(where, Reason.INVALID_VALUE, message)
        yield from _regexes_below(_list(members.get("routes")), f"{here}.routes", depth + 1)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
