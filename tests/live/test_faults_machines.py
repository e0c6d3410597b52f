"""The short form of the fault campaign's classes of machines, rights and time.

`python -m tests.faults machines replicas rights soak` is the long one. Replicas that are killed and
frozen are in `test_operator_leadership` and `test_freezing`; here the control plane is harmed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.campaign import Campaign
from tests.faults.kinds import KINDS
from tests.faults.machines import Machines
from tests.faults.oracle import expectations
from tests.faults.plans import Plan
from tests.faults.plant import PlantGround, new_plant
from tests.faults.rights import RUNNING, Chapter, strict, tried
from tests.faults.script import SCRIPT, Action, operate
from tests.faults.soak import SHORT, soak
from tests.live.right_cases import CASES

SEED = 17
DEADLINE = 15 * 60.0
MUCH = 32 * 2**20
START = Action("the operator is started", operate("main"))
# Each with the machine that is harmed, and for how many seconds.
PLANS = {
    "a namespace is chosen": "the operators' server does not hear from etcd, 1",
    "a Prometheus": "the operators' server is killed, 0.5",
    "a ServiceMonitor": "one of two servers is behind, 3",
    "a PrometheusRule": "etcd is killed, 0.5",
    "a StatefulSet is deleted": "etcd has no room, 1",
    "rules are damaged": "the first server is frozen, 2",
}
TAKEN = ("watch-selected", "create-sets", "patch-services")


@pytest.fixture(scope="module")
def ground() -> Iterator[PlantGround]:
    """A control plane that nobody else uses."""
    with new_plant(nodes=2) as made:
        yield made


def test_a_store_is_full_whatever_was_deleted_in_it_before(ground: PlantGround) -> None:
    """Pages that a compaction freed are room, which whoever fills the store must count on."""
    plant = ground.plant
    plant.etcd.put(MUCH)
    plant.etcd.drop()
    plant.narrow()
    try:
        plant.fill()
        assert plant.etcd.alarms()
    finally:
        plant.widen()
        plant.until_well()
    assert not plant.etcd.alarms()


def test_machines_that_fail_leave_no_trace(ground: PlantGround) -> None:
    """After each fault the state is that of a run without, and stays so."""
    script = [START, *(each for each in SCRIPT if each.name in PLANS)]
    assert len(script) == 1 + len(PLANS)
    expected = expectations(ground, script, print)
    name = Machines.name
    lane = {action: Plan(name, action, SEED, at=at) for action, at in PLANS.items()}
    results = Campaign(ground, script, expected, print).run(KINDS, [lane], 1, DEADLINE)
    assert not results.broken, "\n".join(results.broken)
    assert sum(sum(each.faults.values()) for each in results.outcomes) == len(PLANS)
    for each in results.failures:
        print(each.plan, each.plan.command(), *each.problems, each.log[-4000:], sep="\n")
    assert not results.failures


def test_rights_that_are_taken_and_given_back_are_named_and_used(
    ground: PlantGround, tmp_path: Path
) -> None:
    """While the operator runs: it says what it misses, loses nothing, and goes on by itself."""
    cases = [each for each in CASES if each.name in TAKEN]
    assert len(cases) == len(TAKEN)
    with strict(ground.cluster, tmp_path) as server:
        found = tried(server, tmp_path, [Chapter(cases, ())], print, modes=(RUNNING,))
    print(found.text)
    assert not found.problems
    assert any(each.told is not None for each in found.reports)


def test_a_steady_world_costs_no_more_at_the_end(ground: PlantGround) -> None:
    """Some hundred changes of everything: no tasks, files or entries are left over."""
    found = soak(ground.cluster, SHORT, SEED)
    print(found.text)
    assert not found.problems
