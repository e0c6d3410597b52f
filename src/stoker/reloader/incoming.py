"""What a server tells of a portion from one commit to the next, kept beside what lies in place."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping

from stoker.reloader.frames import BadPortionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

LARGEST: Final = 64 << 20
"""How many bytes a file may have."""
MOST_FILES: Final = 20_000
MOST_BYTES: Final = 256 << 20
"""How many files a portion may have, and bytes in all of them."""

_CHUNK: Final = 16384
_DIGITS: Final = 32
_PATH: Final = re.compile(
    r"(?:jobs/(?!\.)[A-Za-z0-9._-]{1,250}\.yaml|targets/(?!\.)[A-Za-z0-9._-]{1,250}\.json"
    r"|tls/(?!\.)[A-Za-z0-9._-]{1,255})"
)
_DIGEST: Final = re.compile(r"[0-9a-f]{32}")


def is_path(path: object) -> bool:
    """Whether a file of a portion may have this path."""
    return isinstance(path, str) and bool(_PATH.fullmatch(path))


def check_path(path: object) -> str:
    """A path that a file of a portion may have; BadPortionError for any other."""
    if not isinstance(path, str) or not is_path(path):
        raise BadPortionError("a file is to lie where no file of a portion lies")
    return path


def whole(digests: Mapping[str, str]) -> str:
    """The digest of all files of a portion together."""
    total = hashlib.sha256()
    for path in sorted(digests):
        total.update(f"{path}\0{digests[path]}\n".encode())
    return total.hexdigest()[:_DIGITS]


def digest_of(path: str) -> str:
    """What a file is known by that lies there."""
    counted = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(_CHUNK):
            counted.update(piece)
    return counted.hexdigest()[:_DIGITS]


class Incoming:
    """What arrives of a portion from one commit to the next, kept beside what lies in place."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._bytes = self._count = 0
        self.parts: dict[str, tuple[str, str]] = {}
        self.gone: set[str] = set()

    def take(self, path: object, digest: object, content: Iterable[bytes]) -> None:
        """A file, streamed to the disk; BadPortionError where it is not what was announced."""
        name = check_path(path)
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise BadPortionError(f"{name} comes without a digest")
        counted = hashlib.sha256()
        self._count += 1
        if self._count > MOST_FILES:
            raise BadPortionError("the files are too many")
        part = os.path.join(self._folder, str(self._count))
        with open(part, "wb") as file:
            for piece in content:
                self._bytes += len(piece)
                if self._bytes > MOST_BYTES:
                    raise BadPortionError("the portion is too large")
                counted.update(piece)
                file.write(piece)
        if counted.hexdigest()[:_DIGITS] != digest:
            raise BadPortionError(f"{name} is not the file that was announced")
        self.parts[name] = (part, digest)
        self.gone.discard(name)

    def drop(self, paths: object) -> None:
        """Files that are to go."""
        for path in map(check_path, paths if isinstance(paths, list) else (paths,)):
            self.gone.add(path)
            self.parts.pop(path, None)
