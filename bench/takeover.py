"""How soon a second replica has written a change, once it has the Lease of one that was killed.

Monitors and rules as in `bench.starting`. Two replicas; when the second has nothing to do any more,
the first is killed and a monitor is changed, so there is something to write. From the audit log:
the first write of the Lease after that, and the first of the configuration after it. Beside it the
CPU that the heir spent in between.

    python -m bench takeover --share 0.2
"""

import argparse
import os
import signal
import time

from bench.operator import await_served
from bench.process import (
    OURS,
    await_idle,
    await_quiet,
    compile_ours,
    cpu_seconds,
    running_operator,
)
from bench.starting import NAMESPACE, WORLDS, in_words
from bench.world import create_all
from stoker.api.crd import GROUP
from tools.audit import Write
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.waiting import until

ROWS = ("monitors", "rules")
CHANGED = f"/apis/{GROUP}/v1/namespaces/team-0/servicemonitors/service-0"
# Of a processor: what a replica uses that only waits.
_HARDLY = 0.05


def report(options: argparse.Namespace) -> bool:
    """Measure, and print."""
    compile_ours()
    sizes = {row: max(50, round(WORLDS[row].size * options.share)) for row in ROWS}
    with Cluster.start(nodes=0, namespaces=False) as cluster:
        install_crds(cluster)
        cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        create_all(cluster, [one for row in ROWS for one in WORLDS[row].objects(sizes[row])])
        await_served(cluster)
        await_idle(cluster)
        with running_operator(OURS, cluster, status=False, killed=True) as leader:
            await_quiet(cluster)
            with running_operator(OURS, cluster, status=False) as heir:
                _await_idle(heir)
                seconds, cpu = _taken_over(cluster, leader, heir)
    print(
        f"{in_words(sizes)}: written {seconds:.2f} s after the Lease was taken, {cpu:.2f} s of CPU"
    )
    return True


def _taken_over(cluster: Cluster, leader: int, heir: int) -> tuple[float, float]:
    os.kill(leader, signal.SIGKILL)
    mark, before = cluster.audit.mark(), cpu_seconds(heir)
    found = cluster.api.get(CHANGED)
    found["spec"]["endpoints"][0]["path"] = "/changed"
    cluster.api.request("PUT", CHANGED, found)
    written = until("the change to be written", lambda: _first(cluster, mark, "secrets"), 120)
    spent = cpu_seconds(heir) - before
    lease = _first(cluster, mark, "leases")
    if lease is None or written is None:
        raise RuntimeError("nobody took the Lease")
    return written.done - lease.done, spent


def _first(cluster: Cluster, mark: int, resource: str) -> Write | None:
    own = cluster.audit.since(mark, "stoker")
    return next((one for one in own if one.resource == resource and one.status < 300), None)


def _await_idle(pid: int) -> None:
    """Wait until a replica has judged what there is: three seconds of hardly any work."""
    last = [cpu_seconds(pid), time.monotonic()]

    def idle() -> bool:
        used, now = cpu_seconds(pid), time.monotonic()
        if used - last[0] > _HARDLY:
            last[:] = [used, now]
        return now - last[1] > 3 and used > 0

    until("the heir to have judged all", idle, seconds=600)
