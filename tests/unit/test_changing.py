"""How gaps and overlaps are told from scrapes, which the live tests of modes rest on."""

from __future__ import annotations

import pytest

from tests.live.changing import (
    DAEMON_SET,
    STATEFUL_SET,
    Measured,
    longest_gap,
    mode_of,
    needed_for,
    overlaps_of,
)
from tests.live.stage import INTERVAL, Target, Try, odd
from tests.modes import Case, table

OLD, NEW = "prom-agent-main-0", "prom-agent-main-x7k2p"
TARGET = Target("red", "shop", "10.244.1.2:8080")


def tries(**seconds: list[float]) -> list[Try]:
    """The scrapes of a target, by the old agent and the new one."""
    names = {"old": OLD, "new": NEW}
    return sorted(Try(time, names[who]) for who, times in seconds.items() for time in times)


def test_a_gap_is_between_scrapes_by_whomever() -> None:
    """That the old agent stopped is no gap where the new one goes on."""
    assert longest_gap(tries(old=[0, 2, 4], new=[5, 7])) == 2
    assert longest_gap(tries(old=[0, 2], new=[9, 11])) == 7


@pytest.mark.parametrize(
    ("old", "new", "overlaps"),
    [
        pytest.param([0, 2, 4], [5, 7, 9], [], id="one after the other"),
        pytest.param([0, 2, 4, 6, 8], [3, 5, 7, 9], [(3, 8)], id="both for a while"),
        pytest.param([0, 2, 4, 6, 20, 22, 24], [5, 7, 19, 21, 23], [(5, 6), (20, 23)], id="twice"),
        pytest.param([0, 2, 4], [], [], id="nothing new"),
        pytest.param(
            [0, 2, 4, 6, 8, 10, 12, 14], [3, 5, 13, 14], [(3, 5), (13, 14)], id="with a break"
        ),
    ],
)
def test_an_overlap_is_the_time_that_both_modes_scrape(
    old: list[float], new: list[float], overlaps: list[tuple[float, float]]
) -> None:
    """An agent that has stopped and one that comes later are not one."""
    assert overlaps_of(tries(old=old, new=new)) == overlaps


def test_a_hand_over_needs_what_was_seen_in_it() -> None:
    """The last pod to be ready, and operators that were away, while both modes scraped."""
    least = needed_for((100, 120), readied=[50, 130], away=[(80, 90), (120, 125)])
    assert needed_for((100, 120), readied=[105, 110], away=[]) == least + 10
    assert needed_for((100, 120), readied=[], away=[(95, 103), (118, 125)]) == least + 5


def test_modes_are_told_from_names() -> None:
    """A pod of a StatefulSet has a number, one of a DaemonSet five letters."""
    assert (mode_of(OLD), mode_of(NEW)) == (STATEFUL_SET, DAEMON_SET)


@pytest.mark.parametrize(
    ("times", "is_odd"),
    [
        ([0, 2, 4, 6], False),
        ([0, 2, 2.1, 4, 6], True),
        ([0, 2, 6], True),
        ([0, 2], True),
    ],
)
def test_a_target_is_scraped_once_in_each_interval_or_is_odd(
    times: list[float], is_odd: bool
) -> None:
    """Neither too often, nor too seldom."""
    found = odd({TARGET: tries(old=times)}, late=0.0)
    assert bool(found) is is_odd


def test_a_promise_is_two_intervals_and_what_the_machine_was_late() -> None:
    """And an overlap is as long as the hand-over needs."""
    kept = Measured(gap=2 * INTERVAL + 0.5, overlap=20, excess=0.5, late=0.5, kills=3)
    assert kept.is_kept
    assert not kept._replace(gap=2 * INTERVAL + 0.6).is_kept
    assert not kept._replace(excess=0.6).is_kept


def test_the_table_has_the_worst_of_each_kind() -> None:
    """Of several runs, each number is the largest; what was not tried is empty."""
    one = Measured(gap=2, overlap=15, excess=-3, late=0.1, kills=3)
    other = Measured(gap=3.25, overlap=12, excess=-9, late=0.4, kills=5)
    results = {
        Case("to a DaemonSet", "ours", "none"): [one],
        Case("to a DaemonSet", "ours", "each"): [one, other],
        Case("to a StatefulSet", "ours", "none"): [other],
    }
    assert table(results).splitlines() == [
        "| change | reloader: ours, operator left alone | reloader: ours, killed at each write |",
        "| --- | --- | --- |",
        "| to a DaemonSet | 2.0 / 15.0 | 3.2 / 15.0 |",
        "| to a StatefulSet | 3.2 / 12.0 |  |",
    ]
