"""The one request that is answered here: read strictly, and refused as soon as it is another.

Nothing is guessed. What two programs could read differently, such as two lengths, is refused.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec
from msgspec import Struct

from stoker.errors import StokerError

PATH: Final = "/v1/portion"
MOST_HEAD: Final = 16 * 1024
"""So many bytes at most before the body."""
MOST_BODY: Final = 4 * 1024 * 1024
MOST_FILES: Final = 20_000

_MOST_FIELDS: Final = 64
_SOON_SECONDS: Final = 2
_REQUEST_LINE: Final = re.compile(rb"([A-Z]{1,16}) (/[!-~]{0,255}) HTTP/(\d\.\d)")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}):[ \t]*([\t -~\x80-\xff]*)")
_TOKEN: Final = re.compile(rb"[Bb]earer +([A-Za-z0-9._~+/-]{1,8192}=*)")
_LENGTH: Final = re.compile(rb"\d{1,10}")
_TYPE: Final = re.compile(rb"application/json(?:[ \t]*;.*)?", re.IGNORECASE)
# What nobody may say twice.
_ONCE: Final = frozenset({b"content-length", b"authorization", b"content-type", b"host"})


class RefusedError(StokerError):
    """A request that is not answered: with which status, and when to ask again, if that helps.

    The reason is for the log; who asked gets the status alone.
    """

    def __init__(self, status: HTTPStatus, reason: str, after: int = 0) -> None:
        super().__init__(reason)
        self.status = status
        self.after = after


class RequestHead(Struct, frozen=True):
    """What a request says before its body: who asks, and how many bytes follow."""

    token: str
    length: int


class _Body(Struct, frozen=True, forbid_unknown_fields=False):
    have: dict[str, str] = {}


_BODY: Final = msgspec.json.Decoder(_Body)


def head_of(data: bytes) -> RequestHead:
    """The head of a request, up to the empty line; RefusedError where it is not as it should be."""
    first, *lines = data.split(b"\r\n")
    _check_first(first)
    fields = _fields(lines)
    if b"transfer-encoding" in fields:
        raise _bad("a body without a length", HTTPStatus.LENGTH_REQUIRED)
    if not _TYPE.fullmatch(fields.get(b"content-type", b"")):
        raise _bad("not JSON", HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    return RequestHead(_token(fields), _length(fields))


def have_of(body: bytes) -> dict[str, str]:
    """The files that somebody has, each with its digest."""
    try:
        have = _BODY.decode(body).have
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _bad("the body is not as agreed") from None
    if len(have) > MOST_FILES:
        raise _bad("too many files")
    return have


def not_yet(reason: str) -> RefusedError:
    """What to answer as long as a portion is not known."""
    return RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, reason, after=_SOON_SECONDS)


def answer_of(error: RefusedError) -> bytes:
    """The whole answer to a request that is refused."""
    status = error.status
    after = f"Retry-After: {error.after}\r\n" if error.after else ""
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\n{after}Content-Length: 0\r\n"
    return f"{head}Connection: close\r\n\r\n".encode()


BEGUN: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nCache-Control: no-store\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)
"""What comes before the frames."""


def _bad(reason: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> RefusedError:
    return RefusedError(status, reason)


def _check_first(line: bytes) -> None:
    found = _REQUEST_LINE.fullmatch(line)
    if not found or found[3] != b"1.1":
        raise _bad("not a request of HTTP/1.1")
    if found[2] != PATH.encode():
        raise _bad("another path", HTTPStatus.NOT_FOUND)
    if found[1] != b"POST":
        raise _bad("another method", HTTPStatus.METHOD_NOT_ALLOWED)


def _fields(lines: list[bytes]) -> Mapping[bytes, bytes]:
    fields: dict[bytes, bytes] = {}
    if len(lines) > _MOST_FIELDS:
        raise _bad("too many fields", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
    for line in lines:
        found = _FIELD.fullmatch(line)
        if not found:
            raise _bad("a field that is none")
        name = found[1].lower()
        if name in fields and name in _ONCE:
            raise _bad("a field that is there twice")
        fields[name] = found[2].rstrip(b" \t")
    return fields


def _token(fields: Mapping[bytes, bytes]) -> str:
    found = _TOKEN.fullmatch(fields.get(b"authorization", b""))
    if not found:
        raise _bad("no token", HTTPStatus.UNAUTHORIZED)
    return found[1].decode("ascii")


def _length(fields: Mapping[bytes, bytes]) -> int:
    text = fields.get(b"content-length")
    if text is None:
        raise _bad("a body without a length", HTTPStatus.LENGTH_REQUIRED)
    if not _LENGTH.fullmatch(text):
        raise _bad("a length that is none")
    if int(text) > MOST_BODY:
        raise _bad("too long", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return int(text)
