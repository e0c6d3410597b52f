"""How fast a list of ServiceMonitors becomes typed objects, next to plain `json.loads`.

Each way runs in a process of its own inside the cluster's namespaces (no relay in between), lists
all monitors in pages of 500, keeps every object, and tells its time, its CPU and its peak memory.
The best of several runs counts: noise only ever adds.

Goal: typed is not slower than `json.loads`, in at most 60 MiB.
"""

import json
import subprocess
import sys
from pathlib import Path

from tools.cluster import Cluster

RUNS = 5
MEMORY_GOAL = 60.0


def report(cluster: Cluster) -> bool:
    """Measure, print, and tell whether the goals were reached."""
    typed = _best(cluster, "typed")
    plain = _best(cluster, "json")
    ratio = typed["cpu"] / plain["cpu"]
    print(
        f"\n{'listing ' + str(typed['objects']) + ' objects':<32}{'wall':>9}{'CPU':>9}{'RSS':>11}"
    )
    for name, figures in (("typed (msgspec)", typed), ("json.loads", plain)):
        print(
            f"{name:<32}{figures['wall']:>7.2f} s{figures['cpu']:>7.2f} s{figures['rss']:>7.1f} MiB"
        )
    reached = ratio <= 1.0 and typed["rss"] <= MEMORY_GOAL
    print(f"typed / json.loads: {ratio:.2f} of the CPU (goal: at most 1.00), ", end="")
    print(
        f"{typed['rss']:.1f} MiB (goal: at most {MEMORY_GOAL:.0f}): {'ok' if reached else 'MISSED'}"
    )
    return reached


def _best(cluster: Cluster, way: str) -> dict[str, float]:
    runs = [_run(cluster, way) for _ in range(RUNS)]
    return {name: min(run[name] for run in runs) for name in runs[0]}


def _run(cluster: Cluster, way: str) -> dict[str, float]:
    argv = [sys.executable, "-m", "bench.lister", way, cluster.inside_url, cluster.token]
    process = cluster.spawn(
        [*argv, str(cluster.ca_file)], cwd=Path(__file__).parent.parent, stdout=subprocess.PIPE
    )
    output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"bench.lister {way} failed with {process.returncode}")
    figures: dict[str, float] = json.loads(output)
    return figures
