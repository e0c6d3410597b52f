"""What an API server fills in where an object does not say.

Whoever writes an object by an update has all of that on record as its own. When we take the object
over, it seems to be wanted no longer, goes, and is filled in again as it was: no difference.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from stoker.api.core import Object

_PROBE: Final = {"failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1}
_CONTAINER: Final = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_FILES: Final = {"defaultMode": 420}
# By the member that holds it; items of a list are held by the list.
_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "": {"type": "Opaque"},
    "spec": {
        "dnsPolicy": "ClusterFirst",
        "internalTrafficPolicy": "Cluster",
        "podManagementPolicy": "OrderedReady",
        "restartPolicy": "Always",
        "revisionHistoryLimit": 10,
        "schedulerName": "default-scheduler",
        "sessionAffinity": "None",
        "terminationGracePeriodSeconds": 30,
        "type": "ClusterIP",
        "volumeMode": "Filesystem",
    },
    "containers": _CONTAINER,
    "initContainers": _CONTAINER,
    "livenessProbe": _PROBE | {"timeoutSeconds": 1},
    "readinessProbe": _PROBE | {"timeoutSeconds": 1},
    "startupProbe": _PROBE | {"timeoutSeconds": 1},
    "httpGet": {"scheme": "HTTP"},
    "ports": {"protocol": "TCP"},
    "secret": _FILES,
    "configMap": _FILES,
    "projected": _FILES,
    "downwardAPI": _FILES,
    "fieldRef": {"apiVersion": "v1"},
    "updateStrategy": {"type": "RollingUpdate"},
    "rollingUpdate": {"maxUnavailable": 1},
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "serviceAccountToken": {"expirationSeconds": 3600},
    "topologySpreadConstraints": {"nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"},
    "volumeClaimTemplates": {"apiVersion": "v1", "kind": "PersistentVolumeClaim"},
}
# Members that follow from another beside them, or are the server's own.
_SAME: Final = {"serviceAccount": "serviceAccountName", "targetPort": "port"}
_OF_THE_SERVER: Final = {
    "annotations": ("deprecated.daemonset.template.generation",),
    "spec": ("clusterIPs", "ipFamilies", "ipFamilyPolicy"),
    "volumeClaimTemplates": ("status",),
}
_NAME: Final = re.compile(r"(?:[A-Za-z0-9.-]+(?::\d+)?/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*")
# Who has which fields: names, of which those without further ones are empty.
_RECORD: Final = "managedFields"


def without_defaults(found: Object) -> Object:
    """An object less all that an API server would have filled in, and less what is empty."""
    made: Object = _less("", found)
    return made


def _less(holder: str, value: Any) -> Any:
    if holder == _RECORD:
        return value
    if isinstance(value, list):
        return [_less(holder, each) for each in value]
    if not isinstance(value, Mapping):
        return value
    defaults, gone = _DEFAULTS.get(holder, {}), _OF_THE_SERVER.get(holder, ())
    said = {
        name: each
        for name, each in value.items()
        if name not in gone
        and (name not in defaults or defaults[name] != each)
        and not _follows(name, value)
        and not (name == "imagePullPolicy" and each == _pull_policy(value.get("image", "")))
    }
    made = ((name, _less(name, each)) for name, each in said.items())
    return {name: each for name, each in made if each or each is False}


def _follows(name: str, beside: Mapping[str, Any]) -> bool:
    return name in _SAME and beside[name] == beside.get(_SAME[name])


def _pull_policy(image: str) -> str:
    name, _, tag = image.rpartition("/")[2].partition(":")
    # What cannot be read as a name is not taken for the latest.
    latest = tag == "latest" or (not tag and "@" not in name and _NAME.fullmatch(image))
    return "Always" if latest else "IfNotPresent"
