"""A workload explained: what it selects, and what becomes of that."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.explain.answer import Count, Explanation
from stoker.explain.idle import idle_of
from stoker.explain.pruned import misspelt
from stoker.explain.reach import reach_of, strays_words
from stoker.plan import OWN, Plan, in_sight
from stoker.ref import Ref, ref_of
from stoker.select.choice import (
    SELECTED_KINDS,
    UNMANAGED,
    Choice,
    Resource,
    choices,
    chosen,
    is_unmanaged,
)
from stoker.select.workload import AnyPrometheus, Workload, scraper_of
from stoker.validate.findings import Finding, json_name
from stoker.validate.verdicts import Outcome, Verdict
from stoker.view.not_ours import not_managed
from stoker.view.reconciled import (
    AT_REST,
    fatal_among,
    is_at_rest,
    why_not_reconciled,
    why_unclear,
)
from stoker.view.sorted import Sorted
from stoker.view.states import State, in_numbers, unscraped
from stoker.view.view import View
from stoker.view.wording import counted, selector_words

_WITHOUT: Final = (State.REJECTED, State.DOWN, State.NO_TARGETS)


class Tally(Struct, frozen=True, kw_only=True):
    """What becomes of a workload in numbers, which are by the kinds of resources.

    `made` is by what it makes of them, `idle` are those that it finds no targets for, and why,
    `there` is how many there are to choose from. `problem` is why it is not reconciled, `unclear`
    why it is not known whether it can be, `unread` why not everything can be judged; empty where
    there is nothing to say. `odd` is the first reason why it runs hardly as it was meant.
    """

    version: str = ""
    selected: Mapping[str, int] = {}
    rejected: Mapping[str, int] = {}
    made: Mapping[State, int] = {}
    idle: Mapping[Ref, str] = {}
    there: Mapping[str, int] = {}
    problem: str = ""
    unclear: str = ""
    unread: str = ""
    odd: str = ""


def explained_workload(view: View, workload: Workload) -> Explanation:
    """What a workload selects, how much of it is rejected, and how the workload is."""
    seen = in_sight(view.resources, view.settings)
    found, unread = view.tried(workload, seen)
    problem = why_not_reconciled(found, unread)
    idle = _idle(view, found)
    tally = Tally(
        version=found.version,
        selected=Counter(type(each).__name__ for each in selected(view, workload, seen)),
        rejected=Counter(key.kind for key, _ in _left_out(found, Outcome.REJECTED)),
        made=_made(found, idle),
        idle=idle,
        there=Counter(type(each).__name__ for each in seen),
        problem=problem,
        unclear=why_unclear(found),
        unread=unread or _unknown(found),
        odd=odd_of(found.notes),
    )
    return explained_plan(view, found, tally)


def _left_out(found: Plan, outcome: Outcome) -> list[tuple[Ref, Verdict]]:
    return [(key, each) for key, each in found.verdicts.items() if each.outcome is outcome]


def _unknown(found: Plan) -> str:
    """What of it, or of what it selects, is not known; empty if all is."""
    if unclear := why_unclear(found):
        return unclear
    told = (f"{key}: {each.message}" for key, each in _left_out(found, Outcome.UNKNOWN))
    return next(told, "")


def _idle(view: View, found: Plan) -> Mapping[Ref, str]:
    """What is used for nothing, and why, as far as it is known without reading anything."""
    sorted_once = replace(view, surroundings=Sorted(view.surroundings), brief=True)
    return idle_of(sorted_once, found) if view.at_hand else {}


def _made(found: Plan, idle: Mapping[Ref, str]) -> Mapping[State, int]:
    """What becomes of resources."""
    return Counter(
        State.NO_TARGETS if key in idle else _state_of(found.workload, each)
        for key, each in found.verdicts.items()
    )


def _state_of(workload: Workload, verdict: Verdict) -> State:
    if not verdict.accepted:
        return State.UNCLEAR if verdict.outcome is Outcome.UNKNOWN else State.REJECTED
    found = unscraped(workload, verdict.resource)
    return found[0] if found else State.USED


def selected(view: View, workload: Workload, seen: Iterable[Resource]) -> list[Resource]:
    """What a workload selects, even if nothing can be made of it."""
    return chosen(choices(workload), seen, view.namespaces)


def explained_plan(view: View, found: Plan, tally: Tally) -> Explanation:
    """A workload by what becomes of it, of which the numbers are known."""
    workload, metadata = found.workload, found.workload.metadata
    good, headline = headline_of(view, workload, tally)
    return Explanation(
        kind=type(workload).__name__,
        namespace=metadata.namespace or "",
        name=metadata.name or "",
        good=good,
        headline=headline,
        counts=counts_of(workload, tally),
        rejected=tuple(
            f"{key}: {each.message}" for key, each in _left_out(found, Outcome.REJECTED)
        ),
        without_targets=tuple(f"{key}: {why}" for key, why in tally.idle.items()),
        ignored=tuple(f"{each.path}: {each.reason}" for each in found.ignored.get(OWN, ())),
        conditions=tuple(_conditions(workload)),
        notes=tuple(_notes(view, found, tally)),
    )


def odd_of(notes: Iterable[Finding]) -> str:
    """The gravest of what is odd about a workload, in a sentence; empty if nothing is."""
    found = list(notes)
    fatal = fatal_among(found)
    if fatal:
        return f"does not run: {fatal}"
    return f"runs, but probably not as intended: {found[0]}" if found else ""


def headline_of(view: View, workload: Workload, tally: Tally) -> tuple[bool, str]:
    """Whether all is as it should be, and how a workload is, in one sentence."""
    problem = _problem(view, workload, tally)
    if not problem and tally.unclear:
        return True, f"cannot be judged from here: {tally.unclear}"
    rest = f"; nothing runs: its {AT_REST}" if is_at_rest(workload) else _in_short(view, workload)
    return not problem, problem or _summary(tally) + rest


def _in_short(view: View, workload: Workload) -> str:
    """That an agent on nodes is not on all of them; the end of a sentence."""
    reach = reach_of(view, workload) if isinstance(workload, AnyPrometheus) else None
    if reach is None or not reach.without:
        return ""
    covered = f"; it covers {len(reach.nodes) - len(reach.without)} of {len(reach.nodes)} nodes"
    return f"{covered}, and shares what is on the others" if reach.spread else covered


def counts_of(workload: Workload, tally: Tally) -> tuple[Count, ...]:
    """How many resources of each kind a workload selects, and if none, why."""
    return tuple(_counts(workload, tally))


def _problem(view: View, workload: Workload, tally: Tally) -> str:
    reason = not_managed(view, workload)
    if reason or _rivalry(view, workload):
        return f"not looked after: {reason.text}" if reason else _rivalry(view, workload)
    if workload.spec.paused:
        return "paused: its objects are left as they are until spec.paused is unset"
    if tally.problem:
        return f"not reconciled: {tally.problem}"
    if is_unmanaged(workload, view.settings):
        return UNMANAGED
    if tally.made.get(State.REJECTED):
        return _partly(tally)
    failing = next((each for each in _conditions(workload) if "=False" in each), "")
    return f"its condition {failing}" if failing else tally.odd or _partly(tally)


def _partly(tally: Tally) -> str:
    """What it runs without; empty if that is nothing."""
    told = in_numbers(tally.made, _WITHOUT)
    every = counted(sum(tally.selected.values()), "resource")
    return f"runs, but of {every} {told}" if told else ""


def _rivalry(view: View, workload: Workload) -> str:
    """That several operators look after a workload; empty where that is not seen."""
    names = " and ".join(view.rivals.get(ref_of(workload), ()))
    told = "two operators look after it; stop one, or give it a --controller-id"
    return f"{names} both write its status: {told}" if names else ""


def _summary(tally: Tally) -> str:
    return f"version {tally.version} uses {counted(sum(tally.selected.values()), 'resource')}"


def _counts(workload: Workload, tally: Tally) -> Iterator[Count]:
    wanted = choices(workload)
    for kind in SELECTED_KINDS:
        if kind.name not in wanted:
            continue
        selected, note = tally.selected.get(kind.name, 0), ""
        if not selected:
            path = f"spec.{json_name(workload.spec, kind.selector)}"
            note = _why_none(wanted[kind.name], path, tally.there.get(kind.name, 0))
        rejected = tally.rejected.get(kind.name, 0)
        yield Count(kind=kind.name, selected=selected, rejected=rejected, note=note)


def _why_none(wanted: Choice, path: str, there: int) -> str:
    if wanted.is_of_nothing:
        return f"{path} is not set"
    where = "its own namespace"
    if wanted.namespaces is not None:
        where = f"namespaces with {selector_words(wanted.namespaces)}"
        if not wanted.namespaces.requirements and not wanted.namespaces.nothing:
            where = "all namespaces"
    return f"asks for {selector_words(wanted.labels)} in {where}; there are {there:,} in all"


def _conditions(workload: Workload) -> Iterator[str]:
    status = workload.status
    for each in (status and status.conditions) or ():
        because = ": ".join(part for part in (each.reason, each.message) if part)
        yield f"{each.type}={each.status}" + (f" {because}" if because else "")


def _notes(view: View, found: Plan, tally: Tally) -> Iterator[str]:
    workload = found.workload
    yield from map(str, found.notes)
    reach = reach_of(view, workload) if isinstance(workload, AnyPrometheus) else None
    if reach and not reach.unknown:
        yield reach.words
    if reach and isinstance(workload, AnyPrometheus):
        scraper = scraper_of(workload, view.capabilities)
        if scraper.portions:
            yield f"needs no permission: the operator finds its targets, {strays_words(scraper)}"
    if workload.spec.paused and tally.problem:
        yield f"once it is not paused, it cannot be reconciled: {tally.problem}"
    ref = ref_of(workload)
    yield from map(misspelt, view.dropped.get(ref, ()))
    if view.rivals_unknown and ref not in view.rivals:
        told = f"whether another operator looks after it, too, is not known: {view.rivals_unknown}"
        yield f"{told}; `stoker explain {ref.kind.lower()} {ref.path}` asks with your rights"
    if tally.unread and (tally.unread != tally.unclear or _problem(view, workload, tally)):
        yield f"not everything can be judged from here: {tally.unread}"
