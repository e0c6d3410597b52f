"""Asks the operator for the portion of this node, for ever, and commits what it is sent.

    pause ──> connect, verify ──> tell what lies here ──> files, gone, commit ──┐
      ↑                                                        ↑────────────────┤
      └──────────────── silence, an end, or what cannot be true ────────────────┘

Whatever goes wrong, what lies here stays. What is said of it is said once for each reason.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping

from stoker import __version__
from stoker.reloader.frames import (
    SILENCE,
    AnswerHead,
    BadPortionError,
    EndOfStreamError,
    Stream,
    StreamError,
)
from stoker.reloader.incoming import LARGEST
from stoker.reloader.journal import Journal
from stoker.reloader.metrics import Metrics
from stoker.reloader.portion import Portion
from stoker.reloader.record import record
from stoker.reloader.request import Url

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from typing import Any, Final, NoReturn

_PATH: Final = "/v1/portion"
_FORMAT: Final = 1
_OK: Final = 200
_MEANING: Final = {
    401: "it does not take the token",
    403: "this pod gets no portion there",
    429: "too many ask at once",
    503: "it is not ready yet",
}
_LONGEST_REQUEST: Final = 4 << 20
_LONGEST_REASON: Final = 500
_PATIENCE: Final = 10.0  # seconds to connect
_SOONEST, _LATEST = 0.5, 20.0  # before some is added by chance
_LONGEST_PAUSE: Final = 300.0  # that a server may ask for
_SEND: Final = 65536


class UnansweredError(StreamError):
    """The server does not give the portion now. `pause`: after how many seconds to ask again."""

    def __init__(self, reason: str, pause: float) -> None:
        super().__init__(reason)
        self.pause = pause


class Pauses:
    """How long to wait before a server is asked again: ever longer, until there is an answer."""

    def __init__(self) -> None:
        self._next = _SOONEST
        self._answers = False

    def after(self, told: bool, answers: bool, wanted: float = 0.0) -> float:
        """How long after a try that `told` something, or `answers`; it may have `wanted` a pause.

        One that was away and answers again is soon ready, so it is asked again as soon as at first.
        """
        if told or answers > self._answers:
            self._next = _SOONEST
        self._answers = answers
        pause = min(max(jittered(self._next), wanted), _LONGEST_PAUSE)
        self._next = min(self._next * 2, _LATEST)
        return pause


@record
class Server:
    """Where portions come from, whom to trust there, who we are, and for which node we ask."""

    to: Url
    ca: str
    token: str
    node: str
    silence: float = SILENCE


class Subscription:
    """Keeps a portion as the server tells it.

    `news` is called after the first commit, and after each with something for Prometheus to load.
    `problem` is why there is no stream now, empty if there is. `rest` waits so many seconds.
    """

    def __init__(
        self,
        server: Server,
        portion: Portion,
        metrics: Metrics,
        journal: Journal,
        news: Callable[[], None],
    ) -> None:
        self._server = server
        self._portion = portion
        self._metrics = metrics
        self._journal = journal
        self._news = news
        self._commits = 0
        self._told = -1
        self.problem = "nobody was asked yet"
        self.rest: Callable[[float], None] = time.sleep

    def start(self) -> None:
        """Begin to ask, beside whatever else is done."""
        self._metrics.put("portion_files", len(self._portion.digests))
        threading.Thread(target=self._run, name="portion", daemon=True).start()

    def _run(self) -> None:
        pauses = Pauses()
        while True:
            before, wanted, answers = self._commits, 0.0, True
            try:
                self._follow()
            except EndOfStreamError as error:
                self._journal.debug("the portion is asked for again", reason=error)
            except Exception as error:
                self._failed(error)
                wanted = getattr(error, "pause", 0.0)
                answers = isinstance(error, UnansweredError)
            self._metrics.put("portion_connected", 0)
            self.rest(pauses.after(self._commits > before, answers, wanted))

    def _failed(self, error: Exception) -> None:
        kind = "what the server of portions says cannot be taken"
        if isinstance(error, BadPortionError):
            self._metrics.add("portion_refused_total")
        else:
            kind = "there is no portion from the server"
        reason = _reason(error)
        log = self._journal.debug if reason == self.problem else self._journal.warn
        self.problem = reason
        log(f"{kind}; what lies here stays", server=self._server.to, reason=reason)

    # --- One connection ---------------------------------------------------------------------------

    def _follow(self) -> None:
        """Take what the server tells until it ends, by one of the errors."""
        with self._connection() as connection:
            self._ask(connection)
            stream = Stream(connection, self._server.silence)
            take_in(stream, self._portion, self._server.node, self._committed)

    def _committed(self) -> None:
        self._commits += 1
        files = len(self._portion.digests)
        self._metrics.put("portion_connected", 1)
        self._metrics.put("portion_files", files)
        self._metrics.put("portion_last_commit_timestamp_seconds", time.time())
        log = self._journal.info if self.problem else self._journal.debug
        log("the portion of this node is here", node=self._server.node, files=files)
        self.problem = ""
        if self._told != self._portion.newest:
            self._told = self._portion.newest
            self._news()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[socket.socket]:
        to = self._server.to
        # As bytes, for text would be taken for an international name and load what those need.
        host = to.host.encode()
        with contextlib.ExitStack() as stack:
            plain = socket.create_connection((host, to.port), _PATIENCE)  # type: ignore[arg-type]
            stack.callback(plain.close)
            secure = self._context().wrap_socket(plain, server_hostname=host)
            stack.callback(secure.close)
            yield secure

    def _context(self) -> ssl.SSLContext:
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.load_verify_locations(self._server.ca)
        except OSError as error:
            raise StreamError(f"{self._server.ca}: {error.strerror or error}") from error
        return context

    def _ask(self, connection: socket.socket) -> None:
        to = self._server.to
        have = self._portion.digests
        length = sum(map(len, _body(have)))
        if length > _LONGEST_REQUEST:
            # It is sent everything again, as if it had nothing.
            have = {}
            length = sum(map(len, _body(have)))
        self._portion.tell(have)
        host = f"[{to.host}]" if ":" in to.host else to.host
        head = (
            f"POST {to.path.rstrip('/')}{_PATH} HTTP/1.1",
            f"Host: {host}:{to.port}",
            f"Authorization: Bearer {_token(self._server.token)}",
            f"User-Agent: stoker-reloader/{__version__}",
            "Accept: application/x-ndjson",
            "Content-Type: application/json",
            f"Content-Length: {length}",
            "Connection: close",
        )
        connection.settimeout(self._server.silence)
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        for piece in _joined(_body(have)):
            connection.sendall(piece)


def take_in(stream: Stream, portion: Portion, node: str, committed: Callable[[], None]) -> NoReturn:
    """Take an answer into the portion of this node until it ends, by one of the errors."""
    _check(stream.head(), stream)
    first = stream.frame()
    if first.get("format") != _FORMAT:
        raise BadPortionError("it speaks another format, of another version of stoker")
    if first.get("node") != node:
        raise BadPortionError("it tells the portion of another node")
    incoming = portion.receive()
    while True:
        frame = stream.frame()
        if "file" in frame:
            size = _size(frame)
            incoming.take(frame["file"], frame.get("digest"), stream.content(size))
        elif "gone" in frame:
            incoming.drop(frame["gone"])
        elif "commit" in frame:
            portion.commit(incoming, frame["commit"], frame.get("files"))
            committed()
            incoming = portion.receive()
        elif "alive" not in frame:
            raise BadPortionError("there is a line of no known kind")


def _check(head: AnswerHead, stream: Stream) -> None:
    """See that there are frames."""
    if head.status != _OK:
        said = stream.text(_LONGEST_REASON, head.headers.get("content-length", ""))
        said = said or _MEANING.get(head.status, "")
        reason = f"it answers {head.status}" + (f": {said}" if said else "")
        again = head.headers.get("retry-after", "")
        raise UnansweredError(reason, jittered(float(again)) if _is_number(again) else 0.0)
    if head.headers.get("transfer-encoding", "").lower() != "chunked":
        raise BadPortionError("the body is not in chunks")


def _size(frame: Mapping[str, Any]) -> int:
    size = frame.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= LARGEST:
        raise BadPortionError("a file is too large, or nobody knows how large")
    return size


def _body(have: Mapping[str, str]) -> Iterator[bytes]:
    """What lies here, as JSON; nothing in it needs to be escaped."""
    yield b'{"have":{'
    for number, (path, digest) in enumerate(have.items()):
        yield f'{"," if number else ""}"{path}":"{digest}"'.encode()
    yield b"}}"


def _joined(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer pieces."""
    joined = bytearray()
    for piece in pieces:
        joined += piece
        if len(joined) >= _SEND:
            yield bytes(joined)
            joined.clear()
    yield bytes(joined)


def _token(file: str) -> str:
    """The token as it is now: kubelet renews it."""
    with open(file) as opened:
        token = opened.read(_SEND).strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise StreamError(f"{file} holds no token")
    return token


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def jittered(seconds: float) -> float:
    """About so many seconds, up to half as much again: nobody else asks at the same moment."""
    # The module for random numbers would take more memory than the rest of this one.
    return seconds * (1 + int.from_bytes(os.urandom(2), sys.byteorder) / (1 << 17))


def _reason(error: Exception) -> str:
    if isinstance(error, StreamError):
        return str(error)
    verify = getattr(error, "verify_message", "")
    if verify:
        return f"its certificate is not to be trusted: {verify}"
    if library := getattr(error, "library", ""):
        # The reason of OpenSSL in capitals.
        said = str(getattr(error, "reason", "") or "no reason").lower().replace("_", " ")
        return f"the connection failed in {library}: {said}"
    strerror = getattr(error, "strerror", None) or str(error) or type(error).__name__
    file = getattr(error, "filename", None)
    return f"{file}: {strerror}" if file else str(strerror)
