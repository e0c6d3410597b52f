"""The status page of the running operator: what its loops keep anyway, shown when somebody looks.

Verdicts are those that were published, configurations are written again part by part with Secrets'
values only named, and an explanation reads what it needs then. Nothing is decided anew. The index
of all resources is made when it is asked for, a few at a time, so that the loops go on meanwhile;
when nobody has looked for a while it is thrown away.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from stoker.errors import WorkloadError
from stoker.explain.answer import Explanation
from stoker.explain.resource import explained
from stoker.explain.view import View
from stoker.kube.errors import ApiError
from stoker.page.answers import (
    BusyError,
    Configuration,
    Items,
    Origin,
    Overview,
    Part,
    ResourceAnswer,
    Unknown,
    WorkloadAnswer,
)
from stoker.page.desk import Desk
from stoker.page.index import Query
from stoker.page.overview import items_of
from stoker.page.refused import beside_refused, refused_resource, refused_workload
from stoker.run.asking import Around
from stoker.run.looking import Inside, Looking, chopped
from stoker.run.values import Values
from stoker.select.choice import Candidate

T = TypeVar("T")

_IDLE_SECONDS: Final = 60.0
_BESIDE_SECONDS: Final = 0.5
_EXPLAINED_AT_ONCE: Final = 2
_ITEMS_AT_ONCE: Final = 16
_MOST_WAITING: Final = 16
_DEADLINE_SECONDS: Final = 15.0


class ClusterPages:
    """Answers for the page from a running operator (`stoker.web.page.Pages`)."""

    def __init__(self, inside: Inside) -> None:
        self._judgements = inside.judgements
        self._tools = inside.tools
        self._looking = Looking(inside)
        self._changes = 0
        # What changes without an event, as it was when last looked at, and when to look again.
        self._beside: tuple[str, ...] = ()
        self._look_again = 0.0
        self._desk: Desk | None = None
        self._making = asyncio.Lock()
        self._forgetting: asyncio.TimerHandle | None = None
        self._gate = asyncio.Semaphore(_EXPLAINED_AT_ONCE)
        self._waiting = 0
        self._looking.listen(self._changed)

    def _changed(self, _old: object, _new: object) -> None:
        self._changes += 1

    @property
    def revision(self) -> int:
        """Another number whenever an answer may be another one."""
        now = asyncio.get_running_loop().time()
        if now >= self._look_again:
            self._look_again = now + _BESIDE_SECONDS
            beside = self._looking.beside()
            self._changes += beside != self._beside
            self._beside = beside
        return self._changes + self._judgements.revision

    # --- Answers ----------------------------------------------------------------------------------

    async def overview(self) -> Overview:
        """Everything at a glance."""
        desk = await self._made()
        origin = Origin(
            kind="cluster",
            name=self._tools.client.access.server,
            revision=desk.revision,
            note=self._looking.note(),
        )
        return Overview(
            source=origin,
            workloads=tuple(await chopped(desk.rows())),
            resources=desk.index.totals,
            problems=tuple(self._looking.problems()),
        )

    async def resources(self, query: Query) -> Items:
        """Some resources."""
        return await _listed(await self._made(), query)

    async def workload(self, kind: str, namespace: str, name: str) -> WorkloadAnswer | Unknown:
        """All about a workload."""
        desk = await self._made()
        judged = desk.judged.get(f"{kind} {namespace}/{name}")
        if judged is None:
            problems = self._looking.problems()
            refused = refused_workload(problems, desk.revision, kind, namespace, name)
            return refused or await self._unknown(desk, kind, namespace, name)
        return WorkloadAnswer(
            revision=desk.revision,
            workload=desk.row(judged),
            explanation=desk.explained(judged),
            resources=await _listed(desk, Query(workload=judged.title)),
        )

    async def resource(self, kind: str, namespace: str, name: str) -> ResourceAnswer | Unknown:
        """All about a resource; what its explanation needs is read now."""
        desk = await self._made()
        found = desk.find(kind, namespace, name)
        if found is None:
            problems = self._looking.problems()
            refused = refused_resource(problems, desk.revision, kind, namespace, name)
            return refused or await self._unknown(desk, kind, namespace, name)
        async with self._turn():
            explanation = await self._explained(found)
        return ResourceAnswer(
            revision=desk.revision,
            explanation=beside_refused(explanation, self._looking.problems()),
            labels=found.metadata.labels or {},
            workloads=tuple(each.title for each in desk.users(found)),
        )

    async def configuration(
        self, kind: str, namespace: str, name: str, offset: int, limit: int
    ) -> Configuration | Unknown:
        """Some parts of the configuration of a workload."""
        desk = await self._made()
        judged = desk.judged.get(f"{kind} {namespace}/{name}")
        if judged is None:
            return await self._unknown(desk, kind, namespace, name)

        def made() -> Configuration:
            layout = self._looking.layout(desk, judged)
            return Configuration(
                revision=desk.revision,
                total=len(layout.places),
                offset=offset,
                parts=tuple(layout.parts(offset, limit)),
            )

        try:
            return await self._aside(made)
        except WorkloadError as error:
            note = f"there is none: {error}"
            return Configuration(revision=desk.revision, total=0, offset=0, parts=(), note=note)

    async def part(self, kind: str, namespace: str, name: str, title: str) -> Part | Unknown:
        """One part of it, whole."""
        desk = await self._made()
        judged = desk.judged.get(f"{kind} {namespace}/{name}")
        if judged is None:
            return await self._unknown(desk, kind, namespace, name)

        def made() -> Part | None:
            layout = self._looking.layout(desk, judged)
            place = layout.titled(title)
            return None if place is None else layout.part(place, whole=True)

        try:
            found = await self._aside(made)
        except WorkloadError:
            found = None
        return found or Unknown(error=f"the configuration has no part {title}")

    async def _unknown(self, desk: Desk, kind: str, namespace: str, name: str) -> Unknown:
        return await self._aside(lambda: desk.unknown(kind, namespace, name))

    # --- What takes long --------------------------------------------------------------------------

    async def _aside(self, work: Callable[[], T]) -> T:
        """Work that looks at nothing which the loops change."""
        async with self._turn():
            return await asyncio.to_thread(work)

    @asynccontextmanager
    async def _turn(self) -> Any:
        """Few at a time, and nobody for long; BusyError for those that are too many or too slow."""
        if self._waiting >= _MOST_WAITING:
            raise BusyError("too many questions at once; try again")
        self._waiting += 1
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS), self._gate:
                yield
        except TimeoutError:
            raise BusyError("the answer took too long; try again") from None
        finally:
            self._waiting -= 1

    async def _explained(self, found: Candidate) -> Explanation:
        client = self._tools.status_client
        values = Values(client, self._tools.caches.is_absent)
        around, assets = Around(client, "the operator"), values.view()
        view = replace(self._looking.view(), resources=(found,), assets=assets, surroundings=around)
        try:
            return await _settled(view, found, around.load, lambda: values.load(assets))
        except ApiError as error:
            raise BusyError(f"the API server does not tell: {error}") from None

    # --- All that is at hand ----------------------------------------------------------------------

    async def _made(self) -> Desk:
        """The desk as things are now; what was made for others is used as long as it is true."""
        async with self._making:
            revision = self.revision
            if self._desk is None or self._desk.revision != revision:
                self._desk = await self._looking.desk(revision, self._desk)
            self._forget_later()
            return self._desk

    def _forget_later(self) -> None:
        if self._forgetting:
            self._forgetting.cancel()
        loop = asyncio.get_running_loop()
        self._forgetting = loop.call_later(_IDLE_SECONDS, self._forget)

    def _forget(self) -> None:
        self._desk = None


async def _settled(
    view: View,
    found: Candidate,
    *loads: Callable[[], Awaitable[object]],
) -> Explanation:
    """An explanation that asks for nothing more."""
    while True:
        made = await asyncio.to_thread(explained, view, found)
        if not any([await load() for load in loads]):
            return made


async def _listed(desk: Desk, query: Query) -> Items:
    found = await asyncio.to_thread(desk.index.found, query)
    items = await chopped(desk.items(query, found), _ITEMS_AT_ONCE)
    return items_of(desk.revision, query, found, items)
