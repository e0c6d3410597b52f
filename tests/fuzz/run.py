"""Rounds of fuzzing: each makes worlds from its seed and looks at them.

A failure is told with the smallest objects that still have it.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from tests.fuzz.properties import Problem, Report, inspected
from tests.fuzz.world import RESOURCES, World, worlds_of

_ATTEMPTS: Final = 300
_MADE_SMALL: Final = 5


class Failure(Struct, frozen=True):
    """A problem, the seed that leads to it, and the smallest world that still has it."""

    seed: int
    problem: Problem
    world: World


def fuzz(seed: int, count: int) -> tuple[Report, list[Failure]]:
    """Rounds until that many resources were tried: what became of them, and what failed."""
    total = Report()
    failures: list[Failure] = []
    for number in range(seed, seed - (-count // RESOURCES)):
        for world in worlds_of(number):
            report = inspected(world)
            report.counts["resources tried"] += len(world.resources)
            report.counts["workloads tried"] += 1
            total.add(report)
            for problem in report.problems:
                # Making failures small takes time, and the first few tell enough.
                small = smallest if len(failures) < _MADE_SMALL else Failure
                failures.append(small(number, problem, world))
    return total, failures


def smallest(seed: int, problem: Problem, world: World) -> Failure:
    """The failure without everything that it does not need."""
    if problem.resource:
        world = replace(world, resources=(problem.resource,))

    def still(candidate: World) -> Problem | None:
        found = inspected(candidate).problems
        return next((each for each in found if _nature(each) == _nature(problem)), None)

    if still(world):
        if world.resources:
            resource = _reduced(
                world.resources[0], lambda one: bool(still(replace(world, resources=(one,))))
            )
            world = replace(world, resources=(resource,))
        workload = _reduced(world.workload, lambda one: bool(still(replace(world, workload=one))))
        world = replace(world, workload=workload)
    return Failure(seed, still(world) or problem, world)


def _nature(problem: Problem) -> tuple[str, str]:
    """What must stay the same while other things are taken away."""
    return problem.property, problem.detail.strip().rpartition("\n")[2]


def _reduced(manifest: dict[str, Any], fails: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The manifest without the members of its spec that can go while it still fails."""
    attempts = 0
    again = True
    while again and attempts < _ATTEMPTS:
        again = False
        for path in list(_paths(manifest["spec"])):
            smaller = deepcopy(manifest)
            if not _removed(smaller["spec"], path):
                continue
            attempts += 1
            if fails(smaller):
                manifest, again = smaller, True
                break
    return manifest


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all members and items, outer ones first."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    below = []
    for key in keys:
        yield (*path, key)
        if isinstance(value[key], dict | list):
            below.append(key)
    for key in below:
        yield from _paths(value[key], (*path, key))


def _removed(value: Any, path: tuple[Any, ...]) -> bool:
    for key in path[:-1]:
        value = value[key]
    del value[path[-1]]
    return True
