"""What lies on which node, kept up object by object.

A *source* is an object from which targets come: a pod, or an EndpointSlice with endpoints on the
node; what is on no node is on `NOWHERE`. It is looked at again, on one node, where it changed
itself or something that it refers to: the Service of a slice, the pods behind its endpoints, the
node where labels of nodes are attached.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from stoker.portions.packed import Packed, PackedObjects, Place, unpacked
from stoker.targets.discovery import ENDPOINT_SLICE, NODE, POD, SERVICE
from stoker.targets.objects import (
    SERVICE_NAME,
    Endpoint,
    EndpointSlice,
    Node,
    Pod,
    Service,
    TargetSources,
)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


NOWHERE: Final = ""
"""In place of the name of a node: no node is named."""


class SourceObject(NamedTuple):
    """An object from which targets come."""

    role: str
    namespace: str
    name: str


MOMENT_OF_CHANGE: Final = "endpoints.kubernetes.io/last-change-trigger-time"
"""The annotation of an EndpointSlice that Kubernetes changes whenever a pod comes or goes."""


class Only(Enum):
    """Which discoveries a change concerns: all, or those alone that look at such a thing."""

    ALL = "all"
    WITH_NODES = "labels of nodes"
    OF_MOMENT = "the moment of the last change of a slice"


class Touched(NamedTuple):
    """A source that is to be looked at again on a node."""

    node: str
    source: SourceObject
    only: Only = Only.ALL


class KeyIndex(Generic[K, V]):
    """Many values for a key; nothing is kept of a key without values."""

    def __init__(self) -> None:
        self._of: dict[K, set[V]] = {}

    def of(self, key: K) -> Iterable[V]:
        """The values of a key."""
        return self._of.get(key, ())

    def __iter__(self) -> Iterator[K]:
        """The keys that have values."""
        return iter(self._of)

    def move(self, value: V, before: Iterable[K], now: Iterable[K]) -> None:
        """A value has other keys than before."""
        had, has = frozenset(before), frozenset(now)
        for key in had - has:
            values = self._of.get(key)
            if values is not None:
                values.discard(value)
                if not values:
                    del self._of[key]
        for key in has - had:
            self._of.setdefault(key, set()).add(value)


class _Of(NamedTuple):
    """What an EndpointSlice refers to; `shown` are nodes that are themselves behind endpoints.

    `apart` are the nodes that endpoints name, of pods that are not there, and `at` the endpoints
    that have to do with each of the nodes, by their numbers.
    """

    nodes: frozenset[str] = frozenset()
    pods: frozenset[Place] = frozenset()
    services: frozenset[Place] = frozenset()
    shown: frozenset[str] = frozenset()
    apart: Mapping[Place, frozenset[str]] = {}
    at: Mapping[str, tuple[int, ...]] = {}

    @property
    def keys(self) -> tuple[Collection[Any], ...]:
        """What it is found by: as many as there are indices, in their order."""
        return (self.nodes, self.pods, self.services, self.shown)


_NOTHING: Final = _Of()
_ENCODED: Final = msgspec.msgpack.Encoder().encode


class Whereabouts:
    """All pods, Services, slices and nodes, and which of them are on a node."""

    def __init__(self) -> None:
        self.pods: PackedObjects[Pod] = PackedObjects()
        self.services: PackedObjects[Service] = PackedObjects()
        self.slices: PackedObjects[EndpointSlice] = PackedObjects()
        self._nodes: PackedObjects[Node] = PackedObjects()
        self._on: KeyIndex[str, SourceObject] = KeyIndex()
        self._behind: KeyIndex[Place, SourceObject] = KeyIndex()
        self._of_service: KeyIndex[Place, SourceObject] = KeyIndex()
        self._shown: KeyIndex[str, SourceObject] = KeyIndex()
        self._indices: tuple[KeyIndex[Any, SourceObject], ...] = (
            self._on, self._behind, self._of_service, self._shown
        )  # fmt: skip
        self._refers: dict[SourceObject, _Of] = {}
        self._take: dict[str, Callable[[Place, Packed | None, Packed | None], list[Touched]]] = {
            POD: self._pod,
            SERVICE: self._service,
            ENDPOINT_SLICE: self._slice,
            NODE: self._node,
        }

    @property
    def world(self) -> TargetSources:
        """All objects."""
        nodes = self._nodes.get("", {})
        return TargetSources(
            pods=self.pods, services=self.services, slices=self.slices, nodes=nodes
        )

    def changed(self, old: Packed | None, new: Packed | None) -> list[Touched]:
        """Take up an object as it was and as it is; what is to be looked at again, and where."""
        found = new or old
        if found is None or (old is not None and old == new):
            return []
        return self._take[found.role](found.place, old, new)

    def on(self, node: str) -> list[SourceObject]:
        """The sources on a node, always in the same order."""
        return sorted(self._on.of(node))

    @property
    def nodes(self) -> Iterator[str]:
        """The nodes that have sources, and `NOWHERE` if anything is there."""
        return iter(self._on)

    def part(self, found: EndpointSlice, node: str) -> EndpointSlice:
        """A slice that is known, with the endpoints that have to do with a node."""
        source = SourceObject(ENDPOINT_SLICE, found.namespace, found.name)
        every, numbers = found.endpoints or (), self._refers.get(source, _NOTHING).at.get(node, ())
        return replace(found, endpoints=tuple(every[number] for number in numbers))

    def nodes_of(self, endpoint: Endpoint, namespace: str) -> Iterator[str]:
        """The node that an endpoint of a slice names, and that of the pod behind it.

        `NOWHERE` where it has neither, or may have neither for whoever sees one namespace only.
        """
        if endpoint.node_name:
            yield endpoint.node_name
        _, pod = self._behind_of(endpoint)
        if pod:
            yield pod.node
        hidden = pod is None or pod.place[0] != namespace
        if not endpoint.node_name and hidden:
            yield NOWHERE

    # --- What a change touches --------------------------------------------------------------------

    def _pod(self, place: Place, old: Packed | None, new: Packed | None) -> list[Touched]:
        before, now = ({each.node} if each else set() for each in (old, new))
        source = SourceObject(POD, *place)
        self.pods.put(place, new)
        if before != now:
            self._on.move(source, before, now)
        touched = [Touched(node, source) for node in before | now]
        # A pod that is not there puts the endpoint that leads to it on no node.
        places = (before or {NOWHERE}) | (now or {NOWHERE})
        for each in tuple(self._behind.of(place)):
            apart = self._refers[each].apart.get(place, frozenset())
            if before != now:
                self._refer(each, self.slices[each.namespace][each.name])
                apart |= self._refers[each].apart.get(place, frozenset())
            touched += [Touched(node, each) for node in places | apart]
        return touched

    def _service(self, place: Place, _old: Packed | None, new: Packed | None) -> list[Touched]:
        self.services.put(place, new)
        return [
            Touched(node, each)
            for each in self._of_service.of(place)
            for node in self._refers[each].nodes
        ]

    def _slice(self, place: Place, old: Packed | None, new: Packed | None) -> list[Touched]:
        source = SourceObject(ENDPOINT_SLICE, *place)
        was: EndpointSlice | None = unpacked(old) if old else None
        now: EndpointSlice | None = unpacked(new) if new else None
        every = self._refers.get(source, _NOTHING).nodes
        self.slices.put(place, new)
        self._refer(source, now)
        every |= self._refers.get(source, _NOTHING).nodes
        if not was or not now or _head(was) != _head(now):
            return [Touched(node, source) for node in every]
        moved = frozenset(self._of_moved(was, now))
        touched = [Touched(node, source) for node in moved]
        if was.metadata.annotations != now.metadata.annotations:
            touched += [Touched(node, source, Only.OF_MOMENT) for node in every - moved]
        return touched

    def _of_moved(self, was: EndpointSlice, now: EndpointSlice) -> Iterator[str]:
        """The nodes of endpoints that came or went; one that changed did both."""
        parts = _between(was.endpoints or (), now.endpoints or ())
        before, after = ({_ENCODED(each): each for each in part} for part in parts)
        for text in before.keys() ^ after.keys():
            yield from self.nodes_of(before.get(text) or after[text], now.namespace)

    def _node(self, place: Place, _old: Packed | None, new: Packed | None) -> list[Touched]:
        self._nodes.put(place, new)
        name = place[1]
        touched = [Touched(name, each, Only.WITH_NODES) for each in self._on.of(name)]
        for each in self._shown.of(name):
            others = self._refers[each].nodes - {name}
            touched += [Touched(node, each, Only.WITH_NODES) for node in others]
        return touched

    # --- What a slice refers to -------------------------------------------------------------------

    def _refer(self, source: SourceObject, found: EndpointSlice | None) -> None:
        """Enter under which keys a slice is found; None if it is gone."""
        before = self._refers.pop(source, _NOTHING)
        now = self._references(found) if found else _NOTHING
        for index, was, are in zip(self._indices, before.keys, now.keys, strict=True):
            if was != are:
                index.move(source, was, are)
        if found:
            self._refers[source] = now

    def _references(self, found: EndpointSlice) -> _Of:
        """All in one go: there may be a thousand endpoints, and mostly one of them changed."""
        at: dict[str, tuple[int, ...]] = {}
        pods, shown = set[Place](), set[str]()
        apart: dict[Place, frozenset[str]] = {}
        for number, each in enumerate(found.endpoints or ()):
            ref, named = each.target_ref, each.node_name
            if ref and ref.kind == "Node" and ref.name:
                shown.add(ref.name)
            place, pod = self._behind_of(each)
            if place:
                pods.add(place)
                if named and (pod is None or pod.node != named):
                    apart[place] = apart.get(place, frozenset()) | {named}
            if named and (pod is None or pod.node == named):
                at[named] = (*at.get(named, ()), number)
            else:
                for node in set(self.nodes_of(each, found.namespace)):
                    at[node] = (*at.get(node, ()), number)
        service = found.labels.get(SERVICE_NAME)
        return _Of(
            nodes=frozenset(at),
            pods=frozenset(pods),
            services=frozenset(((found.namespace, service),) if service else ()),
            shown=frozenset(shown),
            apart=apart,
            at=at,
        )

    def _behind_of(self, endpoint: Endpoint) -> tuple[Place | None, Packed | None]:
        """The place of the pod behind an endpoint, and the pod if it is there."""
        ref = endpoint.target_ref
        if not ref or ref.kind != "Pod":
            return None, None
        place = ref.namespace or "", ref.name or ""
        return place, self.pods.packed(place)


def _head(found: EndpointSlice) -> EndpointSlice:
    """A slice without its endpoints, and without what changes with each of them."""
    notes = dict(found.metadata.annotations or {})
    notes.pop(MOMENT_OF_CHANGE, None)
    return replace(found, endpoints=(), metadata=replace(found.metadata, annotations=notes))


def _between(
    one: Sequence[Endpoint], other: Sequence[Endpoint]
) -> tuple[Sequence[Endpoint], Sequence[Endpoint]]:
    """What is left of two rows without what both begin and end with."""
    shorter = min(len(one), len(other))
    begin = next((n for n in range(shorter) if one[n] != other[n]), shorter)
    left = shorter - begin
    end = next((n for n in range(left) if one[-1 - n] != other[-1 - n]), left)
    return one[begin : len(one) - end], other[begin : len(other) - end]
