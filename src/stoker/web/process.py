"""The process itself as metrics, by the standard names: memory, CPU time, open files.

They are read from `/proc`; where there is none, the metrics have no samples.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from stoker.web.metrics import Registry

_SELF: Final = Path("/proc/self")
_NAMES: Final = {
    "process_cpu_seconds_total": "CPU time that the process has used.",
    "process_open_fds": "How many files the process has open.",
    "process_max_fds": "How many files the process may have open.",
    "process_virtual_memory_bytes": "Size of the address space.",
    "process_virtual_memory_max_bytes": "Largest size that the address space may have.",
    "process_resident_memory_bytes": "Memory in use.",
    "process_start_time_seconds": "When the process was started, in seconds since 1970.",
}
_NO_LIMIT: Final = 2.0**64 - 1


def watch_process(registry: Registry) -> None:
    """Add the metrics of this process to a registry."""
    counter = registry.counter("process_cpu_seconds_total", _NAMES["process_cpu_seconds_total"])
    gauges = {
        name: registry.gauge(name, text) for name, text in _NAMES.items() if name != counter.name
    }
    for gauge in gauges.values():
        gauge.forget()
    counter.forget()

    def collect() -> None:
        for name, value in readings().items():
            if name == counter.name:
                counter.add(max(0.0, value - counter.value()))
            else:
                gauges[name].set(value)

    registry.before_reading(collect)


def readings() -> dict[str, float]:
    """What can be read about this process now, by the name of the metric."""
    found: dict[str, float] = {}
    for read in (_from_stat, _from_limits, _from_files):
        found |= _readable(read)
    return found


def _readable(read: Callable[[], dict[str, float]]) -> dict[str, float]:
    """What a function reads; nothing where the system does not say."""
    try:
        return read()
    except (OSError, ValueError, IndexError):
        return {}


def _from_stat() -> dict[str, float]:
    # The name of the program, in brackets, may hold anything; the numbers begin after it.
    fields = (_SELF / "stat").read_text().rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    since_boot = int(fields[19]) / ticks
    return {
        "process_cpu_seconds_total": (int(fields[11]) + int(fields[12])) / ticks,
        "process_virtual_memory_bytes": float(fields[20]),
        "process_resident_memory_bytes": float(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
        "process_start_time_seconds": _boot_time() + since_boot,
    }


def _boot_time() -> float:
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return time.time() - time.monotonic()


def _from_limits() -> dict[str, float]:
    wanted = {
        "Max open files": "process_max_fds",
        "Max address space": "process_virtual_memory_max_bytes",
    }
    found = {}
    for line in (_SELF / "limits").read_text().splitlines():
        name = wanted.get(line[:25].strip())
        if name:
            soft = line[25:].split()[0]
            found[name] = _NO_LIMIT if soft == "unlimited" else float(soft)
    return found


def _from_files() -> dict[str, float]:
    return {"process_open_fds": float(len(os.listdir(_SELF / "fd")))}
