"""Changes of an agent's mode, and what they mean for each target: gaps and overlaps.

A change is a row of steps: a mode is set, and the next one at a moment that is waited for. It ends
when nothing but the last mode is left and each target is scraped once by the right agent.

*gap*: the longest time between two scrapes of a target, by whomever. *overlap*: the longest time
during which agents of both modes scraped a target.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from tests.live.beside import beside
from tests.live.stage import INTERVAL, Scrape, Stage, Tries, Try, agents, paused, pods_of
from tests.live.succession import Succession
from tools.api import ApiError
from tools.pods.images import OUR_IMAGE

Object = dict[str, Any]
Span = tuple[float, float]

STATEFUL_SET, DAEMON_SET = "StatefulSet", "DaemonSet"
OTHER = {STATEFUL_SET: DAEMON_SET, DAEMON_SET: STATEFUL_SET}
# The default is the peer's.
RELOADERS = {"default": (), "ours": (f"--prometheus-config-reloader={OUR_IMAGE}",)}
# From being ready to being trusted (`minReadySeconds`), and from being told to end to having ended.
SETTLING, ENDING = 10.0, 10.0
# Whoever scrapes no more for so many intervals has stopped.
STOPPED_INTERVALS = 3
LOOK = 0.25


class Step(NamedTuple):
    """A mode to set, and when to go on: a name of `MOMENTS`, or `half-way` for any of them."""

    mode: str
    until: str


class Measured(NamedTuple):
    """What a change meant: seconds of the worst target, and what explains them.

    `late` is by how much this process itself woke too late at worst: then nobody was on time.
    `excess` is by how much an overlap was longer than its hand-over needs, below zero if shorter.
    """

    gap: float
    overlap: float
    excess: float
    late: float
    kills: int

    @property
    def is_kept(self) -> bool:
        """Whether no target waited for more than two intervals, nor was scraped twice too long."""
        return self.gap <= 2 * INTERVAL + self.late and self.excess <= self.late


def changes(mode: str) -> dict[str, list[Step]]:
    """All kinds of change for agents that have this mode, by name; the last one leaves it."""
    other = OTHER[mode]
    half = [Step(other, "half-way"), Step(mode, "half-way")]
    return {
        "back at once": [Step(other, "at once"), Step(mode, "settled")],
        "back half-way": [Step(other, "half-way"), Step(mode, "settled")],
        "back half-way, twice": [*half, Step(other, "half-way"), Step(mode, "settled")],
        f"to a {other}": [Step(other, "settled")],
    }


# --- Moments --------------------------------------------------------------------------------------


def _workloads(stage: Stage, mode: str) -> list[Object]:
    return [
        each
        for each in stage.home.list(mode.lower())
        if "deletionTimestamp" not in each["metadata"]
    ]


def _ready(stage: Stage, mode: str) -> list[bool]:
    """Whether each pod of a mode is ready."""
    return [
        _is_ready(pod) for pod in pods_of(stage.home) if mode_of(pod["metadata"]["name"]) == mode
    ]


def _is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _all_ready(stage: Stage, mode: str) -> bool:
    nodes = len(stage.cluster.api.get("/api/v1/nodes")["items"])
    return _ready(stage, mode) == [True] * (nodes if mode == DAEMON_SET else 1)


MOMENTS: dict[str, Callable[[Stage, str], bool]] = {
    "made": lambda stage, mode: bool(_workloads(stage, mode)),
    "one ready": lambda stage, mode: any(_ready(stage, mode)),
    "all ready": _all_ready,
    "the others going": lambda stage, mode: not _workloads(stage, OTHER[mode]),
}


def mode_of(agent: str) -> str:
    """The mode of an agent by its name: Kubernetes gives no `0` to pods of a DaemonSet."""
    return STATEFUL_SET if agent.endswith("-0") else DAEMON_SET


def set_mode(stage: Stage, mode: str) -> None:
    """Have the agents run in this mode."""
    stage.home.put(agents(mode))


def _settle(stage: Stage, mode: str) -> list[Scrape]:
    """Wait until there is nothing but this mode; who scrapes what."""

    def alone() -> bool:
        return len(stage.home.list(mode.lower())) == 1 and not stage.home.list(OTHER[mode].lower())

    stage.home.until(f"nothing but a {mode}", alone)
    return stage.begins()


# --- Measuring ------------------------------------------------------------------------------------


def measured(
    stage: Stage, operators: Succession, steps: Sequence[Step], dice: random.Random, *, kill: bool
) -> Measured:
    """Make a change, and count all scrapes from before it to a settled end."""
    before = stage.begins()
    begin, kills = time.time(), operators.kills
    operators.killing = kill
    try:
        with paused() as late, _readied(stage) as readied:
            for step in steps[:-1]:
                set_mode(stage, step.mode)
                _await(stage, step, dice)
            set_mode(stage, steps[-1].mode)
            after = _settle(stage, steps[-1].mode)
            # What is over too soon would have no room for a gap.
            end = max(time.time(), begin + 3 * INTERVAL)
            stage.arrived(end, after)
    finally:
        operators.killing = False
    tries = stage.tries(begin - 2 * INTERVAL, end)
    wanted = {each.target for each in (*before, *after)}
    assert tries.keys() == wanted, f"not the targets that there are: {tries.keys() ^ wanted}"
    _assert_own_nodes(stage, tries)
    overlaps = [span for every in tries.values() for span in overlaps_of(every)]
    needed = partial(needed_for, readied=readied.values(), away=operators.away)
    return Measured(
        gap=max(map(longest_gap, tries.values())),
        overlap=max(map(_length, overlaps), default=0.0),
        excess=max((_length(span) - needed(span) for span in overlaps), default=0.0),
        late=max(late),
        kills=operators.kills - kills,
    )


def _await(stage: Stage, step: Step, dice: random.Random) -> None:
    moment = dice.choice(list(MOMENTS)) if step.until == "half-way" else step.until
    if moment in MOMENTS:
        stage.home.until(f"{step.mode}: {moment}", lambda: MOMENTS[moment](stage, step.mode))


def longest_gap(tries: Iterable[Try]) -> float:
    """The longest time between two scrapes of a target."""
    return max(later.time - sooner.time for sooner, later in pairwise(tries))


def overlaps_of(tries: Sequence[Try]) -> list[Span]:
    """From when to when a target was scraped by agents of both modes."""
    both = [
        (max(one[0], other[0]), min(one[1], other[1]))
        for one in _spans(tries, STATEFUL_SET)
        for other in _spans(tries, DAEMON_SET)
    ]
    return [span for span in both if _length(span) > 0]


def needed_for(overlap: Span, readied: Iterable[float], away: Iterable[Span]) -> float:
    """How long a hand-over may take that began with an overlap, by what was seen meanwhile.

    The last new pod that became ready has to settle, the old ones have to end, and nothing goes on
    while there is no operator. Each target is scraped once per interval, so both ends are vague.
    """
    begin, end = overlap
    last = max((each for each in readied if begin <= each <= end), default=begin)
    alone = sum(max(0.0, min(end, later) - max(begin, sooner)) for sooner, later in away)
    return last - begin + SETTLING + ENDING + 2 * INTERVAL + alone


def _length(span: Span) -> float:
    return span[1] - span[0]


def _spans(tries: Iterable[Try], mode: str) -> list[Span]:
    """From when to when agents of a mode scraped a target."""
    found: list[Span] = []
    for time_, agent in tries:
        if mode_of(agent) != mode:
            continue
        if found and time_ - found[-1][1] <= STOPPED_INTERVALS * INTERVAL:
            found[-1] = (found[-1][0], time_)
        else:
            found.append((time_, time_))
    return found


def _assert_own_nodes(stage: Stage, tries: Tries) -> None:
    """See that no agent of a DaemonSet has scraped targets of two nodes, at any time."""
    nodes, seen = stage.targets(), dict[str, set[str]]()
    for target, every in tries.items():
        for each in every:
            seen.setdefault(each.agent, set()).add(nodes[target])
    strangers = {
        agent: found
        for agent, found in seen.items()
        if mode_of(agent) == DAEMON_SET and len(found) > 1
    }
    assert not strangers, f"agents that scraped on several nodes: {strangers}"


@contextmanager
def _readied(stage: Stage) -> Iterator[dict[str, float]]:
    """When each pod that came since was first seen ready, by its uid."""
    found: dict[str, float] = {}
    old = {pod["metadata"]["uid"] for pod in pods_of(stage.home)}

    def watch(ended: threading.Event) -> None:
        while not ended.wait(LOOK):
            try:
                pods = pods_of(stage.home)
            except (OSError, ApiError):
                # The server is busy: it will be asked again.
                continue
            for pod in pods:
                uid = pod["metadata"]["uid"]
                if uid not in old and _is_ready(pod):
                    found.setdefault(uid, time.time())

    with beside(watch):
        yield found
