"""What an agent on every node asks of the API server, by the number of nodes.

One real agent, as all are alike, with configurations that we generate (`stoker render`) and
variations of them. All it asks goes through a proxy that counts: watches, the bytes until it has
found everything, and the bytes while pods on other nodes are replaced. Bytes are those on the wire,
compressed where the API server does that.

20 namespaces with 5 Services each, 10 pods on each node; in each namespace a PodMonitor or a
ServiceMonitor for each Service.

Last comes `daemonSet.discovery: Operator` in the same world: a real operator finds the targets of
all nodes, through the same proxy, and a client for each node asks it as a reloader does. An agent
on each node adds its own pod to those that are watched.

    python -m bench watches [--node-counts 3 50 500] [--few-monitors]

Make it short with `--node-counts 3`, or with `--few-monitors`: then an agent has only those
variations that are compared with something.
"""

import argparse
import secrets
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from yarl import URL

from bench.handed import Handed, handed
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


OWN_PODS: Final = "PodMonitor, any namespace"
ALL_PODS: Final = "  all pods "
SERVICE_MONITORS: Final = "ServiceMonitors, five per namespace"
BY_API: Final[Object] = {"selectorMechanism": "RoleSelector"}
VARIANTS: Final[dict[str, tuple[list[Object], Change]]] = {
    "PodMonitors, one per namespace": (list(_every("PodMonitor")), _as_it_is),
    "  all pods": (list(_every("PodMonitor")), _all_pods),
    OWN_PODS: (list(_everywhere("PodMonitor")), _as_it_is),
    ALL_PODS: (list(_everywhere("PodMonitor")), _all_pods),
    SERVICE_MONITORS: (list(_every("ServiceMonitor")), _as_it_is),
    "  all pods  ": (list(_every("ServiceMonitor")), _all_pods),
    "  Endpoints": (list(_every("ServiceMonitor")), _endpoints),
    "  slices by label": (list(_every("ServiceMonitor", **BY_API)), _as_it_is),
    "ServiceMonitors, any namespace": (list(_everywhere("ServiceMonitor")), _as_it_is),
    "  slices by label ": (list(_everywhere("ServiceMonitor", **BY_API)), _as_it_is),
}


_COMPARED: Final = (OWN_PODS, ALL_PODS, SERVICE_MONITORS)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only this measurement knows."""
    parser.add_argument(
        "--node-counts", type=int, nargs="+", metavar="N", help="nodes (watches) [3 50 500]"
    )
    parser.add_argument(
        "--few-monitors", action="store_true", help="only what is compared (watches)"
    )


class Asked(NamedTuple):
    """What is asked of the API server: watches, bytes to begin, bytes for 20 pods elsewhere."""

    watches: int
    begun: int
    changed: int

    def times(self, count: int) -> "Asked":
        """What so many ask together."""
        return Asked(*(count * each for each in self))

    def __str__(self) -> str:
        return f"{self.watches:>9,}{self.begun / 1024:>9,.0f}{self.changed / 1024:>9,.0f}"


class _Found(NamedTuple):
    by_agent: dict[str, Asked]
    by_operator: Handed


def report(options: argparse.Namespace) -> bool:
    """Measure, print, and tell whether the goals were reached.

    They are that pods of other nodes cost an agent next to nothing, and that what an operator asks
    for all nodes does not depend on how many these are.
    """
    names = _COMPARED if options.few_monitors else tuple(VARIANTS)
    found = {count: _measured(count, names) for count in options.node_counts or COUNTS}
    titles = "".join(f"{f'{count} nodes':>27}" for count in found)
    print(f"\n{'watches, KiB to begin, KiB for 20 pods elsewhere':<50}{titles}")
    print("an agent that finds its targets by itself:")
    for name in names:
        print(f"{name:<50}" + "".join(str(each.by_agent[name]) for each in found.values()))
    print(f"{SERVICE_MONITORS}, for all nodes together:")
    for title, row in _together(found).items():
        print(f"{title:<50}" + "".join(f"{each!s:>27}" for each in row))
    last = found[max(found)]
    own, every = (last.by_agent[name].begun for name in (OWN_PODS, ALL_PODS))
    watches = {each.by_operator.watches for each in found.values()}
    ratio = max(each.by_operator.ratio for each in found.values())
    goals = {
        f"own pods / all pods, in bytes: {own / every:.3f}": own <= every / min(max(found), 10),
        f"watches of an operator: {', '.join(map(str, sorted(watches)))} (goal 4)": watches == {4},
        f"20 pods, all nodes asking / none, in bytes: {ratio:.2f} (goal 1.5)": ratio <= 1.5,
    }
    for title, reached in goals.items():
        print(f"{title}: {'ok' if reached else 'MISSED'}")
    return all(goals.values())


def _together(found: dict[int, _Found]) -> dict[str, list[object]]:
    """Rows for all nodes: agents that find targets themselves, and an operator that does."""
    each = [
        (count, one.by_agent[SERVICE_MONITORS], one.by_operator) for count, one in found.items()
    ]
    return {
        "agents (as many times as one asks)": [agent.times(count) for count, agent, _ in each],
        "an operator": [Asked(one.watches, one.begun, one.changed) for _, _, one in each],
        "  20 pods before any node asks, KiB": [_kib(one.alone) for _, _, one in each],
        "  because all nodes asked, KiB": [_kib(one.asked) for _, _, one in each],
        "  files that it sent to all nodes, KiB": [_kib(one.sent) for _, _, one in each],
    }


def _kib(size: int) -> str:
    return f"{size / 1024:,.0f}"


def _measured(nodes: int, names: tuple[str, ...]) -> _Found:
    print(f"{nodes} nodes …", flush=True)
    with Cluster.start(nodes=nodes, namespaces=False) as cluster, Gateway(cluster) as gateway:
        _furnish(cluster, nodes)
        by_agent = {name: _agent(cluster, gateway, *VARIANTS[name]) for name in names}
        monitors = VARIANTS[SERVICE_MONITORS][0]
        return _Found(by_agent, handed(cluster, gateway, monitors, lambda: _replace_pods(cluster)))


def _agent(cluster: Cluster, gateway: Gateway, monitors: list[Object], change: Change) -> Asked:
    """What an agent on node-0 asks."""
    with tempfile.TemporaryDirectory() as directory:
        config = _configuration(Path(directory), cluster, gateway, monitors, change)
        gateway.seen.clear()
        gateway.carried.clear()
        with _prometheus(Path(directory), config):
            begun = _quiet(gateway)
            watches = sum(map(_is_watch, gateway.seen))
            _replace_pods(cluster)
            return Asked(watches, begun, _quiet(gateway) - begun)


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
    stoker(["render", str(manifests), "--config-only", "--quiet", "--output-dir", str(made)])
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
            if not each["namespace"].startswith("team-"):
                continue
            url = f"/api/v1/namespaces/{each['namespace']}/pods/{each['name']}"
            cluster.api.request("DELETE", url, {"gracePeriodSeconds": 0})
        for number in range(PODS_PER_NODE):
            path, body = _pod(nodes * number + nodes - 1, nodes)
            body["metadata"]["name"] += f"-{secrets.token_hex(3)}"
            cluster.api.request("POST", path, body)
