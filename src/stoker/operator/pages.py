"""The status page of the running operator: what its loops keep anyway, shown when somebody looks.

Verdicts are those that were published, configurations are written again part by part with Secrets'
values only named, and an explanation reads what it needs then. Nothing is decided again. The index
of all resources is made when it is asked for, a few at a time, so that the loops go on meanwhile;
when nobody has looked for a while it is thrown away.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from stoker.cluster.explain import Around, MayDo
from stoker.cluster.stored import stored
from stoker.cluster.values import Values
from stoker.explain.answer import Explanation
from stoker.explain.resource import explained
from stoker.kube.errors import ApiError
from stoker.operator.looking import Inside, Looking, chopped
from stoker.page.answering import AT_ONCE, Answering
from stoker.page.answers import BusyError, FailingTarget, Items, Origin, Row, UnusableObject
from stoker.page.changes import LastChanges
from stoker.page.desk import Desk
from stoker.page.index import PageSearch
from stoker.page.objects import Stored
from stoker.page.overview import items_of
from stoker.page.workloads import ShownWorkload
from stoker.ref import Ref, ref_of
from stoker.select.choice import Resource
from stoker.select.workload import Workload
from stoker.status.conditions import timestamp
from stoker.view.configuration import Layout

T = TypeVar("T")

_IDLE_SECONDS: Final = 60.0
_BESIDE_SECONDS: Final = 0.5
_ITEMS_AT_ONCE: Final = 16
_MOST_WAITING: Final = 16
_DEADLINE_SECONDS: Final = 15.0


class ClusterPages(Answering):
    """Answers for the page from a running operator (`stoker.web.page.Pages`)."""

    def __init__(self, inside: Inside) -> None:
        self._published = inside.published
        self._tools = inside.tools
        self._looking = Looking(inside)
        self._observed = inside.failing
        self.changes = LastChanges()
        self._began = timestamp(inside.tools.now())
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

    def _changed(self, old: Any, new: Any) -> None:
        self._changes += 1
        found = new or old
        # At first everything is new to us, though it was there before.
        known = old is not None or (found.metadata.creation_timestamp or "") >= self._began
        if known and isinstance(found, Workload | Resource):
            self.changes.note(old, new, timestamp(self._tools.now()))

    @property
    def revision(self) -> int:
        """Another number whenever an answer may be another one."""
        now = asyncio.get_running_loop().time()
        if now >= self._look_again:
            self._look_again = now + _BESIDE_SECONDS
            beside = self._looking.beside()
            self._changes += beside != self._beside
            self._beside = beside
        return self._changes + self._published.revision

    # --- Answers ----------------------------------------------------------------------------------

    def _origin(self, desk: Desk) -> Origin:
        return Origin(
            kind="cluster",
            name=self._tools.client.access.server,
            revision=desk.revision,
            note=self._looking.note(),
        )

    def _problems(self) -> Iterable[UnusableObject]:
        return self._looking.problems()

    async def _rows(self, desk: Desk) -> Iterable[Row]:
        return await chopped(desk.rows())

    async def _listed(self, desk: Desk, query: PageSearch) -> Items:
        found = await asyncio.to_thread(desk.index.found, query)
        items = await chopped(desk.items(query, found), _ITEMS_AT_ONCE)
        return items_of(desk.revision, query, found, items)

    def _layout(self, desk: Desk, shown: ShownWorkload) -> Layout:
        return self._looking.layout(desk, shown)

    async def _failing(self, desk: Desk, found: Resource) -> Iterable[FailingTarget]:
        ref = ref_of(found)
        users = (ref_of(shown.workload) for shown in desk.users(found))
        return [each for user in users for each in self._observed(user, ref)]

    async def _stored(self, _desk: Desk, ref: Ref) -> Stored | None:
        return await self.stored(ref)

    async def stored(self, ref: Ref, may: MayDo | None = None) -> Stored | None:
        """An object as the API server has it, with those Events that may be listed."""
        async with self._turn():
            return await stored(self._tools.status_client, ref, may)

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

    async def _explained(self, desk: Desk, found: Resource) -> Explanation:
        """One resource; what its explanation needs is read now."""
        return await self.explained(desk, found, self.around())

    def around(self, may: MayDo | None = None, *, with_nodes: bool = True) -> Around:
        """What is around workloads and resources, as far as it `may` be read."""
        return self._looking.around(may, with_nodes=with_nodes)

    async def explained(self, desk: Desk, found: Resource, around: Around) -> Explanation:
        """One resource of a desk; what is around it is read now."""
        values = Values(self._tools.status_client, self._tools.caches.is_absent)
        assets = values.view()
        view = replace(desk.view, resources=(found,), assets=assets, surroundings=around)
        return await self._asked_for(
            lambda: explained(view, found), around.load, lambda: values.load(assets)
        )

    async def _settled(self, desk: Desk, work: Callable[[Desk], T]) -> T:
        return await self.settled(desk, work, self.around())

    async def settled(self, desk: Desk, work: Callable[[Desk], T], around: Around) -> T:
        """What is found out of a desk; what is around it is read now."""
        asked = replace(desk, view=replace(desk.view, surroundings=around, reaches={}))
        return await self._asked_for(lambda: work(asked), around.load)

    async def _asked_for(self, work: Callable[[], T], *loads: Callable[[], Awaitable[object]]) -> T:
        """The outcome of work that asks for nothing more."""
        async with self._turn():
            try:
                while True:
                    made = await asyncio.to_thread(work)
                    if not any([await load() for load in loads]):
                        return made
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
