"""A workload explained: what it selects, and what becomes of that."""

from collections import Counter
from collections.abc import Iterator

from stoker.decide import OWN, Decision, decide
from stoker.explain.answer import Count, Explanation
from stoker.explain.selecting import not_managed
from stoker.explain.view import Noting, View
from stoker.explain.wording import counted, selector_words
from stoker.select.choice import (
    SELECTED_KINDS,
    UNMANAGED,
    Candidate,
    Choice,
    choices,
    is_unmanaged,
)
from stoker.select.namespaces import scope_of
from stoker.select.workload import Owner
from stoker.validate.findings import json_name


def explained_workload(view: View, owner: Owner) -> Explanation:
    """What a workload selects, how much of it is rejected, and how the workload is."""
    metadata = owner.metadata
    seen = [each for each in view.resources if _is_in_sight(view, each)]
    assets = Noting(view.assets)
    decision = decide(owner, seen, view.namespaces, assets, view.capabilities)
    unread = str(assets.unreadable[0]) if assets.unreadable else ""
    counts = tuple(_counts(owner, seen, decision))
    rejected = tuple(
        f"{each.kind} {each.key[1]}/{each.key[2]}: {each.message}"
        for each in decision.verdicts
        if not each.accepted
    )
    problem = _problem(view, owner, decision, unread, len(rejected))
    return Explanation(
        kind=type(owner).__name__,
        namespace=metadata.namespace or "",
        name=metadata.name or "",
        good=not problem,
        headline=problem or _summary(decision, counts),
        counts=counts,
        rejected=rejected,
        ignored=tuple(f"{each.path}: {each.reason}" for each in decision.ignored.get(OWN, ())),
        conditions=tuple(_conditions(owner)),
        notes=tuple(_notes(decision, unread)),
    )


def _is_in_sight(view: View, resource: Candidate) -> bool:
    scope = scope_of(type(resource).__name__, view.settings.namespaces)
    return scope.covers(resource.metadata.namespace or "")


def _problem(view: View, owner: Owner, decision: Decision, unread: str, rejected: int) -> str:
    reason = not_managed(view, owner)
    if reason:
        return f"not looked after: {reason.text}"
    if decision.problem and not unread:
        return f"cannot be configured: {decision.problem}"
    if owner.spec.paused:
        return "paused: its objects are left as they are until spec.paused is unset"
    if is_unmanaged(owner, view.settings):
        return UNMANAGED
    if rejected:
        return f"runs, but {counted(rejected, 'resource')} of those it selects are rejected"
    failing = next((each for each in _conditions(owner) if "=False" in each), "")
    return f"its condition {failing}" if failing else ""


def _summary(decision: Decision, counts: tuple[Count, ...]) -> str:
    total = sum(each.selected for each in counts)
    return f"version {decision.version} uses {counted(total, 'resource')}"


def _counts(owner: Owner, seen: list[Candidate], decision: Decision) -> Iterator[Count]:
    selected = Counter(each.kind for each in decision.verdicts)
    rejected = Counter(each.kind for each in decision.verdicts if not each.accepted)
    there = Counter(type(each).__name__ for each in seen)
    wanted = choices(owner.spec, owner.metadata.namespace or "")
    for kind in SELECTED_KINDS:
        if kind.name not in wanted:
            continue
        note = ""
        if not selected[kind.name]:
            path = f"spec.{json_name(owner.spec, kind.selector)}"
            note = _why_none(wanted[kind.name], path, there[kind.name])
        yield Count(
            kind=kind.name,
            selected=selected[kind.name],
            rejected=rejected[kind.name],
            note=note,
        )


def _why_none(wanted: Choice, path: str, there: int) -> str:
    if wanted.is_of_nothing:
        return f"{path} is not set"
    where = "its own namespace"
    if wanted.namespaces is not None:
        where = f"namespaces with {selector_words(wanted.namespaces)}"
        if not wanted.namespaces.requirements and not wanted.namespaces.nothing:
            where = "all namespaces"
    return f"asks for {selector_words(wanted.labels)} in {where}; there are {there} in all"


def _conditions(owner: Owner) -> Iterator[str]:
    status = owner.status
    for each in (status and status.conditions) or ():
        because = ": ".join(part for part in (each.reason, each.message) if part)
        yield f"{each.type}={each.status}" + (f" {because}" if because else "")


def _notes(decision: Decision, unread: str) -> Iterator[str]:
    yield from map(str, decision.notes)
    if unread:
        yield f"not everything can be judged from here: {unread}"
