"""A small server of portions: the protocol as agreed, over TLS, and ways to break with it.

    with PortionServer(folder) as server:
        server.give({"jobs/a.yaml": b"…", "targets/a.json": b"[]"})
        …
        server.answer = lambda said: said.whole(b"nonsense")

It says what differs from what the other side has; what `answer` is set to speaks in its place.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Self

from tools import credentials

NODE = "node-1"
BEGUN = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
Files = dict[str, bytes]


def digest_of(text: bytes) -> str:
    """What a file is known by."""
    return sha256(text).hexdigest()[:32]


def whole_of(files: Files) -> str:
    """What a portion is known by."""
    lines = (f"{path}\0{digest_of(files[path])}\n" for path in sorted(files))
    return digest_of("".join(lines).encode())


def line(**members: Any) -> bytes:
    """A frame."""
    return json.dumps(members).encode() + b"\n"


def greeting(**others: Any) -> bytes:
    """The first frame."""
    return line(**{"node": NODE, "pod": "uid", "format": 1} | others)


def file(path: str, text: bytes, **others: Any) -> bytes:
    """The frame of a file, and the file."""
    return line(**{"file": path, "digest": digest_of(text), "size": len(text)} | others) + text


def commit(state: Files, **others: Any) -> bytes:
    """The last frame of a state."""
    return line(**{"commit": whole_of(state), "files": len(state)} | others)


def told(files: Files, have: Mapping[str, str] | None = None) -> bytes:
    """All frames from one state to another."""
    known = have or {}
    frames = [
        file(path, text) for path, text in files.items() if known.get(path) != digest_of(text)
    ]
    gone = sorted(known.keys() - files.keys())
    return b"".join([*frames, *([line(gone=gone)] if gone else ()), commit(files)])


def chunk(data: bytes) -> bytes:
    """A part of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def answered(*frames: bytes) -> bytes:
    """A whole answer."""
    return b"".join([BEGUN, *map(chunk, frames), END])


class Request(NamedTuple):
    """What was asked."""

    head: str
    have: dict[str, str]


class Said:
    """One connection."""

    def __init__(self, connection: ssl.SSLSocket, request: Request) -> None:
        self._connection = connection
        self.request = request

    def raw(self, data: bytes) -> None:
        """Say these bytes."""
        self._connection.sendall(data)

    def frames(self, *frames: bytes) -> None:
        """Say these frames, each in a chunk."""
        self.raw(b"".join(map(chunk, frames)))

    def until_closed(self) -> None:
        """Say nothing more, until the other side has gone."""
        while self._connection.recv(100):
            pass


class PortionServer:
    """The server. `names` are the addresses for which its certificate is."""

    def __init__(self, folder: Path, names: Iterable[str] = ("127.0.0.1",)) -> None:
        made = credentials.create(folder, names)
        self.ca = made.ca_file
        self.requests: list[Request] = []
        self.answer: Callable[[Said], None] | None = None
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(made.server_certificate, made.server_key)
        self._changed = threading.Condition()
        self._files: dict[str, bytes] = {}
        self._open: set[socket.socket] = set()
        self._ended = False
        self._threads: list[threading.Thread] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]

    @property
    def url(self) -> str:
        """Where it is."""
        return f"https://127.0.0.1:{self.port}"

    def give(self, files: Files) -> None:
        """What is on the node from now on."""
        with self._changed:
            self._files = dict(files)
            self._changed.notify_all()

    def hang_up(self) -> None:
        """Break all connections."""
        with self._changed:
            broken, self._open = self._open, set()
            self._changed.notify_all()
        for each in broken:
            # Not closed: who reads from it would go on with whatever has its number next.
            with suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        self._begin(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone would not wake who waits for a connection.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._ended = True
        self.hang_up()
        for each in self._threads:
            each.join()
        self._socket.close()

    def _begin(self, work: Callable[..., None], *what: socket.socket) -> None:
        thread = threading.Thread(target=work, args=what, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                plain, _ = self._socket.accept()
            except OSError:
                return
            self._begin(self._serve, plain)

    def _serve(self, plain: socket.socket) -> None:
        try:
            with self._context.wrap_socket(
                plain, server_side=True, do_handshake_on_connect=False
            ) as connection:
                with self._changed:
                    self._open.add(connection)
                if self._ended:
                    return
                connection.do_handshake()
                said = Said(connection, _request(connection))
                self.requests.append(said.request)
                (self.answer or self._honest)(said)
        except (OSError, ValueError):
            pass
        finally:
            plain.close()

    def _honest(self, said: Said) -> None:
        said.raw(BEGUN)
        said.frames(greeting())
        known: Mapping[str, str] = said.request.have
        while True:
            with self._changed:
                files = self._files
            said.frames(told(files, known))
            known = {path: digest_of(text) for path, text in files.items()}
            with self._changed:
                while self._files is files:
                    if self._ended:
                        return
                    if not self._changed.wait(1):
                        said.frames(line(alive=True))


def _request(connection: ssl.SSLSocket) -> Request:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _received(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(each.split(b":")[1]) for each in head.split(b"\r\n") if each.startswith(b"Content-Le")
    )
    while len(body) < length:
        body += _received(connection)
    return Request(head.decode(), json.loads(body)["have"])


def _received(connection: ssl.SSLSocket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ValueError("the other side has gone")
    return data
