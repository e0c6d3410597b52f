"""Paths to manifests: what `kubectl apply -f` would send, one object after the other.

    paths ──> files ──> documents (split at `---`) ──> values ──> objects (lists taken apart)

Files are split before they are parsed, so that a broken document costs only itself. Whatever goes
wrong with a path, a file or a document becomes an `Unreadable` in the place where the objects would
have been: reading never raises. One document is held at a time, and those larger than an API server
takes are measured but neither kept nor parsed.
"""

import codecs
import errno
import io
import json
import math
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from typing import Any, BinaryIO, Final, TextIO, TypeAlias

from msgspec import Struct

from stoker.offline.strangers import is_template
from stoker.yamltree import MAX_DEPTH, YamlError, json_number, parse

MIB: Final = 2**20
MAX_DOCUMENT: Final = 3 * MIB
"""What an API server takes in one request."""
MAX_FILE: Final = 256 * MIB
STDIN: Final = "<stdin>"

_ENDINGS = (".yaml", ".yml", ".json")


class Manifest(Struct, frozen=True):
    """An object, and where it was written.

    `document` counts from 1. `path` leads to the object inside its document (`items[3]`), empty
    where it is the document. `text` is the document and begins on line `line` of the source.
    """

    source: str
    document: int
    line: int
    object: dict[str, Any]
    path: str = ""
    text: str = ""


class Unreadable(Struct, frozen=True):
    """Something that should hold objects but does not; document and line are 0 where unknown.

    A `stranger` was never meant to hold any.
    """

    source: str
    document: int
    line: int
    path: str
    reason: str
    stranger: bool = False


Document: TypeAlias = Manifest | Unreadable


def read(
    paths: Iterable[str], stdin: TextIO | None = None, exclude: Sequence[str] = ()
) -> Iterator[Document]:
    """The objects in files, folders and, for the path `-`, standard input; each file once.

    What matches a pattern of `exclude`, as a whole path or in its last parts, is not looked at.
    """
    seen: set[str] = set()
    for path in paths:
        if path == "-":
            yield from _documents(STDIN, _bytes_of(stdin or sys.stdin))
            continue
        for found in _files(path, seen, exclude):
            yield from [found] if isinstance(found, Unreadable) else _file(found)


def files(path: str, exclude: Sequence[str] = ()) -> Iterator[str | Unreadable]:
    """The files that `read` would read at and below a path, in its order."""
    return _files(path, set(), exclude)


def _bytes_of(stream: TextIO) -> BinaryIO:
    """The bytes below a text stream: text would have lost what is not UTF-8."""
    below: BinaryIO | None = getattr(stream, "buffer", None)
    return below or io.BytesIO(stream.read(MAX_FILE + 1).encode("utf-8", "surrogateescape"))


def _files(path: str, seen: set[str], exclude: Sequence[str] = ()) -> Iterator[str | Unreadable]:
    """The files at and below a path in the order of their names; each only once."""
    waiting = [path]
    while waiting:
        here = waiting.pop()
        if _is_excluded(here, exclude):
            continue
        wanted = here == path or here.lower().endswith(_ENDINGS)
        try:
            mode = os.stat(here).st_mode
            if stat.S_ISDIR(mode):
                waiting += _entries(here, seen)
            elif wanted and _is_new(here, seen):
                yield _regular(here, mode)
        except (OSError, ValueError) as error:
            if wanted or getattr(error, "errno", 0) == errno.ELOOP:
                yield Unreadable(here, 0, 0, "", _os_reason(error))


def _is_excluded(path: str, patterns: Iterable[str]) -> bool:
    plain = os.path.normpath(path)
    return any(
        fnmatch(plain, pattern) or fnmatch(plain, f"*/{pattern}")
        for pattern in (os.path.normpath(each) for each in patterns)
    )


def _entries(folder: str, seen: set[str]) -> list[str]:
    """What lies in a folder, the last name first, less what is hidden."""
    real, holder = os.path.realpath(folder), os.path.realpath(os.path.dirname(folder) or ".")
    if os.path.islink(folder) and (holder + os.sep).startswith(real.rstrip(os.sep) + os.sep):
        raise OSError(errno.ELOOP, "a symbolic link that leads back to a folder above it")
    if not _is_new(folder, seen):
        return []
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    return [os.path.join(folder, name) for name in reversed(names)]


