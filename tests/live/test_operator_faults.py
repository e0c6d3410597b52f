"""Whatever happens to the connection or the API server: soon after, all is as it should be.

Between the operator and the API server stand a wire, which can be cut, held or refused, and a
gateway, which can answer wrongly. Tests change the cluster directly, beside them.
"""

from __future__ import annotations

import gzip
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest
from aiohttp import web

from stoker.kube.report import BLIND_SECONDS
from tests.builders import agent, prometheus, service_monitor, stored_secret
from tests.live.faults import (
    Fault,
    Gateway,
    SecondServer,
    Wire,
    failing,
    silent_watches,
    status,
)
from tests.live.operating import Object, Running, World
from tools.cluster import Cluster

# Promised is 10 s after a fault ends; a machine with many other things to do takes longer.
SECONDS = 10.0 * 6
SILENT_SECONDS = 5.0


def no_fault(_request: web.Request) -> None:
    """Let everything pass."""


class Line:
    """The way of an operator to the API server, and what can happen to it."""

    def __init__(self, gateway: Gateway, wire: Wire) -> None:
        self._gateway = gateway
        self.wire = wire

    def faulty(self, fault: Fault) -> None:
        """Answer so from now on; what was open is cut, so that it is asked for anew."""
        self._gateway.fault = fault
        self.wire.cut()

    def silence(self, plural: str) -> None:
        """Let nothing come from watches of a resource, from now on."""
        self._gateway.slow = silent_watches(plural)
        self.wire.cut()

    def well(self) -> None:
        """No more faults."""
        self._gateway.fault = no_fault
        self._gateway.slow = no_fault


@pytest.fixture
def line(crds: Cluster) -> Iterator[Line]:
    """A way to the API server that can be harmed."""
    with Gateway(crds) as gateway, Wire(crds, gateway.url) as wire:
        yield Line(gateway, wire)


def configuration(world: World, secret: str = "prometheus-main") -> str:  # noqa: S107 - a name
    """The configuration of a workload."""
    found = world.get("secret", secret) or {"data": {}}
    return gzip.decompress(b64decode(found["data"]["prometheus.yaml.gz"])).decode()


def converged(world: World, what: str, condition: Callable[[], object]) -> None:
    """Wait for what must be true soon after a fault has ended, and tell how soon it was."""
    begun = time.monotonic()
    world.until(what, condition, SECONDS)
    print(f"{what}: {time.monotonic() - begun:.1f} s after the fault")


def scraped(world: World, *names: str) -> Callable[[], bool]:
    """Whether exactly these ServiceMonitors are in the configuration."""
    jobs = {f"serviceMonitor/{world.namespace}/{name}/0" for name in names}

    def are() -> bool:
        text = configuration(world)
        return {part for part in text.split() if part.startswith("serviceMonitor/")} == jobs

    return are


