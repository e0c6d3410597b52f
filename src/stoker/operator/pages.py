"""The status page of the running operator: what its loops keep anyway, shown when somebody looks.

Verdicts are those that were published, configurations are written again part by part with Secrets'
values only named, and an explanation reads what it needs then. Nothing is decided anew. The index
of all resources is made when it is asked for, a few at a time, so that the loops go on meanwhile;
when nobody has looked for a while it is thrown away.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from stoker.cluster.values import Values
from stoker.explain.answer import Explanation
from stoker.explain.resource import explained
from stoker.kube.errors import ApiError
from stoker.operator.looking import Inside, Looking, chopped
from stoker.page.answering import AT_ONCE, Answering
from stoker.page.answers import BusyError, Items, Origin, Problem, Row
from stoker.page.desk import Desk
from stoker.page.index import Query
from stoker.page.judged import Judged
from stoker.page.overview import items_of
from stoker.select.choice import Resource
from stoker.view.configuration import Layout
from stoker.view.view import View

T = TypeVar("T")

_IDLE_SECONDS: Final = 60.0
_BESIDE_SECONDS: Final = 0.5
_ITEMS_AT_ONCE: Final = 16
_MOST_WAITING: Final = 16
_DEADLINE_SECONDS: Final = 15.0


class ClusterPages(Answering):
    """Answers for the page from a running operator (`stoker.web.page.Pages`)."""

    def __init__(self, inside: Inside) -> None:
        self._judgements = inside.judgements
        self._tools = inside.tools
        self._looking = Looking(inside)
        self._changes = 0
        # What changes without an event, as it was when last looked at, and when to look again.
        self._beside: tuple[str, ...] = ()
        self._look_again = 0.0
        self._kept: Desk | None = None
        self._making = asyncio.Lock()
        self._forgetting: asyncio.TimerHandle | None = None
        self._gate = asyncio.Semaphore(AT_ONCE)
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

    def _origin(self, desk: Desk) -> Origin:
        return Origin(
            kind="cluster",
            name=self._tools.client.access.server,
            revision=desk.revision,
            note=self._looking.note(),
        )

    def _problems(self) -> Iterable[Problem]:
        return self._looking.problems()

    async def _rows(self, desk: Desk) -> Iterable[Row]:
        return await chopped(desk.rows())

    async def _listed(self, desk: Desk, query: Query) -> Items:
        found = await asyncio.to_thread(desk.index.found, query)
        items = await chopped(desk.items(query, found), _ITEMS_AT_ONCE)
        return items_of(desk.revision, query, found, items)

    def _layout(self, desk: Desk, judged: Judged) -> Layout:
        return self._looking.layout(desk, judged)

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

    async def _explained(self, _desk: Desk, found: Resource) -> Explanation:
        """One resource; what its explanation needs is read now."""
        async with self._turn():
            return await self._read_and_explained(found)

    async def _read_and_explained(self, found: Resource) -> Explanation:
        client = self._tools.status_client
        values = Values(client, self._tools.caches.is_absent)
        around, assets = self._looking.around(), values.view()
        view = replace(self._looking.view(), resources=(found,), assets=assets, surroundings=around)
        try:
            return await _settled(view, found, around.load, lambda: values.load(assets))
        except ApiError as error:
            raise BusyError(f"the API server does not tell: {error}") from None

    # --- All that is at hand ----------------------------------------------------------------------

    async def _desk(self) -> Desk:
        """The desk as things are now; what was made for others is used as long as it is true."""
        async with self._making:
            revision = self.revision
            if self._kept is None or self._kept.revision != revision:
                self._kept = await self._looking.desk(revision, self._kept)
            self._forget_later()
            return self._kept

    def _forget_later(self) -> None:
        if self._forgetting:
            self._forgetting.cancel()
        loop = asyncio.get_running_loop()
        self._forgetting = loop.call_later(_IDLE_SECONDS, self._forget)

    def _forget(self) -> None:
        self._kept = None


async def _settled(
    view: View,
    found: Resource,
    *loads: Callable[[], Awaitable[object]],
) -> Explanation:
    """An explanation that asks for nothing more."""
    while True:
        made = await asyncio.to_thread(explained, view, found)
        if not any([await load() for load in loads]):
            return made
