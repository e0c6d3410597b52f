"""Waits for a change in directories, by inotify through the C library.

kubelet changes a volume by renaming the link `..data` in its top directory, so it is enough to
watch directories and not what is below them; what that misses, the regular look finds. Where the
kernel gives no inotify (its instances are limited on each node), the regular look is made often.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import time
from collections.abc import Iterable

from stoker.reloader.journal import Journal
from stoker.reloader.metrics import Metrics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


# <sys/inotify.h>: MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE,
# DELETE_SELF, MOVE_SELF; ONLYDIR.
_CHANGES: Final = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x1000000
_EVENT: Final = struct.Struct("iIII")
_WITHOUT: Final = 5.0  # seconds between looks where there is no inotify
_MOST_DELAYS: Final = 10  # a file that never rests must not hold up all others


class Watcher:
    """The directories that are watched."""

    def __init__(self, metrics: Metrics, journal: Journal) -> None:
        self._metrics = metrics
        self._journal = journal
        self._poll = select.poll()
        self._news = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll.register(self._news, select.POLLIN)
        self._library = ctypes.CDLL(None, use_errno=True)
        self._file = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._file < 0:
            self._failed("inotify")
        else:
            self._poll.register(self._file, select.POLLIN)

    def watch(self, paths: Iterable[str]) -> None:
        """Watch these directories, and for files the directories they are in.

        To be called again before each look: a directory may be new, and the same twice is no harm.
        """
        if self._file < 0:
            return
        folders = {path if os.path.isdir(path) else os.path.dirname(path) or "." for path in paths}
        watched = [folder for folder in sorted(folders) if self._add(folder)]
        self._metrics.put("watches", len(watched))

    def wake(self) -> None:
        """Tell of a change that the kernel does not tell of, from any thread."""
        os.eventfd_write(self._news, 1)

    def wait(self, seconds: float, delay: float) -> None:
        """Return after a change, once there was none for the delay; else after these seconds."""
        if self._file < 0:
            seconds = min(seconds, _WITHOUT)
        end = time.monotonic() + seconds
        if not self._changed(seconds):
            return
        end = min(end, time.monotonic() + delay * _MOST_DELAYS)
        while (left := end - time.monotonic()) > 0 and self._changed(min(delay, left)):
            pass

    def _add(self, folder: str) -> bool:
        added = self._library.inotify_add_watch(self._file, os.fsencode(folder), _CHANGES)
        if added < 0:
            self._failed(folder)
        return bool(added >= 0)

    def _failed(self, what: str) -> None:
        self._metrics.add("watch_errors_total")
        reason = os.strerror(ctypes.get_errno())
        self._journal.warn("cannot watch", what=what, reason=reason)

    def _changed(self, seconds: float) -> bool:
        """Whether something changes within the time; what the kernel says of it is only counted."""
        ready = {file for file, _ in self._poll.poll(seconds * 1000)}
        if self._news in ready:
            os.eventfd_read(self._news)
        if self._file in ready:
            self._count()
        return bool(ready)

    def _count(self) -> None:
        data = os.read(self._file, 65536)
        place = 0
        while place < len(data):
            place += _EVENT.size + _EVENT.unpack_from(data, place)[3]
            self._metrics.add("watch_events_total")
