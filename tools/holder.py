"""Holds a cluster, and what is shown on it, that outlives the command that asked for it.

``python -m tools.holder`` starts a cluster in ``<cache>/up`` in the background, with the operator
and all that ``demo`` has, and keeps it until SIGTERM. It writes to a file how far it is. As
long as it lives it holds a lock, and its process number stands in the lock file: whoever finds the
lock free knows that nothing runs, whatever a crash left lying around.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import IO

from tools import cache, demo
from tools.api import ApiError
from tools.cluster import Cluster, ClusterError
from tools.waiting import NotInTimeError

POLL = 0.1

_Handler = Callable[[int, FrameType | None], object] | signal.Handlers


def home() -> Path:
    """Return the folder of everything here; ``up`` and ``down`` lock it while they work."""
    return cache.root() / "up"


def folder() -> Path:
    """Return where the kept cluster has its files."""
    return home() / "cluster"


def ready_file() -> Path:
    """Return the file that is there once all of it can be used, and says where it is."""
    return folder() / "ready"


def progress_file() -> Path:
    """Return the file with a line for each step that is done."""
    return folder() / "progress"


def holder() -> int | None:
    """Return the process that holds the cluster, if there is one."""
    if not _lock_path().exists():
        return None
    with _lock_path().open("r+") as lock:
        if _take(lock):
            return None
        return int(lock.read())


def wait_until_gone(seconds: float) -> bool:
    """Tell whether the holder, and with it the cluster, ended in this time."""
    deadline = time.monotonic() + seconds
    while holder() is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL)
    return True


def _lock_path() -> Path:
    return home() / "holder.lock"


def _take(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _hold() -> None:
    """Run all of it until told to end, or until it ends by itself."""
    told: list[int] = []
    # Not blocked: the processes of pods would inherit that. A signal during the start of the
    # cluster waits until there is something to end.
    _on_signal(lambda number, _: told.append(number))
    with contextlib.suppress(_Told), Cluster.start(directory=folder()) as cluster:
        _on_signal(_end)
        if told:
            raise _Told
        _tell("the control plane runs, with three nodes")
        with demo.running(cluster, _tell) as shown:
            shown.places.write(ready_file())
            while True:
                time.sleep(1.0)
                shown.keep()


class _Told(BaseException):
    """Somebody wants it to end."""


def _end(*_: object) -> None:
    # Once is enough: the end is not to be disturbed.
    _on_signal(signal.SIG_IGN)
    raise _Told


def _on_signal(handler: _Handler) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


def _tell(step: str) -> None:
    with progress_file().open("a") as file:
        file.write(f"{step}\n")


def main() -> int:
    """Hold a cluster in the background: return at once, with the lock taken."""
    home().mkdir(parents=True, exist_ok=True)
    with _lock_path().open("a+") as lock:
        if not _take(lock):
            return 0
        if process := os.fork():
            lock.truncate(0)
            lock.write(str(process))
            return 0
        # The lock belongs to both processes until the first ends, and then to this one alone.
        os.setsid()
        try:
            _hold()
        except (
            ClusterError,
            NotInTimeError,
            ApiError,
            OSError,
            http.client.HTTPException,
        ) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
