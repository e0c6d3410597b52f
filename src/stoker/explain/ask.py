"""One object by its kind and name, explained; and what was meant where there is none."""

from collections.abc import Iterable

from msgspec.structs import replace

from stoker.api.kinds import WORKLOADS, kind_called
from stoker.explain.answer import Explanation
from stoker.explain.resource import explained
from stoker.explain.workload import explained_workload
from stoker.ref import Ref, ref_of
from stoker.select.choice import Resource
from stoker.select.workload import Workload
from stoker.view.meant import meant
from stoker.view.view import View

IS_WORKLOAD = frozenset(kind.name for kind in WORKLOADS)


def explanation(view: View, kind: str, namespace: str, name: str) -> Explanation | None:
    """What there is to say of an object; None if the view has no such object."""
    if kind in IS_WORKLOAD:
        for workload in view.workloads:
            if _is_it(workload, kind, namespace, name):
                return explained_workload(view, workload)
    for resource in view.resources:
        if _is_it(resource, kind, namespace, name):
            return explained(view, resource)
    return None


def unusable(kind: str, namespace: str, name: str, reasons: tuple[str, ...]) -> Explanation:
    """What there is to say of an object that nobody can read."""
    told = reasons[0] if reasons else "it cannot be read"
    return Explanation(
        kind=kind,
        namespace=namespace,
        name=name,
        good=False,
        headline=f"not valid: {told}",
        notes=reasons[1:],
    )


def beside_unusable(
    found: Explanation, unusables: Iterable[tuple[str, tuple[str, ...]]]
) -> Explanation:
    """What is said of a resource that nobody could select, with the workload that cannot be read.

    `unusables` are objects (`Kind namespace/name`) and what is wrong with them.
    """
    if found.kind in IS_WORKLOAD or found.by_workload:
        return found
    for subject, reasons in unusables:
        kind, space, _ = subject.partition(" ")
        if space and reasons and kind in IS_WORKLOAD:
            told = f"{found.headline} that is valid; {subject} is not: {reasons[0]}"
            return replace(found, headline=told)
    return found


def beside_unseen(found: Explanation, resource: Resource, unseen: str) -> Explanation:
    """What is said of a resource where there may be workloads that `unseen` tells of.

    That none of the others selects it says little then; its status may say more.
    """
    if not unseen or resource.metadata.deletion_timestamp:
        return found
    if any(each.selects for each in found.by_workload):
        return found
    known = {each.workload for each in found.by_workload}
    for binding in (resource.status and resource.status.bindings) or ():
        kind, said = kind_called(binding.resource), (binding.conditions or (None,))[0]
        title = f"{kind.name if kind else binding.resource} {binding.namespace}/{binding.name}"
        if said is None or title in known:
            continue
        used = said.status == "True"
        made = f"used by {title}" if used else f"rejected by {title}: {said.message or said.reason}"
        return replace(found, good=used, headline=f"{made}, as its status says; {unseen}")
    return replace(found, headline=f"whether a workload selects it is not known: {unseen}")


def not_found(kind: str, key: str, known: Iterable[str], unseen: str = "") -> str:
    """That there is no such object, and what was probably meant; `known` are `namespace/name`.

    `unseen` says why not all of them may be known.
    """
    start = f"there is no {kind} {key}"
    here = f"{key.partition('/')[0]}/"
    # What is in the same namespace was meant, rather than what is elsewhere.
    names = sorted(known, key=lambda each: (not each.startswith(here), each))
    if not names:
        return f"{start}; {unseen or f'there are no {kind} objects at all'}"
    if guess := meant(key, names):
        return f"{start}; did you mean {guess}?"
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{start}; there are {', '.join(names[:5])}{more}"


def _is_it(found: Workload | Resource, kind: str, namespace: str, name: str) -> bool:
    return ref_of(found) == Ref(kind, namespace, name)
