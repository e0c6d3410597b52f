"""The API server's own endpoint, which names no node: who is given it, on a real cluster.

The DaemonSet is the one that the operator makes, its pods are those of the DaemonSet controller,
and what is told of them is compared with what the operator gives out by the same objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from stoker.__main__ import main
from stoker.api.decode import convert
from stoker.api.monitors import ServiceMonitor
from stoker.api.prometheus import PrometheusAgent
from stoker.build.agent import daemon_set
from stoker.build.site import Site, TlsAssets
from stoker.generate.fragments import jobs_of
from stoker.plan.nodes import placing_in
from stoker.portions.agents import ReadyAgents
from stoker.portions.packed import packed
from stoker.portions.portions import Portions
from stoker.portions.strays import Agents
from stoker.portions.whereabouts import Whereabouts
from stoker.ref import ref_of
from stoker.select.assets import AssetsAtHand
from stoker.select.nodes import without_pods
from stoker.select.workload import scraper_of
from stoker.settings import SOME_NODE_SERVER, Capabilities, ObjectSettings
from stoker.targets.objects import EndpointSlice, Node, Pod, Service
from tests.builders import resource
from tests.live.operating import World
from tools.crds import cluster_with_crds

Object = dict[str, Any]
Output = pytest.CaptureFixture[str]

NAMESPACE: Final = "default"
DAEMON_SET: Final = (NAMESPACE, "prom-agent-light")
SETTINGS: Final = ObjectSettings(node_server=SOME_NODE_SERVER)
AGENT: Final = resource(
    "PrometheusAgent",
    "light",
    {
        "mode": "DaemonSet",
        "daemonSet": {"discovery": "Operator", "targetsWithoutAgent": "Spread"},
        # The API server of tests gives pods none by itself, and a token is one of an account.
        "serviceAccountName": "default",
        "serviceMonitorSelector": {},
        "remoteWrite": [{"url": "http://far.example"}],
    },
    namespace=NAMESPACE,
)
MONITOR: Final = resource(
    "ServiceMonitor",
    "apiserver",
    {"selector": {"matchLabels": {"component": "apiserver"}}, "endpoints": [{"port": "https"}]},
    namespace=NAMESPACE,
)


@pytest.fixture
def world() -> Iterator[World]:
    """A cluster of our own, for nodes go in it, with an agent on each of three."""
    with cluster_with_crds(nodes=3) as cluster:
        found = World(cluster, NAMESPACE)
        found.put(AGENT, MONITOR)
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"
        cluster.api.request("POST", path, built())
        found.until("an agent on each node", lambda: len(agents(found).ready) == 3)
        yield found


def built() -> Object:
    """The DaemonSet that the operator makes; its owner is left out, as nobody looks after it."""
    agent = convert(PrometheusAgent, AGENT | {"metadata": AGENT["metadata"] | {"uid": "1"}})
    site = Site(agent, scraper_of(agent, Capabilities()), SETTINGS)
    made = daemon_set(site, tls_assets=TlsAssets("tls", 0))
    del made["metadata"]["ownerReferences"]
    return made


def objects(world: World) -> list[Any]:
    """All that targets are made of, as the API server has it."""
    kinds = (
        (Pod, "/api/v1/pods"),
        (Service, "/api/v1/services"),
        (Node, "/api/v1/nodes"),
        (EndpointSlice, "/apis/discovery.k8s.io/v1/endpointslices"),
    )
    return [
        convert(kind, each) for kind, path in kinds for each in world.cluster.api.get(path)["items"]
    ]


def agents(world: World) -> Agents:
    """Where agents are."""
    ready, nodes = ReadyAgents(), []
    for each in objects(world):
        ready.changed(None, packed(each))
        nodes += [each] if isinstance(each, Node) else []
    names = frozenset(each.name for each in nodes)
    return Agents(
        ready.on(DAEMON_SET) & names, names - without_pods(placing_in(built()), nodes).keys()
    )


def takers(world: World) -> list[str]:
    """The nodes that are given a target, by what the operator works out for each of them."""
    agent, places = convert(PrometheusAgent, AGENT), Whereabouts()
    for each in objects(world):
        places.changed(None, packed(each))
    monitor, scraper = convert(ServiceMonitor, MONITOR), scraper_of(agent, Capabilities())
    portions = Portions(places, scraper.version)
    portions.set_jobs({ref_of(monitor): jobs_of(monitor, scraper, AssetsAtHand()).jobs}, {})
    found = agents(world)
    portions.set_agents(found)
    return [node for node in sorted(found.homes) if portions.digests(node)]


def explained(world: World, capsys: Output) -> Object:
    """What `stoker explain` says of the monitor."""
    where = ("--kubeconfig", str(world.cluster.kubeconfig))
    assert main(["explain", "servicemonitor", "default/apiserver", *where, "-o", "json"]) == 0
    found: Object = json.loads(capsys.readouterr().out)
    return found


def test_the_api_server_is_scraped_by_one_agent_and_another_when_its_node_goes(
    world: World, capsys: Output
) -> None:
    """The one that explain names is the one that is given it, before and after."""
    path = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/kubernetes"
    [endpoint] = world.cluster.api.get(path)["endpoints"]
    assert "nodeName" not in endpoint
    [first] = takers(world)
    found = explained(world, capsys)
    assert found["headline"].endswith(f": 1 target, given to the agent on {first}")
    assert found["access"] == []
    world.cluster.api.request("DELETE", f"/api/v1/nodes/{first}")
    [second] = takers(world)
    assert second != first
    found = explained(world, capsys)
    assert found["headline"].endswith(f": 1 target, given to the agent on {second}")
    [share] = found["searches"][0]["byNode"]
    assert (share["node"], share["names"]) == (second, endpoint["addresses"])
