"""The agents that share what no agent is beside: where they are to be, and which are ready."""

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from stoker.portions.agents import ReadyAgents
from stoker.portions.packed import Packed, Place, unpacked
from stoker.portions.strays import Agents
from stoker.ref import Ref
from stoker.select.nodes import Placing, absence, without_pods
from stoker.targets.discovery import NODE
from stoker.targets.objects import Node


class Sharing(Struct, frozen=True):
    """An agent that shares: the place of its DaemonSet, and where the pods of that may be."""

    daemon_set: Place
    placing: Placing


class SharingAgents:
    """Kept up object by object, and agent by agent; `nodes` tells all that there are."""

    def __init__(self, nodes: Callable[[], Mapping[str, Node]]) -> None:
        self._nodes = nodes
        self._ready = ReadyAgents()
        self._sharing: dict[Ref, Sharing] = {}
        self._homes: dict[Ref, frozenset[str]] = {}

    def put(self, key: Ref, sharing: Sharing | None) -> Agents | None:
        """Take up an agent; where it is, or None if it shares nothing."""
        if sharing is None:
            self.drop(key)
            return None
        if self._sharing.get(key) != sharing:
            nodes = self._nodes()
            without = without_pods(sharing.placing, nodes.values())
            self._homes[key] = frozenset(nodes) - without.keys()
            self._sharing[key] = sharing
        return self.of(key)

    def drop(self, key: Ref) -> None:
        """An agent shares no longer."""
        self._sharing.pop(key, None)
        self._homes.pop(key, None)

    def of(self, key: Ref) -> Agents:
        """Where an agent that shares is; one that is ready on a node that is gone is nowhere."""
        ready = self._ready.on(self._sharing[key].daemon_set)
        return Agents(ready=ready & frozenset(self._nodes()), homes=self._homes[key])

    def changed(self, old: Packed | None, new: Packed | None) -> set[Ref]:
        """Take up an object as it was and as it is; the agents that are elsewhere now."""
        found = new or old
        if found is not None and found.role == NODE:
            return set(self._with_node(found.place[1], new))
        moved = self._ready.changed(old, new)
        return {key for key, each in self._sharing.items() if each.daemon_set in moved}

    def _with_node(self, name: str, new: Packed | None) -> Iterator[Ref]:
        node: Node | None = unpacked(new) if new else None
        for key, sharing in self._sharing.items():
            away = absence(sharing.placing, node) if node else None
            here = node is not None and (away is None or away.passing)
            before = self._homes[key]
            homes = before | {name} if here else before - {name}
            if homes != before or node is None:
                self._homes[key] = homes
                yield key
