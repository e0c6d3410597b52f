"""Portions for many nodes: what the operator needs to find the targets of all of them.

1,000 nodes with 30 pods each, 1,000 Services, 200 ServiceMonitors over 50 namespaces, and a client
for each node that asks as a reloader does: with a token of the agent's pod there, over TLS.

1. An agent without pods selects the monitors: memory of an operator that only configures.
2. An agent on every node, and nobody asks yet: pods are replaced, and the bytes are counted that
   the API server sends the operator for it.
3. All clients connect and have what is theirs.
4. Pods are replaced, one after the other: from the moment in which a slice names the new one until
   its node has it, the operator's processor time for it, less what it always uses, and the bytes
   from the API server again, which must not depend on how many ask.
5. The operator is killed and started anew: until all clients are told that what they have counts.

Until then all that the operator says to the API server goes through a relay that counts.

    python -m bench portions [--portion-nodes 1000] [--portion-pods 30] [--replaced 100]

It needs an open file for each node and a thousand more, twice. Make it short with
`--portion-nodes 20 --replaced 20`.
"""

import argparse
import asyncio
import json
import ssl
import threading
import time
from contextlib import ExitStack
from functools import partial
from statistics import median
from typing import Any, Final

import aiohttp
from msgspec import Struct

from bench.asking import AGENTS, HOME, agent, authority, flags, make_home, put_on_nodes
from bench.crowd import Crowd, allow_files
from bench.nodes import at_once
from bench.process import OURS, await_idle, compile_ours, cpu_seconds, memory_of, running_operator
from stoker.api.crd import GROUP
from tests.live.faults import Wire
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.ports import held_port
from tools.waiting import until

SPACES: Final = 50
SERVICES, MONITORS = 1000, 200
# The memory that portions may cost in MiB, a pod in ms, seconds until a node knows or is back, and
# files that are sent then. What a pod costs the API server may depend on chance, not on nodes.
GOALS: Final = {
    "more": 250.0, "cpu": 5.0, "late": 1.0, "back": 30.0, "sent anew": 0.0, "ratio": 1.5
}  # fmt: skip

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
    allow_files(nodes)
    compile_ours()
    with Cluster.start(nodes=nodes, namespaces=False) as cluster:
        begun = time.monotonic()
        _furnish(cluster, nodes, pods)
        print(f"the world is there after {time.monotonic() - begun:.0f} s", flush=True)
        found = _measured(cluster, options)
    missed = [TITLES[name] for name, goal in GOALS.items() if found[name] > goal]
    print(f"missed: {'; '.join(missed) or 'nothing'}")
    return not missed


def _measured(cluster: Cluster, options: argparse.Namespace) -> Figures:
    nodes, port = options.portion_nodes, held_port()
    command = [*OURS, *flags(port)]
    with ExitStack() as stack:
        wire = stack.enter_context(Wire(cluster))
        running = running_operator(
            command, cluster, status=False, killed=True, kubeconfig=wire.kubeconfig
        )
        pid = stack.enter_context(running)
        before = _without(cluster, pid)
        tokens = put_on_nodes(cluster, nodes)
        world = _World(cluster, wire, pid, options)
        alone = _tell(_unasked(world))["alone"]
        crowd = stack.enter_context(Crowd(port, authority(cluster), tokens))
        found = _tell(_connected(crowd, pid, nodes, before))
        found |= _tell(_replaced(world, crowd, alone))
        begun = time.monotonic()
        _end(pid)
        stack.enter_context(running_operator(command, cluster, status=False))
        return found | _tell(_back(crowd, begun, nodes))


class _World(Struct, frozen=True):
    """What is measured: an operator, and the wire by which it asks the API server."""

    cluster: Cluster
    wire: Wire
    pid: int
    options: argparse.Namespace

    def replace(self, number: int, name: str) -> None:
        """Replace one of the pods by one of that name."""
        nodes, pods = self.options.portion_nodes, self.options.portion_pods
        _replace(self.cluster, number * 7919 % (nodes * pods), nodes, name)


