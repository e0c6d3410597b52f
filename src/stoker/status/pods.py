"""What a pod, as the API server has it, tells: whose it is, whether it is ready, and if not, why.

What a container printed before it ended (`terminated.message`) is never passed on: a log may hold
what nobody should read in the status of another object.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from stoker.api.core import Object

Owned: TypeAlias = Mapping[tuple[str, str], list[Object]]

REVISION: Final = "controller-revision-hash"
# In the order in which a pod comes to life: the first that fails is the cause of the others.
_STEPS: Final = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
_FINISHED: Final = frozenset({"Succeeded", "Failed"})
# Says only that an init container is not done, which is reported of that one.
_NOISE: Final = frozenset({"PodInitializing"})
_LONGEST: Final = 300
# What containers wait for in vain, until somebody changes something.
_HOPELESS: Final = frozenset(
    {
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    }
)


def by_owner(pods: Iterable[Object]) -> Owned:
    """The pods under kind and name of what they belong to, in the order of their numbers."""
    found: defaultdict[tuple[str, str], list[Object]] = defaultdict(list)
    for pod in sorted(pods, key=ordinal):
        for owner in pod["metadata"].get("ownerReferences") or ():
            found[owner.get("kind", ""), owner.get("name", "")].append(pod)
    return found


def pods_of(owned: Owned, kind: str, owner: Object) -> list[Object]:
    """The pods of one owner; those of a namesake that was deleted are not."""
    metadata = owner["metadata"]
    uid = metadata.get("uid")
    return [
        pod
        for pod in owned.get((kind, metadata["name"]), ())
        if not uid or uid in _owner_uids(pod) or not any(_owner_uids(pod))
    ]


def _owner_uids(pod: Object) -> list[str]:
    return [each.get("uid", "") for each in pod["metadata"].get("ownerReferences") or ()]


def ordinal(pod: Object) -> tuple[int, str]:
    """Sorts pods of a StatefulSet by their number, and others by name."""
    name: str = pod["metadata"]["name"]
    number = name.rpartition("-")[2]
    return (int(number) if number.isascii() and number.isdecimal() else 0, name)


def revision(pod: Object) -> str:
    """The revision of the specification that the pod was made from."""
    labels = pod["metadata"].get("labels") or {}
    return str(labels.get(REVISION, ""))


def deleted(pod: Object) -> bool:
    """Whether the pod is going away."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def alive(pod: Object) -> bool:
    """Whether the pod counts: it is neither finished nor going away."""
    return not deleted(pod) and _status(pod).get("phase") not in _FINISHED


def ready(pod: Object) -> bool:
    """Whether the pod can do its work."""
    return alive(pod) and any(
        each.get("type") == "Ready" and each.get("status") == "True" for each in _conditions(pod)
    )


def node_of(pod: Object) -> str:
    """The node that a pod is on, or that it is for: each of a DaemonSet's is for one; else ""."""
    spec = pod.get("spec") or {}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    named = (
        name
        for term in required.get("nodeSelectorTerms") or ()
        for field in term.get("matchFields") or ()
        if field.get("key") == "metadata.name"
        for name in field.get("values") or ()
    )
    return str(spec.get("nodeName") or next(named, ""))


def unschedulable_since(pod: Object) -> str | None:
    """Since when no node has taken the pod; None if one has, or nothing is known yet."""
    for each in _conditions(pod):
        unmet = each.get("type") == "PodScheduled" and each.get("status") == "False"
        if unmet and each.get("reason") == "Unschedulable":
            return str(each.get("lastTransitionTime") or pod["metadata"].get("creationTimestamp"))
    return None


def is_stuck(pod: Object) -> bool:
    """Whether a pod will hardly become ready by itself."""
    status = _status(pod)
    containers = [
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ]
    waiting = ((each.get("state") or {}).get("waiting") or {} for each in containers)
    return unschedulable_since(pod) is not None or any(
        each.get("reason") in _HOPELESS for each in waiting
    )


def trouble(pod: Object) -> str:
    """Why a pod is not ready, in one line."""
    if deleted(pod):
        return "is being deleted"
    details = "; ".join(_containers(pod))
    cause = _cause(pod)
    return f"{cause} ({details})" if details else cause


def _cause(pod: Object) -> str:
    status = _status(pod)
    unmet = {
        each["type"]: each.get("message") or each.get("reason")
        for each in _conditions(pod)
        if each.get("status") != "True"
    }
    told = [status.get("message") or status.get("reason"), *(unmet.get(step) for step in _STEPS)]
    phase = status.get("phase")
    own = f"not ready, in phase {phase}" if phase else "not ready"
    return next((_line(text) for text in told if text), own)


def _containers(pod: Object) -> Iterator[str]:
    """What is known of each container that is not ready."""
    status = _status(pod)
    for member in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(member) or ():
            known = [] if container.get("ready") else list(_container(container))
            if known:
                yield f"{container.get('name')}: {', '.join(known)}"


def _container(status: Mapping[str, Any]) -> Iterator[str]:
    state = status.get("state") or {}
    waiting, ended = state.get("waiting") or {}, state.get("terminated")
    if waiting.get("reason") and waiting["reason"] not in _NOISE:
        yield _line(": ".join(filter(None, (waiting["reason"], waiting.get("message")))))
    last = ended or (status.get("lastState") or {}).get("terminated")
    if last:
        word = last.get("reason") or "ended"
        yield f"{'' if ended else 'before that '}{word} with exit code {last.get('exitCode', 0)}"
    if status.get("restartCount"):
        yield f"restarts: {status['restartCount']}"


def _line(text: str) -> str:
    """A text of somebody else as one line of bounded length."""
    joined = " ".join(text.split())
    return joined if len(joined) <= _LONGEST else f"{joined[: _LONGEST - 1]}…"


def _status(pod: Object) -> Mapping[str, Any]:
    return pod.get("status") or {}


def _conditions(pod: Object) -> list[Mapping[str, Any]]:
    return list(_status(pod).get("conditions") or ())
