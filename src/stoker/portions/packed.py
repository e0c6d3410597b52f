"""Objects as they are kept while there are many: only what becomes a label, as bytes.

A pod is a few hundred bytes so, and as a tree of Python objects several thousand. It is unpacked
whenever it is looked at, which takes about as long as making one label of it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Generic

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import ObjectMeta
from stoker.targets.discovery import ENDPOINT_SLICE, NODE, POD, SERVICE
from stoker.targets.objects import (
    Container,
    ContainerStatus,
    EndpointSlice,
    N,
    Node,
    NodeSpec,
    ObjectModel,
    Pod,
    PodSpec,
    PodStatus,
    Service,
    ServiceSpec,
)

Place = tuple[str, str]
"""The namespace and the name of an object; the namespace is "" where there is none."""


class Packed(Struct, frozen=True, gc=False):
    """An object; `node` is the one that a pod is on."""

    role: str
    place: Place
    data: bytes
    node: str = ""


def packed(found: ObjectModel) -> Packed:
    """What is kept of a pod, a Service, an EndpointSlice or a node; two that are equal are one."""
    role, kept, _ = _KINDS[type(found)]
    slim = kept(found)
    node = slim.node if isinstance(slim, Pod) else ""
    return Packed(role, (found.namespace, found.name), _ENCODER.encode(slim), node)


def unpacked(found: Packed) -> Any:
    """The object, as far as it is kept."""
    return _DECODERS[found.role].decode(found.data)


def _head(found: ObjectModel) -> ObjectMeta:
    metadata = found.metadata
    return ObjectMeta(
        name=metadata.name,
        namespace=metadata.namespace,
        labels=metadata.labels,
        annotations=metadata.annotations,
    )


def _pod(pod: Pod) -> Pod:
    controllers = tuple(each for each in pod.metadata.owner_references or () if each.controller)
    metadata = replace(
        _head(pod),
        uid=pod.metadata.uid,
        owner_references=controllers[:1] or None,
        # No label, but it tells an agent that takes no targets any longer.
        deletion_timestamp=pod.metadata.deletion_timestamp,
    )
    spec = PodSpec(
        node_name=pod.spec.node_name,
        containers=_containers(pod.spec.containers),
        init_containers=_containers(pod.spec.init_containers),
    )
    return Pod(metadata=metadata, spec=spec, status=_status(pod.status))


def _containers(found: tuple[Container, ...] | None) -> tuple[Container, ...] | None:
    """Containers that look the same, whatever an API server leaves out of an empty list."""
    kept = (replace(each, ports=each.ports or None) for each in found or ())
    return tuple(kept) or None


def _status(status: PodStatus | None) -> PodStatus | None:
    if status is None:
        return None
    ready = tuple(each for each in status.conditions or () if each.type == "Ready")
    return PodStatus(
        phase=status.phase,
        pod_ip=status.pod_ip,
        host_ip=status.host_ip,
        conditions=ready[:1] or None,
        container_statuses=_ids(status.container_statuses),
        init_container_statuses=_ids(status.init_container_statuses),
    )


def _ids(found: tuple[ContainerStatus, ...] | None) -> tuple[ContainerStatus, ...] | None:
    return tuple(each for each in found or () if each.container_id) or None


def _service(service: Service) -> Service:
    spec = service.spec
    kept = ServiceSpec(ip_family_policy=spec.ip_family_policy, ip_families=spec.ip_families)
    return Service(metadata=_head(service), spec=kept)


def _slice(found: EndpointSlice) -> EndpointSlice:
    return EndpointSlice(
        metadata=_head(found),
        address_type=found.address_type,
        endpoints=found.endpoints,
        ports=found.ports,
    )


def _node(node: Node) -> Node:
    # No labels, but they tell which agents are to be there.
    return Node(metadata=_head(node), spec=NodeSpec(taints=node.spec.taints))


_KINDS: Final[dict[type, tuple[str, Any, type]]] = {
    Pod: (POD, _pod, Pod),
    Service: (SERVICE, _service, Service),
    EndpointSlice: (ENDPOINT_SLICE, _slice, EndpointSlice),
    Node: (NODE, _node, Node),
}
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODERS: Final[dict[str, msgspec.msgpack.Decoder[Any]]] = {
    role: msgspec.msgpack.Decoder(kind) for role, _, kind in _KINDS.values()
}


class PackedObjects(Mapping[str, Mapping[str, N]], Generic[N]):
    """Packed objects of a kind by namespace and name, unpacked one by one as they are looked at."""

    def __init__(self) -> None:
        self._spaces: dict[str, _Space[N]] = {}

    def put(self, place: Place, found: Packed | None) -> None:
        """Set an object, or with None remove it."""
        space, name = place
        if found is not None:
            self._spaces.setdefault(space, _Space()).packed[name] = found
        elif space in self._spaces:
            self._spaces[space].packed.pop(name, None)
            if not self._spaces[space].packed:
                del self._spaces[space]

    def packed(self, place: Place) -> Packed | None:
        """An object as it is kept."""
        space = self._spaces.get(place[0])
        return space.packed.get(place[1]) if space is not None else None

    def __getitem__(self, namespace: str) -> Mapping[str, N]:
        return self._spaces[namespace]

    def __iter__(self) -> Iterator[str]:
        return iter(self._spaces)

    def __len__(self) -> int:
        return len(self._spaces)


class _Space(Mapping[str, N], Generic[N]):
    """The objects of one namespace."""

    def __init__(self) -> None:
        self.packed: dict[str, Packed] = {}

    def __getitem__(self, name: str) -> N:
        found: N = unpacked(self.packed[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)
