"""Runs unit and golden tests on other versions of Python than this one: `make matrix-python`.

Each in a file system of the Debian that has that version, made with mmdebstrap from Debian's own
packages and kept in the cache; with it the locked wheels, chosen by this machine's pip for that
Python, so nothing in there asks the network. The tree is copied as it lies here, also what is not
committed. It wants root and mmdebstrap (`apt-get install mmdebstrap`).

Then types and lint are checked for the newest Python; `make check` does it for the oldest.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from tools import cache
from tools.image import debian, root
from tools.progress import say

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements" / "dev.txt"
# The suites by the version of Python that is theirs, the newest last.
SUITES = {"3.13": "trixie", "3.14": "forky"}
*_, NEWEST = SUITES
# What the oldest could not read, an argument that it does not know, and what says so of a line.
NOT_YET = "UP,B912,RUF100"
PACKAGES = ("python3", "git", "openssl", "openssh-client", "ca-certificates")
TREE = "stoker"
# What prometheus-operator made of cases and worlds; it is found in there as it is here.
RECORDED = Path(os.environ.get("STOKER_CONFORMANCE") or ROOT.parent / "shared/conformance").parent
# Where Debian's Python looks for what does not come from Debian.
WHEELS = "usr/local/lib/python{version}/dist-packages"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
# The mounts are gone with the namespace.
_ENTER = f"""
set -eu
tree=$1 system=$2 recorded=$3
shift 3
mount --bind "$tree" "$system/{TREE}"
if [ -d "$recorded" ]; then mkdir -p "$system/shared"; mount --bind "$recorded" "$system/shared"; fi
mount -t proc proc "$system/proc"
mount -t tmpfs tmpfs "$system/tmp"
mount --rbind /dev "$system/dev"
exec chroot "$system" env --chdir=/{TREE} "$@"
"""


class NoDebianError(Exception):
    """The file system cannot be made; the message says what is missing."""


def prepared(version: str) -> Path:
    """The file system with a version of Python and the locked wheels; made once."""
    key = hashlib.sha256(repr(PACKAGES).encode() + LOCK.read_bytes()).hexdigest()[:12]
    folder = cache.root() / f"debian-{SUITES[version]}-{key}"
    with cache.locked(folder):
        if not (folder / "root").exists():
            say(f"making Debian {SUITES[version]} with Python {version} in {folder}")
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                made = Path(scratch, "root")
                _bootstrap(version, made)
                (made / TREE).mkdir()
                _install(made / WHEELS.format(version=version), version)
                made.rename(folder / "root")
    return folder / "root"


def _bootstrap(version: str, target: Path) -> None:
    if os.getuid() or not shutil.which("mmdebstrap"):
        raise NoDebianError("this wants root, and mmdebstrap: apt-get install mmdebstrap")
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
    # A mirror may be a copy that stands still; what it has is signed all the same.
    command += ['--aptopt=Acquire::Check-Valid-Until "false"', SUITES[version], str(target)]
    answer = subprocess.run(
        [*command, debian.mirror()], capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise NoDebianError(f"mmdebstrap: {answer.stderr.strip()[-2000:]}")


def _install(packages: Path, version: str) -> None:
    """The locked wheels, and stoker as an editable install has it: what it is, and where."""
    root.install_wheels(packages, LOCK, version)
    (packages / "stoker.pth").write_text(f"/{TREE}/src\n")
    describe(packages)


def describe(packages: Path) -> None:
    """What is installed is known by a file, as it stands: read and written it may be another."""
    itself = metadata.distribution("stoker")
    about = packages / f"stoker-{itself.version}.dist-info" / "METADATA"
    about.parent.mkdir()
    about.write_text(itself.read_text("METADATA") or "")


def tried(version: str, words: list[str]) -> int:
    """Run the tests on a version, with more words for pytest; its exit status."""
    system = prepared(version)
    with tempfile.TemporaryDirectory(prefix="stoker-python-") as scratch:
        _copy_tree(Path(scratch))
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        command = [*namespaces, "sh", "-c", _ENTER, "sh", scratch, str(system), str(RECORDED)]
        pytest = ["python3", "-m", "pytest", "-m", "not live", *words]
        return subprocess.run([*command, *pytest], env=ENVIRONMENT, check=False).returncode


def _copy_tree(target: Path) -> None:
    """Copy what git knows or would take, and let git know it there."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", "-C", str(target), *words], check=True)


def _checked(version: str) -> int:
    """Types and lint, as this version has them."""
    newest = ["--target-version", f"py{version.replace('.', '')}", "--ignore", NOT_YET]
    commands = (["mypy", "--python-version", version], ["ruff", "check", *newest])
    return max(
        subprocess.run([sys.executable, "-m", *words], cwd=ROOT, check=False).returncode
        for words in commands
    )


def main(argv: list[str] | None = None) -> int:
    """Check and try; the exit status is the worst."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.pythons",
        description="Run unit and golden tests on other versions of Python, on Debian's.",
    )
    parser.add_argument("version", nargs="*", help=f"some of {', '.join(SUITES)} [all]")
    parser.add_argument(
        "--tests",
        type=shlex.split,
        default=[],
        metavar="WORDS",
        help="words for pytest, as in a shell",
    )
    options = parser.parse_args(argv)
    versions = options.version or list(SUITES)
    if unknown := set(versions) - set(SUITES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    try:
        outcomes = {each: tried(each, options.tests) for each in versions}
    except (NoDebianError, debian.DebianError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    outcomes["types and lint"] = _checked(NEWEST)
    for what, status in outcomes.items():
        print(f"{what}: {'passed' if status == 0 else 'FAILED'}")
    return max(outcomes.values())


if __name__ == "__main__":
    sys.exit(main())
