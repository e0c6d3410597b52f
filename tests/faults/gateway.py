"""Proxies between operators and the API server that see each request and can do harm to it.

    with Gateways(cluster) as gateways:
        line = gateways.open()            # an operator's own way to the server
        line.before = lambda asked: …     # what happens instead, or on the way, if anything
        line.done = lambda asked, status: …

All of them are served by one loop in one thread, and operators speak plain HTTP to them: many
worlds are tried side by side, and TLS would cost more than all else that is done here.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import aiohttp
from aiohttp import web
from yarl import URL

from stoker.kube.resources import Target
from tests.faults.mirror import FAREWELL
from tools.api import kubeconfig
from tools.cluster import Cluster
from tools.ports import held_port
from tools.waiting import DEADLINE

T = TypeVar("T")

_OF_A_CONNECTION = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}
_LARGEST = 2**26


class Asked(NamedTuple):
    """A request: what it is about, and how it was put."""

    method: str
    target: Target
    query: dict[str, str]
    content_type: str

    @property
    def verb(self) -> str:
        """As RBAC says it: get, list, watch, create, update, patch, delete."""
        return self.target.verb(self.method, self.query)

    @property
    def is_write(self) -> bool:
        """Whether it could change something that a later process could find."""
        asks = self.method in ("GET", "HEAD") or "dryRun" in self.query
        return not asks and not self.target.plural.endswith("reviews")

    @property
    def is_of_a_lease(self) -> bool:
        """Whether it is about leadership, or about access: not about anybody's objects."""
        return self.target.plural in ("leases", "selfsubjectaccessreviews")

    def __str__(self) -> str:
        target = self.target
        about = "/".join(part for part in (target.plural, target.subresource) if part)
        where = "/".join(part for part in (target.namespace, target.name) if part)
        return f"{self.verb} {about} {where}".rstrip()


@dataclass(frozen=True)
class Harm:
    """What happens to a request.

    `kind`: a name for it, under which it is counted.
    `seconds`: how long it is held back before it is passed on.
    `status`: an answer instead of the server's; 0 for the server's own.
    `body`: the body of that answer.
    `headers`: and what stands above it.
    `cut`: the connection breaks: `before` it is passed on, `after` the server has done it and
    before anybody hears of that, or `half`-way through the answer.
    `slowly`: seconds over which the answer is spread.
    `late`: seconds that the answer is held back after the server has made it.
    `done_first`: the server does it, and what is told instead of its answer is `status`.
    """

    kind: str
    seconds: float = 0.0
    status: int = 0
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    cut: str = ""
    slowly: float = 0.0
    late: float = 0.0
    done_first: bool = False


Lines = AsyncIterator[bytes]
Tap = Callable[[Asked, Lines], Lines]
"""What becomes of the events of a watch on their way; raising `CutError` breaks the connection."""


class CutError(Exception):
    """The connection breaks here."""


