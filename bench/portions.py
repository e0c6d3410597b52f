"""Portions for many nodes: what the operator needs to find the targets of all of them.

1,000 nodes with 30 pods each, 1,000 Services, 200 ServiceMonitors over 50 namespaces, and a client
for each node that asks as a reloader does: with a token of the agent's pod there, over TLS.

1. An agent without pods selects the monitors: memory of an operator that only configures.
2. An agent on every node: all clients connect and have what is theirs.
3. Pods are replaced, one after the other: from the moment in which a slice names the new one until
   its node has it, and the operator's processor time for it, less what it always uses.
4. The operator is killed and started anew: until all clients are told that what they have counts.

    python -m bench portions [--portion-nodes 1000] [--portion-pods 30] [--replaced 100]
"""

import argparse
import asyncio
import json
import ssl
import threading
import time
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median
from typing import Any, Final

import aiohttp

from bench.crowd import HOST, Crowd
from bench.nodes import at_once
from bench.process import OURS, await_idle, compile_ours, cpu_seconds, memory_of, running_operator
from stoker.api.crd import GROUP
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.ports import held_port
from tools.waiting import until

SPACES: Final = 50
SERVICES, MONITORS = 1000, 200
HOME: Final = "monitoring"
ACCOUNT: Final = "agents"
AGENTS: Final = f"/apis/{GROUP}/v1alpha1/namespaces/{HOME}/prometheusagents"
SETS: Final = f"/apis/apps/v1/namespaces/{HOME}/daemonsets"
# The memory that portions may cost in MiB, a pod in ms, and seconds until a node knows or is back.
GOALS: Final = {"more": 250.0, "cpu": 5.0, "late": 1.0, "back": 30.0}

