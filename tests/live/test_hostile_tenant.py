"""One namespace does whatever it can; in the one beside it, all goes on as if it were not there."""

from __future__ import annotations

import gzip
import http.client
import itertools
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest
import yaml

from tests.builders import alertmanager, prometheus, service_monitor
from tests.live import hostile
from tests.live.beside import beside
from tests.live.faults import Gateway
from tests.live.hostile import Attacker
from tests.live.operating import Object, Running, World
from tools.cluster import Cluster
from tools.waiting import until

VALUES = Path(__file__).parents[2] / "charts" / "stoker" / "values.yaml"
# Of the memory limit this much may be in use; the rest is room.
ROOM = 0.8
HEALTHY_SECONDS = 1.0
CHANGES = 15
RESTARTS = 5
# We look this often whether a change is written, so two times may differ by as much.
POLL_SECONDS = 0.1
# The API server writes his ten megabytes and a proxy in Python carries them before the operator can
# begin; that took 0.2 seconds more than without him, and only a part of it is for us to mend. As
# much again is for a machine that has other things to do.
CARRYING_SECONDS = 0.4
# A start that meets his slow Secrets finds out that they are slow by themselves, by seven questions
# of its own a tenth of a second apart. That takes as long on any machine.
FINDING_OUT_SECONDS = 0.8
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
        with beside(self._work):
            yield

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


def compared(
    times: int,
    beside: Callable[[], float],
    without: Callable[[], float],
    of: Callable[[Sequence[float]], float] = median,
) -> Twins:
    """The medians of what is done in turn, so that the machine is the same for both."""
    pairs = [(beside(), without()) for _ in range(times)]
    return Twins(*(of(each) for each in zip(*pairs, strict=True)))


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
    more = CARRYING_SECONDS + FINDING_OUT_SECONDS
    assert restart.beside <= 2 * restart.without + more


# --- The webhook ----------------------------------------------------------------------------------

STRANGER = "127.0.0.2"
# The API server does not wait for longer, unless it is told to.
REVIEW_SECONDS = 10.0
RULES = "/admission-prometheusrules/validate"


def review(*expressions: str) -> bytes:
    """A review of a PrometheusRule with these expressions."""
    given = hostile.rule("it", *expressions)
    request = {"uid": "1", "operation": "CREATE", "kind": {"kind": given["kind"]}, "object": given}
    whole = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(whole).encode()


def dear_bodies() -> list[bytes]:
    """What strangers send: small and large, and all of it dear in its own way."""
    return [
        b'{"a":' * 1700,
        b"[" * 1_000_000,
        b"[" + b"[]," * 4_000_000 + b"1]",
        review(r'up{a=~"\PN{1000}"}', *[f'up{{a=~"{each}\\PN{{999}}"}}' for each in range(30)]),
        review("+".join(["a"] * 15_000)),
        review("+".join(["a"] * 250_000)),
        review(*["+".join(["a"] * 900)] * 70),
        review(*["up"] * 9000),
    ]


def post(port: int, body: bytes, source: str = "127.0.0.1") -> int:
    """The status of the answer to a review; 0 if there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, 60, (source, 0))
    try:
        connection.request("POST", RULES, body, {"Content-Type": "application/json"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


@contextmanager
def webhook() -> Iterator[tuple[int, int]]:
    """The webhook as a process of its own: its port and its id."""
    flags = ("--web.enable-tls=false", "--web.listen-address=127.0.0.1:0")
    command = [sys.executable, "-m", "stoker", "webhook", *flags]
    with tempfile.NamedTemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            text = until(
                "the webhook to listen",
                lambda: re.search(r"msg=listening.* port=(\d+)", Path(log.name).read_text()),
            )
            assert text
            yield int(text[1]), process.pid
        finally:
            process.terminate()
            process.wait(60)


@contextmanager
def strangers(port: int) -> Iterator[Counter[int]]:
    """Those who ask without end, and those who say nothing; the answers that they got."""
    stopped, answers, bodies = threading.Event(), Counter[int](), dear_bodies()

    def ask(number: int) -> None:
        for body in itertools.cycle(bodies[number:] + bodies[:number]):
            if stopped.is_set():
                return
            answers[post(port, body, STRANGER)] += 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(bodies))]
    with ExitStack() as stack:
        for _ in range(300):
            silent = stack.enter_context(socket.socket())
            silent.bind((STRANGER, 0))
            silent.connect(("127.0.0.1", port))
        for thread in threads:
            thread.start()
        try:
            yield answers
        finally:
            stopped.set()
            for thread in threads:
                thread.join()


def test_strangers_do_not_hold_the_webhook(capsys: pytest.CaptureFixture[str]) -> None:
    """Small reviews of others and probes are answered, and memory stays within its limit."""
    with webhook() as (port, pid), strangers(port) as answers:
        probe, spans = Probe(port, pid), []
        with probe.at_work():
            until("strangers to be answered", lambda: answers.total() >= len(dear_bodies()))
            for number in range(CHANGES):
                begun = time.monotonic()
                assert post(port, review(f"up > {number}")) == HTTPStatus.OK
                spans.append(time.monotonic() - begun)
        peak, limit = probe.peak + children(pid), memory_limit("webhook")
    with capsys.disabled():
        print(
            f"\nreview: median {median(spans):.3f} s, slowest {max(spans):.3f} s;"
            f" slowest health {probe.slowest:.3f} s; peak {peak >> 20} of {limit >> 20} MiB;"
            f" strangers got {dict(answers)}"
        )
    assert probe.failures == []
    assert probe.slowest < HEALTHY_SECONDS
    assert max(spans) < REVIEW_SECONDS
    assert peak < limit


def children(pid: int) -> int:
    """The most memory that each of the children of a process ever had, together."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(Probe(0, int(each)).peak for each in found)
