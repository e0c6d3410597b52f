"""Where built things are kept, and how two processes agree on who makes them.

Everything lands under one folder. A thing is made under a temporary name and renamed when it is
complete, so what has its final name is whole. A lock file keeps two builders apart; the kernel
drops the lock with its process, so a killed builder blocks nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tools.progress import say


def root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return ``$STOKER_CACHE``, else ``$XDG_CACHE_HOME/stoker``, else ``~/.cache/stoker``."""
    if own := environ.get("STOKER_CACHE"):
        return Path(own).absolute()
    if xdg := environ.get("XDG_CACHE_HOME"):
        return Path(xdg).absolute() / "stoker"
    return Path.home() / ".cache" / "stoker"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for one process at a time, and say so when that means waiting.

    Whoever holds it may `remove` it; those who wait then begin with a new one.
    """
    while True:
        with _opened(folder / ".lock") as file:
            _wait_for(file, folder)
            if _is_there(file):
                yield
                return


def remove(folder: Path) -> None:
    """Remove a folder that we hold, at once for everybody else, who may make a new one now."""
    going = folder.with_name(f"{folder.name}.gone-{os.getpid()}-{time.monotonic_ns()}")
    folder.rename(going)
    shutil.rmtree(going)


def _opened(lock: Path) -> IO[str]:
    while not lock.parent.is_file():
        # Somebody may remove the folder just now, between any two looks at it.
        with contextlib.suppress(FileNotFoundError, FileExistsError):
            lock.parent.mkdir(parents=True, exist_ok=True)
            return lock.open("w")
    raise NotADirectoryError(f"{lock.parent} is a file, and should be a folder")


def _is_there(file: IO[str]) -> bool:
    """Whether a file is still what its name stands for."""
    try:
        return os.stat(file.name).st_ino == os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False


def _wait_for(file: IO[str], folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"waiting for another process that works in {folder}")
        fcntl.flock(file, fcntl.LOCK_EX)