def test_broken_and_silent_connections_cost_nothing_but_time(world: World, line: Line) -> None:
    """No server at the start, broken watches, deletions meanwhile, 410, silence, failing requests.

    Not even a StatefulSet or a configuration that was deleted while nobody watched is missed.
    """
    line.wire.refuse()
    flags = f"--namespaces={world.namespace}"
    config = line.wire.kubeconfig
    with Running.start(world.cluster, flags, kubeconfig=config, ready=False) as operator:
        assert "up" in operator.page("/healthz")
        assert not operator.is_ready()
        world.put(prometheus("main"), service_monitor("a"))
        line.wire.accept()
        converged(world, "a start without a server", scraped(world, "a"))
        world.settled("prometheus", "main")
        world.until("readiness", operator.is_ready)

        line.wire.refuse()
        world.put(service_monitor("b"))
        world.delete("servicemonitor", "a")
        world.delete("statefulset", "prometheus-main")
        world.delete("secret", "prometheus-main")
        line.wire.accept()
        converged(world, "broken watches", scraped(world, "b"))
        converged(
            world, "a deleted StatefulSet", lambda: world.get("statefulset", "prometheus-main")
        )

        line.wire.hold()
        world.put(service_monitor("c"))
        time.sleep(SILENT_SECONDS)
        line.wire.release()
        converged(world, "silence", scraped(world, "b", "c"))

        def forgetful(request: web.Request) -> web.Response | None:
            """A server that has forgotten every version."""
            old = request.query.get("resourceVersion")
            return status(410, "Expired") if old and "watch" in request.query else None

        line.faulty(forgetful)
        world.put(service_monitor("d"))
        converged(world, "410", scraped(world, "b", "c", "d"))
        line.well()

        line.faulty(failing(0.2))
        names = [f"many-{number}" for number in range(5)]
        world.put(*map(service_monitor, names), prometheus("second"), agent("light"))
        world.delete("servicemonitor", "b")
        line.well()
        converged(world, "failing requests", scraped(world, "c", "d", *names))
        for workload in ("prometheus/main", "prometheus/second", "prometheusagent/light"):
            converged(world, workload, partial(available, world, workload))
        converged(world, "bindings", lambda: len(world.bindings("servicemonitor", "many-4")) == 3)
        assert operator.stop() == 0


def available(world: World, workload: str) -> bool:
    """Whether a workload has all it asks for, and says so."""
    kind, name = workload.split("/")
    conditions = [world.condition(kind, name, each) for each in ("Available", "Reconciled")]
    return all(each["status"] == "True" for each in conditions)


def test_what_comes_late_is_noticed(
    world: World, line: Line, new_namespace: Callable[[], str]
) -> None:
    """A Secret after what refers to it; the labels of a namespace after the monitors in it.

    The namespaces that the operator is told of need not exist either (peer scenario: Namespace Not
    Found).
    """
    late = World(world.cluster, f"{world.namespace}-late")
    with ExitStack() as stack:
        flags = f"--namespaces={world.namespace},{late.namespace}"
        operator = Running.start(world.cluster, flags, kubeconfig=line.wire.kubeconfig)
        stack.enter_context(operator)
        selector = {"matchLabels": {"team": "late"}}
        credentials = {"credentials": {"name": "token", "key": "token"}}
        world.put(
            prometheus("main", serviceMonitorNamespaceSelector=selector),
            prometheus("own"),
            service_monitor("private", authorization=credentials),
        )
        world.until(
            "a rejection",
            lambda: rejected(world, "private")["message"].endswith(f"{world.namespace}/token"),
        )
        world.put(stored_secret("token", {"token": "my token"}))
        converged(
            world, "a late Secret", lambda: "private" in configuration(world, "prometheus-own")
        )

        line.faulty(lambda request: refused(request, "/api/v1/namespaces"))
        world.cluster.api.request(
            "POST",
            "/api/v1/namespaces",
            {"metadata": {"name": late.namespace, "labels": {"team": "late"}}},
        )
        stack.callback(world.cluster.api.request, "DELETE", f"/api/v1/namespaces/{late.namespace}")
        seen = operator.metric("prometheus_operator_watch_operations_failed_total")
        late.put(service_monitor("shop"))
        world.until(
            "a failing watch",
            lambda: operator.metric("prometheus_operator_watch_operations_failed_total") > seen,
        )
        line.well()
        converged(
            world,
            "labels of a namespace",
            lambda: f"serviceMonitor/{late.namespace}/shop/0" in configuration(world),
        )


def refused(request: web.Request, path: str) -> web.Response | None:
    """An answer of a server that cannot serve one path."""
    return status(503, "ServiceUnavailable") if request.path == path else None


def rejected(world: World, monitor: str) -> Object:
    """What a workload has against a ServiceMonitor."""
    found = world.bindings("servicemonitor", monitor)["prometheuses/own"]
    assert found["status"] == "False"
    return found


