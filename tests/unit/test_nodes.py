"""On which nodes pods run, and why not on the others.

That Kubernetes decides alike is tried on a real control plane (`tests/live/test_nodes.py`); here
are the words, and what a test there cannot bring about.
"""

from typing import Any

import pytest

from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgent
from stoker.plan.nodes import placing_of
from stoker.select.nodes import Placing, absence, coverage, never_meet, without_pods
from stoker.settings import Capabilities, ObjectSettings
from stoker.targets.objects import Node
from tests import builders

Object = dict[str, Any]


def node(name: str = "one", *taints: Object, **labels: str) -> Node:
    """A node."""
    return convert(Node, builders.node(name, *taints, **labels))


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Object:
    """A taint."""
    return {"key": key, "value": value, "effect": effect}


def pods(**spec: Any) -> Placing:
    """What a pod's spec says of where it may run."""
    return convert(Placing, spec)


def affine(*terms: Object) -> Object:
    """Required node affinity."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


def on(key: str, operator: str, *values: str) -> Object:
    """A term of one condition on a label."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(operator: str, *values: str) -> Object:
    """A term of one condition on the name."""
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


# Pods, a node, and the reason.
REASONS: list[tuple[Placing, Node, str]] = [
    (
        pods(),
        node("one", taint("gpu", "yes")),
        "has taint gpu=yes:NoSchedule that spec.tolerations does not tolerate",
    ),
    (
        pods(tolerations=[{"key": "gpu", "value": "no"}]),
        node("one", taint("gpu", effect="NoExecute")),
        "has taint gpu:NoExecute that spec.tolerations does not tolerate",
    ),
    (
        pods(nodeSelector={"pool": "a"}),
        node(pool="b"),
        "has `pool=b`, and spec.nodeSelector asks for `pool=a`",
    ),
    (
        pods(nodeSelector={"pool": "a"}),
        node(),
        "has no label `pool`, and spec.nodeSelector asks for `pool=a`",
    ),
    (
        pods(**affine(on("pool", "In", "a", "b"))),
        node(pool="c"),
        "has `pool=c`, and spec.affinity.nodeAffinity requires `pool in (a, b)`",
    ),
    (
        pods(**affine(on("cores", "Gt", "8"))),
        node(),
        "has no label `cores`, and spec.affinity.nodeAffinity requires `cores > 8`",
    ),
    (
        pods(**affine(named("In", "two"))),
        node(),
        "is another, and spec.affinity.nodeAffinity requires `metadata.name in (two)`",
    ),
    (
        pods(**affine(named("In", "two"), on("pool", "Exists"))),
        node(),
        "fits none of the 2 terms that spec.affinity.nodeAffinity requires",
    ),
    (pods(nodeName="two"), node(), "is not the node `two` that spec.nodeName asks for"),
]


@pytest.mark.parametrize(("asked", "there", "why"), REASONS)
def test_the_reason_names_the_field_and_what_the_node_has(
    asked: Placing, there: Node, why: str
) -> None:
    """Whoever reads it can tell what to change, at the agent or at the node."""
    found = absence(asked, there)
    assert found is not None
    assert (found.why, found.passing) == (why, False)


# A DaemonSet's pods tolerate these as they are; others do not.
TOLERATED = [
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
]


@pytest.mark.parametrize(("key", "effect"), TOLERATED)
def test_pods_of_a_daemon_set_put_up_with_what_its_controller_says(key: str, effect: str) -> None:
    """Only with that effect, and only pods of a DaemonSet."""
    other = {"NoSchedule": "NoExecute", "NoExecute": "NoSchedule"}[effect]
    there = node("one", taint(f"node.kubernetes.io/{key}", effect=effect))
    assert absence(pods(), there) is None
    assert absence(pods(), there, daemon=False)
    assert absence(pods(), node("one", taint(f"node.kubernetes.io/{key}", effect=other)))


def test_a_node_without_network_takes_pods_that_use_its_own() -> None:
    """With hostNetwork one more taint is tolerated."""
    there = node("one", taint("node.kubernetes.io/network-unavailable"))
    assert absence(pods(), there)
    assert absence(pods(hostNetwork=True), there) is None


