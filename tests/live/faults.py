"""Proxies before an API server through which tests can do harm, and a server that can be restarted.

    with Wire(cluster) as wire:            # whole connections: cut, hold, refuse
        wire.cut()
    with Gateway(cluster) as gateway:      # single requests: answer wrongly, late, never
        gateway.fault = failing(0.2)
        gateway.slow = silent_watches("secrets")

Each runs in a thread of its own, so tests may be synchronous or not, and what they drive may be in
this process or in another. `kubeconfig` leads a client to the API server through the proxy. The
gateway sees requests because it has the certificate of the API server itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import random
import re
import socket
import ssl
import subprocess
import threading
from asyncio import StreamReader, StreamWriter
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import aiohttp
from aiohttp import web
from yarl import URL

from tools import components
from tools.api import Api, kubeconfig
from tools.cluster import Cluster
from tools.ports import held_port
from tools.waiting import DEADLINE

Fault = Callable[[web.Request], "web.Response | float | None"]
"""Decides on a request: an answer instead of the server's, seconds to hold it back, or nothing."""


class Slow:
    """The way of an answer's body: at once so far, then byte by byte, and it never ends."""

    def __init__(self, at_once: int = 0, seconds_a_byte: float | None = None) -> None:
        self._left = at_once
        self._pause = seconds_a_byte

    async def pour(self, answer: web.StreamResponse, chunk: bytes) -> None:
        """Pass a chunk on, as far as it goes."""
        at_once, rest = chunk[: self._left], chunk[self._left :]
        self._left -= len(at_once)
        if at_once:
            await answer.write(at_once)
        for number in range(len(rest)):
            if self._pause is None:
                await self.end()
            await asyncio.sleep(self._pause or 0)
            await answer.write(rest[number : number + 1])

    async def end(self) -> None:
        """Wait until the client has gone."""
        await asyncio.Event().wait()


class _InThread:
    """Something that serves on a port, from an event loop in a thread of its own."""

    scheme: ClassVar[str] = "https"
    numbers: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self, cluster: Cluster, upstream: str = "") -> None:
        self._cluster = cluster
        self._upstream = URL(upstream or cluster.url)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = held_port()
        self.url = f"{self.scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._stop())
        self._do(_ended_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of the administrator through this proxy."""
        path = self._cluster.directory / f"kubeconfig-fault-{next(self.numbers)}"
        path.write_text(kubeconfig(self.url, self._cluster.token, self._cluster.ca_file))
        return path

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE)

    async def _start(self) -> None:
        raise NotImplementedError

    async def _stop(self) -> None:
        raise NotImplementedError


class Wire(_InThread):
    """Carries connections as they are; they can be cut, held or refused.

    `pause` are the seconds between pieces on the way to the server, and `piece` is how large these
    are; `passed` counts their bytes, and `answered` those on the way back.
    """

    def __init__(self, cluster: Cluster, upstream: str = "", piece: int = 65536) -> None:
        super().__init__(cluster, upstream)
        self.accepted = 0
        self.pause = 0.0
        self.passed = self.answered = 0
        self._piece = piece
        self._server: asyncio.Server | None = None
        self._writers: set[StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()

    def cut(self) -> None:
        """Break all connections, as a lost network does; new ones are welcome."""
        self._do(self._cut())

    def refuse(self) -> None:
        """Break all connections and refuse new ones, until `accept`."""
        self._do(self._stop())

    def accept(self) -> None:
        """Accept connections again."""
        self._do(self._start())

    def hold(self) -> None:
        """Let nothing pass, in either direction, but keep connections open, until `release`."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def release(self) -> None:
        """Let everything pass that was held back."""
        self._loop.call_soon_threadsafe(self._flowing.set)

    async def _start(self) -> None:
        listening = socket.create_server(("127.0.0.1", self.port))
        # So that what was not passed on yet is with its sender, and not here.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._piece)
        self._server = await asyncio.start_server(
            self._connected, sock=listening, limit=self._piece
        )

    async def _stop(self) -> None:
        if self._server:
            await self._accept_no_more()
            self._server.close()
        await self._cut()

    async def _accept_no_more(self) -> None:
        """Let the event loop finish what it has accepted: with a closed server it would lose it."""
        for listening in self._server.sockets if self._server else ():
            self._loop.remove_reader(listening.fileno())
        for _ in range(3):
            await asyncio.sleep(0)

    async def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.accepted += 1
        ends = {writer}
        with contextlib.suppress(OSError):
            try:
                far = await asyncio.open_connection(self._upstream.host, self._upstream.port)
                ends.add(far[1])
                self._writers |= ends
                await asyncio.gather(self._up(reader, far[1]), self._pump(far[0], writer))
            finally:
                self._writers -= ends
                for end in ends:
                    end.transport.abort()

    async def _up(self, reader: StreamReader, writer: StreamWriter) -> None:
        while data := await reader.read(self._piece):
            await self._flowing.wait()
            await asyncio.sleep(self.pause)
            self.passed += len(data)
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError

    async def _pump(self, reader: StreamReader, writer: StreamWriter) -> None:
        while data := await reader.read(65536):
            await self._flowing.wait()
            self.answered += len(data)
            writer.write(data)
            await writer.drain()
        # One side has ended, and so does the other: HTTP has no use for half a connection.
        raise ConnectionResetError


class Gateway(_InThread):
    """Passes requests on one by one, unless `fault` says otherwise, and answers unless `slow` does.

    `seen` has all of them, `carried` the bytes of their answers as they came over the wire. `done`
    hears of each that the server has answered, and with what, before its client does. What comes
    in watches of the resources in `held`, by their plurals, waits until they are out of it.
    """

    def __init__(self, cluster: Cluster, upstream: str = "") -> None:
        super().__init__(cluster, upstream)
        self.fault: Fault = lambda _request: None
        self.slow: Callable[[web.Request], Slow | None] = lambda _request: None
        self.done: Callable[[web.Request, int], None] = lambda _request, _status: None
        self.seen: list[URL] = []
        self.held: frozenset[str] = frozenset()
        self.carried: Counter[URL] = Counter()
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None

    async def _start(self) -> None:
        credentials = self._cluster.ca_file.parent
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(credentials / "server.crt", credentials / "server.key")
        verifying = ssl.create_default_context(cafile=self._cluster.ca_file)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=verifying),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),
        )
        application = web.Application(client_max_size=2**26)
        application.router.add_route("*", "/{path:.*}", self._answered)
        # A watch ends for the server when the client has gone.
        self._runner = web.AppRunner(
            application, handler_cancellation=True, shutdown_timeout=0.1, access_log=None
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=serving).start()

    async def _stop(self) -> None:
        assert self._session
        assert self._runner
        await self._runner.cleanup()
        await self._session.close()

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request.rel_url)
        found = self.fault(request)
        if isinstance(found, web.Response):
            return found
        if found:
            await asyncio.sleep(found)
        try:
            return await self._passed_on(request)
        except (aiohttp.ClientError, OSError):
            # As it would have been without us: the connection breaks.
            if request.transport:
                request.transport.abort()
            raise asyncio.CancelledError from None

    async def _passed_on(self, request: web.Request) -> web.StreamResponse:
        assert self._session
        url = self._upstream.join(request.rel_url)
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _OF_A_CONNECTION}
        body = await request.read()
        async with self._session.request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False
        ) as answer:
            self.done(request, answer.status)
            passed = web.StreamResponse(status=answer.status, reason=answer.reason)
            passed.headers.update(
                {k: v for k, v in answer.headers.items() if k.lower() not in _OF_A_CONNECTION}
            )
            slow = self.slow(request)
            await passed.prepare(request)
            async for chunk in answer.content.iter_any():
                while self._is_held(request):  # noqa: ASYNC110 - set in another thread
                    await asyncio.sleep(0.02)
                self.carried[request.rel_url] += len(chunk)
                await (slow.pour(passed, chunk) if slow else passed.write(chunk))
            if slow:
                await slow.end()
            return passed

    def _is_held(self, request: web.Request) -> bool:
        return "watch" in request.query and request.path.rpartition("/")[2] in self.held


