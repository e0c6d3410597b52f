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
from contextlib import contextmanager
from dataclasses import dataclass, field

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
        self, kinds: Mapping[str, Kind], lanes: Sequence[Lane], worlds: int, seconds: float
    ) -> Results:
        """Run all plans, or as many as there is time for, in so many worlds at once."""
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
                    self._walk(kinds, lane, results)
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

    def _tried(self, kind: Kind, world: World, action: Action, plan: Plan) -> Outcome:
        expected = self._expected[action.name]
        whole = plan.dice.randrange(WHOLE_STAY_EVERY) == 0
        return tried(kind, world, action, plan, expected, STAY_SECONDS if whole else SHORT_STAY)

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
                again = tried(kind, world, action, failed.plan, expected[-1], SHORT_STAY)
        except (ApiError, DisagreementError, NotInTimeError, KeyError):
            return False
        return bool(again.problems)


def tried(  # noqa: PLR0913, PLR0917 - a plan, and all that it is judged by
    kind: Kind, world: World, action: Action, plan: Plan, expected: Expected, stay: float
) -> Outcome:
    """Do an action with the harm of a plan; what came of it."""
    fault = kind.fault(plan)
    trial = Trial(world, expected, told=kind.told)
    try:
        fault.begin(world)
        begun = time.monotonic()
        action.do(world)
        fault.end(world, trial)
        # A change of mode takes ten seconds, whether or not somebody does harm.
        fault.over = max(time.monotonic(), begun + expected.seconds)
    finally:
        fault.mend(world)
    verdict = trial.verdict(stay)
    problems = [*verdict.problems, *fault.problems(world)]
    outcome = Outcome(plan, problems, fault.seconds_until(verdict.at), fault.done)
    if outcome.is_late and not problems:
        outcome.awaited = trial.awaited()
    if problems or outcome.is_late:
        outcome.log = "\n".join(each.log() for each in world.operators.values())
    return outcome


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
