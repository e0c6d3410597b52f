"""Namespaces at a glance: how much there is in each, and the worst of it."""

from collections import Counter
from collections.abc import Iterable, Mapping

from stoker.page.answers import NamespaceRow, Row, UnusableObject
from stoker.page.health import BY_GRAVITY, UNUSABLE, ref_at
from stoker.page.index import totals_of
from stoker.page.wellness import GOOD
from stoker.view.states import State


def spaces_of(
    inside: Mapping[str, Mapping[State, int]],
    rows: Iterable[Row],
    problems: Iterable[UnusableObject],
) -> tuple[NamespaceRow, ...]:
    """All namespaces with something in them, the worst first."""
    unusable = Counter(ref_at(each.subject).namespace for each in problems)
    del unusable[""]
    workloads: dict[str, Counter[str]] = {}
    for row in rows:
        workloads.setdefault(row.namespace, Counter())[row.state] += 1
    names = {*inside, *unusable, *workloads}
    made = [
        _row(name, inside.get(name, {}), workloads.get(name, Counter()), unusable[name])
        for name in names
    ]
    return tuple(sorted(made, key=lambda each: (_rank(each.state), each.namespace)))


def _row(
    name: str, states: Mapping[State, int], workloads: Counter[str], unusable: int
) -> NamespaceRow:
    there = {str(state) for state, number in states.items() if number}
    there |= {state for state, number in workloads.items() if number and state != GOOD}
    there |= {UNUSABLE} if unusable else set()
    return NamespaceRow(
        namespace=name,
        state=min(there, key=_rank, default=GOOD),
        resources=totals_of(states),
        workloads=workloads.total(),
        troubled=workloads.total() - workloads[GOOD],
        unusable=unusable,
    )


def _rank(state: str) -> int:
    return BY_GRAVITY.index(state) if state in BY_GRAVITY else len(BY_GRAVITY)
