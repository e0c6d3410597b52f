"""Packages of Debian, fetched with the machine's own mirror and keys, and unpacked.

Nothing of a package is run: no shell and no package manager comes into the image with it.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SUITE = "trixie"
# What Python needs of what it says it needs; the rest is for parts of it that are left out.
PACKAGES = (
    "ca-certificates",
    "gcc-14-base",
    "libbz2-1.0",
    "libc6",
    "libexpat1",
    "libffi8",
    "libgcc-s1",
    "liblzma5",
    "libpython3.13-minimal",
    "libpython3.13-stdlib",
    "libssl3t64",
    "libstdc++6",
    "libzstd1",
    "python3.13-minimal",
    "tzdata",
    "zlib1g",
)
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_SOURCES = (Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d"))
_ADDRESS = re.compile(r"^(?:deb(?: \[[^]]*\])?|URIs:) +(\S+)", re.MULTILINE)


class DebianError(Exception):
    """The packages cannot be had; the message says what apt said."""


class Package(NamedTuple):
    """A package as it was fetched."""

    name: str
    version: str
    architecture: str
    sha256: str
    file: Path


def fetched(folder: Path) -> list[Package]:
    """Fetch the packages, whose signatures apt has checked, in their newest version."""
    options = _options(folder)
    _apt(folder, [*options, "update"])
    _apt(folder, [*options, "download", *PACKAGES])
    found = sorted(_package(path) for path in folder.glob("*.deb"))
    if [each.name for each in found] != sorted(PACKAGES):
        raise DebianError(f"asked for {PACKAGES}, got {[each.name for each in found]}")
    return found


def unpack(package: Package, root: Path) -> None:
    """Put a package's files where they belong."""
    subprocess.run(["dpkg-deb", "--extract", package.file, root], check=True)


def architecture() -> str:
    """What Debian calls this machine's processor."""
    answer = subprocess.run(
        ["dpkg", "--print-architecture"], check=True, capture_output=True, text=True
    )
    return answer.stdout.strip()


def mirrors(texts: Iterator[str]) -> dict[str, str]:
    """The mirrors of Debian, and of its security updates, that a machine is set up with."""
    found: dict[str, str] = {}
    for text in texts:
        for address in _ADDRESS.findall(text):
            name = address.rstrip("/").rpartition("/")[2]
            found.setdefault(name, address)
    return {name: found[name] for name in ("debian", "debian-security") if name in found}


def _configured() -> Iterator[str]:
    for place in _SOURCES:
        files = sorted(place.glob("*")) if place.is_dir() else [place]
        yield from (file.read_text() for file in files if file.is_file())


def mirror() -> str:
    """The mirror of Debian that this machine is set up with."""
    return _mirrors()["debian"]


def _mirrors() -> dict[str, str]:
    found = mirrors(_configured())
    if "debian" not in found:
        raise DebianError("this machine's apt has no mirror of Debian to take packages from")
    return found


def _options(folder: Path) -> list[str]:
    """Options by which apt looks at nothing of this machine but its mirrors and Debian's keys."""
    found = _mirrors()
    if not KEYS.exists():
        raise DebianError(f"{KEYS} is missing: install debian-archive-keyring")
    suites = {"debian": (SUITE, f"{SUITE}-updates"), "debian-security": (f"{SUITE}-security",)}
    sources = folder / "sources.list"
    sources.write_text(
        "".join(
            f"deb [signed-by={KEYS}] {address} {suite} main\n"
            for name, address in found.items()
            for suite in suites[name]
        )
    )
    for part in ("state/lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "state" / "status").touch()
    settings = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "-",
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "state" / "status",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _apt(folder: Path, words: list[str]) -> None:
    answer = subprocess.run(
        ["apt-get", "-q", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise DebianError(f"apt-get {words[-1]}: {answer.stderr.strip()[-2000:]}")


def _package(file: Path) -> Package:
    fields = ("Package", "Version", "Architecture")
    command = ["dpkg-deb", "--show", f"--showformat={' '.join(f'${{{one}}}' for one in fields)}"]
    answer = subprocess.run([*command, file], check=True, capture_output=True, text=True)
    name, version, architecture = answer.stdout.split()
    return Package(name, version, architecture, hashlib.sha256(file.read_bytes()).hexdigest(), file)
