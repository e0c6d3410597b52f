"""On which nodes agents run: what we say of it, and what the DaemonSet controller does.

The nodes have labels and taints, and one is cordoned, one under pressure. For each agent of a table
and of a seeded generator the DaemonSet that the operator makes of it is created as it is, and the
nodes that its controller wants a pod on are compared with those that `stoker.select.nodes` says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from typing import Any, Final

import pytest

from stoker.__main__ import main
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgent
from stoker.build.agent import daemon_set
from stoker.build.site import Site, TlsAssets
from stoker.plan.nodes import placing_in
from stoker.select.nodes import absence
from stoker.select.workload import scraper_of
from stoker.settings import Capabilities, ObjectSettings
from stoker.targets.objects import Node
from tests.builders import pod, resource
from tests.live.operating import Running, World
from tests.live.test_explain import allow, rule
from tests.live.test_status_page import Page
from tools.cluster import Cluster
from tools.crds import cluster_with_crds

Object = dict[str, Any]

SEED: Final = 16
GENERATED: Final = 40
NAMESPACE: Final = "default"
NODES: Final[dict[str, tuple[dict[str, str], list[Object]]]] = {
    "plain": ({}, []),
    "pool-a": ({"pool": "a", "cores": "4"}, []),
    "pool.a": ({"pool": "a", "cores": "16"}, []),
    "pool-b": ({"pool": "b", "cores": "08", "zone": ""}, []),
    "odd": ({"pool": "b", "cores": "many"}, []),
    "gpu": ({"pool": "gpu"}, [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]),
    "evicting": ({"pool": "gpu"}, [{"key": "gpu", "value": "no", "effect": "NoExecute"}]),
    "shy": ({"pool": "a"}, [{"key": "gpu", "effect": "PreferNoSchedule"}]),
    "two": (
        {"pool": "b"},
        [{"key": "gpu", "effect": "NoSchedule"}, {"key": "own", "effect": "NoExecute"}],
    ),
    # Every pod of a DaemonSet tolerates these with NoSchedule, and only so.
    "worn": ({}, [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoExecute"}]),
    "cordoned": ({"pool": "a"}, []),
    "pressed": ({"pool": "a"}, []),
}


# --- Agents ---------------------------------------------------------------------------------------


def affine(*terms: Object) -> Object:
    """Required node affinity of some terms."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def labelled(key: str, operator: str, *values: str) -> Object:
    """A term of one condition on a label."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(operator: str, value: str) -> Object:
    """A term of one condition on the name of a node."""
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [value]}]}


TABLE: Final[list[Object]] = [
    {},
    {"nodeSelector": {"pool": "a"}},
    {"nodeSelector": {"pool": "a", "cores": "4"}},
    {"nodeSelector": {"nobody": "has"}},
    {"tolerations": [{"operator": "Exists"}]},
    {"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]},
    {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
    {"tolerations": [{"key": "gpu", "value": "yes"}]},
    {"tolerations": [{"key": "gpu", "operator": "Equal", "effect": "NoSchedule"}]},
    {"hostNetwork": True},
    affine(labelled("pool", "In", "a", "gpu")),
    affine(labelled("pool", "NotIn", "a")),
    affine(labelled("zone", "Exists")),
    affine(labelled("pool", "DoesNotExist")),
    affine(labelled("cores", "Gt", "4")),
    affine(labelled("cores", "Lt", "9")),
    affine(labelled("cores", "Gt", "few")),
    affine(named("In", "pool-a")),
    affine(named("NotIn", "pool.a")),
    affine({}, named("In", "plain")),
    affine(named("In", "plain"), labelled("pool", "In", "b")),
    affine(labelled("pool", "In", "a") | named("NotIn", "pool-a")),
]


def generated(random: Random) -> Iterator[Object]:
    """Agents that ask for this and that."""
    labels = [("pool", each) for each in ("a", "b", "gpu")] + [("cores", "4"), ("zone", "")]
    operators = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    for _ in range(GENERATED):
        spec: Object = {"nodeSelector": dict(random.sample(labels, random.choice((0, 0, 1))))}
        terms = [_term(random, operators) for _ in range(random.choice((0, 1, 1, 2)))]
        if terms:
            spec |= affine(*terms)
        spec["tolerations"] = [_toleration(random) for _ in range(random.randrange(4))]
        yield spec


def _term(random: Random, operators: tuple[str, ...]) -> Object:
    if random.random() < 0.2:
        return named(random.choice(("In", "NotIn")), random.choice(list(NODES)))
    found = []
    for _ in range(random.choice((1, 1, 2))):
        operator = random.choice(operators)
        if operator in ("Gt", "Lt"):
            found.append(labelled("cores", operator, random.choice(("3", "4", "0", "9"))))
        elif operator in ("In", "NotIn"):
            values = random.sample(("a", "b", "gpu"), random.choice((1, 2)))
            found.append(labelled("pool", operator, *values))
        else:
            found.append(labelled(random.choice(("pool", "cores", "zone")), operator))
    return {"matchExpressions": [each for term in found for each in term["matchExpressions"]]}


def _toleration(random: Random) -> Object:
    key = random.choice(("gpu", "own", "node.kubernetes.io/disk-pressure", ""))
    effect = random.choice(("NoSchedule", "NoExecute", None, None))
    value = random.choice(("yes", "no", None, ""))
    if not key or random.random() < 0.5:
        made = {"key": key, "operator": "Exists", "effect": effect}
    else:
        made = {"key": key, "operator": random.choice(("Equal", None)), "value": value}
        made["effect"] = effect
    return {name: given for name, given in made.items() if given is not None}


def built(number: int, spec: Object) -> Object:
    """The DaemonSet that the operator makes of an agent."""
    metadata = {"name": f"agent-{number}", "namespace": NAMESPACE, "uid": str(number)}
    given = {"metadata": metadata, "spec": {"mode": "DaemonSet", **spec}}
    agent = convert(PrometheusAgent, given)
    scraper = scraper_of(agent, Capabilities())
    made = daemon_set(Site(agent, scraper, ObjectSettings()), tls_assets=TlsAssets("tls", 0))
    # The owner is nobody, and would have it deleted.
    del made["metadata"]["ownerReferences"]
    return made


# --- The cluster ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pools() -> Iterator[Cluster]:
    """A cluster with the nodes above and no other."""
    with Cluster.start(nodes=0) as cluster:
        for name, (labels, _) in NODES.items():
            cluster.add_node(name, labels)
        for name, (_, taints) in NODES.items():
            _patch(cluster, name, {"spec": {"taints": taints}})
        _patch(cluster, "cordoned", {"spec": {"unschedulable": True}})
        _press(cluster)
        yield cluster


def _patch(cluster: Cluster, name: str, patch: Object, sub: str = "") -> None:
    kind = "application/strategic-merge-patch+json"
    cluster.api.request("PATCH", f"/api/v1/nodes/{name}{sub}", patch, content_type=kind)


def _press(cluster: Cluster) -> None:
    """Have a node say that its disk is full: Kubernetes itself makes a taint of that."""
    pressure = {"type": "DiskPressure", "status": "True", "reason": "Full", "message": "full"}
    _patch(cluster, "pressed", {"status": {"conditions": [pressure]}}, "/status")


def _nodes(cluster: Cluster) -> dict[str, Node]:
    found = cluster.api.get("/api/v1/nodes")["items"]
    return {each["metadata"]["name"]: convert(Node, each) for each in found}


def _is_tainted(node: Node, key: str) -> bool:
    return any(each.key == f"node.kubernetes.io/{key}" for each in node.taints)


def _wanted(cluster: Cluster, made: Object) -> list[set[str]]:
    """The nodes for which there are pods, once as many are there as the controller wants.

    (In a list, which is empty before: that there are none is an answer, too.)
    """
    name = made["metadata"]["name"]
    found = cluster.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/{name}")
    status = found["status"]
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        return []
    labels = ",".join(f"{k}={v}" for k, v in made["spec"]["selector"]["matchLabels"].items())
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={labels}"
    pods = [_node_of(each) for each in cluster.api.get(path)["items"]]
    return [set(pods)] if len(pods) == status["desiredNumberScheduled"] else []


def _node_of(pod: Object) -> str:
    """The node that a pod is on, or is for: ports of the host keep some waiting."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return str(terms[0]["matchFields"][0]["values"][0])


