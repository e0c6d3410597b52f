"""What the condition Available says of an agent at each step of a change of mode.

The table is that of the guide; the same states are walked through in `tests/live`.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from stoker.api.core import Object
from stoker.status.workload import (
    DAEMON_SET,
    STATEFUL_SET,
    Observations,
    PodSet,
    Reconciliation,
    Remark,
    workload_status,
)
from tests.builders import pod_of

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "no free ports",
}
PULL = {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}


def pod(kind: str, number: int, *, ready: bool, **members: Any) -> Object:
    """A pod of the agent's set of a kind."""
    name = f"{kind.lower()}-{number}"
    conditions = [
        {"type": "Ready", "status": "True" if ready else "False"},
        *members.get("conditions", ()),
    ]
    status = {"conditions": conditions, "containerStatuses": members.get("containers", [])}
    labels, spec = {"controller-revision-hash": "new"}, {"nodeName": f"node-{number}"}
    spec = members.get("spec", spec)
    return pod_of(kind, "light", name, uid=kind, labels=labels, spec=spec, status=status)


def sets(replicas: int = 1) -> PodSet:
    """The StatefulSet."""
    found = {
        "metadata": {"name": "light", "uid": STATEFUL_SET, "generation": 1},
        "spec": {"replicas": replicas},
        "status": {"observedGeneration": 1, "updateRevision": "new"},
    }
    return PodSet(name="light", found=found, replicas=replicas)


def daemons(nodes: int = 2, ready: int = 2, updated: int = 2, *, going: bool = False) -> PodSet:
    """The DaemonSet."""
    metadata = {"name": "light", "uid": DAEMON_SET, "generation": 1}
    status = {
        "observedGeneration": 1,
        "desiredNumberScheduled": nodes,
        "updatedNumberScheduled": updated,
        "numberReady": ready,
        "numberAvailable": ready,
    }
    gone = {"deletionTimestamp": "2026-01-31T12:00:00Z"} if going else {}
    return PodSet(
        name="light", kind=DAEMON_SET, found={"metadata": metadata | gone, "status": status}
    )


NO_DAEMONS = PodSet(name="light", kind=DAEMON_SET, found=None)
FOR_NODE_1 = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "values": ["node-1"]}]}
                ]
            }
        }
    }
}
ONE = [pod(STATEFUL_SET, 0, ready=True)]
TWO = [pod(DAEMON_SET, number, ready=True) for number in (0, 1)]
BAD = [pod(STATEFUL_SET, 0, ready=False)]
PENDING = pod(DAEMON_SET, 1, ready=False, spec=FOR_NODE_1, conditions=[UNSCHEDULABLE])
UNPULLED = pod(DAEMON_SET, 1, ready=False, containers=[{"name": "prometheus", "state": PULL}])

# state: wanted, old, pods -> Available, reason, words
TABLE: dict[str, tuple[PodSet, PodSet | None, list[Object], str, str, str]] = {
    "a StatefulSet": (sets(), None, ONE, "True", "AllPodsReady", "1 of 1"),
    "a DaemonSet": (daemons(), None, TWO, "True", "AllPodsReady", "2 of 2"),
    "no node": (daemons(0, 0, 0), None, [], "True", "NoPodsWanted", "no node fits"),
    "held, or not begun": (NO_DAEMONS, sets(), ONE, "True", "OldPodsReady", "1 of 1"),
    "no new pod ready": (
        daemons(2, 0), sets(), [*ONE, PENDING],
        "True", "OldPodsReady", "daemonset-1 on node node-1: no free ports",
    ),
    "an image that cannot be pulled": (
        daemons(2, 1), sets(), [*ONE, TWO[0], UNPULLED],
        "True", "OldPodsReady", "daemonset-1 on node node-1: not ready, in phase Running "
        "(prometheus: ImagePullBackOff: not found)",
    ),
    "no node for new pods": (
        daemons(0, 0, 0), sets(), ONE, "True", "OldPodsReady", "no node fits",
    ),
    "no node for new pods, and the old fail": (
        daemons(0, 0, 0), sets(), BAD, "False", "NoPodReadyAndNoPodsWanted", "statefulset-0",
    ),
    "all new pods ready": (daemons(), sets(), [*ONE, *TWO], "True", "AllPodsReady", "2 of 2"),
    "some new ready, and the old fail": (
        daemons(2, 1), sets(), [*BAD, TWO[0], PENDING],
        "Degraded", "NoPodReadyAndSomePodsNotReady", "node-1",
    ),
    "towards a StatefulSet": (
        sets(), daemons(), [*BAD, *TWO], "True", "OldPodsReady", "2 of 2 pods are ready",
    ),
    "towards a StatefulSet, the DaemonSet going": (
        sets(), daemons(going=True), [*ONE, *TWO], "True", "AllPodsReady", "1 of 1",
    ),
    "the StatefulSet fails, the DaemonSet going": (
        sets(), daemons(going=True), [*BAD, *TWO], "False", "NoPodReady", "statefulset-0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("state", TABLE)
def test_available_tells_the_truth(state: str) -> None:
    """Old pods that scrape everything count, and what is wrong with new ones is named."""
    wanted, old, pods, status, reason, words = TABLE[state]
    found = conditions(wanted, old, pods)["Available"]
    assert (found["status"], found["reason"]) == (status, reason)
    assert words in found["message"]


def conditions(
    wanted: PodSet, old: PodSet | None, pods: list[Object], **members: Any
) -> dict[str, Object]:
    """The conditions of an agent with these sets and pods."""
    facts = Observations(
        namespace="shop",
        generation=1,
        parts=(wanted,),
        old_parts=(old,) if old else (),
        pods=pods,
        **members,
    )
    return {each["type"]: each for each in workload_status(facts, None, NOON)["conditions"]}


def test_a_rollout_that_is_stuck_beside_ready_pods_is_not_reconciled() -> None:
    """A pod of `maxSurge` that cannot start holds it up though every node has an agent."""
    found = conditions(daemons(updated=1), None, [*TWO, PENDING])
    assert (found["Available"]["status"], found["Reconciled"]["status"]) == ("True", "False")
    assert found["Reconciled"]["reason"] == "RolloutStuck"
    assert "daemonset-1 on node node-1: no free ports" in found["Reconciled"]["message"]
    for pods, part in (([*TWO, PENDING], daemons()), (TWO, daemons(updated=1))):
        assert conditions(part, None, pods)["Reconciled"]["status"] == "True"
    failure = Reconciliation(Remark("ModeChangeHeld", "x"))
    told = conditions(daemons(updated=1), None, [*TWO, PENDING], reconciliation=failure)
    assert told["Reconciled"]["reason"] == "ModeChangeHeld"
