"""No byte of a write leaves a process that does not lead.

A write that was begun by a leader may leave it much later: the process is stopped for longer than
its leadership lasts, and what the loop, TLS and the connection hold is sent when it goes on. So the
fence is asked last of all, by the socket, whenever bytes are handed to the kernel. Of a request
that was cut in the middle the server makes nothing.

The kernel goes on sending what it was given, whoever leads meanwhile. So it is given little at a
time, and gives up what nobody takes from it before another can lead. What the network itself keeps
and delivers late is for the server to refuse, where a write says which version it is about.
"""

import asyncio
import socket
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, Final
from weakref import WeakSet, WeakValueDictionary

import aiohttp

Fence = Callable[[], None]

FENCE: Final[ContextVar[Fence | None]] = ContextVar("fence", default=None)
"""The fence of the request that this task is making."""


# How much the kernel may have of a request that it has not sent yet.
_UNSENT_BYTES: Final = 64 * 1024
UNTAKEN_SECONDS: Final = 4.0
"""For how long the kernel may keep what nobody takes from it: less than leaders are apart."""

_NOT_SENT: Final[int | None] = getattr(socket, "TCP_NOTSENT_LOWAT", None)
_USER_TIMEOUT: Final[int | None] = getattr(socket, "TCP_USER_TIMEOUT", None)


class ShutError(ConnectionAbortedError):
    """The fence is shut. For the event loop a connection that broke, which it does not report."""


def shut_by(error: BaseException) -> BaseException | None:
    """What the fence said, if that is why a request failed."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, ShutError):
        seen = seen.__cause__ or seen.__context__
    return seen.__cause__ if seen else None


class _FencedSocket(socket.socket):
    """Asks the fence of the request at hand before it sends."""

    fence: Fence | None = None

    def guard(self, fence: Fence | None) -> None:
        """Serve a request from now on, which may have a fence."""
        self.fence = fence
        if _USER_TIMEOUT is not None:
            milliseconds = int(UNTAKEN_SECONDS * 1000) if fence else 0
            self.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, milliseconds)

    def send(self, data: Any, flags: int = 0, /) -> int:
        """As a socket does."""
        self._ask()
        return super().send(data, flags)

    def sendmsg(self, buffers: Iterable[Any], *others: Any) -> int:
        """As a socket does."""
        self._ask()
        return super().sendmsg(buffers, *others)

    def _ask(self) -> None:
        try:
            if self.fence:
                self.fence()
        except Exception as error:
            raise ShutError(str(error)) from error


class FencedConnector(aiohttp.TCPConnector):
    """Gives each request a connection that asks its fence: a connection serves one at a time."""

    def __init__(self, **options: Any) -> None:
        super().__init__(socket_factory=self._made, **options)
        self._transports: WeakSet[asyncio.Transport] = WeakSet()
        self._sockets: WeakValueDictionary[int, _FencedSocket] = WeakValueDictionary()

    def abort(self) -> None:
        """End what is still open: TLS would wait for the other side to say goodbye."""
        for transport in list(self._transports):
            transport.abort()

    async def connect(self, *args: Any, **kwargs: Any) -> Any:
        """The connection, new or kept."""
        connection = await super().connect(*args, **kwargs)
        transport = connection.transport
        plain = transport.get_extra_info("socket") if transport else None
        fenced = self._sockets.get(plain.fileno()) if plain else None
        if transport is None or fenced is None:
            connection.close()
            raise aiohttp.ClientConnectionError("the connection was closed meanwhile")
        self._transports.add(transport)
        fenced.guard(FENCE.get())
        return connection

    def _made(self, address: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, _ = address
        made = _FencedSocket(family=family, type=kind, proto=protocol)
        if _NOT_SENT is not None:
            made.setsockopt(socket.IPPROTO_TCP, _NOT_SENT, _UNSENT_BYTES)
        self._sockets[made.fileno()] = made
        return made