def test_agents_are_where_we_say_that_they_are(pools: Cluster) -> None:
    """For every agent, the nodes of its pods are those that we find no reason against."""
    specs = [*TABLE, *generated(Random(SEED))]
    sets = [built(number, spec) for number, spec in enumerate(specs)]
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"
    pools.until("the taints of conditions", lambda: _condition_taints(_nodes(pools)))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda each: pools.api.request("POST", path, each), sets))
    differing = []
    for spec, made in zip(specs, sets, strict=True):
        wanted = pools.until("pods", partial(_wanted, pools, made))
        nodes = _nodes(pools)
        assert _condition_taints(nodes), "the node is well again: nothing is proved"
        said = {name for name, node in nodes.items() if absence(placing_in(made), node) is None}
        if [said] != wanted:
            differing.append((spec, sorted(said), wanted))
    assert differing == []


def _condition_taints(nodes: dict[str, Node]) -> bool:
    """Whether Kubernetes has made taints of what two nodes say of themselves."""
    pressed = _is_tainted(nodes["pressed"], "disk-pressure")
    return pressed and _is_tainted(nodes["cordoned"], "unschedulable")


# --- What is said of it ---------------------------------------------------------------------------


@pytest.fixture
def small() -> Iterator[Cluster]:
    """A cluster of three nodes, one of them tainted."""
    with cluster_with_crds(nodes=2) as cluster:
        cluster.add_node("gpu", {"pool": "gpu"})
        _patch(cluster, "gpu", {"spec": {"taints": [GPU]}})
        yield cluster


