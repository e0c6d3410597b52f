"""What a workload makes of a resource: the words for it, and what the status of a resource says."""

from enum import StrEnum
from functools import cache

from msgspec import Struct

from stoker.api.common import Binding
from stoker.api.kinds import kind_called
from stoker.select.choice import Resource
from stoker.select.workload import Workload


class State(StrEnum):
    """What a workload makes of a resource; without targets is one that is used all the same."""

    USED = "used"
    NO_TARGETS = "no targets"
    REJECTED = "rejected"
    HELD = "held"
    UNCLEAR = "unclear"
    NOT_SELECTED = "not selected"


class Cause(StrEnum):
    """Why a workload does not use a resource; one word for each reason."""

    NONE = ""
    DELETING = "Deleting"
    CONTROLLER_ID = "ControllerId"
    WORKLOAD_NOT_WATCHED = "WorkloadNotWatched"
    NAMESPACE_NOT_WATCHED = "NamespaceNotWatched"
    KIND_NOT_SELECTED = "KindNotSelected"
    STANDS_IN = "StandsIn"
    PRUNED = "Pruned"
    INVALID_SELECTOR = "InvalidSelector"
    LABELS = "Labels"
    OWN_NAMESPACE_ONLY = "OwnNamespaceOnly"
    NAMESPACE_LABELS = "NamespaceLabels"
    REJECTED = "Rejected"
    PAUSED = "Paused"
    UNMANAGED = "Unmanaged"
    WORKLOAD_PROBLEM = "WorkloadProblem"
    UNREADABLE = "Unreadable"


class Reason(Struct, frozen=True):
    """Why a workload does not use a resource."""

    cause: Cause
    text: str


@cache
def _plural(name: str) -> str:
    kind = kind_called(name)
    return kind.plural if kind else ""


def binding_of(workload: Workload, resource: Resource) -> Binding | None:
    """What the status of a resource says of a workload; None if nothing."""
    wanted = (_plural(type(workload).__name__), workload.metadata.namespace, workload.metadata.name)
    for binding in (resource.status and resource.status.bindings) or ():
        if (binding.resource, binding.namespace, binding.name) == wanted:
            return binding
    return None
