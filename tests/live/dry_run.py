"""Many objects shown to a real API server, which says what it would do and keeps nothing."""

import asyncio
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.build.drift import drift
from stoker.kube import access
from stoker.kube.client import Client
from stoker.kube.errors import ApiError
from tools.cluster import Cluster

MANAGER: Final = "stoker"
_AT_ONCE: Final = 16


class Answer(Struct, frozen=True):
    """What the server says: an error, or an object; `drift` is where that is not what was sent."""

    error: ApiError | None = None
    drift: str | None = None

    @property
    def refusal(self) -> str:
        """Why the object is refused; empty if it is not."""
        return self.error.message if self.error else ""


def answers(cluster: Cluster, objects: Iterable[Object]) -> list[Answer]:
    """The server's answer to each of the objects, in their order."""
    return asyncio.run(_answers(cluster, objects))


async def _answers(cluster: Cluster, objects: Iterable[Object]) -> list[Answer]:
    slots = asyncio.Semaphore(_AT_ONCE)
    async with Client(access.kubeconfig(cluster.kubeconfig)) as client:
        return await asyncio.gather(*(_answer(client, slots, each) for each in objects))


async def _answer(client: Client, slots: asyncio.Semaphore, wanted: Object) -> Answer:
    async with slots:
        try:
            found = await client.apply(wanted, manager=MANAGER, strict=True, dry_run=True)
        except ApiError as error:
            return Answer(error)
    return Answer(drift=drift(wanted, found, MANAGER))
