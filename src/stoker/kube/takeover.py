"""Taking over objects that another operator wrote.

Server-side apply removes what its manager applied before and does not apply any more. The peer
writes by plain updates, so its fields are not ours: what we leave out would stay for ever. Before
our first apply its entries in `managedFields` are therefore merged into ours. That changes metadata
only; nobody's generation increases and nothing is rolled.

Of an object that we write, others may add to the metadata, and that stays theirs (`adopt` leaves
all that they have). What they do to the rest is undone, also where they added something: `claimed`
gives us the fields of everybody there, and the labels and annotations whose names are reserved for
operators.
"""

from collections.abc import Container, Mapping, Sequence
from functools import reduce
from typing import Any, Final

from stoker.api.core import Object
from stoker.kube.client import Client
from stoker.kube.resources import resource_of

PEER_MANAGERS: Final = frozenset({"PrometheusOperator", "prometheus-operator"})

PEER_FINALIZER: Final = "monitoring.coreos.com/status-cleanup"
"""What the peer puts on workloads, so that it can take its bindings away when they go."""

# What an object is about. Beside it are metadata, status, and what can never be changed.
_CONTENT: Final = frozenset({"f:spec", "f:data", "f:binaryData"})
# Within it: restarts by `kubectl rollout` are annotations of pods, and addresses are the cluster's.
_OTHERS: Final[Mapping[str, Any]] = {
    "f:spec": {
        "f:template": {"f:metadata": {}},
        **{name: {} for name in ("f:clusterIPs", "f:ipFamilies", "f:ipFamilyPolicy")},
    }
}
# Labels and annotations whose names begin so say what an operator thinks of an object.
_RESERVED: Final = "f:operator.prometheus.io/"
# No manager has this name.
_NOBODY: Final = "/"


def adopted(
    managed_fields: Sequence[Mapping[str, Any]] | None,
    from_managers: Container[str],
    to_manager: str,
    subresource: str = "",
) -> list[Object] | None:
    """The `managedFields` with the entries of some managers merged into one's applied entry.

    Only entries of the subresource count ("" for the object itself). None: nothing to take over.
    """
    entries = [dict(entry) for entry in managed_fields or []]

    def is_own(entry: Object) -> bool:
        return (entry["manager"], entry["operation"]) == (to_manager, "Apply")

    here = [each for each in entries if each.get("subresource", "") == subresource]
    taken = [each for each in here if each["manager"] in from_managers and not is_own(each)]
    if not taken:
        return None
    own = [each for each in here if is_own(each)]
    sets = [each.get("fieldsV1") or {} for each in own + taken]
    merged = (own + taken)[0] | {
        "manager": to_manager,
        "operation": "Apply",
        "fieldsV1": reduce(union, sets),
    }
    return [merged, *(entry for entry in entries if entry not in own + taken)]


def union(left: Mapping[str, Any], right: Mapping[str, Any]) -> Object:
    """The fields that are in one of two sets, or in both (`fieldsV1`: a tree of names)."""
    shared = {name: union(left[name], right[name]) for name in left.keys() & right.keys()}
    return {**left, **right, **shared}


def claimed(
    managed_fields: Sequence[Mapping[str, Any]] | None, manager: str
) -> list[Object] | None:
    """The `managedFields` in which one has all that is an operator's, and all that the peer had.

    None: they are so already.
    """
    after_peer = adopted(managed_fields, PEER_MANAGERS, manager)
    entries = [dict(each) for each in after_peer or managed_fields or ()]
    taken: list[Object] = []
    left: list[Object] = []
    for entry in entries:
        is_own = (entry["manager"], entry["operation"]) == (manager, "Apply")
        ours, others = _parted(entry) if not is_own else ({}, entry.get("fieldsV1"))
        taken += [entry | {"fieldsV1": ours}] if ours else []
        left += [entry | {"fieldsV1": others}] if others else []
    if not taken:
        return after_peer
    merged = [each | {"manager": _NOBODY} for each in taken]
    return adopted([*left, *merged], {_NOBODY}, manager)


def overruled(managed_fields: Sequence[Mapping[str, Any]] | None, manager: str) -> list[str]:
    """Who else has a part of an object's content, which is one's alone once it is `claimed`."""
    others = (each for each in managed_fields or () if each["manager"] != manager)
    return sorted({each["manager"] for each in others if _parted(each)[0]} - PEER_MANAGERS)


def _parted(entry: Mapping[str, Any]) -> tuple[Object, Object]:
    """The fields of an entry that must be ours, and the others; a subresource has none of ours."""
    fields = entry.get("fieldsV1") or {}
    if entry.get("subresource"):
        return {}, fields
    content = {name: inner for name, inner in fields.items() if name in _CONTENT}
    reserved = _reserved(fields.get("f:metadata") or {})
    ours = without(content, _OTHERS) | ({"f:metadata": reserved} if reserved else {})
    return ours, without(fields, ours)


def _reserved(metadata: Mapping[str, Any]) -> Object:
    """The labels and annotations among the fields of metadata that are an operator's alone."""
    found: Object = {
        kind: {name: {} for name in metadata.get(kind) or () if name.startswith(_RESERVED)}
        for kind in ("f:labels", "f:annotations")
    }
    return {kind: names for kind, names in found.items() if names}


def without(fields: Mapping[str, Any], taken: Mapping[str, Any]) -> Object:
    """A set of fields less those in another, whose leaves take all that is below them."""
    remaining: Object = {}
    for name, inner in fields.items():
        if name not in taken:
            remaining[name] = inner
        elif taken[name] and (rest := without(inner, taken[name])):
            remaining[name] = rest
    return remaining


async def claim(client: Client, live: Object, manager: str) -> Object:
    """Make the content of an object ours before it is applied; return it as it is then.

    Its version must be the live one.
    """
    fields = claimed(live["metadata"].get("managedFields"), manager)
    if fields is None:
        return live
    return await set_managed_fields(client, live, fields, manager)


async def adopt(
    client: Client,
    live: Object,
    manager: str,
    *,
    from_managers: Container[str] = PEER_MANAGERS,
    subresource: str = "",
) -> Object:
    """Make the fields of other managers ours; return the object as it is then.

    Nothing is written when there is nothing to take over. An object that changed since it was read
    is a `Conflict`.
    """
    metadata = live["metadata"]
    fields = adopted(metadata.get("managedFields"), from_managers, manager, subresource)
    if fields is None:
        return live
    return await set_managed_fields(client, live, fields, manager)


async def set_managed_fields(
    client: Client, live: Object, fields: Sequence[Object], manager: str
) -> Object:
    """Say who has which fields of an object; one that changed since is a `Conflict`."""
    metadata = live["metadata"]
    # A resource version in a patch is a precondition. A `test` of it would be one too, but fails
    # as Invalid, which says that the object is wrong.
    patch = [
        {"op": "replace", "path": "/metadata/managedFields", "value": fields},
        {
            "op": "replace",
            "path": "/metadata/resourceVersion",
            "value": metadata["resourceVersion"],
        },
    ]
    return await client.json_patch(
        resource_of(live), metadata.get("namespace"), metadata["name"], patch, manager=manager
    )
