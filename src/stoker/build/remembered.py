"""Objects that are built anew only where what they are built from has changed."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.crd import CustomResource


class Piece(Struct, frozen=True):
    """Some objects of a workload: their name among all, what they are made from, and how.

    What is made from nothing (`of` is None) is made each time.
    """

    name: str
    of: tuple[Any, ...] | None
    make: Callable[[], Iterable[Object]]


class Built:
    """The objects of one workload, as they were built the last time."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[Any, ...], tuple[Object, ...]]] = {}

    def objects(
        self, namespace: str, base: tuple[Any, ...], pieces: Iterable[Piece]
    ) -> list[Object]:
        """All objects, in this namespace; `base` is what every piece is made from."""
        found: list[Object] = []
        for piece in pieces:
            found += self._made(namespace, base, piece)
        return found

    def _made(self, namespace: str, base: tuple[Any, ...], piece: Piece) -> tuple[Object, ...]:
        if piece.of is None:
            return _placed(namespace, piece)
        known, basis = self._known.get(piece.name), (*base, *piece.of)
        if known is not None and known[0] == basis:
            return known[1]
        made = _placed(namespace, piece)
        self._known[piece.name] = basis, made
        return made


def essence_of(workload: CustomResource) -> Any:
    """A workload without what changes while it stays the same: its status, and its version."""
    metadata = replace(
        workload.metadata, resource_version=None, generation=None, deletion_timestamp=None
    )
    return replace(workload, status=None, metadata=metadata)


def _placed(namespace: str, piece: Piece) -> tuple[Object, ...]:
    place = {"namespace": namespace}
    return tuple(each | {"metadata": each["metadata"] | place} for each in piece.make())
