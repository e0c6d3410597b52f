"""What a workload makes of a resource: the words for it, and what the status of a resource says."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import Final

from msgspec import Struct

from stoker.api.common import Binding
from stoker.api.kinds import kind_called
from stoker.select.choice import Resource
from stoker.select.workload import Workload


class State(StrEnum):
    """What a workload makes of a resource; one without targets, or down, is used all the same.

    Down is one whose targets cannot be scraped, none of them.
    """

    USED = "used"
    NO_TARGETS = "no targets"
    DOWN = "down"
    REJECTED = "rejected"
    HELD = "held"
    UNCLEAR = "unclear"
    NOT_SELECTED = "not selected"


_SAID: Final = {
    State.REJECTED: ("is rejected", "are rejected"),
    State.DOWN: ("has only targets that are down", "have only targets that are down"),
    State.NO_TARGETS: ("has no targets", "have no targets"),
    State.HELD: ("is held", "are held"),
    State.UNCLEAR: ("is unclear", "are unclear"),
    State.NOT_SELECTED: ("is not selected", "are not selected"),
}
NOT_WELL: Final = tuple(_SAID)
"""All states but that of a resource that is used, and to some avail; the worst first."""


def in_numbers(numbers: Mapping[State, int], states: Iterable[State] = NOT_WELL) -> str:
    """How many resources are in each of some states, in words; empty where there are none."""
    told = [f"{numbers[e]:,} {_SAID[e][numbers[e] > 1]}" for e in states if numbers.get(e)]
    return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)


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


class WhyNot(Struct, frozen=True):
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


def unscraped(workload: Workload, resource: Resource) -> tuple[State, str] | None:
    """That the status of a resource counts no targets of a workload, or none that can be scraped.

    None where it counts some, or nobody counts.
    """
    binding = binding_of(workload, resource)
    counts = binding.targets if binding else None
    if counts is None or counts.healthy:
        return None
    if not counts.discovered:
        return State.NO_TARGETS, f"it has found no targets, as of {counts.observed_at}"
    number = f"all {counts.discovered:,} targets are" if counts.discovered > 1 else "its target is"
    why = f": {counts.errors[0].message}" if counts.errors else ""
    return State.DOWN, f"{number} down, as of {counts.observed_at}{why}"
