"""Surroundings that do not change while thousands of resources are looked at: sorted once."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from stoker.explain.objects import EndpointSlice, Ingress, PodGroup, Service
from stoker.explain.shelves import Shelf
from stoker.explain.view import Listing, Need, Surroundings

_NO_SHELF: Final[Shelf[Any]] = Shelf(())


class Sorted:
    """The same surroundings, by namespaces and labels.

    They must know all namespaces equally well.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self._given = surroundings
        self._services = _Kind(surroundings.services(None))
        self._slices = _Kind(surroundings.slices(None))
        self._pods = _Kind(surroundings.pods(None))
        self._ingresses = _Kind(surroundings.ingresses(None))

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

    def __init__(self, found: Listing[Any]) -> None:
        spaces: defaultdict[str, list[Any]] = defaultdict(list)
        for each in found.items:
            spaces[each.namespace].append(each)
        self._nothing: Listing[Any] = Listing((), found.unknown, _NO_SHELF)
        self._all = _shelved(found.items, found.unknown)
        self._spaces = {name: _shelved(some, found.unknown) for name, some in spaces.items()}

    def at(self, namespace: str | None) -> Listing[Any]:
        return self._all if namespace is None else self._spaces.get(namespace, self._nothing)


def _shelved(items: Iterable[Any], unknown: str) -> Listing[Any]:
    found = tuple(items)
    return Listing(found, unknown, Shelf((each, each.labels) for each in found))
