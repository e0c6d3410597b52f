"""Many who ask for portions at once, as reloaders do, and what each has.

They share a thread and its event loop; what is asked of them from outside is numbers. Each has an
address of its own, and all may come at once; between two tries they wait as reloaders do.
"""

import asyncio
import json
import resource
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from types import TracebackType
from typing import Any, Final, Self

import aiohttp

from stoker.reloader.subscription import Pauses, jittered

HOST: Final = "localhost"
# Open files of the one who measures that are for all else, and of the operator.
_OTHER_FILES: Final = 1024


def allow_files(clients: int) -> None:
    """Have as many open files as so many clients need, here and in what is started from here."""
    wanted = clients + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise SystemExit(f"{clients} clients need {wanted} open files (ulimit -Hn says {hard})")
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _digest(text: bytes) -> str:
    return sha256(text).hexdigest()[:32]


class Crowd:
    """A client for each node, with the token of its pod; they come back for as long as it runs.

    `files` and `bytes` count what was sent to all, `problems` are what was not as agreed.
    """

    def __init__(self, port: int, ca: str, tokens: Mapping[str, str]) -> None:
        self.files = self.bytes = 0
        self.problems: list[str] = []
        self.arrived: dict[str, float] = {}
        self._url = f"https://{HOST}:{port}/v1/portion"
        self._context = ssl.create_default_context(cadata=ca)
        self._tokens = tokens
        self._has: dict[str, dict[str, str]] = {node: {} for node in tokens}
        self._told: dict[str, float] = {}
        self._awaited: set[bytes] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._running: list[asyncio.Task[None]] = []

    def told_since(self, begun: float) -> int:
        """How many were told since then that what they have counts."""
        return sum(when >= begun for when in list(self._told.values()))

    @property
    def has(self) -> int:
        """How many files all of them have."""
        return sum(map(len, list(self._has.values())))

    def expect(self, name: str) -> None:
        """Note in `arrived` when a pod of this name is counted somewhere."""
        self._awaited = {name.encode()}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join()

    def _stop(self) -> None:
        for each in self._running:
            each.cancel()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._all())

    async def _all(self) -> None:
        for number, node in enumerate(self._tokens):
            self._running.append(asyncio.create_task(self._ask(number, node)))
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _ask(self, number: int, node: str) -> None:
        address = (f"127.1.{number // 250}.{number % 250 + 1}", 0)
        connector = aiohttp.TCPConnector(
            family=socket.AF_INET, ssl=self._context, force_close=True, local_addr=address
        )
        quiet = aiohttp.ClientTimeout(total=None, sock_read=45, sock_connect=10)
        async with aiohttp.ClientSession(connector=connector, timeout=quiet) as session:
            await self._ask_again(session, node)

    async def _ask_again(self, session: aiohttp.ClientSession, node: str) -> None:
        pauses = Pauses()
        while True:
            told, answers, wanted = self._told.get(node), False, 0.0
            with suppress(aiohttp.ClientError, OSError, asyncio.IncompleteReadError):
                wanted = await self._stream(session, node)
                answers = True
            await asyncio.sleep(pauses.after(self._told.get(node) != told, answers, wanted))

    async def _stream(self, session: aiohttp.ClientSession, node: str) -> float:
        """Listen until the end; for how long the server wants to be left alone."""
        headers = {"Authorization": f"Bearer {self._tokens[node]}"}
        asked = session.post(self._url, json={"have": self._has[node]}, headers=headers)
        async with asked as answer:
            if answer.status == 200:
                await self._listen(answer.content, node)
            elif answer.status != 503:
                self.problems.append(f"{node}: {answer.status}")
            return jittered(float(answer.headers.get("Retry-After", 0)))

    async def _listen(self, content: aiohttp.StreamReader, node: str) -> None:
        coming: dict[str, str] = dict(self._has[node])
        seen: set[bytes] = set()
        while line := await content.readline():
            frame: dict[str, Any] = json.loads(line)
            if "file" in frame:
                text = await content.readexactly(frame["size"])
                coming[frame["file"]] = _digest(text)
                self.files += 1
                self.bytes += len(text)
                seen |= {each for each in self._awaited if each in text}
            for path in frame.get("gone", ()):
                coming.pop(path, None)
            if "commit" in frame:
                self._count(node, coming, frame)
                for each in seen & self._awaited:
                    self.arrived.setdefault(each.decode(), time.monotonic())

    def _count(self, node: str, coming: dict[str, str], frame: dict[str, Any]) -> None:
        whole = "".join(f"{path}\0{coming[path]}\n" for path in sorted(coming))
        if frame["commit"] != _digest(whole.encode()):
            self.problems.append(f"{node}: another whole")
        self._has[node] = dict(coming)
        self._told[node] = time.monotonic()
