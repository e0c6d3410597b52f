"""Machines: servers and etcd are killed, frozen, away, full or behind while users act.

A fault comes over the control plane a moment after an action has begun, or, where users can act all
the same, before it. When it is over, the world must come to the state of the quiet run.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

from tests.faults.oracle import Expected, Trial
from tests.faults.plans import Fault, Kind, Lane, Plan
from tests.faults.plant import ETCD, SERVER, Plant, PlantGround, new_plant
from tests.faults.world import Ground, World

Step = Callable[[Plant], None]

LONGEST = 60.0
DURATIONS = (0.5, 3.0, 20.0, LONGEST)
"""How long a fault may last; a minute only in the first walk."""
LAG_SECONDS = 2.0
# So long after the action at most: some work is done then, and some is not.
_BEGINNING_SECONDS = 1.5
_EARLY = 0.5
_TURN_SECONDS = 1.0


def nothing(_plant: Plant) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Machine:
    """What may happen to a machine; `is_open`: whether users can act meanwhile.

    `turning`: whether operators are moved from server to server for as long as it lasts. How it
    ends is not said here: whatever it was, `Plant.mend` undoes it.
    """

    name: str
    begin: Step
    prepare: Step = nothing
    is_open: bool = False
    turning: bool = False


def _lag(plant: Plant) -> None:
    plant.slow.seconds = LAG_SECONDS


_ALL = (
    Machine("the operators' server is killed", lambda plant: plant.second.kill(), is_open=True),
    Machine("the operators' server is frozen", lambda plant: plant.second.freeze(), is_open=True),
    Machine(
        "the operators' server does not hear from etcd",
        lambda plant: plant.slow.hold(),
        is_open=True,
    ),
    Machine("one of two servers is behind", _lag, is_open=True, turning=True),
    Machine(
        "one of two servers is frozen",
        lambda plant: plant.second.freeze(),
        is_open=True,
        turning=True,
    ),
    Machine("the first server is killed", lambda plant: plant.kill(SERVER)),
    Machine("the first server is frozen", lambda plant: plant.freeze(SERVER)),
    Machine("etcd is killed", lambda plant: plant.kill(ETCD)),
    Machine("etcd is frozen", lambda plant: plant.freeze(ETCD)),
    Machine("etcd has no room", lambda plant: plant.fill(), prepare=lambda plant: plant.narrow()),
)


MACHINES = {each.name: each for each in _ALL}
"""All that may happen to machines, by name."""


class Harmed(Fault):
    """A machine that is harmed during an action."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        # Of all worlds that stand in it, each can repeat it alone.
        self._dice = plan._replace(action=plan.at).dice if plan.at else plan.dice
        names = list(MACHINES)
        name, _, seconds = plan.at.rpartition(", ")
        self._machine = MACHINES[name or self._dice.choice(names)]
        self._seconds = float(seconds or self._dice.choice(DURATIONS))
        self._early = self._machine.is_open and self._dice.random() < _EARLY

    def begin(self, world: World) -> None:
        """Get ready; where users can act all the same, it may be there before they do."""
        plant = _plant(world)
        self._machine.prepare(plant)
        if self._early:
            self._machine.begin(plant)

    def end(self, world: World, trial: Trial) -> None:
        """Let it last, and have it mended."""
        plant = _plant(world)
        if not self._early:
            world.wait(self._dice.uniform(0.0, _BEGINNING_SECONDS))
            self._machine.begin(plant)
        self._last(plant)
        plant.mend()
        self.done[f"{self._machine.name}, {self._seconds:g} s"] += 1

    def mend(self, world: World) -> None:
        """Whatever went wrong, others stand on the same machines."""
        _plant(world).mend()

    def _last(self, plant: Plant) -> None:
        """Wait; operators may be moved meanwhile."""
        end = time.monotonic() + self._seconds
        servers = (plant.second.url, plant.cluster.url)
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, self._dice.uniform(0.0, _TURN_SECONDS)))
            if self._machine.turning:
                plant.ways.turn(self._dice.choice(servers))


def _plant(world: World) -> Plant:
    assert isinstance(world.ground, PlantGround)
    return world.ground.plant


class Machines(Kind):
    """Harm to servers and etcd."""

    name: ClassVar[str] = "machines"
    help: ClassVar[str] = "servers and etcd are killed, frozen, away, behind, or full"
    worlds: ClassVar[int] = 1
    together: ClassVar[int] = 4
    told: ClassVar[bool] = False

    def ground(self, version: str) -> AbstractContextManager[Ground]:
        """A control plane that can be harmed."""
        return new_plant(version=version)

    def lanes(self, expected: Sequence[Expected], seed: int, rounds: int) -> list[Lane]:
        """Walks with another fault at each step; each fault comes as often as the others.

        A step is an action in each of so many parts of the script as can be walked together.
        """
        lanes: list[Lane] = []
        for number in range(rounds):
            dice = random.Random(f"{seed}/{number}")
            row = [
                f"{name}, {seconds:g}"
                for name, seconds in itertools.product(MACHINES, DURATIONS)
                if seconds < LONGEST or not number
            ]
            steps = -(-len(expected) // self.together)
            aims = _dealt(row, steps, dice) * self.together
            plans = zip(expected, aims, strict=False)
            lanes.append(
                {each.name: Plan(self.name, each.name, seed, number, aim) for each, aim in plans}
            )
        return lanes

    def fault(self, plan: Plan) -> Fault:
        """A machine that is harmed."""
        return Harmed(plan)


def _dealt(row: Sequence[str], count: int, dice: random.Random) -> list[str]:
    """So many of a row, each as often as the others, in any order."""
    dealt: list[str] = []
    while len(dealt) < count:
        dealt += dice.sample(row, len(row))
    return dealt[:count]
