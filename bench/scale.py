"""How a start, a change and memory grow: from 1,000 monitors to 50,000 over 50 Prometheuses.

The worlds are those of `bench.scaled`, each on a control plane of its own: monitors, and a fifth of
their number of PrometheusRules, a tenth of AlertmanagerConfigs. Measured are the time until all is
configured; one change of one monitor until the Secret is written that it belongs in, by the audit
log; and the memory, when nothing is left to be done.

    python -m bench scale --sizes 1000 5000 10000 50000 --picture docs/operator-scale.svg
"""

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench import scaled
from bench.operator import await_served
from bench.picture import draw
from bench.process import (
    OURS,
    api_server,
    await_idle,
    await_quiet,
    compile_ours,
    cpu_seconds,
    memory_of,
    running_operator,
)
from bench.start import Look
from bench.starting import NAMESPACE
from bench.world import create_all
from stoker.api.crd import GROUP
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.waiting import until

SIZES = (1_000, 5_000, 10_000, 50_000)
CHANGES = 11
# Changes come one by one: what a change leaves to be done is not part of the next.
_BETWEEN_SECONDS = 0.5
_START_GOAL, _CHANGE_GOAL, _MEMORY_GOAL = 1.2, 1.5, 6.0
ROWS = (
    ("start until all is configured, s", "start"),
    ("CPU until then, s", "cpu"),
    ("CPU of the API server until then, s", "server"),
    ("one change until it is written, median, s", "change"),
    ("CPU for it, s", "changing"),
    ("memory when all is done, MiB", "memory"),
)


def report(options: argparse.Namespace) -> bool:
    """Measure each size, print, draw, and tell whether it grows as it should."""
    compile_ours()
    found: dict[int, dict[str, float]] = {}
    for size in sorted(options.sizes or SIZES):
        print(f"{size:,} monitors …", flush=True)
        found[size] = _measured(size, status=not options.without_status)
        for title, key in ROWS:
            print(f"  {title:<44}{found[size][key]:>10.3f}", flush=True)
    if options.picture and len(found) > 1:
        draw(Path(options.picture), _TITLE, _curves(found))
    return _reached(found)


_TITLE = "start and its CPU (s), one change (10 ms), against monitors"


def _curves(found: dict[int, dict[str, float]]) -> dict[str, dict[int, float]]:
    named = {"start": ("start", 1), "CPU": ("cpu", 1), "one change": ("change", 100)}
    return {
        name: {size: each[key] * times for size, each in found.items()}
        for name, (key, times) in named.items()
    }


def _measured(size: int, *, status: bool) -> dict[str, float]:
    sizes = {
        name: round(world.size * size / scaled.MONITORS) for name, world in scaled.WORLDS.items()
    }
    with Cluster.start(nodes=0, namespaces=False) as cluster:
        _prepare(cluster, sizes)
        mark, server = cluster.audit.mark(), api_server(cluster)
        look = Look(cluster, mark, scaled.WORLDS, sizes)
        before, begun = cpu_seconds(server), time.time()
        with running_operator(OURS, cluster, status=status) as pid:
            last = until("all to be written", look.last, 3600)
            figures = {
                "start": last - begun,
                "cpu": cpu_seconds(pid),
                "server": cpu_seconds(server) - before,
            }
            await_quiet(cluster)
            return figures | {"memory": memory_of(pid)["rss"]} | _changes(cluster, pid, size)


def _prepare(cluster: Cluster, sizes: dict[str, int]) -> None:
    install_crds(cluster)
    cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    objects = (one for name, world in scaled.WORLDS.items() for one in world.objects(sizes[name]))
    create_all(cluster, objects, scaled.namespaces(sizes["monitors"]))
    await_served(cluster)
    await_idle(cluster)


def _changes(cluster: Cluster, pid: int, size: int) -> dict[str, float]:
    before, taken = cpu_seconds(pid), []
    for number in range(CHANGES):
        taken.append(_changed(cluster, number * 7919 % size, size, f"/changed-{number}"))
        time.sleep(_BETWEEN_SECONDS)
    await_quiet(cluster)
    return {"change": median(taken), "changing": (cpu_seconds(pid) - before) / CHANGES}


def _changed(cluster: Cluster, number: int, size: int, path: str) -> float:
    """Change a monitor; the seconds until its Secret is written."""
    namespace = f"team-{number % scaled.namespaces(size)}"
    url = f"/apis/{GROUP}/v1/namespaces/{namespace}/servicemonitors/service-{number}"
    secret = f"prometheus-p{scaled.prometheus_of(number, size)}"
    found: dict[str, Any] = cluster.api.get(url)
    found["spec"]["endpoints"][0]["path"] = path
    mark, begun = cluster.audit.mark(), time.time()
    cluster.api.request("PUT", url, found)

    def written() -> float:
        done = cluster.audit.since(mark, "stoker")
        return next((one.done for one in done if one.name == secret and one.status < 300), 0.0)

    return until("the change to be written", written) - begun


def _reached(found: dict[int, dict[str, float]]) -> bool:
    """Whether the largest is as a smaller one would let expect."""
    if len(found) < 2:
        return True
    sizes = sorted(found)
    small, large = found[sizes[0]], found[sizes[-1]]
    linear = large["start"] / found[sizes[-2]]["start"] * sizes[-2] / sizes[-1]
    each = (large["memory"] - small["memory"]) * 1024 / (sizes[-1] - sizes[0])
    goals = (
        ("start, in times of linear", linear, _START_GOAL),
        ("one change, in times of the smallest", large["change"] / small["change"], _CHANGE_GOAL),
        ("KiB a monitor, with what is beside it", each, _MEMORY_GOAL),
    )
    for text, value, goal in goals:
        print(f"{text}: {value:.2f} (goal: at most {goal}): {'ok' if value <= goal else 'MISSED'}")
    return all(value <= goal for _, value, goal in goals)
