"""Objects for tests: of our kinds and of Kubernetes' own, as manifests or with their types."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, TypeVar

from stoker.api.crd import GROUP
from stoker.api.decode import convert
from stoker.api.kinds import kind_called

Object = dict[str, Any]
T = TypeVar("T")

_VERSIONS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Ingress": "networking.k8s.io/v1",
    "EndpointSlice": "discovery.k8s.io/v1",
    **dict.fromkeys(
        ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"), "rbac.authorization.k8s.io/v1"
    ),
}
_CLUSTER_WIDE = ("Namespace", "Node", "ClusterRole", "ClusterRoleBinding")
_METADATA = frozenset(
    {
        "labels", "annotations", "uid", "generation", "creationTimestamp", "deletionTimestamp",
        "finalizers", "ownerReferences", "resourceVersion",
    }
)  # fmt: skip


# --- Manifests ------------------------------------------------------------------------------------


def api_version(kind: str) -> str:
    """The `apiVersion` of a kind: for ours, the one that is stored."""
    ours = kind_called(kind)
    return f"{GROUP}/{ours.stored.name}" if ours else _VERSIONS.get(kind, "v1")


def thing(
    kind: str, name: str, namespace: str = "shop", *, version: str = "", **members: Any
) -> Object:
    """An object of any kind; `labels`, `uid` and the like go to its metadata.

    `version` is that of our group, where it is not the one that is stored.
    """
    metadata = {"name": name} | {key: members.pop(key) for key in _METADATA & members.keys()}
    if kind not in _CLUSTER_WIDE:
        metadata["namespace"] = namespace
    known = f"{GROUP}/{version}" if version else api_version(kind)
    return {"apiVersion": known, "kind": kind, "metadata": metadata, **members}


def resource(
    kind: str, name: str, spec: Mapping[str, Any], *, version: str = "", **metadata: Any
) -> Object:
    """An object with a specification, in no namespace unless its metadata say so."""
    known = f"{GROUP}/{version}" if version else api_version(kind)
    named = {"name": name, **metadata}
    return {"apiVersion": known, "kind": kind, "metadata": named, "spec": dict(spec)}


def secret(name: str, values: Mapping[str, str], **metadata: Any) -> Object:
    """A Secret, with its values as users write them."""
    named = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": named, "stringData": dict(values)}


def stored_secret(name: str, values: Mapping[str, str | bytes], **metadata: Any) -> Object:
    """A Secret as an API server keeps it: with its values in base64."""
    raw = {key: each.encode() if isinstance(each, str) else each for key, each in values.items()}
    data = {key: b64encode(each).decode() for key, each in raw.items()}
    named = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": named, "data": data}


def config_map(name: str, values: Mapping[str, str], **metadata: Any) -> Object:
    """A ConfigMap."""
    named = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": dict(values)}


def node(name: str, *taints: Object, **labels: str) -> Object:
    """A node."""
    return thing("Node", name, labels=labels, spec={"taints": list(taints)})


def pod(
    name: str, labels: Mapping[str, str], ports: Mapping[str, int], node: str = "", **spec: Any
) -> Object:
    """A pod of one container with these ports; on that node, whatever a scheduler thinks."""
    named = [{"name": port, "containerPort": number} for port, number in ports.items()]
    containers = [{"name": "main", "image": "none", "ports": named}]
    where = {"nodeName": node} if node else {}
    return resource("Pod", name, where | {"containers": containers} | spec, labels=dict(labels))


def pod_of(
    kind: str, owner: str, name: str, *, uid: str = "1", ready: bool = True, **members: Any
) -> Object:
    """A pod as a cluster has it, of a StatefulSet or DaemonSet; `status` adds to what it says."""
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": uid}
    said: Object = {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]}
    members["status"] = said | members.get("status", {})
    owners = [reference | {"controller": True}]
    return thing("Pod", name, ownerReferences=owners, **({"spec": {}} | members))


def service_monitor(name: str, port: str = "web", **endpoint: Any) -> Object:
    """A ServiceMonitor of one endpoint, for Services with a label of its own name."""
    endpoints = [{"port": port} | endpoint]
    return resource("ServiceMonitor", name, {"selector": _app(name), "endpoints": endpoints})


def pod_monitor(name: str, **endpoint: Any) -> Object:
    """A PodMonitor of one endpoint, for pods with a label of its own name."""
    endpoints = [{"port": "web"} | endpoint]
    return resource("PodMonitor", name, {"selector": _app(name), "podMetricsEndpoints": endpoints})


def alertmanager_config(name: str, *matchers: Object, **spec: Any) -> Object:
    """An AlertmanagerConfig with a route to one receiver, for alerts that match."""
    route = {"receiver": "team", "matchers": list(matchers)}
    return resource(
        "AlertmanagerConfig", name, {"route": route, "receivers": [{"name": "team"}]} | spec
    )


def endpoints(*found: Object) -> Object:
    """The spec of a ServiceMonitor of all Services, with these endpoints."""
    return {"selector": {}, "endpoints": list(found)}


def record(name: str, expr: str) -> Object:
    """The spec of a PrometheusRule with one recording rule, in a group that has this name."""
    return {"groups": [{"name": name, "rules": [{"record": "a:b", "expr": expr}]}]}


def alert(name: str, expr: str = "up == 0", /, **members: Any) -> Object:
    """The spec of a PrometheusRule with one alert, in a group that has this name."""
    return {"groups": [{"name": name, "rules": [{"alert": "Down", "expr": expr} | members]}]}


def _app(name: str) -> Object:
    return {"matchLabels": {"app": name}}


# --- Workloads that select everything in their namespace ------------------------------------------


def prometheus(name: str, **spec: Any) -> Object:
    """A Prometheus that selects everything in its namespace."""
    every: Object = {"serviceMonitorSelector": {}, "podMonitorSelector": {}, "ruleSelector": {}}
    return resource(
        "Prometheus", name, every | {"probeSelector": {}, "scrapeConfigSelector": {}} | spec
    )


def agent(name: str, **spec: Any) -> Object:
    """A PrometheusAgent that selects everything in its namespace."""
    every: Object = {"serviceMonitorSelector": {}, "podMonitorSelector": {}, "probeSelector": {}}
    return resource("PrometheusAgent", name, every | {"scrapeConfigSelector": {}} | spec)


def alertmanager(name: str, **spec: Any) -> Object:
    """An Alertmanager that selects everything in its namespace."""
    return resource("Alertmanager", name, {"alertmanagerConfigSelector": {}} | spec)


def thanos_ruler(name: str, **spec: Any) -> Object:
    """A ThanosRuler that selects all rules in its namespace."""
    return resource("ThanosRuler", name, {"ruleSelector": {}, "queryEndpoints": ["query:1"]} | spec)


# --- With their types -----------------------------------------------------------------------------


def typed(
    model: type[T],
    name: str,
    spec: Mapping[str, Any] | None = None,
    namespace: str = "shop",
    *,
    status: Mapping[str, Any] | None = None,
    **metadata: Any,
) -> T:
    """An object of a kind, by the names of members in JSON."""
    parts = {"spec": spec, "status": status}
    given = {part: value for part, value in parts.items() if value is not None}
    return convert(model, {"metadata": {"name": name, "namespace": namespace, **metadata}, **given})
