"""Objects as they are in a cluster, and what of them is ours to write."""

from typing import Final

from stoker.api.core import Object
from stoker.build.names import DEFAULT_CONTAINER, FIELD_MANAGER
from stoker.kube.takeover import claimed

_KUBECTL: Final = "kubectl.kubernetes.io/"


def as_claimed(live: Object) -> Object:
    """An object as it is, with all of its content on record as ours."""
    metadata = live["metadata"]
    fields = claimed(metadata.get("managedFields"), FIELD_MANAGER)
    return live | {"metadata": metadata | {"managedFields": fields}} if fields else live


def beside_others(wanted: Object, live: Object) -> Object:
    """An object as it is wanted where there is one already that others have a say in."""
    return _as_restarted(_with_other_owners(wanted, live), live)


def only_at(version: str | None, wanted: Object) -> Object:
    """What is to be written to an object, if it still has this version.

    Else it is a `Conflict`: somebody has written since, perhaps another leader, and this may be
    old. Whoever writes looks again then.
    """
    metadata = wanted.get("metadata") or {}
    return wanted | {"metadata": metadata | {"resourceVersion": version}} if version else wanted


def _as_restarted(wanted: Object, live: Object) -> Object:
    """An object whose pods are not restarted for a restart that a user asked of kubectl.

    `kubectl rollout restart` leaves a note at the pods, which counts for more than one of ours.
    """
    template = (wanted.get("spec") or {}).get("template")
    if not template:
        return wanted
    metadata = template.get("metadata") or {}
    kept = notes_of_kubectl(live["spec"]["template"].get("metadata") or {})
    annotations = {"annotations": (metadata.get("annotations") or {}) | kept}
    changed = template | {"metadata": metadata | annotations}
    return wanted | {"spec": wanted["spec"] | {"template": changed}}


def _with_other_owners(wanted: Object, live: Object) -> Object:
    """An object with all its owners, in the order in which they are recorded.

    A Service belongs to several workloads, perhaps of another operator, and none controls it.
    """
    own = {each["uid"]: each for each in wanted["metadata"].get("ownerReferences") or ()}
    found = live["metadata"].get("ownerReferences") or ()
    kept = [
        own.pop(each["uid"], each)
        for each in found
        if each["uid"] in own or not each.get("controller")
    ]
    owners = {"ownerReferences": [*kept, *own.values()]}
    return wanted | {"metadata": wanted["metadata"] | owners}


def notes_of_kubectl(metadata: Object) -> Object:
    """The annotations of pods by which `kubectl rollout restart` asked for a restart."""
    notes = metadata.get("annotations") or {}
    return {
        name: value
        for name, value in notes.items()
        if name.startswith(_KUBECTL) and name != DEFAULT_CONTAINER
    }
