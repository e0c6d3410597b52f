"""Who reads what: the inverse of references, so that a Secret wakes only those that read it."""

from collections.abc import Hashable, Iterable
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

from stoker.ref import Ref
from stoker.select.assets import Source

U = TypeVar("U", bound=Hashable)


class References(Generic[U]):
    """Readers (workloads, or resources of one workload) by the object that they read."""

    def __init__(self) -> None:
        self._read_by: dict[Ref, set[U]] = {}
        self._reads: dict[U, frozenset[Ref]] = {}

    def put(self, reader: U, sources: Iterable[Source]) -> None:
        """Set what a reader reads; whatever it read before counts no longer."""
        objects = frozenset(each.ref for each in sources)
        for gone in self._reads.pop(reader, frozenset()) - objects:
            readers = self._read_by[gone]
            readers.discard(reader)
            if not readers:
                del self._read_by[gone]
        if objects:
            self._reads[reader] = objects
        for read in objects:
            self._read_by.setdefault(read, set()).add(reader)

    def remove(self, reader: U) -> None:
        """Forget a reader."""
        self.put(reader, ())

    @property
    def objects(self) -> AbstractSet[Ref]:
        """Everything that somebody reads, whether or not it exists."""
        return self._read_by.keys()

    def readers(self, read: Ref) -> frozenset[U]:
        """Who must look again when an object appears, changes or disappears."""
        return frozenset(self._read_by.get(read, ()))
