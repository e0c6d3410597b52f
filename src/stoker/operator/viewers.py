"""The page as one user may see it: what their own rights in the cluster let them see.

    desk of the operator ──Clearance──> desk of the user ──> answers

Nothing is filtered out of an answer: answers are made of a desk on which there is nothing else.
What is around (Services, pods, nodes, Events) is read as far as the rights of the user allow.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from stoker.cluster.explain import Around
from stoker.explain.answer import Explanation
from stoker.kube.resources import NAMESPACE, NODE, POD
from stoker.operator.pages import ClusterPages
from stoker.operator.rights import RightAsked, Rights
from stoker.page.answering import Answering
from stoker.page.answers import FailingTarget, Items, Origin, Row, UnusableObject, Viewer
from stoker.page.desk import Desk
from stoker.page.health import ref_at
from stoker.page.index import PageSearch
from stoker.page.objects import Stored
from stoker.page.seen import seen_by
from stoker.page.sight import Clearance
from stoker.page.workloads import ShownWorkload
from stoker.ref import Ref, ref_of
from stoker.select.choice import Resource
from stoker.view.configuration import Layout

T = TypeVar("T")

_NOT_AT_WORK: Final = "the operator is not at work; whoever looks after it can see why"
_BITS: Final = 6


class ViewerPages(Answering):
    """Answers for one user (`stoker.web.door.Pages`), from those for everybody."""

    def __init__(self, whole: ClusterPages, rights: Rights) -> None:
        self._whole = whole
        self._rights = rights
        self._secret = secrets.token_bytes(16)
        self._kept: tuple[int, Desk] | None = None
        self.changes = whole.changes

    @property
    def revision(self) -> int:
        """Another number whenever an answer may be; it does not tell how much has happened."""
        number = str(self._whole.revision).encode()
        digest = hashlib.blake2b(number, key=self._secret, digest_size=_BITS)
        return int.from_bytes(digest.digest(), "big")

    # --- What is seen -----------------------------------------------------------------------------

    async def _desk(self) -> Desk:
        desk = await self._whole._desk()
        if self._kept is None or self._kept[0] != desk.revision:
            self._kept = desk.revision, await self._seen(desk)
        return self._kept[1]

    async def _seen(self, desk: Desk) -> Desk:
        sight = await self._rights.sight(_places(desk, self._whole._problems()))
        labels, around = await self._labels(desk, sight), await self._around()
        revision = self.revision
        return await self._whole._aside(lambda: seen_by(desk, sight, revision, labels, around))

    async def _labels(self, desk: Desk, sight: Clearance) -> Mapping[str, Mapping[str, str]]:
        """The labels of those namespaces that may be read."""
        all_of = await self._rights.may("list", NAMESPACE, None)
        found = {}
        for name, labels in desk.view.namespaces.items():
            if all_of or (sight.knows(name) and await self._reads(name)):
                found[name] = labels
        return found

    async def _reads(self, namespace: str) -> bool:
        return await self._rights.allowed(RightAsked("get", NAMESPACE, namespace, namespace))

    def _viewer(self, desk: Desk) -> Viewer:
        return Viewer(user=self._rights.who.username, whole=desk.sight.is_whole)

    # --- Answers ----------------------------------------------------------------------------------

    def _origin(self, desk: Desk) -> Origin:
        """What is looked at; why a replica does not work may name what others have."""
        source = self._whole._origin(desk)
        note = source.note if desk.sight.is_whole or not source.note else _NOT_AT_WORK
        return Origin(kind=source.kind, name=source.name, revision=desk.revision, note=note)

    def _problems(self) -> Iterable[UnusableObject]:
        return self._whole._problems()

    async def _rows(self, desk: Desk) -> Iterable[Row]:
        return await self._whole._rows(desk)

    async def _listed(self, desk: Desk, query: PageSearch) -> Items:
        return await self._whole._listed(desk, query)

    async def _explained(self, desk: Desk, found: Resource) -> Explanation:
        return await self._whole.explained(desk, found, await self._around())

    async def _settled(self, desk: Desk, work: Callable[[Desk], T]) -> T:
        return await self._whole.settled(desk, work, await self._around())

    async def _around(self) -> Around:
        nodes = await self._rights.may("list", NODE, None)
        return self._whole.around(self._rights.may, with_nodes=nodes)

    def _layout(self, desk: Desk, shown: ShownWorkload) -> Layout:
        return self._whole._layout(desk, shown)

    async def _stored(self, _desk: Desk, ref: Ref) -> Stored | None:
        return await self._whole.stored(ref, self._rights.may)

    async def _failing(self, desk: Desk, found: Resource) -> Iterable[FailingTarget]:
        """Addresses of pods are for those who may list pods, wherever these are."""
        if await self._rights.may("list", POD, None):
            return await self._whole._failing(desk, found)
        return ()

    async def _aside(self, work: Callable[[], T]) -> T:
        return await self._whole._aside(work)


def _places(desk: Desk, problems: Iterable[UnusableObject]) -> set[tuple[str, str]]:
    """The kinds and namespaces of all objects, of those that cannot be read, too."""
    found = {(each.ref.kind, each.ref.namespace) for each in desk.index.entries}
    workloads = (ref_of(each.workload) for each in desk.workloads.values())
    refused = (ref_at(each.subject) for each in problems)
    return found | {(ref.kind, ref.namespace) for ref in (*workloads, *refused) if ref.name}
