"""Runs tests in lanes: `python -m tools.lanes live`, or `unit` for all others.

Lanes run side by side, on two cores; live ones start a cluster each. Some tests hold what is slow
against what is quick, or count scrapes by the second: others beside them would disturb that, so
their lane begins when all others have ended. What all say is printed as it comes, line by line; the
exit status is that of the lane that fares worst.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parent.parent
_OTHERS = "others"
_ALONE = "alone"
# What is left over takes about as long as the first lane; that of idleness waits for three minutes.
_LANES: dict[str, dict[str, tuple[str, ...]]] = {
    "live": {
        _ALONE: tuple(
            f"tests/live/test_{name}.py"
            for name in ("daemonset_scrapes", "graduation", "hostile_tenant", "storage_version")
        ),
        "operator, s to z": ("tests/live/test_operator*.py", "tests/live/test_[s-z]*.py"),
        "idle": ("tests/live/test_idle.py",),
    },
    "unit": {"a to l": ("tests/unit/test_[a-l]*.py",)},
}
_OPTIONS = {"live": ("-m", "live", "-v"), "unit": ("-m", "not live")}
_INTERRUPTED = 130


def lanes(kind: str) -> dict[str, list[str]]:
    """What each lane gives to pytest; each file is in one of them, a new one too."""
    taken: set[Path] = set()
    chosen: dict[str, list[str]] = {}
    for name, globs in _LANES[kind].items():
        found = {path for files in globs for path in _called(files)} - taken
        chosen[name] = sorted(str(path.relative_to(ROOT)) for path in found)
        taken |= found
    return chosen | {_OTHERS: [f"--ignore={path}" for path in sorted(taken)]}


def _called(files: str) -> list[Path]:
    found = list(ROOT.glob(files))
    if not found:
        sys.exit(f"tools/lanes.py names {files}, and there is no such file")
    return found


def _passed_on(name: str, process: subprocess.Popen[str]) -> None:
    for line in process.stdout or ():
        print(f"{name:<6} | {line}", end="", flush=True)


def main(kind: str) -> int:
    """Run them all, and wait for all."""
    found = lanes(kind)
    alone = {name: words for name, words in found.items() if name == _ALONE}
    status = _ran(kind, {name: words for name, words in found.items() if name != _ALONE})
    return status if status == _INTERRUPTED else max(status, _ran(kind, alone))


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