class Line:
    """The way of one operator to the API server.

    `before`: asked about each request; what is to happen to it, if anything.
    `done`: hears of each that the server has answered, before its client does.
    `tap`: what becomes of the events of each watch, if anything.
    `harmed`: how often what was done, by its name.
    `seen`: how many requests there were.
    """

    def __init__(self, gateways: Gateways, port: int) -> None:
        self._gateways = gateways
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.before: Callable[[Asked], Harm | None] = lambda _asked: None
        self.done: Callable[[Asked, int], None] = lambda _asked, _status: None
        self.tap: Tap | None = None
        self.harmed: Counter[str] = Counter()
        self.seen = 0
        self._watches: set[asyncio.Transport] = set()
        self.upstream = URL(gateways.cluster.url)

    def heal(self) -> None:
        """No more harm."""
        self.before, self.tap = lambda _asked: None, None
        self.done = lambda _asked, _status: None

    def cut(self) -> int:
        """Break all watches that are open; how many there were."""
        return self._gateways.do(self._cut())

    async def _cut(self) -> int:
        for transport in self._watches:
            transport.abort()
        return len(self._watches)

    def kubeconfig(self) -> Path:
        """A kubeconfig of the administrator for this way."""
        cluster = self._gateways.cluster
        path = cluster.directory / f"kubeconfig-line-{self.port}"
        path.write_text(kubeconfig(self.url, cluster.token, cluster.ca_file))
        return path

    async def answered(self, request: web.Request) -> web.StreamResponse:
        """Answer a request of the operator."""
        self.seen += 1
        asked = Asked(
            request.method, Target.of(request.path), dict(request.query), request.content_type
        )
        harm = self.before(asked)
        if harm:
            self.harmed[harm.kind] += 1
            await asyncio.sleep(harm.seconds)
            if harm.cut == "before":
                return _broken(request)
            if harm.status and not harm.done_first:
                return _instead(harm)
        try:
            return await self._passed_on(request, asked, harm)
        except (aiohttp.ClientError, OSError, CutError):
            return _broken(request)

    async def _passed_on(
        self, request: web.Request, asked: Asked, harm: Harm | None
    ) -> web.StreamResponse:
        # Events are read here, and what is small is not worth the work.
        left = _OF_A_CONNECTION | {"accept-encoding"}
        headers = {k: v for k, v in request.headers.items() if k.lower() not in left}
        body = await request.read()
        async with self._gateways.session.request(
            request.method,
            self.upstream.join(request.rel_url),
            headers=headers,
            data=body or None,
            allow_redirects=False,
        ) as answer:
            if asked.verb == "watch" and answer.status == 200:
                return await self._watched(request, asked, answer)
            content = await answer.read()
            self.done(asked, answer.status)
            if harm and harm.cut == "after":
                return _broken(request)
            if harm and harm.status:
                return _instead(harm)
            await asyncio.sleep(harm.late if harm else 0.0)
            return await _told(request, answer, content, harm)

    async def _watched(
        self, request: web.Request, asked: Asked, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        assert request.transport
        transport = request.transport
        self._watches.add(transport)
        try:
            lines: Lines = answer.content.iter_any()
            if self.tap:
                lines = self.tap(asked, aiter(answer.content))
            return await _streamed(request, answer, lines)
        finally:
            self._watches.discard(transport)


def _instead(harm: Harm) -> web.Response:
    headers = {"Content-Type": "application/json", **dict(harm.headers)}
    return web.Response(status=harm.status, text=harm.body, headers=headers)


async def _streamed(
    request: web.Request, answer: aiohttp.ClientResponse, lines: Lines
) -> web.StreamResponse:
    """Pass on what has no end."""
    passed = _head(answer)
    await passed.prepare(request)
    async for line in lines:
        await passed.write(line)
    return passed


async def _told(
    request: web.Request, answer: aiohttp.ClientResponse, content: bytes, harm: Harm | None
) -> web.StreamResponse:
    """Pass on a whole answer, or some of it, or slowly."""
    passed = _head(answer)
    passed.content_length = len(content)
    await passed.prepare(request)
    if harm and harm.cut == "half":
        await passed.write(content[: len(content) // 2])
        return _broken(request)
    pieces = 10 if harm and harm.slowly else 1
    size = max(1, -(-len(content) // pieces))
    for place in range(0, len(content), size):
        await passed.write(content[place : place + size])
        if harm and harm.slowly:
            await asyncio.sleep(harm.slowly / pieces)
    return passed


def _head(answer: aiohttp.ClientResponse) -> web.StreamResponse:
    passed = web.StreamResponse(status=answer.status, reason=answer.reason)
    passed.headers.update(
        {k: v for k, v in answer.headers.items() if k.lower() not in _OF_A_CONNECTION}
    )
    return passed


def _broken(request: web.Request) -> web.StreamResponse:
    if request.transport:
        request.transport.abort()
    raise asyncio.CancelledError


class Gateways:
    """All proxies of a campaign, in one thread."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runners: list[web.AppRunner] = []
        self.session: aiohttp.ClientSession

    def __enter__(self) -> Self:
        self._thread.start()
        self.do(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self.do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def open(self) -> Line:
        """A new way to the API server."""
        line = Line(self, held_port())
        self.do(self._serve(line))
        return line

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Have something done in the thread of the proxies; its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE)

    async def _start(self) -> None:
        verifying = ssl.create_default_context(cafile=self.cluster.ca_file)
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=verifying),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=2**22,
        )

    async def _serve(self, line: Line) -> None:
        application = web.Application(client_max_size=_LARGEST)
        application.router.add_route("*", "/{path:.*}", line.answered)
        # A watch ends for the server when the client has gone.
        runner = web.AppRunner(
            application, handler_cancellation=True, shutdown_timeout=0.1, access_log=None
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", line.port).start()
        self._runners.append(runner)

    async def _stop(self) -> None:
        for runner in self._runners:
            await runner.cleanup()
        await self.session.close()
        # TLS takes leave of the other side, which is not waited for otherwise.
        await asyncio.sleep(FAREWELL)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
