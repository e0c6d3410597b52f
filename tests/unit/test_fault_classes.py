"""What the campaign's classes of machines, rights and time judge by, where no cluster is needed."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.faults.machines import DURATIONS, LONGEST, MACHINES, Machines
from tests.faults.oracle import Expected, counts
from tests.faults.plans import Plan
from tests.faults.replicas import unled
from tests.faults.rights import chapters, named
from tests.faults.server import LONG_STIR_SECONDS, RATES, STIR_SECONDS, ServerFault
from tests.faults.soak import BOUND_MIB, MARGINS, Sample, growth
from tests.faults.state import Snapshot
from tests.faults.steady import KEPT, Request, Tenant
from tests.faults.watching import BLIND_SECONDS, WatchFault
from tests.faults.world import History
from tests.live.right_cases import CASES
from tools.audit import Write

LONGEST_NAME = 63


def write(user: str, received: float, done: float, resource: str = "secrets") -> Write:
    """A write that the server has done."""
    return Write(
        verb="patch",
        resource=resource,
        subresource="",
        namespace="shop",
        name="one",
        agent="stoker/1",
        user=user,
        status=200,
        received=received,
        done=done,
    )


def lease(user: str, at: float) -> Write:
    """A Lease that was taken or renewed."""
    return write(user, at - 0.1, at, "leases")


@pytest.mark.parametrize(
    ("writes", "wrong"),
    [
        ([lease("a", 1), write("a", 2, 3), lease("a", 4), write("a", 5, 6)], 0),
        ([lease("a", 1), lease("b", 20), write("b", 21, 22)], 0),
        ([lease("a", 1), lease("b", 20), write("a", 21, 22)], 1),
        (
            [lease("a", 1), lease("b", 20), write("a", 21, 22), lease("a", 40), write("a", 41, 42)],
            1,
        ),
        # It was on its way when another took the Lease, and done at once.
        ([lease("a", 1), write("a", 19.9, 20.1), lease("b", 20)], 0),
        # It began before that, and its end was sent long after.
        ([lease("a", 1), write("a", 2, 30), lease("b", 20)], 1),
    ],
)
def test_writes_of_those_who_do_not_lead_are_found(writes: list[Write], wrong: int) -> None:
    """By who had taken or renewed the Lease last when a write came."""
    assert len(unled(writes)) == wrong


def samples(**last: float) -> list[Sample]:
    """What a process kept in each of twenty rounds; in the last tenth it is another number."""
    usual: Sample = dict.fromkeys(MARGINS, 100.0)
    return [usual] * 18 + [usual | last] * 2


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({}, True),
        ({"status": 201}, True),
        ({"status": 409}, False),
        ({"status": 403}, False),
        ({"dry_run": True}, False),
        ({"resource": "events"}, False),
    ],
)
def test_what_may_still_be_sent_when_all_is_right(change: dict[str, Any], wrong: bool) -> None:
    """What the server refuses or only looks at changes nothing, and an event is a courtesy."""
    assert counts(replace(write("a", 1, 2), **change)) == wrong


def test_growth_is_found_and_fluctuation_is_not() -> None:
    """Each of what is held flat has a margin, and nothing has none."""
    assert growth(samples()) == []
    assert growth(samples(**dict.fromkeys(MARGINS, 1.0))) == []
    for name, margin in MARGINS.items():
        allowed = 100.0 * (1 + margin.part) + margin.beside
        assert growth(samples(**{name: allowed})) == []
        assert len(growth(samples(**{name: allowed + 1}))) == 1


def test_memory_may_grow_until_caches_are_full_and_within_a_bound() -> None:
    """From the middle of a run on it must stay."""
    usual: Sample = dict.fromkeys(MARGINS, 100.0)

    def run(part: int, more: float) -> list[Sample]:
        grown = usual | {"rss_mib": 100.0 + more}
        return [usual] * part + [grown] * (20 - part)

    assert growth(run(8, BOUND_MIB)) == []
    assert len(growth(run(8, BOUND_MIB + 1))) == 1
    assert len(growth(run(11, BOUND_MIB))) == 1
    assert growth(run(11, BOUND_MIB), warm=False) == []


def objects(requests: list[Request]) -> Counter[str]:
    """How many objects there are of each kind, by what was made and deleted."""
    found: Counter[str] = Counter()
    for each in requests:
        parts = each.path.split("?")[0].split("/")
        if each.method == "POST":
            found[parts[-1]] += 1
        elif each.method == "DELETE":
            found[parts[-2]] -= 1
    return found


def test_a_tenants_world_stays_as_large_and_is_the_same_in_each_run() -> None:
    """Whatever happens in it; what is never there again has another name each time."""
    first, second = (Tenant("shop", 1, 10**9) for _ in range(2))
    begun = list(first.furnish())
    assert begun == list(second.furnish())
    changes = [first.next() for _ in range(3000)]
    assert changes == [second.next() for _ in range(3000)]
    every = [one for change in changes for one in change]
    assert first.changes == len(every)
    own = {"servicemonitors", "podmonitors", "probes", "scrapeconfigs", "prometheusrules"}
    own |= {"alertmanagerconfigs", "prometheuses"}
    # A namespace that is deleted takes its monitor along.
    visitors = sum(one.method == "DELETE" and "/namespaces/shop-" in one.path for one in every)
    assert visitors
    left = objects(every)
    left["servicemonitors"] -= visitors
    assert {plural: left[plural] for plural in own} == dict.fromkeys(own, 0)
    assert left["namespaces"] == 0
    made = [one.body["metadata"]["name"] for one in every if one.method == "POST" and one.body]
    fresh = [name for name in made if not name.startswith(("token-", "visitor"))]
    assert len(fresh) == len(set(fresh)) > sum(KEPT.values())


def test_each_fault_comes_to_machines_as_often_as_the_others() -> None:
    """And for each of the times that it may last, a minute only once."""
    nothing = Snapshot({}, frozenset())
    history = History(Counter(), Counter(), {}, frozenset())
    steps = len(MACHINES) * len(DURATIONS)
    count = Machines.together * steps
    names = [f"action {number}" for number in range(count)]
    expected = [Expected(name, nothing, history, (), 0.0) for name in names]
    first, second = Machines().lanes(expected, seed=1, rounds=2)
    aims = [plan.at for plan in first.values()]
    assert set(aims) == {f"{a}, {b:g}" for a, b in itertools.product(MACHINES, DURATIONS)}
    assert not any(plan.at.endswith(f", {LONGEST:g}") for plan in second.values())
    assert [list(each) for each in Machines().lanes(expected, 1, 2)] == [names, names]
    for plan in first.values():
        Machines().fault(plan)
    parts = [list(first.values())[begin : begin + steps] for begin in range(0, count, steps)]
    assert all(len({plan.at for plan in step}) == 1 for step in zip(*parts, strict=True))


def test_later_walks_do_more_harm_at_each_place_than_the_first() -> None:
    """For longer, and more of it; what a plan does follows from its seed alone."""
    plans = [[Plan("server", f"action {n}", 1, walk) for n in range(200)] for walk in (0, 1)]
    first, later = ([ServerFault(each) for each in row] for row in plans)
    for row, (least, most) in ((first, STIR_SECONDS), (later, LONG_STIR_SECONDS)):
        assert all(least <= each.seconds <= most for each in row)
        assert {each.rate for each in row} == set(RATES)
    assert sum(each.rate for each in later) > sum(each.rate for each in first)
    assert [ServerFault(each.plan).rate for each in later] == [each.rate for each in later]


def test_each_right_has_a_namespace_of_its_own_and_no_name_is_in_another() -> None:
    """Lines of a log are told apart by the names of namespaces."""
    rights = [right for case in CASES for right in case.effects]
    single = [case for chapter in chapters(single=True) for case in chapter.cases]
    assert [right for case in single for right in case.effects][: len(rights)] == rights
    cases = named(single, "running")
    names = [case.name for case in cases]
    assert max(map(len, names)) <= LONGEST_NAME
    assert len(set(names)) == len(names)
    assert not [pair for pair in itertools.permutations(names, 2) if pair[0] in pair[1]]


@pytest.mark.parametrize(
    ("right", "silences", "seconds"),
    [
        (107.0, [], 7),
        (99.0, [], 0),
        # What came right when a silent stream was replaced waited for that alone.
        (127.0, [(95, 125)], 2),
        # One that ended later had nothing to do with it.
        (107.0, [(95, 125)], 7),
        (127.0, [(90, 98), (95, 121), (96, 130)], 6),
    ],
)
def test_a_silent_stream_is_harm_until_it_is_replaced(
    right: float, silences: list[tuple[float, float]], seconds: float
) -> None:
    """Other harm is over when a plan says so."""
    fault = WatchFault(Plan("watch", "an action"))
    fault.over = 100.0
    fault.silences = silences
    assert fault.seconds_until(right) == seconds


def test_a_stream_whose_silence_nobody_sees_is_a_failure() -> None:
    """However the state came right."""
    fault = WatchFault(Plan("watch", "an action"))
    fault.silences = [(0, 27)]
    assert fault.blindness() == []
    fault.silences += [(0, BLIND_SECONDS + 1)]
    assert len(fault.blindness()) == 1
