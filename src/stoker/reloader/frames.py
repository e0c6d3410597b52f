"""What a server of portions says on a connection, read within bounds of size and time.

An answer is HTTP/1.1 with a body in chunks; the body is lines of JSON, called frames, some of which
are followed by the bytes of a file. Nothing is taken for granted: whoever speaks may be slow, may
fall silent, or might not be what it says.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

from stoker.reloader.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any, Final

SILENCE: Final = 45.0
"""For how many seconds a server may say nothing."""

_SLOWEST: Final = 16384  # bytes in a second, of a file
_CHUNK: Final = 16384
_LONGEST_HEAD: Final = 16384
_LONGEST_SIZE: Final = 256  # of the line that says how long a chunk is
_LONGEST_FRAME: Final = 4 << 20  # all that a request can tell may be gone at once
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: .*)?")
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?")


class StreamError(Exception):
    """There is no answer, or no more of it."""


class EndOfStreamError(StreamError):
    """The server has ended its answer as it should."""


class BadPortionError(StreamError):
    """What arrived is not as it should be, so nothing of it counts."""


@record
class AnswerHead:
    """How an answer begins."""

    status: int
    headers: dict[str, str]


class Stream:
    """An answer as it comes in. `silence`: for how many seconds nothing may come."""

    def __init__(self, connection: socket.socket, silence: float = SILENCE) -> None:
        self._connection = connection
        self._silence = silence
        self._end = 0.0
        self._raw = bytearray()
        self._body = bytearray()
        self._left = 0
        self._begun = False

    def head(self) -> AnswerHead:
        """Status and headers, these by their names in small letters."""
        self._within(self._silence)
        first = self._raw_line(_LONGEST_HEAD)
        status = _STATUS.fullmatch(first)
        if not status:
            raise BadPortionError("the answer is not HTTP")
        headers = {}
        room = _LONGEST_HEAD
        while line := self._raw_line(room):
            room -= len(line)
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        return AnswerHead(int(status[1]), headers)

    def text(self, most: int, length: str) -> str:
        """What an answer of that length says, as far as there is room; it has no chunks."""
        self._within(self._silence)
        wanted = min(int(length), most) if length.isdecimal() and len(length) < 10 else 0
        while len(self._raw) < wanted:
            self._receive()
        return bytes(self._raw[:wanted]).decode("utf-8", "replace").strip()

    def frame(self) -> dict[str, Any]:
        """The next line of the body, as the object that it is."""
        self._within(self._silence)
        searched = 0
        while (at := self._body.find(b"\n", searched)) < 0:
            searched = len(self._body)
            if searched > _LONGEST_FRAME:
                raise BadPortionError("a line is too long")
            self._more()
        line = bytes(self._body[:at])
        del self._body[: at + 1]
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise BadPortionError("a line is no object in JSON")
        return found

    def content(self, size: int) -> Iterator[bytes]:
        """The bytes of a file that follow a frame."""
        self._within(self._silence + size / _SLOWEST)
        while size:
            if not self._body:
                self._more()
            piece = bytes(self._body[:size])
            del self._body[: len(piece)]
            size -= len(piece)
            yield piece

    # --- Chunks -----------------------------------------------------------------------------------

    def _more(self) -> None:
        """Add what comes next to the body."""
        if not self._left:
            self._next_chunk()
        if not self._raw:
            self._receive()
        piece = self._raw[: self._left]
        del self._raw[: len(piece)]
        self._body += piece
        self._left -= len(piece)

    def _next_chunk(self) -> None:
        if self._begun and self._raw_line(_LONGEST_SIZE):
            raise BadPortionError("a chunk is not as long as was said")
        self._begun = True
        found = _SIZE.fullmatch(self._raw_line(_LONGEST_SIZE))
        if not found:
            raise BadPortionError("the body is not in chunks")
        self._left = int(found[1], 16)
        if not self._left:
            if self._body:
                raise BadPortionError("the answer ends in the middle of a line")
            raise EndOfStreamError("the server has ended its answer")

    # --- Bytes ------------------------------------------------------------------------------------

    def _raw_line(self, longest: int) -> bytes:
        while (at := self._raw.find(b"\r\n")) < 0:
            if len(self._raw) > longest:
                raise BadPortionError("a header is too long")
            self._receive()
        line = bytes(self._raw[:at])
        del self._raw[: at + 2]
        return line

    def _within(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def _receive(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise StreamError("the server is silent, or too slow")
        self._connection.settimeout(left)
        try:
            received = self._connection.recv(_CHUNK)
        except TimeoutError:
            raise StreamError("the server is silent, or too slow") from None
        if not received:
            raise StreamError("the connection was closed in the middle of an answer")
        self._raw += received
