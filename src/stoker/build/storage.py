"""Where a pod keeps its data: an emptyDir, a claim for as long as the pod lives, or one beyond.

The same for all kinds of workload; they differ in names and paths.
"""

from collections.abc import Mapping

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.workload import (
    PersistentVolumeClaimRetentionPolicy,
    Storage,
    VolumeClaimTemplate,
)
from stoker.build.plain import plain
from stoker.errors import WorkloadError


class DataVolume(Struct, frozen=True):
    """The mount of the data, and what it is on: a volume of the pod, or a claim template."""

    mount: Object
    volumes: tuple[Object, ...] = ()
    claims: tuple[Object, ...] = ()


def data_volume(storage: Storage | None, name: str, path: str, sub_path: str) -> DataVolume:
    """The volume for the data, called `name` and mounted at `path`.

    What the user gives is mounted at a directory in it, `sub_path`, unless that is empty or they
    want its root.
    WorkloadError where `spec.storage` names nothing that data could be kept on.
    """
    mount = {"name": name, "mountPath": path}
    if storage is None:
        return DataVolume(mount, ({"name": name, "emptyDir": {}},))
    if sub_path and not storage.disable_mount_sub_path:
        mount["subPath"] = sub_path
    if storage.empty_dir is not None:
        return DataVolume(mount, ({"name": name, "emptyDir": plain(storage.empty_dir)},))
    if storage.ephemeral is not None:
        return DataVolume(mount, ({"name": name, "ephemeral": _ephemeral(storage.ephemeral)},))
    if storage.volume_claim_template is not None:
        return DataVolume(mount, claims=(_claim(storage.volume_claim_template, name),))
    reason = "set one of `emptyDir`, `ephemeral` and `volumeClaimTemplate`"
    raise WorkloadError("spec.storage", reason)


def claim_name(storage: Storage | None, default: str) -> str:
    """The volume with the data, and the claims for it: as the user calls them, or by default."""
    template = storage.volume_claim_template if storage else None
    metadata = template.metadata if template else None
    return (metadata.name if metadata else None) or default


def claim_retention(policy: PersistentVolumeClaimRetentionPolicy | None) -> Object | None:
    """What becomes of a StatefulSet's claims; None leaves it to Kubernetes, which keeps them."""
    made: Object | None = plain(policy)
    return made


def _ephemeral(given: Mapping[str, object]) -> Object:
    if not given.get("volumeClaimTemplate"):
        path = "spec.storage.ephemeral.volumeClaimTemplate"
        raise WorkloadError(path, "is needed: there is no other kind of ephemeral volume")
    made: Object = plain(given)
    return made


def _claim(template: VolumeClaimTemplate, name: str) -> Object:
    """The template of the claims; Kubernetes takes none without an access mode."""
    given = template.metadata
    metadata: Object = plain(given or {})
    spec = plain(template.spec or {})
    if not spec.get("accessModes"):
        spec["accessModes"] = ["ReadWriteOnce"]
    claim = {"metadata": metadata | {"name": name}, "spec": spec}
    kind = {"apiVersion": template.api_version, "kind": template.kind}
    return {member: value for member, value in kind.items() if value} | claim
