"""Plans: which harm is done during which action, so that the same seed means the same harm.

A plan concerns one action. A lane is a walk through the whole script in one world, with a plan at
some of its actions, or at all of them.
"""

from __future__ import annotations

import random
import shlex
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from tests.faults.oracle import Expected, Trial
from tests.faults.world import Ground, World, new_ground

PROMISED_SECONDS = 10.0
"""So soon after a fault is over the state is right, in 99 of 100 cases."""


class Plan(NamedTuple):
    """Harm to one action.

    `kind`: the class of faults. `action`: the name of the action.
    `seed`, `round`: together with the action they decide on everything that is left to chance.
    `at`: where exactly, for classes that aim at something.
    """

    kind: str
    action: str
    seed: int = 0
    round: int = 0
    at: str = ""

    @property
    def dice(self) -> random.Random:
        """The same numbers for the same plan."""
        return random.Random(f"{self.kind}/{self.seed}/{self.round}/{self.action}")

    def command(self, history: Sequence[str] | None = None) -> str:
        """What repeats it; with a history, with nothing but that before it."""
        words = ["python", "-m", "tests.faults", self.kind, "--only", self.action]
        words += ["--seed", str(self.seed), "--round", str(self.round)]
        words += ["--at", self.at] if self.at else []
        if history is not None:
            words += [word for name in history for word in ("--after", name)] or ["--after", ""]
        return shlex.join(words)

    def __str__(self) -> str:
        at = f", {self.at}" if self.at else ""
        return f"{self.kind}, seed {self.seed}, round {self.round}: {self.action}{at}"


Lane = dict[str, Plan]
"""The plans of one walk through the script, by the names of their actions."""


class Fault:
    """The harm of a plan as it is done; classes of faults fill it in.

    `done` counts the harm by its kind. `over`: when all should be right again: once `end` has
    returned, and no sooner than without harm.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.done: Counter[str] = Counter()
        self.over = 0.0

    def begin(self, world: World) -> None:
        """Get ready, before the action."""
        raise NotImplementedError

    def end(self, world: World, trial: Trial) -> None:
        """Let it happen after the action, and return when it is over: nothing is harmed then."""
        raise NotImplementedError

    def mend(self, world: World) -> None:
        """See that nothing is harmed any more that others stand on too.

        It is called last and always, wherever in the plan something broke: before `begin` was
        through, in the action, or in `end`.
        """
        for line in world.lines.values():
            line.heal()

    def seconds_until(self, right: float) -> float:
        """How long it took from the end of the harm until the state was right."""
        return max(0.0, right - self.over)

    def problems(self, world: World) -> list[str]:
        """What else must not have happened meanwhile, and did; asked at the very end."""
        del world
        return []


class Kind:
    """A class of faults: its plans, and what they do."""

    name: ClassVar[str]
    help: ClassVar[str]
    worlds: ClassVar[int] = 100
    """How many worlds can be harmed at once."""
    together: ClassVar[int] = 1
    """How many worlds may stand in the same harm at once; plans of one step aim at the same."""
    told: ClassVar[bool] = True
    """Whether each event must be there: it is a courtesy, and gone with who was about to tell."""

    def ground(self, version: str) -> AbstractContextManager[Ground]:
        """What its worlds stand on; the version is that of ScrapeConfigs."""
        return new_ground(version=version)

    def lanes(self, expected: Sequence[Expected], seed: int, rounds: int) -> list[Lane]:
        """All plans of a campaign, as walks through the script."""
        raise NotImplementedError

    def fault(self, plan: Plan) -> Fault:
        """What is done in a plan."""
        raise NotImplementedError


@dataclass
class Outcome:
    """What came of a plan.

    `reached`: whether any harm was done. `seconds`: from its end until the state was right, and
    `awaited`: what came last, where that was late.
    """

    plan: Plan
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    log: str = ""
    awaited: list[str] = field(default_factory=list)

    @property
    def reached(self) -> bool:
        """Whether any harm was done."""
        return bool(self.faults)

    @property
    def is_late(self) -> bool:
        """Whether the state was right later than is promised."""
        return self.seconds > PROMISED_SECONDS
