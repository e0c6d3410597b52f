"""The kubelets of all nodes as one Service, so that ServiceMonitors find them.

No pod stands behind that Service: its Endpoints and EndpointSlices are ours to keep.

    nodes ─> addresses (one of each family) ─> Endpoints: one address of a node, of the Service's
                                               first family
                                            └> EndpointSlices: all, by family, some hundred each

An address stays in the slice where it is; one that comes goes to the first slice with room. So a
node that comes or goes changes one slice, and the others are not written. New slices are numbered,
not named at random: planning again from an old view plans the same objects.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.build.names import APPLICATION_NAME, MANAGING_OPERATOR
from stoker.build.nodes import FAMILIES, NodeAddress, node_addresses
from stoker.settings import KubeletSettings, ObjectSettings, with_own

_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
_SLICE_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_SLICE_SERVICE: Final = "kubernetes.io/service-name"
_SKIP_MIRROR: Final = "endpointslice.kubernetes.io/skip-mirror"
_ENDPOINTS: Final = {"apiVersion": "v1", "kind": "Endpoints"}
_SLICE: Final = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"}
_LABELS: Final = {"k8s-app": "kubelet", APPLICATION_NAME: "kubelet", _MANAGED_BY: MANAGING_OPERATOR}


class KubeletExisting(Struct, frozen=True, kw_only=True):
    """What the cluster has; others' slices of the same Service may be among them."""

    service: Object | None = None
    endpoints: Object | None = None
    slices: Sequence[Object] = ()


class KubeletPlan(Struct, frozen=True, kw_only=True):
    """What the cluster should have.

    Slices belong to their Service and need its UID: there are none in the plan before it exists.
    `deletions` are live objects of ours. `problems` tells which nodes have no address.
    """

    service: Object
    endpoints: Object | None = None
    slices: tuple[Object, ...] = ()
    deletions: tuple[Object, ...] = ()
    problems: tuple[str, ...] = ()


def kubelet_plan(
    nodes: Iterable[Object],
    existing: KubeletExisting,
    settings: KubeletSettings,
    objects: ObjectSettings,
) -> KubeletPlan:
    """The objects that stand for these nodes, and what must go.

    The nodes must be all there are: one that is missing here is taken out.
    """
    by_name = sorted(nodes, key=lambda node: str((node.get("metadata") or {}).get("name", "")))
    found, problems = node_addresses(by_name, settings.address_priority)
    frame = _Frame(settings, objects)
    slices, stale = _slices(found, existing, frame)
    endpoints = _endpoints(found, existing, frame) if settings.endpoints else None
    if endpoints is None and existing.endpoints and _is_ours(existing.endpoints):
        stale = [*stale, _ENDPOINTS | existing.endpoints]
    return KubeletPlan(
        service=frame.service(),
        endpoints=endpoints,
        slices=tuple(slices),
        deletions=tuple(stale),
        problems=tuple(problems),
    )


# --- Objects --------------------------------------------------------------------------------------


class _Frame(Struct, frozen=True):
    """What all objects have in common."""

    settings: KubeletSettings
    objects: ObjectSettings

    def metadata(self, name: str, labels: Mapping[str, str]) -> Object:
        own = with_own(self.objects.labels, _LABELS) | dict(labels)
        made: Object = {"name": name, "namespace": self.settings.namespace, "labels": own}
        if self.objects.annotations:
            made["annotations"] = dict(self.objects.annotations)
        return made

    def ports(self) -> list[Object]:
        plain = [{"name": "http-metrics", "port": 10255}] if self.settings.http_metrics else []
        return [
            {"name": "https-metrics", "port": 10250},
            *plain,
            {"name": "cadvisor", "port": 4194},
        ]

    def service(self) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": self.metadata(self.settings.name, {}),
            "spec": {"type": "ClusterIP", "clusterIP": "None", "ports": self.ports()},
        }


def _endpoints(found: Sequence[NodeAddress], existing: KubeletExisting, frame: _Frame) -> Object:
    """All nodes in one object, each once. An address keeps its place, as the API server sorts."""
    live = (existing.endpoints or {}).get("subsets") or [{}]
    chosen = _one_each(found, _first_family(existing.service))
    places = {one.get("ip"): index for index, one in enumerate(live[0].get("addresses") or ())}
    chosen.sort(key=lambda one: places.get(one.ip, len(places)))
    ports = _in_order_of(frame.ports(), live[0].get("ports") or ())
    subsets = [{"addresses": [_address(one) for one in chosen], "ports": ports}] if chosen else []
    return {
        **_ENDPOINTS,
        "metadata": frame.metadata(frame.settings.name, _mirroring(existing, frame)),
        # Without an address there must be no subset either; the API server refuses it.
        "subsets": subsets,
    }


def _mirroring(existing: KubeletExisting, frame: _Frame) -> dict[str, str]:
    """The label that keeps Kubernetes from making slices of Endpoints, if we make them.

    If we do no longer, it must be unsaid.
    """
    if frame.settings.endpoint_slices:
        return {_SKIP_MIRROR: "true"}
    return {_SKIP_MIRROR: "false"} if _SKIP_MIRROR in _labels(existing.endpoints) else {}


