"""Routes and inhibition rules of an AlertmanagerConfig: what Alertmanager would refuse.

Nested routes are plain JSON that no schema checked, so they are read strictly here: an unknown
field is an error, because a matcher with a typo would match everything.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from stoker.api.amconfig.routing import Matcher
from stoker.api.amconfig.v1alpha1 import Matcher as OldMatcher
from stoker.api.amconfig.v1alpha1 import Route
from stoker.api.decode import convert
from stoker.errors import DecodeError, below
from stoker.validate.alertmanager.matchers import REGEX_TYPES, TYPES, expression_problem
from stoker.validate.findings import Finding, Findings, Reason, json_name, json_names
from stoker.validate.syntax import label_name, milliseconds
from stoker.version import Version, parse_version

DEEPEST: Final = 50
_MATCHERS: Final = parse_version("0.22.0")


class NestedRouteError(Exception):
    """Why JSON is not a route; `path` leads to the fault from the route on."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


def nested_route(value: Any) -> Route:
    """The route that JSON inside of another route is."""
    if not isinstance(value, Mapping):
        raise NestedRouteError("", "must be a route")
    _refuse_unknown(value, Route, "")
    matchers = value.get("matchers")
    for index, matcher in enumerate(matchers if isinstance(matchers, Sequence) else ()):
        if isinstance(matcher, Mapping):
            _refuse_unknown(matcher, OldMatcher, f".matchers[{index}]")
    try:
        return convert(Route, {name: item for name, item in value.items() if item is not None})
    except DecodeError as error:
        raise NestedRouteError(f".{error.path}" if error.path else "", error.reason) from None


def _refuse_unknown(value: Mapping[str, Any], model: Any, path: str) -> None:
    known = json_names(model).values()
    for name in value:
        if name not in known:
            raise NestedRouteError(f"{path}.{name}", "there is no such field")


class Names(Struct, frozen=True):
    """What a route may name, and the version that reads it; None for any version."""

    receivers: frozenset[str]
    intervals: frozenset[str]
    version: Version | None = None
    utf8: bool = True


def routes(route: Any, names: Names, path: str) -> Findings:
    """The first route and all inside it."""
    if not route.receiver:
        yield Finding(below(path, "receiver"), Reason.REQUIRED, "the first route needs a receiver")
    yield from _route(route, names, path, 0)


def _route(route: Any, names: Names, path: str, depth: int) -> Findings:
    if route.receiver and route.receiver not in names.receivers:
        message = f"there is no receiver `{route.receiver}` in this object"
        yield Finding(below(path, "receiver"), Reason.INVALID_VALUE, message)
    yield from _group_by(route.group_by or (), names, below(path, "groupBy"))
    yield from _durations(route, path)
    yield from matchers(route.matchers or (), names, below(path, "matchers"))
    yield from _intervals(route, names, path)
    for index, inner in enumerate(route.routes or ()):
        where = f"{below(path, 'routes')}[{index}]"
        if depth >= DEEPEST:
            yield Finding(where, Reason.INVALID_VALUE, f"is nested deeper than {DEEPEST} routes")
            return
        try:
            child = nested_route(inner)
        except NestedRouteError as error:
            yield Finding(where + error.path, Reason.INVALID_VALUE, error.reason)
        else:
            yield from _route(child, names, where, depth + 1)


def _group_by(labels: Sequence[str], names: Names, path: str) -> Findings:
    if "..." in labels and len(labels) > 1:
        yield Finding(path, Reason.CONFLICT, "`...` must stand alone")
    seen: set[str] = set()
    for index, label in enumerate(labels):
        where = f"{path}[{index}]"
        if label in seen:
            yield Finding(where, Reason.DUPLICATE, f"`{label}` stands here twice")
        elif label != "..." and not label_name(label, legacy=not names.utf8):
            yield Finding(where, Reason.INVALID_VALUE, "cannot be the name of a label")
        seen.add(label)


def _durations(route: Any, path: str) -> Findings:
    """Durations; one of zero that Alertmanager would refuse is left out where routes are made."""
    for name in ("group_wait", "group_interval", "repeat_interval"):
        text = getattr(route, name)
        if text is not None and milliseconds(text) is None:
            where = below(path, json_name(route, name))
            yield Finding(where, Reason.INVALID_VALUE, f"`{text[:40]}` is not a duration")


def _intervals(route: Any, names: Names, path: str) -> Findings:
    for name in ("mute_time_intervals", "active_time_intervals"):
        given = getattr(route, name) or ()
        where = below(path, json_name(route, name))
        for index, interval in enumerate(given):
            if interval not in names.intervals:
                message = f"there is no time interval `{interval}` in this object"
                yield Finding(f"{where}[{index}]", Reason.INVALID_VALUE, message)


def matchers(given: Iterable[Matcher], names: Names, path: str) -> Findings:
    """Conditions that Alertmanager can read, and old ones can express."""
    for index, matcher in enumerate(given):
        where = f"{path}[{index}]"
        old = bool(names.version and names.version < _MATCHERS)
        yield from _name(matcher, names, where)
        yield from _expression(matcher, names.version, where, old=old)
        kind = matcher.match_type or ""
        if kind and kind not in TYPES:
            message = f"is not one of {', '.join(f'`{each}`' for each in TYPES)}"
            yield Finding(below(where, "matchType"), Reason.INVALID_VALUE, message)
        if old and kind.startswith("!"):
            message = "negative matchers need Alertmanager 0.22.0 or newer"
            yield Finding(below(where, "matchType"), Reason.UNSUPPORTED_VERSION, message)


def _expression(matcher: Matcher, version: Version | None, path: str, *, old: bool) -> Findings:
    kind = matcher.match_type or ("=~" if getattr(matcher, "regex", None) else "=")
    if kind not in REGEX_TYPES:
        return
    problem = expression_problem(matcher.value or "", version)
    if old and matcher.value in ("null", "~"):
        problem = "cannot be read by Alertmanager before 0.22.0"
    if problem:
        yield Finding(below(path, "value"), Reason.INVALID_VALUE, problem)


def _name(matcher: Matcher, names: Names, path: str) -> Findings:
    where = below(path, "name")
    if not matcher.name:
        yield Finding(where, Reason.REQUIRED, "must be set")
    elif not label_name(matcher.name, legacy=not names.utf8):
        message = "needs Alertmanager 0.27.0 or newer (and no classic mode): it is no plain name"
        yield Finding(where, Reason.UNSUPPORTED_VERSION, message)


def inhibit_rules(given: Any, names: Names, path: str) -> Findings:
    """Matchers of both sides, and labels to compare."""
    for index, rule in enumerate(given or ()):
        where = f"{path}[{index}]"
        yield from matchers(rule.source_match or (), names, below(where, "sourceMatch"))
        yield from matchers(rule.target_match or (), names, below(where, "targetMatch"))
        for at, label in enumerate(rule.equal or ()):
            if not label_name(label, legacy=not names.utf8):
                place = f"{below(where, 'equal')}[{at}]"
                yield Finding(place, Reason.INVALID_VALUE, "cannot be the name of a label")
