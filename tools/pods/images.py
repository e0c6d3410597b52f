"""The images that can run here, and what is in them.

A container sees nothing of this machine but what its image holds: one program, or Python with our
reloader. All containers of a name run the same program, whatever their tags say. There are two
reloaders: the peer's, which is the operator's default, and ours, for images called after us.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import stoker
from tools import build, catalogue

# What Python needs besides itself: the machine's shared libraries, wherever it has them.
LIBRARIES = ("/usr", "/lib", "/lib64", "/nix")
OURS, PEERS = "stoker", catalogue.RELOADER
OUR_IMAGE = f"images.example.org/{OURS}:test"
"""What `--prometheus-config-reloader` is set to for pods with our reloader."""


@dataclass(frozen=True)
class Image:
    """A program, its files by their paths in the container, and where it starts and keeps data."""

    entrypoint: str
    files: Mapping[str, Path]
    data: str = ""

    @property
    def work_directory(self) -> str:
        """Where the program starts."""
        return self.data or "/"


class Images:
    """The images, made when they are first asked for, with what is written for them in a folder."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._made: dict[str, Image] = {}

    def find(self, reference: str) -> Image | None:
        """The image that a container names; None where there is nothing to run for it."""
        last = re.split("[@:]", reference.rpartition("/")[2])[0]
        # In this order: the peer's reloader is called prometheus-config-reloader.
        for name in (OURS, PEERS, "alertmanager", "prometheus"):
            if name in last:
                return self._made.get(name) or self._make(name)
        return None

    def _make(self, name: str) -> Image:
        if name == OURS:
            made = self._our_reloader()
        else:
            path = f"/bin/{name}"
            data = "" if name == PEERS else f"/{name}"
            made = Image(path, {path: build.binaries(name)[name]}, data)
        self._made[name] = made
        return made

    def _our_reloader(self) -> Image:
        """As a program at the path of the peer's: the template names that as the command."""
        source = Path(stoker.__file__).parents[1]
        script = self._directory / "config-reloader"
        script.write_text(
            f"#!{sys.executable} -IS\n"
            "import sys\n"
            f"sys.path.insert(0, {str(source)!r})\n"
            "from stoker.reloader.__main__ import main\n"
            "sys.exit(main())\n"
        )
        script.chmod(0o755)
        python = {sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable))}
        needed = {*python, str(source), *filter(os.path.exists, LIBRARIES)}
        path = f"/bin/{PEERS}"
        return Image(path, {path: script, **{each: Path(each) for each in needed}})
