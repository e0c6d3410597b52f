"""What ``make up`` shows: the operator at work on a small shop, with everything that it makes.

    with running(cluster, print) as demo:
        print(demo.page, demo.prometheus, demo.alertmanager)
        while ...: demo.keep()

The operator and an exporter, which answers for the pods of the shop, are processes inside the
cluster's network; the pods of Prometheus, the agents and Alertmanager are run by the pod runner.
Doors lead there from ports of this machine. Where the machine does not let us run pods, they are
only pretended, and there is nothing behind those doors: the operator and its page are there all the
same.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import yaml

from tools.api import ApiError
from tools.cluster import Cluster
from tools.components import SERVER_ADDRESS
from tools.crds import install_crds
from tools.door import ANY, Door
from tools.host import ROOT
from tools.nodes import NODE_PREFIX
from tools.podrunner import PodRunner
from tools.pods.images import OUR_IMAGE
from tools.pods.pod import PYTHON
from tools.stages import READINESS

Object = dict[str, Any]
Tell = Callable[[str], None]

MANIFESTS = Path(__file__).parent / "shop"
WORKLOADS = ("prometheuses", "alertmanagers", "prometheusagents")
EXPORTER_PORTS = ("8080", "8081")
PAGE, PROMETHEUS, ALERTMANAGER = 8095, 9090, 9093
PROMETHEUS_PODS = "operator.prometheus.io/name=main,app.kubernetes.io/name=prometheus"
ALERTMANAGER_PODS = "alertmanager=main,app.kubernetes.io/name=alertmanager"
TARGETS_EVERY = "10s"

_PAGE_LINE = re.compile(r'msg="the status page is ready".* url=(http://[0-9.:]+)')

# What a container does first; where this is refused, no container runs.
TRIAL = (
    "from tools.pods.kernel import *; unshare(CLONE_NEWNS | CLONE_NEWUTS);"
    "mount('', '/', flags=MS_REC | MS_PRIVATE); mount('tmpfs', '/tmp', 'tmpfs')"
)


@dataclass(frozen=True)
class Places:
    """Where to look: URLs on this machine, empty for what does not run, and if so, why."""

    page: str
    prometheus: str = ""
    alertmanager: str = ""
    pretended: str = ""

    def write(self, file: Path) -> None:
        """Write it down; whoever sees the file sees all of it."""
        scratch = file.with_suffix(".new")
        scratch.write_text(json.dumps(asdict(self)))
        scratch.rename(file)

    @classmethod
    def read(cls, file: Path) -> Places:
        """Read what was written."""
        return cls(**json.loads(file.read_text()))


class Demo:
    """All of it, while it runs."""

    def __init__(self, cluster: Cluster, stack: ExitStack, tell: Tell) -> None:
        self._cluster = cluster
        self._tell = tell
        self._stack = stack
        self._pods: PodRunner | None = None
        self._operator: subprocess.Popen[bytes] | None = None
        # Where the agents' remote write leads: what a Service would know.
        self._service = cluster.directory / "prometheus-operated"
        pretended = why_no_pods(cluster)
        install_crds(cluster)
        tell("the definitions are installed")
        page = self._start_operator()
        if pretended:
            self.places = Places(page, pretended=pretended)
        else:
            self.places = self._run_pods()
        self._apply()

    def keep(self) -> None:
        """See that all of it still runs; whoever calls this does so every now and then."""
        self._cluster.check()
        if self._operator is None or self._operator.poll() is not None:
            self._spawn_operator()
        # The API server is busy, or the pod is being replaced.
        with contextlib.suppress(OSError, http.client.HTTPException, ApiError, LookupError):
            if self._pods:
                self._service.write_text(f"{self._address(PROMETHEUS_PODS)} {PROMETHEUS}")

    # --- What runs --------------------------------------------------------------------------------

    def _start_operator(self) -> str:
        """Start it; where its page is."""
        self._page = PAGE if self._cluster.namespaces else ANY
        self._spawn_operator()
        page = self._cluster.until("the operator's page", self._logged_page)
        self._page = int(page.rpartition(":")[2])
        self._tell("the operator is started")
        return page

    def _logged_page(self) -> str:
        found = _PAGE_LINE.search((self._cluster.directory / "operator.log").read_text())
        return found[1] if found else ""

    def _spawn_operator(self) -> None:
        flags = (
            "--leader-election=false",
            "--web.listen-address=127.0.0.1:0",
            f"--status-page-address=127.0.0.1:{self._page}",
            f"--target-status-interval={TARGETS_EVERY}",
            # The default one takes minutes for a second change of a configuration.
            f"--prometheus-config-reloader={OUR_IMAGE}",
        )
        command = (sys.executable, "-m", "stoker", "operator", *flags)
        self._operator = self._spawn("operator", *command)

    def _run_pods(self) -> Places:
        self._pods = self._stack.enter_context(PodRunner(self._cluster))
        self._spawn("exporter", sys.executable, "-m", "tools.exporter", *EXPORTER_PORTS)
        relay = (sys.executable, "-m", "tools.relay", str(PROMETHEUS), str(self._service))
        self._spawn("prometheus-operated", *relay)
        return Places(
            page=self._door(PAGE, lambda: "127.0.0.1"),
            prometheus=self._door(PROMETHEUS, lambda: self._address(PROMETHEUS_PODS)),
            alertmanager=self._door(ALERTMANAGER, lambda: self._address(ALERTMANAGER_PODS)),
        )

    def _spawn(self, name: str, *argv: str) -> subprocess.Popen[bytes]:
        with (self._cluster.directory / f"{name}.log").open("ab") as log:
            return self._cluster.spawn(argv, cwd=ROOT, stdout=log, stderr=log)

    def _door(self, port: int, address: Callable[[], str]) -> str:
        pods = cast("PodRunner", self._pods)
        enter = self._stack.enter_context(Door(port, lambda: pods.connected(address(), port)))
        return enter.url

    def _address(self, selector: str) -> str:
        """The address of a pod; an IndexError or KeyError where there is none."""
        path = f"/api/v1/namespaces/monitoring/pods?labelSelector={selector}"
        return str(self._cluster.api.get(path)["items"][0]["status"]["podIP"])

    # --- What it works on -------------------------------------------------------------------------

    def _apply(self) -> None:
        objects = [each for file in sorted(MANIFESTS.glob("*.yaml")) for each in _documents(file)]
        if self._pods:
            objects = [_with_readiness(each) for each in objects]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self._cluster.kubectl(
            "apply", "--server-side", "--field-manager=make-up", "-f", "-", input=text
        )
        self._tell("the manifests of the shop are applied, its workloads start")

    def until_available(self) -> None:
        """Wait until the workloads are as they should be."""
        for plural in WORKLOADS:
            self._cluster.until(f"{plural} available", partial(self._well, plural))
            self._tell(f"{plural} are available")

    def _well(self, plural: str) -> bool:
        self.keep()
        listed = json.loads(self._cluster.kubectl("get", plural, "-A", "-o", "json").stdout)
        return all(_is_well(each) for each in listed["items"])


@contextmanager
def running(cluster: Cluster, tell: Tell) -> Iterator[Demo]:
    """Run the demonstration on a cluster; ready when it is given."""
    with ExitStack() as stack:
        demo = Demo(cluster, stack, tell)
        demo.until_available()
        yield demo


def why_no_pods(cluster: Cluster) -> str:
    """Why pods cannot be run as processes of this machine; empty if they can."""
    if not cluster.namespaces:
        return "this machine does not let us make network and PID namespaces"
    if cluster.spawn([*PYTHON[:-1], "-c", TRIAL], cwd=ROOT, stderr=subprocess.DEVNULL).wait():
        return "this machine does not let us mount file systems in a namespace"
    argv = [*PYTHON, "tools.pods.sandbox", "trial", f"{NODE_PREFIX}.254", SERVER_ADDRESS]
    trial = cluster.spawn(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with cast("IO[bytes]", trial.stdout) as output:
        works = bool(output.readline())
    trial.kill()
    trial.wait()
    return "" if works else "this machine does not let us make virtual network cables"


def _documents(file: Path) -> list[Object]:
    return [each for each in yaml.safe_load_all(file.read_text()) if each]


def _with_readiness(each: Object) -> Object:
    """A workload whose pods are ready when they say so, not when kwok does."""
    if each["kind"] not in ("Prometheus", "PrometheusAgent", "Alertmanager"):
        return each
    metadata = {"annotations": {READINESS: "told"}}
    return {**each, "spec": {**each["spec"], "podMetadata": metadata}}


def _is_well(workload: Object) -> bool:
    conditions = (workload.get("status") or {}).get("conditions") or ()
    known = {each["type"]: each["status"] for each in conditions}
    return known.get("Available") == "True" == known.get("Reconciled")
