"""Digests of what is watched, and outputs that change as a whole.

An output goes through three names beside it, all in its directory:

    .NAME.new    the next one, complete but not yet in place
    .NAME.good   the last one that was taken
    .NAME.part   what is being written, or is about to take the place of the output by a rename

So a reader finds either the old output or the new one, never a part of it; and when the new one is
refused, the last good one is put back, for a Prometheus that restarts meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, TypeAlias

Fill: TypeAlias = Callable[[Iterable[bytes]], Iterable[bytes]]

_CHUNK: Final = 16384
_DEEPEST: Final = 16  # a link can lead back to its own directory
_GZIP: Final = b"\x1f\x8b"
# What a file system answers that has no second names for a file, or not for this one.
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


def digest(paths: Iterable[str], ignored: Collection[str] = ()) -> int:
    """A number that changes with the names and the contents of files at and below the paths.

    What is not there counts as such. The number means something within this process only: Python
    hashes bytes with a key of its own, which costs less memory than a library for digests.
    """
    total = 0
    for path in paths:
        for file in _files(path, ignored):
            total = hash((total, file))
            for chunk in _chunks(file):
                total = hash((total, chunk))
    return total


def _files(path: str, ignored: Collection[str], depth: int = 0) -> Iterator[str]:
    """The files at or below a path, through links, in order.

    Names with two dots are kubelet's own: it keeps a volume's files in a directory named after the
    time, and links to them. The same contents in a new directory are no change.
    """
    if not os.path.isdir(path):
        if os.path.exists(path) and os.path.abspath(path) not in ignored:
            yield path
        return
    if depth > _DEEPEST:
        return
    for name in sorted(os.listdir(path)):
        if not name.startswith(".."):
            yield from _files(os.path.join(path, name), ignored, depth + 1)


def _chunks(path: str) -> Iterator[bytes]:
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            yield chunk


@contextlib.contextmanager
def _lines_of(path: str) -> Iterator[Iterable[bytes]]:
    """The lines of a file as it is, or unpacked where it is gzip, whatever its name."""
    with open(path, "rb") as file:
        packed = file.peek(2).startswith(_GZIP)
        yield io.BufferedReader(gzip.GzipFile(fileobj=file), _CHUNK) if packed else file


class Output:
    """A configuration to read, and the file that is made of it."""

    def __init__(self, source: str, target: str) -> None:
        self.source = source
        self.target = target
        folder, name = os.path.split(os.path.abspath(target))
        self._new, self._good, self._part = (
            os.path.join(folder, f".{name}.{state}") for state in ("new", "good", "part")
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All files that are ours."""
        return (os.path.abspath(self.target), self._new, self._good, self._part)

    @property
    def exists(self) -> bool:
        """Whether there is an output in place."""
        return os.path.exists(self.target)

    def prepare(self, fill: Fill) -> None:
        """Make the next output of what the source holds now; the one in place stays."""
        try:
            with _lines_of(self.source) as lines, open(self._part, "wb") as file:
                file.writelines(fill(lines))
                file.flush()
                os.fsync(file.fileno())
        except (EOFError, zlib.error) as error:
            raise OSError(f"{self.source}: {error}") from error
        os.replace(self._part, self._new)

    def publish(self) -> None:
        """Put the next output in place, and keep nothing else."""
        os.replace(self._new, self.target)

    def activate(self) -> None:
        """Put the next output in place."""
        self._place(self._new)

    def accept(self) -> None:
        """Remember the next output as good."""
        os.replace(self._new, self._good)

    def put_back(self) -> None:
        """Put the last good output in place again, if there is one."""
        with contextlib.suppress(FileNotFoundError):
            self._place(self._good)

    def _place(self, file: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._part)
        linked(file, self._part)
        os.replace(self._part, self.target)


def linked(source: str, target: str) -> None:
    """Give a file a second name; or make a copy, where a file system has no such thing."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with open(target, "wb") as file:
            file.writelines(_chunks(source))
