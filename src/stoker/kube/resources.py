"""The resources that the operator touches, and how the paths of an API server name them.

A `ApiResource` makes paths; `Target.of` reads one back, so that errors and metrics can say what a
request was about without each caller telling them.
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from msgspec import Struct
from msgspec.structs import replace

from stoker.api import kinds
from stoker.api.crd import GROUP, Kind

WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
# To look is a tenth of the time that quoting takes, and nearly all names are like this.
_PLAIN: Final = re.compile(r"[a-z0-9.{}-]*")


class ApiResource(Struct, frozen=True):
    """One kind of objects at one version of its group; the core group is ""."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The `apiVersion` that its objects have."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """The name as RBAC and people write it: `secrets`, `leases.coordination.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str | None, name: str = "", subresource: str = "") -> str:
        """The path of one object, or of all in a namespace; of all namespaces when that is None."""
        target = Target(
            group=self.group,
            version=self.version,
            plural=self.plural,
            namespace=(namespace or "") if self.namespaced else "",
            name=name,
            subresource=subresource,
        )
        return target.path


class Target(Struct, frozen=True, kw_only=True):
    """What a path of the API server is about; `plural` is empty when that is no resource."""

    group: str = ""
    version: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @classmethod
    def of(cls, path: str) -> "Target":
        """Read a path as `Resource.path` makes it."""
        match [unquote(part) for part in path.strip("/").split("/")]:
            case ["api", version, *rest]:
                return _located(cls(version=version), rest)
            case ["apis", group, version, *rest]:
                return _located(cls(group=group, version=version), rest)
        return cls()

    @property
    def path(self) -> str:
        """The path itself."""
        parts = ["apis", self.group] if self.group else ["api"]
        parts.append(self.version)
        if self.namespace:
            parts += ["namespaces", self.namespace]
        parts += [part for part in (self.plural, self.name, self.subresource) if part]
        return "/" + "/".join(map(_segment, parts))

    @property
    def template(self) -> str:
        """The path with places instead of names: few enough for a label of a metric."""
        return replace(
            self,
            namespace="{namespace}" if self.namespace else "",
            name="{name}" if self.name else "",
        ).path

    @property
    def resource(self) -> str:
        """The resource as RBAC names it: `prometheuses.monitoring.coreos.com/status`."""
        name = f"{self.plural}.{self.group}" if self.group else self.plural
        return f"{name}/{self.subresource}" if self.subresource else name

    def verb(self, method: str, query: Mapping[str, str] | None = None) -> str:
        """The verb that RBAC must allow for a request."""
        if method != "GET":
            return _VERBS.get(method, method.lower())
        if self.name or not self.plural:
            return "get"
        return "watch" if query and query.get("watch") else "list"


def _segment(text: str) -> str:
    """A name may come from a tenant's field: it must stay one segment of the path."""
    return text if _PLAIN.fullmatch(text) else quote(text, safe="{}:")


def _located(target: Target, rest: list[str]) -> Target:
    """What follows the group and version: a namespace perhaps, then resource, name, subresource."""
    # /namespaces/x and its status are about a namespace, all longer paths about what is in one.
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        target, rest = replace(target, namespace=rest[1]), rest[2:]
    plural, name, subresource = (*rest, "", "", "")[:3]
    return replace(target, plural=plural, name=name, subresource=subresource)


def _ours(kind: Kind, version: str) -> ApiResource:
    return ApiResource(GROUP, version, kind.plural, kind.name)


OURS: Final = {kind.name: _ours(kind, kind.stored.name) for kind in kinds.KINDS}
"""Our kinds by name, in the version that is stored."""

PROMETHEUS: Final = OURS["Prometheus"]
PROMETHEUS_AGENT: Final = OURS["PrometheusAgent"]
ALERTMANAGER: Final = OURS["Alertmanager"]
THANOS_RULER: Final = OURS["ThanosRuler"]

CONFIG_MAP: Final = ApiResource("", "v1", "configmaps", "ConfigMap")
ENDPOINTS: Final = ApiResource("", "v1", "endpoints", "Endpoints")
NAMESPACE: Final = ApiResource("", "v1", "namespaces", "Namespace", namespaced=False)
NODE: Final = ApiResource("", "v1", "nodes", "Node", namespaced=False)
PERSISTENT_VOLUME_CLAIM: Final = ApiResource(
    "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"
)
POD: Final = ApiResource("", "v1", "pods", "Pod")
SECRET: Final = ApiResource("", "v1", "secrets", "Secret")
SERVICE: Final = ApiResource("", "v1", "services", "Service")

CONTROLLER_REVISION: Final = ApiResource("apps", "v1", "controllerrevisions", "ControllerRevision")
DAEMON_SET: Final = ApiResource("apps", "v1", "daemonsets", "DaemonSet")
STATEFUL_SET: Final = ApiResource("apps", "v1", "statefulsets", "StatefulSet")

ENDPOINT_SLICE: Final = ApiResource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
EVENT: Final = ApiResource("events.k8s.io", "v1", "events", "Event")
LEASE: Final = ApiResource("coordination.k8s.io", "v1", "leases", "Lease")
POD_DISRUPTION_BUDGET: Final = ApiResource(
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"
)
SELF_SUBJECT_ACCESS_REVIEW: Final = ApiResource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False
)
SUBJECT_ACCESS_REVIEW: Final = ApiResource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
TOKEN_REVIEW: Final = ApiResource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
STORAGE_CLASS: Final = ApiResource(
    "storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False
)

_SERVED: Final = [_ours(kind, each.name) for kind in kinds.KINDS for each in kind.versions]
ALL: Final[tuple[ApiResource, ...]] = (
    *_SERVED,
    *(CONFIG_MAP, ENDPOINTS, NAMESPACE, NODE, PERSISTENT_VOLUME_CLAIM, POD, SECRET, SERVICE),
    *(CONTROLLER_REVISION, DAEMON_SET, STATEFUL_SET, ENDPOINT_SLICE, EVENT, LEASE),
    *(POD_DISRUPTION_BUDGET, STORAGE_CLASS),
    *(SELF_SUBJECT_ACCESS_REVIEW, SUBJECT_ACCESS_REVIEW, TOKEN_REVIEW),
)


def versions_of(resource: ApiResource) -> tuple[ApiResource, ...]:
    """The resource in each version that we know."""
    return tuple(each for each in ALL if each.name == resource.name)


_BY_TYPE: Final = {(each.api_version, each.kind): each for each in ALL}


def resource_of(obj: Mapping[str, Any]) -> ApiResource:
    """The resource that an object belongs to, by its `apiVersion` and `kind`."""
    key = (obj.get("apiVersion", ""), obj.get("kind", ""))
    if key not in _BY_TYPE:
        raise LookupError(f"no resource is known for apiVersion {key[0]!r} and kind {key[1]!r}")
    return _BY_TYPE[key]
