"""The metadata of objects that belong to a custom resource."""

from collections.abc import Mapping

from stoker.api.core import Object, ObjectMeta
from stoker.api.crd import CustomResource
from stoker.build.names import MANAGED_BY
from stoker.select.workload import Workload
from stoker.settings import ObjectSettings

_ABOUT_THE_MANIFEST = "kubectl.kubernetes.io/"


def metadata(  # noqa: PLR0913 - half of them have a default
    workload: Workload,
    settings: ObjectSettings,
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    inherit: bool = False,
) -> Object:
    """The metadata of an object of this workload, less the namespace, which is the workload's.

    `inherit`: it carries the labels and annotations of the workload too. The given labels win over
    these, and those of flags over both; the given annotations are our own and win over all.
    """
    inherited = workload.metadata if inherit else ObjectMeta()
    # We find our own objects by who manages them: not even a flag may say otherwise.
    own = dict(labels or {}) | settings.labels | MANAGED_BY
    made: Object = {
        "name": name,
        "labels": (inherited.labels or {}) | own,
        "ownerReferences": [owner_reference(workload)],
    }
    noted = _without_kubectl((inherited.annotations or {}) | settings.annotations)
    if noted := noted | dict(annotations or {}):
        made["annotations"] = noted
    return made


def owner_reference(owner: CustomResource, *, sole: bool = True) -> Object:
    """The reference by which Kubernetes deletes an object after its owner.

    An object that several own can have no controller.
    """
    reference: Object = {
        "apiVersion": owner.api_version or "",
        "kind": owner.kind or "",
        "name": owner.metadata.name or "",
        "uid": owner.metadata.uid or "",
    }
    return reference | {"controller": True, "blockOwnerDeletion": True} if sole else reference


def _without_kubectl(annotations: Mapping[str, str]) -> dict[str, str]:
    """Less what kubectl notes about a manifest, which is not true of another object."""
    return {
        name: value
        for name, value in annotations.items()
        if not name.startswith(_ABOUT_THE_MANIFEST)
    }
