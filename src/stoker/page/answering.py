"""The answers of the page from a desk: what the page of a directory and that of a cluster share.

A shell says where its desk comes from, and lets what takes long be done without holding up others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from stoker.errors import WorkloadError
from stoker.explain.answer import Explanation
from stoker.page.answers import (
    Configuration,
    Items,
    Origin,
    Overview,
    Part,
    Problem,
    ResourceAnswer,
    Row,
    Unknown,
    WorkloadAnswer,
)
from stoker.page.desk import Desk
from stoker.page.index import Query
from stoker.page.judged import Judged
from stoker.page.parts import part_of, parts_of
from stoker.page.refused import beside_refused, refused_resource, refused_workload
from stoker.page.wellness import wellness_of
from stoker.ref import Ref
from stoker.select.choice import Resource
from stoker.view.configuration import Layout

AT_ONCE: Final = 2
"""How many answers that take long are made at the same time."""

T = TypeVar("T")


class Answering(ABC):
    """Answers for the page (`stoker.web.page.Pages`)."""

    # --- What a shell says ------------------------------------------------------------------------

    @abstractmethod
    async def _desk(self) -> Desk:
        """All that is at hand now; BusyError if there is nothing yet."""

    @abstractmethod
    def _origin(self, desk: Desk) -> Origin:
        """What is looked at."""

    @abstractmethod
    def _problems(self) -> Iterable[Problem]:
        """What could not be read, or would be refused."""

    @abstractmethod
    async def _rows(self, desk: Desk) -> Iterable[Row]:
        """All workloads."""

    @abstractmethod
    async def _listed(self, desk: Desk, query: Query) -> Items:
        """Some resources."""

    @abstractmethod
    async def _explained(self, desk: Desk, found: Resource) -> Explanation:
        """One resource."""

    @abstractmethod
    def _layout(self, desk: Desk, judged: Judged) -> Layout:
        """A configuration in parts; WorkloadError where there is none."""

    @abstractmethod
    async def _aside(self, work: Callable[[], T]) -> T:
        """Have something done that takes long, and looks at nothing that changes meanwhile."""

    # --- Answers ----------------------------------------------------------------------------------

    async def overview(self) -> Overview:
        """Everything at a glance."""
        desk = await self._desk()
        rows, problems = tuple(await self._rows(desk)), tuple(self._problems())
        state, headline = wellness_of(rows, desk.index.totals, len(problems))
        return Overview(
            source=self._origin(desk),
            state=state,
            headline=headline,
            workloads=rows,
            resources=desk.index.totals,
            problems=problems,
        )

    async def resources(self, query: Query) -> Items:
        """Some resources."""
        return await self._listed(await self._desk(), query)

    async def resource(self, kind: str, namespace: str, name: str) -> ResourceAnswer | Unknown:
        """All about a resource."""
        desk = await self._desk()
        found = desk.find(Ref(kind, namespace, name))
        if found is None:
            refused = refused_resource(self._problems(), desk.revision, kind, namespace, name)
            return refused or await self._unknown(desk, kind, namespace, name)
        explanation = await self._explained(desk, found)
        return ResourceAnswer(
            revision=desk.revision,
            explanation=beside_refused(explanation, self._problems()),
            labels=found.metadata.labels or {},
            workloads=tuple(each.title for each in desk.users(found)),
        )

    async def workload(self, kind: str, namespace: str, name: str) -> WorkloadAnswer | Unknown:
        """All about a workload."""
        desk = await self._desk()
        judged = desk.workload(kind, namespace, name)
        if judged is None:
            refused = refused_workload(self._problems(), desk.revision, kind, namespace, name)
            return refused or await self._unknown(desk, kind, namespace, name)
        return WorkloadAnswer(
            revision=desk.revision,
            workload=desk.row(judged),
            explanation=desk.explained(judged),
            resources=await self._listed(desk, Query(workload=judged.title)),
        )

    async def configuration(
        self, kind: str, namespace: str, name: str, offset: int, limit: int
    ) -> Configuration | Unknown:
        """Some parts of the configuration of a workload."""
        desk = await self._desk()
        judged = desk.workload(kind, namespace, name)
        if judged is None:
            return await self._unknown(desk, kind, namespace, name)
        return await self._aside(lambda: self._parts(desk, judged, offset, limit))

    def _parts(self, desk: Desk, judged: Judged, offset: int, limit: int) -> Configuration:
        revision = desk.revision
        try:
            layout = self._layout(desk, judged)
        except WorkloadError as error:
            note = f"there is none: {error}"
            return Configuration(revision=revision, total=0, offset=0, parts=(), note=note)
        parts = tuple(parts_of(layout, offset, limit))
        return Configuration(
            revision=revision, total=len(layout.places), offset=offset, parts=parts
        )

    async def part(self, kind: str, namespace: str, name: str, title: str) -> Part | Unknown:
        """One part of it, whole."""
        desk = await self._desk()
        judged = desk.workload(kind, namespace, name)
        if judged is None:
            return await self._unknown(desk, kind, namespace, name)
        return await self._aside(lambda: self._part(desk, judged, title))

    def _part(self, desk: Desk, judged: Judged, title: str) -> Part | Unknown:
        missing = Unknown(error=f"the configuration has no part {title}")
        try:
            layout = self._layout(desk, judged)
        except WorkloadError:
            return missing
        place = layout.titled(title)
        return missing if place is None else part_of(layout, place, whole=True)

    async def _unknown(self, desk: Desk, kind: str, namespace: str, name: str) -> Unknown:
        return await self._aside(lambda: desk.unknown(kind, namespace, name))
