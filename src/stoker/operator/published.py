"""What all workloads made of resources, for whoever writes, counts or shows it.

A verdict is published when its workload was reconciled, and stays until the next time: while a
workload looks at its resources again, nobody sees half of that. A workload that is paused, or that
cannot be reconciled, keeps what it has, and so do its verdicts; of what it has not judged it is
known why (`Delay`).
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from stoker.cluster.kinds import WORKLOADS
from stoker.kube.client import METADATA_ONLY, Client
from stoker.kube.errors import Forbidden, NotFound
from stoker.operator.caches import Caches
from stoker.plan import FullVerdict, Kept
from stoker.plan.custody import is_for
from stoker.ref import Ref
from stoker.select.members import Members
from stoker.settings import OperatorSettings
from stoker.status.workload import Remark

# No watch tells us when a workload is deleted that the selector leaves out.
_ANOTHERS_FOR: Final = 60.0


class Ownership(Enum):
    """Whose a workload is that somebody names."""

    OURS = "ours"
    GONE = "gone"
    ANOTHERS = "another's"


class Delay(Struct, frozen=True):
    """Why a workload does not judge what it selects, and the resources that report it."""

    cause: Remark
    told: frozenset[Ref]


class PublishedVerdicts:
    """What was published of each workload; `revision` is another one whenever that is."""

    def __init__(
        self, caches: Caches, members: Members, settings: OperatorSettings, client: Client
    ) -> None:
        self._caches = caches
        self._members = members
        self._settings = settings
        self._client = client
        self._published: dict[Ref, dict[Ref, FullVerdict]] = {}
        self._counts: dict[Ref, Counter[tuple[str, bool]]] = {}
        self._delays: dict[Ref, Delay] = {}
        # Until when those that the selector leaves out are taken for another's.
        self._anothers: dict[Ref, float] = {}
        self.revision = 0

    # --- From workloads ---------------------------------------------------------------------------

    def delay(self, workload: Ref, cause: Remark) -> frozenset[Ref]:
        """A workload cannot be reconciled, or not yet; the resources that it is news for."""
        before, members = self._delays.get(workload), self._members.members(workload)
        self._delays[workload] = Delay(cause, members)
        if before is None:
            return members
        # Those that it selects no longer must hear of it, too.
        return members ^ before.told if before.cause == cause else members | before.told

    def delayed(self, workload: Ref) -> Remark | None:
        """Why a workload does not judge what it selects; None if it does."""
        found = self._delays.get(workload)
        return found.cause if found else None

    def resume(self, workload: Ref) -> frozenset[Ref]:
        """A workload is delayed no longer; the resources that report that it is."""
        found = self._delays.pop(workload, None)
        return found.told if found else frozenset()

    def publish(self, workload: Ref, kept: Kept, news: Iterable[Ref]) -> None:
        """A workload was reconciled; `news` are the resources that were judged or dropped."""
        self.revision += 1
        known = self._published.setdefault(workload, {})
        counts = self._counts.setdefault(workload, Counter())
        for key in news:
            before, after = known.pop(key, None), kept.verdict(key)
            if before is not None:
                counts[key.kind, before[0].accepted] -= 1
            if after is not None:
                known[key] = after
                counts[key.kind, after[0].accepted] += 1

    def forget(self, workload: Ref) -> set[Ref]:
        """A workload is gone, or another's now; the resources that it had."""
        self.revision += 1
        self._anothers.pop(workload, None)
        self._counts.pop(workload, None)
        return set(self._published.pop(workload, ()))

    # --- Answers ----------------------------------------------------------------------------------

    def of(self, resource: Ref) -> Iterator[tuple[Ref, FullVerdict]]:
        """The workloads that a resource applies to, and what they made of it, as far as known."""
        for workload in self.users(resource):
            found = self._published.get(workload, {}).get(resource)
            if found:
                yield workload, found

    def users(self, resource: Ref) -> list[Ref]:
        """The workloads that a resource applies to, in order, whether or not they judged it."""
        return sorted(self._members.users(resource))

    def selected(self, workload: Ref) -> frozenset[Ref]:
        """The resources that apply to a workload, whether or not it judged them."""
        return self._members.members(workload)

    def accepted(self, workload: Ref) -> list[Ref]:
        """The resources that a workload uses, in order."""
        found = self._published.get(workload, {})
        return sorted(key for key, (verdict, _) in found.items() if verdict.accepted)

    def of_workload(self, workload: Ref) -> Mapping[Ref, FullVerdict] | None:
        """What a workload made of its resources, kept up to date; None as long as nothing."""
        return self._published.get(workload)

    def counts(self, workload: Ref) -> Mapping[str, tuple[int, int]]:
        """How many resources of each kind a workload accepted, and how many it rejected."""
        counts = self._counts.get(workload, Counter())
        kinds = {kind for kind, _ in counts}
        return {kind: (counts[kind, True], counts[kind, False]) for kind in sorted(kinds)}

    def applies(self, resource: Ref, workload: Ref) -> bool | None:
        """Whether a workload has a resource; None as long as it has published nothing."""
        found = self._published.get(workload)
        return None if found is None else resource in found

    async def ownership(self, workload: Ref) -> Ownership:
        """Whose a workload is."""
        found = self._caches.workload(workload)
        if found is not None:
            if not is_for(found, self._settings):
                return Ownership.ANOTHERS
            return Ownership.GONE if found.metadata.deletion_timestamp else Ownership.OURS
        reflector = self._caches.workloads[workload.kind]
        scope = self._caches.workload_scope(workload.kind)
        if not reflector.store.ready.is_set() or not scope.covers(workload.namespace):
            return Ownership.ANOTHERS
        if not reflector.scope.label_selector:
            return Ownership.GONE
        # One that the selector leaves out looks from here like one that is gone.
        now = asyncio.get_running_loop().time()
        if self._anothers.get(workload, now) > now:
            return Ownership.ANOTHERS
        # That it is gone is not remembered: it may come back, and no watch would tell us.
        ownership = await self._ask(workload)
        if ownership is Ownership.ANOTHERS:
            self._note_another(workload, now)
        return ownership

    def _note_another(self, workload: Ref, now: float) -> None:
        """Remember it for a while, and forget what was remembered for that long.

        Tenants write the names, so there may be any number of them.
        """
        self._anothers.pop(workload, None)
        self._anothers[workload] = now + _ANOTHERS_FOR
        # They are in the order in which they end.
        while (oldest := next(iter(self._anothers))) and self._anothers[oldest] <= now:
            del self._anothers[oldest]

    async def _ask(self, workload: Ref) -> Ownership:
        resource = WORKLOADS[workload.kind].resource
        try:
            await self._client.get(
                resource, workload.namespace, workload.name, accept=METADATA_ONLY
            )
        except NotFound:
            return Ownership.GONE
        except Forbidden:
            pass
        return Ownership.ANOTHERS
