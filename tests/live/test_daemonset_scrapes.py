"""Agents on every node, really scraping: each target once, by the agent of its own node (D8).

Three namespaces with ten pods each, over three nodes; PodMonitors, and ServiceMonitors of Services
of all sorts. The operator makes the DaemonSet, the pod runner runs its pods, the agents scrape and
send everything to a real Prometheus. What must have been scraped is told from the pods alone.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.live.operating import Running, World, resource
from tests.live.scraping import (
    NOBODY,
    PORTS,
    allow_discovery,
    exporter,
    node_agent,
    series,
    target,
)
from tools import build
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.podrunner import PodRunner
from tools.waiting import NotInTimeError

Object = dict[str, Any]

TEAMS = ("red", "green", "blue")
HOME = "monitoring"
# How many pods of each app a team has; more than one are spread over the nodes.
APPS = {"plain": 3, "shop": 3, "twin": 3, "external": 1}
RECEIVER = 9095
# In seconds, a few times the scrape interval: who did not scrape for so long does so no more.
WINDOW = 5


class Scrape(NamedTuple):
    """A target of a job, and the node of the agent that scrapes it."""

    namespace: str
    job: str
    instance: str
    node: str


class Stage:
    """The cluster with its targets, monitors and agents."""

    def __init__(self, cluster: Cluster, pods: PodRunner) -> None:
        self.cluster = cluster
        self.pods = pods
        self.home = World(cluster, HOME)
        self.teams = [World(cluster, name) for name in TEAMS]
        # The port that PodMonitors name.
        self.plain_port = "web"

    def furnish(self) -> None:
        """Make everything but the agents."""
        for team in self.teams:
            team.put(*_services(), *_monitors(team.namespace, self.plain_port))
            for app, count in APPS.items():
                for number in range(count):
                    team.put(_pod(app, number, f"node-{number}"))
        self.list_external()

    def list_external(self) -> None:
        """Write the EndpointSlices that no controller writes, by the pods as they are now."""

        def addressed() -> bool:
            return all(each["status"].get("podIP") for team in self.teams for each in _pods(team))

        self.cluster.until("all addresses", addressed)
        for team in self.teams:
            team.put(_slice([pod for pod in _pods(team) if _app(pod) == "external"]))

    def expected(self) -> set[Scrape]:
        """What must be scraped, by whom: from the pods as they are."""
        return {
            Scrape(team.namespace, job, f"{pod['status']['podIP']}:{PORTS[port]}", _node(pod))
            for team in self.teams
            for pod in _pods(team)
            for job, port in self._jobs(team.namespace, _app(pod))
        }

    def _jobs(self, namespace: str, app: str) -> list[tuple[str, str]]:
        return {
            "plain": [(f"{namespace}/plain", self.plain_port)],
            "shop": [("shop", "web"), ("shop-headless", "web")],
            "twin": [("twin", "web"), ("twin", "admin")],
            "external": [("external", "web")],
        }[app]

    def received(self, since: float, until: float) -> list[Scrape]:
        """What was scraped between two times, as the receiver knows it; if by two agents, twice."""
        nodes = {pod["metadata"]["name"]: _node(pod) for pod in _pods(self.home)}
        window = f"{int(1000 * (until - since))}ms"
        by = "namespace, job, instance, prometheus_replica"
        found = f"count by ({by}) (present_over_time(asked[{window}] @ {until:.3f}))"
        return [
            Scrape(
                each["namespace"],
                each["job"],
                each["instance"],
                nodes.get(each["prometheus_replica"], "an agent that is gone"),
            )
            for each in series(self.pods, NOBODY, found, RECEIVER)
        ]

    def holds(self) -> None:
        """Wait until each target is scraped once, by the right agent, and see that it stays so."""
        wanted = sorted(self.expected())
        assert len(wanted) >= 40
        got: list[Scrape] = []

        def exactly() -> bool:
            got[:] = sorted(self.received(time.time() - WINDOW, time.time()))
            return got == wanted

        try:
            self.home.until("each target once", exactly)
        except NotInTimeError:
            print("missing:", set(wanted) - set(got), "too many:", set(got) - set(wanted))
            raise
        begin, asked = time.time(), self._asked()
        end = begin + WINDOW

        def all_later() -> bool:
            return time.time() > end and set(self.received(end, time.time())) >= set(wanted)

        self.home.until("each target again", all_later)
        assert sorted(self.received(begin, end)) == wanted
        self._check_askers(asked, self._asked())

    def _asked(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = json.loads(
            self.pods.page(NOBODY, PORTS["web"], "/scrapes")
        )
        return found

    def _check_askers(
        self, before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]
    ) -> None:
        """See at the other end as well that each target was asked by the agent of its node only."""
        agents = {_node(pod): self.pods.address(pod) for pod in _pods(self.home)}
        wanted = {each.instance: {agents[each.node]} for each in self.expected()}
        asked: dict[str, set[str]] = {}
        for instance, askers in after.items():
            for who, count in askers.items():
                if count > before.get(instance, {}).get(who, 0):
                    asked.setdefault(instance, set()).add(who)
        assert asked == wanted


def _pods(world: World) -> list[Object]:
    return [each for each in world.list("pods") if "deletionTimestamp" not in each["metadata"]]


def _node(pod: Object) -> str:
    return str(pod["spec"]["nodeName"])


def _app(pod: Object) -> str:
    return str(pod["metadata"]["labels"]["app"])


def _pod(app: str, number: int, node: str) -> Object:
    return target(f"{app}-{number}", node, {"app": app}, *PORTS)


def _service(name: str, app: str | None, *ports: str, **spec: Any) -> Object:
    """A Service; it has endpoints of its own where it selects an app."""
    listed = [{"name": port, "port": PORTS[port]} for port in ports]
    selector = {"selector": {"app": app}} if app else {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": {"monitor": name.split("-", maxsplit=1)[0]}},
        "spec": {"ports": listed, **selector, **spec},
    }


def _services() -> list[Object]:
    return [
        _service("shop", "shop", "web"),
        _service("shop-headless", "shop", "web", clusterIP="None"),
        _service("twin", "twin", "web", "admin"),
        _service("external", None, "web"),
    ]


def _slice(pods: list[Object]) -> Object:
    """The endpoints of the Service without a selector, made by hand: nothing but node and port."""
    endpoints = [{"addresses": [each["status"]["podIP"]], "nodeName": _node(each)} for each in pods]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "external", "labels": {"kubernetes.io/service-name": "external"}},
        "addressType": "IPv4",
        "ports": [{"name": "web", "port": PORTS["web"]}],
        "endpoints": endpoints,
    }


def _monitors(namespace: str, plain_port: str) -> list[Object]:
    """The monitors of a team; those of shops and external ones are one team's for all."""
    everywhere: dict[str, Object] = {
        "red": {"shop": {"any": True}},
        "green": {"external": {"matchNames": list(TEAMS)}},
    }
    made = [_pod_monitor(plain_port), _service_monitor("twin", {}, "web", "admin")]
    for name, namespaces in everywhere.get(namespace, {}).items():
        made.append(_service_monitor(name, namespaces, "web"))
    return made