def test_a_server_that_restarts_and_definitions_that_come_late(open_cluster: Cluster) -> None:
    """The API server is killed and comes back; a kind whose definition is missing is waited for.

    (peer scenario: Prom Operator Starts Without Scrape Config CRD) Without one of the optional
    definitions the operator is ready all the same: no restart would help.
    """
    cluster = open_cluster
    cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "restarts"}})
    world = World(cluster, "restarts")
    with SecondServer(cluster) as second, without(cluster, "scrapeconfigs") as install:
        flags = "--namespaces=restarts"
        with Running.start(cluster, flags, kubeconfig=second.kubeconfig) as operator:
            world.put(prometheus("main"), service_monitor("a"))
            world.until("a configuration", scraped(world, "a"))
            world.until("a word", lambda: "cannot list scrapeconfigs" in operator.log())
            install()
            cluster.until("a definition that is served", lambda: put_scrape_config(world))
            world.until("a new kind", lambda: "scrapeConfig/restarts/new" in configuration(world))

            second.kill()
            world.put(service_monitor("b"))
            world.delete("statefulset", "prometheus-main")
            second.start()
            converged(world, "a restart of the server", scraped(world, "a", "b"))
            converged(world, "a StatefulSet", lambda: world.get("statefulset", "prometheus-main"))
            world.until("readiness", operator.is_ready)


