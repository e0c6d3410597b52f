"""What tests with real scrapes have in common: targets, an exporter behind them, and questions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from tests.builders import pod, resource
from tools.cluster import Cluster
from tools.components import SERVER_ADDRESS
from tools.host import ROOT
from tools.podrunner import PodRunner
from tools.pods.images import OUR_IMAGE

Object = dict[str, Any]

PORTS = {"web": 8080, "admin": 8081}
# Where the exporter itself answers, as every other address that no running pod has.
NOBODY = SERVER_ADDRESS
# What Prometheus needs to find targets.
READS: list[Object] = [
    {
        "apiGroups": ["", "discovery.k8s.io"],
        "resources": ["pods", "services", "endpoints", "endpointslices", "nodes"],
        "verbs": ["list", "watch"],
    }
]


@contextmanager
def exporter(cluster: Cluster) -> Iterator[None]:
    """What answers at the addresses of all pods that do not run."""
    argv = [sys.executable, "-m", "tools.exporter", *map(str, PORTS.values())]
    process = cluster.spawn(argv, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def target(name: str, node: str, labels: Mapping[str, str], *ports: str) -> Object:
    """A pod on a node, with these ports of the exporter."""
    return pod(name, labels, {each: PORTS[each] for each in ports or ("web",)}, node)


def our_reloader() -> Object:
    """Members of a workload's spec by which its pods have our reloader.

    For those that change their configuration again and again: the peer's, which is the default,
    notices the first change of a file at once and later ones within three minutes.
    """
    return {
        "containers": [{"name": "config-reloader", "image": OUR_IMAGE}],
        "initContainers": [{"name": "init-config-reloader", "image": OUR_IMAGE}],
    }


def node_agent(name: str, **spec: Any) -> Object:
    """A PrometheusAgent on every node that selects all monitors of its namespace."""
    every: Object = {"serviceMonitorSelector": {}, "podMonitorSelector": {}}
    return resource("PrometheusAgent", name, every | {"mode": "DaemonSet"} | spec)


def allow_discovery(cluster: Cluster, namespace: str, account: str = "default") -> None:
    """Let a service account find targets everywhere."""
    name = f"discovery-{namespace}"
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    role = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    for plural, body in (
        ("clusterroles", {"rules": READS}),
        ("clusterrolebindings", {"roleRef": role, "subjects": [subject]}),
    ):
        path = f"/apis/{group}/v1/{plural}"
        cluster.api.request("POST", path, {"metadata": {"name": name}, **body})


def series(
    pods: PodRunner, address: str, expression: str, port: int = 9090
) -> list[dict[str, str]]:
    """The labels of all series that a Prometheus has for an expression."""
    path = f"/api/v1/query?query={quote(expression)}"
    answer = json.loads(pods.page(address, port, path))
    return [each["metric"] for each in answer["data"]["result"]]


def samples(
    pods: PodRunner, address: str, selector: str, port: int = 9090
) -> list[tuple[dict[str, str], list[float]]]:
    """The labels of all series in a range, each with the times of its samples."""
    answer = json.loads(pods.page(address, port, f"/api/v1/query?query={quote(selector)}"))
    return [
        (each["metric"], [time for time, _ in each["values"]]) for each in answer["data"]["result"]
    ]


Asked = dict[str, dict[str, int]]
"""How often each instance was asked by whom, by addresses."""


def asked(pods: PodRunner) -> Asked:
    """Who has asked the exporter for what, as it knows itself."""
    found: Asked = json.loads(pods.page(NOBODY, PORTS["web"], "/scrapes"))
    return found


def active_targets(pods: PodRunner, address: str) -> list[Object]:
    """What a Prometheus or an agent scrapes."""
    answer = json.loads(pods.page(address, 9090, "/api/v1/targets?state=active"))
    found: list[Object] = answer["data"]["activeTargets"]
    return found
