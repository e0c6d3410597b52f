"""Who is let in: connections that have not said who they are have few places and little time.

Anybody who reaches the port may connect. When all places for arrivals are taken, one goes: of the
address that has the most of them, and of these one that has asked for nothing yet, the first that
came. Where all have asked, and no address has more than the newcomer's would, none goes and
none is let in: when all nodes come at once, those that are being looked up are answered, and the
others come again. Who has said who it is keeps its place; of these there are as many as open files
allow, and few for each node.
"""

import asyncio
import contextlib
import resource
import socket
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from stoker.handout.connection import TlsConnection
from stoker.handout.seldom import Seldom
from stoker.logs import Logger

_PAUSE_SECONDS: Final = 0.1
_BACKLOG: Final = 1024
# Open files that are for all else.
_OTHER_FILES: Final = 512
_MOST_FILES: Final = 65_536


class DoorLimits(Struct, frozen=True, kw_only=True):
    """How many may be arriving, how many seconds they have for that, and how many may stay."""

    arriving: int = 256
    seconds: float = 20.0
    staying: int = 16_384
    of_a_node: int = 8


class Visitor:
    """A connection and its place; `address` is where it comes from.

    `has_asked`, once its request was read and is being looked into.
    """

    def __init__(self, door: "PortionDoor", connection: TlsConnection, address: str) -> None:
        self.connection = connection
        self.address = address
        self.has_asked = False
        self.task: asyncio.Task[None] | None = None
        self._door = door

    def stay(self, node: str) -> bool:
        """Say who it is; whether there is a place for it."""
        return self._door.take_in(self, node)


Serve = Callable[[Visitor], Awaitable[None]]


class PortionDoor:
    """Lets connections in, each with `serve`, which closes nothing.

    `context` has the certificate for those that come from now on; nobody is let in before there
    is one. `turned_away` counts those that had to go without an answer.
    """

    def __init__(self, serve: Serve, log: Logger, limits: DoorLimits | None = None) -> None:
        self.context: ssl.SSLContext | None = None
        self.limits = limits or DoorLimits()
        self.turned_away = 0
        self._serve = serve
        self._not_accepted = Seldom(log.warn, "cannot accept a connection")
        self._arriving: dict[Visitor, float] = {}
        self._staying: dict[Visitor, str] = {}
        self._of_node: Counter[str] = Counter()
        self._most = min(self.limits.staying, _possible())

    async def run(self, listening: socket.socket) -> None:
        """Let in until cancelled; then all have to go."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    plain, address = await loop.sock_accept(listening)
                except OSError as error:
                    self._not_accepted.tell(err=error.strerror or str(error))
                    await asyncio.sleep(_PAUSE_SECONDS)
                    continue
                self._let_in(plain, str(address[0]))
        finally:
            await self._close()

    @property
    def staying(self) -> int:
        """How many have said who they are."""
        return len(self._staying)

    def take_in(self, visitor: Visitor, node: str) -> bool:
        """Give a visitor that is on a node a place to stay; whether there is one."""
        full = len(self._staying) >= self._most or self._of_node[node] >= self.limits.of_a_node
        if full or visitor not in self._arriving:
            return False
        del self._arriving[visitor]
        self._staying[visitor] = node
        self._of_node[node] += 1
        return True

    def _let_in(self, plain: socket.socket, address: str) -> None:
        context = self.context
        if context is None:
            plain.close()
            return
        if len(self._arriving) >= self.limits.arriving and not self._make_room(address):
            plain.close()
            return
        try:
            visitor = Visitor(self, TlsConnection(plain, context), address)
        except OSError:
            # Gone already.
            plain.close()
            return
        loop = asyncio.get_running_loop()
        self._arriving[visitor] = loop.time()
        visitor.task = task = loop.create_task(self._served(visitor), name="visitor")
        timer = loop.call_later(self.limits.seconds, self._late, visitor)
        # A task that is told to go before it began does nothing at all, not even at its end.
        task.add_done_callback(lambda _: self._gone(visitor, timer))

    def _make_room(self, address: str) -> bool:
        """Have one go for one from this address; whether there is one that may be sent away."""
        of = Counter(each.address for each in self._arriving)
        first = min(
            self._arriving,
            key=lambda each: (-of[each.address], each.has_asked, self._arriving[each]),
        )
        self.turned_away += 1
        if first.has_asked and of[first.address] <= of[address] + 1:
            return False
        self._leave(first)
        if first.task:
            first.task.cancel()
        return True

    async def _served(self, visitor: Visitor) -> None:
        # Who breaks off, or says nothing sensible, is no concern of ours.
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._serve(visitor)

    def _gone(self, visitor: Visitor, timer: asyncio.TimerHandle) -> None:
        timer.cancel()
        self._leave(visitor)
        visitor.connection.close()

    def _late(self, visitor: Visitor) -> None:
        if visitor in self._arriving and visitor.task:
            self.turned_away += 1
            visitor.task.cancel()

    def _leave(self, visitor: Visitor) -> None:
        self._arriving.pop(visitor, None)
        node = self._staying.pop(visitor, None)
        if node is not None:
            self._of_node[node] -= 1
            if not self._of_node[node]:
                del self._of_node[node]

    async def _close(self) -> None:
        tasks = [each.task for each in (*self._arriving, *self._staying) if each.task]
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def listening_on(host: str, port: int) -> socket.socket:
    """A socket that listens; on all interfaces and in both families without a host. OSError."""
    if host:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    elif socket.has_dualstack_ipv6():
        family = socket.AF_INET6
        made = socket.create_server(
            ("", port), family=family, dualstack_ipv6=True, backlog=_BACKLOG
        )
    else:
        made = socket.create_server(("", port), backlog=_BACKLOG)
    made.setblocking(False)
    return made


def _possible() -> int:
    """For how many connections there can be open files; as many as we may have are asked for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(max(soft, wanted) - _OTHER_FILES, 1)
