"""What the operator keeps of one workload between changes.

`stoker.decide` does the work; here changes are fed to it, and the values that it asks for are
read. Large numbers of resources, as at the start, are fed a few at a time, so that the event loop
serves everybody else in between.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final, TypeVar

from stoker.decide import Kept, kept_of, key_of
from stoker.generate.fragments import StandIns
from stoker.run.triggers import Changes
from stoker.run.values import Values, View
from stoker.select.choice import Candidate
from stoker.select.members import ObjectKey
from stoker.select.references import ObjectKey as Referenced
from stoker.select.workload import Owner
from stoker.settings import Capabilities

T = TypeVar("T")

_AT_ONCE: Final = 64


class Held:
    """One workload. `find` gives a resource as it is now, None if there is none.

    `placed` tells whether its rules have been laid out over ConfigMaps.
    """

    def __init__(
        self,
        values: Values,
        find: Callable[[ObjectKey], Candidate | None],
        capabilities: Capabilities,
        stand_ins: StandIns | None = None,
    ) -> None:
        self._stand_ins = stand_ins
        self._values = values
        self._find = find
        self._capabilities = capabilities
        self.kept: Kept | None = None
        self.placed = False
        # What is being looked for, or was when that failed: nothing that is kept tells of it.
        self._asked: AbstractSet[Referenced] = frozenset()
        # What we were not allowed to read.
        self._refused: AbstractSet[Referenced] = frozenset()

    async def refresh(self, owner: Owner, changes: Changes, members: frozenset[ObjectKey]) -> Kept:
        """Take up what changed; WorkloadError where the workload itself cannot be read."""
        view = self._values.view()
        # What could not be read counted as missing, so whoever asked for it must look again.
        missed, self._asked = self._asked | self._allowed(), view.asked
        view.asked |= missed
        kept = await self._set_workload(owner, changes, view)
        gone, present = self._stale(kept, changes, members)
        for key in gone:
            kept.remove(key, view)
        for some in _some(sorted(present)):
            found = (self._find(key) for key in some)
            kept.put_all({key_of(each): each for each in found if each is not None}, view)
            await asyncio.sleep(0)
        if changes.values or missed:
            kept.touched(changes.values | missed, view)
        await self._read(kept, view)
        refused = filter(self._values.is_refused, view.asked | self._refused)
        self._asked, self._refused = frozenset(), frozenset(filter(kept.refers_to, refused))
        return kept

    def _allowed(self) -> set[Referenced]:
        """What was refused, and is not any longer or may not be: it is asked for again then."""
        self._values.ask_again(self._asked | self._refused)
        return {key for key in self._refused if not self._values.is_refused(key)}

    @property
    def awaits_permission(self) -> bool:
        """Whether something was looked for that we are not allowed to read."""
        return any(map(self._values.is_refused, self._asked | self._refused))

    def refers_to(self, key: Referenced) -> bool:
        """Whether a Secret or ConfigMap was looked for, whether or not it exists."""
        return key in self._asked or (self.kept is not None and self.kept.refers_to(key))

    async def _set_workload(self, owner: Owner, changes: Changes, view: View) -> Kept:
        """The workload as it is now; its own additional configuration is read first."""
        if self.kept is None:
            changes.members = True
            return await self._begun(owner, view)
        if changes.own:
            # All fragments may have to be made again, which takes a while with thousands of them.
            await asyncio.to_thread(self.kept.set_workload, owner, view)
        return self.kept

    async def _begun(self, owner: Owner, view: View) -> Kept:
        while True:
            kept = kept_of(owner, self._capabilities, view, self._stand_ins)
            if not view.unread:
                self.kept = kept
                return kept
            await self._values.load(view)

    def _stale(
        self, kept: Kept, changes: Changes, members: frozenset[ObjectKey]
    ) -> tuple[list[tuple[str, str]], set[ObjectKey]]:
        """What is to be dropped, and what is to be made (again)."""
        looked_at = set(changes.resources)
        if changes.own or changes.members:
            known = {_object_key(key) for key in kept.verdicts}
            looked_at |= known ^ members
        return [resource_key(key) for key in looked_at - members], looked_at & members

    async def _read(self, kept: Kept, view: View) -> None:
        """Read what was asked for, and let those look again who asked."""
        while view.unread:
            kept.touched(await self._values.load(view), view)


def _some(keys: Sequence[T]) -> Iterator[list[T]]:
    remaining = iter(keys)
    while found := list(islice(remaining, _AT_ONCE)):
        yield found


def _object_key(key: tuple[str, str]) -> ObjectKey:
    kind, name = key
    return ObjectKey(kind, *name.split("/", 1))


def resource_key(key: ObjectKey) -> tuple[str, str]:
    """The key as those who generate have it."""
    return key.kind, f"{key.namespace}/{key.name}"


def object_keys(keys: Iterable[tuple[str, str]]) -> set[ObjectKey]:
    """The keys as those who select have them."""
    return {_object_key(key) for key in keys}
