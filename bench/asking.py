"""An agent on every node that gets portions: what its pods ask with, and whom they trust."""

from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from bench.crowd import HOST
from stoker.api.crd import GROUP
from tools.cluster import Cluster
from tools.waiting import until

HOME: Final = "monitoring"
ACCOUNT: Final = "agents"
AGENTS: Final = f"/apis/{GROUP}/v1alpha1/namespaces/{HOME}/prometheusagents"
SETS: Final = f"/apis/apps/v1/namespaces/{HOME}/daemonsets"

Object = dict[str, Any]


def flags(port: int) -> list[str]:
    """What an operator is started with that serves portions on a port."""
    return [
        f"--node-discovery-url=https://{HOST}:{port}",
        f"--node-discovery-address=127.0.0.1:{port}",
        "--prometheus-config-reloader=example.com/stoker:1",
    ]


def make_home(cluster: Cluster) -> None:
    """A namespace for agents, with their service account."""
    cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": HOME}})
    account = {"metadata": {"name": ACCOUNT}}
    cluster.api.request("POST", f"/api/v1/namespaces/{HOME}/serviceaccounts", account)


def agent(name: str, **spec: Any) -> Object:
    """An agent that selects all ServiceMonitors."""
    every: Object = {"serviceMonitorSelector": {}, "serviceMonitorNamespaceSelector": {}}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "PrometheusAgent",
        "metadata": {"name": name},
        "spec": every | spec,
    }


def put_on_nodes(cluster: Cluster, nodes: int) -> dict[str, str]:
    """Have an agent on every node; the token of each of its pods, by node."""
    on_nodes = {"mode": "DaemonSet", "daemonSet": {"discovery": "Operator"}}
    made = agent("main", serviceAccountName=ACCOUNT, **on_nodes)
    cluster.api.request("POST", AGENTS, made)

    def everywhere() -> bool:
        status = cluster.api.get(f"{SETS}/prom-agent-main").get("status", {})
        return bool(status.get("numberAvailable", 0) >= nodes)

    until("agents on all nodes", everywhere, seconds=3600)
    selector = "labelSelector=operator.prometheus.io/name=main"
    pods = cluster.api.get(f"/api/v1/namespaces/{HOME}/pods?{selector}")["items"]
    with ThreadPoolExecutor(8) as pool:
        return dict(pool.map(partial(_token, cluster), pods))


def _token(cluster: Cluster, pod: Object) -> tuple[str, str]:
    of = {"kind": "Pod", "apiVersion": "v1", "name": pod["metadata"]["name"]}
    spec = {
        "audiences": ["stoker-portions"],
        "expirationSeconds": 7200,
        "boundObjectRef": of | {"uid": pod["metadata"]["uid"]},
    }
    path = f"/api/v1/namespaces/{HOME}/serviceaccounts/{ACCOUNT}/token"
    answer = cluster.api.request("POST", path, {"spec": spec})
    return pod["spec"]["nodeName"], answer["status"]["token"]


def authority(cluster: Cluster) -> str:
    """Whom the pods of the agent are told to trust."""
    path = f"/api/v1/namespaces/{HOME}/secrets/prom-agent-main-portions"
    return b64decode(cluster.api.get(path)["data"]["portion-ca.pem"]).decode()
