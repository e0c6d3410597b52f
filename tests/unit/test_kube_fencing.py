"""A write whose fence shuts at any moment is made wholly, or not at all."""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections.abc import Callable
from itertools import count
from typing import Any, Self

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from stoker.kube import fencing
from stoker.kube.access import Access
from stoker.kube.client import Client
from stoker.kube.errors import NotLeading, Unavailable
from stoker.kube.fencing import UNTAKEN_SECONDS, FencedConnector
from stoker.kube.lease import Leadership

PATH = "/api/v1/namespaces/default/configmaps"
# Less than a buffer; more than the kernel takes at once, in one piece; as a file, piece by piece.
SIZES = (100, 900_000, 8_000_000)


def shut_after(asked: int) -> Callable[[], None]:
    """A fence that is open for so many questions."""
    numbers = count()

    def fence() -> None:
        if next(numbers) >= asked:
            raise NotLeading("shut")

    return fence


class Listener:
    """Takes requests, slowly; how many came whole."""

    def __init__(self) -> None:
        self.whole = 0
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._take)
        self._server = TestServer(app)

    async def __aenter__(self) -> Self:
        await self._server.start_server()
        self.client = Client(Access(f"http://127.0.0.1:{self._server.port}"))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    async def _take(self, request: web.Request) -> web.Response:
        """Read a body to its end."""
        async for _ in request.content.iter_chunked(2**16):
            await asyncio.sleep(0)
        self.whole += 1
        return web.json_response({})


@pytest.mark.parametrize("kept", [False, True], ids=["new", "kept"])
@pytest.mark.parametrize("size", SIZES)
def test_what_is_cut_off_is_not_made(size: int, kept: bool) -> None:
    """Whether the connection is new or was used before."""

    async def main() -> int:
        async with Listener() as listener, listener.client as client:
            for asked in range(10_000):
                if kept:
                    client.fence = None
                    await client.request("GET", PATH)
                client.fence, before = shut_after(asked), listener.whole
                try:
                    await client.request("POST", PATH, body=b"x" * size)
                except NotLeading:
                    # What was sent may still be on its way.
                    await asyncio.sleep(0.01)
                    assert listener.whole == before
                else:
                    assert listener.whole == before + 1
                    return asked
        raise AssertionError("it never came through")

    needed = asyncio.run(main())
    # It is asked before the request, and at least once when bytes leave.
    assert needed >= 2
    assert needed > 3 or size < SIZES[-1]


@pytest.mark.parametrize("kept", [False, True], ids=["new", "kept"])
def test_who_is_stopped_with_a_connection_at_hand_sends_nothing(
    kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop sends later than it connects; leadership may have ended between the two."""
    is_shut = False

    def fence() -> None:
        if is_shut:
            raise NotLeading("shut")

    connect = FencedConnector.connect

    async def connected(*args: Any, **kwargs: Any) -> Any:
        nonlocal is_shut
        found = await connect(*args, **kwargs)
        is_shut = True
        return found

    async def main() -> None:
        async with Listener() as listener, listener.client as client:
            if kept:
                await client.request("GET", PATH)
            monkeypatch.setattr(FencedConnector, "connect", connected)
            before, client.fence = listener.whole, fence
            with pytest.raises(NotLeading):
                await client.request("POST", PATH, body=b"{}")
            await asyncio.sleep(0.01)
            assert listener.whole == before

    asyncio.run(main())


def test_the_kernel_lets_go_of_a_write_before_another_can_lead() -> None:
    """What it was given while we led must not leave when somebody else may."""
    spans = inspect.signature(Leadership).parameters
    apart = spans["lease_seconds"].default - spans["renew_seconds"].default
    assert apart > UNTAKEN_SECONDS


def test_a_write_that_nobody_takes_is_given_up_by_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also while the process is stopped, which is not in its hands; a read may wait for longer."""
    monkeypatch.setattr(fencing, "UNTAKEN_SECONDS", 0.5)

    async def main() -> None:
        silent = socket.create_server(("127.0.0.1", 0))
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        access = Access(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with silent:
            async with Client(access) as client:
                client.fence = lambda: None
                with pytest.raises(Unavailable, match=r"timed out|TimeoutError"):
                    await client.request("POST", PATH, body=b"x" * 900_000, timeout=60)

    asyncio.run(main())
