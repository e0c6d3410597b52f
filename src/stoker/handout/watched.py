"""Pods, Services, EndpointSlices and nodes, watched and kept packed: only what becomes a label."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Raw

from stoker.api.decode import decode
from stoker.kube.client import Client
from stoker.kube.reflector import Reflector
from stoker.kube.resources import ENDPOINT_SLICE, NODE, POD, SERVICE, ApiResource
from stoker.kube.watch import WatchScope
from stoker.portions.packed import Packed, packed
from stoker.targets.objects import EndpointSlice, Node, Pod, Service

_KINDS: Final[tuple[tuple[ApiResource, type[Any]], ...]] = (
    (NODE, Node),
    (SERVICE, Service),
    (POD, Pod),
    (ENDPOINT_SLICE, EndpointSlice),
)


class PackedWatches:
    """The watches, in the namespaces named or (None) in all; `changed` hears of each change."""

    def __init__(
        self,
        client: Client,
        namespaces: Sequence[str] | None,
        changed: Callable[[Packed | None, Packed | None], None],
    ) -> None:
        self.all: dict[str, Reflector[Packed]] = {}
        for resource, model in _KINDS:
            read = partial(self._read, resource.kind, model)
            watch = Reflector(client, WatchScope(resource), read, namespaces=namespaces)
            watch.store.listen(changed)
            self.all[resource.kind] = watch

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for each in self.all.values():
                tasks.create_task(each.run())

    async def complete(self) -> None:
        """Wait until all of it was seen; for ever where something cannot be."""
        for each in self.all.values():
            await each.ready()

    @property
    def troubles(self) -> list[str]:
        """Why something is not seen."""
        return [str(error) for each in self.all.values() for error in each.troubles]

    def pod_uid(self, namespace: str, name: str) -> str:
        """The uid of the pod that has a name now; nothing if none is known."""
        return self.all[POD.kind].store.uid(namespace, name)

    def _read(self, kind: str, model: type[Any], raw: Raw) -> Packed:
        """What is kept of an object; what is known already stays the same in memory."""
        made = packed(decode(model, raw))
        known = self.all[kind].store.get(*made.place)
        return known if known == made else made
