"""One namespace does whatever it can; in the one beside it, all goes on as if it were not there."""

from __future__ import annotations

import gzip
import itertools
import re
import threading
import time
import urllib.request
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest
import yaml

from tests.live.faults import Gateway
from tests.live.hostile import Attacker
from tests.live.operating import Object, Running, World, alertmanager, prometheus, service_monitor
from tools.cluster import Cluster

VALUES = Path(__file__).parents[2] / "charts" / "stoker" / "values.yaml"
# Of the memory limit this much may be in use; the rest is room.
ROOM = 0.8
HEALTHY_SECONDS = 1.0
CHANGES = 11
RESTARTS = 2
# On the way of a change: its own write and event, the operator's write, and our look at that.
REQUESTS = 4
EVERYWHERE: Object = {
    f"{kind}NamespaceSelector": {} for kind in ("serviceMonitor", "podMonitor", "rule")
}


class Home:
    """The workloads, the well-behaved namespace, and the time that its changes take."""

    def __init__(self, cluster: Cluster, home: str, victim: str) -> None:
        self.world = World(cluster, home)
        self.victim = World(cluster, victim)
        self.lease = f"hostile-{home}"
        self._numbers = itertools.count(1)

    def furnish(self) -> None:
        """Two workloads that select everything everywhere, and honest monitors."""
        self.world.put(prometheus("main", **EVERYWHERE))
        self.world.put(alertmanager("main", alertmanagerConfigNamespaceSelector={}))
        self.victim.put(*[service_monitor(f"app-{number}") for number in range(30)])

    def flags(self, *more: str) -> tuple[str, ...]:
        """How the operator is run; Secrets are selected as kube-prometheus-stack does."""
        names = ",".join((self.world.namespace, self.victim.namespace, *more))
        return (
            f"--namespaces={names}",
            "--secret-field-selector=type!=helm.sh/release.v1",
            f"--leader-election-id={self.lease}",
            f"--leader-election-namespace={self.world.namespace}",
        )

    def changed(self) -> str:
        """Change a monitor; what is in the configuration then and was not before."""
        port = f"port-{next(self._numbers)}"
        self.victim.put(service_monitor("app-3", port))
        return port

    def until_written(self, port: str) -> None:
        """Wait until a change is in the Secret; only one that is new is unpacked."""
        seen = ""

        def is_written() -> bool:
            nonlocal seen
            found = self.world.get("secret", "prometheus-main") or {}
            version = found["metadata"]["resourceVersion"]
            if version == seen:
                return False
            seen = version
            text = gzip.decompress(b64decode(found["data"]["prometheus.yaml.gz"]))
            return re.search(rf"regex: {port}\b".encode(), text) is not None

        self.world.until(f"{port} in the configuration", is_written)

    def latencies(self) -> tuple[float, float]:
        """How long a change takes to be written, and the API server to take it; medians."""
        written, taken = [], []
        for _ in range(CHANGES):
            begun = time.monotonic()
            port = self.changed()
            taken.append(time.monotonic() - begun)
            self.until_written(port)
            written.append(time.monotonic() - begun)
            time.sleep(0.3)
        return median(written), median(taken)

    def restarts(self, start: Callable[[], Running]) -> float:
        """How long it takes from the start of an operator until a change is written; median."""
        spans = []
        for _ in range(RESTARTS):
            port, begun = self.changed(), time.monotonic()
            with start():
                self.until_written(port)
                spans.append(time.monotonic() - begun)
        return median(spans)

    def holder(self) -> tuple[str, int]:
        """Who leads, and how often that changed."""
        place = "/apis/coordination.k8s.io/v1/namespaces"
        lease = self.world.cluster.api.get(f"{place}/{self.world.namespace}/leases/{self.lease}")
        return lease["spec"]["holderIdentity"], lease["spec"].get("leaseTransitions", 0)


class Probe:
    """Asks a process all the time whether it is healthy, and how much memory it has."""

    def __init__(self, port: int, pid: int) -> None:
        self.slowest = 0.0
        self.failures: list[str] = []
        self._urls = [f"http://127.0.0.1:{port}/{page}" for page in ("healthz", "readyz")]
        self._status = Path(f"/proc/{pid}/status")

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Ask until the block ends."""
        stopped = threading.Event()
        thread = threading.Thread(target=self._work, args=(stopped,))
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()

    @property
    def peak(self) -> int:
        """The most memory that it ever had, in bytes."""
        found = re.search(r"VmHWM:\s+(\d+) kB", self._status.read_text())
        assert found
        return int(found[1]) * 1024

    def _work(self, stopped: threading.Event) -> None:
        while not stopped.wait(0.1):
            for url in self._urls:
                begun = time.monotonic()
                try:
                    urllib.request.urlopen(url, timeout=20).read()
                except OSError as error:
                    self.failures.append(f"{url}: {error}")
                self.slowest = max(self.slowest, time.monotonic() - begun)


def memory_limit(*path: str) -> int:
    """The memory limit that the chart sets, in bytes."""
    values = yaml.safe_load(VALUES.read_text())
    for name in path:
        values = values[name]
    text = values["resources"]["limits"]["memory"]
    assert text.endswith("Mi"), text
    return int(text.removesuffix("Mi")) << 20


def test_a_hostile_namespace_costs_the_others_nothing(
    crds: Cluster, new_namespace: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Health, leadership, memory, the time of a change and of a restart: all as without him.

    What the API server itself takes longer, with him in the cluster, is not the operator's: it is
    measured by the victim's own writes, and allowed for each request that a change takes.
    """
    home = Home(crds, new_namespace(), new_namespace())
    evil = World(crds, new_namespace())
    attacker = Attacker(evil)
    home.furnish()
    with Gateway(crds) as gateway:
        flags, kubeconfig = home.flags(evil.namespace), gateway.kubeconfig

        def start() -> Running:
            return Running.start(crds, *flags, kubeconfig=kubeconfig)

        with start():
            home.until_written(home.changed())
            quiet, quiet_server = home.latencies()
        quiet_restart = home.restarts(start)
        gateway.fault = attacker.fault
        attacker.furnish()
        with attacker.at_work():
            hostile_restart = home.restarts(start)
            with start() as operator:
                home.until_written(home.changed())
                leader, probe = home.holder(), Probe(operator.port, operator.process.pid)
                with probe.at_work():
                    hostile, hostile_server = home.latencies()
                assert home.holder() == leader
                limit, peak = memory_limit("operator"), probe.peak
    slower = max(0.0, hostile_server - quiet_server) * REQUESTS
    with capsys.disabled():
        print(
            f"\nchange: quiet {quiet:.3f} s, hostile {hostile:.3f} s"
            f" (API server {quiet_server:.3f} s, {hostile_server:.3f} s);"
            f" restart: quiet {quiet_restart:.2f} s, hostile {hostile_restart:.2f} s;"
            f" slowest health {probe.slowest:.3f} s; peak {peak >> 20} of {limit >> 20} MiB;"
            f" {attacker.changes} hostile changes"
        )
    assert attacker.changes > CHANGES
    assert probe.failures == []
    assert probe.slowest < HEALTHY_SECONDS
    assert peak < ROOM * limit
    assert hostile <= 2 * quiet + slower
    assert hostile_restart <= 2 * quiet_restart + slower
