"""What belongs to a workload and is wanted no longer: shards, pieces of a configuration, rules.

Objects are found by their owner, so that nothing needs to be remembered; those that do not say that
an operator made them are somebody else's, whatever they belong to. StatefulSets of shards
that are too many may be kept for a while; the rest goes once those that mount it are written.
"""

import asyncio
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

import msgspec

from stoker.api.core import ObjectMeta
from stoker.build.names import MANAGED_BY
from stoker.cluster.kinds import WORKLOADS
from stoker.cluster.live import only_at
from stoker.kube.resources import CONFIG_MAP, DAEMON_SET, SECRET, STATEFUL_SET, ApiResource
from stoker.operator.tools import Tools
from stoker.plan import Outline
from stoker.plan.existing import Running
from stoker.ref import Ref, ref_from
from stoker.select.workload import Workload
from stoker.status.retention import DEADLINE, Fate, ShardAction, fates

# The news that a controller has seen a set wakes us; this is for news that does not come.
_UNOBSERVED: Final = timedelta(seconds=2)
_MOUNTED: Final = {"Secret": SECRET, "ConfigMap": CONFIG_MAP}


class Surplus:
    """Removes what is wanted no longer."""

    def __init__(self, tools: Tools) -> None:
        self._client = tools.client
        self._caches = tools.caches
        self._writer = tools.writer
        self._now = tools.now
        self._retains_shards = tools.capabilities.shard_retention
        self._owners = tools.writer.owners

    async def remove(
        self, workload: Workload, outline: Outline, wanted: Collection[Ref]
    ) -> datetime | None:
        """Remove what belongs to a workload and is not wanted; when to look again, if so."""
        again, is_done = await self._shards(workload, wanted)
        if not is_done:
            # What stays for a moment reads what it mounts.
            return again
        for found in self._unwanted("DaemonSet", workload, wanted):
            # Its pods read the Secret that is written for others once it is gone.
            await self._delete(workload, DAEMON_SET, found, propagation="Foreground")
        for kind, resource in _MOUNTED.items():
            for found in self._unwanted(kind, workload, wanted):
                # A Secret of this name may hold a configuration of the user's own.
                if found.name != outline.configuration:
                    await self._delete(workload, resource, found)
        return again

    async def _shards(
        self, workload: Workload, wanted: Collection[Ref]
    ) -> tuple[datetime | None, bool]:
        """When to look again, if so, and whether all that should go is gone."""
        uid = workload.metadata.uid or ""
        found = [
            each
            for each in self._caches.belonging("StatefulSet", uid)
            if _is_of(uid, each.metadata)
        ]
        names = {name for kind, _, name in wanted if kind == "StatefulSet"}
        decided = fates(
            workload.spec,
            [msgspec.to_builtins(each) for each in found],
            names,
            self._now(),
            enabled=self._retains_shards,
        )
        by_name = {each.metadata.name: each for each in found}
        acts = (self._carried_out(workload, each, by_name[each.name]) for each in decided)
        is_done = all(await asyncio.gather(*acts))
        again = [fate.again for fate in decided if fate.again]
        if not is_done:
            again.append(self._now() + _UNOBSERVED)
        return min(again, default=None), is_done

    async def _carried_out(self, workload: Workload, fate: Fate, found: Running) -> bool:
        """Do what was decided of a set; whether that could be done yet."""
        metadata = found.metadata
        if fate.action is ShardAction.DELETE:
            observed = await self._observed(found)
            if observed is not None:
                await self._delete(workload, STATEFUL_SET, observed.metadata)
            return observed is not None
        if fate.action in (ShardAction.SET_DEADLINE, ShardAction.CLEAR_DEADLINE):
            patch = {"metadata": {"annotations": {DEADLINE: fate.deadline}}}
            answer = await self._client.merge_patch(
                STATEFUL_SET,
                metadata.namespace,
                metadata.name or "",
                only_at(metadata.resource_version, patch),
            )
            self._writer.saw(STATEFUL_SET.kind, answer)
        return True

    async def _observed(self, found: Running) -> Running | None:
        """A set that its controller has seen as it is; None as long as it has not.

        One that was made again takes its pods in then: without it they would be nobody's for ever.
        """
        if found.is_observed:
            return found
        # The watch may be late.
        await self._caches.ask(self._client, STATEFUL_SET, found.metadata)
        namespace, name = found.metadata.namespace or "", found.metadata.name or ""
        now: Running | None = self._caches.owned[STATEFUL_SET.kind].store.get(namespace, name)
        return now if now is not None and now.is_observed else None

    async def _delete(
        self,
        workload: Workload,
        resource: ApiResource,
        found: ObjectMeta,
        propagation: str = "Background",
    ) -> None:
        """Delete what a workload does not want, unless it may want it by now."""
        metadata = workload.metadata
        await self._owners.confirm_generation(
            WORKLOADS[type(workload).__name__].resource,
            metadata.namespace,
            metadata.name or "",
            metadata.uid or "",
            metadata.generation or 0,
        )
        await self._writer.delete(resource, found, propagation=propagation)

    def _unwanted(self, kind: str, workload: Workload, wanted: Collection[Ref]) -> list[ObjectMeta]:
        """The metadata of what this workload alone has and does not need."""
        uid = workload.metadata.uid or ""
        found = (each.metadata for each in self._caches.belonging(kind, uid))
        return [
            each
            for each in found
            if ref_from(kind, each) not in wanted
            and not each.deletion_timestamp
            and _is_of(uid, each)
        ]


def _is_of(uid: str, found: ObjectMeta) -> bool:
    """Whether an operator made an object for the workload of this uid, and nobody else."""
    controlled = any(one.uid == uid and one.controller for one in found.owner_references or ())
    return controlled and bool(MANAGED_BY.items() & (found.labels or {}).items())
