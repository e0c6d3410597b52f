"""Compiles one program with Go and shows how far it is.

It is made under another name beside its place and renamed when it is complete. While Go compiles,
its output is both the progress (one line per package) and, when it fails, the explanation.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from tools import golang
from tools.progress import Progress

TAIL_LINES = 15


class BuildError(Exception):
    """A build failed; the message ends with what Go said last."""


# A compiler lives for seconds: it collects less garbage, as long as there is room. That is a sixth
# of the time of its processors.
_LESS_CLEANING = {"GOGC": "400", "GOMEMLIMIT": "3GiB"}


@dataclass(frozen=True)
class Recipe:
    """What Go is told: where it works, what it compiles, and how; the name is for people."""

    name: str
    folder: Path
    package: str
    flags: tuple[str, ...]
    ldflags: str


def compiled(go: Path, recipe: Recipe, target: Path) -> None:
    """Make a program, which has its name only when it is whole."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch, recipe.name)
        _compile(go, recipe, made)
        made.rename(target)


def _compile(go: Path, recipe: Recipe, target: Path) -> None:
    progress = Progress(recipe.name)
    try:
        progress.total = _count_packages(go, recipe, progress)
        words = ["build", "-v", *recipe.flags, "-ldflags", recipe.ldflags, "-o", str(target)]
        for _package in _lines([str(go), *words, recipe.package], recipe, progress):
            progress.done += 1
    except BaseException:
        progress.fail()
        raise
    progress.finish()


def _count_packages(go: Path, recipe: Recipe, progress: Progress) -> int:
    """Count what is not yet in Go's own cache, without the command itself.

    Before it can count, Go downloads the sources, which takes its time on a new machine.
    """
    stale = '{{if and .Stale (ne .Name "main")}}stale{{end}}'
    command = [str(go), "list", *recipe.flags, "-deps", "-f", stale, recipe.package]
    return sum(line == "stale" for line in _lines(command, recipe, progress))


def _lines(command: list[str], recipe: Recipe, progress: Progress) -> Iterator[str]:
    """Yield lines as a command writes them, and show the progress while there are none."""
    seen: list[str] = []
    with running(command, recipe.folder) as process:
        try:
            for line in _read_lines(process, progress):
                seen.append(line)
                yield line
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        tail = "\n".join(seen[-TAIL_LINES:])
        raise BuildError(f"go {command[1]} failed for {recipe.package}:\n{tail}")


def running(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start a command of Go in a folder; what it complains of is in its output."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=_LESS_CLEANING | golang.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _read_lines(process: subprocess.Popen[bytes], progress: Progress) -> Iterator[str]:
    output = cast("IO[bytes]", process.stdout)
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while True:
            progress.tick()
            if not selector.select(timeout=0.2):
                continue
            chunk = os.read(output.fileno(), 65536)
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
            if not chunk:
                return
