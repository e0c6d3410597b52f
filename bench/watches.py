"""What an agent on every node asks of the API server, by the number of nodes.

One real agent, as all are alike, with configurations that we generate (`stoker render`) and
variations of them. All it asks goes through a proxy that counts: watches, the bytes until it has
found everything, and the bytes while pods on other nodes are replaced. Bytes are those on the wire,
compressed where the API server does that.

20 namespaces with 5 Services each, 10 pods on each node; in each namespace a PodMonitor or a
ServiceMonitor for each Service.

    python -m bench watches [--node-counts 3 50 500]
"""

import argparse
import secrets
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml
from yarl import URL

from bench.nodes import at_once
from stoker.__main__ import main as stoker
from stoker.api.crd import GROUP
from tests.live.faults import Gateway
from tools import build
from tools.cluster import Cluster
from tools.waiting import until

COUNTS: Final = (3, 50, 500)
NAMESPACES, SERVICES, PODS_PER_NODE = 20, 5, 10
REPLACED = 20
# Nothing came for so long: all is found, or all that changed is told.
QUIET_SECONDS = 3

Object = dict[str, Any]
Change = Callable[[Object], None]


def _every(kind: str, **spec: Any) -> Iterator[Object]:
    """A monitor of a kind for each Service, or for all pods of a namespace."""
    for space in range(NAMESPACES):
        for number in range(SERVICES if kind == "ServiceMonitor" else 1):
            member = "endpoints" if kind == "ServiceMonitor" else "podMetricsEndpoints"
            labels = {"app": f"app-{number}"} if kind == "ServiceMonitor" else {}
            yield {
                "apiVersion": f"{GROUP}/v1",
                "kind": kind,
                "metadata": {"name": f"monitor-{number}", "namespace": f"team-{space}"},
                "spec": {"selector": {"matchLabels": labels}, member: [{"port": "web"}], **spec},
            }


def _everywhere(kind: str, **spec: Any) -> Iterator[Object]:
    for each in _every(kind, namespaceSelector={"any": True}, **spec):
        if each["metadata"]["namespace"] == "team-0":
            yield each


def _as_it_is(_discovery: Object) -> None:
    pass


def _all_pods(discovery: Object) -> None:
    """As without the field selector."""
    kept = [each for each in discovery["selectors"] if each["role"] != "pod"]
    discovery["selectors"] = kept


def _endpoints(discovery: Object) -> None:
    """As with Endpoints instead of EndpointSlices."""
    discovery["role"] = "endpoints"
    for each in discovery["selectors"]:
        each["role"] = each["role"].replace("endpointslice", "endpoints")


