"""The way into the cluster's network for a process outside: connections, made there, handed over.

A socket belongs to the network in which it was made, whichever process holds it. So a process
inside (``python -m tools.pods.gate PATH``) opens connections for those who ask it through a Unix
socket, which a file system and not a network tells where it is, and passes them through that.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import socketserver
import ssl
import sys
from pathlib import Path

TIMEOUT = 30.0


class Request(socketserver.StreamRequestHandler):
    """A line with an address and a port, answered with a connection, or with nothing."""

    def handle(self) -> None:
        """Connect and hand over."""
        host, port = self.rfile.readline().decode().split()
        with (
            contextlib.suppress(OSError),
            socket.create_connection((host, int(port)), TIMEOUT) as made,
        ):
            socket.send_fds(self.request, [b"."], [made.fileno()])


def connected(gate: Path, host: str, port: int) -> socket.socket:
    """A connection to an address inside; ConnectionRefusedError where nobody listens."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(2 * TIMEOUT)
        asking.connect(str(gate))
        asking.sendall(f"{host} {port}\n".encode())
        files = socket.recv_fds(asking, 1, 1)[1]
    if not files:
        raise ConnectionRefusedError(f"{host}:{port} does not answer")
    return socket.socket(fileno=files[0])


class Connection(http.client.HTTPConnection):
    """HTTP, with TLS where wanted, to an address inside; certificates are not verified."""

    def __init__(self, gate: Path, host: str, port: int, *, tls: bool = False) -> None:
        super().__init__(host, port, timeout=TIMEOUT)
        self._gate = gate
        self._tls = tls

    def connect(self) -> None:
        """Get the connection through the gate."""
        self.sock = connected(self._gate, self.host, self.port)
        self.sock.settimeout(TIMEOUT)
        if self._tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            self.sock = context.wrap_socket(self.sock)


def main(argv: list[str]) -> None:
    """Serve until the end of the cluster."""
    with socketserver.ThreadingUnixStreamServer(argv[0], Request) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
