"""What is said on a connection of an agent's reloader: lines of JSON, and the texts of files.

Files are known by their digests. What comes between two commits counts together, at the commit.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from stoker.portions.placed import digest_of

FORMAT: Final = 1
_LINE: Final = msgspec.json.Encoder().encode


def _line(**members: Any) -> bytes:
    return _LINE(members) + b"\n"


ALIVE: Final = _line(alive=True)
"""Says nothing, so that whoever listens knows that somebody is there."""


def greeting(node: str, pod: str) -> bytes:
    """For whom all of it is."""
    return _line(node=node, pod=pod, format=FORMAT)


def file_frame(path: str, digest: str, text: bytes) -> bytes:
    """A file, with its text."""
    return _line(file=path, digest=digest, size=len(text)) + text


def gone_frame(paths: Iterable[str]) -> bytes:
    """Files that there are no longer."""
    return _line(gone=sorted(paths))


def commit_frame(digests: Mapping[str, str]) -> bytes:
    """All files as they count now."""
    return _line(commit=whole_of(digests), files=len(digests))


def whole_of(digests: Mapping[str, str]) -> str:
    """The digest of all files together."""
    return digest_of("".join(f"{path}\0{digests[path]}\n" for path in sorted(digests)).encode())


def chunk_of(data: bytes) -> bytes:
    """A part of a body in HTTP's chunks; one of nothing is the end."""
    return b"%x\r\n%b\r\n" % (len(data), data)
