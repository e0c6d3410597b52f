"""One size of a world, measured in a process of its own, so that memory is that size's alone."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

RUNS = 3


def best(module: str, size: int) -> dict[str, float]:
    """The least of each figure that a module prints as JSON for a size, over several runs."""
    runs = [_run(module, size) for _ in range(RUNS)]
    return {name: min(run[name] for run in runs) for name in runs[0]}


def _run(module: str, size: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", module, str(size)],
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.PIPE,
        check=True,
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds of CPU that work took, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def peak() -> float:
    """The peak of memory in MiB; that of `getrusage` has the parent's in it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def reached(goals: Iterable[tuple[str, float, float]]) -> bool:
    """Print of each goal (a text, a figure, the most it may be) whether it is reached, and tell."""
    answers = [(text, figure <= most) for text, figure, most in goals]
    for text, good in answers:
        print(f"{text}: {'ok' if good else 'MISSED'}")
    return all(good for _, good in answers)
