"""Nodes and the addresses at which their kubelets answer."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import Object

FAMILIES: Final = {4: "IPv4", 6: "IPv6"}
_ADDRESS_TYPES: Final = {
    "internal": ("InternalIP", "ExternalIP"),
    "external": ("ExternalIP", "InternalIP"),
}


class NodeAddress(Struct, frozen=True):
    """An address of a node. `ready`: the node's own report is recent."""

    ip: str
    family: str
    node: str
    uid: str
    ready: bool
    api_version: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from all others."""
        return self.ip, self.node


def preferred_addresses(node: Object, priority: str) -> list[str]:
    """All addresses of the type that is preferred; of the other type if there is none."""
    listed = _status(node).get("addresses") or ()
    for wanted in _ADDRESS_TYPES[priority]:
        found = [str(one.get("address")) for one in listed if one.get("type") == wanted]
        if found:
            return found
    return []


def node_addresses(nodes: Iterable[Object], priority: str) -> tuple[list[NodeAddress], list[str]]:
    """One address of each family for each node, and what is wrong with nodes that have none.

    A node that has not reported for long may be gone and its address another's by now: if another
    node has it, it is left out.
    """
    found: list[NodeAddress] = []
    problems = []
    for node in nodes:
        own = _first_of_each_family(node, priority)
        if not own:
            name = (node.get("metadata") or {}).get("name", "")
            problems.append(f"node {name} has no usable internal or external address")
        found += own
    taken = {one.ip for one in found if one.ready}
    return [one for one in found if one.ready or one.ip not in taken], problems


def _first_of_each_family(node: Object, priority: str) -> list[NodeAddress]:
    metadata = node.get("metadata") or {}
    first: dict[str, NodeAddress] = {}
    for text in preferred_addresses(node, priority):
        address = _usable(text)
        if address:
            family = FAMILIES[address.version]
            made = NodeAddress(
                text,
                family,
                metadata.get("name", ""),
                metadata.get("uid", ""),
                _is_ready(node),
                node.get("apiVersion", ""),
            )
            first.setdefault(family, made)
    return list(first.values())


def _usable(text: str) -> IPv4Address | IPv6Address | None:
    """The address, if the API server takes it: one that it refuses would cost all others too."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.scope_id:
        return None
    odd = address.is_unspecified or address.is_loopback or address.is_multicast
    return None if odd or address.is_link_local else address


def _is_ready(node: Object) -> bool:
    """Whether the node has said how it is. One that says it is not well still has a kubelet."""
    conditions = _status(node).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") != "Unknown" for one in conditions)


def _status(node: Object) -> Mapping[str, Any]:
    status: Mapping[str, Any] = node.get("status") or {}
    return status
