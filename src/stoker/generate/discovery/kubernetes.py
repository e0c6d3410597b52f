"""Targets that are objects of a Kubernetes cluster.

Which versions can attach the metadata of nodes depends on the role, so that row is chosen for each
discovery.
"""

from typing import Final

from stoker.api.common import AttachMetadata
from stoker.api.scrapeconfig.discovery import KubernetesDiscovery, KubernetesNamespaces
from stoker.generate.block import Block
from stoker.generate.discovery.rows import (
    CREDENTIALS,
    PROXY,
    REDIRECTS,
    TLS,
    Each,
    Table,
    Word,
    items,
    lower,
)
from stoker.generate.draft import Draft, Key, put

_NAMESPACES: Final[Table] = (
    Key("own_namespace", since="2.33.0"),
    Key("names", write=items),
)
_SELECTOR: Final[Table] = (Key("role", write=lower), Key("label"), Key("field"))
_NODE: Final[Table] = (Key("node"),)


def _namespaces(namespaces: KubernetesNamespaces, draft: Draft, path: str) -> Block | None:
    block: Block = {}
    put(block, _NAMESPACES, namespaces, draft, path)
    return block or None


def _attached(metadata: AttachMetadata, draft: Draft, path: str) -> Block | None:
    block: Block = {}
    put(block, _NODE, metadata, draft, path)
    return block or None


def _not_attached(_metadata: AttachMetadata, draft: Draft, path: str) -> None:
    draft.ignore(path, "needs the role Pod, Endpoints or EndpointSlice")


_ATTACH: Final[dict[str, Table]] = {
    "pod": (Key("attach_metadata", since="2.35.0", write=_attached),),
    "endpoints": (Key("attach_metadata", since="2.37.0", write=_attached),),
    "endpointslice": (Key("attach_metadata", since="2.37.0", write=_attached),),
}
_DO_NOT_ATTACH: Final[Table] = (Key("attach_metadata", write=_not_attached),)


def attach_metadata(discovery: KubernetesDiscovery) -> Table:
    """The row for the metadata of nodes, which not all roles can have."""
    return _ATTACH.get(discovery.role.lower(), _DO_NOT_ATTACH)


KUBERNETES: Final[Table] = (
    Key("api_server"),
    Key(
        "role",
        write=Word((Key("EndpointSlice", since="2.21.0"),), str.lower, essential=True),
    ),
    *CREDENTIALS,
    *PROXY,
    TLS,
    *REDIRECTS,
    Key("namespaces", write=_namespaces),
    Key("selectors", since="2.17.0", write=Each(_SELECTOR)),
)
