"""The peer's objects as worlds record them, and as an API server takes and gives them.

Recorded are all of an object that a namespace of the same content would have again: no versions, no
times, and every UID reads `UID`. Secrets are decoded.
"""

import base64
import gzip
from collections.abc import Mapping
from typing import Any, Final

from stoker.api.core import Object
from tests.conformance.worlds import PLURALS, readable

INPUT_HASH: Final = "prometheus-operator-input-hash"
# Whom an owner reference names: its kind and its name.
Uids = Mapping[tuple[str, str], str]

_UID: Final = "UID"
_HEADLESS: Final = "-operated"
_KINDS: Final = {plural: kind for kind, plural in PLURALS.items()}
_OF_THIS_CLUSTER: Final = (
    *("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"),
)


def key_of(found: Object) -> str:
    """The name of an object in a record: its plural and its own."""
    return f"{PLURALS[found['kind']]}/{found['metadata']['name']}"


def recorded(found: Object) -> Object:
    """An object of an API server as it is recorded."""
    metadata = {
        name: value
        for name, value in found["metadata"].items()
        if name not in (*_OF_THIS_CLUSTER, "annotations", "ownerReferences")
    }
    if "ownerReferences" in found["metadata"]:
        metadata["ownerReferences"] = [
            {name: value for name, value in owner.items() if name != "uid"}
            for owner in found["metadata"]["ownerReferences"]
        ]
    if annotations := found["metadata"].get("annotations"):
        kept = {name: text for name, text in annotations.items() if name != INPUT_HASH}
        metadata["annotations"] = kept
    told = {name: value for name, value in found.items() if name not in ("status", "spec")}
    if "spec" in found:
        told["spec"] = {
            name: value for name, value in found["spec"].items() if not name.startswith("clusterIP")
        }
    made = readable(told | {"metadata": metadata})
    return {name: made[name] for name in sorted(made) if name not in ("apiVersion", "kind")}


def restored(key: str, found: Object, uids: Uids) -> Object:
    """A recorded object for an API server where its owners and rules have these UIDs."""
    plural, name = key.split("/")
    kind = _KINDS[plural]
    metadata: dict[str, Any] = dict(found["metadata"])
    metadata["ownerReferences"] = [
        owner | {"uid": uids[owner["kind"], owner["name"]]}
        for owner in found["metadata"].get("ownerReferences") or ()
    ]
    made = found | {"kind": kind, "metadata": metadata}
    if kind in ("StatefulSet", "DaemonSet"):
        annotations = metadata.get("annotations") or {}
        metadata["annotations"] = annotations | {INPUT_HASH: "1234567890"}
    if kind == "Service" and name.endswith(_HEADLESS):
        made["spec"] = found["spec"] | {"clusterIP": "None"}
    if kind == "ConfigMap":
        namespace = metadata["namespace"]
        data = found.get("data") or {}
        made["data"] = {_of_rule(key, namespace, uids): text for key, text in data.items()}
    if kind == "Secret":
        made["data"] = {key: _encoded(key, text) for key, text in (found.get("data") or {}).items()}
    return made | {"apiVersion": "apps/v1" if "Set" in kind else "v1"}


def _of_rule(file: str, namespace: str, uids: Uids) -> str:
    """The name of a rule's file with the rule's own UID."""
    if not file.endswith(f"-{_UID}.yaml"):
        return file
    stem = file.removesuffix(f"{_UID}.yaml")
    rule = stem.removeprefix(f"{namespace}-").removesuffix("-")
    return f"{stem}{uids['PrometheusRule', rule]}.yaml"


def _encoded(key: str, text: str) -> str:
    value = text.encode()
    if key.endswith(".gz"):
        value = gzip.compress(value, mtime=0)
    return base64.b64encode(value).decode()
