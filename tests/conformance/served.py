"""Objects that went through an API server, and such that did not, brought to one form.

An API server fills in defaults and writes quantities its own way. Whoever says a default says
nothing, so it is left out of both.
"""

import re
from typing import Any, Final

from stoker.api.core import Object
from stoker.validate.syntax import quantity
from tests.conformance.compare import comparable_object

# By the name of a member, wherever it stands: what an API server fills in.
_DEFAULTS: Final[dict[str, tuple[Any, ...]]] = {
    "apiVersion": ("v1", "apps/v1"),
    "clusterIP": ("None",),
    "defaultMode": (420,),
    "dnsPolicy": ("ClusterFirst",),
    "failureThreshold": (3,),
    "internalTrafficPolicy": ("Cluster",),
    "ipFamilies": (["IPv4"],),
    "ipFamilyPolicy": ("SingleStack",),
    "kind": ("ConfigMap", "DaemonSet", "PersistentVolumeClaim", "Secret", "Service", "StatefulSet"),
    "periodSeconds": (10,),
    "persistentVolumeClaimRetentionPolicy": ({"whenDeleted": "Retain", "whenScaled": "Retain"},),
    "podManagementPolicy": ("OrderedReady",),
    "protocol": ("TCP",),
    "restartPolicy": ("Always",),
    "revisionHistoryLimit": (10,),
    "schedulerName": ("default-scheduler",),
    "scheme": ("HTTP",),
    "sessionAffinity": ("None",),
    "successThreshold": (1,),
    "terminationGracePeriodSeconds": (30,),
    "terminationMessagePath": ("/dev/termination-log",),
    "terminationMessagePolicy": ("File",),
    "timeoutSeconds": (1,),
    "type": ("ClusterIP", "Opaque"),
    "volumeMode": ("Filesystem",),
}
_QUANTITIES: Final = ("limits", "requests")
# Of a name with capitals Kubernetes does not see the tag, nor that there is none.
_IMAGE: Final = re.compile(r"[^A-Z:]+(?::\d+/[^A-Z:]+)?(?::(?P<tag>[\w.-]+))?")


def comparable(found: Object) -> Any:
    """An object less defaults, nulls, empty members and what tells clusters apart."""
    metadata = {
        name: value for name, value in found["metadata"].items() if name not in ("annotations",)
    }
    owners = [
        {name: value for name, value in owner.items() if name != "uid"}
        for owner in metadata.get("ownerReferences") or ()
    ]
    told = {name: _told(value) for name, value in found.items() if name not in ("metadata", "data")}
    kept = {name: value for name, value in told.items() if value not in _DEFAULTS.get(name, ())}
    return comparable_object(kept | {"metadata": metadata | {"ownerReferences": owners}})


def _told(value: Any) -> Any:
    if isinstance(value, list):
        return [_told(item) for item in value]
    if not isinstance(value, dict):
        return value
    told: dict[str, Any] = {
        name: _numbers(item) if name in _QUANTITIES else _told(item)
        for name, item in value.items()
        if item not in _DEFAULTS.get(name, ())
    }
    if "image" in told and told.get("imagePullPolicy") == _pull_policy(told["image"]):
        del told["imagePullPolicy"]
    if "serviceAccountName" in told:
        # The name that this member had before, which an API server repeats.
        told.pop("serviceAccount", None)
    return told


def _numbers(quantities: dict[str, Any]) -> dict[str, str]:
    return {name: str(quantity(value)) for name, value in quantities.items()}


def _pull_policy(image: str) -> str:
    found = _IMAGE.fullmatch(image)
    return "Always" if found and found["tag"] in (None, "latest") else "IfNotPresent"
