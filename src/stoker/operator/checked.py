"""What is known to be right in the cluster: what was wanted, and the version that was found so.

As long as neither changes, nothing is asked of the server.
"""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from stoker.api.core import Object, ObjectMeta
from stoker.build.names import FIELD_MANAGER
from stoker.kube.takeover import claimed
from stoker.ref import Ref, ref_from, ref_of_manifest

_WITH_GENERATION: Final = frozenset({"StatefulSet", "DaemonSet"})
# So many bytes of data are read beside the loop, and of a Secret not held on to.
_LARGE: Final = 64 * 1024


class _Checked(Struct, frozen=True):
    """An object that was right: what was wanted, and what was found or made.

    `wanted` is a digest of the object that was wanted, and `same` that very object, unless it is a
    large one: what did not change is not even looked at. `sole`: all its content is recorded as
    ours. `named` are the labels, annotations and owners that were wanted.
    """

    wanted: bytes
    same: Object | None
    essence: object
    sole: bool
    named: frozenset[str]


class CheckedObjects:
    """Objects that were right; `current` gives the metadata that the caches have, None without."""

    def __init__(self, current: Callable[[Ref], ObjectMeta | None]) -> None:
        self._current = current
        self._checked: dict[Ref, _Checked] = {}

    def __len__(self) -> int:
        """Of how many objects it is known that they are right."""
        return len(self._checked)

    def __contains__(self, ref: Ref) -> bool:
        """Whether an object was right, whatever it is now."""
        return ref in self._checked

    def clear(self) -> None:
        """Nothing is known any longer."""
        self._checked.clear()

    def forget(self, ref: Ref) -> None:
        """An object may be anything, or gone."""
        self._checked.pop(ref, None)

    def remember(self, wanted: Object, digest: bytes, live: Object) -> None:
        """An object was found as wanted, or made so."""
        ref = ref_of_manifest(wanted)
        metadata = msgspec.convert(live["metadata"], ObjectMeta)
        fields = live["metadata"].get("managedFields") or ()
        others = [each for each in fields if not _is_replaced(each)]
        self._checked[ref] = _Checked(
            wanted=digest,
            same=None if wanted["kind"] == "Secret" and is_large(wanted) else wanted,
            essence=_essence(ref.kind, metadata),
            sole=claimed(others, FIELD_MANAGER) is None,
            named=_named(wanted),
        )

    def is_version(self, kind: str, metadata: ObjectMeta) -> bool:
        """Whether this is the version of an object that was right."""
        checked = self._checked.get(ref_from(kind, metadata))
        return checked is not None and checked.essence == _essence(kind, metadata)

    def is_right(self, ref: Ref, digest: bytes) -> bool:
        """Whether what is wanted was right, and nobody changed it, as far as the caches know."""
        checked = self._checked.get(ref)
        if checked is None or checked.wanted != digest:
            return False
        metadata = self._current(ref)
        # A cache that does not show a new object yet is no reason to write it again: what is
        # deleted is forgotten here.
        return metadata is None or _essence(ref.kind, metadata) == checked.essence

    def untouched(self, ref: Ref, wanted: Object) -> ObjectMeta | None:
        """The metadata of an object of which nothing but the data is to change, or None.

        Nobody else wrote any of it, and it is the version that was right.
        """
        checked, metadata = self._checked.get(ref), self._current(ref)
        if (
            checked is None
            or metadata is None
            or not checked.sole
            or checked.essence != _essence(ref.kind, metadata)
            or checked.named != _named(wanted)
        ):
            return None
        return metadata

    async def digest(self, ref: Ref, wanted: Object) -> bytes:
        """What tells one content from another; of a large one, made beside the loop."""
        checked = self._checked.get(ref)
        if checked is not None and checked.same is wanted:
            return checked.wanted
        return await asyncio.to_thread(_hashed, wanted) if is_large(wanted) else _hashed(wanted)


def is_large(wanted: Object) -> bool:
    """Whether an object holds so much data that it is dear to read."""
    return sum(map(len, (wanted.get("data") or {}).values())) > _LARGE


def _hashed(wanted: Object) -> bytes:
    return hashlib.sha256(msgspec.json.encode(wanted, order="sorted")).digest()


def _named(wanted: Object) -> frozenset[str]:
    """What is wanted in the metadata, by name: what is dropped of that must be removed."""
    metadata = wanted["metadata"]
    owners = (each["uid"] for each in metadata.get("ownerReferences") or ())
    return frozenset(
        (
            *(f"label {name}" for name in metadata.get("labels") or ()),
            *(f"annotation {name}" for name in metadata.get("annotations") or ()),
            *(f"owner {uid}" for uid in owners),
        )
    )


def _is_replaced(entry: Object) -> bool:
    """Whether this is what we replaced; it is as much ours as what we applied."""
    return (entry["manager"], entry["operation"]) == (FIELD_MANAGER, "Update")


def _essence(kind: str, metadata: ObjectMeta) -> Any:
    """What of the metadata changes whenever somebody changes more than the status."""
    if kind not in _WITH_GENERATION:
        return metadata.resource_version
    return (
        metadata.uid,
        metadata.generation,
        metadata.labels,
        metadata.annotations,
        metadata.owner_references,
    )
