"""Replicas: of three operators the leader is killed, or frozen and thawed when another leads.

They act under names of their own, so the audit log tells who wrote, and who renewed the Lease
before: no write may come from one who did not lead.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import ClassVar

from tests.faults.oracle import Expected, Trial
from tests.faults.plans import Fault, Kind, Lane, Plan
from tests.faults.plant import PlantGround, Way, new_plant
from tests.faults.world import FIRST_VERSION, NODES, OPERATORS, Ground, Operator, World
from tests.live.replicas import leads
from tools.audit import Write
from tools.waiting import until

COUNT = 3
# A Lease runs out after 15 s, and the next one is found within two more.
TAKEOVER_SECONDS = 120.0
SHORTLY = 4.0
# Who was frozen in the middle of a request may have it ended only so much later.
_LATE_SECONDS = 5.0
_LEASES = "leases"
_DONE = range(200, 300)


class Replicated(World):
    """A world where each operator is three."""

    def _furnish(self) -> None:
        super()._furnish()
        for name in OPERATORS:
            for each in _names(name):
                way = self.ground.gateways.open()
                assert isinstance(way, Way)
                way.user = f"{self.prefix}-{each}"
                self.lines[each] = way

    def operate(self, name: str, *flags: str) -> None:
        """Have three of them run with these flags."""
        for each in _names(name):
            super().operate(each, *flags, "--leader-election=true")

    def retire(self, name: str) -> None:
        """End all three for good, or the one that is named."""
        for each in (name, *_names(name)):
            super().retire(each)

    def leader(self) -> Operator:
        """The one that leads, if one does."""

        def leading() -> list[Operator]:
            return list(filter(_leads, self.operators.values()))

        return until("a leader", leading)[0]


def _names(name: str) -> list[str]:
    return [f"{name}-{number}" for number in range(COUNT)]


def _leads(operator: Operator) -> bool:
    if operator.has_ended:
        return False
    with suppress(OSError, AssertionError):
        return leads(operator.process)
    return False


class ReplicaGround(PlantGround):
    """What such worlds stand on."""

    def world(self) -> World:
        """A new world, with nothing in it."""
        plain = super().world()
        return Replicated(self, plain.prefix)


# --- What happens to them -------------------------------------------------------------------------


def killed(world: Replicated) -> Iterator[None]:
    """The leader is killed, and started again when another leads."""
    leader = world.leader()
    leader.kill()
    yield
    _await_another(world, leader)
    _restart(world, leader)


def frozen(world: Replicated) -> Iterator[None]:
    """The leader is frozen, and goes on when another leads and works."""
    leader = world.leader()
    _freeze(world, leader)
    yield
    _await_another(world, leader)
    _thaw(world, leader)


def frozen_late(world: Replicated) -> Iterator[None]:
    """The leader is frozen in the middle of its work, and goes on when another leads."""
    yield
    leader = world.leader()
    _freeze(world, leader)
    _await_another(world, leader)
    _thaw(world, leader)


def frozen_shortly(world: Replicated) -> Iterator[None]:
    """The leader is frozen for less time than the Lease lasts."""
    yield
    leader = world.leader()
    _freeze(world, leader)
    time.sleep(SHORTLY)
    _thaw(world, leader)


def two_killed(world: Replicated) -> Iterator[None]:
    """Two are killed, the leader among them; the third has to do it all."""
    leader = world.leader()
    other = next(each for each in world.operators.values() if each is not leader)
    for each in (leader, other):
        each.kill()
    yield
    _await_another(world, leader)
    _restart(world, leader, other)


def stopped(world: Replicated) -> Iterator[None]:
    """The leader is told to go in the middle of its work, as in an update of the operator."""
    yield
    _restart(world, world.leader())


def _freeze(world: Replicated, operator: Operator) -> None:
    if _is_there(world, operator):
        operator.process.process.send_signal(signal.SIGSTOP)


def _thaw(world: Replicated, operator: Operator) -> None:
    if _is_there(world, operator):
        operator.process.process.send_signal(signal.SIGCONT)


def _restart(world: Replicated, *operators: Operator) -> None:
    for each in operators:
        if _is_there(world, each):
            each.restart()


def _is_there(world: Replicated, operator: Operator) -> bool:
    """Whether the action has not replaced it by another."""
    return operator in world.operators.values()


HARM: dict[str, Callable[[Replicated], Iterator[None]]] = {
    each.__name__.replace("_", " "): each
    for each in (killed, frozen, frozen_late, frozen_shortly, two_killed, stopped)
}


def _await_another(world: Replicated, leader: Operator) -> None:
    others = [each for each in world.operators.values() if each is not leader]
    until("another leader", lambda: any(map(_leads, others)), TAKEOVER_SECONDS)


class Harmed(Fault):
    """Replicas that are harmed during an action."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._dice = plan.dice
        self._name = plan.at or self._dice.choice(list(HARM))
        self._course: Iterator[None] = iter(())
        self._mark = 0

    def begin(self, world: World) -> None:
        """Harm those first that are harmed before the action."""
        assert isinstance(world, Replicated)
        self._mark = world.ground.mark()
        if world.operators:
            self._course = HARM[self._name](world)
            next(self._course, None)
            self.done[self._name] += 1

    def end(self, world: World, trial: Trial) -> None:
        """Go on with it until all of them run again."""
        world.wait(self._dice.uniform(0.0, 1.0))
        for _ in self._course:
            pass

    def problems(self, world: World) -> list[str]:
        """Writes of those who did not lead."""
        users = [f"{world.prefix}-{each}" for each in world.lines]
        found = world.ground.cluster.audit.since(self._mark, "stoker")
        return unled([each for each in found if each.user in users])


def unled(writes: Sequence[Write]) -> list[str]:
    """The writes of some who contend for one Lease that came while another had it.

    Whoever renewed or took it last before a write came was its holder then. One that came in time
    and was done long after another had taken the Lease was sent in two parts.
    """
    taken = sorted(
        (each.done, each.user)
        for each in writes
        if each.resource == _LEASES and each.status in _DONE
    )
    problems = []
    for each in writes:
        if each.resource == _LEASES:
            continue
        before = [user for done, user in taken if done < each.received]
        if before and before[-1] != each.user:
            problems.append(f"{each.user} wrote though {before[-1]} led: {each}")
        others = [done for done, user in taken if done > each.received and user != each.user]
        if others and each.done > min(others) + _LATE_SECONDS and each.status in _DONE:
            problems.append(f"{each.user} ended a write though another led: {each}")
    return problems


class Replicas(Kind):
    """Harm to replicas."""

    name: ClassVar[str] = "replicas"
    help: ClassVar[str] = "of three operators the leader is killed, frozen and thawed"
    worlds: ClassVar[int] = 3
    told: ClassVar[bool] = False

    def ground(self, version: str) -> AbstractContextManager[Ground]:
        """A control plane whose operators act under names of their own."""
        return replica_ground(version=version)

    def lanes(self, expected: Sequence[Expected], seed: int, rounds: int) -> list[Lane]:
        """Walks with something at each action."""
        return [
            {each.name: Plan(self.name, each.name, seed, number) for each in expected}
            for number in range(rounds)
        ]

    def fault(self, plan: Plan) -> Fault:
        """Replicas that are harmed."""
        return Harmed(plan)


@contextmanager
def replica_ground(nodes: int = NODES, version: str = FIRST_VERSION) -> Iterator[Ground]:
    """A cluster of its own for worlds with replicas."""
    with new_plant(nodes, version) as ground:
        yield ReplicaGround(ground.plant, ground.mirror, version)
