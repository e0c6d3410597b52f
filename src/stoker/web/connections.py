"""Connections of strangers: few at a time, and each with little time to say what it wants.

Anybody who reaches the port may connect. A connection costs memory from the first byte, with TLS a
quarter of a megabyte, so there is a limit, and one for each address. When all places are taken,
somebody who has not said anything yet, or is done, makes room: of the address that has the most,
and of these who has been idle longest. Who keeps connections open without a word keeps nobody out.
"""

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, cast

from aiohttp import web
from aiohttp.typedefs import Handler
from msgspec import Struct

from stoker.logs import Logger

_PAUSE_SECONDS: Final = 0.1


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """How many connections there may be, and how many seconds each has.

    `arriving` for the handshake and for the headers of a request, `waiting` between two requests,
    `answering` from the headers of a request to the end of its answer.
    """

    all: int = 192
    of_an_address: int = 96
    arriving: float = 10.0
    waiting: float = 60.0
    answering: float = 60.0


class Acceptor:
    """Accepts connections for `make`, which gives a protocol for each of them.

    `context` has the certificates for those that come from now on; None is without TLS.
    `turned_away` counts those that had to go, or were not let in.
    """

    def __init__(
        self, make: Callable[[], Any], log: Logger, limits: ConnectionLimits | None = None
    ) -> None:
        self.context: ssl.SSLContext | None = None
        self.limits = limits or ConnectionLimits()
        self.turned_away = 0
        self._make = make
        self._log = log
        self._open: set[_Connection] = set()
        self._of_address: Counter[str] = Counter()
        self._by_protocol: dict[object, _Connection] = {}

    async def run(self, listening: socket.socket) -> None:
        """Accept until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(listening)
            except OSError as error:
                # Gone before it was accepted, or there are too many open files.
                self._log.warn("cannot accept a connection", err=error.strerror or str(error))
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            self._take(accepted, str(address[0]))

    @property
    def marking(self) -> Any:
        """A middleware that tells when a request is being answered."""

        @web.middleware
        async def marked(request: web.Request, handler: Handler) -> web.StreamResponse:
            connection = self._by_protocol.get(request.protocol)
            if connection is not None:
                connection.expect(self.limits.answering, busy=True)
            try:
                return await handler(request)
            finally:
                if connection is not None:
                    connection.expect(self.limits.waiting)

        return marked

    def _take(self, accepted: socket.socket, address: str) -> None:
        if self._of_address[address] >= self.limits.of_an_address:
            room = self._made_room(address)
        else:
            room = len(self._open) < self.limits.all or self._made_room()
        if not room:
            self.turned_away += 1
            accepted.close()
            return
        self._of_address[address] += 1
        connection = _Connection(self, address)
        self._open.add(connection)
        connection.begin(accepted, self.context)

    def _made_room(self, address: str | None = None) -> bool:
        """Whether somebody who is idle could be sent away; one of this address if it is given."""
        idle = [each for each in self._open if not each.busy and address in (None, each.address)]
        if not idle:
            return False
        first = min(idle, key=lambda each: (-self._of_address[each.address], each.since))
        self.turned_away += 1
        first.abort()
        return True

    def protocol_for(self, connection: "_Connection") -> Any:
        """The protocol that serves a connection."""
        made = self._make()
        self._by_protocol[made] = connection
        return made

    def ended(self, connection: "_Connection", protocol: object) -> None:
        """A connection is closed."""
        self._by_protocol.pop(protocol, None)
        if connection in self._open:
            self._open.discard(connection)
            self._of_address[connection.address] -= 1
            # A Counter keeps those that are zero, and there are many addresses.
            self._of_address += Counter()


class _Connection(asyncio.Protocol):
    """One connection: passes everything on, and ends it when its time is over."""

    def __init__(self, acceptor: Acceptor, address: str) -> None:
        self.address = address
        self.busy = False
        self.since = 0.0
        self._acceptor = acceptor
        self._inner: Any = None
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self.expect(acceptor.limits.arriving)

    def begin(self, accepted: socket.socket, context: ssl.SSLContext | None) -> None:
        """Shake hands, and serve."""
        self._task = asyncio.create_task(self._begun(accepted, context))

    def expect(self, seconds: float, *, busy: bool = False) -> None:
        """Something must have happened when this many seconds are over."""
        loop = asyncio.get_running_loop()
        self.busy, self.since = busy, loop.time()
        if self._timer:
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self.abort)

    def abort(self) -> None:
        """End it, whatever is under way."""
        if self._transport:
            self._transport.abort()
        elif self._task:
            self._task.cancel()
        self._ended()

    async def _begun(self, accepted: socket.socket, context: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(lambda: self, accepted, ssl=context)
        except (OSError, asyncio.CancelledError):
            # Who does not shake hands is no concern of ours; closing tells it so.
            accepted.close()
            self._ended()

    def _ended(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._acceptor.ended(self, self._inner)

    # --- What the transport says ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake is done: the headers of a request must come."""
        self._transport = cast("asyncio.Transport", transport)
        self.expect(self._acceptor.limits.arriving)
        self._inner = self._acceptor.protocol_for(self)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass it on."""
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass it on."""
        answer: bool | None = self._inner.eof_received()
        return answer

    def pause_writing(self) -> None:
        """Pass it on."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass it on, and make room."""
        self._inner.connection_lost(exc)
        self._ended()
