"""Which pods a change of mode waits for, why, and what to do; and without which it goes on.

A pod that cannot be scheduled, or whose node is not Ready, may never come. Such a pod is waited for
until a deadline, counted from when it was made or came to be so, whichever is later; all of that
can be seen. Pods that fail on a node that is well are waited for without an end.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.status.conditions import timestamp
from stoker.status.pods import node_of, ready, trouble, unschedulable_since

# More than these would not be read.
_MOST_TOLD: Final = 3


class NodeState(Struct, frozen=True):
    """Whether a node is Ready, and since when."""

    ready: bool
    since: str = ""


class Waiting(Struct, frozen=True):
    """What a change of mode waits for, in words; empty if nothing can be said of it.

    `excused`: how many pods of each set, by its uid, it goes on without, and `without` which these
    are. `until`: when the next of them will be excused.
    """

    words: str = ""
    excused: Mapping[str, int] = {}
    without: str = ""
    until: datetime | None = None


class _Awaited(Struct, frozen=True):
    """A pod that is not ready: whose it is, why, and when it may be done without, if ever."""

    uid: str
    called: str
    why: str
    until: datetime | None = None


def doubtful_nodes(pods: Sequence[Object], uids: Collection[str]) -> list[str]:
    """The nodes of pods of these sets that are not ready or on their way out."""
    bad = (pod for pod in pods if _owner(pod, uids) and not ready(pod))
    return sorted({name for pod in bad if (name := (pod.get("spec") or {}).get("nodeName"))})


def waiting_to_start(
    pods: Sequence[Object],
    uids: Collection[str],
    nodes: Mapping[str, NodeState],
    now: datetime,
    patience: float,
) -> Waiting:
    """What is known of pods of these sets that are not ready yet.

    `nodes` are those that could be looked at. `patience` is in seconds; 0 has no end.
    """
    bad = [pod for pod in pods if _owner(pod, uids) and not ready(pod)]
    found = [_awaited(pod, _owner(pod, uids), nodes, patience) for pod in bad]
    over = [each for each in found if each.until and each.until <= now]
    excused = {uid: sum(each.uid == uid for each in over) for uid in {each.uid for each in over}}
    return Waiting(
        words=_listed([_line(each, now) for each in found]),
        excused=excused,
        without=_listed([f"{each.called} ({each.why})" for each in over]),
        until=min((each.until for each in found if each.until and each not in over), default=None),
    )


def waiting_to_go(
    pods: Sequence[Object], uids: Collection[str], nodes: Mapping[str, NodeState]
) -> Waiting:
    """What is known of pods of sets that are being deleted."""
    left = [pod for pod in pods if _owner(pod, uids)]
    return Waiting(words=_listed([f"{_called(pod)}{_stays(pod, nodes)}" for pod in left]))


def _stays(pod: Object, nodes: Mapping[str, NodeState]) -> str:
    state = nodes.get(node_of(pod))
    if state is None or state.ready:
        return ""
    metadata = pod["metadata"]
    return (
        ", which is not Ready and cannot end it: bring the node back or remove it, or "
        f"kubectl -n {metadata.get('namespace', '')} delete pod {metadata['name']} --force"
    )


def _awaited(pod: Object, uid: str, nodes: Mapping[str, NodeState], patience: float) -> _Awaited:
    called, why, since = _called(pod), trouble(pod), unschedulable_since(pod)
    state = nodes.get(node_of(pod))
    if state is not None and not state.ready:
        why = f"the node is not Ready since {state.since}: bring it back or remove it"
        since = state.since
    elif since is None and _is_unheard(pod):
        why = "the node's kubelet has not taken it up: is the node Ready?"
        since = pod["metadata"].get("creationTimestamp")
    if not since or not patience:
        return _Awaited(uid, called, why)
    begun = max(_moment(since), _moment(pod["metadata"]["creationTimestamp"]), _told_to_go(pod))
    return _Awaited(uid, called, why, begun + timedelta(seconds=patience))


def _told_to_go(pod: Object) -> datetime:
    """When a pod that is to be replaced was asked to end: Kubernetes notes by when it should."""
    metadata = pod["metadata"]
    if not metadata.get("deletionTimestamp"):
        return _moment(metadata["creationTimestamp"])
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    return _moment(metadata["deletionTimestamp"]) - grace


def _is_unheard(pod: Object) -> bool:
    """Whether a node has a pod that its kubelet says nothing of."""
    on_node = (pod.get("spec") or {}).get("nodeName")
    return bool(on_node) and not (pod.get("status") or {}).get("startTime")


def _line(each: _Awaited, now: datetime) -> str:
    if each.until is None:
        return f"{each.called}: {each.why}"
    when = "now" if each.until <= now else f"at {timestamp(each.until)}"
    return f"{each.called}: {each.why}; it goes on without it {when}"


def _listed(texts: Sequence[str]) -> str:
    more = [f"and {len(texts) - _MOST_TOLD} more"] if len(texts) > _MOST_TOLD else []
    return "; ".join((*texts[:_MOST_TOLD], *more))


def _called(pod: Object) -> str:
    node = node_of(pod)
    name: str = pod["metadata"]["name"]
    return f"pod {name} on node {node}" if node else f"pod {name}"


def _owner(pod: Object, uids: Collection[str]) -> str:
    return next(_owners(pod, uids), "")


def _owners(pod: Object, uids: Collection[str]) -> Iterator[str]:
    for each in pod["metadata"].get("ownerReferences") or ():
        if each.get("uid") in uids:
            yield each["uid"]


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
