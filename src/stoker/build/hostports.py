"""Ports of a node that pods take for themselves: two pods that want the same never share a node.

With the network of the host every port that a container listens on is the node's; Kubernetes
itself counts those that are declared. Pods of one agent run the same programs, so that two of them
on the network of the host always want the same, declared or not.
"""

from collections.abc import Iterable, Iterator
from shlex import quote
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.build.paths import WEB_PORT
from stoker.select.nodes import Placing, never_meet

_EVERY_ADDRESS: Final = ("", "0.0.0.0", "::")  # noqa: S104 - as Kubernetes writes it
_ALWAYS: Final = "Always"


class HostPort(Struct, frozen=True, order=True):
    """A port of a node; without an address, of all that the node has."""

    port: int
    protocol: str = "TCP"
    address: str = ""

    def __str__(self) -> str:
        return f"{self.port}/{self.protocol}"

    def excludes(self, other: "HostPort") -> bool:
        """Whether two pods cannot both have these on one node."""
        same_address = self.address == other.address or not (self.address and other.address)
        return same_address and (self.port, self.protocol) == (other.port, other.protocol)


def host_ports(pod: Object) -> list[HostPort]:
    """The ports of its node that a pod with this spec takes."""
    on_host = bool(pod.get("hostNetwork"))
    found = {each for one in _running(pod) for each in _ports(one, on_host=on_host)}
    return sorted(found)


def in_each_others_way(one: Object, other: Object) -> list[HostPort]:
    """The ports for which pods with these specs cannot share a node; none where they can.

    Where what they ask of nodes contradicts each other they never meet.
    """
    if never_meet(convert(Placing, one), convert(Placing, other)):
        return []
    theirs = host_ports(other)
    shared = [each for each in host_ports(one) if any(map(each.excludes, theirs))]
    if not shared and one.get("hostNetwork") and other.get("hostNetwork"):
        # It listens on the node's loopback address alone, and declares nothing.
        return [HostPort(WEB_PORT)]
    return shared


def _running(pod: Object) -> Iterator[Object]:
    """The containers that run as long as the pod does."""
    yield from pod.get("containers") or ()
    for each in pod.get("initContainers") or ():
        if each.get("restartPolicy") == _ALWAYS:
            yield each


def _ports(container: Object, *, on_host: bool) -> Iterator[HostPort]:
    declared: Iterable[Object] = container.get("ports") or ()
    for each in declared:
        port = each.get("hostPort") or (each.get("containerPort") if on_host else None)
        if port:
            address = each.get("hostIP") or ""
            yield HostPort(
                port,
                each.get("protocol") or "TCP",
                "" if address in _EVERY_ADDRESS else address,
            )


def held_by(ports: Iterable[HostPort], kind: str, namespace: str, names: Iterable[str]) -> str:
    """Why a change of mode is held for these ports of nodes, and what to do; empty for none.

    `kind` and `names` are those of the sets that run the old pods.
    """
    wanted = ", ".join(map(str, sorted(set(ports))))
    if not wanted:
        return ""
    sets = " ".join(map(quote, sorted(names)))
    command = f"kubectl -n {quote(namespace)} delete {kind.lower()} {sets}"
    return (
        f"pods of both modes want the same ports of a node ({wanted}), so new ones cannot start "
        "beside old ones: take hostNetwork and hostPort out of the agent for the time of the "
        f"change, or, if targets may go without scrapes for a while, let the old pods go: {command}"
    )