ALL_PODS: Final = "  all pods "
BY_API: Final[Object] = {"selectorMechanism": "RoleSelector"}
VARIANTS: Final[dict[str, tuple[list[Object], Change]]] = {
    "PodMonitors, one per namespace": (list(_every("PodMonitor")), _as_it_is),
    "  all pods": (list(_every("PodMonitor")), _all_pods),
    "PodMonitor, any namespace": (list(_everywhere("PodMonitor")), _as_it_is),
    ALL_PODS: (list(_everywhere("PodMonitor")), _all_pods),
    "ServiceMonitors, five per namespace": (list(_every("ServiceMonitor")), _as_it_is),
    "  all pods  ": (list(_every("ServiceMonitor")), _all_pods),
    "  Endpoints": (list(_every("ServiceMonitor")), _endpoints),
    "  slices by label": (list(_every("ServiceMonitor", **BY_API)), _as_it_is),
    "ServiceMonitors, any namespace": (list(_everywhere("ServiceMonitor")), _as_it_is),
    "  slices by label ": (list(_everywhere("ServiceMonitor", **BY_API)), _as_it_is),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only this measurement knows."""
    parser.add_argument(
        "--node-counts", type=int, nargs="+", metavar="N", help="nodes (watches) [3 50 500]"
    )


def report(options: argparse.Namespace) -> bool:
    """Measure and print; the goal is that pods of other nodes cost next to nothing."""
    found = {count: _measured(count) for count in options.node_counts or COUNTS}
    titles = "".join(f"{f'{count} nodes':>27}" for count in found)
    print(f"\n{'watches, KiB to begin, KiB for 20 pods elsewhere':<50}{titles}")
    for name in VARIANTS:
        cells = (figures[name] for figures in found.values())
        texts = (f"{w:>9}{b / 1024:>9.0f}{c / 1024:>9.0f}" for w, b, c in cells)
        print(f"{name:<50}" + "".join(texts))
    own, every = (found[max(found)][name][1] for name in ("PodMonitor, any namespace", ALL_PODS))
    reached = own <= every / min(max(found), 10)
    print(f"own pods / all pods, in bytes: {own / every:.3f}: {'ok' if reached else 'MISSED'}")
    return reached


def _measured(nodes: int) -> dict[str, tuple[int, int, int]]:
    print(f"{nodes} nodes …", flush=True)
    with Cluster.start(nodes=nodes, namespaces=False) as cluster, Gateway(cluster) as gateway:
        _furnish(cluster, nodes)
        return {name: _agent(cluster, gateway, *of) for name, of in VARIANTS.items()}


def _agent(
    cluster: Cluster, gateway: Gateway, monitors: list[Object], change: Change
) -> tuple[int, int, int]:
    """Watches of an agent, bytes until it knows everything, bytes for changes elsewhere."""
    with tempfile.TemporaryDirectory() as directory:
        config = _configuration(Path(directory), cluster, gateway, monitors, change)
        gateway.seen.clear()
        gateway.carried.clear()
        with _prometheus(Path(directory), config):
            begun = _quiet(gateway)
            watches = sum(map(_is_watch, gateway.seen))
            _replace_pods(cluster)
            return watches, begun, _quiet(gateway) - begun


def _is_watch(url: URL) -> bool:
    return url.query.get("watch") in ("1", "true")


def _quiet(gateway: Gateway) -> int:
    """All bytes so far, once there are some and no more come."""
    last = [0, time.monotonic()]

    def quiet() -> int:
        total = sum(gateway.carried.values())
        if total != last[0]:
            last[:] = [total, time.monotonic()]
        return total if time.monotonic() - last[1] > QUIET_SECONDS else 0

    return until("quiet", quiet, seconds=300)


def _configuration(
    directory: Path, cluster: Cluster, gateway: Gateway, monitors: list[Object], change: Change
) -> Path:
    """What we generate for an agent on node-0, varied."""
    every: Object = {
        f"{kind}{what}": {}
        for kind in ("podMonitor", "serviceMonitor")
        for what in ("Selector", "NamespaceSelector")
    }
    server = {
        "host": gateway.url,
        "bearerToken": cluster.token,
        "tlsConfig": {"insecureSkipVerify": True},
    }
    agent = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "PrometheusAgent",
        "metadata": {"name": "main", "namespace": "team-0"},
        "spec": {"mode": "DaemonSet", "apiserverConfig": server, **every},
    }
    manifests = directory / "manifests.yaml"
    manifests.write_text(yaml.safe_dump_all([agent, *monitors]))
    made = directory / "made"
    stoker(["render", str(manifests), "--config-only", "--quiet", "-o", str(made)])
    [file] = [each for each in made.rglob("*") if each.suffix == ".yaml"]
    text = file.read_text().replace("$(NODE_NAME)", "node-0").replace("$(POD_NAME)", "agent")
    content = yaml.safe_load(text)
    for job in content["scrape_configs"]:
        for discovery in job["kubernetes_sd_configs"]:
            change(discovery)
    config = directory / "prometheus.yaml"
    config.write_text(yaml.safe_dump(content))
    return config


@contextmanager
def _prometheus(directory: Path, config: Path) -> Iterator[None]:
    argv = [
        str(build.binaries("prometheus")["prometheus"]),
        "--agent",
        f"--config.file={config}",
        f"--storage.agent.path={directory / 'data'}",
        "--web.listen-address=127.0.0.1:0",
    ]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log)
        try:
            yield
            if process.poll() is not None:
                log.seek(0)
                raise RuntimeError(f"the agent ended: {log.read().decode()[-2000:]}")
        finally:
            process.terminate()
            process.wait()


def _furnish(cluster: Cluster, nodes: int) -> None:
    for space in range(NAMESPACES):
        name = f"team-{space}"
        cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        for number in range(SERVICES):
            app = {"app": f"app-{number}"}
            body = {
                "metadata": {"name": f"app-{number}", "labels": app},
                "spec": {"selector": app, "ports": [{"name": "web", "port": 80}]},
            }
            cluster.api.request("POST", f"/api/v1/namespaces/{name}/services", body)
    at_once(cluster, [_pod(number, nodes) for number in range(PODS_PER_NODE * nodes)])

    def complete() -> bool:
        slices = cluster.api.get("/apis/discovery.k8s.io/v1/endpointslices")["items"]
        ready = [each for one in slices for each in one["endpoints"] or ()]
        return sum(bool(each["conditions"]["ready"]) for each in ready) >= PODS_PER_NODE * nodes

    until("all endpoints", complete, seconds=600)


def _pod(number: int, nodes: int) -> tuple[str, Object]:
    """A pod as pods are, with the size that they have: volumes, probes, variables."""
    space = number // nodes % NAMESPACES
    app = {"app": f"app-{number // (nodes * NAMESPACES) % SERVICES}"}
    variables = [{"name": f"VARIABLE_{n}", "value": "a value of some length"} for n in range(10)]
    container = {
        "name": "main",
        "image": "registry.example.com/team/application:v1.2.3",
        "ports": [{"name": "web", "containerPort": 80}],
        "env": variables,
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "web"}},
        "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    metadata = {"name": f"pod-{number}", "labels": app}
    spec = {"nodeName": f"node-{number % nodes}", "containers": [container]}
    volumes = {"volumes": [{"name": "data", "emptyDir": {}}]}
    path = f"/api/v1/namespaces/team-{space}/pods"
    return path, {"metadata": metadata, "spec": spec | volumes}


def _replace_pods(cluster: Cluster) -> None:
    """Replace pods on the last node, which is not the agent's."""
    nodes = len(cluster.api.get("/api/v1/nodes")["items"])
    there = f"/api/v1/pods?fieldSelector=spec.nodeName=node-{nodes - 1}"
    for _ in range(REPLACED // PODS_PER_NODE):
        for each in (found["metadata"] for found in cluster.api.get(there)["items"]):
            url = f"/api/v1/namespaces/{each['namespace']}/pods/{each['name']}"
            cluster.api.request("DELETE", url, {"gracePeriodSeconds": 0})
        for number in range(PODS_PER_NODE):
            path, body = _pod(nodes * number + nodes - 1, nodes)
            body["metadata"]["name"] += f"-{secrets.token_hex(3)}"
            cluster.api.request("POST", path, body)
