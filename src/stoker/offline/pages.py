"""A directory for the status page: looked at again and again, decided when something changed.

Reading and deciding happen in a thread; the page is answered meanwhile with what was known before.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Struct

from stoker.consolidate import stand_ins_of
from stoker.decide import OWN, Decision, decide, key_of
from stoker.errors import WorkloadError
from stoker.explain.resource import explained
from stoker.explain.selecting import not_managed
from stoker.explain.standings import title_of
from stoker.explain.view import View
from stoker.generate.fragments import ResourceKey
from stoker.logs import logger
from stoker.offline.surroundings import view_of
from stoker.offline.watched import Folder
from stoker.offline.world import World
from stoker.page.answers import (
    BusyError,
    Configuration,
    Items,
    Origin,
    Overview,
    Part,
    Problem,
    ResourceAnswer,
    Unknown,
    WorkloadAnswer,
)
from stoker.page.desk import Desk
from stoker.page.index import IndexMaker, Query
from stoker.page.judged import Judged, held_by
from stoker.page.overview import items_of
from stoker.page.refused import beside_refused, refused_resource, refused_workload
from stoker.select.choice import SELECTED_KINDS, Candidate
from stoker.select.namespaces import scope_of
from stoker.select.workload import Owner
from stoker.settings import OperatorSettings

T = TypeVar("T")

_LOOK_SECONDS: Final = 0.5
# A folder that takes long to look through is looked at less often.
_SHARE: Final = 4
_PATIENCE_SECONDS: Final = 60.0
_EXPLAINED_AT_ONCE: Final = 2


class _State(Struct, frozen=True):
    """A directory as it was at one moment."""

    desk: Desk
    problems: tuple[Problem, ...]


class DirectoryPages:
    """Answers for the page from manifests (`stoker.web.page.Pages`), while `run` runs."""

    def __init__(self, path: str, settings: OperatorSettings) -> None:
        self._folder = Folder(path)
        self._settings = settings
        self._log = logger("page")
        self._ready = asyncio.Event()
        self._state: _State | None = None
        self._note = ""
        self._gate = asyncio.Semaphore(_EXPLAINED_AT_ONCE)
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

    async def _take_up(self) -> None:
        """Decide anew; a fault of ours leaves what was there."""
        try:
            self._state = await asyncio.to_thread(self._decided, self.revision + 1)
            self._note = ""
        except Exception as error:
            self._log.error("cannot take up a change", error=type(error).__name__)
            self._note = "the last change could not be taken up: a fault in stoker"
        self.revision += 1
        self._ready.set()

    def _decided(self, revision: int) -> _State:
        world, problems = self._folder.world()
        return _State(desk_of(world, self._settings, revision), problems)

    # --- Answers ----------------------------------------------------------------------------------

    async def overview(self) -> Overview:
        """Everything at a glance."""
        state = await self._known()
        return Overview(
            source=Origin(
                kind="directory", name=self._folder.name, revision=self.revision, note=self._note
            ),
            workloads=tuple(state.desk.rows()),
            resources=state.desk.index.totals,
            problems=state.problems,
        )

    async def resources(self, query: Query) -> Items:
        """Some resources."""
        desk = (await self._known()).desk
        return await asyncio.to_thread(_listed, desk, query)

    async def resource(self, kind: str, namespace: str, name: str) -> ResourceAnswer | Unknown:
        """All about a resource."""
        state = await self._known()
        desk = state.desk
        found = desk.find(kind, namespace, name)
        if found is None:
            refused = refused_resource(state.problems, desk.revision, kind, namespace, name)
            return refused or desk.unknown(kind, namespace, name)
        explanation = await self._aside(lambda: explained(desk.view, found))
        return ResourceAnswer(
            revision=desk.revision,
            explanation=beside_refused(explanation, state.problems),
            labels=found.metadata.labels or {},
            workloads=tuple(each.title for each in desk.users(found)),
        )

    async def workload(self, kind: str, namespace: str, name: str) -> WorkloadAnswer | Unknown:
        """All about a workload."""
        state = await self._known()
        desk = state.desk
        judged = desk.judged.get(f"{kind} {namespace}/{name}")
        if judged is None:
            refused = refused_workload(state.problems, desk.revision, kind, namespace, name)
            return refused or desk.unknown(kind, namespace, name)
        listed = await asyncio.to_thread(_listed, desk, Query(workload=judged.title))
        return WorkloadAnswer(
            revision=desk.revision,
            workload=desk.row(judged),
            explanation=desk.explained(judged),
            resources=listed,
        )

    async def configuration(
        self, kind: str, namespace: str, name: str, offset: int, limit: int
    ) -> Configuration | Unknown:
        """Some parts of the configuration of a workload."""
        desk = (await self._known()).desk
        judged = desk.judged.get(f"{kind} {namespace}/{name}")
        if judged is None:
            return desk.unknown(kind, namespace, name)
        return await self._aside(lambda: _configuration(desk, judged, offset, limit))

    async def part(self, kind: str, namespace: str, name: str, title: str) -> Part | Unknown:
        """One part of it, whole."""
        desk = (await self._known()).desk
        judged = desk.judged.get(f"{kind} {namespace}/{name}")
        if judged is None:
            return desk.unknown(kind, namespace, name)
        return await self._aside(lambda: _part(desk, judged, title))

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


def _listed(desk: Desk, query: Query) -> Items:
    found = desk.index.found(query)
    return items_of(desk.revision, query, found, desk.items(query, found))


def _configuration(desk: Desk, judged: Judged, offset: int, limit: int) -> Configuration:
    try:
        layout = desk.layout(judged, desk.view.assets)
    except WorkloadError as error:
        return Configuration(
            revision=desk.revision, total=0, offset=0, parts=(), note=f"there is none: {error}"
        )
    return Configuration(
        revision=desk.revision,
        total=len(layout.places),
        offset=offset,
        parts=tuple(layout.parts(offset, limit)),
    )


def _part(desk: Desk, judged: Judged, title: str) -> Part | Unknown:
    missing = Unknown(error=f"the configuration has no part {title}")
    try:
        layout = desk.layout(judged, desk.view.assets)
    except WorkloadError:
        return missing
    place = layout.titled(title)
    return missing if place is None else layout.part(place, whole=True)


# --- What became of a directory -------------------------------------------------------------------


def desk_of(world: World, settings: OperatorSettings, revision: int) -> Desk:
    """Everything decided: once for each workload."""
    view = view_of(world, settings)
    scopes = {kind.name: scope_of(kind.name, settings.namespaces) for kind in SELECTED_KINDS}
    seen = [
        each
        for each in world.resources
        if scopes[type(each).__name__].covers(each.metadata.namespace or "")
    ]
    judged = {title_of(each): _judged(view, each, seen) for each in world.workloads}
    users: defaultdict[ResourceKey, list[Judged]] = defaultdict(list)
    for title in sorted(judged):
        for key in judged[title].verdicts:
            users[key].append(judged[title])
    known = {key_of(each): each for each in world.resources}
    maker = IndexMaker(lambda resource: users.get(key_of(resource), ()))
    for resource in world.resources:
        maker.add(resource)

    def find(kind: str, namespace: str, name: str) -> Candidate | None:
        return known.get((kind, f"{namespace}/{name}"))

    return Desk(
        revision=revision,
        view=view,
        judged=judged,
        users=lambda resource: users.get(key_of(resource), ()),
        index=maker.made({title: each.kinds for title, each in judged.items()}),
        find=find,
        stand_ins=stand_ins_of if settings.consolidate_monitors else None,
    )


def _judged(view: View, owner: Owner, seen: list[Candidate]) -> Judged:
    title = title_of(owner)
    if not_managed(view, owner):
        return Judged(owner=owner, title=title, version=owner.spec.version or "")
    made = decide(owner, seen, view.namespaces, view.assets, view.capabilities)
    return Judged(
        owner=owner,
        title=title,
        version=made.version or owner.spec.version or "",
        verdicts={
            key_of(each.resource): (each, made.ignored.get(key_of(each.resource), ()))
            for each in made.verdicts
        },
        problem=made.problem,
        held=held_by(owner, view.settings, made.problem),
        ignored=made.ignored.get(OWN, ()),
        notes=made.notes,
        rule_files=_rule_files(made),
    )


def _rule_files(made: Decision) -> int:
    return max(1, len(getattr(made.contents, "rule_files", ())))
