"""The service account of a pod: what admission adds to a pod for it, and its token."""

from __future__ import annotations

from typing import Any

from tools.api import Api, ApiError
from tools.pods.fields import NotYetError

Object = dict[str, Any]

# Long enough not to be renewed, for anything that runs here.
SECONDS = 30 * 24 * 3600

ACCOUNT = "kube-api-access"
ACCOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
ACCOUNT_SOURCES: list[Object] = [
    {"serviceAccountToken": {"path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {
        "downwardAPI": {
            "items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]
        }
    },
]


def with_account(pod: Object) -> Object:
    """The pod as admission would have made it: with the token of its service account.

    The cluster runs without that admission plugin, as accounts need not exist there.
    """
    spec = pod["spec"]
    if spec.get("automountServiceAccountToken") is False:
        return pod
    volume = {"name": ACCOUNT, "projected": {"sources": ACCOUNT_SOURCES}}
    mount = {"name": ACCOUNT, "mountPath": ACCOUNT_PATH, "readOnly": True}
    changed: Object = {"volumes": [*spec.get("volumes", []), volume]}
    for member in ("initContainers", "containers"):
        changed[member] = [
            {**each, "volumeMounts": [*each.get("volumeMounts", []), mount]}
            for each in spec.get(member, [])
        ]
    return {**pod, "spec": {**spec, **changed}}


def token_of(api: Api, pod: Object, audience: str | None) -> str:
    """A new token of a pod's account; without an audience for the API server.

    It is bound to the pod where that names its account, as admission would have it do.
    """
    namespace = pod["metadata"]["namespace"]
    name = pod["spec"].get("serviceAccountName")
    spec: Object = {"expirationSeconds": SECONDS, "audiences": [audience] if audience else None}
    if name:
        bound = {"kind": "Pod", "apiVersion": "v1", "name": pod["metadata"]["name"]}
        spec["boundObjectRef"] = bound | {"uid": pod["metadata"]["uid"]}
    name = name or "default"
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    try:
        answer = api.request("POST", path, {"spec": spec})
    except ApiError as error:
        raise NotYetError(f"no token of service account {name}: {error}") from error
    return str(answer["status"]["token"])
