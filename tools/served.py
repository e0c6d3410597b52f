"""`stoker serve` as a process of its own, for tests and measurements of the status page."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

_URL = re.compile(r"http://127\.0\.0\.1:(\d+)/")


class Served(Struct, frozen=True):
    """A folder on the status page."""

    url: str
    port: int
    process: int


@contextmanager
def served(folder: Path, port: int = 0) -> Iterator[Served]:
    """Show a folder on the page; the port is any that is free, unless one is named."""
    command = [sys.executable, "-m", "stoker", "serve", str(folder)]
    command.append(f"--address=127.0.0.1:{port}")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield _announced(process)
        finally:
            process.terminate()


def _announced(process: subprocess.Popen[str]) -> Served:
    """What the command tells when it is ready."""
    for line in process.stdout or ():
        if told := _URL.search(line):
            return Served(told[0], int(told[1]), process.pid)
    raise RuntimeError(f"stoker serve ended with status {process.wait()} and told no address")
