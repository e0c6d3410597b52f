"""On which nodes the pods of DaemonSets are ready, kept up pod by pod."""

from collections import Counter
from typing import Final

from stoker.portions.packed import Packed, Place, unpacked
from stoker.portions.strays import takes_strays
from stoker.targets.discovery import POD
from stoker.targets.objects import Pod

_DAEMON_SET: Final = "DaemonSet"


class ReadyAgents:
    """The nodes whose agents take strays, by the namespace and the name of their DaemonSet."""

    def __init__(self) -> None:
        self._ready: dict[Place, Counter[str]] = {}

    def on(self, daemon_set: Place) -> frozenset[str]:
        """The nodes on which a DaemonSet has a pod that takes strays."""
        return frozenset(self._ready.get(daemon_set, ()))

    def changed(self, old: Packed | None, new: Packed | None) -> set[Place]:
        """Take up a pod as it was and as it is; the DaemonSets that are on other nodes now."""
        before, now = _ready_of(old), _ready_of(new)
        if before == now:
            return set()
        moved = set()
        if before and self._count(*before, -1) == 0:
            moved.add(before[0])
        if now and self._count(*now, 1) == 1:
            moved.add(now[0])
        return moved

    def _count(self, daemon_set: Place, node: str, change: int) -> int:
        """How many pods there are on a node now; while one replaces another they are two."""
        nodes = self._ready.setdefault(daemon_set, Counter())
        nodes[node] += change
        left = nodes[node]
        if not left:
            del nodes[node]
        if not nodes:
            del self._ready[daemon_set]
        return left


def _ready_of(found: Packed | None) -> tuple[Place, str] | None:
    """The DaemonSet of a pod, and its node; None for any other, and one that takes no strays."""
    if found is None or found.role != POD:
        return None
    pod: Pod = unpacked(found)
    kind, name = pod.controller
    if kind != _DAEMON_SET or not takes_strays(pod):
        return None
    return (pod.namespace, name), pod.node
