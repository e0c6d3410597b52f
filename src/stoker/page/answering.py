"""The answers of the page from a desk: what the page of a directory and that of a cluster share.

A shell says where its desk comes from, and lets what takes long be done without holding up others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from stoker.errors import WorkloadError
from stoker.explain.answer import Explanation
from stoker.explain.ask import beside_unseen
from stoker.page.answers import (
    Configuration,
    FailingTarget,
    Items,
    NodesAnswer,
    ObjectAnswer,
    Origin,
    Overview,
    Part,
    ResourceAnswer,
    Row,
    Unknown,
    UnusableObject,
    Viewer,
    WorkloadAnswer,
)
from stoker.page.changes import LastChanges
from stoker.page.desk import Desk
from stoker.page.index import PageSearch
from stoker.page.links import links_of
from stoker.page.nodes import nodes_of
from stoker.page.objects import Stored, object_answer
from stoker.page.parts import PartSearch, found_in, part_of, parts_of, too_long
from stoker.page.refused import (
    beside_refused,
    may_see,
    refused_resource,
    refused_workload,
    with_unusable,
)
from stoker.page.spaces import spaces_of
from stoker.page.wellness import Mistakes, wellness_of
from stoker.page.workloads import ShownWorkload
from stoker.ref import Ref, ref_of
from stoker.select.choice import Resource
from stoker.view.configuration import Layout

AT_ONCE: Final = 2
"""How many answers that take long are made at the same time."""

T = TypeVar("T")


class Answering(ABC):
    """Answers for the page (`stoker.web.page.Pages`)."""

    changes: LastChanges
    """What a shell has seen to change."""

    # --- What a shell says ------------------------------------------------------------------------

    @abstractmethod
    async def _desk(self) -> Desk:
        """All that is at hand now; BusyError if there is nothing yet."""

    @abstractmethod
    def _origin(self, desk: Desk) -> Origin:
        """What is looked at."""

    @abstractmethod
    def _problems(self) -> Iterable[UnusableObject]:
        """What could not be read, or would be refused."""

    @abstractmethod
    async def _stored(self, desk: Desk, ref: Ref) -> Stored | None:
        """An object as it is kept; None if it is gone."""

    def _place(self, _desk: Desk, _ref: Ref, _path: str = "") -> str:
        """Where an object, or a field of it, is written; empty where that is not known."""
        return ""

    async def _failing(self, _desk: Desk, _found: Resource) -> Iterable[FailingTarget]:
        """Targets of a resource that are known to fail."""
        return ()

    async def _settled(self, desk: Desk, work: Callable[[Desk], T]) -> T:
        """Have something found out that asks for Services, pods and nodes."""
        return await self._aside(lambda: work(desk))

    @abstractmethod
    async def _rows(self, desk: Desk) -> Iterable[Row]:
        """All workloads."""

    @abstractmethod
    async def _listed(self, desk: Desk, query: PageSearch) -> Items:
        """Some resources."""

    @abstractmethod
    async def _explained(self, desk: Desk, found: Resource) -> Explanation:
        """One resource."""

    @abstractmethod
    def _layout(self, desk: Desk, shown: ShownWorkload) -> Layout:
        """A configuration in parts; WorkloadError where there is none."""

    @abstractmethod
    async def _aside(self, work: Callable[[], T]) -> T:
        """Have something done that takes long, and looks at nothing that changes meanwhile."""

    # --- Answers ----------------------------------------------------------------------------------

    async def overview(self) -> Overview:
        """Everything at a glance."""
        desk = await self._desk()
        rows, problems = tuple(await self._rows(desk)), self._unusable(desk)
        misspelt = tuple(desk.misspelt(lambda ref, path: self._place(desk, ref, path)))
        mistakes, whole = Mistakes(len(problems), len(misspelt)), desk.sight.is_whole
        state, headline = wellness_of(rows, desk.index.totals, mistakes, all_seen=whole)
        return Overview(
            source=self._origin(desk),
            state=state,
            headline=headline,
            workloads=rows,
            resources=desk.index.totals,
            problems=problems,
            misspelt=misspelt,
            namespaces=spaces_of(desk.index.inside, rows, problems),
            changes=self.changes.newest(desk.sight),
            viewer=self._viewer(desk),
        )

    def _viewer(self, _desk: Desk) -> Viewer | None:
        """Who looks; None where nobody needs to say it."""
        return None

    def _unusable(self, desk: Desk) -> tuple[UnusableObject, ...]:
        """What may be seen of that which cannot be used."""
        return tuple(each for each in self._problems() if may_see(desk.sight, each))

    async def resources(self, query: PageSearch) -> Items:
        """Some resources, and what matches among those that cannot be used."""
        desk = await self._desk()
        return with_unusable(await self._listed(desk, query), query, self._unusable(desk))

    async def resource(self, kind: str, namespace: str, name: str) -> ResourceAnswer | Unknown:
        """All about a resource."""
        desk = await self._desk()
        found = desk.find(Ref(kind, namespace, name))
        if found is None:
            refused = refused_resource(self._unusable(desk), desk.revision, kind, namespace, name)
            return refused or await self._unknown(desk, kind, namespace, name)
        explanation = await self._explained(desk, found)
        explanation = beside_unseen(explanation, found, desk.unseen(kind))
        users = list(desk.users(found))
        return ResourceAnswer(
            revision=desk.revision,
            explanation=beside_refused(explanation, self._unusable(desk)),
            labels=found.metadata.labels or {},
            workloads=tuple(each.title for each in users),
            place=self._place(desk, ref_of(found)),
            links=tuple(link for each in users for link in links_of(each.workload, found)),
            failing=tuple(await self._failing(desk, found)),
        )

    async def workload(self, kind: str, namespace: str, name: str) -> WorkloadAnswer | Unknown:
        """All about a workload."""
        desk = await self._desk()
        shown = desk.workload(kind, namespace, name)
        if shown is None:
            refused = refused_workload(self._unusable(desk), desk.revision, kind, namespace, name)
            return refused or await self._unknown(desk, kind, namespace, name)
        return WorkloadAnswer(
            revision=desk.revision,
            workload=desk.row(shown),
            explanation=desk.explained(shown),
            resources=await self._listed(desk, PageSearch(workload=shown.title)),
            place=self._place(desk, ref_of(shown.workload)),
            links=tuple(links_of(shown.workload)),
            on_nodes=getattr(shown.workload.spec, "mode", None) == "DaemonSet",
        )

    async def object(self, kind: str, namespace: str, name: str) -> ObjectAnswer | Unknown:
        """An object itself."""
        desk, ref = await self._desk(), Ref(kind, namespace, name)
        refused = any(each.subject == str(ref) for each in self._unusable(desk))
        known = desk.workload(kind, namespace, name) or desk.find(ref) or refused
        found = await self._stored(desk, ref) if known else None
        if found is None:
            return await self._unknown(desk, kind, namespace, name)
        return object_answer(found, desk.revision)

    async def nodes(self, kind: str, namespace: str, name: str) -> NodesAnswer | Unknown:
        """Which nodes an agent covers."""
        desk = await self._desk()
        shown = desk.workload(kind, namespace, name)
        if shown is None:
            return await self._unknown(desk, kind, namespace, name)
        return await self._settled(desk, lambda seen: nodes_of(seen, shown))

    async def configuration(
        self, kind: str, namespace: str, name: str, wanted: PartSearch
    ) -> Configuration | Unknown:
        """Some parts of the configuration of a workload."""
        desk = await self._desk()
        shown = desk.workload(kind, namespace, name)
        if shown is None:
            return await self._unknown(desk, kind, namespace, name)
        return await self._aside(lambda: self._parts(desk, shown, wanted))

    def _parts(self, desk: Desk, shown: ShownWorkload, wanted: PartSearch) -> Configuration:
        revision = desk.revision
        try:
            layout = self._layout(desk, shown)
        except WorkloadError as error:
            note = f"there is none: {error}"
            return Configuration(revision=revision, total=0, offset=0, parts=(), note=note)
        places = found_in(layout, wanted.q)
        chosen = places[wanted.offset : wanted.offset + wanted.limit]
        parts = tuple(parts_of(layout, chosen, self.changes.times()))
        note = too_long(layout) if wanted.q else ""
        return Configuration(
            revision=revision, total=len(places), offset=wanted.offset, parts=parts, note=note
        )

    async def part(self, kind: str, namespace: str, name: str, title: str) -> Part | Unknown:
        """One part of it, whole."""
        desk = await self._desk()
        shown = desk.workload(kind, namespace, name)
        if shown is None:
            return await self._unknown(desk, kind, namespace, name)
        return await self._aside(lambda: self._part(desk, shown, title))

    def _part(self, desk: Desk, shown: ShownWorkload, title: str) -> Part | Unknown:
        missing = Unknown(error=f"the configuration has no part {title}")
        try:
            layout = self._layout(desk, shown)
        except WorkloadError:
            return missing
        place = layout.titled(title)
        return missing if place is None else part_of(layout, place, whole=True)

    async def _unknown(self, desk: Desk, kind: str, namespace: str, name: str) -> Unknown:
        return await self._aside(lambda: desk.unknown(kind, namespace, name))
