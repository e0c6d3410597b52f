"""What a user may see of our kinds in a cluster, read once: for a look at all of it."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from stoker.api.core import Object, ObjectMeta
from stoker.api.decode import decode
from stoker.cluster.kinds import RESOURCES, WORKLOADS
from stoker.cluster.listed import listed
from stoker.cluster.places import place_of
from stoker.cluster.seen import Seen, namespace_labels
from stoker.errors import DecodeError
from stoker.kube import resources as kube
from stoker.kube.client import Client
from stoker.kube.errors import Forbidden, NotFound
from stoker.kube.reading import LAST_APPLIED, Reader
from stoker.kube.resources import ApiResource
from stoker.ref import Ref, ref_of, ref_of_manifest
from stoker.view.rivals import rivals_of


class Inventory:
    """What a user may see of our kinds in a cluster; where not all, in some namespaces.

    `notes` say what is missing, `hidden` those of them that more rights would mend, by kind.
    """

    def __init__(self, client: Client, fallback: Sequence[str]) -> None:
        self.workloads: list[Any] = []
        self.resources: list[Any] = []
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.foreign: dict[Ref, ObjectMeta] = {}
        self.notes: list[str] = []
        self.hidden: list[tuple[str, str]] = []
        self.undecodable: dict[Ref, str] = {}
        self.rivals: dict[Ref, tuple[str, ...]] = {}
        self._client = client
        self._fallback = fallback

    @property
    def seen(self) -> Seen:
        """What was read, as views are made of it."""
        return Seen(
            workloads=tuple(self.workloads),
            resources=tuple(self.resources),
            namespaces=self.namespaces,
            rivals=self.rivals,
        )

    async def read(self) -> "Inventory":
        """Read everything."""
        for name, workload in WORKLOADS.items():
            await self._take_all(name, partial(decode, workload.model), self.workloads)
        for name, kind in RESOURCES.items():
            await self._take_all(name, kind.read, self.resources)
        for each in await self._listed(kube.NAMESPACE):
            name = each["metadata"]["name"]
            self.namespaces[name] = namespace_labels(name, each["metadata"].get("labels"))
        return self

    async def _take_all(self, kind: str, read: Reader[Any], into: list[Any]) -> None:
        for each in await self._listed(await place_of(self._client, kind)):
            self._take(each, read, into)

    def _take(self, found: Object, read: Reader[Any], into: list[Any]) -> None:
        try:
            made = read(Raw(msgspec.json.encode(found)))
        except DecodeError as error:
            ref = ref_of_manifest(found)
            self.undecodable[ref] = str(error)
            self.notes.append(f"{ref} cannot be read and counts for nothing: {error}")
            return
        into.append(made)
        self.foreign[ref_of(made)] = _foreign(found["metadata"])
        self.rivals[ref_of(made)] = rivals_of(found["metadata"].get("managedFields"))

    async def _listed(self, resource: ApiResource) -> list[Object]:
        try:
            return await listed(self._client, resource, None)
        except NotFound:
            self.notes.append(f"the cluster does not have {resource.name}")
            return []
        except Forbidden as error:
            self._hides(resource, f"you cannot {error.verb} {resource.name} in all namespaces")
        if not resource.namespaced:
            return []
        return [each for name in self._fallback for each in await self._in(resource, name)]

    async def _in(self, resource: ApiResource, namespace: str) -> list[Object]:
        try:
            return await listed(self._client, resource, namespace)
        except Forbidden as error:
            where = f"{resource.name} in namespace {namespace}"
            self._hides(resource, f"you cannot {error.verb} {where}")
            return []

    def _hides(self, resource: ApiResource, note: str) -> None:
        self.notes.append(note)
        self.hidden.append((resource.kind, note))


def _foreign(metadata: Object) -> ObjectMeta:
    """The labels and annotations that no manifest gave to an object."""
    return ObjectMeta(
        labels=_unapplied(metadata, "labels"), annotations=_unapplied(metadata, "annotations")
    )


def _unapplied(metadata: Object, kind: str) -> dict[str, str]:
    present = metadata.get(kind) or {}
    applied: set[str] = {LAST_APPLIED}
    last = (metadata.get("annotations") or {}).get(LAST_APPLIED)
    if last:
        applied |= (json.loads(last).get("metadata", {}).get(kind) or {}).keys()
    for entry in metadata.get("managedFields") or ():
        if entry.get("operation") == "Apply":
            fields = entry.get("fieldsV1", {}).get("f:metadata", {}).get(f"f:{kind}", {})
            applied |= {name.removeprefix("f:") for name in fields}
    return {name: value for name, value in present.items() if name not in applied}
