"""Pods that hold up a rollout are removed, where a policy asks for that (`status.repair`)."""

from collections.abc import Iterable
from typing import Final

import msgspec

from stoker.api.core import Object
from stoker.kube.client import Client
from stoker.kube.errors import NotFound
from stoker.kube.resources import POD
from stoker.logs import logger
from stoker.status.repair import Repair, RepairPolicy, repair_of

_EVICTION: Final = "eviction"


class Repairs:
    """Removes the pods that a rollout waits for in vain."""

    def __init__(self, client: Client, policy: str) -> None:
        self._client = client
        self._policy = RepairPolicy(policy)
        self._log = logger("repair")

    async def repair(self, stateful_sets: Iterable[Object], pods: Iterable[Object]) -> None:
        """Remove at most one pod of each StatefulSet.

        A disruption budget that forbids it for now is TooManyRequests: it is tried again.
        """
        if self._policy is RepairPolicy.NONE:
            return
        known = list(pods)
        for each in stateful_sets:
            repair = repair_of(each, known, self._policy)
            if repair is not None:
                await self._remove(repair)

    async def _remove(self, repair: Repair) -> None:
        self._log.info(
            "removing a pod that holds up a rollout",
            namespace=repair.namespace,
            name=repair.name,
            policy=repair.policy.value,
        )
        try:
            if repair.policy is RepairPolicy.EVICT:
                await self._evict(repair)
            else:
                await self._client.delete(POD, repair.namespace, repair.name, uid=repair.uid)
        except NotFound:
            # Gone already. A successor by its name is a conflict, and is looked at again.
            return

    async def _evict(self, repair: Repair) -> None:
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": repair.name, "namespace": repair.namespace},
            "deleteOptions": {"preconditions": {"uid": repair.uid}},
        }
        path = POD.path(repair.namespace, repair.name, _EVICTION)
        await self._client.request("POST", path, body=msgspec.json.encode(eviction))
