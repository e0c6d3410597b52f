"""Starts a cluster that stays, and says what to type next.

The cluster belongs to a holder in the background (see ``holder``), so it survives this command and
the terminal; ``python -m tools.down`` ends it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools import build, cache, components, golang, holder
from tools.progress import say

ROOT = Path(__file__).parent.parent
POLL = 0.1


class UpError(Exception):
    """The cluster did not come up."""


def up() -> bool:
    """Make sure that the cluster runs; tell whether this call started it."""
    build.binaries(*components.NAMES, "kubectl")
    with cache.locked(holder.home()):
        if holder.holder() is not None:
            return False
        say("starting a control plane with three nodes")
        shutil.rmtree(holder.folder(), ignore_errors=True)
        holder.folder().mkdir()
        _start_holder()
        _await_ready()
    return True


def next_steps() -> str:
    """Say what to type now."""
    kubectl = build.binaries("kubectl")["kubectl"]
    return (
        f"  export KUBECONFIG={holder.folder() / 'kubeconfig'}\n"
        f"  export PATH={kubectl.parent}:$PATH    # kubectl is in there\n"
        "  kubectl get nodes\n"
        "  make down    # ends it\n"
        f"Logs are in {holder.folder()}"
    )


def _start_holder() -> None:
    with _log().open("wb") as log:
        subprocess.run(
            [sys.executable, "-m", "tools.holder"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=True,
        )


def _await_ready() -> None:
    while not holder.ready_file().exists():
        # The holder has deadlines of its own for everything it waits for.
        if holder.holder() is None:
            raise UpError(f"the cluster did not come up:\n{_log().read_text()[-2000:].rstrip()}")
        time.sleep(POLL)


def _log() -> Path:
    return holder.folder() / "holder.log"


def main(argv: list[str] | None = None) -> int:
    """Start it, or find it running, and explain how to use it."""
    argparse.ArgumentParser(
        prog="python -m tools.up",
        description="Start a Kubernetes control plane with three fake nodes on this machine and "
        "leave it running. The first time, its binaries are built, which takes minutes.",
        epilog="End it with: python -m tools.down",
    ).parse_args(argv)
    try:
        started = up()
    except (UpError, build.BuildError, golang.NoGoError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; a cluster that is starting goes on: make down ends it", file=sys.stderr)
        return 130
    print("The cluster is running." if started else "The cluster is already running.")
    print(next_steps())
    return 0


if __name__ == "__main__":
    sys.exit(main())
