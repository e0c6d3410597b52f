"""Programs from PyPI that one command needs once: in an environment that goes with it."""

from __future__ import annotations

import subprocess
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def environment(*requirements: str) -> Iterator[Path]:
    """The folder with the programs of an environment that has these installed."""
    with tempfile.TemporaryDirectory(prefix="stoker-throwaway-") as directory:
        venv.create(directory, with_pip=True)
        programs = Path(directory) / "bin"
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([programs / "pip", "install", *quiet, *requirements], check=True)
        yield programs
