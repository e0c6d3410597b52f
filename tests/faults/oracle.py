"""What must come of each action, known from quiet runs, and whether it came of a run with faults.

After each action of a run with faults:

- the state equals that of the quiet run (objects, statuses, bindings, what must have been said);
- it stays: no operator writes anything (audit log), and nothing is different; but for a status
  that comes late, where pods came and went;
- nothing was deleted, made anew or rolled more often than in the quiet run, and no configuration
  was without what it had before and has after.

Two quiet runs go side by side, action by action. Where they do not agree, the script or the way in
which states are compared is at fault, and that is told before anybody suspects the operator.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stoker.cluster.kinds import WORKLOADS
from tests.faults.gateway import Asked
from tests.faults.mirror import Object
from tests.faults.script import Action
from tests.faults.state import SETS, Snapshot, differences
from tests.faults.world import Ground, History, World
from tools.audit import Write

QUIET_WORLDS = 2
STILL_SECONDS = 2.5
# What an operator has to do, it does at once, if it has a turn.
IDLE_SECONDS = 0.8
STAY_SECONDS = 10.0
"""For how long nothing may be written where the whole of it is looked at."""
DEADLINE = 90.0
"""After how many seconds a state that did not come is a failure."""
LATE_WRITES = 3
"""How often the status of a workload may be written late: see `Trial._came_late`."""
_SHOWN = 12
_SHOWN_LATE = 3
_DONE = range(200, 300)
_LOOK = 0.05


Place = tuple[str, str, str]
"""The plural, the namespace and the name of an object."""


class DisagreementError(Exception):
    """Two quiet runs differ."""


@dataclass(frozen=True)
class Expected:
    """What must come of an action.

    `name`: the action's.
    `snapshot`: the state after it.
    `history`: what may happen on the way, each as often as here.
    `writes`: what the operators write, in order, each with how often it was there before.
    `seconds`: how long it took.
    `passing`: what happens on the way is for chance to say.
    """

    name: str
    snapshot: Snapshot
    history: History
    writes: tuple[str, ...]
    seconds: float
    passing: bool = False


@dataclass
class Verdict:
    """What came of an action in a run with faults.

    `problems`: what is not as it should be; empty if all is well.
    `at`: when the state was right, or was no longer waited for.
    """

    problems: list[str] = field(default_factory=list)
    at: float = 0.0


# --- Quiet runs -----------------------------------------------------------------------------------


class Recorder:
    """Notes what the operators of a world write."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.writes: list[str] = []
        self._seen: Counter[str] = Counter()

    def begin(self) -> None:
        """A new action."""
        self.writes, self._seen = [], Counter()

    def attach(self) -> None:
        """Listen to all operators."""
        for line in self._world.lines.values():
            line.before = self._before

    def _before(self, asked: Asked) -> None:
        if asked.is_write and not asked.is_of_a_lease:
            self.writes.append(occurrence(self._world, asked, self._seen))


def occurrence(world: World, asked: Asked, seen: Counter[str]) -> str:
    """A name for a write that is the same in all worlds: what it is, and the how manieth of it."""
    what = world.plain(written(asked))
    seen[what] += 1
    return f"{what} #{seen[what]}"


def written(asked: Asked) -> str:
    """A write in words; an Event's name is a hash."""
    if asked.target.plural == "events":
        return f"{asked.verb} events {asked.target.namespace}"
    return str(asked)


def expectations(
    ground: Ground,
    script: Sequence[Action],
    tell: Callable[[str], None],
    worlds: int = QUIET_WORLDS,
) -> list[Expected]:
    """Run a script without faults; what came of each action."""
    made = [ground.world() for _ in range(worlds)]
    try:
        for world in made:
            world.__enter__()
        recorders = [Recorder(world) for world in made]
        for recorder in recorders:
            recorder.attach()
        found = []
        for number, action in enumerate(script):
            found.append(_quiet(made, recorders, action))
            tell(f"quiet run: {number + 1} of {len(script)}: {action.name}")
        return found
    finally:
        for world in made:
            world.__exit__()


def _quiet(worlds: Sequence[World], recorders: Sequence[Recorder], action: Action) -> Expected:
    begun = time.monotonic()
    marks = [world.ground.mirror.mark() for world in worlds]
    before = [world.ground.mirror.objects(world.namespaces) for world in worlds]
    for world, recorder in zip(worlds, recorders, strict=True):
        recorder.begin()
        action.do(world)
    _settle(worlds, action)
    seconds = max(world.last_change() for world in worlds) - begun
    histories = [
        world.history(mark, there) for world, mark, there in zip(worlds, marks, before, strict=True)
    ]
    for world, mark in zip(worlds, marks, strict=True):
        world.ground.mirror.forget(world.namespaces, mark)
    return Expected(
        name=action.name,
        snapshot=worlds[0].snapshot(),
        history=_together(histories),
        writes=tuple(dict.fromkeys(one for each in recorders for one in each.writes)),
        seconds=max(seconds, 0.0),
        passing=action.passing,
    )


