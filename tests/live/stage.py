"""A cluster with targets of all sorts, real agents that scrape them, and a receiver of all samples.

Three namespaces with fourteen pods each, over five nodes; PodMonitors, and ServiceMonitors of
Services of all sorts. One of the nodes is tainted, and the names of two differ in a dot only. The
operator makes the agents, the pod runner runs their pods, and they send all they scrape to a real
Prometheus, so that each scrape can be counted there: who scraped which target when. What must have
been scraped is told from the pods alone.

kwok would say at once that a pod is ready. The agents here have the annotation by which the runner
says so (``tools.stages``), when the readiness probe of the running process succeeds: what waits for
readiness waits for the real thing.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.builders import resource
from tests.live.beside import beside
from tests.live.operating import World
from tests.live.scraping import (
    NOBODY,
    PORTS,
    Asked,
    allow_discovery,
    asked,
    exporter,
    node_agent,
    samples,
    series,
    target,
)
from tools import build
from tools.cluster import Cluster
from tools.crds import cluster_with_crds
from tools.podrunner import PodRunner
from tools.stages import READINESS
from tools.waiting import NotInTimeError

Object = dict[str, Any]

TEAMS = ("red", "green", "blue")
HOME = "monitoring"
NODES = ("node-0", "node-1", "node-2", "node-3.a", "node-3-a")
TAINTED = "node-1"
# How many pods of each app a team has; more than one are spread over the nodes.
APPS = {"plain": 5, "shop": 5, "twin": 3, "external": 1}
RECEIVER = 9095
# An operator that is killed is not waited for: whoever comes next begins at once.
ALONE = "--leader-election=false"
# In seconds. As short as gaps of two of them can be told from a busy machine.
INTERVAL = 2
# Who did not scrape for so long does so no more.
WINDOW = 5
# So many intervals are looked at to see that nothing changes.
STEADY_INTERVALS = 4
TICK = 0.1


class Target(NamedTuple):
    """Something that a job scrapes."""

    namespace: str
    job: str
    instance: str


class Scrape(NamedTuple):
    """A target, and the agent that scrapes it."""

    target: Target
    agent: str


class Try(NamedTuple):
    """When an agent scraped a target, or tried to: a busy machine may not answer in time."""

    time: float
    agent: str


Tries = Mapping[Target, Sequence[Try]]
"""All of them, in order, by target."""


class Stage:
    """The cluster with its targets, monitors and agents."""

    def __init__(self, cluster: Cluster, pods: PodRunner) -> None:
        self.cluster = cluster
        self.pods = pods
        self.home = World(cluster, HOME)
        self.teams = [World(cluster, name) for name in TEAMS]
        # The port that PodMonitors name.
        self.plain_port = "web"
        # Whether agents may miss a port that no Service names, and are made to look again.
        self.nudges = False

    def furnish(self) -> None:
        """Make everything but the agents."""
        for team in self.teams:
            team.put(*_services(), *_monitors(team.namespace, self.plain_port))
            for app, count in APPS.items():
                for number in range(count):
                    team.put(team_pod(app, number, NODES[number]))
        self.list_external()

    def list_external(self) -> None:
        """Write the EndpointSlices that no controller writes, by the pods as they are now."""

        def addressed() -> bool:
            return all(each["status"].get("podIP") for team in self.teams for each in pods_of(team))

        self.cluster.until("all addresses", addressed)
        for team in self.teams:
            team.put(_slice([pod for pod in pods_of(team) if _app(pod) == "external"]))

    # --- What should be, and what is --------------------------------------------------------------

    def expected(self) -> set[Scrape]:
        """What must be scraped, by whom: from the pods as they are.

        Agents of a DaemonSet scrape on their nodes, the one of a StatefulSet everywhere.
        """
        agents = pods_of(self.home)
        on_nodes = all(_owner(each) == "DaemonSet" for each in agents)
        assert on_nodes or len(agents) == 1
        names = {node_of(each) if on_nodes else "": _name(each) for each in agents}
        return {
            Scrape(target, names[node if on_nodes else ""])
            for target, node in self.targets().items()
        }

    def targets(self) -> dict[Target, str]:
        """All targets, by the pods as they are, and the nodes that they are on."""
        return {
            Target(team.namespace, job, f"{pod['status']['podIP']}:{PORTS[port]}"): node_of(pod)
            for team in self.teams
            for pod in pods_of(team)
            for job, port in self._jobs(team.namespace, _app(pod))
        }

    def _jobs(self, namespace: str, app: str) -> list[tuple[str, str]]:
        hidden = [("hidden", "admin")] if namespace == "blue" else []
        return {
            "plain": [(f"{namespace}/plain", self.plain_port), *hidden],
            "shop": [("shop", "web"), ("shop-headless", "web")],
            "twin": [("twin", "web"), ("twin", "admin")],
            "external": [("external", "web")],
        }[app]

    def received(self, since: float, until: float) -> list[Scrape]:
        """What was scraped between two times, as the receiver knows it; if by two agents, twice."""
        window = f"{int(1000 * (until - since))}ms"
        by = "namespace, job, instance, prometheus_replica"
        found = f"count by ({by}) (present_over_time(asked[{window}] @ {until:.3f}))"
        return [_scrape(each) for each in series(self.pods, NOBODY, found, RECEIVER)]

    def tries(self, since: float, until: float) -> dict[Target, list[Try]]:
        """Every scrape between two times: each leaves a sample of `up`, whatever came of it."""
        window = f"up[{int(1000 * (until - since))}ms] @ {until:.3f}"
        found: dict[Target, list[Try]] = {}
        for labels, times in samples(self.pods, NOBODY, window, RECEIVER):
            target, agent = _scrape(labels)
            found.setdefault(target, []).extend(Try(time, agent) for time in times)
        return {target: sorted(every) for target, every in found.items()}

    # --- What must hold ---------------------------------------------------------------------------

    def begins(self) -> list[Scrape]:
        """Wait until each target is scraped once, by the right agent; what that is."""
        wanted: list[Scrape] = []
        got: list[Scrape] = []

        def exactly() -> bool:
            wanted[:] = sorted(self.expected())
            got[:] = sorted(self.received(time.time() - WINDOW, time.time()))
            if self.nudges:
                self._nudge(set(wanted) - set(got))
            return got == wanted

        try:
            self.home.until("each target once", exactly)
        except NotInTimeError:
            print("missing:", set(wanted) - set(got), "too many:", set(got) - set(wanted))
            raise
        assert len(wanted) >= 40
        return wanted

    def _nudge(self, missing: set[Scrape]) -> None:
        """Have agents look again at a Service if nothing is missing but ports that it hides.

        Prometheus takes such a port from the pod that it knows when the *slice* changes. Where the
        slice comes first, which happens on a busy machine, it does not look again when the pod
        comes: only when the slice or its Service changes.
        """
        if missing and {each.target.job for each in missing} == {"hidden"}:
            for namespace in {each.target.namespace for each in missing}:
                note = {"metadata": {"annotations": {"nudged": str(int(time.time() / WINDOW))}}}
                World(self.cluster, namespace).patch("services", "hidden", note)

    def holds(self) -> None:
        """Wait until each target is scraped once, by the right agent, and see that it stays so.

        Each scrape is counted: one in each interval, by the agent on the node of the target.
        """
        wanted = self.begins()
        begin, counts = time.time(), asked(self.pods)
        end = begin + STEADY_INTERVALS * INTERVAL
        with paused() as late:
            self.arrived(end, wanted)
        # Not only until then: a busy machine may pause for longer.
        assert sorted(self.received(begin, time.time())) == wanted
        assert self.askers(counts) == self.addresses(wanted)
        tries = self.tries(begin, end)
        assert tries.keys() == {each.target for each in wanted}
        assert not odd(tries, max(late))

    def arrived(self, end: float, wanted: Iterable[Scrape]) -> None:
        """Wait until all scrapes until some time have arrived.

        Samples of a target arrive in order: with a later one, none is still on its way.
        """

        def all_later() -> bool:
            return time.time() > end and set(self.received(end, time.time())) >= set(wanted)

        self.home.until("each target again", all_later)

    def askers(self, before: Asked) -> dict[str, set[str]]:
        """Who has asked for each instance since then."""
        found: dict[str, set[str]] = {}
        for instance, askers in asked(self.pods).items():
            for who, count in askers.items():
                if count > before.get(instance, {}).get(who, 0):
                    found.setdefault(instance, set()).add(who)
        return found

    def addresses(self, scrapes: Iterable[Scrape]) -> dict[str, set[str]]:
        """By which addresses the agents that exist ask for instances, if they scrape so."""
        agents = {_name(pod): self.pods.address(pod) for pod in pods_of(self.home)}
        found: dict[str, set[str]] = {}
        for each in scrapes:
            found.setdefault(each.target.instance, set()).add(agents[each.agent])
        return found


def _scrape(labels: Mapping[str, str]) -> Scrape:
    target = Target(labels["namespace"], labels["job"], labels["instance"])
    return Scrape(target, labels["prometheus_replica"])


def odd(tries: Tries, late: float) -> dict[Target, list[float]]:
    """The targets that were not scraped once in each interval, with the times between scrapes."""
    between = {
        target: [later.time - sooner.time for sooner, later in pairwise(every)]
        for target, every in tries.items()
    }
    least, most = INTERVAL / 2, INTERVAL * 1.5
    return {
        target: times
        for target, times in between.items()
        if len(times) < STEADY_INTERVALS - 2
        or min(times) < least - late
        or max(times) > most + late
    }


def pods_of(world: World) -> list[Object]:
    """The pods of a namespace that are there to stay."""
    return [each for each in world.list("pods") if "deletionTimestamp" not in each["metadata"]]


def node_of(pod: Object) -> str:
    """Where a pod is."""
    return str(pod["spec"]["nodeName"])


def _name(pod: Object) -> str:
    return str(pod["metadata"]["name"])


def _owner(pod: Object) -> str:
    return str(pod["metadata"]["ownerReferences"][0]["kind"])


def _app(pod: Object) -> str:
    return str(pod["metadata"]["labels"]["app"])


def team_pod(app: str, number: int, node: str) -> Object:
    """A pod of a team."""
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
        _service("hidden", "plain", "web"),
    ]


def _slice(pods: list[Object]) -> Object:
    """The endpoints of the Service without a selector, made by hand: nothing but node and port."""
    endpoints = [
        {"addresses": [each["status"]["podIP"]], "nodeName": node_of(each)} for each in pods
    ]
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
    made = [plain_monitor(plain_port), _service_monitor("twin", {}, *_ports("web", "admin"))]
    for name, namespaces in everywhere.get(namespace, {}).items():
        made.append(_service_monitor(name, namespaces, *_ports("web")))
    if namespace == "blue":
        # A port of the containers that the Service does not name.
        made.append(_service_monitor("hidden", {}, {"targetPort": "admin"}))
    return made


def _ports(*names: str) -> list[Object]:
    return [{"port": name} for name in names]


def plain_monitor(port: str) -> Object:
    """The PodMonitor of a team."""
    spec = {
        "selector": {"matchLabels": {"app": "plain"}},
        "podMetricsEndpoints": [{"port": port}],
    }
    return resource("PodMonitor", "plain", spec)


def _service_monitor(name: str, namespaces: Object, *endpoints: Object) -> Object:
    spec = {
        "selector": {"matchLabels": {"monitor": name}},
        "namespaceSelector": namespaces,
        "endpoints": list(endpoints),
    }
    return resource("ServiceMonitor", name, spec)


def agents(mode: str = "DaemonSet", **spec: Any) -> Object:
    """The agents; ServiceMonitors are by EndpointSlices in both modes, as some Services need it."""
    return node_agent(
        "main",
        mode=mode,
        podMonitorNamespaceSelector={},
        serviceMonitorNamespaceSelector={},
        serviceDiscoveryRole="EndpointSlice",
        scrapeInterval=f"{INTERVAL}s",
        scrapeTimeout="1s",
        tolerations=[{"operator": "Exists"}],
        podMetadata={"annotations": {READINESS: "told"}},
        remoteWrite=[
            {
                "url": f"http://{NOBODY}:{RECEIVER}/api/v1/write",
                "queueConfig": {"batchSendDeadline": "500ms"},
            }
        ],
        **spec,
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


@contextmanager
def paused() -> Iterator[list[float]]:
    """By how much this process woke too late each time: then nobody else was on time either."""
    late = [0.0]

    def watch(ended: threading.Event) -> None:
        before = time.monotonic()
        while not ended.wait(TICK):
            now = time.monotonic()
            late.append(now - before - TICK)
            before = now

    with beside(watch):
        yield late


@contextmanager
def open_stage(directory: Path) -> Iterator[Stage]:
    """A cluster of its own, as nodes come and go; nothing on it but an exporter and a receiver."""
    with ExitStack() as stack:
        cluster = stack.enter_context(cluster_with_crds(nodes=0, namespaces=True))
        for name in NODES:
            cluster.add_node(name)
        _taint(cluster, TAINTED)
        for name in (HOME, *TEAMS):
            cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        allow_discovery(cluster, HOME)
        stack.enter_context(exporter(cluster))
        stack.enter_context(receiver(cluster, directory / "receiver"))
        yield Stage(cluster, stack.enter_context(PodRunner(cluster)))


def _taint(cluster: Cluster, node: str) -> None:
    taint = {"key": "special", "value": "yes", "effect": "NoSchedule"}
    patch, kind = {"spec": {"taints": [taint]}}, "application/merge-patch+json"
    cluster.api.request("PATCH", f"/api/v1/nodes/{node}", patch, content_type=kind)
