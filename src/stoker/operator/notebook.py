"""What the operator must not forget when it is killed: StatefulSets that are being replaced.

Between the deletion of the old one and the making of the new one the cluster has neither, and what
users gave to the old one would be known to a process only. So it is noted before, in a ConfigMap in
the operator's own namespace, beside its Lease: who may write there could change the operator
itself. In the namespace of the workload a tenant could forge a note, and so have the operator make
whatever StatefulSet he likes.
"""

import asyncio
import time
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct

from stoker.api.core import Object
from stoker.cluster.kinds import WORKLOADS
from stoker.kube.backoff import GRANT_SECONDS
from stoker.kube.client import Client
from stoker.kube.errors import AlreadyExists, Forbidden, NotFound
from stoker.kube.resources import CONFIG_MAP
from stoker.logs import logger
from stoker.operator.refusals import Refusals
from stoker.ref import Ref, ref_of_manifest

SUFFIX: Final = "-replacements"
"""The notes of the operators that share a Lease have its name, and this."""

# Longer keys a ConfigMap does not take.
_LONGEST_KEY: Final = 253


class Note(Struct, frozen=True):
    """A StatefulSet that is being replaced.

    `owner`: the uid of its workload.
    `replaced`: the uid of the old one.
    `wanted`: the new one as it was wanted then.
    `kept`: what others gave to the old one, as the members of an object.
    `fields`: entries of `managedFields` that tell who did.
    """

    workload: Ref
    owner: str
    replaced: str
    wanted: Object
    kept: Object
    fields: list[Object]

    @property
    def identity(self) -> Ref:
        """Of the old one, and of the new one."""
        return ref_of_manifest(self.wanted)


class Notebook:
    """Notes in a ConfigMap of this namespace and name; it is made when there is something to note.

    What is known of it is what was read once, and written since: nobody else writes there.
    """

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._place = namespace, name
        self._notes: dict[Ref, Note] = {}
        self._is_read = False
        self._forbidden_until = 0.0
        self._turn = asyncio.Lock()
        self._log = logger("replacements", namespace=namespace, name=name)
        self._refusals = Refusals(self._log)

    def forget(self) -> None:
        """Another may have written since; it is read again when it is needed."""
        self._notes.clear()
        self._is_read = False

    async def look(self) -> None:
        """Read it, if that was not done yet; not being allowed to is said, and no error."""
        if time.monotonic() < self._forbidden_until:
            return
        try:
            await self._read()
        except Forbidden as error:
            # Every reconciliation would ask.
            self._forbidden_until = time.monotonic() + GRANT_SECONDS
            self._refusals.tell("replacements that were interrupted cannot be completed", error)

    def note_on(self, identity: Ref) -> Note | None:
        """The note on a StatefulSet, if it is being replaced."""
        return self._notes.get(identity)

    def workloads(self) -> set[Ref]:
        """Those of which a StatefulSet is being replaced."""
        return {each.workload for each in self._notes.values()}

    def notes_of(self, workload: Ref) -> list[Note]:
        """The notes on StatefulSets of a workload."""
        return [each for each in self._notes.values() if each.workload == workload]

    async def write(self, note: Note) -> None:
        """Note something; what was noted of the same StatefulSet is gone."""
        await self._read()
        # Also where no answer comes: the server may have it.
        self._notes[note.identity] = note
        data = {_key(note.identity): msgspec.json.encode(note).decode()}
        try:
            await self._patch(data)
        except NotFound:
            await self._create(data)

    async def strike(self, identity: Ref) -> None:
        """A StatefulSet is replaced, or will not be."""
        if identity not in self._notes:
            return
        with suppress(NotFound):
            await self._patch({_key(identity): None})
        self._notes.pop(identity, None)

    async def _read(self) -> None:
        async with self._turn:
            if self._is_read:
                return
            try:
                found = await self._client.get(CONFIG_MAP, *self._place)
            except NotFound:
                found = {}
            for key, text in (found.get("data") or {}).items():
                self._take(key, text)
            self._is_read = True

    def _take(self, key: str, text: str) -> None:
        note = _note_in(text)
        if note is None:
            self._log.warn("a note that is none is passed over", key=key)
        else:
            self._notes.setdefault(note.identity, note)

    async def _patch(self, data: dict[str, Any]) -> None:
        await self._client.merge_patch(CONFIG_MAP, *self._place, {"data": data})

    async def _create(self, data: dict[str, Any]) -> None:
        namespace, name = self._place
        made = {
            "apiVersion": CONFIG_MAP.api_version,
            "kind": CONFIG_MAP.kind,
            "metadata": {"namespace": namespace, "name": name},
            "data": data,
        }
        try:
            await self._client.create(made)
        except AlreadyExists:
            await self._patch(data)


def _note_in(text: str) -> Note | None:
    try:
        note = msgspec.json.decode(text, type=Note)
        return note if note.workload.kind in WORKLOADS and note.identity else None
    except (msgspec.DecodeError, KeyError, TypeError):
        return None


def _key(identity: Ref) -> str:
    _, namespace, name = identity
    return f"{namespace}.{name}"[:_LONGEST_KEY]
