"""What an operator costs that has nothing to do, by how its watches are kept honest.

A watch may be dead and look alive. `short` is what the operator does: the server is asked to end
each watch soon, and the next one begins on the same connection. `left` is the other way: the server
is asked for long ones, and we leave those that were silent for as long, with their connection.
`long` has no such thing; it is what all of this is compared with.

Each runs on the same cluster, with one set of watches for all namespaces and with one for each of
many that are named. Processor time is that of the processes; requests are counted by the API
server; what both have without an operator is taken off.

    python -m bench idle [--idle-seconds 90] [--idle-namespaces 50]
"""

import argparse
import re
import sys
import time
from typing import Final, NamedTuple

from bench.process import api_server, await_idle, compile_ours, cpu_seconds, running_operator
from tools.cluster import Cluster
from tools.crds import install_crds

_REQUESTS: Final = re.compile(r"^apiserver_request_total\{.*\} ([0-9.e+]+)$", re.MULTILINE)
_START: Final = (
    "import sys; from stoker.kube import watch; {}from stoker.__main__ import main; main()"
)
_LEAVING: Final = (
    "watch.LATE_SECONDS = 0.0; of = watch._Watch._watch_query; "
    "watch._Watch._watch_query = lambda self, _, **more: of(self, 600, **more); "
)
WAYS: Final = {
    "long": "watch.WATCH_SECONDS = (300, 600); ",
    "short": "",
    "left": _LEAVING,
}
# Until the first watches are over, and with them what a start costs.
_SETTLED_SECONDS: Final = 45.0
# Of one processor, with one set of watches.
_GOAL: Final = 0.02


class Cost(NamedTuple):
    """What was used in a second: processor time of the operator and the server, and requests."""

    operator: float
    server: float
    requests: float

    def less(self, other: "Cost") -> "Cost":
        """What is left without another."""
        return Cost(*(one - two for one, two in zip(self, other, strict=True)))


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only this measurement knows."""
    parser.add_argument("--idle-seconds", type=float, default=90.0, help="of each way (idle) [90]")
    parser.add_argument(
        "--idle-namespaces", type=int, default=50, help="that are named (idle) [50]"
    )


def report(options: argparse.Namespace) -> bool:
    """Measure and print; the goal is for one set of watches."""
    compile_ours()
    names = [f"team-{number}" for number in range(options.idle_namespaces)]
    scopes = {"all namespaces": [], f"{len(names)} named": [f"--namespaces={','.join(names)}"]}
    with Cluster.start(nodes=0) as cluster:
        install_crds(cluster)
        for name in names:
            cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        await_idle(cluster)
        nobody = _cost(cluster, None, options.idle_seconds)
        print(f"\n{'':<28}{'operator':>12}{'API server':>12}{'requests':>12}")
        _print("nobody", nobody)
        found = {
            (scope, way): _idle(cluster, way, flags, options.idle_seconds).less(nobody)
            for scope, flags in scopes.items()
            for way in WAYS
        }
    for (scope, way), cost in found.items():
        _print(f"{scope}, {way}", cost)
    more = found["all namespaces", "short"].less(found["all namespaces", "long"])
    reached = more.operator + more.server <= _GOAL
    print(f"goal, both together at most {_GOAL:.0%} more: {'ok' if reached else 'MISSED'}")
    return reached


def _print(name: str, cost: Cost) -> None:
    used = "".join(f"{each:>12.2%}" for each in cost[:2])
    print(f"{name:<28}{used}{cost.requests:>10.1f}/s", flush=True)


def _idle(cluster: Cluster, way: str, flags: list[str], seconds: float) -> Cost:
    command = [sys.executable, "-c", _START.format(WAYS[way]), "operator", *flags]
    with running_operator(command, cluster, status=True) as pid:
        time.sleep(_SETTLED_SECONDS)
        return _cost(cluster, pid, seconds)


def _cost(cluster: Cluster, pid: int | None, seconds: float) -> Cost:
    def used() -> Cost:
        requests = map(float, _REQUESTS.findall(str(cluster.api.get("/metrics"))))
        own = cpu_seconds(pid) if pid else 0.0
        return Cost(own, cpu_seconds(api_server(cluster)), sum(requests))

    before, begun = used(), time.monotonic()
    time.sleep(seconds)
    spent, passed = used().less(before), time.monotonic() - begun
    return Cost(*(each / passed for each in spent))
