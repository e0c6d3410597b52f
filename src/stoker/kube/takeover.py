"""Taking over objects that another operator wrote.

Server-side apply removes what its manager applied before and does not apply any more. The peer
writes by plain updates, so its fields are not ours: what we leave out would stay for ever. Before
our first apply its entries in `managedFields` are therefore merged into ours. That changes metadata
only; nobody's generation increases and nothing is rolled. Fields of all others stay theirs.
"""

from collections.abc import Container, Mapping, Sequence
from functools import reduce
from typing import Any, Final

from stoker.api.core import Object
from stoker.kube.client import Client
from stoker.kube.resources import resource_of

PEER_MANAGERS: Final = frozenset({"PrometheusOperator", "prometheus-operator"})


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
