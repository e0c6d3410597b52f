"""A desk as somebody sees it who cannot see everything.

What is hidden is taken off the desk before anything is said, so that no list, number, search,
suggestion or sentence can be made of it. What remains is made of objects that the viewer may read.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from stoker.page.desk import Desk
from stoker.page.index import Entry, Index
from stoker.page.sight import Clearance
from stoker.page.workloads import ShownWorkload, gravest, told_by_status
from stoker.ref import Ref, ref_of
from stoker.select.choice import NamespaceLabels, Resource
from stoker.view.listing import Surroundings
from stoker.view.states import State


def seen_by(
    desk: Desk,
    sight: Clearance,
    revision: int,
    namespaces: NamespaceLabels,
    surroundings: Surroundings,
) -> Desk:
    """What of a desk may be seen.

    `namespaces` are those whose labels may be read, and `surroundings` tell what else may be.
    """
    shown = {title: _stripped(each, sight) for title, each in _in_sight(desk.workloads, sight)}

    def users(resource: Resource) -> Iterable[ShownWorkload]:
        found = (shown.get(each.title) for each in desk.users(resource))
        return [each for each in found if each is not None]

    def find(ref: Ref) -> Resource | None:
        return desk.find(ref) if sight.covers(ref) else None

    view = desk.view
    seen = Desk(
        revision=revision,
        view=replace(
            view,
            workloads=tuple(each for each in view.workloads if sight.covers(ref_of(each))),
            resources=tuple(each for each in view.resources if sight.covers(ref_of(each))),
            namespaces=namespaces,
            surroundings=surroundings,
            rivals={ref: names for ref, names in view.rivals.items() if sight.covers(ref)},
            labels_unknown="you cannot read the namespace, so only its name is known",
            # It keeps what was found out of nodes, which not everybody may see.
            reaches={},
        ),
        workloads=shown,
        users=users,
        index=Index((), {}),
        find=find,
        stand_ins=desk.stand_ins,
        sight=sight,
    )
    selectable = {title: each.kinds for title, each in shown.items()}
    return replace(seen, index=Index(_entries(desk, seen), selectable))


def _in_sight(
    shown: Mapping[str, ShownWorkload], sight: Clearance
) -> Iterator[tuple[str, ShownWorkload]]:
    return (each for each in shown.items() if sight.covers(ref_of(each[1].workload)))


def _stripped(shown: ShownWorkload, sight: Clearance) -> ShownWorkload:
    """A workload without what it made of resources that are not seen."""
    return replace(
        shown,
        verdicts={ref: each for ref, each in shown.verdicts.items() if sight.covers(ref)},
        idle={ref: each for ref, each in shown.idle.items() if sight.covers(ref)},
    )


def _entries(desk: Desk, seen: Desk) -> Iterator[Entry]:
    unseen: dict[str, bool] = {}
    for entry in desk.index.entries:
        kind = entry.ref.kind
        if not seen.sight.covers(entry.ref):
            continue
        if kind not in unseen:
            unseen[kind] = bool(seen.unseen(kind))
        yield _marked(entry, seen, hidden=unseen[kind])


def _marked(entry: Entry, seen: Desk, *, hidden: bool) -> Entry:
    """An entry with the workloads that are seen; without one, its state is what its status says."""
    marks = tuple(each for each in entry.marks if each[0] in seen.workloads)
    if marks == entry.marks and not (hidden and not marks):
        return entry
    state = gravest(each for _, each in marks)
    if not marks and hidden:
        resource = seen.find(entry.ref)
        told = told_by_status(resource) if resource else None
        state = told[0] if told else State.UNCLEAR
    return replace(entry, marks=marks, state=state, ignored=entry.ignored if marks else 0)
