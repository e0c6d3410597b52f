"""Targets that are objects of a Kubernetes cluster.

Which metadata of other objects can be attached, and since when, depends on the role, so that row is
chosen for each discovery.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.scrapeconfig.discovery.kubernetes import (
    KubernetesDiscovery,
    KubernetesMetadata,
    KubernetesNamespaces,
)
from stoker.generate.block import Block
from stoker.generate.discovery.rows import (
    CREDENTIALS,
    PROXY,
    REQUESTS,
    TLS,
    Each,
    OneOf,
    items,
    lower,
)
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, Table, Write, put

_NAMESPACES: Final[Table] = (
    Member("names", write=items),
    Member("own_namespace", since="2.33.0"),
)
_SELECTOR: Final[Table] = (Member("role", write=lower), Member("label"), Member("field"))


def _namespaces(namespaces: KubernetesNamespaces, draft: ScraperDraft, path: str) -> Block | None:
    block: Block = {}
    put(block, _NAMESPACES, namespaces, draft, path)
    return block or None


def _elsewhere(roles: str) -> Write:
    """Leaves a field out: it is for the targets of other roles."""

    def leave_out(_wanted: bool, draft: ScraperDraft, path: str) -> None:
        draft.ignore(path, f"needs the role {roles}")

    return leave_out


_NODE: Final = Member("node", write=_elsewhere("Pod, Endpoints or EndpointSlice"))
_NAMESPACE: Final = Member("namespace", since="3.6.0")
_OWNERS: Final = tuple(
    Member(name, field, since="3.11.0")
    for name, field in (("deployment", ""), ("job", ""), ("cronjob", "cron_job"))
)
_NO_OWNERS: Final = tuple(
    replace(one, write=_elsewhere("Pod, Endpoints or EndpointSlice")) for one in _OWNERS
)


class Attached(Struct, frozen=True):
    """Writes which metadata to attach, of what the role can have."""

    table: Table

    def __call__(
        self, metadata: KubernetesMetadata, draft: ScraperDraft, path: str
    ) -> Block | None:
        """The metadata to attach, or None."""
        block: Block = {}
        put(block, self.table, metadata, draft, path)
        return block or None


def _attach(*table: Member) -> Table:
    return (Member("attach_metadata", write=Attached(table)),)


_ATTACH: Final[dict[str, Table]] = {
    "pod": _attach(Member("node", since="2.35.0"), _NAMESPACE, *_OWNERS),
    "endpoints": _attach(Member("node", since="2.37.0"), _NAMESPACE, *_OWNERS),
    "endpointslice": _attach(Member("node", since="2.37.0"), _NAMESPACE, *_OWNERS),
    "service": _attach(_NODE, _NAMESPACE, *_NO_OWNERS),
    "ingress": _attach(_NODE, _NAMESPACE, *_NO_OWNERS),
}
_TO_NODES: Final = _attach(
    _NODE, replace(_NAMESPACE, write=_elsewhere("of an object in a namespace")), *_NO_OWNERS
)


def attach_metadata(discovery: KubernetesDiscovery) -> Table:
    """The row for the metadata of other objects, which not all roles can have."""
    return _ATTACH.get(discovery.role.lower(), _TO_NODES)


KUBERNETES: Final[Table] = (
    Member("api_server"),
    Member(
        "role",
        write=OneOf((Member("EndpointSlice", since="2.21.0"),), str.lower, essential=True),
    ),
    *CREDENTIALS,
    *PROXY,
    *REQUESTS,
    TLS,
    Member("namespaces", write=_namespaces),
    Member("selectors", since="2.17.0", write=Each(_SELECTOR)),
)
