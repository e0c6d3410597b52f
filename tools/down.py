"""Ends the cluster that ``tools.up`` left running, and what runs on it, and removes its files."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys

from tools import cache, holder

GRACE_SECONDS = 60.0
KILL_SECONDS = 10.0


def down() -> bool:
    """End the cluster and wait until it is gone; tell whether there was one."""
    with cache.locked(holder.home()):
        process = holder.holder()
        if process is not None:
            _end(process)
        # Whoever waits for the lock in there makes the folder anew.
        cache.remove(holder.home())
    return process is not None


def _end(process: int) -> None:
    _signal(process, signal.SIGTERM)
    if not holder.wait_until_gone(GRACE_SECONDS):
        # Killed, it still takes everything along: the supervisor's input ends with it.
        _signal(process, signal.SIGKILL)
        holder.wait_until_gone(KILL_SECONDS)


def _signal(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def main(argv: list[str] | None = None) -> int:
    """End it if it runs; say which of the two it was."""
    argparse.ArgumentParser(
        prog="python -m tools.down",
        description="End the control plane that python -m tools.up started, and remove its files. "
        "The built binaries stay in the cache.",
    ).parse_args(argv)
    print("The cluster has ended." if down() else "No cluster was running.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
