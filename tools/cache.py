"""Where built things are kept, and how two processes agree on who makes them.

Everything lands under one folder. A thing is made under a temporary name and renamed when it is
complete, so what has its final name is whole. A lock file keeps two builders apart; the kernel
drops the lock with its process, so a killed builder blocks nobody.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

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
    """Hold a folder for one process at a time, and say so when that means waiting."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that works in {folder}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
