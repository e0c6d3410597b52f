"""Surroundings that do not change while thousands of resources are looked at: sorted once."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from stoker.explain.objects import EndpointSlice, Ingress, PodGroup, Service
from stoker.explain.shelves import Shelf
from stoker.explain.view import Listing, Need, Surroundings


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

    def allowed(self, need: Need) -> bool | None:
        """Whether a service account has a permission; None where that is not known."""
        return self._given.allowed(need)


class _Kind:
    """Objects of a kind, in all namespaces and in each."""

    def __init__(self, read: Callable[[str | None], Listing[Any]]) -> None:
        found = read(None)
        self._read = read
        self._items: defaultdict[str, list[Any]] = defaultdict(list)
        for each in found.items:
            self._items[each.namespace].append(each)
        self._all = _shelved(found.items, found.unknown)
        self._spaces: dict[str, Listing[Any]] = {}

    def at(self, namespace: str | None) -> Listing[Any]:
        if namespace is None:
            return self._all
        if namespace not in self._spaces:
            # One may know less of a namespace than of the others.
            unknown = self._read(namespace).unknown
            self._spaces[namespace] = _shelved(self._items.get(namespace, ()), unknown)
        return self._spaces[namespace]


def _shelved(items: Iterable[Any], unknown: str) -> Listing[Any]:
    found = tuple(items)
    return Listing(found, unknown, Shelf((each, each.labels) for each in found))
