"""The candidates that come from one source on one node, with the labels that an agent there gives.

An agent that asks the API server itself sees the pods of its own node alone, and keeps of a slice
the endpoints of that node: those that name it, or name none and lead to a pod on it. Strays have
the labels that a Prometheus gives which sees all nodes.
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from stoker.portions.strays import Strays
from stoker.portions.whereabouts import NOWHERE, SourceObject, Whereabouts
from stoker.targets.discovery import (
    ENDPOINT_SLICE,
    POD,
    AskedFor,
    Group,
    KubernetesSd,
    Labels,
    SeenObjects,
)
from stoker.targets.endpoints import slice_group
from stoker.targets.groups import pod_group
from stoker.targets.objects import EndpointSlice
from stoker.version import Version

ROLES: Final = frozenset({POD, ENDPOINT_SLICE})
_ALL: Final = AskedFor()
_OF_ENDPOINT: Final = "__meta_kubernetes_endpointslice_endpoint_node_name"
_OF_POD: Final = "__meta_kubernetes_pod_node_name"


def group_on(
    places: Whereabouts, node: str, source: SourceObject, discovery: KubernetesSd, version: Version
) -> Group | None:
    """What a discovery finds on a node in a source of its role; None where that is nothing."""
    sight = _sight(places, source, _of(node, discovery))
    if source.role == POD:
        return _of_pod(sight, source, version)
    found = _slice(places, source, discovery)
    return _kept(found and places.part(found, node), sight, version, lambda at: at == node)


def strays_given(
    strays: Strays, node: str, source: SourceObject, discovery: KubernetesSd, version: Version
) -> Group | None:
    """What a discovery finds of the strays in a source that a node has; None for nothing."""
    places = strays.places
    sight = _sight(places, source, discovery)
    if source.role == POD:
        return _of_pod(sight, source, version) if strays.has(node, source) else None
    found = _slice(places, source, discovery)
    return _kept(found and strays.part(found, node), sight, version, strays.are_at)


def _sight(places: Whereabouts, source: SourceObject, discovery: KubernetesSd) -> SeenObjects:
    return SeenObjects(places.world, discovery, source.namespace if discovery.namespaces else "")


def _of(node: str, discovery: KubernetesSd) -> KubernetesSd:
    """A discovery as an agent on a node has it: of pods it sees those on the node."""
    choice = discovery.choices.get(POD, _ALL)
    own = AskedFor(choice.labels, (*choice.fields, ("spec.nodeName", True, node)))
    return replace(discovery, choices={**discovery.choices, POD: own})


def _of_pod(sight: SeenObjects, source: SourceObject, version: Version) -> Group | None:
    pod = sight.pod(source.namespace, source.name)
    group = pod_group(pod, sight, version) if pod else None
    return group if group and group.candidates else None


def _slice(
    places: Whereabouts, source: SourceObject, discovery: KubernetesSd
) -> EndpointSlice | None:
    found = places.slices.get(source.namespace, {}).get(source.name)
    return found if found and discovery.choices.get(ENDPOINT_SLICE, _ALL).takes(found) else None


def _kept(
    part: EndpointSlice | None, sight: SeenObjects, version: Version, keeps: Callable[[str], bool]
) -> Group | None:
    """The candidates of a part of a slice whose nodes are kept."""
    if part is None:
        return None
    group = slice_group(part, sight, version)
    group.candidates = [each for each in group.candidates if keeps(_node_of(each))]
    return group if group.candidates else None


def _node_of(candidate: Labels) -> str:
    return candidate.get(_OF_ENDPOINT) or candidate.get(_OF_POD, NOWHERE)
