"""What is around our kinds, as whoever looks may ask for it: Services, pods, nodes, permissions.

A shell on a cluster notes what it has not read yet, reads it, and has everything asked again.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from stoker.select.labels import Selector
from stoker.targets.objects import EndpointSlice, Ingress, Node, Service
from stoker.view.objects import PodGroup
from stoker.view.shelves import Labelled, Shelf, Shelves

T = TypeVar("T")
L = TypeVar("L", bound=Labelled)


class Listing(Struct, Generic[T], frozen=True):
    """Objects of a kind; `unknown` says why there may be more of them than these.

    With a `shelf`, the few that are looked for among thousands are found at once.
    """

    items: tuple[T, ...] = ()
    unknown: str = ""
    shelf: Shelf[T] | Shelves[T] | None = None

    def matching(self: "Listing[L]", selector: Selector, most: int | None = None) -> list[L]:
        """Those whose labels a selector chooses, or the first of them."""
        some = self.shelf.near(selector) if self.shelf else self.items
        return list(islice((each for each in some if selector.matches(each.labels)), most))

    @classmethod
    def joined(cls, listings: "Iterable[Listing[T]]") -> "Listing[T]":
        """Several together."""
        found = list(listings)
        if len(found) == 1:
            return found[0]
        unknown = next((each.unknown for each in found if each.unknown), "")
        items = tuple(item for each in found for item in each.items)
        shelves = [each.shelf for each in found if each.shelf]
        return cls(items, unknown, Shelves(shelves) if len(shelves) == len(found) else None)


class Need(Struct, frozen=True):
    """A permission that a workload needs: to list and watch a resource.

    `account` is its service account as `namespace/name`; no `namespace` means all of them.
    """

    account: str
    group: str
    resource: str
    namespace: str

    def __str__(self) -> str:
        name = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"list and watch {name} in {_where(self.namespace)}"


def _where(namespace: str) -> str:
    return f"namespace {namespace}" if namespace else "all namespaces"


class Surroundings(Protocol):
    """Something that knows what is around our kinds; a namespace of None means all of them."""

    def services(self, namespace: str | None) -> Listing[Service]:
        """Services."""
        ...

    def slices(self, namespace: str | None) -> Listing[EndpointSlice]:
        """EndpointSlices."""
        ...

    def pods(self, namespace: str | None) -> Listing[PodGroup]:
        """Pods, or what will make them."""
        ...

    def ingresses(self, namespace: str | None) -> Listing[Ingress]:
        """Ingresses."""
        ...

    def nodes(self) -> Listing[Node]:
        """Nodes, the same value as long as nothing else is known of them.

        Their names, labels and taints: what tells who may be there.
        """
        ...

    def whole_nodes(self) -> Listing[Node]:
        """Nodes with all that becomes a label of a target."""
        ...

    def allowed(self, need: Need) -> bool | None:
        """Whether a service account has a permission; None where that is not known."""
        ...
