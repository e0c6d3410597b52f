"""No byte of a write leaves a process that does not lead, however it is stopped."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
import pytest
from aiohttp import web

from stoker.api.core import Object, ObjectMeta
from stoker.build.names import FIELD_MANAGER
from stoker.kube import access
from stoker.kube.client import Client
from stoker.kube.errors import Conflict, NotLeading
from stoker.kube.resources import SECRET, resource_of
from stoker.operator import claims
from stoker.operator.writer import Writer
from tests import builders
from tests.live.faults import Gateway
from tests.live.freezing import freeze
from tools.cluster import Cluster

FREEZES = 4


def test_who_is_frozen_in_the_middle_of_a_body_does_not_complete_it(
    cluster: Cluster, namespace: str
) -> None:
    """A few times here; `python -m tests.live.freezing` does it as often as one likes."""
    assert freeze(cluster, namespace, FREEZES, sys.executable) > 0


class Late:
    """A way to the API server on which the first write is held until another has written."""

    def __init__(self, gateway: Gateway) -> None:
        self.held = threading.Event()
        self.released = threading.Event()
        gateway.fault = self._hold

    def _hold(self, request: web.Request) -> None:
        if request.method != "GET" and not self.held.is_set():
            self.held.set()
            self.released.wait(60)


def secret(namespace: str, by: str) -> Object:
    """What the writers disagree about."""
    return builders.secret("one", {"by": by}, namespace=namespace, labels={"by": by})


def claim(namespace: str) -> Object:
    """A claim that may grow."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"namespace": namespace, "name": "one"}
    kind = "PersistentVolumeClaim"
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}


async def _applied(client: Client, found: Object) -> None:
    writer = Writer(client, lambda _identity: None)
    await writer.write(secret(found["metadata"]["namespace"], "deposed"))


async def _deleted(client: Client, found: Object) -> None:
    writer = Writer(client, lambda _identity: None)
    await writer.delete(SECRET, msgspec.convert(found["metadata"], ObjectMeta))


async def _grown(client: Client, found: Object) -> None:
    await claims._grow(client, found, "2Gi")


@pytest.mark.parametrize(
    ("made", "write"),
    [
        (partial(secret, by="nobody"), _applied),
        (partial(secret, by="nobody"), _deleted),
        (claim, _grown),
    ],
    ids=["apply", "delete", "grow"],
)
def test_what_a_network_delivers_late_is_refused_by_the_server(
    cluster: Cluster,
    namespace: str,
    made: Callable[[str], Object],
    write: Callable[[Client, Object], Awaitable[None]],
) -> None:
    """It left while we led, and arrives after another leader has written: nothing comes of it."""
    fences: list[str] = []

    def fence() -> None:
        if fences:
            raise NotLeading("another leads")

    async def main(gateway: Gateway) -> None:
        late = Late(gateway)
        async with (
            Client(access.kubeconfig(gateway.kubeconfig)) as deposed,
            Client(access.kubeconfig(cluster.kubeconfig)) as heir,
        ):
            found = await heir.apply(made(namespace), manager=FIELD_MANAGER)
            resource = resource_of(found)
            deposed.fence = fence
            writing = asyncio.ensure_future(write(deposed, found))
            await asyncio.to_thread(late.held.wait)
            patch = {"metadata": {"labels": {"by": "heir"}}}
            mine = await heir.merge_patch(resource, namespace, "one", patch)
            fences.append("shut")
            late.released.set()
            with pytest.raises((Conflict, NotLeading)):
                await writing
            now = await heir.get(resource, namespace, "one")
            assert now["metadata"]["labels"] == {"by": "heir"}
            assert now.get("data") == mine.get("data")
            assert now.get("spec") == mine.get("spec")
            assert "deletionTimestamp" not in now["metadata"]

    with Gateway(cluster) as gateway:
        asyncio.run(main(gateway))