def _tell(found: Figures) -> Figures:
    for name, value in found.items():
        goal = f"   (goal {GOALS[name]:g})" if name in GOALS else ""
        print(f"{TITLES[name]:<56}{value:>10.2f}{goal}", flush=True)
    return found


TITLES: Final = {
    "alone": "KiB from the API server for a pod, while nobody asks",
    "before": "memory without portions, MiB",
    "first": "all have what is theirs after, s",
    "first cpu": "processor time of the operator until then, s",
    "files": "files that they have",
    "more": "more memory, MiB",
    "peak": "most memory at any time, MiB",
    "idle": "processor time a second when nothing happens, ms",
    "cpu": "processor time for a pod that is replaced, ms",
    "kib": "KiB from the API server for it",
    "ratio": "as many times as while nobody asks",
    "late": "from the slice to the node, 99 of 100, s",
    "median": "from the slice to the node, median, s",
    "back": "all are back after the operator was killed within, s",
    "sent anew": "files that were sent for that",
}


# --- The parts ------------------------------------------------------------------------------------


def _without(cluster: Cluster, pid: int) -> float:
    """The memory of an operator whose agent selects the monitors, and gives no portions."""
    cluster.api.request("POST", AGENTS, agent("plain", mode="StatefulSet", replicas=0))
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


def _unasked(world: _World) -> Figures:
    await_idle(world.cluster)
    came, begun, count = world.wire.answered, time.monotonic(), world.options.replaced
    with Slices(world.cluster) as slices:
        for number in range(count):
            name = f"new-first-{number}"
            world.replace(number + count, name)
            until("the slice to name it", partial(slices.named.get, name))
    spent = world.wire.answered - came
    idle = _idle(world, time.monotonic() - begun)
    return {"alone": (spent - idle["bytes"]) / count / 1024}


def _replaced(world: _World, crowd: Crowd, alone: float) -> Figures:
    await_idle(world.cluster)
    late, count = list[float](), world.options.replaced
    used, came, begun = cpu_seconds(world.pid), world.wire.answered, time.monotonic()
    with Slices(world.cluster) as slices:
        for number in range(count):
            name = f"new-{number}"
            crowd.expect(name)
            world.replace(number, name)
            until("the node to have it", partial(crowd.arrived.get, name))
            until("the slice to name it", partial(slices.named.get, name))
            late.append(max(crowd.arrived[name] - slices.named[name], 0.0))
    seconds, spent = time.monotonic() - begun, cpu_seconds(world.pid) - used
    came = world.wire.answered - came
    idle = _idle(world, seconds)
    late.sort()
    kib = (came - idle["bytes"]) / count / 1024
    return {
        "idle": 1000 * idle["cpu"] / seconds,
        "cpu": 1000 * (spent - idle["cpu"]) / count,
        "kib": kib,
        "ratio": kib / max(alone, 0.1),
        "late": late[int(len(late) * 0.99) - 1],
        "median": median(late),
    }


def _idle(world: _World, seconds: float) -> Figures:
    """What goes on when nothing happens: watches begin anew, and nodes report."""
    await_idle(world.cluster)
    used, came = cpu_seconds(world.pid), world.wire.answered
    time.sleep(seconds)
    return {"cpu": cpu_seconds(world.pid) - used, "bytes": world.wire.answered - came}


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
    make_home(cluster)
    for number in range(SPACES):
        name = f"team-{number}"
        cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    at_once(cluster, map(_service, range(SERVICES)))
    at_once(cluster, map(_monitor, range(MONITORS)))
    at_once(cluster, (_pod(number, nodes) for number in range(nodes * pods)))

    def ready() -> bool:
        path = "/apis/discovery.k8s.io/v1/endpointslices"
        found = [each for one in cluster.api.get(path)["items"] for each in one["endpoints"] or ()]
        complete = sum(bool(each["conditions"]["ready"]) for each in found) >= nodes * pods
        # To ask for all of them keeps the API server from what is waited for.
        time.sleep(0 if complete else nodes * pods / 10_000)
        return complete

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
