"""A connection with TLS that holds next to nothing while nothing is said.

OpenSSL works on the socket itself. (asyncio's own TLS keeps a buffer of a quarter of a megabyte for
each connection, and whatever is written until somebody takes it.) What is written is taken by the
kernel before the next is made, so a slow reader costs one part of a text and no more.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_RECORD: Final = 16 * 1024
# How much the kernel may have of what is not sent yet.
_UNSENT: Final = 64 * 1024
# For how long the other machine may not confirm what it was sent, in milliseconds. By itself the
# kernel would try for a quarter of an hour, and who has lost its network would keep its place.
_UNCONFIRMED: Final = 60_000
PATIENCE_SECONDS: Final = 20.0
"""How long a record may take to be taken: below a kilobyte a second no one is served."""


class TlsConnection:
    """One connection of somebody who asks; it is closed by whoever made it.

    OSError (or the ssl.SSLError that is one) where the connection is broken, TimeoutError where the
    other side does not take what is written.
    """

    def __init__(
        self, plain: socket.socket, context: ssl.SSLContext, patience: float = PATIENCE_SECONDS
    ) -> None:
        self._patience = patience
        plain.setblocking(False)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNCONFIRMED)
        self._socket = context.wrap_socket(
            plain, server_side=True, do_handshake_on_connect=False, suppress_ragged_eofs=True
        )
        self._loop = asyncio.get_running_loop()
        self._listening = False

    async def shake_hands(self) -> None:
        """Agree on keys; nothing can be said before."""
        await self._done(self._socket.do_handshake)

    async def read(self) -> bytes:
        """What comes next; nothing at the end."""
        return await self._done(lambda: self._socket.recv(_RECORD))

    async def write(self, data: bytes) -> None:
        """Have the kernel take all of it."""
        view = memoryview(data)
        while view:
            view = view[await self._sent(view[:_RECORD]) :]

    async def _sent(self, part: memoryview) -> int:
        # Mostly it is taken at once, and then nobody has to look at a clock.
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return self._socket.send(part)
        async with asyncio.timeout(self._patience):
            return await self._done(lambda: self._socket.send(part))

    def listen(self, ended: Callable[[], None]) -> None:
        """Call this once the other side says anything, be it goodbye: there is nothing to say."""

        def heard() -> None:
            try:
                self._socket.recv(1)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                pass
            self._deaf()
            ended()

        self._listening = True
        self._loop.add_reader(self._socket, heard)

    def close(self) -> None:
        """End it, with a goodbye that nobody waits for."""
        self._deaf()
        with contextlib.suppress(OSError, ValueError):
            self._socket.unwrap()
        with contextlib.suppress(OSError):
            self._socket.close()

    def _deaf(self) -> None:
        if self._listening:
            self._listening = False
            self._loop.remove_reader(self._socket)

    async def _done(self, step: Callable[[], T]) -> T:
        """Do this as soon as the connection lets us."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                await self._until(self._loop.add_reader, self._loop.remove_reader)
            except ssl.SSLWantWriteError:
                await self._until(self._loop.add_writer, self._loop.remove_writer)

    async def _until(self, add: Callable[..., None], remove: Callable[..., object]) -> None:
        ready = self._loop.create_future()
        add(self._socket, _set, ready)
        try:
            await ready
        finally:
            remove(self._socket)


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
