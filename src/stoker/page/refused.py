"""Objects that were refused: they are in no list, but what is wrong with them can be asked for."""

from collections.abc import Iterable

from stoker.explain.answer import Explanation
from stoker.explain.ask import beside_unusable, unusable
from stoker.page.answers import Items, Problem, ResourceAnswer, Row, WorkloadAnswer
from stoker.page.wellness import PROBLEM


def refused_resource(
    problems: Iterable[Problem], revision: int, kind: str, namespace: str, name: str
) -> ResourceAnswer | None:
    """All about a resource that was refused; None if none of that name was."""
    for each in problems:
        if each.subject == f"{kind} {namespace}/{name}":
            return ResourceAnswer(
                revision=revision,
                explanation=unusable(kind, namespace, name, each.reasons),
                labels={},
                workloads=(),
            )
    return None


def beside_refused(found: Explanation, problems: Iterable[Problem]) -> Explanation:
    """An explanation with the workload that was refused, where nobody else could select it."""
    return beside_unusable(found, ((each.subject, each.reasons) for each in problems))


def refused_workload(
    problems: Iterable[Problem], revision: int, kind: str, namespace: str, name: str
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
        resources=Items(revision=revision, total=0, offset=0, items=()),
    )
