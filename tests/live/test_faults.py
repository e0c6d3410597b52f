"""The short form of the fault campaign: a few actions with each class of faults, by a fixed seed.

`python -m tests.faults` is the long one, with all actions and all writes. All plans here run side
by side in worlds of their own, so that it takes a few minutes in all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests.faults.campaign import Campaign, Results
from tests.faults.crash import Crashes
from tests.faults.kinds import KINDS
from tests.faults.oracle import Expected, expectations
from tests.faults.plans import Lane
from tests.faults.script import SCRIPT
from tests.faults.world import new_ground

SEED = 17
ACTIONS = (
    "the operator is started",
    "a namespace is chosen",
    "a Prometheus",
    "an Alertmanager",
    "an agent on each node",
    "a ServiceMonitor",
    "a PrometheusRule",
    "an AlertmanagerConfig",
    "a monitor whose Secret is missing",
    "the monitor's Secret comes late",
    "a StatefulSet is deleted",
    "rules are damaged",
    "users label what is ours",
    "storage grows",
    "two shards",
    "one shard, the other is deleted",
)
# Machines, of which several worlds share the harm, are in `test_faults_machines`.
CLASSES = ("crash", "server", "watch")
CRASH_WALKS = 3
DEADLINE = 15 * 60.0
_MOST_REACHED = 0.8


def crashes(expected: Sequence[Expected]) -> list[Lane]:
    """Some walks with a kill at a write of each action."""
    lanes = Crashes().lanes(expected, SEED, rounds=1)
    *single, twice = lanes
    return [*single[:: max(1, len(single) // CRASH_WALKS)], twice]


@pytest.fixture(scope="module")
def results() -> Iterator[Results]:
    """What came of all plans."""
    script = [each for each in SCRIPT if each.name in ACTIONS]
    assert len(script) == len(ACTIONS)
    with new_ground(nodes=2) as ground:
        expected = expectations(ground, script, print)
        lanes = crashes(expected)
        for name in CLASSES[1:]:
            lanes += KINDS[name].lanes(expected, SEED, rounds=1)
        campaign = Campaign(ground, script, expected, print)
        yield campaign.run(KINDS, lanes, len(lanes), DEADLINE)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_run_with_faults_ends_in_the_state_of_a_run_without(results: Results, kind: str) -> None:
    """After each action, and it stays so; nothing is deleted, made anew or rolled without need."""
    assert not results.broken, "\n".join(results.broken)
    mine = [each for each in results.outcomes if each.plan.kind == kind]
    # A write that a plan aims at may not be needed, so that no harm is done: few are so.
    assert sum(each.reached for each in mine) >= _MOST_REACHED * len(mine)
    failed = [each for each in mine if each.problems]
    for each in failed:
        print(each.plan, each.plan.command(), *each.problems, each.log[-4000:], sep="\n")
    assert not failed