def _settle(worlds: Sequence[World], action: Action) -> None:
    """Wait until nothing happens in any of these worlds, and they are the same."""
    still = max(STILL_SECONDS, action.settling)
    begun = busy = time.monotonic()
    unlike = ["they never came to rest"]
    while time.monotonic() - begun < 2 * DEADLINE:
        worlds[0].wait(_LOOK)
        if not all(each.is_idle() for world in worlds for each in world.operators.values()):
            busy = time.monotonic()
        last = max(begun, *(world.last_change() for world in worlds))
        now = time.monotonic()
        if now - last > still and now - busy > IDLE_SECONDS:
            unlike = unlike_each_other(worlds)
            if not unlike:
                return
    raise DisagreementError(f"{action.name}:\n" + "\n".join(unlike[:_SHOWN]))


def unlike_each_other(worlds: Sequence[World]) -> list[str]:
    """Where the states of these worlds differ."""
    first, *others = (world.snapshot() for world in worlds)
    return [
        line
        for other in others
        for line in [*differences(first, other), *differences(other, first)]
    ]


def _together(histories: Sequence[History]) -> History:
    """What may happen: what happened in one of these."""
    births, deaths = Counter[str](), Counter[str]()
    templates: dict[str, list[str]] = {}
    for each in histories:
        births |= each.births
        deaths |= each.deaths
        for key, row in each.templates.items():
            if len(row) > len(templates.get(key, ())):
                templates[key] = row
    lost = frozenset[str]().union(*(each.lost for each in histories))
    return History(births, deaths, templates, lost)


# --- Verdicts -------------------------------------------------------------------------------------


