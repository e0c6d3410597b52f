"""Which object is meant: its kind, namespace and name."""

from collections.abc import Iterator
from typing import Any, Protocol

from msgspec import Struct


class Ref(Struct, frozen=True, order=True, gc=False, cache_hash=True):
    """An object by its kind, namespace and name; what belongs to no namespace has none."""

    kind: str
    namespace: str
    name: str

    def __iter__(self) -> Iterator[str]:
        return iter((self.kind, self.namespace, self.name))

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"

    @property
    def path(self) -> str:
        """The name with the namespace before it, if there is one."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def by_path(ref: Ref) -> tuple[str, str]:
    """The order in which resources are written into configurations, as the peer has it.

    It is that of the texts: `a-b/x` comes before `a/x`.
    """
    return ref.kind, ref.path


class Named(Protocol):
    """An object of a type that is called as its kind."""

    @property
    def metadata(self) -> Any:
        """Its name and namespace, among others."""
        ...


class Metadata(Protocol):
    """What objects are called by."""

    @property
    def namespace(self) -> str | None:
        """The namespace, if it has one."""
        ...

    @property
    def name(self) -> str | None:
        """The name."""
        ...


def ref_of(found: Named) -> Ref:
    """Which object this is."""
    return ref_from(type(found).__name__, found.metadata)


def ref_from(kind: str, metadata: Metadata) -> Ref:
    """Which object of a kind has this metadata."""
    return Ref(kind, metadata.namespace or "", metadata.name or "")


def ref_of_manifest(found: dict[str, Any]) -> Ref:
    """Which object this is, as it is written."""
    metadata = found["metadata"]
    return Ref(found["kind"], metadata.get("namespace") or "", metadata["name"])
