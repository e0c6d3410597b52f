"""Crashes: the operator is killed at a write, and started again.

Each write that quiet runs have seen is a plan of its own, twice: killed before the request is
passed on, and killed after the server has done it, before the operator hears of it. In other plans
the one that is started next is killed too.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from typing import ClassVar

from tests.faults.gateway import Asked, Harm
from tests.faults.oracle import Expected, Trial, occurrence
from tests.faults.plans import Fault, Kind, Lane, Plan
from tests.faults.world import World

BEFORE, AFTER, TWICE = "before", "after", "twice"
_DEADLINE = 60.0
# A state that is right for so long without the write that was aimed at will not see it.
_NOT_REACHED = 2.0
_SOON = 8
_ANSWERED = 300


class Crash(Fault):
    """A kill at one write; `twice` stands for a second one soon after the restart."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        when, _, self._write = plan.at.partition(" ")
        self._twice = when == TWICE
        self._when = plan.dice.choice((BEFORE, AFTER)) if self._twice else when
        self._second = plan.dice.randrange(_SOON) if self._twice else -1
        self._second_when = plan.dice.choice((BEFORE, AFTER))
        self._seen: Counter[str] = Counter()
        self._name = ""
        self._aimed: Asked | None = None
        self._killed = False

    def begin(self, world: World) -> None:
        """Wait for the write."""
        for name, line in world.lines.items():
            line.before = partial(self._before, world, name)
            line.done = partial(self._done, world, name)

    def end(self, world: World, trial: Trial) -> None:
        """Restart whoever is killed, and return when nobody will be any more."""
        right_since, begun = 0.0, time.monotonic()
        while time.monotonic() - begun < _DEADLINE:
            if self._killed:
                self._killed = False
                world.operators[self._name].restart()
                if self._second < 0:
                    break
                right_since = 0.0
            if not trial.is_right():
                right_since = 0.0
            elif not right_since:
                right_since = time.monotonic()
            elif time.monotonic() - right_since > _NOT_REACHED:
                break
            world.wait(0.02)
        for line in world.lines.values():
            line.heal()
        if self._killed:
            world.operators[self._name].restart()

    def _before(self, world: World, name: str, asked: Asked) -> Harm | None:
        if not asked.is_write or asked.is_of_a_lease or self._killed:
            return None
        if not self._is_aimed_at(world, name, asked):
            return None
        if self._when == BEFORE:
            return self._kill(world, name)
        self._aimed = asked
        return None

    def _done(self, world: World, name: str, asked: Asked, status: int) -> None:
        del status
        if self._aimed is asked:
            self._kill(world, name)

    def _is_aimed_at(self, world: World, name: str, asked: Asked) -> bool:
        if not self.done:
            return occurrence(world, asked, self._seen) == self._write
        if self._second < 0 or name != self._name:
            return False
        self._second -= 1
        self._when = self._second_when
        return self._second < 0

    def _kill(self, world: World, name: str) -> Harm | None:
        operator = world.operators.get(name)
        if operator is None:
            # It is being ended for good.
            return None
        operator.kill()
        self.done[f"killed {self._when}"] += 1
        self._name, self._killed = name, True
        return Harm("killed", cut="before")


class Crashes(Kind):
    """Kills at all writes."""

    name: ClassVar[str] = "crash"
    help: ClassVar[str] = "the operator is killed before and after each write, also twice"
    told: ClassVar[bool] = False

    def lanes(self, expected: Sequence[Expected], seed: int, rounds: int) -> list[Lane]:
        """Each write before and after, in as few walks as can be; and `rounds` walks with two."""
        aims = [
            [
                Plan(self.name, each.name, seed, number, f"{when} {write}")
                for number, write in enumerate(each.writes)
            ]
            for when in (BEFORE, AFTER)
            for each in expected
        ]
        size = len(expected)
        lanes: list[Lane] = []
        for part in (aims[:size], aims[size:]):
            lanes += [{plan.action: plan for plan in row if plan} for row in zip_longest(*part)]
        return [*lanes, *self._twice(expected, seed, rounds)]

    def _twice(self, expected: Sequence[Expected], seed: int, rounds: int) -> list[Lane]:
        lanes: list[Lane] = []
        for number in range(rounds):
            chosen = [Plan(self.name, each.name, seed, number) for each in expected if each.writes]
            writes = {each.name: each.writes for each in expected}
            lanes.append(
                {
                    plan.action: plan._replace(
                        at=f"{TWICE} {plan.dice.choice(writes[plan.action])}"
                    )
                    for plan in chosen
                }
            )
        return lanes

    def fault(self, plan: Plan) -> Fault:
        """A kill."""
        return Crash(plan)
