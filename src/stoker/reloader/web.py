"""Serves /metrics and /healthz.

One thread accepts, one short-lived thread answers each connection, a few at a time: someone who
connects and says nothing keeps nobody else from an answer. The web configuration and its
certificates are read again when their files change; if the new ones are bad, the old ones stay.
"""

from __future__ import annotations

import base64
import binascii
import os
import socket
import threading
from collections.abc import Callable, Iterable

from stoker.reloader.journal import Journal
from stoker.reloader.metrics import Metrics
from stoker.reloader.record import record
from stoker.reloader.webconfig import PLAIN, Passwords, WebConfigError, tls_context, web_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from typing import Final

_PATIENCE: Final = 10.0  # seconds for a whole request
_AT_ONCE: Final = 4
_BACKLOG: Final = 64
_LONGEST_HEAD: Final = 16384
_REASONS: Final = {
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed"
}  # fmt: skip


@record
class Reply:
    """An answer."""

    status: int
    body: str
    kind: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


class Protection:
    """The web configuration as it is now."""

    def __init__(self, file: str, journal: Journal) -> None:
        self._file = file
        self._journal = journal
        self._lock = threading.Lock()
        self._watched: tuple[str, ...] = (file,)
        self._seen: object = None
        self.config = PLAIN
        self.context: ssl.SSLContext | None = None
        self.passwords = Passwords({})
        if file:
            self._read()

    def refresh(self) -> None:
        """Read it again if it or a file that it names has changed."""
        if not self._file:
            return
        with self._lock:
            if self._seen == _stamps(self._watched):
                return
            try:
                self._read()
            except WebConfigError as error:
                self._journal.error("the web configuration stays as it was", reason=error)

    def _read(self) -> None:
        # What was seen is noted before it is read, so that a change meanwhile is read again.
        self._watch(self._file)
        config = web_config(self._file)
        self._watch(self._file, *config.files)
        context, passwords = tls_context(config), Passwords(config.users)
        self.config, self.context, self.passwords = config, context, passwords

    def _watch(self, *files: str) -> None:
        self._watched, self._seen = files, _stamps(files)


def _stamps(paths: Iterable[str]) -> list[tuple[int, ...]]:
    return [_stamp(path) for path in paths]


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


class Listener:
    """Answers at an address, from threads of its own."""

    def __init__(
        self, address: tuple[str, int], protection: Protection, metrics: Metrics, journal: Journal
    ) -> None:
        self._protection = protection
        self._journal = journal
        self._free = threading.BoundedSemaphore(_AT_ONCE)
        self._pages: dict[str, Callable[[], Reply]] = {
            "/metrics": lambda: Reply(200, metrics.text(), "text/plain; version=0.0.4"),
            "/healthz": lambda: Reply(200, "ok\n"),
        }
        self._socket = _bound(address)
        self.port: int = self._socket.getsockname()[1]

    def start(self) -> None:
        """Begin to answer."""
        threading.Thread(target=self._accept, name="listener", daemon=True).start()

    def _accept(self) -> None:
        while True:
            self._free.acquire()
            connection, _ = self._socket.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(_PATIENCE)
            self._protection.refresh()
            if self._protection.context:
                connection = self._protection.context.wrap_socket(connection, server_side=True)
            connection.sendall(self._answer(_head(connection)))
        except (OSError, ValueError) as error:
            self._journal.debug("a connection failed", reason=error)
        finally:
            connection.close()
            self._free.release()

    def _answer(self, head: list[str]) -> bytes:
        method, _, rest = head[0].partition(" ")
        reply = self._reply(method, rest.split(" ")[0].partition("?")[0], head[1:])
        body = reply.body.encode()
        lines = [f"HTTP/1.1 {reply.status} {_REASONS[reply.status]}"]
        lines += [f"Content-Type: {reply.kind}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in reply.headers]
        lines += [f"{name}: {value}" for name, value in self._protection.config.headers.items()]
        lines += ["Connection: close", "", ""]
        return "\r\n".join(lines).encode() + (b"" if method == "HEAD" else body)

    def _reply(self, method: str, path: str, headers: Iterable[str]) -> Reply:
        if self._protection.config.users and not self._knows(headers):
            ask = (("WWW-Authenticate", 'Basic realm="stoker reloader"'),)
            return Reply(401, "Unauthorized\n", headers=ask)
        if method not in ("GET", "HEAD"):
            return Reply(405, "only GET and HEAD\n", headers=(("Allow", "GET, HEAD"),))
        page = self._pages.get(path)
        return page() if page else Reply(404, "there is /metrics and /healthz\n")

    def _knows(self, headers: Iterable[str]) -> bool:
        for header in headers:
            name, _, value = header.partition(":")
            scheme, _, text = value.strip().partition(" ")
            if name.strip().lower() == "authorization" and scheme.lower() == "basic":
                return self._allows(text)
        return False

    def _allows(self, text: str) -> bool:
        try:
            user, _, password = base64.b64decode(text, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return False
        return self._protection.passwords.allow(user, password)


def _head(connection: socket.socket) -> list[str]:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(4096)
        if not chunk or len(data) > _LONGEST_HEAD:
            raise ValueError("no request")
        data += chunk
    return data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")


def _bound(address: tuple[str, int]) -> socket.socket:
    """A listening socket; no host means all addresses, of both families where there are two."""
    host, port = address
    if not host and socket.has_dualstack_ipv6():
        return socket.create_server(
            address, family=socket.AF_INET6, dualstack_ipv6=True, backlog=_BACKLOG
        )
    # As bytes, for text would be taken for an international name and load what those need.
    found = socket.getaddrinfo(host.encode() or None, port, type=socket.SOCK_STREAM)[0]
    return socket.create_server(found[4][:2], family=found[0], backlog=_BACKLOG)