def _pod_monitor(port: str) -> Object:
    spec = {
        "selector": {"matchLabels": {"app": "plain"}},
        "podMetricsEndpoints": [{"port": port}],
    }
    return resource("PodMonitor", "plain", spec)


def _service_monitor(name: str, namespaces: Object, *ports: str) -> Object:
    spec = {
        "selector": {"matchLabels": {"monitor": name}},
        "namespaceSelector": namespaces,
        "endpoints": [{"port": port} for port in ports],
    }
    return resource("ServiceMonitor", name, spec)


def _agents() -> Object:
    return node_agent(
        "main",
        podMonitorNamespaceSelector={},
        serviceMonitorNamespaceSelector={},
        scrapeInterval="1s",
        scrapeTimeout="1s",
        remoteWrite=[
            {
                "url": f"http://{NOBODY}:{RECEIVER}/api/v1/write",
                "queueConfig": {"batchSendDeadline": "500ms"},
            }
        ],
    )


@contextmanager
def receiver(cluster: Cluster, directory: Path) -> Iterator[None]:
    """A Prometheus that scrapes nothing and takes what agents send."""
    directory.mkdir(exist_ok=True)
    config = directory / "prometheus.yaml"
    config.write_text("{}\n")
    argv = [
        str(build.binaries("prometheus")["prometheus"]),
        f"--config.file={config}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=0.0.0.0:{RECEIVER}",
        "--web.enable-remote-write-receiver",
    ]
    with (directory / "log").open("ab") as log:
        process = cluster.spawn(argv, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A cluster of its own, as nodes come and go."""
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster.start(nodes=3))
        if not cluster.namespaces:
            pytest.skip("this machine does not let us make network namespaces")
        install_crds(cluster)
        for name in (HOME, *TEAMS):
            cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        allow_discovery(cluster, HOME)
        stack.enter_context(exporter(cluster))
        stack.enter_context(receiver(cluster, tmp_path / "receiver"))
        stack.enter_context(Running.start(cluster))
        pods = stack.enter_context(PodRunner(cluster))
        yield Stage(cluster, pods)


def test_each_target_is_scraped_once_by_the_agent_of_its_node(stage: Stage) -> None:
    """It holds from the start, and again after nodes, pods and monitors have changed."""
    stage.furnish()
    stage.home.put(_agents())
    stage.holds()

    # A node joins, with pods of its own.
    stage.cluster.add_node("late")
    for team in stage.teams:
        team.put(*(_pod(app, 9, "late") for app in APPS))
    stage.list_external()
    stage.holds()

    # Pods move: replaced by others of the same name elsewhere.
    for team in stage.teams:
        for app in ("plain", "shop"):
            name = f"{app}-0"
            path = team.path("pods", name)
            stage.cluster.api.request("DELETE", path, {"gracePeriodSeconds": 0})
            team.put(_pod(app, 0, "node-1"))
    stage.list_external()
    stage.holds()

    # A monitor changes.
    stage.plain_port = "admin"
    for team in stage.teams:
        team.put(_pod_monitor("admin"))
    stage.holds()

    # A node leaves, with its agent and all of its pods.
    stage.cluster.remove_node("node-2")
    stage.list_external()
    stage.holds()
    assert {_node(pod) for pod in _pods(stage.home)} == {"node-0", "node-1", "late"}
