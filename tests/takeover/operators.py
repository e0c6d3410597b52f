"""The two operators as processes that look after a whole cluster, one after the other."""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stoker.api.core import Object
from stoker.api.crd import GROUP
from stoker.api.kinds import kind_called
from tools import build
from tools.cluster import Cluster
from tools.ports import held_port
from tools.waiting import until

WORKLOADS: Final = ("Prometheus", "PrometheusAgent", "Alertmanager", "ThanosRuler")
OURS: Final = "stoker"
PEER: Final = "the peer"
_AGENTS: Final = {OURS: "stoker", PEER: "PrometheusOperator"}
_STILL_SECONDS: Final = 4.0
_DEADLINE: Final = 900.0


def command_of(operator: str) -> list[str]:
    """How an operator is started; the peer is `$PEER_OPERATOR`, or is built in some minutes."""
    if operator == OURS:
        return [sys.executable, "-m", "stoker", "operator", "--status-page-address="]
    found = os.environ.get("PEER_OPERATOR")
    return [found or str(build.binaries("peer-operator")["peer-operator"])]


@contextmanager
def running(operator: str, cluster: Cluster, flags: Sequence[str]) -> Iterator[None]:
    """An operator that has seen all workloads, and has no more to write when the block begins."""
    port = held_port()
    command = [*command_of(operator), *flags, f"--web.listen-address=127.0.0.1:{port}"]
    environment = os.environ | {"KUBECONFIG": str(cluster.kubeconfig)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.NamedTemporaryFile("w+", suffix=".log") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            until(f"{operator} to see all workloads", lambda: _is_seen(cluster, port), _DEADLINE)
            _await_still(cluster, operator)
            if process.poll() is not None:
                said = Path(log.name).read_text()[-3000:]
                raise RuntimeError(f"{operator} ended:\n{said}")
            yield
        finally:
            process.terminate()
            process.wait()


def _is_seen(cluster: Cluster, port: int) -> bool:
    """Whether as many workloads were reconciled, well or not, as there are."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return False
    seen = sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if line.startswith("prometheus_operator_reconcile_operations_total{")
    )
    return seen >= len(workloads(cluster))


def workloads(cluster: Cluster) -> list[Object]:
    """All workloads, each with its kind."""
    found: list[Object] = []
    for name in WORKLOADS:
        kind = kind_called(name)
        assert kind
        listed = cluster.api.get(f"/apis/{GROUP}/{kind.stored.name}/{kind.plural}")["items"]
        found += [each | {"kind": name} for each in listed]
    return found


def _await_still(cluster: Cluster, operator: str) -> None:
    """Wait until it has written nothing for a while."""
    mark, since = cluster.audit.mark(), time.monotonic()

    def is_still() -> bool:
        nonlocal mark, since
        end = cluster.audit.mark()
        writes = cluster.audit.since(mark, _AGENTS[operator])
        if any(each.resource not in ("leases", "events") for each in writes):
            since = time.monotonic()
        mark = end
        return time.monotonic() - since > _STILL_SECONDS

    until(f"{operator} to be done", is_still, _DEADLINE)
