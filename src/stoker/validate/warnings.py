"""Fields that are set and should not be: deprecated ones, and such as another one overrules.

Nothing is refused for them. That a field is deprecated stands in its description, so there is no
list of them here; `OVERRULED` is the table of pairs in which one field makes another useless.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from stoker.api.core import Object
from stoker.api.crd import KindVersion, version_schema
from stoker.api.schema import Schema
from stoker.errors import below

_DEPRECATED: Final = "Deprecated: "
# Kind, the useless field, the field because of which it is.
OVERRULED: Final = (
    ("AlertmanagerConfig", "regex", "matchType"),
    ("AlertmanagerConfig", "proxyUrl", "proxyURL"),
    ("AlertmanagerConfig", "url", "urlSecret"),
    ("PodMonitor", "targetPort", "port"),
    ("PodMonitor", "targetPort", "portNumber"),
)
_FIRST_ROUTE: Final = "spec.route.continue: is ignored: the first route always continues"
_DEEPEST: Final = 100


def warnings(version: KindVersion, given: Object) -> Iterator[str]:
    """A sentence with the path for each field of an object that is set for nothing or too late."""
    kind = version.model.__name__
    yield from _warnings(kind, _schema(version), {"spec": given.get("spec")}, "", 0)
    route = (given.get("spec") or {}).get("route") if kind == "AlertmanagerConfig" else None
    if isinstance(route, dict) and route.get("continue") is False:
        yield _FIRST_ROUTE


@cache
def _schema(version: KindVersion) -> Schema:
    return version_schema(version)


def _warnings(kind: str, schema: Schema, value: Any, path: str, depth: int) -> Iterator[str]:
    if isinstance(value, list) and depth < _DEEPEST:
        for index, item in enumerate(value):
            inner = schema.get("items") or {}
            yield from _warnings(kind, inner, item, f"{path}[{index}]", depth + 1)
    if not isinstance(value, dict) or depth >= _DEEPEST:
        return
    for name, item in value.items():
        inner = _member(schema, name)
        where = below(path, name)
        problem = _problem(kind, inner, name, value)
        if problem and item not in (None, "", [], {}):
            yield f"{where}: {problem}"
        yield from _warnings(kind, inner, item, where, depth + 1)


def _member(schema: Schema, name: str) -> Schema:
    found: Schema = schema.get("properties", {}).get(name) or {}
    if name == "routes" and found:
        # Plain JSON to the schema; in truth a list of what it stands in.
        return {"items": schema}
    return found


def _problem(kind: str, schema: Schema, name: str, holder: Object) -> str:
    for where, useless, because in OVERRULED:
        if (kind, name) == (where, useless) and holder.get(because):
            return f"is ignored: `{because}` is set"
    text: str = schema.get("description", "")
    if not text.startswith(_DEPRECATED):
        return ""
    return f"deprecated: {text.removeprefix(_DEPRECATED).partition('. ')[0]}"
