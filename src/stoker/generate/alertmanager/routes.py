"""Routes and inhibition rules of an AlertmanagerConfig, kept to the alerts of its namespace.

Whatever a tenant writes, the first route and both sides of an inhibition rule get a matcher for
the namespace beside the tenant's own (all of them must match), and names of receivers and time
intervals begin with namespace and name of the object, so that none can be another's. The first
route always goes on to the next, so that no tenant takes alerts away from others.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from stoker.api.amconfig.routing import InhibitRule, Matcher
from stoker.errors import ResourceError
from stoker.generate.block import Block
from stoker.generate.draft import Ignored
from stoker.generate.order import in_order
from stoker.validate.alertmanager.matchers import REGEX_TYPES, matcher_text
from stoker.validate.alertmanager.routes import NestedRouteError, nested_route
from stoker.validate.findings import json_name
from stoker.validate.syntax import milliseconds
from stoker.version import Version, parse_version

NAMESPACE: Final = "namespace"
_MATCHERS: Final = parse_version("0.22.0")


class Tenant(Struct, frozen=True):
    """Whose routes they are.

    `prefix` begins the names of receivers and intervals. `namespace` is the one whose alerts are
    seen, empty for all. What is left out of the routes is added to `ignored`.
    """

    prefix: str
    version: Version
    namespace: str = ""
    ignored: list[Ignored] = []

    def own(self, name: str) -> str:
        """The name of a receiver or time interval in the file."""
        return self.prefix + name


def top_route(route: Any, tenant: Tenant) -> Block:
    """The first route of an AlertmanagerConfig that is one of several."""
    block = route_block(route, tenant, "spec.route", tenant.namespace)
    return _in_order(block | {"continue": True})


_ORDER: Final = (
    "receiver",
    "group_by",
    "match",
    "match_re",
    "matchers",
    "continue",
    "routes",
    "group_wait",
    "group_interval",
    "repeat_interval",
    "mute_time_intervals",
    "active_time_intervals",
)


def _in_order(block: Block) -> Block:
    return {key: block[key] for key in _ORDER if block.get(key)}


def route_block(route: Any, tenant: Tenant, path: str, namespace: str = "") -> Block:
    """A route and those inside it; with a namespace, for no alerts but those of that one."""
    block: Block = {
        "receiver": tenant.own(route.receiver) if route.receiver else None,
        "group_by": list(route.group_by or ()),
        **_matchers(route.matchers or (), tenant.version, namespace),
        "continue": route.continue_,
        "routes": [
            route_block(
                _nested(inner, f"{path}.routes[{index}]"), tenant, f"{path}.routes[{index}]"
            )
            for index, inner in enumerate(route.routes or ())
        ],
        "group_wait": route.group_wait,
        "group_interval": _pace(route, "group_interval", tenant, path),
        "repeat_interval": _pace(route, "repeat_interval", tenant, path),
        "mute_time_intervals": list(map(tenant.own, route.mute_time_intervals or ())),
        "active_time_intervals": list(map(tenant.own, route.active_time_intervals or ())),
    }
    return _in_order(block)


def _pace(route: Any, name: str, tenant: Tenant, path: str) -> str | None:
    """An interval; one of zero is left out, since Alertmanager refuses a whole file for it."""
    text: str | None = getattr(route, name)
    if text and milliseconds(text) == 0:
        where = f"{path}.{json_name(route, name)}"
        tenant.ignored.append(Ignored(where, "must not be zero"))
        return None
    return text


def _nested(route: Any, path: str) -> Any:
    try:
        return nested_route(route)
    except NestedRouteError as error:
        raise ResourceError(path + error.path, error.reason) from None


def match_type(matcher: Matcher) -> str:
    """How a matcher compares; the old `regex` counts where nothing newer is said."""
    if matcher.match_type:
        return matcher.match_type
    return "=~" if getattr(matcher, "regex", None) else "="


def _matchers(
    matchers: Sequence[Matcher], version: Version, namespace: str, prefix: str = ""
) -> Block:
    """All matchers, as lines or for an old version as mappings; the namespace's own last.

    Those of an inhibition rule have a `prefix`, and there it is not written twice.
    """
    if version < _MATCHERS:
        return _old_matchers(matchers, namespace, prefix)
    lines = [matcher_text(each.name, match_type(each), each.value or "") for each in matchers]
    own = matcher_text(NAMESPACE, "=", namespace)
    if namespace and not (prefix and own in lines):
        lines.append(own)
    return {f"{prefix}matchers": lines}


def _old_matchers(matchers: Sequence[Matcher], namespace: str, prefix: str) -> Block:
    """A mapping has one value for a name: that of the namespace is set last, so it stays."""
    equal: dict[str, str] = {}
    expressions: dict[str, str] = {}
    for each in matchers:
        kind = expressions if match_type(each) in REGEX_TYPES else equal
        kind[each.name] = each.value or ""
    if namespace:
        equal[NAMESPACE] = namespace
    return {f"{prefix}match": in_order(equal), f"{prefix}match_re": in_order(expressions)}


def inhibit_rule(rule: InhibitRule, tenant: Tenant) -> Block:
    """An inhibition rule among the alerts of the tenant's namespace."""
    target = _matchers(rule.target_match or (), tenant.version, tenant.namespace, "target_")
    source = _matchers(rule.source_match or (), tenant.version, tenant.namespace, "source_")
    block = {**target, **source, "equal": list(rule.equal or ())}
    return {key: value for key, value in block.items() if value}
