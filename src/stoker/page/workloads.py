"""Workloads as pages show them: what they made of a resource, one state each and one for all."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from stoker.generate.draft import Ignored
from stoker.plan import FullVerdict
from stoker.ref import Ref, ref_of
from stoker.select.choice import UNMANAGED, Resource, choices, is_unmanaged
from stoker.select.workload import Workload
from stoker.settings import OperatorSettings
from stoker.status.conditions import FALSE, TRUE, UNKNOWN
from stoker.validate.findings import Finding
from stoker.validate.verdicts import Outcome
from stoker.view.reconciled import fatal_among
from stoker.view.states import State, binding_of, unscraped

_NOT_JUDGED: Final = "it has not been judged yet"
_REPORTED: Final = {TRUE: State.USED, FALSE: State.REJECTED, UNKNOWN: State.HELD}
# The worst that a workload makes of a resource is what is said of it.
_BY_GRAVITY: Final = (
    State.REJECTED,
    State.DOWN,
    State.NO_TARGETS,
    State.USED,
    State.HELD,
    State.UNCLEAR,
)


class ShownWorkload(Struct, frozen=True, kw_only=True):
    """A workload, and what it made of the resources that it selects.

    `title` is kind, namespace and name. `problem` is why it is not reconciled, `unclear` why that
    is not known, `held` why it uses nothing new, empty where it works. `ignored` is what its
    version does not know of the workload itself, `rule_files` how many ConfigMaps hold its rules.
    `idle` are resources that find nothing to scrape, and why. Not `known` is one that no operator
    has looked at yet.
    """

    workload: Workload
    title: str
    version: str = ""
    verdicts: Mapping[Ref, FullVerdict] = {}
    problem: str = ""
    unclear: str = ""
    held: str = ""
    ignored: tuple[Ignored, ...] = ()
    notes: tuple[Finding, ...] = ()
    rule_files: int = 1
    idle: Mapping[Ref, str] = {}
    known: bool = True

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of resources that it can select."""
        return frozenset(choices(self.workload))

    def made_of(self, resource: Resource) -> tuple[State, str]:
        """What it made of a resource that it selects, and why it is of no use to it."""
        return self._made_of(ref_of(resource), resource)

    def _made_of(self, key: Ref, resource: Resource) -> tuple[State, str]:
        state, reason = self._taken(key, resource)
        if state is not State.USED:
            return state, reason
        if key in self.idle:
            return State.NO_TARGETS, self.idle[key]
        return unscraped(self.workload, resource) or (state, reason)

    def _taken(self, key: Ref, resource: Resource) -> tuple[State, str]:
        """Whether it took a resource, and why not."""
        found = self.verdicts.get(key)
        if found is not None and not found[0].accepted:
            unknown = found[0].outcome is Outcome.UNKNOWN
            return State.UNCLEAR if unknown else State.REJECTED, str(found[0].first)
        if self.held:
            return State.HELD, self.held
        return (State.USED, "") if found else reported(self.workload, resource)

    def state_of(self, key: Ref, resource: Resource) -> tuple[State, int]:
        """What it made of a resource, and how many fields of that its version does not know."""
        found = self.verdicts.get(key)
        return self._made_of(key, resource)[0], len(found[1]) if found else 0


Users: TypeAlias = Callable[[Resource], Iterable[ShownWorkload]]
"""The workloads that select a resource."""


def held_by(
    workload: Workload, settings: OperatorSettings, problem: str = "", notes: Iterable[Finding] = ()
) -> str:
    """Why a workload does not take up what it accepts; empty if it does."""
    if workload.spec.paused:
        return "the workload is paused"
    if problem:
        return f"the workload is not reconciled: {problem}"
    if fatal := fatal_among(notes):
        return f"the workload does not run: {fatal}"
    return UNMANAGED if is_unmanaged(workload, settings) else ""


def gravest(states: Iterable[State]) -> State:
    """The state of a resource with several workloads."""
    found = set(states)
    return next((each for each in _BY_GRAVITY if each in found), State.NOT_SELECTED)


def reported(workload: Workload, resource: Resource) -> tuple[State, str]:
    """What the status of a resource says of a workload that another process looks after."""
    binding = binding_of(workload, resource)
    for said in (binding and binding.conditions) or ():
        state = _REPORTED.get(said.status, State.UNCLEAR)
        return state, "" if state is State.USED else said.message or ""
    return State.UNCLEAR, _NOT_JUDGED


def told_by_status(resource: Resource) -> tuple[State, str] | None:
    """The worst that the status of a resource says of any workload, and why; None if nothing."""
    found: dict[State, str] = {}
    for binding in (resource.status and resource.status.bindings) or ():
        for said in (binding.conditions or ())[:1]:
            state = _REPORTED.get(said.status, State.UNCLEAR)
            found.setdefault(
                state, "" if state is State.USED else said.message or said.reason or ""
            )
    return (gravest(found), found[gravest(found)]) if found else None
