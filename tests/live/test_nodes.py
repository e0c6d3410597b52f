"""On which nodes agents run: what we say, and what the DaemonSet controller does.

The nodes have labels and taints, and one is cordoned, one under pressure. For each agent of a table
and of a seeded generator the DaemonSet that the operator makes of it is created as it is, and the
nodes that its controller wants a pod on are compared with those that `stoker.select.nodes` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from typing import Any, Final

import pytest

from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgent
from stoker.build.agent import daemon_set
from stoker.build.site import Site, TlsAssets
from stoker.decide.nodes import placing_in
from stoker.explain.objects import Node
from stoker.select.nodes import absence
from stoker.select.workload import workload_of
from stoker.settings import Capabilities, ObjectSettings
from tools.cluster import Cluster

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
    owner = convert(PrometheusAgent, given)
    workload = workload_of(owner, Capabilities())
    made = daemon_set(Site(owner, workload, ObjectSettings()), tls_assets=TlsAssets("tls", 0))
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


def _wanted(cluster: Cluster, made: Object) -> tuple[set[str]] | None:
    """The nodes for which there are pods, once as many are there as the controller wants.

    (In a tuple: that there are none is an answer, too.)
    """
    name = made["metadata"]["name"]
    found = cluster.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/{name}")
    status = found["status"]
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        return None
    labels = ",".join(f"{k}={v}" for k, v in made["spec"]["selector"]["matchLabels"].items())
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={labels}"
    pods = [_node_of(each) for each in cluster.api.get(path)["items"]]
    return (set(pods),) if len(pods) == status["desiredNumberScheduled"] else None


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
        (wanted,) = pools.until("pods", partial(_wanted, pools, made))
        nodes = _nodes(pools)
        assert _condition_taints(nodes), "the node is well again: nothing is proved"
        said = {name for name, node in nodes.items() if absence(placing_in(made), node) is None}
        if said != wanted:
            differing.append((spec, sorted(said), sorted(wanted)))
    assert differing == []


def _condition_taints(nodes: dict[str, Node]) -> bool:
    """Whether Kubernetes has made taints of what two nodes say of themselves."""
    pressed = _is_tainted(nodes["pressed"], "disk-pressure")
    return pressed and _is_tainted(nodes["cordoned"], "unschedulable")