def test_a_node_that_is_unwell_is_told_apart() -> None:
    """What Kubernetes sets and takes off by itself is no fault of the specification."""
    unready = taint("node.kubernetes.io/not-ready")
    found = absence(pods(), node("one", unready))
    assert found is not None
    assert found.passing
    both = absence(pods(), node("one", unready, taint("gpu")))
    assert both is not None
    assert not both.passing
    assert without_pods(pods(), [node("one", unready)]) == {}


def test_nodes_with_the_same_reason_are_told_together_and_many_are_cut_short() -> None:
    """A status is read by people."""
    tainted = [node(f"gpu-{number}", taint("gpu")) for number in range(9)]
    without = without_pods(pods(nodeSelector={"os": "linux"}), [node("w", os="win")])
    assert coverage(1, without) == (
        "covers 0 of 1 node; it is not on "
        "w (has `os=win`, and spec.nodeSelector asks for `os=linux`)"
    )
    assert coverage(12, without_pods(pods(), [node("a"), *tainted])) == (
        "covers 3 of 12 nodes; it is not on gpu-0, gpu-1, gpu-2, gpu-3, gpu-4 and 4 more "
        "(has taint gpu:NoSchedule that spec.tolerations does not tolerate)"
    )
    odd = without_pods(
        pods(nodeSelector={"os": "a"}), [node(f"n{i}", os=f"o{i}") for i in range(7)]
    )
    assert coverage(7, odd).endswith("; and 2 more")
    assert coverage(2, {}) == "covers 2 of 2 nodes"


# Pairs that no node can have both of, and others.
APART: list[tuple[Placing, Placing]] = [
    (pods(nodeSelector={"pool": "a"}), pods(nodeSelector={"pool": "b"})),
    (pods(**affine(on("pool", "In", "a"))), pods(**affine(on("pool", "NotIn", "a", "b")))),
    (pods(**affine(on("pool", "Exists"))), pods(**affine(on("pool", "DoesNotExist")))),
    (pods(nodeSelector={"pool": "a"}), pods(**affine(on("pool", "NotIn", "a")))),
    (pods(nodeSelector={"cores": "4"}), pods(**affine(on("cores", "Gt", "4")))),
    (pods(**affine(named("In", "a"))), pods(**affine(named("NotIn", "a")))),
    (
        pods(**affine(on("pool", "In", "a"), on("pool", "In", "b"))),
        pods(**affine(on("pool", "In", "c"))),
    ),
]
TOGETHER: list[tuple[Placing, Placing]] = [
    (pods(), pods()),
    (pods(nodeSelector={"pool": "a"}), pods(nodeSelector={"zone": "b"})),
    (pods(nodeSelector={"pool": "a"}), pods(**affine(on("pool", "In", "a", "b")))),
    (pods(**affine(on("pool", "NotIn", "a"))), pods(**affine(on("pool", "DoesNotExist")))),
    (
        pods(**affine(on("pool", "In", "a"), on("pool", "In", "b"))),
        pods(**affine(on("pool", "In", "b"))),
    ),
]


def test_agents_that_no_node_can_have_both_of_never_meet() -> None:
    """Whatever the nodes are; and where one could have both, nothing is claimed."""
    assert all(never_meet(a, b) and never_meet(b, a) for a, b in APART)
    assert not any(never_meet(a, b) or never_meet(b, a) for a, b in TOGETHER)


def test_what_is_asked_of_nodes_is_what_the_operator_builds() -> None:
    """All fields of the specification that say where pods run are those of the template."""
    spec: Object = {
        "mode": "DaemonSet",
        "nodeSelector": {"pool": "a"},
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": True,
        **affine(on("pool", "In", "a")),
    }
    given = {"metadata": {"name": "light", "namespace": "m"}, "spec": spec}
    agent = convert(PrometheusAgent, given)
    found = placing_of(agent, Capabilities(), ObjectSettings())
    assert found == pods(**{name: value for name, value in spec.items() if name != "mode"})