_OF_A_CONNECTION = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}


async def _ended_tasks() -> None:
    """Let what still runs in this loop end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def status(code: int, reason: str, message: str = "a fault of the test") -> web.Response:
    """An answer with which an API server says no."""
    said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return web.json_response({**said, "reason": reason, "message": message}, status=code)


def failing(fraction: float, code: int = 503, seed: int = 0) -> Fault:
    """Answer this part of all requests with an error, the same ones in each run."""
    dice = random.Random(seed)

    def fault(_request: web.Request) -> web.Response | None:
        return status(code, "ServiceUnavailable") if dice.random() < fraction else None

    return fault


def silent_watches(plural: str) -> Callable[[web.Request], Slow | None]:
    """Let watches of this resource begin, and nothing come from them."""

    def slow(request: web.Request) -> Slow | None:
        watches = request.path.endswith(f"/{plural}") and "watch" in request.query
        return Slow() if watches else None

    return slow


STREAMS_SINCE = 27
"""The first Kubernetes that has streamed lists at all, whether switched on or not."""


def minor_of(cluster: Cluster) -> int:
    """Which Kubernetes it is, by the second number of its version."""
    return int(re.sub(r"\D", "", cluster.api.get("/version")["gitVersion"].split(".")[1]))


def without_streams(cluster: Cluster) -> tuple[str, ...]:
    """The flags of an API server that refuses to stream lists; an old one knows no such gate."""
    return ("--feature-gates=WatchList=false",) if minor_of(cluster) >= STREAMS_SINCE else ()


class SecondServer:
    """Another API server on the etcd of a cluster, which can be killed and started again.

    The cluster must have been started with `namespaces=False`, so that the port is in reach. The
    first server goes on; through it, things can change while the second is down.
    """

    def __init__(self, cluster: Cluster, *flags: str) -> None:
        self._cluster = cluster
        layout = cluster._layout()
        self.port = port = held_port()
        ports = dataclasses.replace(layout.ports, server=port)
        layout = dataclasses.replace(layout, ports=ports)
        commands = components.command_lines(cluster._binaries, layout)
        self._command = [*commands["kube-apiserver"], *flags]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"https://127.0.0.1:{port}"
        self.api = Api(self.url, cluster.token, cluster.ca_file)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of the administrator of this server."""
        path = self._cluster.directory / "kubeconfig-second"
        path.write_text(kubeconfig(self.url, self._cluster.token, self._cluster.ca_file))
        return path

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._cluster.until("second API ready", self._is_ready)

    def _is_ready(self) -> bool:
        # While it is down, somebody's connection may have its port for a moment: then it ends.
        if self._process is None or self._process.poll() is not None:
            with (self._cluster.directory / "second-apiserver.log").open("ab") as log:
                self._process = self._cluster.spawn(self._command, stdout=log, stderr=log)
        return bool(self.api.get("/readyz") == "ok")

    def kill(self) -> None:
        """End it without warning, as a crash does."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None
