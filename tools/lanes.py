"""Runs tests in lanes: `python -m tools.lanes live`, or `unit` for all others.

Those that need no cluster run side by side, on two cores. Live ones start a cluster for each lane,
and some hold what is slow against what is quick: beside each other they would disturb that, so one
lane follows the other, and only the one that looks at an idle operator runs beside the first. What
all say is printed as it comes, line by line; the exit status is that of the lane that fares worst.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parent.parent
# What is left over takes about as long as the first lane; that of idleness waits for three minutes.
_LANES = {
    "live": {"o to z": "tests/live/test_[o-z]*.py", "idle": "tests/live/test_idle.py"},
    "unit": {"a to l": "tests/unit/test_[a-l]*.py"},
}
_OPTIONS = {"live": ("-m", "live", "-v"), "unit": ("-m", "not live")}
_OTHERS = "others"
_INTERRUPTED = 130
# Lanes that begin when all others have ended.
_LAST = {"live": ("o to z",), "unit": ()}


def lanes(kind: str) -> dict[str, list[str]]:
    """What each lane gives to pytest; a file that is new is in one of them."""
    chosen = {
        name: sorted(str(each.relative_to(ROOT)) for each in ROOT.glob(files))
        for name, files in _LANES[kind].items()
    }
    return chosen | {_OTHERS: [f"--ignore-glob={ROOT / files}" for files in _LANES[kind].values()]}


def _passed_on(name: str, process: subprocess.Popen[str]) -> None:
    for line in process.stdout or ():
        print(f"{name:<6} | {line}", end="", flush=True)


def main(kind: str) -> int:
    """Run them all, and wait for all."""
    found = lanes(kind)
    last = {name: found[name] for name in _LAST[kind]}
    first = {name: words for name, words in found.items() if name not in last}
    status = _ran(kind, first)
    return status if status == _INTERRUPTED else max(status, _ran(kind, last))


def _ran(kind: str, chosen: dict[str, list[str]]) -> int:
    """Run some side by side; the worst exit status."""
    command = [sys.executable, "-m", "pytest", *_OPTIONS[kind]]
    running = {
        name: subprocess.Popen(
            [*command, *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name, words in chosen.items()
    }
    readers = [threading.Thread(target=_passed_on, args=each) for each in running.items()]
    for reader in readers:
        reader.start()
    try:
        # One that was killed by a signal has a negative status.
        return max((abs(process.wait()) for process in running.values()), default=0)
    except KeyboardInterrupt:
        # They were interrupted too, and end what they started.
        for process in running.values():
            process.wait()
        return _INTERRUPTED
    finally:
        for reader in readers:
            reader.join()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
