"""What happens to one workload if we take it over from another operator, as it is.

    the plan ───────────────┐
    objects that are there ─┴─> Handover: pods, objects, and what is judged otherwise

Nobody changes anything else meanwhile: what differs, differs because we see or write it otherwise.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.build.names import FIELD_MANAGER
from stoker.compare.change import Pods, change_of
from stoker.compare.defaults import without_defaults
from stoker.compare.objects import Action, ObjectChange
from stoker.compare.plan import Planned
from stoker.compare.taken import Taken, taken_by, told_otherwise
from stoker.generate.rules import file_name
from stoker.ref import Ref, by_path, ref_of
from stoker.select.choice import RULE_KIND
from stoker.select.workload import Workload
from stoker.validate.verdicts import Outcome, Verdict

_TEXTS: Final = ("Secret", "ConfigMap")
_TAKEN: Final = "taken"
_LEFT_OUT: Final = "left out"
_NOT_KNOWN: Final = "not known"
_NOT_SELECTED: Final = "not selected"


class Disagreement(Struct, frozen=True, rename="camel"):
    """What the two operators make of one resource: taken, left out, not selected or not known.

    `reason` is why, from whoever leaves it out.
    """

    resource: str
    before: str
    after: str
    reason: str


class Handover(Struct, frozen=True, kw_only=True):
    """What happens to a workload.

    `refused` is why we would write nothing; `said`, what its status says is wrong so far. `sets`
    are the StatefulSets and DaemonSets whose pods change, each with what differs. Of all other
    objects, `written` get another content, `new` were not there, and `gone` are wanted no longer.
    `parts` are the sections of configurations that read otherwise. `unknown` are sentences.
    """

    workload: str
    pods: Pods = Pods.STAY
    refused: str = ""
    said: str = ""
    disagreements: tuple[Disagreement, ...] = ()
    sets: tuple[ObjectChange, ...] = ()
    written: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def is_judged_otherwise(self) -> bool:
        """Whether the workload, or a resource that it selects, is."""
        return bool(self.disagreements or self.refused or self.said)

    @property
    def is_nothing(self) -> bool:
        """Whether nothing happens that anybody could notice, as far as is known."""
        objects = (self.written, self.new, self.gone, self.sets)
        return self.pods is Pods.STAY and not self.is_judged_otherwise and not any(objects)

    @property
    def badness(self) -> tuple[bool, ...]:
        """What puts a workload before others: the worst first."""
        rolls = self.pods in (Pods.ROLL, Pods.END)
        return (not self.refused, not rolls, self.pods is Pods.STAY, not self.disagreements)


def handover_of(
    found: Planned, live: Mapping[Ref, Object], known: Collection[Ref], surplus: Iterable[Ref] = ()
) -> Handover:
    """What happens to a workload that is looked after.

    `live` are those of its objects that are there, with all of their content on record as ours.
    `known` are the resources that exist, `surplus` the objects of the workload that it would lose.
    """
    said, unknown = _said(found.workload), tuple(_unknown(found))
    if found.problem and not said and not unknown:
        return Handover(workload=found.title, refused=found.problem)
    if found.blocked:
        return Handover(workload=found.title, unknown=unknown)
    plain = replace(found, objects=tuple(map(without_defaults, found.objects)))
    there = {key: without_defaults(each) for key, each in live.items()}
    change = change_of(plain, plain, there, FIELD_MANAGER)
    ours, theirs = taken_by(found.objects), taken_by(live.values())
    texts = [each for each in change.objects if each.kind in _TEXTS]
    return Handover(
        workload=found.title,
        pods=change.pods,
        said=said,
        disagreements=tuple(_disagreements(found, ours, theirs, known)),
        sets=tuple(each for each in change.objects if _changes_pods(each)),
        written=tuple(_titles(change.objects, Action.CHANGED)),
        new=tuple(_titles(change.objects, Action.NEW)),
        gone=tuple(str(each) for each in sorted(surplus, key=by_path)),
        parts=told_otherwise(ours, theirs) if texts and theirs.found else (),
        unknown=unknown,
    )


def _said(workload: Workload) -> str:
    """What the status of a workload says is wrong."""
    conditions = (workload.status and workload.status.conditions) or ()
    return next(
        (
            each.message or each.reason or "its status does not say why"
            for each in conditions
            if (each.type, each.status) == ("Reconciled", "False")
        ),
        "",
    )


def _changes_pods(each: ObjectChange) -> bool:
    changes = each.rolls or each.waits or each.replaced or each.pods is not Action.CHANGED
    return each.runs_pods and changes


def _titles(objects: Iterable[ObjectChange], action: Action) -> Iterator[str]:
    return (each.title for each in objects if each.action is action and not _changes_pods(each))


def _unknown(found: Planned) -> Iterator[str]:
    if found.unread:
        yield f"{found.title}: not everything can be judged from here: {found.unread}"
        return
    for key, verdict in found.verdicts.items():
        if verdict.outcome is Outcome.UNKNOWN:
            yield f"{found.title}: {key}: {verdict.message}"


# --- Resources ------------------------------------------------------------------------------------


def _disagreements(
    found: Planned, ours: Taken, theirs: Taken, known: Collection[Ref]
) -> Iterator[Disagreement]:
    for key, verdict in sorted(found.verdicts.items(), key=lambda each: by_path(each[0])):
        before = _has(theirs, verdict)
        if verdict.outcome is Outcome.REJECTED and before is not False:
            word = _TAKEN if before else _NOT_KNOWN
            yield Disagreement(str(key), word, _LEFT_OUT, verdict.message)
        elif verdict.accepted and before is False and _has(ours, verdict):
            yield Disagreement(str(key), _LEFT_OUT, _TAKEN, _why(found.workload, verdict))
    for key in sorted((theirs.resources & set(known)) - found.members, key=by_path):
        yield Disagreement(str(key), _TAKEN, _NOT_SELECTED, "")


def _has(taken: Taken, verdict: Verdict) -> bool | None:
    """Whether a resource is taken; None where that cannot be seen."""
    resource = verdict.resource
    if verdict.kind == RULE_KIND.name:
        return file_name(resource.metadata) in taken.files
    if not taken.found or _is_silent(resource):
        return None
    return ref_of(resource) in taken.resources


def _is_silent(resource: Any) -> bool:
    """Whether nothing with the name of a resource would come of it: it sends to nobody."""
    spec = resource.spec
    return hasattr(spec, "inhibit_rules") and spec.route is None


def _why(workload: Workload, verdict: Verdict) -> str:
    """Why a workload leaves out a resource, as the status of that says."""
    own = ref_of(workload)
    for each in (verdict.resource.status and verdict.resource.status.bindings) or ():
        if (each.namespace, each.name) == (own.namespace, own.name):
            conditions = each.conditions or ()
            return next((one.message or "" for one in conditions if one.status == "False"), "")
    return ""
