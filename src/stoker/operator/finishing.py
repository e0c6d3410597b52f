"""Replacements that were interrupted, of StatefulSets that nobody wants any longer.

One that is still wanted is made when it is written (`stoker.operator.replacing`). But meanwhile its
workload may have been paused, given fewer shards or another mode, or deleted; and its pods run, and
belong to nobody. So it is made all the same, as it was wanted then, and what should become of it is
decided like that of any other. Where the workload is gone it is made without pods: then Kubernetes
takes the pods into it and stops them, and it is deleted.
"""

from collections.abc import Collection
from typing import Any

from stoker.api.core import Object
from stoker.build.names import FIELD_MANAGER, MANAGED_BY
from stoker.cluster.kinds import WORKLOADS
from stoker.kube.errors import NotFound, Unavailable
from stoker.kube.resources import STATEFUL_SET
from stoker.operator.notebook import Note
from stoker.operator.tools import Tools
from stoker.ref import Ref


class Finishing:
    """Finishes replacements that nobody else would."""

    def __init__(self, tools: Tools) -> None:
        self._client = tools.client
        self._caches = tools.caches
        self._writer = tools.writer
        self._notebook = tools.notebook
        # What was made and is not in the caches yet.
        self._unseen: dict[Ref, Note] = {}

    async def interrupted(self) -> set[Ref]:
        """The workloads of which a StatefulSet is being replaced."""
        await self._notebook.look()
        return self._notebook.workloads()

    async def finish(self, workload: Ref, wanted: Collection[Ref] = ()) -> None:
        """See to the pods of a workload, but for those of what is wanted and about to be written.

        Unavailable as long as that takes, or the caches do not have what was made: what comes next
        is decided by them.
        """
        await self._notebook.look()
        for note in self._notebook.notes_of(workload):
            if note.identity in wanted:
                continue
            if await self._has_owner(note):
                await self._made(note)
            else:
                await self._stopped(note)
        for identity, note in list(self._unseen.items()):
            if note.workload != workload:
                continue
            if self._caches.metadata(identity) is None and await self._live(note) is not None:
                raise _wait(note, "it was made again, and is not seen yet")
            del self._unseen[identity]

    async def _made(self, note: Note) -> None:
        live = await self._live(note)
        if live is None:
            await self._writer.write(note.wanted)
            self._unseen[note.identity] = note
        else:
            await self._writer.settled(note.wanted, live)
            await self._notebook.strike(note.identity)

    async def _stopped(self, note: Note) -> None:
        """See to it that there are no pods of a workload that is gone."""
        live = await self._live(note)
        if live is None:
            await self._client.apply(_without_pods(note.wanted), manager=FIELD_MANAGER)
            raise _wait(note, "its workload is gone, and its pods are being stopped")
        if _belongs_to(live, note.owner) and live["metadata"]["uid"] != note.replaced:
            raise _wait(note, "it is about to go with its workload")
        if _is_without_pods(live):
            if not _has_stopped(live):
                raise _wait(note, "its pods are being stopped")
            await self._client.delete(STATEFUL_SET, *_place(note), uid=live["metadata"]["uid"])
        await self._notebook.strike(note.identity)

    async def _has_owner(self, note: Note) -> bool:
        resource, (namespace, _) = WORKLOADS[note.workload.kind].resource, _place(note)
        try:
            found = await self._client.get(resource, namespace, note.workload.name)
        except NotFound:
            return False
        metadata = found["metadata"]
        return bool(metadata["uid"] == note.owner and not metadata.get("deletionTimestamp"))

    async def _live(self, note: Note) -> Object | None:
        try:
            live = await self._client.get(STATEFUL_SET, *_place(note))
        except NotFound:
            return None
        if live["metadata"].get("deletionTimestamp"):
            raise _wait(note, "it is being deleted")
        return live


def _without_pods(wanted: Object) -> Object:
    """A StatefulSet that takes all pods in and stops them; what they stored is not touched."""
    metadata = {
        name: each for name, each in wanted["metadata"].items() if name != "ownerReferences"
    }
    spec = wanted["spec"] | {"replicas": 0}
    policy = spec.get("persistentVolumeClaimRetentionPolicy")
    if policy:
        spec |= {"persistentVolumeClaimRetentionPolicy": policy | {"whenScaled": "Retain"}}
    return wanted | {"metadata": metadata, "spec": spec}


def _is_without_pods(live: Object) -> bool:
    metadata = live["metadata"]
    ours = MANAGED_BY.items() & (metadata.get("labels") or {}).items()
    return bool(ours) and not metadata.get("ownerReferences") and live["spec"]["replicas"] == 0


def _has_stopped(live: Object) -> bool:
    status: dict[str, Any] = live.get("status") or {}
    seen = status.get("observedGeneration", 0) >= live["metadata"]["generation"]
    return seen and not status.get("replicas")


def _belongs_to(live: Object, uid: str) -> bool:
    return any(each["uid"] == uid for each in live["metadata"].get("ownerReferences") or ())


def _place(note: Note) -> tuple[str, str]:
    _, namespace, name = note.identity
    return namespace, name


def _wait(note: Note, why: str) -> Unavailable:
    return Unavailable("get", STATEFUL_SET.path(*_place(note)), why)
