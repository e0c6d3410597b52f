"""Why a workload is not reconciled, in the words of its condition `Reconciled`.

What its specification makes impossible is found by making everything, as the operator does: the
configuration first, then the objects. What only the operator can find (a storage class that is not
there, pods that the API server refuses) it says in the status of the workload.
"""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from stoker.build.objects import MOST_SHARDS
from stoker.build.sets import replicas_of
from stoker.errors import WorkloadError
from stoker.explain.view import View
from stoker.plan import Decision, objects_for
from stoker.select.workload import AnyPrometheus, Workload
from stoker.status.conditions import FALSE, GOES_ON, RECONCILED
from stoker.validate.findings import Finding, Reason

AT_REST: Final = "spec.replicas is 0"
"""Why a workload that is reconciled has no pods."""

_FEW_SHARDS: Final = 16


def why_not_reconciled(view: View, decision: Decision, unread: str = "") -> str:
    """The reason, with the path to the field; empty if none is known.

    With something `unread`, a configuration that cannot be made says nothing.
    """
    problem = "" if unread else decision.problem
    return problem or _why_not_built(view, decision) or reported_failure(decision.owner)


def reported_failure(owner: Workload) -> str:
    """What the operator says in the status of a workload that it could not reconcile as it is.

    Not what keeps nothing from being used: a condition says that, too.
    """
    generations = (None, owner.metadata.generation)
    for each in (owner.status and owner.status.conditions) or ():
        if (each.type, each.status) == (RECONCILED, FALSE):
            if each.reason in GOES_ON:
                return ""
            return (each.message or "") if each.observed_generation in generations else ""
    return ""


def fatal_among(notes: Iterable[Finding]) -> str:
    """Why the program of a workload that is reconciled ends at once; empty if it does not."""
    return next((str(note) for note in notes if note.reason is Reason.WILL_NOT_START), "")


def is_at_rest(owner: Workload) -> bool:
    """Whether a workload is told to have no pods; agents on every node do not count theirs."""
    on_nodes = getattr(owner.spec, "mode", None) == "DaemonSet"
    return replicas_of(owner.spec) == 0 and not on_nodes


def _why_not_built(view: View, decision: Decision) -> str:
    if decision.contents is None:
        return ""
    owner = with_few_shards(decision.owner)
    try:
        objects_for(owner, view.capabilities, view.settings.objects, decision.contents)
    except WorkloadError as error:
        return str(error)
    return ""


def with_few_shards(owner: Workload) -> Workload:
    """A workload that can be built if the given one can, and soon: its shards are all alike."""
    if not isinstance(owner, AnyPrometheus) or owner.spec.sharding_strategy:
        return owner
    if not _FEW_SHARDS < (owner.spec.shards or 1) <= MOST_SHARDS:
        return owner
    return replace(owner, spec=replace(owner.spec, shards=1))
