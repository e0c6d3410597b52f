"""What is on no node of an agent, and the agent that it is given to.

A *stray* is a pod on a node without an agent, or an endpoint that names no node, or such a node.
All that comes of one pod, or else of one address, is given to one agent, whoever finds it.

Two things are known of agents, which differ while one starts or is replaced. A node that *has* an
agent keeps what is its own, so that a rollout moves nothing; strays are *given* to agents that are
ready alone.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from stoker.portions.rendezvous import NOBODY, highest, numbers
from stoker.portions.whereabouts import NOWHERE, KeyIndex, SourceObject, Whereabouts
from stoker.targets.discovery import ENDPOINT_SLICE, POD
from stoker.targets.objects import Endpoint, EndpointSlice, Pod


class Agents(Struct, frozen=True):
    """The agents of a workload on nodes.

    ready    nodes whose agent takes strays: its pod is ready, and is not being deleted
    homes    nodes that are to have an agent by what is specified, ready or not
    """

    ready: frozenset[str] = frozenset()
    homes: frozenset[str] = frozenset()

    def have(self, node: str) -> bool:
        """Whether what is on a node is its own agent's."""
        return node != NOWHERE and (node in self.homes or node in self.ready)


class Moved(NamedTuple):
    """Strays of a source that a node has, or had."""

    node: str
    source: SourceObject


class Strays:
    """The strays of one workload. Without `Agents` there are none, as no node has them."""

    def __init__(self, places: Whereabouts) -> None:
        self.places = places
        self._agents: Agents | None = None
        self._takers: dict[str, int] = {}
        # Of each source the strays, and who has them.
        self._given: dict[SourceObject, dict[str, str]] = {}
        self._of: KeyIndex[str, SourceObject] = KeyIndex()

    def are_at(self, node: str) -> bool:
        """Whether what is on a node, or on `NOWHERE`, is given to others."""
        return self._agents is not None and not self._agents.have(node)

    def of(self, node: str) -> list[SourceObject]:
        """The sources of which a node has strays, always in the same order."""
        return sorted(self._of.of(node))

    def has(self, node: str, source: SourceObject) -> bool:
        """Whether a node has strays of a source."""
        return node in self._given.get(source, {}).values()

    def look(self, source: SourceObject) -> list[Moved]:
        """Look at a source that changed; all that have, or had, strays of it."""
        before = self._given.pop(source, {})
        now = {
            stray: before.get(stray) or highest(stray, self._takers)
            for stray in self._found_in(source)
        }
        if now:
            self._given[source] = now
        return self._move(source, before, now)

    def set_agents(self, agents: Agents | None) -> tuple[set[str], list[Moved]]:
        """Take where agents are now.

        Returns the nodes of which what is on them is its own agent's no longer, or again, and the
        strays that moved. For each agent that comes, every stray is asked whether it goes there;
        for one that goes, its own strays are given to others; no candidate is made for either.
        """
        nodes = list(self.places.nodes)
        before = [self.are_at(node) for node in nodes]
        self._agents = agents
        takers = numbers(agents.ready if agents else ())
        moved = self._deal(takers) if takers != self._takers else []
        other = {
            node for node, was in zip(nodes, before, strict=True) if was is not self.are_at(node)
        }
        found = {source for node in other for source in self.places.on(node)}
        moved += [each for source in found for each in self.look(source)]
        return other - {NOWHERE}, moved

    def part(self, found: EndpointSlice, node: str) -> EndpointSlice:
        """A slice with the endpoints of which a node has strays."""
        given = self._given.get(_source_of(found), {})
        kept = (_less(each, given, node) for each in found.endpoints or ())
        return replace(found, endpoints=tuple(each for each in kept if each is not None))

    def _deal(self, takers: dict[str, int]) -> list[Moved]:
        """Give strays to other takers than before, as few as can be."""
        come = {name: own for name, own in takers.items() if name not in self._takers}
        self._takers = takers
        moved = []
        for source, before in self._given.items():
            now = {stray: self._dealt(stray, has, come) for stray, has in before.items()}
            if now != before:
                self._given[source] = now
                moved += self._move(source, before, now)
        return moved

    def _dealt(self, stray: str, has: str, come: dict[str, int]) -> str:
        if has not in self._takers:
            return highest(stray, self._takers)
        return highest(stray, come | {has: self._takers[has]}) if come else has

    def _move(
        self, source: SourceObject, before: dict[str, str], now: dict[str, str]
    ) -> list[Moved]:
        had, have = set(before.values()), set(now.values())
        if had != have:
            self._of.move(source, had, have)
        return [Moved(node, source) for node in (had | have) - {NOBODY}]

    def _found_in(self, source: SourceObject) -> Iterator[str]:
        """The strays of a source, each by what it is called."""
        place = source.namespace, source.name
        if source.role == POD:
            pod = self.places.pods.packed(place)
            if pod and self.are_at(pod.node):
                yield stray_pod(*place)
            return
        found = self.places.slices.get(source.namespace, {}).get(source.name)
        for each in (found.endpoints if found else None) or ():
            if any(map(self.are_at, self.places.nodes_of(each, source.namespace))):
                yield from stray_endpoint(each)


def takes_strays(agent: Pod) -> bool:
    """Whether the pod of an agent can be given strays: ready, on a node, and to stay."""
    conditions = (agent.status and agent.status.conditions) or ()
    ready = any(each.type == "Ready" and each.status == "True" for each in conditions)
    return ready and bool(agent.node) and not agent.metadata.deletion_timestamp


def stray_pod(namespace: str, name: str) -> str:
    """What is given as one, of a pod."""
    return f"Pod {namespace}/{name}"


def stray_endpoint(found: Endpoint) -> Iterable[str]:
    """What is given as one, of an endpoint: all of the pod behind it, or each address."""
    ref = found.target_ref
    if ref and ref.kind == "Pod":
        return (stray_pod(ref.namespace or "", ref.name or ""),)
    return found.addresses or ()


def _less(found: Endpoint, given: dict[str, str], node: str) -> Endpoint | None:
    """An endpoint less what is not a node's; None where that is all."""
    own = [each for each in stray_endpoint(found) if given.get(each) == node]
    if not own or (found.target_ref and found.target_ref.kind == "Pod"):
        return found if own else None
    return replace(found, addresses=tuple(own))


def _source_of(found: EndpointSlice) -> SourceObject:
    return SourceObject(ENDPOINT_SLICE, found.namespace, found.name)