def _is_new(path: str, seen: set[str]) -> bool:
    real = os.path.realpath(path)
    known = real in seen
    seen.add(real)
    return not known


def _regular(path: str, mode: int) -> str:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "neither a file nor a folder; use `-` to read from a pipe")
    return path


def _os_reason(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return reason[:1].lower() + reason[1:]


def _file(path: str) -> Iterator[Document]:
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > MAX_FILE:
                yield Unreadable(path, 0, 0, "", _too_large(size, "stoker", MAX_FILE))
            elif path.lower().endswith(".json"):
                yield from _json_file(path, stream, size)
            else:
                yield from _documents(path, stream)
    except OSError as error:
        yield Unreadable(path, 0, 0, "", _os_reason(error))


def _too_large(size: int, reader: str, limit: int) -> str:
    return f"{size / MIB:.1f} MiB; {reader} takes at most {limit // MIB} MiB"


def _json_file(source: str, stream: BinaryIO, size: int) -> Iterator[Document]:
    if size > MAX_DOCUMENT:
        yield Unreadable(source, 1, 1, "", _too_large(size, "the API server", MAX_DOCUMENT))
        return
    piece = _Piece(1)
    piece.take(stream.read(size + 1))
    yield from _readings(source, 1, piece, json_only=True)


def _documents(source: str, stream: BinaryIO) -> Iterator[Document]:
    number = 0
    try:
        for piece in _pieces(stream):
            if piece.marked or not piece.is_blank():
                number += 1
                yield from _readings(source, number, piece)
    except OSError as error:
        yield Unreadable(source, 0, 0, "", _os_reason(error))


class _Piece:
    """The bytes of a document; forgotten, but counted, when they become too many."""

    def __init__(self, line: int, marked: bool = False) -> None:
        self.line = line
        self.marked = marked
        self.size = 0
        self._kept = bytearray()

    def take(self, chunk: bytes) -> None:
        """Add what was read."""
        self.size += len(chunk)
        if self.size > MAX_DOCUMENT:
            self._kept.clear()
        else:
            self._kept += chunk

    def data(self) -> bytes:
        """All of it, with an end to the last line."""
        return bytes(self._kept if self._kept.endswith(b"\n") else self._kept + b"\n")

    def is_blank(self) -> bool:
        """Whether there is nothing but comments and directives."""
        data = self.data()
        return self.size <= MAX_DOCUMENT and _preamble(data) == len(data)


def _pieces(stream: BinaryIO) -> Iterator[_Piece]:
    """A stream cut at its `---` and `...` lines, up to the size of the largest file."""
    piece, line, size, fresh = _Piece(1), 1, 0, True
    while size <= MAX_FILE and (chunk := stream.readline(MIB)):
        if size == 0:
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
        found = _MARKER.match(chunk) if fresh else None
        if found:
            yield piece
            piece = _Piece(line, marked=found[0] == b"---")
        if not found or piece.marked:
            piece.take(chunk)
        size += len(chunk)
        fresh = chunk.endswith(b"\n")
        line += fresh
    if size > MAX_FILE:
        raise OSError(errno.EFBIG, f"larger than {MAX_FILE // MIB} MiB; the rest is not read")
    yield piece


def _readings(
    source: str, number: int, piece: _Piece, json_only: bool = False
) -> Iterator[Document]:
    """The objects of one document, or what is wrong with it."""
    if piece.size > MAX_DOCUMENT:
        reason = _too_large(piece.size, "the API server", MAX_DOCUMENT)
        yield Unreadable(source, number, piece.line, "", reason)
        return
    data = piece.data()
    start = 0 if json_only else _preamble(data)
    line = piece.line + data.count(b"\n", 0, start)
    if not data[start:].strip():
        return
    try:
        text = _text(data[start:], line)
        value = _json(text, line) if json_only else _value(text, line)
    except YamlError as error:
        foreign = is_template(source, data, broken=True)
        yield Unreadable(source, number, error.line, "", error.reason, foreign)
        return
    if is_template(source, data, broken=False):
        yield Unreadable(source, number, line, "", "a template of a chart", stranger=True)
        return
    yield from _objects(Manifest(source, number, line, value, "", text))


def _preamble(data: bytes) -> int:
    """How many bytes of blank lines, comments, directives and `---` stand before the content."""
    found = _PREAMBLE.match(data)
    return found.end() if found else 0


_MARKER = re.compile(rb"(---|\.\.\.)(?=[ \t\r\n]|\Z)")
_PREAMBLE = re.compile(rb"(?:(?:---(?=[ \t\r\n]))?[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*+")


def _text(data: bytes, line: int) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        at = line + data.count(b"\n", 0, error.start)
        reason = f"not UTF-8: the byte 0x{data[error.start]:02x} does not belong there"
        raise YamlError(at, 1, reason) from None
    nul = text.find("\0")
    if nul >= 0:
        raise YamlError(line + text.count("\n", 0, nul), 1, "holds a NUL byte")
    return text


def _value(text: str, line: int) -> Any:
    """A document's value; JSON is tried first, as it allows a little that YAML does not."""
    if text.startswith("{"):
        try:
            return _json(text, line)
        except YamlError:
            return parse(text, line)
    return parse(text, line)


def _json(text: str, line: int) -> Any:
    _refuse_depth(text, line)
    try:
        value = json.loads(
            text.removeprefix("\ufeff"),
            object_pairs_hook=_distinct,
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_finite,
        )
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise YamlError(line + error.lineno - 1, error.colno, f"not JSON: {reason}") from None
    except UnicodeEncodeError:
        raise YamlError(line, 1, "a string holds half of a surrogate pair") from None
    except ValueError as error:
        raise YamlError(line, 1, str(error)) from None
    return value


_MAX_DIGITS = 300
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def _refuse_depth(text: str, line: int) -> None:
    """Refuse what would exhaust the stack of the recursive JSON parser."""
    depth = 0
    for found in _BRACKETS.finditer(text):
        if found[0] in "[{":
            depth += 1
        elif found[0] in "]}":
            depth -= 1
        if depth > MAX_DEPTH:
            at = line + text.count("\n", 0, found.start())
            raise YamlError(at, 1, f"nested deeper than {MAX_DEPTH} levels")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"the key `{key[:60]}` stands twice in one object")
        members[key] = value
    return members


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"`{text[:60]}…` is not a number that JSON allows")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"`{text[:60]}` is not a number that JSON allows")
    return json_number(number)


