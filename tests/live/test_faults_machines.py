"""The short form of the fault campaign's classes of machines, rights and time.

`python -m tests.faults machines replicas rights soak` is the long one. Replicas that are killed and
frozen are in `test_operator_leadership` and `test_freezing`; here the control plane is harmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

import pytest

from tests.faults.campaign import Campaign
from tests.faults.kinds import KINDS
from tests.faults.machines import Machines
from tests.faults.oracle import expectations
from tests.faults.plans import Plan
from tests.faults.plant import ETCD, SERVER, Plant, PlantGround, new_plant
from tests.faults.rights import RUNNING, Chapter, strict, tried
from tests.faults.script import SCRIPT, Action, operate
from tests.faults.soak import SHORT, soak
from tests.live.right_cases import CASES
from tests.live.test_cluster import processes_with
from tools.api import ApiError
from tools.waiting import until

SEED = 17
DEADLINE = 15 * 60.0
# As the kernel shortens them.
_NAMES = (ETCD, SERVER[:15])
LITTLE, MUCH = 2**22, 2**25
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


class Grounds:
    """Control planes that nobody else uses: one after the other, as long as each can be mended."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._now: PlantGround | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def ground(self) -> PlantGround:
        """The one that there is, or a new one."""
        if self._now is None:
            self._now = self._stack.enter_context(new_plant(nodes=2))
        return self._now

    def mend(self) -> None:
        """See that what comes next finds it well; another one, if it cannot be mended."""
        assert self._now
        try:
            self._now.plant.mend()
        except BaseException:
            self._now = None
            self._stack.close()
            raise


@pytest.fixture(scope="module")
def grounds() -> Iterator[Grounds]:
    """What tests here stand on."""
    with Grounds() as made:
        yield made


@pytest.fixture
def ground(grounds: Grounds) -> Iterator[PlantGround]:
    """A control plane that works, and that a test may leave in any state."""
    yield grounds.ground()
    grounds.mend()


def full(plant: Plant) -> None:
    """Let nothing be written any more."""
    plant.narrow()
    plant.fill()
    assert plant.etcd.alarms()


def freed_in_part(plant: Plant) -> None:
    """Be interrupted while room is made."""
    full(plant)
    plant.etcd.drop()


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param([full, lambda plant: plant.freeze(SERVER)], id="full, and a frozen server"),
        pytest.param([freed_in_part, lambda plant: plant.kill(ETCD)], id="mended in part"),
        pytest.param(
            [
                lambda plant: plant.ways.open().turn(plant.cluster.url),
                lambda plant: plant.second.kill(),
                lambda plant: plant.kill(SERVER),
                lambda plant: plant.freeze(ETCD),
            ],
            id="no server",
        ),
        pytest.param(
            [lambda plant: plant.second.freeze(), lambda plant: plant.slow.hold()], id="silence"
        ),
    ],
)
def test_machines_can_be_mended_from_any_state(
    ground: PlantGround, harm: Sequence[Callable[[Plant], None]]
) -> None:
    """A fault that breaks off in the middle does not concern what comes after it."""
    plant = ground.plant
    for each in harm:
        each(plant)
    plant.mend()
    # It has seen that both servers do what they are asked to; so it does where all is well.
    plant.mend()
    assert not plant.etcd.alarms()
    assert all(each.leads_to(plant.second.url) for each in plant.ways.all)


def test_what_is_frozen_does_nothing_and_goes_on_when_it_is_mended(ground: PlantGround) -> None:
    """The process itself, and not what started it."""
    plant = ground.plant
    ports = plant.cluster._ports
    frozen: dict[str, Callable[[], None]] = {
        f"--secure-port={plant.second.port}": plant.second.freeze,
        f"--secure-port={ports.server}": partial(plant.freeze, SERVER),
        f"--listen-client-urls=http://127.0.0.1:{ports.etcd}": partial(plant.freeze, ETCD),
    }
    for words, freeze in frozen.items():
        freeze()
        until(f"{words} to be frozen", partial(is_frozen, words))
    plant.mend()
    assert not any(map(is_frozen, frozen))


def is_frozen(words: str) -> bool:
    """Whether a process of the control plane that was started with these words is stopped."""
    [state] = [
        stat.rpartition(") ")[2][0]
        for each in processes_with(words)
        if (stat := Path(f"/proc/{each}/stat").read_text()).partition("(")[2].startswith(_NAMES)
    ]
    return state == "T"


def test_a_store_is_full_whatever_was_deleted_in_it_before(ground: PlantGround) -> None:
    """Pages that are freed at any time are room, which whoever fills the store must count on."""
    plant = ground.plant
    plant.etcd.put(MUCH)
    plant.etcd.drop()
    plant.narrow()
    plant.etcd.put(LITTLE)
    plant.etcd.drop()
    plant.fill()
    assert plant.etcd.alarms()
    with pytest.raises(ApiError):
        plant.second.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "more"}})


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
