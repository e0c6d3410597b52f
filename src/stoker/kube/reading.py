"""Objects as the caches keep them: typed, and without what is not read here.

What is left out is what makes caches large: `managedFields`, and the copy of the whole object that
`kubectl apply` leaves in an annotation. In a Secret that copy holds the data as well, which a cache
of metadata must never see. Nothing is lost by it: objects of users are only ever patched.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from stoker.api.core import ObjectMeta
from stoker.api.declare import Model
from stoker.api.decode import decode

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class _HasMetadata(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T")
M = TypeVar("M", bound=_HasMetadata)
Reader: TypeAlias = Callable[[Raw], T]
"""Makes an object of its JSON; what does not fit is a DecodeError."""


class Head(Model):
    """The metadata of an object of any kind."""

    metadata: ObjectMeta = ObjectMeta()


class Identity(Struct, frozen=True, rename="camel", gc=False):
    """Which object, and which state of it."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    uid: str = ""


class _Identified(Struct, frozen=True, gc=False):
    metadata: Identity = Identity()


class _Versioned(Struct, frozen=True, rename="camel", gc=False):
    api_version: Any = ""


_IDENTIFIED: Final = msgspec.json.Decoder(_Identified)
_VERSIONED: Final = msgspec.json.Decoder(_Versioned)


def api_version_of(raw: Raw) -> str:
    """The version that an object says it is in."""
    return str(_VERSIONED.decode(raw).api_version)


def identity_of(raw: Raw) -> Identity:
    """Name, namespace and version, whatever else the object is made of."""
    return _IDENTIFIED.decode(raw).metadata


def in_words_of(found: Any, identity: Identity) -> Identity:
    """The same identity in the texts that an object keeps anyway, where it says the same."""
    metadata = getattr(found, "metadata", None)
    if not isinstance(metadata, ObjectMeta):
        return identity
    return Identity(
        name=_either(metadata.name, identity.name),
        namespace=_either(metadata.namespace, identity.namespace),
        resource_version=_either(metadata.resource_version, identity.resource_version),
        uid=_either(metadata.uid, identity.uid),
    )


def _either(kept: str | None, said: str) -> str:
    return kept if kept == said else said


def typed(model: type[M]) -> Reader[M]:
    """A reader of objects of a declared kind; `typed(Head)` keeps only the metadata."""
    return slim(partial(decode, model))


def slim(whole: Reader[M]) -> Reader[M]:
    """A reader of the same objects, without what makes caches large."""

    def read(raw: Raw) -> M:
        found = whole(raw)
        if found.metadata.annotations:
            found.metadata.annotations.pop(LAST_APPLIED, None)
        return found

    return read
