"""What each workload makes of a resource: selected or not, used or rejected, and why."""

from collections.abc import Iterable

from stoker.explain.answer import ScrapeError, Targets, Usage
from stoker.explain.nearness import distance
from stoker.explain.selecting import can_select, first_reason
from stoker.plan import Plan
from stoker.ref import ref_of
from stoker.select.choice import UNMANAGED, Resource, choices, is_unmanaged
from stoker.select.workload import Workload
from stoker.validate.verdicts import Outcome, Verdict
from stoker.view.reconciled import fatal_among, why_not_reconciled, why_unclear
from stoker.view.states import Cause, State, WhyNot, binding_of
from stoker.view.view import View

_ACCEPTED = "Accepted=True"
_PAUSED = "spec.paused: its objects are left as they are until this is unset"


def by_workload(view: View, resource: Resource) -> list[tuple[Workload, Usage]]:
    """Every workload with what it makes of the resource, the nearest first."""
    ranked = []
    for workload in view.workloads:
        if not can_select(type(resource).__name__, type(workload)):
            continue
        passed, reason = first_reason(view, workload, resource)
        made = _passed_over(workload, reason) if reason else _tried(view, workload, resource)
        elsewhere = workload.metadata.namespace != resource.metadata.namespace
        rank = (-passed, _miss(workload, resource), elsewhere, made.workload)
        ranked.append((rank, workload, made))
    ranked.sort(key=lambda each: each[0])
    return [(workload, made) for _, workload, made in ranked]


def _miss(workload: Workload, resource: Resource) -> float:
    """By how much the labels miss what a workload asks for: a typing error is nearer than none."""
    wanted = choices(workload).get(type(resource).__name__)
    return distance(wanted.labels, resource.metadata.labels or {}) if wanted else 1.0


def _passed_over(workload: Workload, reason: WhyNot) -> Usage:
    return Usage(
        workload=str(ref_of(workload)),
        version=workload.spec.version or "",
        state=State.NOT_SELECTED,
        cause=reason.cause,
        reason=reason.text,
    )


def _tried(view: View, workload: Workload, resource: Resource) -> Usage:
    found, unread = view.tried(workload, [resource])
    verdict = found.verdicts.get(ref_of(resource))
    state, reason = _outcome(view, found, verdict, unread)
    reported = _reported(workload, resource)
    if state is State.UNCLEAR and reported == _ACCEPTED:
        # The operator may read more than we.
        state, reason = State.USED, WhyNot(Cause.NONE, "")
    ignored = found.ignored.get(ref_of(resource), ())
    return Usage(
        workload=str(ref_of(workload)),
        version=found.version or workload.spec.version or "",
        state=state,
        cause=reason.cause,
        reason=reason.text,
        findings=tuple(map(str, verdict.decisive)) if verdict and state is State.REJECTED else (),
        ignored=tuple(f"{each.path}: {each.reason}" for each in ignored),
        notes=tuple(_notes(found)),
        reported=reported,
        targets=_targets(workload, resource),
    )


def _outcome(view: View, found: Plan, verdict: Verdict | None, unread: str) -> tuple[State, WhyNot]:
    workload = found.workload
    if verdict and verdict.findings:
        if verdict.outcome is Outcome.UNKNOWN:
            told = f"cannot be judged from here: {verdict.first}"
            return State.UNCLEAR, WhyNot(Cause.UNREADABLE, told)
        return State.REJECTED, WhyNot(Cause.REJECTED, str(verdict.first))
    if workload.spec.paused:
        return State.HELD, WhyNot(Cause.PAUSED, _PAUSED)
    if problem := _problem(found, unread):
        return State.HELD, WhyNot(Cause.WORKLOAD_PROBLEM, f"the workload {problem}")
    if is_unmanaged(workload, view.settings):
        return State.HELD, WhyNot(Cause.UNMANAGED, UNMANAGED)
    return State.USED, WhyNot(Cause.NONE, "")


def _problem(found: Plan, unread: str) -> str:
    """What a workload that is looked after does not do, and why; empty if it works."""
    if problem := why_not_reconciled(found, unread):
        return f"is not reconciled: {problem}"
    fatal = fatal_among(found.notes)
    return f"does not run: {fatal}" if fatal else ""


def _notes(found: Plan) -> Iterable[str]:
    yield from map(str, found.notes)
    if unclear := why_unclear(found):
        yield f"whether it can be configured at all cannot be told from here: {unclear}"


def _reported(workload: Workload, resource: Resource) -> str:
    """What the operator says of a workload in the status of a resource."""
    binding = binding_of(workload, resource)
    said = (binding.conditions or (None,))[0] if binding else None
    if said is None:
        return ""
    text = f"Accepted={said.status}" + (f": {said.message}" if said.message else "")
    generation = resource.metadata.generation
    behind = said.observed_generation not in (None, generation)
    return text + (" (of an earlier generation)" if behind else "")


def _targets(workload: Workload, resource: Resource) -> Targets | None:
    """What a workload scrapes for a resource, if the operator counts that."""
    binding = binding_of(workload, resource)
    found = binding.targets if binding else None
    if found is None:
        return None
    errors = (ScrapeError(message=e.message, count=e.count) for e in found.errors or ())
    return Targets(
        discovered=found.discovered,
        healthy=found.healthy,
        errors=tuple(errors),
        observed_at=found.observed_at,
    )
