"""What happens to one workload, and in one sentence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from stoker.api.core import Object
from stoker.compare.consolidated import StandInChanges
from stoker.compare.discovery import discovery
from stoker.compare.lines import FileDiff, file_diff
from stoker.compare.objects import (
    Action,
    ObjectChange,
    changed_from_before,
    changed_from_live,
    gone,
)
from stoker.compare.plan import Planned, planned
from stoker.ref import Ref, by_path, ref_of, ref_of_manifest
from stoker.validate.verdicts import Outcome
from stoker.view.view import View
from stoker.view.wording import counted

_SHOWN = 3


class Pods(StrEnum):
    """What happens to the pods of a workload."""

    STAY = "stay"
    ROLL = "roll"
    START = "start"
    END = "end"
    UNKNOWN = "unknown"


class Change(Struct, frozen=True, kw_only=True, rename="camel"):
    """What happens to one workload.

    `selected` and `deselected` are resources that the workload takes now or no longer; `rejected`
    those that it refuses now, with the reason, `unknown` those of which that is not known;
    `accepted` those that it refused. `discovery` is what changes in how agents on nodes come to
    their targets, in words. `configuration` is the diff of what its pods read, `objects`
    are those that are written or removed; `blocked` says why nothing is written, where that is new.
    """

    workload: str
    pods: Pods = Pods.STAY
    objects: tuple[ObjectChange, ...] = ()
    configuration: FileDiff | None = None
    selected: tuple[str, ...] = ()
    deselected: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    discovery: str = ""
    blocked: str = ""
    notes: tuple[str, ...] = ()
    action: Action = Action.CHANGED

    @property
    def is_nothing(self) -> bool:
        """Whether nothing happens at all."""
        resources = (self.selected, self.deselected, self.rejected, self.unknown, self.accepted)
        happening = (self.objects, self.configuration, self.blocked, self.discovery)
        return not (any(happening) or any(resources))

    @property
    def sentence(self) -> str:
        """The whole in one line."""
        return "; ".join(_parts(self))


class Comparison(Struct, frozen=True):
    """What happens to workloads and the ScrapeConfigs of monitors, and what could not be seen."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    consolidated: tuple[ObjectChange, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether nothing happens at all."""
        return not self.consolidated and all(each.is_nothing for each in self.changes)


def change_of(
    before: Planned | None,
    after: Planned | None,
    live: Mapping[Ref, Object] | None = None,
    manager: str = "",
) -> Change:
    """What happens to a workload, of which there is one state at least.

    `live` are the objects that are there, as `manager` would have left them; without them the
    objects of `before` are.
    """
    title = _title(before, after)
    blocked = after.blocked if after else ""
    objects = () if blocked else tuple(_objects(before, after, live, manager))
    old, new = (before.text if before else ""), (after.text if after else "")
    action = Action.NEW if before is None else Action.GONE if after is None else Action.CHANGED
    return Change(
        workload=title,
        pods=Pods.UNKNOWN if after and after.is_unclear else _pods(objects),
        objects=objects,
        discovery="" if blocked or action is not Action.CHANGED else discovery(before, after),
        blocked=blocked if not before or blocked != before.blocked else "",
        configuration=None
        if blocked or action is not Action.CHANGED
        else file_diff(f"{title} configuration", old, new),
        notes=(*_notes(before, after, blocked), *_waiting(objects)),
        action=action,
        **_resources(before, after),
    )


def _title(before: Planned | None, after: Planned | None) -> str:
    return next(each.title for each in (after, before) if each)


def _notes(before: Planned | None, after: Planned | None, blocked: str) -> Iterator[str]:
    if blocked:
        yield blocked
    elif before and before.problem:
        yield f"before, nothing was written: {before.problem}"
    unread = (after and after.unread) or (before and before.unread)
    if unread:
        yield f"not everything can be judged from here: {unread}"


def _waiting(objects: Iterable[ObjectChange]) -> Iterator[str]:
    if any(each.waits for each in objects):
        yield "spec.updateStrategy is OnDelete: pods change when you delete them"


