"""What was written last, for as long as the caches do not show it.

A watch tells of a write a moment after its answer. Whoever looks again in that moment would write
the same once more, so the answer counts until the cache has it, or something newer.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from msgspec import Struct

from stoker.api.core import Object, ObjectMeta

K = TypeVar("K", bound=Hashable)


class Written(Struct, frozen=True):
    """What the API server answered to a write."""

    uid: str
    version: str
    status: Object


class Latest(Generic[K]):
    """The status of objects as the API server answered it."""

    def __init__(self) -> None:
        self._written: dict[K, Written] = {}

    def note(self, key: K, answer: Object) -> None:
        """An object was written, and this is what it is now."""
        metadata = answer["metadata"]
        self._written[key] = Written(
            metadata.get("uid", ""),
            metadata.get("resourceVersion", ""),
            answer.get("status") or {},
        )

    def of(self, key: K, cached: ObjectMeta) -> Written | None:
        """What was written, if the cache has an older state of the same object."""
        written = self._written.get(key)
        if written is None:
            return None
        if written.uid == cached.uid and is_older(cached.resource_version or "", written.version):
            return written
        del self._written[key]
        return None

    def forget(self, key: K) -> None:
        """An object is gone, or not ours."""
        self._written.pop(key, None)


def is_older(one: str, other: str) -> bool:
    """Whether a version of an object is older than another; no if they cannot be compared."""
    if not (one.isdecimal() and other.isdecimal()):
        return False
    return int(one) < int(other)