@contextmanager
def without(cluster: Cluster, plural: str) -> Iterator[Callable[[], None]]:
    """Take a definition away; it is installed again by what is given, or at the end."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    name = f"{plural}.monitoring.coreos.com"
    known = cluster.api.get(f"{path}/{name}")
    cluster.kubectl("delete", "crd", name)
    metadata = {"name": name, "annotations": known["metadata"].get("annotations")}
    made = {"metadata": metadata, "spec": known["spec"]}

    def install() -> None:
        if name not in {each["metadata"]["name"] for each in cluster.api.get(path)["items"]}:
            cluster.api.request("POST", path, made)

    try:
        yield install
    finally:
        # Others use this cluster too, whatever becomes of this test.
        install()


def put_scrape_config(world: World) -> bool:
    """Create one; each server takes its time until it serves a new definition."""
    made = {
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": "ScrapeConfig",
        "metadata": {"name": "new"},
        "spec": {"staticConfigs": [{"targets": ["shop:80"]}]},
    }
    world.cluster.api.request(
        "POST",
        f"/apis/monitoring.coreos.com/v1alpha1/namespaces/{world.namespace}/scrapeconfigs",
        made,
    )
    return True


def test_a_status_that_is_not_served_for_a_while_is_written_then(world: World, line: Line) -> None:
    """One of several servers may know a definition later than the others."""

    def unknown(request: web.Request) -> web.Response | None:
        lost = request.path.endswith("/status")
        return web.Response(status=404, text="404 page not found\n") if lost else None

    flag = f"--namespaces={world.namespace}"
    with Running.start(world.cluster, flag, kubeconfig=line.wire.kubeconfig):
        line.faulty(unknown)
        # Without pods nothing that happens to them has the status looked at again.
        world.put(prometheus("main", replicas=0))
        world.until("its pods", lambda: world.get("statefulset", "prometheus-main"))
        world.until_still()
        time.sleep(SILENT_SECONDS)
        assert not world.condition("prometheus", "main", "Reconciled")
        line.well()
        converged(world, "status", lambda: world.condition("prometheus", "main", "Reconciled"))


UNWATCHED = ("secrets", "configmaps", "statefulsets", "services")


def test_what_is_made_and_deleted_while_nobody_watches_comes_back(
    world: World, line: Line, crds: Cluster
) -> None:
    """The list that tells that it is gone names nothing that the caches ever had."""
    made = {
        "secret": "prometheus-main",
        "configmap": "prometheus-main-rulefiles-0",
        "statefulset": "prometheus-main",
    }
    with Running.start(crds, f"--namespaces={world.namespace}", kubeconfig=line.wire.kubeconfig):
        # The watches stand where they stood: they fail, and do not list anew.
        line.faulty(watches(503, "ServiceUnavailable"))
        world.put(prometheus("main", replicas=0))
        for kind, name in made.items():
            world.until(f"the {kind}", partial(world.get, kind, name))
        world.until(
            "all of it", lambda: world.condition("prometheus", "main", "Reconciled").get("status")
        )
        for kind, name in made.items():
            world.delete(kind, name)
            world.until(f"no {kind}", lambda: not world.get(kind, name))  # noqa: B023 - at once
        line.faulty(watches(410, "Expired", most=2 * len(UNWATCHED)))
        for kind, name in made.items():
            converged(world, f"the {kind} again", partial(world.get, kind, name))


def watches(code: int, reason: str, most: int = 10**9) -> Fault:
    """A server that answers watches of what the operator makes so, so many times."""
    left = most

    def fault(request: web.Request) -> web.Response | None:
        nonlocal left
        plural = request.path.rpartition("/")[2]
        if plural not in UNWATCHED or "resourceVersion" not in request.query:
            return None
        if "watch" not in request.query or "sendInitialEvents" in request.query or left <= 0:
            return None
        left -= 1
        return status(code, reason)

    return fault


def test_one_watch_that_falls_silent_is_told_of_and_replaced(world: World, line: Line) -> None:
    """While the others go on: the replica is not ready, says why, and then misses nothing."""
    flags = f"--namespaces={world.namespace}"
    config = line.wire.kubeconfig
    silence = "prometheus_operator_watch_silence_seconds"
    with Running.start(world.cluster, flags, kubeconfig=config) as operator:
        world.put(prometheus("main"), service_monitor("a"))
        world.until("a monitor", scraped(world, "a"))
        line.silence("servicemonitors")
        world.put(service_monitor("b"))
        world.delete("servicemonitor", "a")
        world.until("it to be told", lambda: not operator.is_ready())
        why = operator.why_not_ready()
        assert why.count(f" in namespace {world.namespace}") == 1
        assert "servicemonitors" in why
        assert operator.metric(silence, controller="prometheus") > BLIND_SECONDS
        world.put(prometheus("main", replicas=2))
        sets = partial(world.get, "statefulset", "prometheus-main")
        world.until("the others to go on", lambda: (sets() or {})["spec"]["replicas"] == 2)
        assert scraped(world, "a")()

        line.well()
        converged(world, "a silent watch", scraped(world, "b"))
        world.until("readiness", operator.is_ready)
        assert operator.metric(silence, controller="prometheus") < BLIND_SECONDS


def test_what_the_server_calls_a_conflict_is_looked_at_again(
    world: World, line: Line, crds: Cluster
) -> None:
    """A binding is written and removed, and a shard deleted, though the first try was refused."""
    refused: set[tuple[str, str]] = set()

    def fault(request: web.Request) -> web.Response | None:
        about = (request.method, request.content_type)
        asked = request.path.endswith("/servicemonitors/shop/status")
        if about in refused or not (asked or request.method == "DELETE"):
            return None
        refused.add(about)
        return status(409, "Conflict")

    line.faulty(fault)
    with Running.start(crds, f"--namespaces={world.namespace}", kubeconfig=line.wire.kubeconfig):
        world.put(prometheus("main", replicas=0, shards=2), service_monitor("shop"))
        world.until("a binding", lambda: world.bindings("servicemonitor", "shop"))
        shard = partial(world.get, "statefulset", "prometheus-main-shard-1")
        world.until("two shards", shard)
        world.patch("prometheus", "main", {"spec": {"shards": 1}})
        world.until("one shard", lambda: not shard())
        world.delete("prometheus", "main")
        world.until("no binding", lambda: not world.bindings("servicemonitor", "shop"))
    assert {method for method, _ in refused} == {"PATCH", "DELETE"}
    assert len(refused) == 3
