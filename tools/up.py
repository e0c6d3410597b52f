"""Starts a cluster that stays, with the operator at work on it, and says what to type next.

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
from tools.demo import MANIFESTS, Places
from tools.progress import say

ROOT = Path(__file__).parent.parent
POLL = 0.1
# What the holder tells of while it starts everything.
STEPS = 7


class UpError(Exception):
    """The cluster did not come up."""


def up() -> bool:
    """Make sure that the cluster runs; tell whether this call started it."""
    build.binaries(*components.NAMES, "kubectl", "prometheus", "alertmanager")
    with cache.locked(holder.home()):
        if holder.holder() is not None:
            return False
        say("starting a control plane, the operator, and what it makes of a small shop")
        shutil.rmtree(holder.folder(), ignore_errors=True)
        holder.folder().mkdir()
        _start_holder()
        _await_ready()
    return True


def next_steps() -> str:
    """Say where things are, and what to type now."""
    kubectl = build.binaries("kubectl")["kubectl"]
    places = Places.read(holder.ready_file())
    return "\n".join(
        [
            f"  {places.page}/    the status page",
            *_asking(places),
            "",
            f"  export KUBECONFIG={holder.folder() / 'kubeconfig'}",
            f"  export PATH={kubectl.parent}:{Path(sys.executable).parent}:$PATH",
            "  kubectl get prometheuses,prometheusagents,alertmanagers -A",
            "  kubectl get pods -A -o wide",
            "  stoker explain servicemonitor shop/misspelt    # why is it not scraped?",
            "  stoker explain servicemonitor shop/catalogue-admin    # why are its targets down?",
            "  kubectl -n shop edit servicemonitor misspelt    # put it right, and look again",
            "  make down    # ends it",
            "",
            f"Logs are in {holder.folder()}; the manifests are in {MANIFESTS}",
        ]
    )


def _asking(places: Places) -> list[str]:
    """How to ask what runs; or why it does not."""
    if places.pretended:
        return [
            f"Pods are only pretended, so there is no Prometheus to ask: {places.pretended}.",
        ]
    return [
        f"  curl -s '{places.prometheus}/api/v1/query?query=up'    the Prometheus in pod"
        " prometheus-main-0",
        f"  curl -s {places.alertmanager}/api/v2/alerts    the Alertmanager, with an alert",
    ]


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
    seen = 0
    while not holder.ready_file().exists():
        seen = _say_progress(seen)
        # The holder has deadlines of its own for everything it waits for.
        if holder.holder() is None:
            raise UpError(f"the cluster did not come up:\n{_log().read_text()[-2000:].rstrip()}")
        time.sleep(POLL)
    _say_progress(seen)


def _say_progress(seen: int) -> int:
    """Say which steps were done since; how many there are now."""
    file = holder.progress_file()
    steps = file.read_text().splitlines() if file.exists() else []
    for number, step in enumerate(steps[seen:], seen + 1):
        say(f"  {number}/{STEPS} {step}")
    return len(steps)


def _log() -> Path:
    return holder.folder() / "holder.log"


def main(argv: list[str] | None = None) -> int:
    """Start it, or find it running, and explain how to use it."""
    argparse.ArgumentParser(
        prog="python -m tools.up",
        description="Start a Kubernetes control plane with three fake nodes on this machine, the "
        "operator, and a Prometheus, agents and an Alertmanager that scrape a small shop, and "
        "leave it all running. The first time, its binaries are built, which takes minutes.",
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
