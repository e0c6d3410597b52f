"""Who owns which fields (`managedFields`) of objects whose version is gone.

Each entry names the version that its fields are in, and a server-side apply converts the object to
that version to compare them. Once a version is taken out of a definition that fails, for everybody
who applies such an object and for as long as the entry is there. An entry changes its version only
when its own manager applies again. So entries of versions that are not served any more are put into
one that is: fields have the same names there, but for a few that nobody owns then.
"""

from collections.abc import Collection, Sequence
from typing import Any

from stoker.api.core import Object


def is_stale(managed_fields: Sequence[Object], served: Collection[str]) -> bool:
    """Whether an entry is in a version that is not among those served (`group/version`)."""
    return any(each.get("apiVersion") not in served for each in managed_fields)


def renewed(
    managed_fields: Sequence[Object], served: Collection[str], api_version: str
) -> list[Object]:
    """The entries, those that are stale in another version instead."""
    made: dict[tuple[object, ...], Object] = {}
    for each in managed_fields:
        version = each.get("apiVersion")
        entry = each if version in served else {**each, "apiVersion": api_version}
        # The API server would keep one of two entries that are told apart by their version alone.
        names = ("manager", "operation", "subresource", "apiVersion")
        key = tuple(entry.get(name) for name in names)
        made[key] = _both(made[key], entry) if key in made else entry
    return list(made.values())


def _both(one: Object, other: Object) -> Object:
    return {**one, "fieldsV1": _union(one.get("fieldsV1") or {}, other.get("fieldsV1") or {})}


def _union(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The fields of both; they are known by their names, and the values are more names."""
    made = dict(one)
    for name, inner in other.items():
        made[name] = _union(made.get(name) or {}, inner or {})
    return made