def _objects(whole: Manifest) -> Iterator[Document]:
    """A document's object, or the objects in it if it is a list."""
    waiting: list[tuple[str, Any]] = [(whole.path, whole.object)]
    while waiting:
        path, value = waiting.pop()
        if not isinstance(value, dict):
            reason = f"expected an object, got {_described(value)}"
            foreign = isinstance(value, list) and path == whole.path
            where = (whole.source, whole.document, whole.line)
            yield Unreadable(*where, path, reason, foreign)
        elif _is_list(value):
            waiting += reversed(_items(path, value))
        else:
            yield Manifest(whole.source, whole.document, whole.line, value, path, whole.text)


def _is_list(value: dict[str, Any]) -> bool:
    kind = value.get("kind")
    if kind == "List":
        return value.get("apiVersion") == "v1" and isinstance(value.get("items") or [], list)
    return isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list)


def _items(path: str, value: dict[str, Any]) -> list[tuple[str, Any]]:
    """The items of a list; in a list of one kind, they may leave out what the list has said."""
    kind = value["kind"].removesuffix("List")
    said = {"apiVersion": value.get("apiVersion"), "kind": kind} if kind else {}
    prefix = f"{path}.items" if path else "items"
    return [
        (f"{prefix}[{index}]", said | item if isinstance(item, dict) else item)
        for index, item in enumerate(value.get("items") or [])
    ]


def _described(value: Any) -> str:
    if value is None:
        return "nothing"
    return "a list" if isinstance(value, list) else f"`{str(value)[:60]}`"
