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
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

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
CHANGES = 15
RESTARTS = 2
# We look this often whether a change is written, so two times may differ by as much.
POLL_SECONDS = 0.1
# More lies in the cluster for the one than for the other, and comes through a proxy in Python.
READING_SECONDS = 1.0
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

    def latency(self) -> float:
        """How long a change takes to be written."""
        begun = time.monotonic()
        self.until_written(self.changed())
        return time.monotonic() - begun

    def restarted(self, start: Callable[[], Running]) -> float:
        """How long it takes from the start of an operator until a change is written."""
        port, begun = self.changed(), time.monotonic()
        with start():
            self.until_written(port)
            return time.monotonic() - begun

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


class Twins(NamedTuple):
    """What it takes for those whose operator has the hostile namespace to look after, or not."""

    beside: float
    without: float

    def __str__(self) -> str:
        return f"{self.beside:.3f} s beside him, {self.without:.3f} s without"


def compared(times: int, beside: Callable[[], float], without: Callable[[], float]) -> Twins:
    """The medians of what is done in turn, so that the machine is the same for both."""
    pairs = [(beside(), without()) for _ in range(times)]
    return Twins(*(median(each) for each in zip(*pairs, strict=True)))


def test_a_hostile_namespace_costs_the_others_nothing(
    crds: Cluster, new_namespace: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Health, leadership, memory, the time of a change and of a restart: all as without him.

    A second operator looks after the same things without the hostile namespace, at the same time
    and on the same cluster: what he costs the API server and the machine, he costs both.
    """
    home, twin = (Home(crds, new_namespace(), new_namespace()) for _ in range(2))
    evil = World(crds, new_namespace())
    attacker = Attacker(evil)
    home.furnish()
    twin.furnish()
    with Gateway(crds) as gateway:
        kubeconfig = gateway.kubeconfig
        start = partial(Running.start, crds, *home.flags(evil.namespace), kubeconfig=kubeconfig)
        start_twin = partial(Running.start, crds, *twin.flags(), kubeconfig=kubeconfig)
        with start(), start_twin():
            home.latency(), twin.latency()
            quiet = compared(CHANGES // 3, home.latency, twin.latency)
        quiet_restart = compared(
            1, partial(home.restarted, start), partial(twin.restarted, start_twin)
        )
        gateway.fault = attacker.fault
        attacker.furnish()
        with attacker.at_work():
            with start() as operator, start_twin():
                home.latency(), twin.latency()
                leader, probe = home.holder(), Probe(operator.port, operator.process.pid)
                with probe.at_work():
                    change = compared(CHANGES, home.latency, twin.latency)
                assert home.holder() == leader
                limit, peak = memory_limit("operator"), probe.peak
            restart = compared(
                RESTARTS, partial(home.restarted, start), partial(twin.restarted, start_twin)
            )
    with capsys.disabled():
        print(
            f"\nchange: {change} (before he came {quiet});"
            f" restart: {restart} (before he came {quiet_restart});"
            f" slowest health {probe.slowest:.3f} s; peak {peak >> 20} of {limit >> 20} MiB;"
            f" {attacker.changes} hostile changes"
        )
    assert attacker.changes > CHANGES
    assert probe.failures == []
    assert probe.slowest < HEALTHY_SECONDS
    assert peak < ROOM * limit
    assert change.beside <= 2 * change.without + POLL_SECONDS
    assert restart.beside <= 2 * restart.without + READING_SECONDS
