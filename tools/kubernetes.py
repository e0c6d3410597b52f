"""Builds the control plane of another version of Kubernetes, and prints the folder where it is.

    export KUBEBUILDER_ASSETS=$(python -m tools.kubernetes v1.28.15)
    python -m tools.kubernetes --server oldest     # its API server alone, as `make test` has it

Whatever starts a cluster with that in its environment starts this one: tests, `make up`. The API
server, the controller manager and the scheduler are of that version; etcd, kwok and kubectl stay
those of today.

Each is built as its authors did, with the libraries that they chose: what is compiled is their own
module, and not ours that requires it. Only its parts (the modules k8s.io/api and so on) are folders
in its go.mod, and here the modules that were released of these folders. `go/versions.txt` pins all
of it: one checksum for each version, of what they released, which has the checksums of all else.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools import cache, golang
from tools.catalogue import FLAGS, KUBERNETES_VERSION, MODULES
from tools.compiling import BuildError, Recipe, compiled

PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
PINS = MODULES / "versions.txt"
_MODULE = "k8s.io/kubernetes"
# The second is what an old API server answers to whoever asks for its version.
_VERSIONS = (KUBERNETES_VERSION, "k8s.io/client-go/pkg/version.gitVersion")

Download = dict[str, Any]


def pinned() -> dict[str, str]:
    """The versions that can be built, the oldest first, with the checksum of each."""
    lines = (line.partition("#")[0].split() for line in PINS.read_text().splitlines())
    return dict(filter(None, lines))


def folder(version: str) -> Path:
    """Where the programs of a version are, or will be."""
    flags = repr((FLAGS, PROGRAMS, _VERSIONS))
    key = hashlib.sha256(f"{version} {pinned()[version]} {flags}".encode()).hexdigest()[:12]
    return cache.root() / f"kubernetes-{version}-{key}"


def is_built(version: str) -> bool:
    """Whether nothing of a version needs to be compiled."""
    return all((folder(version) / name).exists() for name in PROGRAMS)


def oldest() -> str:
    """The first version that stoker supports."""
    return next(iter(pinned()))


def built(version: str, names: Sequence[str] = PROGRAMS) -> Path:
    """The folder with the programs of a version; what is missing of these is compiled."""
    if version not in pinned():
        raise BuildError(f"{version} is not one of {', '.join(pinned())} ({PINS})")
    with cache.locked(folder(version)):
        missing = [name for name in names if not (folder(version) / name).exists()]
        if missing:
            _build(version, missing)
    return folder(version)


def server_alone(version: str) -> Path:
    """A folder with the API server of a version and nothing else, so that the rest is today's.

    What stoker says to a cluster it says to its API server; half of the time of a build is for the
    other programs.
    """
    alone = built(version, PROGRAMS[:1]) / "server"
    alone.mkdir(exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (alone / PROGRAMS[0]).symlink_to(Path("..", PROGRAMS[0]))
    return alone


def _build(version: str, names: Sequence[str]) -> None:
    parts = _Parts(version)
    if parts.checksum != pinned()[version]:
        raise BuildError(f"what is released as {version} is not what {PINS} pins")
    parts.write(folder(version))
    go = golang.command(golang.required(parts.go_mod))
    for name in names:
        compiled(go, _recipe(version, name, parts.source), folder(version) / name)


def _recipe(version: str, name: str, source: Path) -> Recipe:
    flags = (*FLAGS, f"-modfile={folder(version) / 'go.mod'}")
    ldflags = " ".join(("-s -w", *(f"-X {variable}={version}" for variable in _VERSIONS)))
    return Recipe(f"{name} {version}", source, f"./cmd/{name}", flags, ldflags)


class _Parts:
    """What was released as one version: the module itself, and those that it is made of."""

    def __init__(self, version: str) -> None:
        itself = _downloaded([f"{_MODULE}@{version}"])
        self.source = Path(itself[0]["Dir"])
        part = version.replace("v1.", "v0.", 1)
        self.go_mod = go_mod((self.source / "go.mod").read_text(), part)
        # Of those that are only examples nothing is required.
        required = re.findall(rf"^\s*(?:require )?(\S+) {part}\b", self.go_mod, re.MULTILINE)
        self._parts = _downloaded([f"{name}@{part}" for name in required])
        everything = "\n".join(sorted(_sums([*itself, *self._parts])))
        self.checksum = hashlib.sha256(everything.encode()).hexdigest()

    def write(self, target: Path) -> None:
        """Write the two files that Go builds it by."""
        (target / "go.mod").write_text(self.go_mod)
        theirs = (self.source / "go.sum").read_text()
        (target / "go.sum").write_text("\n".join([theirs, *_sums(self._parts), ""]))


def go_mod(theirs: str, part: str) -> str:
    """Their go.mod with the parts of it as modules of this version, not as folders."""
    replaced = re.sub(r"=> \./staging/src/(\S+)", rf"=> \1 {part}", theirs)
    return re.sub(r"(k8s\.io/\S+) v0\.0\.0(?=\s)", rf"\1 {part}", replaced)


def _sums(downloads: Sequence[Download]) -> Iterator[str]:
    """Lines of a go.sum."""
    for each in downloads:
        yield f"{each['Path']} {each['Version']} {each['Sum']}"
        yield f"{each['Path']} {each['Version']}/go.mod {each['GoModSum']}"


def _downloaded(modules: Sequence[str]) -> list[Download]:
    """What Go says of modules when it has them; any version of Go says the same."""
    command: list[str | Path] = [golang.command(()), "mod", "download", "-json", *modules]
    # Outside of any module, so that none has a say.
    with tempfile.TemporaryDirectory() as nowhere:
        done = subprocess.run(
            command,
            cwd=nowhere,
            env=golang.environment(),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    answers = list(_values(done.stdout))
    for failed in (each["Error"] for each in answers if "Error" in each):
        raise BuildError(failed)
    return answers


def _values(text: str) -> Iterator[Download]:
    """JSON objects that stand one after the other."""
    while text := text.lstrip():
        value, end = json.JSONDecoder().raw_decode(text)
        yield value
        text = text[end:]


def main(argv: list[str] | None = None) -> int:
    """Build a version and print where it is."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.kubernetes",
        description="Build the API server, controller manager and scheduler of a version of "
        "Kubernetes, and print the folder that has them: KUBEBUILDER_ASSETS for tests on them.",
        epilog=f"To have another version, add the line that --pin prints to {PINS.name}.",
    )
    parser.add_argument("version", help=f"{', '.join(pinned())}, or oldest")
    parser.add_argument("--server", action="store_true", help="the API server alone")
    parser.add_argument("--pin", action="store_true", help="print the version's checksum instead")
    arguments = parser.parse_args(argv)
    version = oldest() if arguments.version == "oldest" else arguments.version
    try:
        if arguments.pin:
            print(f"{version} {_Parts(version).checksum}")
        else:
            print(server_alone(version) if arguments.server else built(version))
    except (BuildError, golang.NoGoError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
