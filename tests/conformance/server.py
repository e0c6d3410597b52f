"""A real API server with our CustomResourceDefinitions, and what it says to an object.

Objects are created as a dry run, so nothing is stored and no case can meet another, and with the
server's own default for unknown fields, which is to drop them with a warning.

A version that is not the stored one loses, on its way through the store, what the stored version
does not know. The recordings were made without that conversion. Such a version is therefore also
installed on its own, in a group of its own (`v1beta1.conformance.test`), and asked there.
"""

import json
from typing import Any, Final, Self

from msgspec import Struct

from stoker.api.crd import GROUP, Kind, KindVersion, manifest, only
from stoker.api.kinds import KINDS, kind_called
from tools.api import ApiError
from tools.cluster import Cluster

NAMESPACE: Final = "conformance"
# What the server says about no field in particular: that CEL rules were not asked, for example.
NO_FIELD: Final = "<nil>"
_UNPROCESSABLE: Final = 422
_CONFLICT: Final = 409
_ALONE: Final = "conformance.test"


class Verdict(Struct, frozen=True):
    """What an API server makes of an object: the stored form, or the fields at fault."""

    valid: bool
    stored: dict[str, Any]
    fields: frozenset[str]
    message: str = ""


class Server(Struct, frozen=True):
    """An API server that knows our kinds."""

    cluster: Cluster

    @classmethod
    def prepared(cls, cluster: Cluster) -> Self:
        """Install our CRDs, wait until they are served, and make the namespace for objects."""
        manifests = [manifest(kind) for kind in KINDS]
        manifests += [
            _alone(kind, version)
            for kind in KINDS
            for version in kind.versions
            if version != kind.stored
        ]
        _install(cluster, manifests)
        _make_namespace(cluster)
        return cls(cluster)

    def verdict(self, api_version: str, kind: str, given: dict[str, Any]) -> Verdict:
        """Ask for an object to be created."""
        path, group_version = _resource(api_version, kind)
        metadata = given.get("metadata", {}) | {"namespace": NAMESPACE}
        posted = given | {"apiVersion": group_version, "metadata": metadata}
        try:
            stored = self.cluster.api.request("POST", f"{path}?dryRun=All", posted)
        except ApiError as error:
            return _refusal(error)
        return Verdict(True, stored | {"apiVersion": api_version}, frozenset())


def _resource(api_version: str, kind: str) -> tuple[str, str]:
    """The path to POST to, and the apiVersion to give there."""
    declared = kind_called(kind)
    name = api_version.removeprefix(f"{GROUP}/")
    if declared is None or declared.version(name) is None:
        raise LookupError(f"we have no {api_version} {kind}")
    group = GROUP if declared.stored.name == name else f"{name}.{_ALONE}"
    path = f"/apis/{group}/{name}/namespaces/{NAMESPACE}/{declared.plural}"
    return path, f"{group}/{name}"


def _refusal(error: ApiError) -> Verdict:
    if error.status != _UNPROCESSABLE:
        raise error
    status = json.loads(str(error).partition(": ")[2])
    causes = status["details"].get("causes", [])
    # The check for the scale subresource writes `.spec.shards`.
    fields = frozenset(cause["field"].removeprefix(".") for cause in causes)
    return Verdict(False, {}, fields, status["message"])


def _alone(kind: Kind, version: KindVersion) -> dict[str, Any]:
    group = f"{version.name}.{_ALONE}"
    crd = manifest(kind, serving=only(version))
    crd["metadata"]["name"] = f"{kind.plural}.{group}"
    crd["spec"]["group"] = group
    return crd


def _install(cluster: Cluster, manifests: list[dict[str, Any]]) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)
    for crd in manifests:
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        for version in crd["spec"]["versions"]:
            _await_service(cluster, f"/apis/{group}/{version['name']}/{plural}")


def _await_service(cluster: Cluster, path: str) -> None:
    cluster.until(f"{path} is served", lambda: cluster.api.get(path))


def _make_namespace(cluster: Cluster) -> None:
    try:
        cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    except ApiError as error:
        if error.status != _CONFLICT:
            raise
