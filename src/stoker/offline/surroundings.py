"""A directory as the surroundings of an explanation, and the view of all of it.

A directory need not hold everything. Where it has no object of a kind at all, nothing is concluded
from that; where it has some, these are taken for all that there are.
"""

from collections.abc import Iterable
from typing import TypeVar

from stoker.explain.grants import allowed_by
from stoker.explain.objects import EndpointSlice, Ingress, Named, PodGroup, Service, groups_of
from stoker.explain.view import Listing, Need, View
from stoker.offline.world import World
from stoker.settings import Capabilities, OperatorSettings

N = TypeVar("N", bound=Named)


class Directory:
    """What manifests say of Services, pods and permissions."""

    def __init__(self, objects: Iterable[Named]) -> None:
        self._objects = tuple(objects)
        self._pods = groups_of(self._objects)

    def services(self, namespace: str | None) -> Listing[Service]:
        """Services."""
        return self._listed(Service, namespace)

    def slices(self, namespace: str | None) -> Listing[EndpointSlice]:
        """EndpointSlices, of which there are always more: Kubernetes makes them."""
        found = self._listed(EndpointSlice, namespace)
        return Listing(found.items, "EndpointSlices are made in a cluster")

    def pods(self, namespace: str | None) -> Listing[PodGroup]:
        """Pods, and what Deployments, StatefulSets and DaemonSets make."""
        found = tuple(each for each in self._pods if namespace in (None, each.namespace))
        return Listing(found, "" if self._pods else _absent("Pods, Deployments and the like"))

    def ingresses(self, namespace: str | None) -> Listing[Ingress]:
        """Ingresses."""
        return self._listed(Ingress, namespace)

    def allowed(self, need: Need) -> bool | None:
        """Whether roles among the manifests allow it; None where that cannot be told."""
        return allowed_by(self._objects, need)

    def _listed(self, model: type[N], namespace: str | None) -> Listing[N]:
        every = [each for each in self._objects if isinstance(each, model)]
        found = tuple(each for each in every if namespace in (None, each.namespace))
        return Listing(found, "" if every else _absent(f"{model.__name__} objects"))


def _absent(what: str) -> str:
    return f"there are no {what} among the manifests, so targets cannot be counted"


def view_of(world: World, settings: OperatorSettings) -> View:
    """A directory, to be explained."""
    return View(
        workloads=tuple(world.workloads),
        resources=tuple(world.resources),
        namespaces=world.namespaces,
        assets=world.assets,
        surroundings=Directory(world.surroundings),
        settings=settings,
        capabilities=Capabilities(
            topology_sharding=settings.gates["PrometheusTopologySharding"],
            shard_retention=settings.gates["PrometheusShardRetentionPolicy"],
            deny_files=settings.deny_files,
        ),
        labels_unknown="there is no Namespace manifest, so only its name is known",
        rivals=world.rivals,
    )
