"""Runs the core of the live tests on several versions of Kubernetes: `make matrix`.

    make matrix                               # the oldest, the newest, and those that are built
    make matrix VERSIONS='v1.28.15 v1.31.0'   # these, built first; VERSIONS=all for all

One version after the other, each on a control plane of its own: what one of them says is printed
as it comes, and a table of all in the end. How a version is built is told in `kubernetes`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tools import build, components, golang, kubernetes
from tools.catalogue import BINARIES
from tools.progress import clock, say

ROOT = Path(__file__).parent.parent
NEWEST = BINARIES["kube-apiserver"].version
# What the operator, the webhook and the commands ask of an API server, and of its controllers.
CORE = (
    "cluster",
    "crds",
    "validation",
    "kube_watch",
    "kube_client",
    "kube_lease",
    "operator",
    "operator_bindings",
    "operator_leadership",
    "operator_status",
    "operator_takeover",
    "daemonset",
    "mode_changes",
    "webhook",
    "scrapeconfig_versions",
    "examples",
    "install",
    "objects",
)


class Outcome(NamedTuple):
    """What came of one version: pytest's exit status, its last line, and how long it took."""

    version: str
    status: int
    said: str
    seconds: float


def versions(words: list[str]) -> list[str]:
    """The versions that are meant, the oldest first; named by nobody, as many as cost little."""
    known = [*kubernetes.pinned(), NEWEST]
    if words == ["all"]:
        return known
    if unknown := set(words) - set(known):
        raise build.BuildError(f"unknown: {', '.join(sorted(unknown))} (known: {', '.join(known)})")
    cheap = {known[0], NEWEST} | {each for each in known[:-1] if kubernetes.is_built(each)}
    return [each for each in known if each in (words or cheap)]


def tried(version: str, words: list[str]) -> Outcome:
    """Run the core on one version; words are pytest's, in the place of the files of the core."""
    environment = dict(os.environ)
    if version != NEWEST:
        environment["KUBEBUILDER_ASSETS"] = str(kubernetes.built(version))
    build.binaries(*components.NAMES, "kubectl")
    files = words or [f"tests/live/test_{name}.py" for name in CORE]
    command = [sys.executable, "-m", "pytest", "-m", "live", "-v", *files]
    begun, said = time.monotonic(), ""
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout or ():
            said = line.strip(" =\n") or said
            print(f"{version} | {line}", end="", flush=True)
    return Outcome(version, process.returncode, said, time.monotonic() - begun)


def main(argv: list[str] | None = None) -> int:
    """Try the versions and say how they fared; the exit status is that of the worst."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.matrix",
        description="Run the core of the live tests on versions of Kubernetes.",
        epilog="Where none is named: the oldest, the newest, and those between that are built.",
    )
    parser.add_argument(
        "version", nargs="*", help=f"all, or some of {', '.join(versions(['all']))}"
    )
    parser.add_argument(
        "--tests",
        type=shlex.split,
        default=[],
        metavar="WORDS",
        help="words for pytest, as in a shell",
    )
    arguments = parser.parse_args(argv)
    outcomes = []
    try:
        for version in versions(arguments.version):
            say(f"Kubernetes {version}")
            outcomes.append(tried(version, arguments.tests))
    except (build.BuildError, golang.NoGoError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for each in outcomes:
        verdict = "passed" if each.status == 0 else "FAILED"
        print(f"{each.version:<10} {verdict}  {clock(each.seconds):>6}  {each.said}")
    return max((each.status for each in outcomes), default=0)


if __name__ == "__main__":
    sys.exit(main())
