"""StatefulSets of which something changes that cannot be changed: they are replaced, pods stay.

    note ──> old one deleted, pods orphaned ──> new one made ──> fields given back ──> note struck

Whoever is killed in between, or gets no answer, leaves enough for the next one to go on: until the
new one is made the note says what it must have beside what is wanted (`notebook`), and what it is
made with is in one write. That write is one of an interim manager, so that nobody takes what others
gave to the old one for ours, and drops it; by the entry of that manager one sees that
the fields were not given back yet.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

from stoker.api.core import Object
from stoker.build.drift import drift
from stoker.cluster.live import notes_of_kubectl
from stoker.kube.client import Client
from stoker.kube.errors import Unavailable
from stoker.kube.resources import resource_of
from stoker.kube.takeover import claimed, set_managed_fields, union, without
from stoker.operator.notebook import Note, Notebook
from stoker.ref import Ref, ref_of_manifest

_NAMES: Final = ("labels", "annotations")
# How long Kubernetes may take to let go of the pods.
_LONGEST_FAREWELL: Final = 10.0


class Replacing:
    """Replaces StatefulSets that `manager` writes.

    `replaced` gets the kind of the workload of each.
    """

    def __init__(
        self, client: Client, notebook: Notebook, manager: str, replaced: Callable[[str], None]
    ) -> None:
        self.notebook = notebook
        self._client = client
        self._manager = manager
        self._interim = f"{manager}-replacing"
        self._replaced = replaced

    def is_begun(self, identity: Ref) -> bool:
        """Whether a StatefulSet is being replaced, as far as that was looked at."""
        return self.notebook.note_on(identity) is not None

    async def remove(self, wanted: Object, live: Object, gone: asyncio.Event) -> None:
        """Remove one that another is to replace; `gone` tells when it is.

        Pods are adopted by the new one where its selector is the same, and rolled as usual.
        """
        note = _noted(wanted, live, self._manager)
        await self.notebook.write(note)
        metadata = live["metadata"]
        selector = {"selector": wanted["spec"].get("selector")}
        same = drift(selector, live["spec"], self._manager) is None
        gone.clear()
        await self._client.delete(
            resource_of(wanted),
            metadata["namespace"],
            metadata["name"],
            uid=metadata["uid"],
            propagation="Orphan" if same else "Background",
        )
        self._replaced(note.workload.kind)
        await _until_gone(wanted, gone)

    async def made(self, wanted: Object) -> Object:
        """Make one that is not there; if that is half of a replacement, with what was noted."""
        note = self._note_for(wanted)
        if note is None:
            return await self._client.apply(wanted, manager=self._manager)
        manager = self._interim if _has_names(note.kept) else self._manager
        made = await self._client.apply(_with_kept(wanted, note.kept), manager=manager)
        return await self.settled(wanted, made)

    async def settled(self, wanted: Object, live: Object) -> Object:
        """Give the fields of one that was recreated to those who had them before.

        A `Conflict` where it changed since it was read.
        """
        note = self._note_for(wanted)
        if note is None:
            return live
        entries = live["metadata"].get("managedFields") or ()
        interim = [each for each in entries if each["manager"] == self._interim]
        if not interim:
            return live
        fields = _given_back(interim, note, wanted, self._manager)
        others = [each for each in entries if each not in interim]
        return await set_managed_fields(self._client, live, [*fields, *others], self._manager)

    def _note_for(self, wanted: Object) -> Note | None:
        """The note, unless it is about a workload that only had the name of the one of now."""
        note = self.notebook.note_on(ref_of_manifest(wanted))
        owners = {each["uid"] for each in wanted["metadata"].get("ownerReferences") or ()}
        return note if note is not None and note.owner in owners else None


async def _until_gone(wanted: Object, gone: asyncio.Event) -> None:
    """Wait for the news: pods are let go of before a StatefulSet is gone."""
    try:
        async with asyncio.timeout(_LONGEST_FAREWELL):
            await gone.wait()
    except TimeoutError:
        _, namespace, name = ref_of_manifest(wanted)
        path = resource_of(wanted).path(namespace, name)
        raise Unavailable("delete", path, "it is not gone yet") from None


# --- What others gave to the old one --------------------------------------------------------------


def _noted(wanted: Object, live: Object, manager: str) -> Note:
    """What must be known to recreate a StatefulSet."""
    owners = wanted["metadata"].get("ownerReferences") or ()
    owner = next(each for each in owners if each.get("controller"))
    entries = live["metadata"].get("managedFields") or []
    entries = claimed(entries, manager) or entries
    own = (each.get("fieldsV1") or {} for each in entries if _is_of(each, manager))
    ours: Object = reduce(union, own, {})
    kept = _kept(wanted, live, ours)
    named = _fields_in(kept)
    theirs = [
        each | {"fieldsV1": fields}
        for each in entries
        if not _is_of(each, manager) and not each.get("subresource")
        if (fields := _both(each.get("fieldsV1") or {}, named))
    ]
    workload = Ref(owner["kind"], live["metadata"]["namespace"], owner["name"])
    return Note(workload, owner["uid"], live["metadata"]["uid"], wanted, kept, theirs)


def _kept(wanted: Object, live: Object, ours: Mapping[str, Any]) -> Object:
    """What others gave to a StatefulSet and its pods, and more owners; nothing of the rest is."""
    uids = {each["uid"] for each in wanted["metadata"].get("ownerReferences") or ()}
    found = live["metadata"].get("ownerReferences") or ()
    owners = [each for each in found if each["uid"] not in uids and not each.get("controller")]
    template = _of_pods(live)
    notes = notes_of_kubectl(template)
    pods = _foreign(_of_pods(wanted), template, _at(ours, "f:spec", "f:template", "f:metadata"))
    pods |= {"annotations": pods["annotations"] | notes}
    metadata = _foreign(wanted["metadata"], live["metadata"], _at(ours, "f:metadata"))
    return {
        "metadata": metadata | {"ownerReferences": owners},
        "spec": {"template": {"metadata": pods}},
    }


def _foreign(wanted: Object, found: Object, ours: Mapping[str, Any]) -> Object:
    """The labels and annotations in metadata that nobody wants, and that are not ours."""
    return {
        kind: {
            name: value
            for name, value in (found.get(kind) or {}).items()
            if name not in (wanted.get(kind) or ()) and f"f:{name}" not in _at(ours, f"f:{kind}")
        }
        for kind in _NAMES
    }


def _with_kept(wanted: Object, kept: Object) -> Object:
    """A StatefulSet as it is wanted, and with what others gave to the old one."""
    template, pods = wanted["spec"]["template"], kept["spec"]["template"]["metadata"]
    changed = _joined(template["metadata"], pods)
    changed |= {"annotations": changed.get("annotations", {}) | notes_of_kubectl(pods)}
    metadata = _joined(wanted["metadata"], kept["metadata"])
    owners = [*(metadata.get("ownerReferences") or ()), *kept["metadata"]["ownerReferences"]]
    spec = wanted["spec"] | {"template": template | {"metadata": changed}}
    return wanted | {"metadata": metadata | {"ownerReferences": owners}, "spec": spec}


def _joined(wanted: Object, kept: Object) -> Object:
    """Metadata with the labels and annotations that others gave as well."""
    names = {kind: (kept.get(kind) or {}) | (wanted.get(kind) or {}) for kind in _NAMES}
    return wanted | {kind: each for kind, each in names.items() if each}


def _of_pods(found: Object) -> Object:
    metadata: Object = found["spec"]["template"].get("metadata") or {}
    return metadata


def _has_names(kept: Object) -> bool:
    names = (kept["metadata"], _of_pods(kept))
    return any(each.get(kind) for each in names for kind in _NAMES)


# --- Fields, as `managedFields` names them --------------------------------------------------------


def _given_back(
    interim: Sequence[Object], note: Note, wanted: Object, manager: str
) -> list[Object]:
    """The entries of the interim manager as ours, and of those who had the rest before."""
    named = _fields_in(wanted)
    taken: Object = reduce(union, (each.get("fieldsV1") or {} for each in interim), {})
    own = without(taken, without(_fields_in(note.kept), named))
    theirs = (each | {"fieldsV1": without(each["fieldsV1"], named)} for each in note.fields)
    return [
        interim[0] | {"manager": manager, "fieldsV1": own},
        *(each for each in theirs if each["fieldsV1"]),
    ]


def _is_of(entry: Mapping[str, Any], manager: str) -> bool:
    applied = (entry["manager"], entry["operation"]) == (manager, "Apply")
    return applied and not entry.get("subresource")


def _fields_in(found: Object) -> Object:
    """The labels and annotations of a StatefulSet and of its pods, as fields."""
    return {
        "f:metadata": _names_in(found["metadata"]),
        "f:spec": {"f:template": {"f:metadata": _names_in(_of_pods(found))}},
    }


def _names_in(metadata: Object) -> Object:
    # One that no object has, since an empty set of names stands for all.
    return {f"f:{kind}": {"/": {}, **_each(metadata.get(kind) or ())} for kind in _NAMES}


def _each(names: Any) -> Object:
    return {f"f:{name}": {} for name in names}


def _both(fields: Mapping[str, Any], named: Mapping[str, Any]) -> Object:
    """The fields of a set that are below one of those that are named."""
    found: Object = {}
    for name in fields.keys() & named.keys():
        inner = _both(fields[name], named[name]) if named[name] else fields[name]
        if inner or not named[name]:
            found[name] = inner
    return found


def _at(fields: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        fields = fields.get(name) or {}
    return fields
