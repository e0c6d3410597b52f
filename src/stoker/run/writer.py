"""Objects as they should be, written only where they are not so.

What was found right or was written is remembered with the version of the object in the cluster;
as long as neither changes, nothing is asked. Otherwise the object is read and compared, which
finds what others did to it; it is applied only if that made a difference (O7).
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from stoker.api.core import Object, ObjectMeta
from stoker.build.drift import drift
from stoker.kube.client import Client
from stoker.kube.errors import Invalid, NotFound
from stoker.kube.resources import Resource, resource_of
from stoker.kube.takeover import adopt

ObjectId: TypeAlias = tuple[str, str, str]
"""Kind, namespace and name of an object."""

MANAGER: Final = "stoker"
"""The name under which objects are written."""

_WITH_GENERATION: Final = frozenset({"StatefulSet", "DaemonSet"})


class _Checked(Struct, frozen=True):
    """An object that was right: what was wanted, and the version that was found or made."""

    wanted: bytes
    essence: object


class Writer:
    """Writes objects of workloads.

    `current` gives the metadata that the caches have of an object, None if there is none.
    """

    def __init__(self, client: Client, current: Callable[[ObjectId], ObjectMeta | None]) -> None:
        self._client = client
        self._current = current
        self._checked: dict[ObjectId, _Checked] = {}

    def is_written(self, kind: str, metadata: ObjectMeta) -> bool:
        """Whether this is the version of an object that was written or found right."""
        checked = self._checked.get((kind, metadata.namespace or "", metadata.name or ""))
        return checked is not None and checked.essence == essence(kind, metadata)

    def forget(self, kind: str, metadata: ObjectMeta) -> None:
        """An object is gone."""
        self._checked.pop((kind, metadata.namespace or "", metadata.name or ""), None)

    def forget_all(self) -> None:
        """Another operator may have written what it likes."""
        self._checked.clear()

    async def write(self, wanted: Object) -> bool:
        """See to it that an object is as wanted; whether it had to be written."""
        resource, identity = resource_of(wanted), identity_of(wanted)
        digest = hashlib.sha256(msgspec.json.encode(wanted, order="sorted")).digest()
        if self._is_right(identity, digest):
            return False
        live = await self._live(resource, identity)
        if live is not None and drift(wanted, live, MANAGER) is None:
            self._remember(identity, digest, live)
            return False
        if live is not None:
            await adopt(self._client, live, MANAGER)
        self._remember(identity, digest, await self._applied(wanted, live))
        return True

    async def delete(self, resource: Resource, metadata: ObjectMeta) -> None:
        """Delete the object that has this metadata, and no other of its name."""
        with suppress(NotFound):
            await self._client.delete(
                resource, metadata.namespace, metadata.name or "", uid=metadata.uid
            )
        self.forget(resource.kind, metadata)

    def _is_right(self, identity: ObjectId, digest: bytes) -> bool:
        checked = self._checked.get(identity)
        if checked is None or checked.wanted != digest:
            return False
        metadata = self._current(identity)
        # A cache that does not show a new object yet is no reason to write it again: what is
        # deleted is forgotten here.
        return metadata is None or essence(identity[0], metadata) == checked.essence

    async def _live(self, resource: Resource, identity: ObjectId) -> Object | None:
        _, namespace, name = identity
        try:
            return await self._client.get(resource, namespace or None, name)
        except NotFound:
            return None

    async def _applied(self, wanted: Object, live: Object | None) -> Object:
        try:
            return await self._client.apply(wanted, manager=MANAGER)
        except Invalid:
            if live is None or wanted["kind"] != "StatefulSet":
                raise
        return await self._recreated(wanted, live)

    async def _recreated(self, wanted: Object, live: Object) -> Object:
        """Replace a StatefulSet of which something cannot be changed; its pods and data stay.

        Pods are adopted by the new one where its selector is the same, and rolled as usual.
        """
        await self._client.apply(_named_anew(wanted), manager=MANAGER, dry_run=True)
        metadata = live["metadata"]
        same = drift({"selector": wanted["spec"].get("selector")}, live["spec"], MANAGER) is None
        await self._client.delete(
            resource_of(wanted),
            metadata["namespace"],
            metadata["name"],
            uid=metadata["uid"],
            propagation="Orphan" if same else "Background",
        )
        return await self._client.apply(wanted, manager=MANAGER)

    def _remember(self, identity: ObjectId, digest: bytes, live: Object) -> None:
        metadata = msgspec.convert(live["metadata"], ObjectMeta)
        self._checked[identity] = _Checked(digest, essence(identity[0], metadata))


def _named_anew(wanted: Object) -> Object:
    """The same object under a name that nobody has, to ask the server what it thinks of it."""
    metadata = wanted["metadata"]
    return wanted | {"metadata": metadata | {"name": f"{metadata['name']}-check"}}


def identity_of(found: Object) -> ObjectId:
    """Kind, namespace and name of an object."""
    metadata = found["metadata"]
    return found["kind"], metadata.get("namespace") or "", metadata["name"]


def essence(kind: str, metadata: ObjectMeta) -> Any:
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
