"""Objects that are built again only where what they are built from has changed."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.crd import CustomResource

Basis: TypeAlias = tuple[Any, ...]
Make: TypeAlias = Callable[[], Iterable[Object]]


class Built:
    """The objects of one workload, as they were built the last time."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Basis, tuple[Object, ...]]] = {}

    def piece(self, name: str, basis: Basis, make: Make) -> tuple[Object, ...]:
        """Some of the objects, by their name among all, and what they are made from."""
        known = self._known.get(name)
        if known is not None and known[0] == basis:
            return known[1]
        made = tuple(make())
        self._known[name] = basis, made
        return made


class Pieces:
    """Gathers the `objects` of a workload, in this namespace; `base` is what each is made from."""

    def __init__(self, built: Built | None, namespace: str, base: Basis) -> None:
        self.objects: list[Object] = []
        self._built = built or Built()
        self._place = {"namespace": namespace}
        self._base = base

    def add(self, name: str, of: Basis, make: Make) -> int:
        """Add what is made from this beside the base; how many objects that is."""
        made = self._built.piece(name, (*self._base, *of), lambda: map(self._placed, make()))
        self.objects += made
        return len(made)

    def add_fresh(self, made: Iterable[Object]) -> None:
        """Add what is another one each time."""
        self.objects += map(self._placed, made)

    def _placed(self, each: Object) -> Object:
        return each | {"metadata": each["metadata"] | self._place}


def essence_of(workload: CustomResource) -> Any:
    """A workload without what changes while it stays the same: its status, and its version."""
    metadata = replace(
        workload.metadata, resource_version=None, generation=None, deletion_timestamp=None
    )
    return replace(workload, status=None, metadata=metadata)