class Trial:
    """An action in a world with faults: begun before it is done, judged when the fault is over.

    Without `told`, events that a quiet run has need not be there.
    """

    def __init__(self, world: World, expected: Expected, *, told: bool = True) -> None:
        self._world = world
        self._expected = expected
        snapshot = expected.snapshot
        self._wanted = snapshot if told else snapshot._replace(events=frozenset())
        self._mark = world.ground.mirror.mark()
        self._before: list[tuple[str, Object]] = world.ground.mirror.objects(world.namespaces)
        self._excused: set[str] = set()
        self._looked_at: Snapshot | None = None
        self._is_same = False
        # What was not right when it was looked at last, and when the harm was over.
        self._missed: Snapshot | None = None
        self._over = 0.0
        # How often statuses of workloads were written late.
        self._late = Counter[Place | None]()
        # Later a server may have been killed, whose writes the log waits for.
        self._begun = world.ground.mark()

    def excuse(self, kind: str, found: Object) -> None:
        """Somebody deletes or damages this by hand: that it is made anew is as it should be."""
        self._excused.add(self._world.key(kind, found))

    def wanted(self, kind: str, found: Object) -> Object | None:
        """How an object must be in the end, None if it must not be there."""
        return self.objects.get(self._world.key(kind, found))

    @property
    def objects(self) -> Mapping[str, Object]:
        """All objects as they must be in the end."""
        return self._wanted.objects

    def is_right(self) -> bool:
        """Whether the state is as it must be, now, and operators could do their work."""
        found = self._world.snapshot()
        if found is not self._looked_at:
            wanted = self._wanted
            self._is_same = found.objects == wanted.objects and found.events >= wanted.events
            self._looked_at = found
            if not self._is_same:
                self._missed = found
        return self._is_same and all(each.is_ready() for each in self._world.operators.values())

    def verdict(self, stay: float = STAY_SECONDS, deadline: float = DEADLINE) -> Verdict:
        """Wait for the state, see that it stays for so many seconds, and look at what happened."""
        limit = time.monotonic() + deadline + self._expected.seconds
        self._over = time.time()
        right_since, mark, known = 0.0, 0, 0
        while True:
            if not self.is_right():
                right_since = 0.0
                if time.monotonic() > limit:
                    return Verdict(self.wrong(), time.monotonic())
            elif not right_since:
                right_since, mark, known = time.monotonic(), self._world.ground.mark(), 0
            elif time.monotonic() - right_since > stay:
                written = self._written(mark)[known:]
                if not self._came_late(written):
                    break
                # Nobody looked while it was another: right it is since the last of these.
                known += len(written)
                right_since = time.monotonic() - (time.time() - written[-1].done)
            self._world.wait()
        problems = [f"written though all was right: {each}" for each in written]
        problems += self.excesses()
        return Verdict(problems, right_since)

    def _written(self, mark: int) -> list[Write]:
        """What was written since a place in the log, and must not be where all is right."""
        written = self._world.ground.writes(mark, self._world.namespaces)
        return [each for each in written if counts(each)]

    def _came_late(self, written: Sequence[Write]) -> bool:
        """Whether there is something, and all of it may be statuses that were true a moment ago.

        After a fault pods may come while the operator has seen that they are missing and has not
        said so yet. Its status is that of before, so all seems right; then it says what it saw, and
        that the pods are there, between two looks of ours. So it is with no more than a few writes,
        and only where pods came or changed; each that comes then is watched for as long as others.
        """
        late = self._late + Counter(map(_place_of_status, written))
        stirred = self._stirred() if written else frozenset()
        if not stirred.issuperset(map(_place_of_status, written)):
            return False
        if not written or max(late.values()) > LATE_WRITES:
            return False
        self._late = late
        return True

    def _stirred(self) -> frozenset[Place | None]:
        """The workloads of which pods were made, changed or deleted since the action began."""
        changes = self._world.ground.mirror.changes(self._world.namespaces, self._mark)
        known = [*self._before, *((each.kind, each.object) for each in changes)]
        sets = {each["metadata"]["uid"]: each for kind, each in known if kind in SETS}
        pods = (_controller(each.object) for each in changes if each.kind == "pods")
        of_pods = (sets[each["uid"]] for each in pods if each and each["uid"] in sets)
        return frozenset(
            (WORKLOADS[owner["kind"]].resource.plural, each["metadata"]["namespace"], owner["name"])
            for each in of_pods
            if (owner := _controller(each)) and owner["kind"] in WORKLOADS
        )

    def excesses(self) -> list[str]:
        """What happened that did not happen in a quiet run."""
        if self._expected.passing:
            self.forget()
            return []
        found = self._world.history(self._mark, self._before)
        allowed = self._expected.history
        problems = [
            f"deleted: {key}, {count} times instead of {allowed.deaths[key]}"
            for key, count in found.deaths.items()
            if count > allowed.deaths[key] and key not in self._excused
        ]
        problems += [
            f"made anew: {key}, {count} times instead of {allowed.births[key]}"
            for key, count in found.births.items()
            if count > allowed.births[key] and key not in self._excused
        ]
        for key, row in found.templates.items():
            wanted = allowed.templates.get(key, row[:1])
            if not _is_part(row, wanted):
                problems.append(f"pods were to be rolled: {key}, {row} instead of {wanted}")
        problems += [
            f"lost for a while: {each}"
            for each in sorted(found.lost - allowed.lost)
            if each.split(": ")[0] not in self._excused
        ]
        self.forget()
        return problems

    def awaited(self) -> list[str]:
        """What came right last, and how long after the end of the harm operators still wrote.

        What they had done by then waited for others: Kubernetes has controllers of its own, which
        try again later and later.
        """
        found = self._world.ground.writes(self._begun, self._world.namespaces)
        last = max((each.done - self._over for each in found if counts(each)), default=0.0)
        wrong = differences(self._wanted, self._missed) if self._missed else []
        return [f"operators wrote until {max(last, 0.0):.1f} s after it", *wrong[:_SHOWN_LATE]]

    def forget(self) -> None:
        """Nobody will ask what happened."""
        self._world.ground.mirror.forget(self._world.namespaces, self._mark)

    def wrong(self) -> list[str]:
        """What is not as it must be, now."""
        found = differences(self._wanted, self._world.snapshot())
        late = [
            f"the operator {name} is not ready"
            for name, each in self._world.operators.items()
            if not each.is_ready()
        ]
        more = [f"… and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        return [*late, *found[:_SHOWN], *more]


def counts(write: Write) -> bool:
    """Whether a write must not come once all is right.

    One that the server refuses changes nothing: what rests on something old is looked at again, and
    what is not allowed is tried again. And events come when there is nothing else to do.
    """
    return write.status in _DONE and not write.dry_run and write.resource != "events"


def _place_of_status(write: Write) -> Place | None:
    """Of what a write is the status; None if it is more than a status."""
    if write.subresource != "status":
        return None
    return write.resource, write.namespace, write.name


def _controller(found: Object) -> Object | None:
    """The owner that controls an object."""
    owners = found["metadata"].get("ownerReferences") or ()
    return next((each for each in owners if each.get("controller")), None)


def _is_part(row: Iterable[str], whole: Iterable[str]) -> bool:
    """Whether all of a row is found in another, in this order."""
    rest = iter(whole)
    return all(any(one == other for other in rest) for one in row)


# --- Kept on disk ---------------------------------------------------------------------------------


def save(path: Path, found: Sequence[Expected]) -> None:
    """Keep what is expected, for another run of the same script with the same operator."""
    path.write_text(json.dumps([_plain(each) for each in found]))


def load(path: Path) -> list[Expected]:
    """What was kept."""
    return [_read(each) for each in json.loads(path.read_text())]


def _plain(each: Expected) -> Object:
    return {
        "name": each.name,
        "objects": each.snapshot.objects,
        "events": sorted(each.snapshot.events),
        "births": each.history.births,
        "deaths": each.history.deaths,
        "templates": each.history.templates,
        "lost": sorted(each.history.lost),
        "writes": each.writes,
        "seconds": each.seconds,
        "passing": each.passing,
    }


def _read(kept: dict[str, Any]) -> Expected:
    history = History(
        births=Counter(kept["births"]),
        deaths=Counter(kept["deaths"]),
        templates=kept["templates"],
        lost=frozenset(kept["lost"]),
    )
    return Expected(
        name=kept["name"],
        snapshot=Snapshot(kept["objects"], frozenset(kept["events"])),
        history=history,
        writes=tuple(kept["writes"]),
        seconds=kept["seconds"],
        passing=kept["passing"],
    )
