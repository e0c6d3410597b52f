"""Holds a cluster that outlives the command that asked for it.

``python -m tools.holder`` starts a cluster in ``<cache>/up`` in the background and keeps it until
SIGTERM. As long as it lives it holds a lock, and its process number stands in the lock
file: whoever finds the lock free knows that nothing runs, whatever a crash left lying around.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from pathlib import Path
from typing import IO

from tools import cache
from tools.cluster import Cluster, ClusterError
from tools.waiting import NotInTimeError

POLL = 0.1


def home() -> Path:
    """Return the folder of everything here; ``up`` and ``down`` lock it while they work."""
    return cache.root() / "up"


def folder() -> Path:
    """Return where the kept cluster has its files."""
    return home() / "cluster"


def ready_file() -> Path:
    """Return the file that is there once the cluster can be used."""
    return folder() / "ready"


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
    """Run the cluster until told to end, or until it ends by itself."""
    told = {signal.SIGTERM, signal.SIGINT}
    # Blocked, not handled: a signal during the start waits until there is something to end.
    signal.pthread_sigmask(signal.SIG_BLOCK, told)
    with Cluster.start(directory=folder()) as cluster:
        ready_file().touch()
        while signal.sigtimedwait(told, 1.0) is None:
            cluster.check()


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
        except (ClusterError, NotInTimeError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
