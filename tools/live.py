"""Runs the tests on the real control plane, in two halves side by side: they mostly wait.

Each half starts a cluster of its own. What both say is printed as it comes, line by line; the exit
status is that of the half that fares worse.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parent.parent
# They take about as long as all others together.
_LATER = "tests/live/test_[o-z]*.py"


def halves() -> dict[str, list[str]]:
    """What each half gives to pytest; a file that is new is in one of them."""
    later = sorted(str(each.relative_to(ROOT)) for each in ROOT.glob(_LATER))
    return {"o to z": later, "others": [f"--ignore-glob={ROOT / _LATER}"]}


def _passed_on(name: str, process: subprocess.Popen[str]) -> None:
    for line in process.stdout or ():
        print(f"{name:<6} | {line}", end="", flush=True)


def main() -> int:
    """Run both, and wait for both."""
    command = [sys.executable, "-m", "pytest", "-m", "live", "-v"]
    running = {
        name: subprocess.Popen(
            [*command, *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name, words in halves().items()
    }
    readers = [threading.Thread(target=_passed_on, args=each) for each in running.items()]
    for reader in readers:
        reader.start()
    try:
        return max(process.wait() for process in running.values())
    except KeyboardInterrupt:
        # They were interrupted too, and end what they started.
        for process in running.values():
            process.wait()
        return 130
    finally:
        for reader in readers:
            reader.join()


if __name__ == "__main__":
    sys.exit(main())