Object = dict[str, Any]
Figures = dict[str, float]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only this measurement knows."""
    parser.add_argument("--portion-nodes", type=int, default=1000, help="nodes (portions) [1000]")
    parser.add_argument("--portion-pods", type=int, default=30, help="pods of each [30]")
    parser.add_argument("--replaced", type=int, default=100, help="pods replaced (portions) [100]")


def report(options: argparse.Namespace) -> bool:
    """Measure, print, and tell whether the goals were reached."""
    nodes, pods = options.portion_nodes, options.portion_pods
    print(f"{nodes} nodes, {nodes * pods:,} pods …", flush=True)
    compile_ours()
    with Cluster.start(nodes=nodes, namespaces=False) as cluster:
        begun = time.monotonic()
        _furnish(cluster, nodes, pods)
        print(f"the world is there after {time.monotonic() - begun:.0f} s", flush=True)
        found = _measured(cluster, options)
    missed = [name for name, goal in GOALS.items() if found[name] > goal]
    sent = found["sent anew"] > 0
    print(f"missed: {', '.join(missed) or 'nothing'}{', files were sent anew' if sent else ''}")
    return not missed and not sent


def _measured(cluster: Cluster, options: argparse.Namespace) -> Figures:
    nodes, port = options.portion_nodes, held_port()
    url = f"--node-discovery-url=https://{HOST}:{port}"
    address = f"--node-discovery-address=127.0.0.1:{port}"
    ours = "--prometheus-config-reloader=example.com/stoker:1"
    command = [*OURS, url, address, ours]
    found: Figures = {}
    with running_operator(command, cluster, status=False, killed=True) as pid:
        before = _without(cluster, pid)
        tokens = _tokens(cluster, nodes)
        with Crowd(port, _authority(cluster), tokens) as crowd:
            found = _tell(_connected(crowd, pid, nodes, before))
            found |= _tell(_replaced(cluster, crowd, pid, options))
            begun = time.monotonic()
            _end(pid)
            with running_operator(command, cluster, status=False):
                found |= _tell(_back(crowd, begun, nodes))
    return found


def _tell(found: Figures) -> Figures:
    for name, value in found.items():
        goal = f"   (goal {GOALS[name]:g})" if name in GOALS else ""
        print(f"{TITLES[name]:<56}{value:>10.2f}{goal}", flush=True)
    return found


TITLES: Final = {
    "before": "memory without portions, MiB",
    "first": "all have what is theirs after, s",
    "first cpu": "processor time of the operator until then, s",
    "files": "files that they have",
    "more": "more memory, MiB",
    "peak": "most memory at any time, MiB",
    "idle": "processor time a second when nothing happens, ms",
    "cpu": "processor time for a pod that is replaced, ms",
    "late": "from the slice to the node, 99 of 100, s",
    "median": "from the slice to the node, median, s",
    "back": "all are back after the operator was killed within, s",
    "sent anew": "files that were sent for that",
}


# --- The parts ------------------------------------------------------------------------------------


def _without(cluster: Cluster, pid: int) -> float:
    """The memory of an operator whose agent selects the monitors, and gives no portions."""
    cluster.api.request("POST", AGENTS, _agent("plain", mode="StatefulSet", replicas=0))
    path = f"/api/v1/namespaces/{HOME}/secrets/prom-agent-plain"
    until("a configuration", lambda: cluster.api.get(path), seconds=300)
    await_idle(cluster)
    return memory_of(pid)["rss"]


def _connected(crowd: Crowd, pid: int, nodes: int, before: float) -> Figures:
    begun, used = time.monotonic(), cpu_seconds(pid)
    until("all clients to be told", lambda: crowd.told_since(0) == nodes, seconds=900)
    seconds, cpu = time.monotonic() - begun, cpu_seconds(pid) - used
    return {
        "before": before,
        "first": seconds,
        "first cpu": cpu,
        "files": crowd.has,
        "more": memory_of(pid)["rss"] - before,
        "peak": memory_of(pid)["peak"],
    }


def _replaced(cluster: Cluster, crowd: Crowd, pid: int, options: argparse.Namespace) -> Figures:
    await_idle(cluster)
    late, nodes = list[float](), options.portion_nodes
    used, begun = cpu_seconds(pid), time.monotonic()
    with Slices(cluster) as slices:
        for number in range(options.replaced):
            name = f"new-{number}"
            crowd.expect(name)
            _replace(cluster, number * 7919 % (nodes * options.portion_pods), nodes, name)
            until("the node to have it", partial(crowd.arrived.get, name))
            late.append(max(crowd.arrived[name] - slices.named[name], 0.0))
    seconds, spent = time.monotonic() - begun, cpu_seconds(pid) - used
    await_idle(cluster)
    # For as long as that took: watches begin anew, and nodes report, whatever else happens.
    used = cpu_seconds(pid)
    time.sleep(seconds)
    idle = cpu_seconds(pid) - used
    late.sort()
    return {
        "idle": 1000 * idle / seconds,
        "cpu": 1000 * (spent - idle) / options.replaced,
        "late": late[int(len(late) * 0.99) - 1],
        "median": median(late),
    }


def _back(crowd: Crowd, begun: float, nodes: int) -> Figures:
    before = crowd.files
    until("all clients to be back", lambda: crowd.told_since(begun) == nodes, seconds=900)
    if crowd.problems:
        print("\n".join(crowd.problems[:10]))
    return {"back": time.monotonic() - begun, "sent anew": crowd.files - before}


def _end(pid: int) -> None:
    import os
    import signal

    os.kill(pid, signal.SIGKILL)


class Slices:
    """Notes when EndpointSlices first name a pod: `named`, by its name."""

    def __init__(self, cluster: Cluster) -> None:
        self.named: dict[str, float] = {}
        self._cluster = cluster
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._began = threading.Event()
        self._task: asyncio.Task[None] | None = None

    def __enter__(self) -> "Slices":
        self._thread.start()
        self._began.wait()
        return self

    def __exit__(self, *_: object) -> None:
        if self._task:
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def _run(self) -> None:
        self._task = self._loop.create_task(self._watch())
        self._loop.run_until_complete(asyncio.gather(self._task, return_exceptions=True))

    async def _watch(self) -> None:
        context = ssl.create_default_context(cafile=str(self._cluster.ca_file))
        headers = {"Authorization": f"Bearer {self._cluster.token}"}
        path = "/apis/discovery.k8s.io/v1/endpointslices"
        session = aiohttp.ClientSession(self._cluster.url, headers=headers, read_bufsize=2**24)
        async with session:
            async with session.get(f"{path}?limit=1", ssl=context) as listed:
                version = (await listed.json())["metadata"]["resourceVersion"]
            query = f"{path}?watch=true&resourceVersion={version}"
            quiet = aiohttp.ClientTimeout(total=None)
            async with session.get(query, ssl=context, timeout=quiet) as watched:
                self._began.set()
                async for line in watched.content:
                    self._note(line, time.monotonic())

    def _note(self, line: bytes, now: float) -> None:
        for each in json.loads(line)["object"].get("endpoints") or ():
            name = (each.get("targetRef") or {}).get("name", "")
            if name.startswith("new-") and each.get("conditions", {}).get("ready"):
                self.named.setdefault(name, now)


# --- The world ------------------------------------------------------------------------------------


def _furnish(cluster: Cluster, nodes: int, pods: int) -> None:
    install_crds(cluster)
    for name in (HOME, *(f"team-{number}" for number in range(SPACES))):
        cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    account = {"metadata": {"name": ACCOUNT}}
    cluster.api.request("POST", f"/api/v1/namespaces/{HOME}/serviceaccounts", account)
    at_once(cluster, map(_service, range(SERVICES)))
    at_once(cluster, map(_monitor, range(MONITORS)))
    at_once(cluster, (_pod(number, nodes) for number in range(nodes * pods)))

    def ready() -> bool:
        path = "/apis/discovery.k8s.io/v1/endpointslices"
        found = [each for one in cluster.api.get(path)["items"] for each in one["endpoints"] or ()]
        return sum(bool(each["conditions"]["ready"]) for each in found) >= nodes * pods

    until("all endpoints", ready, seconds=3600)


def _service(number: int) -> tuple[str, Object]:
    """A Service of one of the teams, which one of its four monitors selects."""
    space, group = number % SPACES, number // SPACES % (MONITORS // SPACES)
    metadata = {"name": f"app-{number}", "labels": {"group": f"g{group}"}}
    spec = {"selector": {"app": f"app-{number}"}, "ports": [{"name": "web", "port": 80}]}
    return f"/api/v1/namespaces/team-{space}/services", {"metadata": metadata, "spec": spec}


def _monitor(number: int) -> tuple[str, Object]:
    space, group = number % SPACES, number // SPACES
    spec = {"selector": {"matchLabels": {"group": f"g{group}"}}, "endpoints": [{"port": "web"}]}
    body = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": f"monitor-{group}"},
        "spec": spec,
    }
    return f"/apis/{GROUP}/v1/namespaces/team-{space}/servicemonitors", body


def _pod(number: int, nodes: int, name: str = "") -> tuple[str, Object]:
    """A pod of one of the Services, on one of the nodes."""
    service = number % SERVICES
    node = (number + number // SERVICES * 37) % nodes
    container = {
        "name": "main",
        "image": "registry.example.com/team/application:v1.2.3",
        "ports": [{"name": "web", "containerPort": 80}],
    }
    labels = {"app": f"app-{service}", "pod-template-hash": "7c9f8d6b5"}
    body = {
        "metadata": {"name": name or f"app-{service}-7c9f8d6b5-{number}", "labels": labels},
        "spec": {"nodeName": f"node-{node}", "containers": [container]},
    }
    return f"/api/v1/namespaces/team-{service % SPACES}/pods", body


def _replace(cluster: Cluster, number: int, nodes: int, name: str) -> None:
    path, body = _pod(number, nodes, name)
    old = _pod(number, nodes)[1]["metadata"]["name"]
    cluster.api.request("DELETE", f"{path}/{old}", {"gracePeriodSeconds": 0})
    cluster.api.request("POST", path, body)


def _agent(name: str, **spec: Any) -> Object:
    every: Object = {"serviceMonitorSelector": {}, "serviceMonitorNamespaceSelector": {}}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "PrometheusAgent",
        "metadata": {"name": name},
        "spec": every | spec,
    }


def _tokens(cluster: Cluster, nodes: int) -> dict[str, str]:
    """An agent on every node; the token of each of its pods, by node."""
    on_nodes = {"mode": "DaemonSet", "daemonSet": {"discovery": "Operator"}}
    agent = _agent("main", serviceAccountName=ACCOUNT, **on_nodes)
    cluster.api.request("POST", AGENTS, agent)

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


def _authority(cluster: Cluster) -> str:
    path = f"/api/v1/namespaces/{HOME}/secrets/prom-agent-main-portions"
    return b64decode(cluster.api.get(path)["data"]["portion-ca.pem"]).decode()
