"""Which pods a change of mode waits for, and without which it goes on."""

from datetime import UTC, datetime, timedelta

import pytest

from stoker.api.core import Object
from stoker.status.waiting import (
    NodeState,
    Waiting,
    doubtful_nodes,
    waiting_to_go,
    waiting_to_start,
)
from tests.builders import pod_of

MADE = datetime(2026, 1, 31, 12, tzinfo=UTC)
LATER = MADE + timedelta(minutes=5)
PATIENCE = 600.0
UIDS = frozenset({"new"})


def text(moment: datetime) -> str:
    """A time as Kubernetes writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(
    name: str, *, node: str = "", condition: Object | None = None, started: bool = False
) -> Object:
    """A pod of the new set that is not ready."""
    status: Object = {"conditions": [condition] if condition else []}
    status |= {"startTime": text(MADE), "phase": "Running"} if started else {"phase": "Pending"}
    spec = {"nodeName": node} if node else {"affinity": _only("b")}
    members: Object = {"creationTimestamp": text(MADE), "spec": spec, "status": status}
    return pod_of("DaemonSet", "x", name, uid="new", **members)


def _only(node: str) -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: Insufficient cpu",
    "lastTransitionTime": text(LATER),
}
DOWN = {"a": NodeState(ready=False, since=text(LATER))}
UP = {"a": NodeState(ready=True)}

PENDING = pod("p", condition=UNSCHEDULABLE)
ON_DEAD = pod("d", node="a", started=True)
UNHEARD = pod("u", node="a")
CRASHING = pod("c", node="a", started=True)


def look(found: Object, nodes: dict[str, NodeState], after: float, patience: float) -> Waiting:
    """What is known of a pod so many seconds after the later of the two times."""
    now = LATER + timedelta(seconds=after)
    return waiting_to_start([found], UIDS, nodes, now, patience)


@pytest.mark.parametrize(
    ("found", "nodes", "words", "begun"),
    [
        (PENDING, {}, "pod p on node b: 0/3 nodes are available", LATER),
        (ON_DEAD, DOWN, "pod d on node a: the node is not Ready since", LATER),
        (UNHEARD, {}, "pod u on node a: the node's kubelet has not taken it up", MADE),
        (UNHEARD, UP, "pod u on node a: the node's kubelet has not taken it up", MADE),
    ],
)
def test_a_pod_that_may_never_come_is_waited_for_until_a_deadline(
    found: Object, nodes: dict[str, NodeState], words: str, begun: datetime
) -> None:
    """It is named with its node and the cause, and when it is done without; 0 is for ever."""
    early = look(found, nodes, 0, PATIENCE)
    assert words in early.words
    assert not early.excused
    assert early.until == begun + timedelta(seconds=PATIENCE)
    assert text(early.until) in early.words
    over = look(found, nodes, PATIENCE, PATIENCE)
    assert over.excused == {"new": 1}
    assert f"pod {found['metadata']['name']}" in over.without
    for_ever = look(found, nodes, 10 * PATIENCE, 0)
    assert not for_ever.excused
    assert words in for_ever.words


@pytest.mark.parametrize("nodes", [{}, UP])
def test_a_pod_that_fails_on_a_node_that_is_well_is_never_done_without(
    nodes: dict[str, NodeState],
) -> None:
    """It would be the same with the next one."""
    found = look(CRASHING, nodes, 100 * PATIENCE, PATIENCE)
    assert not found.excused
    assert found.until is None
    assert "pod c on node a" in found.words


def test_the_time_of_a_pod_that_is_replaced_begins_when_it_should_have_ended() -> None:
    """A node that was lost long ago is waited for all the same."""
    since = LATER + timedelta(seconds=60)
    by_then = {
        "deletionTimestamp": text(since + timedelta(seconds=30)),
        "deletionGracePeriodSeconds": 30,
    }
    going = ON_DEAD | {"metadata": ON_DEAD["metadata"] | by_then}
    assert look(going, DOWN, 0, PATIENCE).until == since + timedelta(seconds=PATIENCE)


def test_a_few_are_named_and_the_rest_counted() -> None:
    """A message stays short, whatever the number of nodes."""
    many = [pod(f"p{number}", condition=UNSCHEDULABLE) for number in range(50)]
    found = waiting_to_start(many, UIDS, {}, LATER, PATIENCE)
    assert "and 47 more" in found.words
    assert "pod p3 " not in found.words
    assert waiting_to_start(many, {"other"}, {}, LATER, PATIENCE) == Waiting()


def test_a_pod_that_cannot_end_is_named_with_the_command() -> None:
    """A node that is lost does not say that a pod has ended."""
    assert doubtful_nodes([ON_DEAD, PENDING], UIDS) == ["a"]
    said = waiting_to_go([ON_DEAD], UIDS, DOWN).words
    assert "pod d on node a, which is not Ready" in said
    assert "kubectl -n shop delete pod d --force" in said
    assert waiting_to_go([ON_DEAD], UIDS, UP).words == "pod d on node a"
