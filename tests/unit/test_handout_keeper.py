"""Portions kept up, from a server that tells objects to somebody who is told what is on a node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest

from stoker.handout.keeper import PortionKeeper
from stoker.handout.server import PortionServer
from stoker.kube.access import Access
from stoker.kube.client import Client
from tests.told import Object, ToldObjects, token_of
from tests.unit.test_handout_door import connected, shown
from tests.unit.test_handout_stock import AGENT, kept, planned
from tools.ports import held_port
from tools.waiting import DEADLINE

NODE = "node-1"
# Not where the targets are: its pods are none.
HOME = "monitoring"


def a_pod(name: str, uid: str = "", **metadata: Any) -> Object:
    """A pod on the node, of the agent or of the application."""
    container = {"name": "a", "ports": [{"name": "web", "containerPort": 80}]}
    own = {"name": name, "namespace": "shop", "uid": uid or name, "labels": {"app": "cart"}}
    return {
        "kind": "Pod",
        "metadata": own | metadata,
        "spec": {"nodeName": NODE, "containers": [container]},
        "status": {"phase": "Running", "podIP": "10.0.0.1"},
    }


def agents_pod(uid: str = "uid-1") -> Object:
    """A pod of the agent."""
    owner = {"kind": "DaemonSet", "name": "prom-agent-main", "uid": "set", "controller": True}
    return a_pod("agent", uid, namespace=HOME, ownerReferences=[owner])


@pytest.fixture
def told() -> Iterator[ToldObjects]:
    """A server with a pod of the agent, and one of the application."""
    made = ToldObjects([agents_pod(), a_pod("cart-1")])
    yield made
    made.close()


@asynccontextmanager
async def serving(told: ToldObjects) -> AsyncIterator[tuple[PortionKeeper, int]]:
    """Portions from what is told, and the port."""
    port = held_port()
    async with Client(Access(f"http://127.0.0.1:{told.port}")) as client:
        keeper = PortionKeeper(client, None)
        server = PortionServer(client, keeper, lambda _: AGENT)
        server.door.context = shown()
        work = [asyncio.create_task(each) for each in (keeper.run(), server.run("", port))]
        keeper.want(AGENT)
        keeper.plan(AGENT, planned(kept("cart")))
        try:
            yield keeper, port
        finally:
            for each in work:
                each.cancel()
            await asyncio.gather(*work, return_exceptions=True)


def request(uid: str = "uid-1") -> bytes:
    """What the reloader of the agent's pod asks that has nothing."""
    head = (
        "POST /v1/portion HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {token_of(HOME, 'agent', uid)}",
        "Content-Type: application/json",
        "Content-Length: 11",
    )
    return "\r\n".join([*head, "", '{"have":{}}']).encode()


@asynccontextmanager
async def listening(port: int) -> AsyncIterator[asyncio.StreamReader]:
    """The answer to the agent's pod, from its first commit on."""
    async with AsyncExitStack() as stack:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await stack.enter_async_context(connected(port))
                writer.write(request())
                await reader.readuntil(b'"commit"')
                break
            await asyncio.sleep(0.05)
        yield reader


def test_a_stream_ends_as_soon_as_its_pod_is_gone(told: ToldObjects) -> None:
    """Not only when there is something to say, be it that somebody is there."""

    async def seconds() -> float:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(DEADLINE), serving(told) as (_, port), listening(port) as said:
            begun = loop.time()
            told.tell("DELETED", agents_pod())
            rest = await said.read()
            assert rest.endswith(b"0\r\n\r\n")
            return loop.time() - begun

    # Somebody who is there says so every fifteen seconds.
    assert asyncio.run(seconds()) < 14
