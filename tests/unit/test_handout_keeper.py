"""Portions kept up, from a server that tells objects to somebody who is told what is on a node."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from stoker.handout import life
from stoker.handout.keeper import PortionKeeper
from stoker.handout.request import RefusedError
from stoker.handout.server import PortionServer
from stoker.handout.stock import OfNode
from stoker.kube.access import Access
from stoker.kube.client import Client
from stoker.kube.endless import endless
from stoker.reloader.journal import Journal
from stoker.reloader.metrics import METRICS, PORTION_METRICS, Metrics
from stoker.reloader.portion import Portion
from stoker.reloader.request import url
from stoker.reloader.subscription import Server, Subscription
from tests.told import Object, ToldObjects, token_of
from tests.unit.test_handout_door import MADE, connected, shown
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
async def serving(
    told: ToldObjects, port: int, *, late: bool = False
) -> AsyncIterator[tuple[PortionKeeper, int, PortionServer]]:
    """Portions from what is told; `late`: without a certificate, and the agent not planned yet."""
    async with Client(Access(f"http://127.0.0.1:{told.port}")) as client:
        keeper = PortionKeeper(client, None)
        server = PortionServer(client, keeper, lambda _: AGENT)
        endless_work = endless(keeper.run, lambda _: None)
        work = [asyncio.create_task(each) for each in (endless_work, server.run("", port))]
        keeper.want(AGENT)
        if not late:
            server.door.context = shown()
            keeper.plan(AGENT, planned(kept("cart")))
        try:
            yield keeper, port, server
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
        port = held_port()
        async with asyncio.timeout(DEADLINE), serving(told, port), listening(port) as said:
            begun = loop.time()
            told.tell("DELETED", agents_pod())
            rest = await said.read()
            assert rest.endswith(b"0\r\n\r\n")
            return loop.time() - begun

    # Somebody who is there says so every fifteen seconds.
    assert asyncio.run(seconds()) < 14


# --- Interruptions --------------------------------------------------------------------------------


@pytest.fixture
def pods_files(tmp_path: Path) -> Path:
    """What the agent's pod is given: whom to trust, and its token."""
    (tmp_path / "ca").write_text(MADE.trusted)
    (tmp_path / "token").write_text(token_of(HOME, "agent", "uid-1"))
    return tmp_path


def subscribed(files: Path, port: int) -> Subscription:
    """The reloader of the agent's pod, which asks again sooner than others do."""
    server = Server(url(f"https://localhost:{port}"), str(files / "ca"), str(files / "token"), NODE)
    metrics = Metrics((*METRICS, *PORTION_METRICS))
    portion, journal = Portion(str(files / "portion")), Journal("error", "logfmt")
    made = Subscription(server, portion, metrics, journal, lambda: None)
    made.rest = lambda seconds: time.sleep(min(seconds, 0.2))
    made.start()
    return made


async def so(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    while True:
        if condition():
            return
        await asyncio.sleep(0.02)


def dropped(keeper: PortionKeeper) -> None:
    """The agent gets no portions for a moment."""
    keeper.drop(AGENT)
    keeper.want(AGENT)


async def dropped_for_longer(keeper: PortionKeeper) -> None:
    """Until nothing is watched any longer."""
    keeper.drop(AGENT)
    await so(lambda: not keeper.objects("Pod"))
    keeper.want(AGENT)


def test_whoever_asks_is_told_what_is_new_after_every_interruption(
    told: ToldObjects, pods_files: Path
) -> None:
    """By who comes in the place of one that was killed, and by one that had dropped the agent.

    Until it has a certificate, has listed everything and was told the plan, nothing is lost.
    """
    port = held_port()

    async def has(name: str) -> None:
        folder = pods_files / "portion" / "targets"
        await so(lambda: any(name.encode() in each.read_bytes() for each in folder.glob("*.json")))

    async def change(name: str) -> None:
        told.tell("ADDED", a_pod(name))
        await has(name)

    async def work() -> None:
        async with asyncio.timeout(DEADLINE):
            async with serving(told, port):
                subscribed(pods_files, port)
                await has("cart-1")
            told.tell("ADDED", a_pod("while-away"))
            async with serving(told, port, late=True) as (keeper, _, server):
                await asyncio.sleep(0.5)
                server.door.context = shown()
                await asyncio.sleep(0.5)
                keeper.plan(AGENT, planned(kept("cart")))
                await has("while-away")
                for number in range(5):
                    dropped(keeper)
                    await asyncio.sleep(0.05 * number)
                    keeper.plan(AGENT, planned(kept("cart")))
                    await change(f"after-{number}")
                await dropped_for_longer(keeper)
                keeper.plan(AGENT, planned(kept("cart")))
                await change("last")

    asyncio.run(work())


@pytest.mark.parametrize("what", ["plan", "pod", "lost"])
def test_who_should_take_up_what_is_new_and_does_not_is_replaced(
    told: ToldObjects, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """By a life that begins with the first list; whoever asks is not sent away for ever."""
    monkeypatch.setattr(life, "_STUCK_SECONDS", 0.4)
    of = OfNode(AGENT, NODE)

    async def known(keeper: PortionKeeper, count: int) -> None:
        while True:
            with suppress(RefusedError):
                news = await keeper.news(of, {})
                if sum(file.text.count(b'"targets"') for file in news.files) == count:
                    return
            await asyncio.sleep(0.02)

    async def work() -> None:
        async with asyncio.timeout(DEADLINE), serving(told, held_port(), late=True) as (keeper, *_):
            await so(lambda: not keeper.why_not)
            if what != "plan":
                keeper.plan(AGENT, planned(kept("cart")))
                await known(keeper, 1)
            if what == "lost":
                keeper._life.stock.plan(AGENT, None)  # type: ignore[union-attr]
                await known(keeper, 1)
                return
            [working] = [each for each in asyncio.all_tasks() if each.get_name() == "_keep_up"]
            working.cancel()
            if what == "plan":
                keeper.plan(AGENT, planned(kept("cart")))
            else:
                told.tell("ADDED", a_pod("cart-2"))
            await known(keeper, 1 if what == "plan" else 2)

    asyncio.run(work())
