"""What the operator would say of manifests, object by object: for lint.

A resource is judged by the workloads among the manifests that select it, as they are; where there
are none, by one that is made up (`stoker.plan.alone`).
"""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from stoker.errors import UnknownError, WorkloadError
from stoker.offline.problems import MAX_PROBLEMS, MORE, NOT_KNOWN, UNBUILDABLE, Problem
from stoker.offline.surroundings import view_of
from stoker.offline.world import World
from stoker.plan import Plan, plan
from stoker.plan.alone import Bystanders, Versions
from stoker.ref import Ref, ref_of
from stoker.select.choice import Resource
from stoker.settings import OperatorSettings
from stoker.validate.findings import Finding
from stoker.validate.verdicts import Outcome, Verdict

_FOR: Final = "; so says {}"


def world_problems(
    world: World, settings: OperatorSettings, versions: Versions
) -> Iterator[tuple[Ref, Problem]]:
    """What is wrong with workloads and resources of the world, and what is not known of them."""
    facts = replace(view_of(world, settings).facts, brief=True)
    bystanders = Bystanders(versions, facts.capabilities, facts.assets)
    plans = [found for each in world.workloads if not (found := plan(facts, each)).not_ours]
    for made in plans:
        if made.error:
            yield ref_of(made.workload), _problem_of(made.error)
    for resource in world.resources:
        for problem in _bounded(_told(resource, plans, bystanders)):
            yield ref_of(resource), problem


def _problem_of(error: WorkloadError) -> Problem:
    if isinstance(error, UnknownError):
        return Problem(error.path, NOT_KNOWN, error.reason, unknown=True)
    return Problem(error.path, UNBUILDABLE, error.reason)


def _told(resource: Resource, plans: Iterable[Plan], alone: Bystanders) -> Iterator[Problem]:
    ref = ref_of(resource)
    asked = [(each, found) for each in plans if (found := each.verdicts.get(ref))]
    if not asked:
        yield from _problems(alone.verdict(resource))
        return
    refusing = [(made, found) for made, found in asked if not found.accepted]
    usual = set(_problems(alone.verdict(resource))) if refusing else set()
    known: set[tuple[str, str]] = set()
    for made, found in refusing:
        who = _FOR.format(f"{ref_of(made.workload)} ({made.version})")
        for problem in _problems(found):
            if (problem.path, problem.message) not in known:
                known.add((problem.path, problem.message))
                more = "" if problem in usual else who
                yield replace(problem, message=problem.message + more)


def _problems(verdict: Verdict) -> Iterator[Problem]:
    """What keeps a resource from being used; what is not known only where nothing is certain."""
    unknown = verdict.outcome is Outcome.UNKNOWN
    for each in verdict.decisive:
        yield _problem(each, unknown=unknown)


def _problem(finding: Finding, *, unknown: bool) -> Problem:
    return Problem(finding.path, str(finding.reason), finding.message, unknown=unknown)


def _bounded(found: Iterable[Problem]) -> Iterator[Problem]:
    rest = 0
    for count, problem in enumerate(found, 1):
        if count <= MAX_PROBLEMS:
            yield problem
        rest = count - MAX_PROBLEMS
    if rest > 0:
        yield Problem("", MORE, f"{rest} more problems are not shown")
