"""Worlds on an API server: what is given, and the peer's objects as if it had just made them."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, Final

from stoker.api.core import Object
from stoker.kube.resources import resource_of
from tests.conformance.cases import WORLDS, Case
from tests.takeover.recording import Uids, restored
from tools.api import ApiError
from tools.cluster import Cluster

# Whose name the peer writes under.
MANAGER: Final = "PrometheusOperator"
_AT_ONCE: Final = 4


def furnish(cluster: Cluster, given: dict[str, Any]) -> dict[str, Any]:
    """Make a namespace with what is given there; less the resources that the API server refuses."""
    namespace = given["namespace"]
    cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    _taken(cluster, _values(given))
    return given | {"resources": _taken(cluster, given["resources"])}


def add_objects_of_the_peer(cluster: Cluster, world: Case) -> None:
    """Create what the peer made of a world, under its name."""
    uids = _uids(cluster, world.given["resources"])
    made = [restored(key, each, uids) for key, each in world.expect["objects"].items()]
    _create_all(cluster, made, f"?fieldManager={MANAGER}")


def world_of(given: dict[str, Any], objects: dict[str, Object]) -> Case:
    """A world of which the peer made these objects."""
    return Case(WORLDS, given["namespace"], given, {"objects": objects})


def _values(given: dict[str, Any]) -> Iterator[Object]:
    for name, data in given["secretsAndConfigMaps"].items():
        metadata = {"namespace": given["namespace"], "name": name}
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _taken(cluster: Cluster, objects: Iterable[Object]) -> list[Object]:
    """Create objects; those that the API server took."""
    listed = list(objects)
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        taken = threads.map(lambda each: _is_taken(cluster, each), listed)
        return [each for each, is_taken in zip(listed, taken, strict=True) if is_taken]


def _is_taken(cluster: Cluster, resource: Object) -> bool:
    try:
        _create(cluster, resource)
    except ApiError as error:
        if error.status not in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
            raise
        return False
    return True


def _create_all(cluster: Cluster, objects: Iterable[Object], query: str = "") -> None:
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for _ in threads.map(lambda each: _create(cluster, each, query), objects):
            pass


def _create(cluster: Cluster, each: Object, query: str = "") -> None:
    path = resource_of(each).path(each["metadata"]["namespace"])
    cluster.api.request("POST", f"{path}{query}", each)


def _uids(cluster: Cluster, resources: Iterable[Object]) -> Uids:
    """The UIDs of all resources, by kind and name."""
    found: dict[tuple[str, str], str] = {}
    for each in resources:
        metadata = each["metadata"]
        path = resource_of(each).path(metadata["namespace"], metadata["name"])
        found[each["kind"], metadata["name"]] = cluster.api.get(path)["metadata"]["uid"]
    return found