GPU: Final[Object] = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
TAINTED: Final = "gpu (has taint gpu=yes:NoSchedule that spec.tolerations does not tolerate)"


def on_nodes(**spec: Any) -> Object:
    """An agent on nodes."""
    every = {
        "mode": "DaemonSet",
        "podMonitorSelector": {},
        "remoteWrite": [{"url": "http://far.example"}],
    }
    return resource("PrometheusAgent", "light", every | spec)


def shop(name: str, node: str) -> Object:
    """A pod of the shop on a node, whatever its taints."""
    everything = [{"operator": "Exists"}]
    return pod(name, {"app": "shop"}, {"web": 80}, node, tolerations=everything)


def remarked(world: World) -> str:
    """What is said of an agent that was reconciled."""
    found = world.condition("prometheusagent", "light", "Reconciled")
    assert found["status"] == "True"
    return f"{found['reason']}: {found['message']}"


def test_the_status_and_explain_tell_of_nodes_without_an_agent(
    small: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """As nodes are, and not when they only report; with the targets that nobody scrapes there."""
    world = World(small, "default")
    covered = "ReconciliationSucceeded: all objects are as the specification asks"
    monitor = {"selector": {"matchLabels": {"app": "shop"}}}
    pods = resource("PodMonitor", "shop", monitor | {"podMetricsEndpoints": [{"port": "web"}]})
    allow(world, "default", rule("", "pods"))
    flags = ("--namespaces=default", "--leader-election=false")
    with Running.start(small, *flags) as operator:
        world.put(pods, shop("a", "node-0"), shop("b", "gpu"), shop("c", "gpu"))
        world.put(on_nodes())
        told = f"NodesNotCovered: the agent covers 2 of 3 nodes; it is not on {TAINTED}"
        world.until("the words for it", lambda: remarked(world) == told)
        world.until("addresses", lambda: all(p["status"].get("podIP") for p in world.list("pods")))
        assert _explained(world, capsys) == (
            1,
            "PodMonitor default/shop: scraped by PrometheusAgent default/light: 1 of 3 targets; no "
            "agent scrapes 2 targets: node gpu has taint gpu=yes:NoSchedule that spec.tolerations "
            "does not tolerate",
        )
        page = Page(operator)
        world.until("the page to say it", lambda: _shown(page).endswith("; it covers 2 of 3 nodes"))
        found = page.ask("resources/PodMonitor/default/shop")["explanation"]
        assert "1 of 3 targets; no agent scrapes 2 targets: node gpu has" in found["headline"]

        # A node that only reports, or has another label, wakes nobody.
        world.until_still()
        mark, turns = small.audit.mark(), _turns(operator)
        for number in range(5):
            condition = {"type": "Busy", "status": "True", "message": str(number)}
            _patch(small, "gpu", {"status": {"conditions": [condition]}}, "/status")
        _patch(small, "gpu", {"metadata": {"labels": {"another": "label"}}})
        world.until_still()
        assert (world.writes(mark), _turns(operator)) == ((), turns)

        _patch(small, "gpu", {"spec": {"taints": []}})
        world.until("the node to be covered", lambda: remarked(world) == covered)
        assert _explained(world, capsys)[1].endswith("default/light: 3 targets")
        world.put(on_nodes(nodeSelector={"pool": "gpu"}))
        why = "has no label `pool`, and spec.nodeSelector asks for `pool=gpu`"
        told = (
            f"NodesNotCovered: the agent covers 1 of 3 nodes; it is not on node-0, node-1 ({why})"
        )
        world.until("the pool alone", lambda: remarked(world) == told)
        small.remove_node("node-1")
        told = f"NodesNotCovered: the agent covers 1 of 2 nodes; it is not on node-0 ({why})"
        world.until("one node less", lambda: remarked(world) == told)
        _check_migration(world, capsys)


def _check_migration(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """A StatefulSet on the pool scrapes everything, a DaemonSet there the pool alone."""
    world.delete("prometheusagent", "light")
    world.put(on_nodes(mode="StatefulSet", replicas=0, nodeSelector={"pool": "gpu"}))
    config = ["--kubeconfig", str(world.cluster.kubeconfig), "-o", "json", "default/light"]
    assert main(["migrate", "agent-mode", "--to", "DaemonSet", *config]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["unknown"] == []
    (lost,) = told["nodes"]["lost"]
    assert (lost["node"], lost["targets"], lost["names"]) == ("node-0", 1, ["Pod default/a"])
    assert lost["resources"] == ["PodMonitor default/shop"]


def _turns(operator: Running) -> float:
    """How often anything was put into a queue."""
    return operator.metric("prometheus_operator_workqueue_adds_total")


def _shown(page: Page) -> str:
    """The first line of the agent on the page."""
    (row,) = page.ask("overview")["workloads"]
    return str(row["headline"])


def _explained(world: World, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit status and the first line of `explain`."""
    config = str(world.cluster.kubeconfig)
    status = main(["explain", "podmonitor", f"{world.namespace}/shop", "--kubeconfig", config])
    return status, capsys.readouterr().out.splitlines()[0]
