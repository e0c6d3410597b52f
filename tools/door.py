"""A port of this machine that leads to a server inside the cluster's network.

Every connection asks anew where the server is, as a pod that is replaced has another address.
"""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Any, Self

CHUNK = 65536
ANY = 0


class Door:
    """Open from the beginning of its block to its end, at the wanted port if that is free."""

    def __init__(self, wanted: int, enter: Callable[[], socket.socket]) -> None:
        self._server = _server(wanted, enter)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    # A browser keeps connections open for as long as it likes; the end does not wait for it.
    block_on_close = False

    def __init__(self, port: int, enter: Callable[[], socket.socket]) -> None:
        super().__init__(("127.0.0.1", port), _Visitor)
        self.enter = enter

    def handle_error(self, *_: Any) -> None:
        """Say nothing: whoever came through the door sees that it closed."""


class _Visitor(socketserver.BaseRequestHandler):
    """One connection."""

    server: _Server

    def handle(self) -> None:
        """Carry both ways until both sides are done."""
        with self.server.enter() as inside:
            inside.settimeout(None)
            back = threading.Thread(target=carry, args=(inside, self.request), daemon=True)
            back.start()
            carry(self.request, inside)
            back.join()


def carry(near: socket.socket, far: socket.socket) -> None:
    """Carry what one says to the other, until it says nothing more."""
    with contextlib.suppress(OSError):
        while data := near.recv(CHUNK):
            far.sendall(data)
    with contextlib.suppress(OSError):
        far.shutdown(socket.SHUT_WR)


def _server(wanted: int, enter: Callable[[], socket.socket]) -> _Server:
    try:
        return _Server(wanted, enter)
    except OSError:
        return _Server(ANY, enter)