def _objects(
    before: Planned | None,
    after: Planned | None,
    live: Mapping[Ref, Object] | None,
    manager: str,
) -> Iterator[ObjectChange]:
    old = {ref_of_manifest(each): each for each in (before.objects if before else ())}
    wanted = {ref_of_manifest(each): each for each in (after.objects if after else ())}
    for identity, each in wanted.items():
        found = (
            changed_from_before(each, old.get(identity))
            if live is None
            else changed_from_live(each, live.get(identity), manager)
        )
        if found:
            yield found
    for identity, each in old.items():
        shared = after is None and each["kind"] == "Service"
        if identity not in wanted and not shared and (live is None or identity in live):
            yield gone(each)


def _pods(objects: Iterable[ObjectChange]) -> Pods:
    sets = [each for each in objects if each.runs_pods]
    if any(each.rolls for each in sets):
        return Pods.ROLL
    actions = {each.pods for each in sets}
    if Action.NEW in actions:
        return Pods.START
    return Pods.END if Action.GONE in actions else Pods.STAY


# --- Resources ------------------------------------------------------------------------------------


def _resources(before: Planned | None, after: Planned | None) -> dict[str, tuple[str, ...]]:
    old, new = (before.verdicts if before else {}), (after.verdicts if after else {})
    had, has = (each.members if each else frozenset() for each in (before, after))
    # Nothing comes into use where nothing is written.
    both = [key for key in new if key in old] if after and not after.blocked else []

    def left_out(outcome: Outcome) -> Iterator[str]:
        """Those of which the same was not said before."""
        wanted = (key for key, each in new.items() if each.outcome is outcome)
        for key in sorted(wanted, key=by_path):
            if key not in old or old[key].message != new[key].message:
                yield f"{key}: {new[key].message}"

    return {
        "selected": _names(has - had),
        "deselected": _names(had - has),
        "rejected": tuple(left_out(Outcome.REJECTED)),
        "unknown": tuple(left_out(Outcome.UNKNOWN)),
        "accepted": _names(
            key for key in both if new[key].accepted and old[key].outcome is Outcome.REJECTED
        ),
    }


def _names(keys: Iterable[Ref]) -> tuple[str, ...]:
    return tuple(map(str, sorted(keys, key=by_path)))


# --- In one sentence ------------------------------------------------------------------------------

_PODS = {
    Pods.STAY: "pods stay",
    Pods.ROLL: "pods roll",
    Pods.START: "pods start",
    Pods.END: "pods end",
    Pods.UNKNOWN: "whether pods roll is not known",
}


def written_and_removed(objects: Sequence[ObjectChange]) -> Iterator[str]:
    """How many objects are written, and how many removed, where there are any."""
    written = len([each for each in objects if each.action is not Action.GONE])
    if written:
        yield f"{counted(written, 'object')} written"
    if len(objects) > written:
        yield f"{counted(len(objects) - written, 'object')} removed"


def _parts(change: Change) -> Iterator[str]:
    if change.action is not Action.CHANGED:
        yield {Action.NEW: "new", Action.GONE: "gone"}[change.action]
    if change.discovery:
        yield change.discovery
    if change.configuration:
        yield "configuration changes"
    yield from written_and_removed(change.objects)
    if any(each.replaced for each in change.objects):
        yield "a StatefulSet is replaced"
    yield _PODS[change.pods]
    for word in ("selected", "deselected", "rejected", "unknown", "accepted"):
        found: tuple[str, ...] = getattr(change, word)
        if found:
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            yield f"{word}: {', '.join(found[:_SHOWN])}{more}"
    yield from change.notes


def changes_between(before: View, after: View) -> Comparison:
    """What happens between two states that are known whole, such as two folders.

    Workloads to which something happens, in the order of kinds and names.
    """
    old = {ref_of(each): each for each in before.workloads}
    new = {ref_of(each): each for each in after.workloads}
    found, stand_ins = [], StandInChanges()
    for key in sorted(old.keys() | new.keys()):
        one = planned(before, old[key]) if key in old else None
        other = planned(after, new[key], before=before.assets) if key in new else None
        stand_ins.gather(one, other)
        change = change_of(one, other)
        if not change.is_nothing:
            found.append(change)
    return Comparison(tuple(found), consolidated=tuple(stand_ins.changes()))
