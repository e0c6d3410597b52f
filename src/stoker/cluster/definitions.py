"""The definitions (CRDs) of our kinds as a cluster has them: what it serves, and in what it stores.

A migration to another stored version leaves a note in an annotation of the definition: to which
version, at which generation of the definition, and since which resource version. Whatever object
has a newer one was written after that, so it lies in the new version already. The note is written
once, so that a migration may be killed at any moment; at its end the note goes.
"""

from typing import Any, Final

import msgspec
from msgspec import Struct

from stoker.api.core import Object
from stoker.api.crd import GROUP, Kind
from stoker.kube.client import Client
from stoker.kube.resources import ApiResource
from stoker.kube.served import priority

DEFINITION: Final = ApiResource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
NOTE: Final = "operator.prometheus.io/storage-migration"
MIGRATION_MANAGER: Final = "stoker-migrate"


class MigrationNote(Struct, frozen=True):
    """How far a migration is: objects that are newer than `since` are done."""

    version: str
    generation: int
    since: str


class Definition(Struct, frozen=True):
    """What a definition says of versions. `version` is the resource version of itself."""

    kind: str
    plural: str
    storage: str
    served: tuple[str, ...]
    stored: tuple[str, ...]
    generation: int
    version: str
    note: MigrationNote | None = None

    @classmethod
    def of(cls, found: Object) -> "Definition":
        """Read a CustomResourceDefinition."""
        metadata, spec = found["metadata"], found["spec"]
        versions: list[Object] = spec["versions"]
        return cls(
            kind=spec["names"]["kind"],
            plural=spec["names"]["plural"],
            storage=next(each["name"] for each in versions if each["storage"]),
            served=tuple(each["name"] for each in versions if each["served"]),
            stored=tuple((found.get("status") or {}).get("storedVersions") or ()),
            generation=metadata.get("generation", 0),
            version=metadata["resourceVersion"],
            note=_note((metadata.get("annotations") or {}).get(NOTE)),
        )

    @property
    def name(self) -> str:
        """The name of the definition itself."""
        return f"{self.plural}.{GROUP}"

    @property
    def resource(self) -> ApiResource:
        """Where its objects are best read and written: in the stored version if that is served."""
        version = self.storage
        if version not in self.served:
            version = max(self.served, key=priority, default=version)
        return ApiResource(GROUP, version, self.plural, self.kind)

    @property
    def served_versions(self) -> frozenset[str]:
        """The `apiVersion`s that objects may have now."""
        return frozenset(f"{GROUP}/{each}" for each in self.served)

    @property
    def is_migrated(self) -> bool:
        """Whether all objects lie in the storage version, as far as the cluster knows."""
        return self.stored == (self.storage,)

    @property
    def own_note(self) -> MigrationNote | None:
        """The note of a migration that can go on: nothing about the definition has changed."""
        note = self.note
        same = note and (note.version, note.generation) == (self.storage, self.generation)
        return note if same else None


def _note(text: Any) -> MigrationNote | None:
    try:
        return msgspec.json.decode(text or "null", type=MigrationNote | None)
    except (msgspec.DecodeError, TypeError):
        return None


async def definition_of(client: Client, kind: Kind | str) -> Definition:
    """The definition of a kind, by its plural; NotFound if the cluster does not have it."""
    plural = kind if isinstance(kind, str) else kind.plural
    return Definition.of(await client.get(DEFINITION, None, f"{plural}.{GROUP}"))


async def noted(client: Client, definition: Definition, note: MigrationNote | None) -> Definition:
    """Write the note of a migration, or remove it; a definition that changed is a Conflict."""
    text = msgspec.json.encode(note).decode() if note else None
    metadata = {"annotations": {NOTE: text}, "resourceVersion": definition.version}
    path = DEFINITION.path(None, definition.name)
    return Definition.of(await patched(client, path, {"metadata": metadata}))


async def trimmed(client: Client, definition: Definition, *, dry_run: bool = False) -> Definition:
    """Say that everything is stored in the storage version; Conflict if the definition changed."""
    patch = {
        # Some API servers take the note away in the same step; the others ignore this.
        "metadata": {"annotations": {NOTE: None}, "resourceVersion": definition.version},
        "status": {"storedVersions": [definition.storage]},
    }
    path = DEFINITION.path(None, definition.name, "status")
    return Definition.of(await patched(client, path, patch, dry_run=dry_run))


async def patched(client: Client, path: str, patch: Object, *, dry_run: bool = False) -> Object:
    """Change members of an object, or only see whether the API server would."""
    return await client.ask(
        dict[str, Any],
        "PATCH",
        path,
        query={"fieldManager": MIGRATION_MANAGER} | ({"dryRun": "All"} if dry_run else {}),
        body=msgspec.json.encode(patch),
        content_type="application/merge-patch+json",
    )
