"""Objects that were refused: they are in no list, but what is wrong with them can be asked for."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from stoker.explain.answer import Explanation
from stoker.explain.ask import beside_unusable, unusable
from stoker.page.answers import Items, ResourceAnswer, Row, UnusableObject, WorkloadAnswer
from stoker.page.health import UNUSABLE, ref_at
from stoker.page.index import PageSearch
from stoker.page.sight import Clearance
from stoker.page.wellness import PROBLEM

_MOST_LISTED: Final = 100


def may_see(sight: Clearance, problem: UnusableObject) -> bool:
    """Whether somebody may hear of what cannot be used; of what is no object, who sees all."""
    ref = ref_at(problem.subject)
    return sight.is_whole or (bool(ref.name) and sight.covers(ref))


def with_unusable(found: Items, query: PageSearch, problems: Iterable[UnusableObject]) -> Items:
    """A list with the objects that match, too, and cannot be used as they are written."""
    if query.workload:
        return found
    words = query.q.lower().split()
    fit = [each for each in problems if _matches(each, words) and _is_asked_for(each, query)]
    states = {**found.states, UNUSABLE: len(fit)} if fit else found.states
    if query.state not in ("", UNUSABLE):
        fit = []
    return replace(found, states=states, unusable=tuple(fit[:_MOST_LISTED]))


def _matches(problem: UnusableObject, words: Iterable[str]) -> bool:
    text = " ".join((problem.subject, problem.source, *problem.reasons)).lower()
    return all(word in text for word in words)


def _is_asked_for(problem: UnusableObject, query: PageSearch) -> bool:
    ref = ref_at(problem.subject)
    return query.kind in ("", ref.kind) and query.namespace in ("", ref.namespace)


def refused_resource(
    problems: Iterable[UnusableObject], revision: int, kind: str, namespace: str, name: str
) -> ResourceAnswer | None:
    """All about a resource that was refused; None if none of that name was."""
    for each in problems:
        if each.subject == f"{kind} {namespace}/{name}":
            return ResourceAnswer(
                revision=revision,
                explanation=unusable(kind, namespace, name, each.reasons),
                labels={},
                workloads=(),
                place=each.source,
            )
    return None


def beside_refused(found: Explanation, problems: Iterable[UnusableObject]) -> Explanation:
    """An explanation with the workload that was refused, where nobody else could select it."""
    return beside_unusable(found, ((each.subject, each.reasons) for each in problems))


def refused_workload(
    problems: Iterable[UnusableObject], revision: int, kind: str, namespace: str, name: str
) -> WorkloadAnswer | None:
    """All about a workload that was refused; None if none of that name was."""
    found = refused_resource(problems, revision, kind, namespace, name)
    if found is None:
        return None
    row = Row(
        kind=kind,
        namespace=namespace,
        name=name,
        version="",
        state=PROBLEM,
        headline=found.explanation.headline,
    )
    return WorkloadAnswer(
        revision=revision,
        workload=row,
        explanation=found.explanation,
        place=found.place,
        resources=Items(revision=revision, total=0, offset=0, items=()),
    )
