"""A webhook that strangers try to hold."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace

from stoker.settings import WebSettings
from stoker.web import server as server_module
from stoker.web import webhook as module
from stoker.web.connections import ConnectionLimits
from stoker.web.reviews import Reviewer
from stoker.web.server import Offer, WebServer
from stoker.web.webhook import ApiServerWebhook, Capacity, _Room
from stoker.web.webhook_metrics import WebhookMetrics
from stoker.web.worker import BrokenError, Question, WorkerProcess
from tests.unit.test_webhook import REVIEWER, RULES, admission, rule

REAL = (sys.executable, "-m", "stoker.cli.reviewing")
STUCK = (sys.executable, "-c", "import time; time.sleep(600)")
SILENT = (sys.executable, "-c", "pass")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is stopped does not wait for what is stuck; a busy machine is not stuck."""
    monkeypatch.setattr(server_module, "_PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 120.0)


def large() -> bytes:
    """A review that is done aside."""
    given = admission(rule(annotations={"a": "x" * 40_000}))
    return json.dumps(given).encode()


class Site:
    """A webhook that listens."""

    def __init__(
        self, session: aiohttp.ClientSession, server: WebServer, hook: ApiServerWebhook
    ) -> None:
        self.session = session
        self.server = server
        self.hook = hook
        self.sockets: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{server.port}"

    async def post(self, body: bytes, path: str = RULES) -> tuple[int, str, Any]:
        """The status, when to come again, and the answer."""
        headers = {"Content-Type": "application/json"}
        async with self.session.post(self.url + path, data=body, headers=headers) as answer:
            return answer.status, answer.headers.get("Retry-After", ""), await answer.text()

    async def counted(self, cause: str) -> float:
        """How many were turned away."""
        name = f'prometheus_operator_admission_webhook_turned_away_total{{cause="{cause}"}} '
        async with self.session.get(f"{self.url}/metrics") as answer:
            lines = (await answer.text()).splitlines()
        return next(float(line.removeprefix(name)) for line in lines if line.startswith(name))


@asynccontextmanager
async def serving(
    *command: str,
    places: Capacity = Capacity(),  # noqa: B008 (frozen)
    reviewer: Reviewer = REVIEWER,
    **limits: Any,
) -> AsyncIterator[Site]:
    """A webhook on a free port."""
    metrics = WebhookMetrics("1.0", REVIEWER.paths)
    hook = ApiServerWebhook(reviewer, metrics, command, places=places)
    served = Offer(hook.routes(), 1 << 24, ConnectionLimits(**limits))
    settings = WebSettings(host="127.0.0.1", port=0)
    server = WebServer(settings, metrics.registry.text, lambda: "", served=served)
    metrics.counts_connections(lambda: server.turned_away)
    await server.start()
    try:
        async with aiohttp.ClientSession() as session:
            site = Site(session, server, hook)
            yield site
            for each in site.sockets:
                each.close()
    finally:
        await server.stop()
        await hook.stop()


def test_the_process_answers_as_the_thread_does() -> None:
    """For what is right, what is wrong and what is no review; one after the other."""
    deep = b"[" * 40_000
    wrong = json.dumps(admission(rule("sum(", annotations={"a": "x" * 40_000}))).encode()
    nameless = admission(rule(annotations={"a": "x" * 40_000}), name=None, namespace=[1, None])
    bodies = [
        large(),
        json.dumps(nameless).encode(),
        wrong,
        deep,
        b"{" + b" " * 40_000,
        b"3" * 40_000,
        large(),
    ]

    async def answers(*command: str) -> list[tuple[int, str, Any]]:
        async with serving(*command) as site:
            return [await site.post(body) for body in bodies]

    ours = asyncio.run(answers(*REAL))
    assert ours == asyncio.run(answers())
    assert [status for status, _, _ in ours] == [200, 200, 200, 400, 400, 400, 200]


def test_a_review_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process ends with it; small reviews are answered meanwhile; it is counted."""
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 0.3)

    async def scenario() -> None:
        async with serving(*STUCK) as site:
            stuck = asyncio.create_task(site.post(large()))
            status, _, _ = await site.post(json.dumps(admission(rule())).encode())
            assert status == 200
            assert not stuck.done()
            status, again, text = await stuck
            assert (status, again) == (503, "1")
            assert "too long" in text
            assert site.hook._worker
            assert site.hook._worker._process is None
            assert await site.counted("deadline") == 1

    asyncio.run(scenario())


def test_a_process_that_ends_or_cannot_be_started_is_told() -> None:
    """And the next review has another."""

    async def scenario() -> None:
        for command in (SILENT, ("/nowhere/python",)):
            async with serving(*command) as site:
                for _ in range(2):
                    status, again, _ = await site.post(large())
                    assert (status, again) == (503, "1")
                assert await site.counted("broken") == 2

    asyncio.run(scenario())


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by Linux")
def test_a_body_that_takes_much_memory_takes_it_elsewhere() -> None:
    """It is refused; the process goes on, and what comes next is answered."""

    async def scenario() -> None:
        worker = WorkerProcess(REAL)
        body = b"[" + b"[]," * 4_000_000 + b"1]"
        assert (await worker.ask(Question(RULES, body))).status == 413
        assert (await worker.ask(Question(RULES, large()))).status == 200
        await worker.stop()
        with pytest.raises(BrokenError, match="stopping"):
            await worker.ask(Question(RULES, large()))
        with pytest.raises(BrokenError):
            await WorkerProcess(SILENT).ask(Question(RULES, b"{}"))

    asyncio.run(scenario())


def test_who_finds_no_place_is_told_to_come_again() -> None:
    """And small ones still find theirs."""

    async def scenario() -> None:
        async with serving(*STUCK, places=Capacity(dear=4)) as site:
            waiting = [asyncio.create_task(site.post(large())) for _ in range(2)]
            await until(lambda: site.hook._rooms["dear"]._callers.total() >= 2)
            status, again, _ = await site.post(large())
            assert (status, again) == (429, "1")
            assert await site.counted("dear_full") == 1
            assert (await site.post(json.dumps(admission(rule())).encode()))[0] == 200
            for task in waiting:
                task.cancel()

    asyncio.run(scenario())


def test_bodies_have_so_many_bytes_together() -> None:
    """What is announced counts as what has come."""

    async def scenario() -> None:
        async with serving(places=Capacity(bytes=1 << 20)) as site:
            reader, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
            head = f"POST {RULES} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: 600000\r\n\r\n".encode())
            await until(lambda: site.hook._rooms["bytes"]._callers.total() > 0)
            assert (await site.post(b" " * 600_000))[0] == 429
            assert await site.counted("bytes_full") == 1
            writer.close()
            await until(lambda: site.hook._rooms["bytes"]._callers.total() == 0)
            assert (await site.post(b" " * 600_000))[0] == 400
            del reader

    asyncio.run(scenario())


def test_one_caller_has_half_of_the_places() -> None:
    """The other half is for others; who is alone finds room for one thing of any size."""
    room = _Room(8)
    assert [room.enter("evil", 1) for _ in range(5)] == [True] * 4 + [False]
    assert [room.enter("server", 1) for _ in range(5)] == [True] * 4 + [False]
    for _ in range(4):
        room.leave("evil", 1)
        room.leave("server", 1)
    assert room.enter("server", 100)
    assert not room.enter("evil", 1)
    room.leave("server", 100)
    assert not room._callers


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens elsewhere on this loop."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)


async def connected(port: int) -> int:
    """What somebody new is answered."""
    url = f"http://127.0.0.1:{port}/healthz"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status


async def closed(*connections: socket.socket) -> int:
    """How many of these the server has closed."""
    loop, count = asyncio.get_running_loop(), 0
    for each in connections:
        try:
            async with asyncio.timeout(0.05):
                count += await loop.sock_recv(each, 10) == b""
        except TimeoutError:
            pass
        except OSError:
            count += 1
    return count


async def connect(site: Site, count: int, said: bytes = b"") -> list[socket.socket]:
    """So many connections that have said this much."""
    made = []
    for _ in range(count):
        each = socket.socket()
        each.setblocking(False)
        site.sockets.append(each)
        await asyncio.get_running_loop().sock_connect(each, ("127.0.0.1", site.server.port))
        if said:
            await asyncio.get_running_loop().sock_sendall(each, said)
        made.append(each)
    return made


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: "])
def test_who_says_nothing_keeps_nobody_out(said: bytes) -> None:
    """Somebody idle goes for each that comes when there is no place."""

    async def scenario() -> None:
        async with serving(all=20, of_an_address=20) as site:
            idle = await connect(site, 20, said)
            for _ in range(3):
                assert (await connected(site.server.port)) == 200
            await connect(site, 200, said)
            assert (await site.post(json.dumps(admission(rule())).encode()))[0] == 200
            assert await closed(*idle) == 20
            assert site.server.turned_away >= 200
            assert await site.counted("connections") >= 200
            assert len(site.server._acceptor._open) <= 20

    asyncio.run(scenario())


def test_who_is_being_answered_stays() -> None:
    """With all places in use by those, the next has to come again."""

    async def scenario() -> None:
        async with serving(*STUCK, all=3, of_an_address=3) as site:
            busy = [asyncio.create_task(site.post(large())) for _ in range(3)]
            await until(lambda: site.hook._rooms["dear"]._callers.total() >= 3)
            (refused,) = await connect(site, 1)
            while not await closed(refused):
                pass
            assert not any(task.done() for task in busy)
            for task in busy:
                task.cancel()

    asyncio.run(scenario())


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: "])
def test_the_headers_of_a_request_must_come_soon(said: bytes) -> None:
    """A word now and then does not help."""

    async def scenario() -> None:
        async with serving(arriving=0.2) as site:
            (slow,) = await connect(site, 1, said)
            loop = asyncio.get_running_loop()
            try:
                for _ in range(1000):
                    await loop.sock_sendall(slow, b"x")
                    await asyncio.sleep(0.02)
            except OSError:
                return
            raise AssertionError("it was never closed")

    asyncio.run(scenario())


def test_a_connection_that_is_used_again_has_its_time_each_time() -> None:
    """What counts is the request at hand."""

    async def scenario() -> None:
        async with serving(arriving=0.5, waiting=0.5) as site:
            for _ in range(8):
                assert (await site.post(json.dumps(admission(rule())).encode()))[0] == 200
                await asyncio.sleep(0.1)
            assert len(site.server._acceptor._by_protocol) == 1
            await until(lambda: not site.server._acceptor._open)
            assert not site.server._acceptor._by_protocol
            assert not site.server._acceptor._of_address

    asyncio.run(scenario())


def test_settings_have_room_for_an_api_server() -> None:
    """One address may have more connections than an API server needs, and a body of any size."""
    limits, places = ConnectionLimits(), Capacity()
    assert limits.of_an_address <= limits.all
    assert places.bytes // 2 >= 1 << 24
    assert replace(places, small=1).small == 1