def _one_each(found: Iterable[NodeAddress], family: str) -> list[NodeAddress]:
    """For each node its address of the family, or its first if it has none."""
    chosen: dict[str, NodeAddress] = {}
    for one in found:
        held = chosen.setdefault(one.node, one)
        if held.family != family == one.family:
            chosen[one.node] = one
    return list(chosen.values())


def _first_family(service: Object | None) -> str:
    families = ((service or {}).get("spec") or {}).get("ipFamilies") or [""]
    return str(families[0])


def _in_order_of(ports: list[Object], live: Sequence[Object]) -> list[Object]:
    places = {one.get("name"): index for index, one in enumerate(live)}
    return sorted(ports, key=lambda one: places.get(one["name"], len(places)))


def _address(one: NodeAddress) -> Object:
    return {"ip": one.ip, "nodeName": one.node, "targetRef": _reference(one)}


def _reference(one: NodeAddress) -> Object:
    return {"kind": "Node", "name": one.node, "uid": one.uid, "apiVersion": one.api_version or "v1"}


# --- Slices ---------------------------------------------------------------------------------------


def _slices(
    found: Sequence[NodeAddress], existing: KubeletExisting, frame: _Frame
) -> tuple[list[Object], list[Object]]:
    """The slices to have, and those to delete."""
    # Items of a list do not say what they are.
    live = [_SLICE | one for one in existing.slices if _is_slice_of_ours(one, frame)]
    if not frame.settings.endpoint_slices:
        return [], live
    if existing.service is None:
        return [], []
    owner = (existing.service.get("metadata") or {}).get("uid", "")
    made: list[Object] = []
    stale = [one for one in live if _controller(one) not in (None, owner)]
    for family in FAMILIES.values():
        members = [one for one in found if one.family == family]
        mine = [one for one in live if one.get("addressType") == family and one not in stale]
        filled, rest = _kept(mine, members, frame.settings.max_endpoints)
        stale += [one for one, kept in zip(mine, filled, strict=True) if not kept]
        filled += _batches(rest, frame.settings.max_endpoints)
        names = _names(mine, live, len(filled), f"{frame.settings.name}-{family.lower()}-")
        made += [
            _slice(name, family, kept, owner, frame)
            for name, kept in zip(names, filled, strict=True)
            if kept
        ]
    return made, stale


def _controller(live: Object) -> str | None:
    """The UID of the Service that a slice belongs to: a Service that was recreated has another."""
    owners = (live.get("metadata") or {}).get("ownerReferences") or ()
    return next((str(one.get("uid", "")) for one in owners if one.get("controller")), None)


def _batches(members: list[NodeAddress], size: int) -> list[list[NodeAddress]]:
    return [members[at : at + size] for at in range(0, len(members), size)]


def _names(mine: Sequence[Object], live: Sequence[Object], count: int, prefix: str) -> list[str]:
    """The names of the slices that there are, and free ones for those that are new."""
    names = [str(one["metadata"]["name"]) for one in mine]
    taken = {str(one["metadata"]["name"]) for one in live}
    numbered = (f"{prefix}{number}" for number in range(len(live) + count))
    return [*names, *(name for name in numbered if name not in taken)][:count]


def _kept(
    live: Sequence[Object], members: Sequence[NodeAddress], size: int
) -> tuple[list[list[NodeAddress]], list[NodeAddress]]:
    """What each live slice holds from now on, and the addresses for which there was no room."""
    waiting = {one.key: one for one in members}
    filled = []
    for one in live:
        keys = [_key(endpoint) for endpoint in one.get("endpoints") or ()]
        filled.append([waiting.pop(key) for key in keys[:size] if key in waiting])
    rest = list(waiting.values())
    for kept in sorted(filled, key=lambda one: not one):
        room = size - len(kept)
        kept.extend(rest[:room])
        rest = rest[room:]
    return filled, rest


def _key(endpoint: Object) -> tuple[str, str]:
    addresses = endpoint.get("addresses") or [""]
    return addresses[0], endpoint.get("nodeName") or ""


def _slice(
    name: str, family: str, members: Iterable[NodeAddress], owner: str, frame: _Frame
) -> Object:
    labels = {_SLICE_MANAGED_BY: MANAGING_OPERATOR, _SLICE_SERVICE: frame.settings.name}
    reference = {
        "apiVersion": "v1",
        "kind": "Service",
        "name": frame.settings.name,
        "uid": owner,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        **_SLICE,
        "metadata": frame.metadata(name, labels) | {"ownerReferences": [reference]},
        "addressType": family,
        "endpoints": [_endpoint(one) for one in members],
        "ports": frame.ports(),
    }


def _endpoint(one: NodeAddress) -> Object:
    return {
        "addresses": [one.ip],
        "conditions": {"ready": one.ready},
        "nodeName": one.node,
        "targetRef": _reference(one),
    }


def _is_slice_of_ours(live: Object, frame: _Frame) -> bool:
    labels = _labels(live)
    ours = labels.get(_SLICE_MANAGED_BY) == MANAGING_OPERATOR
    return ours and labels.get(_SLICE_SERVICE) == frame.settings.name


def _is_ours(live: Object) -> bool:
    return _labels(live).get(_MANAGED_BY) == MANAGING_OPERATOR


def _labels(live: Object | None) -> Mapping[str, str]:
    labels: Mapping[str, str] = ((live or {}).get("metadata") or {}).get("labels") or {}
    return labels
