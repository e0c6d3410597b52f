"""Rollouts that are stuck, and the pod that must go for them to continue.

A StatefulSet whose update was bad, and was put right by a further update, may wait for ever for the
pods of the bad one to become ready. Kubernetes leaves it to people to delete them; with a repair
policy we do.

A pod is stuck when it was made from neither the revision that all pods had before nor the one that
all should have. The one with the highest number goes first, as in any rolling update, and the next
one only when no pod is on its way out. As long as every such pod is ready, Kubernetes replaces them
by itself and nothing is done.
"""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from stoker.api.core import Object
from stoker.status.pods import by_owner, deleted, ordinal, pods_of, ready, revision


class RepairPolicy(StrEnum):
    """How a stuck pod is removed: not at all, heeding disruption budgets, or at once."""

    NONE = "none"
    EVICT = "evict"
    DELETE = "delete"


class Repair(Struct, frozen=True):
    """The pod to remove, and how. `uid` makes sure that it is this pod and no successor."""

    policy: RepairPolicy
    namespace: str
    name: str
    uid: str


def repair_of(stateful_set: Object, pods: Iterable[Object], policy: RepairPolicy) -> Repair | None:
    """What to do now to let a rollout continue; None where all is well or the policy is `none`."""
    pod = stuck_pod(stateful_set, pods) if policy is not RepairPolicy.NONE else None
    if pod is None:
        return None
    metadata = pod["metadata"]
    return Repair(policy, metadata.get("namespace", ""), metadata["name"], metadata.get("uid", ""))


def stuck_pod(stateful_set: Object, pods: Iterable[Object]) -> Object | None:
    """The pod that must go first for the rollout to continue.

    `pods` may hold those of others too.
    """
    own = pods_of(by_owner(pods), "StatefulSet", stateful_set)
    status = stateful_set.get("status") or {}
    good = {status.get("currentRevision"), status.get("updateRevision")}
    if not _rolls(stateful_set) or any(map(deleted, own)):
        return None
    stuck = [pod for pod in own if revision(pod) and revision(pod) not in good]
    return max(stuck, key=ordinal) if not all(map(ready, stuck)) else None


def _rolls(stateful_set: Object) -> bool:
    """Whether Kubernetes knows the latest specification and is to bring the pods to it."""
    spec, status = stateful_set.get("spec") or {}, stateful_set.get("status") or {}
    generation = stateful_set["metadata"].get("generation", 0)
    strategy = (spec.get("updateStrategy") or {}).get("type")
    return (
        strategy != "OnDelete"
        and bool(status.get("updateRevision"))
        and status.get("observedGeneration", 0) >= generation
    )
