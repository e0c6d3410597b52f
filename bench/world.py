"""The world of the numbers: N ServiceMonitors with two endpoints each over 50 namespaces."""

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any

import aiohttp

from stoker.api.crd import GROUP
from stoker.kube.resources import resource_of
from tools.cluster import Cluster

NAMESPACES = 50
AT_ONCE = 16


def create_monitors(cluster: Cluster, count: int) -> None:
    """Create the monitors on a running cluster that has the CRDs."""
    create_all(cluster, map(monitor, range(count)))


def create_all(
    cluster: Cluster, objects: Iterable[dict[str, Any]], namespaces: int = NAMESPACES
) -> None:
    """Create objects on a running cluster, and the namespaces of so many teams before."""
    asyncio.run(_create(cluster, list(objects), namespaces))


def monitor(number: int) -> dict[str, Any]:
    """One ServiceMonitor as a team would write it."""
    name = f"service-{number}"
    relabeling = {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}
    endpoint = {"interval": "30s", "path": "/metrics", "relabelings": [relabeling]}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ServiceMonitor",
        "metadata": {
            "name": name,
            "namespace": f"team-{number % NAMESPACES}",
            "labels": {"app.kubernetes.io/name": name, "team": f"team-{number % NAMESPACES}"},
        },
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "endpoints": [endpoint | {"port": "web"}, endpoint | {"port": "sidecar"}],
        },
    }


async def _create(cluster: Cluster, objects: list[dict[str, Any]], namespaces: int) -> None:
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    headers = {"Authorization": f"Bearer {cluster.token}"}
    connector = aiohttp.TCPConnector(ssl=context, limit=AT_ONCE)
    async with aiohttp.ClientSession(cluster.url, headers=headers, connector=connector) as session:
        for number in range(namespaces):
            body = {"metadata": {"name": f"team-{number}"}}
            await _post(session, "/api/v1/namespaces", body, again=True)
        slots = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(_create_one(session, slots, each) for each in objects))


async def _create_one(
    session: aiohttp.ClientSession, slots: asyncio.Semaphore, body: dict[str, Any]
) -> None:
    path = resource_of(body).path(body["metadata"]["namespace"])
    async with slots:
        await _post(session, path, body)


async def _post(
    session: aiohttp.ClientSession, path: str, body: dict[str, Any], *, again: bool = False
) -> None:
    """Create an object; with `again`, unless there is one of its name."""
    async with session.post(path, json=body) as response:
        if response.status >= 400 and not (again and response.status == 409):
            raise RuntimeError(f"{path}: {response.status} {await response.text()}")
