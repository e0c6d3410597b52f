"""A directory for the status page: looked at again and again, decided when something changed.

Reading and deciding happen in a thread; the page is answered meanwhile with what was known before.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

from msgspec import Struct

from stoker.explain.answer import Explanation
from stoker.explain.resource import explained
from stoker.logs import logger
from stoker.offline.surroundings import view_of
from stoker.offline.watched import Folder
from stoker.offline.world import Place, World
from stoker.page.answering import AT_ONCE, Answering
from stoker.page.answers import BusyError, Items, Origin, Row, UnusableObject
from stoker.page.changes import LastChanges
from stoker.page.decided import decided
from stoker.page.desk import Desk
from stoker.page.index import PageSearch
from stoker.page.objects import Stored
from stoker.page.overview import items_of
from stoker.page.workloads import ShownWorkload
from stoker.ref import Ref
from stoker.select.choice import Resource
from stoker.select.workload import Workload
from stoker.settings import OperatorSettings
from stoker.status.conditions import timestamp
from stoker.view.configuration import Layout

T = TypeVar("T")

_LOOK_SECONDS: Final = 0.5
# A folder that takes long to look through is looked at less often.
_SHARE: Final = 4
_PATIENCE_SECONDS: Final = 60.0


class _State(Struct, frozen=True):
    """A directory as it was at one moment."""

    desk: Desk
    problems: tuple[UnusableObject, ...]
    places: Mapping[Ref, Place]
    misspelt: Mapping[Ref, str]
    objects: tuple[Workload | Resource, ...]


class DirectoryPages(Answering):
    """Answers for the page from manifests (`stoker.web.page.Pages`), while `run` runs."""

    def __init__(self, path: str, settings: OperatorSettings, exclude: Sequence[str] = ()) -> None:
        self._folder = Folder(path, exclude)
        self._settings = settings
        self._log = logger("page")
        self._ready = asyncio.Event()
        self._state: _State | None = None
        self._note = ""
        self._gate = asyncio.Semaphore(AT_ONCE)
        self.changes = LastChanges()
        self.revision = 0

    async def run(self) -> None:
        """Take up every change until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            begun = clock()
            changed = await asyncio.to_thread(self._folder.look)
            took = clock() - begun
            if changed or self._state is None:
                await self._take_up()
                took = 0.0
            await asyncio.sleep(max(_LOOK_SECONDS, _SHARE * took))

    async def first_look(self, running: "asyncio.Future[None]") -> None:
        """Wait until everything was read for the first time, or `run` ended."""
        ready = asyncio.ensure_future(self._ready.wait())
        try:
            await asyncio.wait((ready, running), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()

    async def _take_up(self) -> None:
        """Decide again; a fault of ours leaves what was there."""
        before = self._state
        try:
            self._state = await asyncio.to_thread(self._decided, self.revision + 1)
            self._note = ""
            if before:
                now = timestamp(datetime.now(UTC))
                self.changes.compared(before.objects, self._state.objects, now)
        except Exception as error:
            self._log.error("cannot take up a change", error=type(error).__name__)
            self._note = "the last change could not be taken up: a fault in stoker"
        self.revision += 1
        self._ready.set()

    def _decided(self, revision: int) -> _State:
        world, problems = self._folder.world()
        desk = desk_of(world, self._settings, revision)
        objects = (*world.workloads, *world.resources)
        dropped = ((ref, paths[0]) for ref, paths in world.dropped.items())
        misspelt = {ref: self._folder.told(world.places[ref], path) for ref, path in dropped}
        return _State(desk, problems, world.places, misspelt, objects)

    # --- Answers ----------------------------------------------------------------------------------

    async def _desk(self) -> Desk:
        return (await self._known()).desk

    def _origin(self, _desk: Desk) -> Origin:
        return Origin(
            kind="directory", name=self._folder.name, revision=self.revision, note=self._note
        )

    def _problems(self) -> Iterable[UnusableObject]:
        return self._state.problems if self._state else ()

    def _place(self, _desk: Desk, ref: Ref, path: str = "") -> str:
        found = self._state.places.get(ref) if self._state else None
        if path and self._state:
            return self._state.misspelt.get(ref, "")
        return self._folder.told(found) if found else ""

    async def _stored(self, _desk: Desk, ref: Ref) -> Stored | None:
        """A manifest as it is written now."""
        state = await self._known()
        refused = (each.source for each in state.problems if each.subject == str(ref))
        return await asyncio.to_thread(
            self._folder.stored, ref, state.places.get(ref), next(refused, "")
        )

    async def _rows(self, desk: Desk) -> Iterable[Row]:
        return desk.rows()

    async def _listed(self, desk: Desk, query: PageSearch) -> Items:
        return await asyncio.to_thread(_listed, desk, query)

    async def _explained(self, desk: Desk, found: Resource) -> Explanation:
        return await self._aside(lambda: explained(desk.view, found))

    def _layout(self, desk: Desk, shown: ShownWorkload) -> Layout:
        return desk.layout(shown, desk.view.assets)

    async def _known(self) -> _State:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            pass
        if self._state is None:
            raise BusyError(self._note or "the directory is still being read")
        return self._state

    async def _aside(self, work: Callable[[], T]) -> T:
        async with self._gate:
            return await asyncio.to_thread(work)


def _listed(desk: Desk, query: PageSearch) -> Items:
    found = desk.index.found(query)
    return items_of(desk.revision, query, found, desk.items(query, found))


def desk_of(world: World, settings: OperatorSettings, revision: int) -> Desk:
    """Everything decided: once for each workload."""
    return decided(view_of(world, settings), revision)
