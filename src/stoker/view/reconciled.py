"""Why a workload is not reconciled, in the words of its condition `Reconciled`.

What its specification makes impossible is found by making everything, as the operator does: the
configuration first, then the objects. What only the operator can find (a storage class that is not
there, pods that the API server refuses) it says in the status of the workload.
"""

from collections.abc import Iterable
from typing import Final

from stoker.build.sets import replicas_of
from stoker.errors import UnknownError
from stoker.plan import Plan
from stoker.select.workload import Workload
from stoker.status.conditions import FALSE, GOES_ON, RECONCILED
from stoker.validate.findings import Finding, Reason

AT_REST: Final = "spec.replicas is 0"
"""Why a workload that is reconciled has no pods."""


def why_not_reconciled(found: Plan, unread: str = "") -> str:
    """The reason, with the path to the field; empty if none is known.

    With something `unread`, a configuration that cannot be made says nothing.
    """
    unmade = None if unread or isinstance(found.unmade, UnknownError) else found.unmade
    return str(unmade or found.unbuilt or "") or reported_failure(found.workload)


def why_unclear(found: Plan) -> str:
    """Why it is not known whether a workload can be configured; empty if it is."""
    return str(found.unmade) if isinstance(found.unmade, UnknownError) else ""


def reported_failure(workload: Workload) -> str:
    """What the operator says in the status of a workload that it could not reconcile as it is.

    Not what keeps nothing from being used: a condition says that, too.
    """
    generations = (None, workload.metadata.generation)
    for each in (workload.status and workload.status.conditions) or ():
        if (each.type, each.status) == (RECONCILED, FALSE):
            if each.reason in GOES_ON:
                return ""
            return (each.message or "") if each.observed_generation in generations else ""
    return ""


def fatal_among(notes: Iterable[Finding]) -> str:
    """Why the program of a workload that is reconciled ends at once; empty if it does not."""
    return next((str(note) for note in notes if note.reason is Reason.WILL_NOT_START), "")


def is_at_rest(workload: Workload) -> bool:
    """Whether a workload is to have no pods; agents on every node do not count theirs."""
    on_nodes = getattr(workload.spec, "mode", None) == "DaemonSet"
    return replicas_of(workload.spec) == 0 and not on_nodes
