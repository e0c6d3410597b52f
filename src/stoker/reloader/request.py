"""HTTP requests, as few lines as asking for a reload takes.

HTTP/1.0 in both directions: one request for each connection, and an answer without chunks.
"""

from __future__ import annotations

import base64
import re
import socket
import time

from stoker.reloader.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?:(?P<user>[^@/]*)@)?(?P<host>\[[^\]]*\]|[^:/?#\[]*)(?::(?P<port>[0-9]+))?"
    r"(?P<path>[/?][^#\s]*)?"
)
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})")
_LONGEST: Final = 1 << 20


class RequestError(Exception):
    """No answer came."""


@record
class Url:
    """Where to send a request."""

    secure: bool
    host: str
    port: int
    path: str
    user: str

    def __str__(self) -> str:
        """The URL without a user's name and password, to be shown."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.path}"


def url(text: str) -> Url:
    """A URL taken apart; without a host it is this one. Raises `ValueError` where it is none."""
    found = _URL.fullmatch(text)
    if not found:
        raise ValueError("not a URL such as http://127.0.0.1:9090/-/reload")
    secure = found["scheme"] == "https"
    path = found["path"] or "/"
    return Url(
        secure=secure,
        host=found["host"].strip("[]") or "localhost",
        port=int(found["port"] or (443 if secure else 80)),
        path=path if path.startswith("/") else f"/{path}",
        user=found["user"] or "",
    )


def answer(method: str, to: Url, timeout: float) -> tuple[int, bytes]:
    """Status and body of the answer, all of it within the timeout (in seconds)."""
    end = time.monotonic() + timeout
    try:
        with _connection(to, timeout) as connection:
            connection.sendall(_head(method, to))
            received = _received(connection, end)
    except OSError as error:
        raise RequestError(f"{to}: {error.strerror or error}") from error
    status = _STATUS.match(received)
    if not status:
        raise RequestError(f"{to}: the answer is not HTTP")
    return int(status[1]), received.partition(b"\r\n\r\n")[2]


def _connection(to: Url, timeout: float) -> socket.socket:
    # As bytes, for text would be taken for an international name and load what those need.
    plain = socket.create_connection((to.host.encode(), to.port), timeout)  # type: ignore[arg-type]
    if not to.secure:
        return plain
    import ssl

    # The process is a neighbour in the pod, reached by the loopback interface; its certificate is
    # made out to the name of a Service.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        return context.wrap_socket(plain)
    except BaseException:
        plain.close()
        raise


def _head(method: str, to: Url) -> bytes:
    lines = [f"{method} {to.path} HTTP/1.0", f"Host: {to.host}:{to.port}", "Content-Length: 0"]
    if to.user:
        lines.append(f"Authorization: Basic {base64.b64encode(to.user.encode()).decode()}")
    return "\r\n".join([*lines, "User-Agent: stoker-reloader", "", ""]).encode()


def _received(connection: socket.socket, end: float) -> bytes:
    data = b""
    while len(data) < _LONGEST:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        connection.settimeout(left)
        chunk = connection.recv(65536)
        if not chunk:
            break
        data += chunk
    return data
