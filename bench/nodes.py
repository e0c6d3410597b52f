"""Agents on many nodes: what the operator costs while nodes come and go.

500 nodes (kwok), 5,000 pods and one PrometheusAgent as a DaemonSet that selects 100 monitors.
Then nodes leave and others join, and the operator's processor time, memory and writes are taken.
The configuration must not depend on the nodes at all: its bytes are compared.

    python -m bench nodes [--nodes 500] [--pods 5000] [--moving 50]
"""

import argparse
import asyncio
import ssl
import time
from collections.abc import Iterable
from typing import Any

import aiohttp

from bench.process import (
    OURS,
    await_quiet,
    counted_writes,
    cpu_seconds,
    memory_of,
    running_operator,
)
from bench.world import NAMESPACES, create_monitors
from stoker.api.crd import GROUP
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.waiting import until

MONITORS = 100
AT_ONCE = 16
AGENT = f"/apis/{GROUP}/v1alpha1/namespaces/monitoring/prometheusagents"
HOME = "/api/v1/namespaces/monitoring"
DAEMON_SET = "/apis/apps/v1/namespaces/monitoring/daemonsets/prom-agent-main"
# Of a node that comes or goes the status tells at most: wanted, updated, available.
WRITES_PER_NODE = 3
STATUS = "patch prometheusagents/status"

Object = dict[str, Any]


def report(options: argparse.Namespace) -> bool:
    """Measure, print, and tell whether the goals were reached."""
    print(f"starting {options.nodes} nodes with {options.pods:,} pods …", flush=True)
    with Cluster.start(nodes=options.nodes) as cluster:
        _prepare(cluster, options)
        with running_operator(OURS, cluster, status=False) as pid:
            return _measured(cluster, pid, options)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only this measurement knows."""
    parser.add_argument("--nodes", type=int, default=500, help="nodes (nodes) [500]")
    parser.add_argument("--pods", type=int, default=5000, help="pods on them (nodes) [5000]")
    parser.add_argument("--moving", type=int, default=50, help="nodes that move (nodes) [50]")


def _measured(cluster: Cluster, pid: int, options: argparse.Namespace) -> bool:
    begun, nodes = time.monotonic(), options.nodes
    _await_agents(cluster, nodes)
    print(f"{'an agent on every node after':<48}{time.monotonic() - begun:>10.1f} s")
    await_quiet(cluster)
    print(f"{'CPU until then':<48}{cpu_seconds(pid):>10.2f} s")
    before, mark, used = _configuration(cluster), cluster.audit.mark(), cpu_seconds(pid)
    begun = time.monotonic()
    for number in range(options.moving):
        cluster.remove_node(f"node-{number}")
        cluster.add_node(f"late-{number}")
    _await_agents(cluster, nodes)
    await_quiet(cluster)
    moved = 2 * options.moving
    spent, seconds = cpu_seconds(pid) - used, time.monotonic() - begun
    written = counted_writes(cluster, mark)
    memory = memory_of(pid)
    for title, value in (
        (f"{moved} nodes left or joined within", f"{seconds:.1f} s"),
        ("CPU for that", f"{spent:.2f} s"),
        ("CPU per node", f"{1000 * spent / moved:.1f} ms"),
        ("RSS", f"{memory['rss']:.1f} MiB"),
        ("peak RSS", f"{memory['peak']:.1f} MiB"),
        ("configuration, compressed", f"{sum(map(len, before.values()))} B (base64)"),
        ("writes", ", ".join(f"{n} {what}" for what, n in sorted(written.items())) or "none"),
    ):
        print(f"{title:<48}{value:>12}")
    same = _configuration(cluster) == before
    few = written.keys() <= {STATUS} and written[STATUS] <= WRITES_PER_NODE * moved
    print(f"the configuration is the same: {'ok' if same else 'MISSED'}")
    print(f"nothing but the status was written: {'ok' if few else 'MISSED'}")
    return same and few


def _prepare(cluster: Cluster, options: argparse.Namespace) -> None:
    install_crds(cluster)
    create_monitors(cluster, MONITORS)
    at_once(cluster, (pod(number, options.nodes) for number in range(options.pods)))
    cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "monitoring"}})
    spec = {
        "mode": "DaemonSet",
        "serviceMonitorSelector": {},
        "serviceMonitorNamespaceSelector": {},
        "podMonitorSelector": {},
    }
    agent = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "PrometheusAgent",
        "metadata": {"name": "main"},
        "spec": spec,
    }
    cluster.api.request("POST", AGENT, agent)


def _await_agents(cluster: Cluster, nodes: int) -> None:
    def everywhere() -> bool:
        status = cluster.api.get(DAEMON_SET).get("status", {})
        counts = {status.get(each, 0) for each in ("desiredNumberScheduled", "numberAvailable")}
        told = cluster.api.get(f"{AGENT}/main").get("status", {}).get("availableReplicas")
        return counts == {nodes} and told == nodes

    until(f"agents on {nodes} nodes", everywhere, seconds=900)


def _configuration(cluster: Cluster) -> dict[str, str]:
    found: dict[str, str] = cluster.api.get(f"{HOME}/secrets/prom-agent-main")["data"]
    return found


def at_once(cluster: Cluster, bodies: Iterable[tuple[str, Object]]) -> None:
    """Create objects, each at its path, several at a time."""
    asyncio.run(_create(cluster, bodies))


async def _create(cluster: Cluster, bodies: Iterable[tuple[str, Object]]) -> None:
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    headers = {"Authorization": f"Bearer {cluster.token}"}
    connector = aiohttp.TCPConnector(ssl=context, limit=AT_ONCE)
    slots = asyncio.Semaphore(AT_ONCE)
    async with aiohttp.ClientSession(cluster.url, headers=headers, connector=connector) as session:

        async def create(path: str, body: Object) -> None:
            async with slots, session.post(path, json=body) as response:
                response.raise_for_status()

        await asyncio.gather(*(create(path, body) for path, body in bodies))


def pod(number: int, nodes: int) -> tuple[str, Object]:
    """A pod of a team on one of so many nodes, and where it is made."""
    container = {"name": "main", "image": "none", "ports": [{"name": "web", "containerPort": 80}]}
    return f"/api/v1/namespaces/team-{number % NAMESPACES}/pods", {
        "metadata": {"name": f"pod-{number}", "labels": {"app": f"app-{number % MONITORS}"}},
        "spec": {"nodeName": f"node-{number % nodes}", "containers": [container]},
    }
