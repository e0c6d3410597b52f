"""Runs plans in many worlds at once, and finds the shortest history that still fails.

Waiting is most of what a plan costs, so worlds go side by side. After a failure a world is left,
and the walk goes on in a new one, which is brought to the same place without faults.
"""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple

from tests.faults.oracle import (
    STAY_SECONDS,
    DisagreementError,
    Expected,
    Trial,
    expectations,
)
from tests.faults.plans import Kind, Lane, Outcome, Plan
from tests.faults.script import Action
from tests.faults.world import Ground, World
from tools.api import ApiError
from tools.waiting import NotInTimeError, until

# In one of so many plans it is seen for the whole time that nothing more is written.
WHOLE_STAY_EVERY = 5
SHORT_STAY = 2.0
_FORWARD_DEADLINE = 120.0
_FORWARD_STILL = 0.3


@dataclass
class Results:
    """All outcomes so far, and how many plans there are in all."""

    total: int
    outcomes: list[Outcome] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    @property
    def failures(self) -> list[Outcome]:
        """The plans that failed."""
        return [each for each in self.outcomes if each.problems]


class Campaign:
    """A script, what must come of it, and the ground on which worlds are made."""

    def __init__(
        self,
        ground: Ground,
        script: Sequence[Action],
        expected: Sequence[Expected],
        tell: Callable[[str], None],
    ) -> None:
        self._ground = ground
        self._script = script
        self._expected = {each.name: each for each in expected}
        self._tell = tell
        self._lock = threading.Lock()
        self._deadline = 0.0

    def run(
        self,
        kinds: Mapping[str, Kind],
        lanes: Sequence[Lane],
        worlds: int,
        seconds: float,
        together: int = 1,
    ) -> Results:
        """Run all plans, or as many as there is time for, in so many worlds at once.

        `together`: in how many worlds each lane is walked, each with a part of its actions, where
        the same harm comes to all of them.
        """
        results = Results(sum(map(len, lanes)))
        waiting: queue.SimpleQueue[Lane] = queue.SimpleQueue()
        for lane in lanes:
            waiting.put(lane)
        self._deadline = time.monotonic() + seconds

        def work() -> None:
            while time.monotonic() < self._deadline:
                try:
                    lane = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    self._walked(kinds, lane, results, together)
                except Exception:
                    with self._lock:
                        results.broken.append(traceback.format_exc())

        threads = [threading.Thread(target=work) for _ in range(min(worlds, len(lanes)))]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            # Each ends what it has begun, so that no process is left behind.
            self._deadline = 0.0
            for thread in threads:
                thread.join()
            raise
        return results

    def _walked(
        self, kinds: Mapping[str, Kind], lane: Lane, results: Results, together: int
    ) -> None:
        if together > 1:
            self._walk_together(kinds, lane, results, together)
        else:
            self._walk(kinds, lane, results)

    def _walk(self, kinds: Mapping[str, Kind], lane: Lane, results: Results) -> None:
        """Go through the script with the plans of a lane."""
        place = 0
        last = max(number for number, each in enumerate(self._script) if each.name in lane)
        while place <= last and time.monotonic() < self._deadline:
            with self._ground.world() as world:
                self._forward(world, self._script[:place])
                place = self._until_failure(kinds, world, lane, results, place)

    def _until_failure(
        self, kinds: Mapping[str, Kind], world: World, lane: Lane, results: Results, place: int
    ) -> int:
        """Go on in a world until a plan fails, or the script ends; where to go on after that."""
        for number in range(place, len(self._script)):
            action = self._script[number]
            plan = lane.get(action.name)
            if time.monotonic() > self._deadline:
                return len(self._script)
            if plan is None:
                self._forward(world, [action])
                continue
            outcome = self._tried(kinds[plan.kind], world, action, plan)
            with self._lock:
                results.outcomes.append(outcome)
                self._say(results, outcome)
            if outcome.problems:
                return number + 1
        return len(self._script)

    def _walk_together(
        self, kinds: Mapping[str, Kind], lane: Lane, results: Results, worlds: int
    ) -> None:
        """Go through the script in several worlds, each through a part of what has a plan."""
        meant = [number for number, each in enumerate(self._script) if each.name in lane]
        size = -(-len(meant) // worlds)
        kind = kinds[lane[self._script[meant[0]].name].kind]
        with ExitStack() as stack:
            parts = [meant[begin : begin + size] for begin in range(0, len(meant), size)]
            walkers = [Walker(self, stack, part) for part in parts]
            pool = stack.enter_context(ThreadPoolExecutor(len(walkers)))
            for step in range(size):
                if time.monotonic() > self._deadline:
                    return
                going = [each for each in walkers if step < len(each.part)]
                worlds_now = list(pool.map(Walker.bring, going, repeat(step)))
                attempts = [
                    self._attempt(world, lane, walker.part[step])
                    for world, walker in zip(worlds_now, going, strict=True)
                ]
                outcomes = tried_together(kind, attempts, _stay(attempts[0].plan))
                for walker, outcome in zip(going, outcomes, strict=True):
                    walker.place = walker.part[step] + 1
                    with self._lock:
                        results.outcomes.append(outcome)
                        self._say(results, outcome)
                    if outcome.problems:
                        walker.leave()

    def _attempt(self, world: World, lane: Lane, number: int) -> Attempt:
        action = self._script[number]
        return Attempt(world, action, lane[action.name], self._expected[action.name])

    def world_at(self, stack: ExitStack, world: World | None, begin: int, end: int) -> World:
        """A world that was at a place of the script, or a new one, at another; without harm."""
        if world is None:
            world, begin = stack.enter_context(self._ground.world()), 0
        self._forward(world, self._script[begin:end])
        return world

    def _tried(self, kind: Kind, world: World, action: Action, plan: Plan) -> Outcome:
        attempt = Attempt(world, action, plan, self._expected[action.name])
        return tried(kind, attempt, _stay(plan))

    def _forward(self, world: World, actions: Sequence[Action]) -> None:
        for action in actions:
            trial = Trial(world, self._expected[action.name], told=False)
            action.do(world)
            forwarded(world, trial, action)

    def _say(self, results: Results, outcome: Outcome) -> None:
        done, failed = len(results.outcomes), len(results.failures)
        minutes = (time.monotonic() - results.begun) / 60
        if outcome.problems:
            self._tell(f"FAILED {outcome.plan}")
            for problem in outcome.problems:
                self._tell(f"  {problem}")
        if outcome.problems or done % 20 == 0:
            faults = sum(sum(each.faults.values()) for each in results.outcomes)
            self._tell(
                f"{done} of {results.total} plans, {failed} failed, {faults} faults,"
                f" {done / minutes:.0f} plans a minute"
            )

    # --- The shortest history ---------------------------------------------------------------------

    def shortest(self, kind: Kind, failed: Outcome, seconds: float) -> list[str]:
        """The names of as few actions as can be found in this time that must precede a failure."""
        deadline = time.monotonic() + seconds
        names = [each.name for each in self._script]
        place = names.index(failed.plan.action)
        history, action = list(self._script[:place]), self._script[place]
        size = max(1, len(history) // 2)
        while size and time.monotonic() < deadline:
            for begin in range(0, len(history), size):
                fewer = history[:begin] + history[begin + size :]
                if time.monotonic() < deadline and self.still_fails(kind, fewer, action, failed):
                    history = fewer
                    break
            else:
                size //= 2
        return [each.name for each in history]

    def still_fails(
        self, kind: Kind, history: Sequence[Action], action: Action, failed: Outcome
    ) -> bool:
        """Whether a plan fails after nothing but this history; not if that makes no sense."""
        script = [*history, action]
        try:
            expected = expectations(self._ground, script, lambda _line: None, worlds=1)
            with self._ground.world() as world:
                for each, wanted in zip(history, expected[:-1], strict=True):
                    trial = Trial(world, wanted)
                    each.do(world)
                    forwarded(world, trial, each)
                again = tried(kind, Attempt(world, action, failed.plan, expected[-1]), SHORT_STAY)
        except (ApiError, DisagreementError, NotInTimeError, KeyError):
            return False
        return bool(again.problems)


class Walker:
    """One of several who walk together: its world, and the part of the script that is its own."""

    def __init__(self, campaign: Campaign, stack: ExitStack, part: Sequence[int]) -> None:
        self._campaign = campaign
        self._stack = stack.enter_context(ExitStack())
        self.part = part
        self._world: World | None = None
        self.place = 0

    def bring(self, step: int) -> World:
        """Go on, without harm, to an action of its part; the world before that."""
        end = self.part[step]
        self._world = self._campaign.world_at(self._stack, self._world, self.place, end)
        self.place = end
        return self._world

    def leave(self) -> None:
        """Leave a world in which a plan failed."""
        self._world, self.place = None, 0
        self._stack.close()


def _stay(plan: Plan) -> float:
    """For how long it is looked at that a state stays."""
    return STAY_SECONDS if plan.dice.randrange(WHOLE_STAY_EVERY) == 0 else SHORT_STAY


class Attempt(NamedTuple):
    """An action in a world, the plan of harm to it, and what must come of it."""

    world: World
    action: Action
    plan: Plan
    expected: Expected


def tried(kind: Kind, attempt: Attempt, stay: float) -> Outcome:
    """Do an action with the harm of its plan; what came of it."""
    return tried_together(kind, [attempt], stay)[0]


def tried_together(kind: Kind, attempts: Sequence[Attempt], stay: float) -> list[Outcome]:
    """Do actions side by side, with the harm of the first one's plan to all; what came of each.

    All worlds but the first have nothing to do with the harm but that they stand in it.
    """
    first = attempts[0]
    fault = kind.fault(first.plan)
    trials = [Trial(each.world, each.expected, told=kind.told) for each in attempts]
    with ThreadPoolExecutor(len(attempts)) as pool:
        try:
            fault.begin(first.world)
            begun = time.monotonic()
            list(pool.map(lambda each: each.action.do(each.world), attempts))
            fault.end(first.world, trials[0])
            over = time.monotonic()
        finally:
            fault.mend(first.world)
        verdicts = list(pool.map(lambda trial: trial.verdict(stay), trials))
    outcomes = []
    for each, trial, verdict in zip(attempts, trials, verdicts, strict=True):
        # A change of mode takes ten seconds, whether or not somebody does harm.
        fault.over = max(over, begun + each.expected.seconds)
        problems = [*verdict.problems, *fault.problems(each.world)]
        outcome = Outcome(each.plan, problems, fault.seconds_until(verdict.at), fault.done)
        if outcome.is_late and not problems:
            outcome.awaited = trial.awaited()
        if problems or outcome.is_late:
            outcome.log = "\n".join(one.log() for one in each.world.operators.values())
        outcomes.append(outcome)
    return outcomes


def forwarded(world: World, trial: Trial, action: Action) -> None:
    """Wait until an action without harm is over."""
    since = [0.0]

    def is_over() -> bool:
        if not trial.is_right():
            since[0] = 0.0
        elif not since[0]:
            since[0] = time.monotonic()
        return bool(since[0]) and time.monotonic() - since[0] > _FORWARD_STILL

    try:
        until(f"what comes of: {action.name}", is_over, _FORWARD_DEADLINE)
    except NotInTimeError as error:
        raise NotInTimeError("\n".join([str(error), *trial.wrong()])) from None
    trial.forget()


@contextmanager
def telling(tell: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """A way to tell things from several threads."""
    lock = threading.Lock()

    def told(line: str) -> None:
        with lock:
            tell(line)

    yield told
