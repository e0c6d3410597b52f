"""Surroundings that do not change while thousands of resources are looked at: sorted once."""

from collections.abc import Callable
from typing import Any

from stoker.targets.objects import EndpointSlice, Ingress, Node, Service
from stoker.view.listing import Listing, Need, Surroundings
from stoker.view.objects import PodGroup
from stoker.view.shelves import Shelf


class Sorted:
    """The same surroundings, by namespaces and labels."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._given = surroundings
        self._services = _Kind(surroundings.services)
        self._slices = _Kind(surroundings.slices)
        self._pods = _Kind(surroundings.pods)
        self._ingresses = _Kind(surroundings.ingresses)

    def services(self, namespace: str | None) -> Listing[Service]:
        """Services."""
        return self._services.at(namespace)

    def slices(self, namespace: str | None) -> Listing[EndpointSlice]:
        """EndpointSlices."""
        return self._slices.at(namespace)

    def pods(self, namespace: str | None) -> Listing[PodGroup]:
        """Pods, or what will make them."""
        return self._pods.at(namespace)

    def ingresses(self, namespace: str | None) -> Listing[Ingress]:
        """Ingresses."""
        return self._ingresses.at(namespace)

    def nodes(self) -> Listing[Node]:
        """Nodes."""
        return self._given.nodes()

    def whole_nodes(self) -> Listing[Node]:
        """Nodes with all that becomes a label of a target."""
        return self._given.whole_nodes()

    def allowed(self, need: Need) -> bool | None:
        """Whether a service account has a permission; None where that is not known."""
        return self._given.allowed(need)


class _Kind:
    """Objects of a kind, in all namespaces and in each."""

    def __init__(self, read: Callable[[str | None], Listing[Any]]) -> None:
        self._read = read
        self._spaces: dict[str | None, Listing[Any]] = {}

    def at(self, namespace: str | None) -> Listing[Any]:
        if namespace not in self._spaces:
            found = self._read(namespace)
            shelf = Shelf((each, each.labels) for each in found.items)
            self._spaces[namespace] = Listing(found.items, found.unknown, shelf)
        return self._spaces[namespace]
