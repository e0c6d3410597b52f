"""What the operator knows is as new as what it did: late news, lagging servers, kinds out of sight.

Between the operator and the API server stands a gateway that holds back watches of some kinds.
"""

from __future__ import annotations

import itertools
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus

import pytest
from aiohttp import web

from tests.builders import prometheus, service_monitor, stored_secret
from tests.live.faults import Gateway, Wire, status
from tests.live.operating import Object, Running, World
from tests.live.test_operator_faults import configuration, put_scrape_config, scraped
from tools.audit import Write
from tools.cluster import Cluster

# Of a Secret in motion: a minute of them, if the machine is idle.
MOST_CHANGES = 900


@pytest.fixture
def gateway(crds: Cluster) -> Iterator[Gateway]:
    """A way to the API server on which news can be held back."""
    with Gateway(crds) as gateway:
        yield gateway


@pytest.fixture
def operator(world: World, gateway: Gateway) -> Iterator[Running]:
    """An operator behind the gateway."""
    flag = f"--namespaces={world.namespace}"
    with Running.start(world.cluster, flag, kubeconfig=gateway.kubeconfig) as running:
        yield running


def made(writes: tuple[Write, ...]) -> list[str]:
    """What was made or changed of a workload; monitors may say that it is gone."""
    done = (each for each in writes if each.verb != "delete" and each.status < 300)
    return [str(each) for each in done if each.resource != "servicemonitors"]


def reconciled(world: World, name: str = "main") -> Callable[[], bool]:
    """Whether a Prometheus is as it should be."""
    return lambda: world.condition("prometheus", name, "Reconciled")["status"] == "True"


def test_nothing_is_made_for_a_workload_that_is_gone(
    world: World, gateway: Gateway, operator: Running
) -> None:
    """Its deletion is late, and the garbage collector's are not; then it comes as another one.

    Nothing is made with the uid of the first, and the second has all that it should have.
    """
    world.put(prometheus("main", replicas=0), service_monitor("a"))
    world.until("all of it", reconciled(world))
    world.until_still()
    gateway.held = frozenset({"prometheuses"})
    mark = world.cluster.audit.mark()
    first = (world.get("prometheus", "main") or {})["metadata"]["uid"]
    world.delete("prometheus", "main")
    for kind in ("statefulset", "secret", "configmap"):
        world.until(f"no {kind}", lambda: not named(world, kind))  # noqa: B023 - at once
    world.until("a question", lambda: "and the news has not come yet" in operator.log())
    world.put(prometheus("main", replicas=0))
    world.until_still()
    assert made(world.writes(mark)) == []

    gateway.held = frozenset()
    world.until("the second", reconciled(world))
    world.until("its configuration", scraped(world, "a"))
    assert first not in str([world.list(kind) for kind in ("secret", "configmap", "statefulset")])


def named(world: World, kind: str) -> list[Object]:
    """The objects that belong to a Prometheus."""
    return [each for each in world.list(kind) if each["metadata"]["name"].startswith("prometheus-")]


def test_what_was_just_made_and_is_not_wanted_goes(
    world: World, gateway: Gateway, operator: Running
) -> None:
    """The watch does not show a shard yet, nor what became of it, when it is too many."""
    world.put(prometheus("main", replicas=0))
    world.until("all of it", reconciled(world))
    gateway.held = frozenset({"statefulsets", "secrets"})
    mark = world.cluster.audit.mark()
    shard = partial(world.get, "statefulset", "prometheus-main-shard-1")
    world.patch("prometheus", "main", {"spec": {"shards": 2}})
    world.until("two shards", shard)
    world.patch("prometheus", "main", {"spec": {"shards": 1}})
    world.until("one shard", lambda: not shard())
    world.put(service_monitor("late"))
    world.until("more work", scraped(world, "late"))
    gateway.held = frozenset()
    world.until_still()
    done = [each for each in world.writes(mark) if each.status < HTTPStatus.BAD_REQUEST]
    deleted = [each.name for each in done if each.verb == "delete"]
    assert deleted == ["prometheus-main-shard-1"]


def test_nothing_is_said_twice_while_the_watch_is_late(
    world: World, gateway: Gateway, operator: Running
) -> None:
    """Statuses and bindings are compared with what was written, and not with an old state."""
    world.put(prometheus("main", replicas=0), service_monitor("a"))
    world.until("all of it", reconciled(world))
    world.until_still()
    gateway.held = frozenset({"prometheuses", "servicemonitors"})
    mark = world.cluster.audit.mark()
    world.patch("secret", "prometheus-main", {"metadata": {"labels": {"a": "b"}}})
    world.delete("statefulset", "prometheus-main")
    world.until("it again", partial(world.get, "statefulset", "prometheus-main"))
    world.until_still()
    for each in ("statuses", "bindings"):
        said = [one for one in world.writes(mark) if one.subresource == "status"]
        assert len(said) <= 2, (each, said)
    gateway.held = frozenset()


def test_a_definition_that_is_missing_at_a_start_empties_nothing(open_cluster: Cluster) -> None:
    """What was made of its resources stays, the condition and `/readyz` say why, until it is back.

    A workload that has nothing of it goes on.
    """
    cluster = open_cluster
    cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "missing"}})
    world = World(cluster, "missing")
    flag = "--namespaces=missing"
    nothing = prometheus("nothing", replicas=0)
    del nothing["spec"]["scrapeConfigSelector"]
    world.put(prometheus("main", replicas=0), nothing, service_monitor("a"))
    world.cluster.until("a ScrapeConfig", lambda: put_scrape_config(world))
    with Running.start(cluster, flag):
        world.until("its job", lambda: "scrapeConfig/missing/new" in configuration(world))

    def lost(request: web.Request) -> web.Response | None:
        away = request.path.endswith("/scrapeconfigs")
        return web.Response(status=404, text="404 page not found\n") if away else None

    with Gateway(cluster) as gateway:
        gateway.fault = lost
        config = gateway.kubeconfig
        with Running.start(cluster, flag, kubeconfig=config, ready=False) as operator:
            condition = partial(world.condition, "prometheus", "main", "Reconciled")
            world.until("a word", lambda: condition()["reason"] == "NotInstalled")
            world.put(service_monitor("b"))
            world.until(
                "the other", lambda: "missing/b/" in configuration(world, "prometheus-nothing")
            )
            assert "scrapeConfig/missing/new" in configuration(world)
            assert not operator.is_ready()
            gateway.fault = lambda _request: None
            world.until("what is new", lambda: "missing/b/" in configuration(world))
            assert "scrapeConfig/missing/new" in configuration(world)
            world.until("readiness", operator.is_ready)


def test_labels_of_namespaces_out_of_sight_empty_nothing(
    world: World, gateway: Gateway, crds: Cluster
) -> None:
    """A workload that looks in namespaces by their labels keeps what it has, and says so."""
    labels = {"metadata": {"labels": {"team": "a"}}}
    path = f"/api/v1/namespaces/{world.namespace}"
    crds.api.request("PATCH", path, labels, content_type="application/merge-patch+json")
    selector = {"matchLabels": {"team": "a"}}
    flag = f"--namespaces={world.namespace}"
    world.put(
        prometheus("main", replicas=0, serviceMonitorNamespaceSelector=selector),
        service_monitor("a"),
    )
    with Running.start(crds, flag):
        world.until("a job", scraped(world, "a"))

    def forbidden(request: web.Request) -> web.Response | None:
        away = request.path in ("/api/v1/namespaces", path)
        return status(403, "Forbidden") if away else None

    gateway.fault = forbidden
    with Running.start(crds, flag, kubeconfig=gateway.kubeconfig, ready=False) as operator:
        condition = partial(world.condition, "prometheus", "main", "Reconciled")
        world.until("a word", lambda: "namespaces: what was made" in condition()["message"])
        assert scraped(world, "a")()
        assert not operator.is_ready()
        gateway.fault = lambda _request: None
        world.until("sight", reconciled(world))
        assert scraped(world, "a")()


def test_a_list_that_is_older_than_what_was_seen_is_not_believed(
    world: World, gateway: Gateway
) -> None:
    """A server that is behind says that there is nothing; it is asked again until it knows more."""
    behind = threading.Event()

    def fault(request: web.Request) -> web.Response | None:
        if not request.path.endswith("/servicemonitors") or not behind.is_set():
            return None
        if "watch" in request.query:
            streamed = "sendInitialEvents" in request.query
            return status(422, "Invalid") if streamed else status(410, "Expired")
        old = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitorList"}
        return web.json_response(old | {"metadata": {"resourceVersion": "2"}, "items": []})

    gateway.fault = fault
    flag = f"--namespaces={world.namespace}"
    with (
        Wire(world.cluster, gateway.url) as wire,
        Running.start(world.cluster, flag, kubeconfig=wire.kubeconfig) as operator,
    ):
        world.put(prometheus("main", replicas=0), service_monitor("a"))
        world.until("a job", scraped(world, "a"))
        behind.set()
        wire.cut()
        world.until("a doubt", lambda: "was seen before" in operator.log())
        assert scraped(world, "a")()
        behind.clear()
        world.put(service_monitor("b"))
        world.until("all is well", scraped(world, "a", "b"))


def test_a_secret_in_motion_delays_itself_alone(
    world: World, gateway: Gateway, operator: Running
) -> None:
    """It changes faster than it is read, and a new monitor of the same workload does not wait."""

    def slow(request: web.Request) -> float | None:
        return 0.15 if request.path.endswith("/secrets/hot") else None

    gateway.fault = slow
    credentials = {"credentials": {"name": "hot", "key": "token"}}
    world.put(
        stored_secret("hot", {"token": "0"}),
        prometheus("main", replicas=0),
        service_monitor("a", authorization=credentials),
    )
    world.until("a job", scraped(world, "a"))
    stop = threading.Event()

    def move() -> None:
        for number in itertools.count():
            if stop.wait(1 / 15) or number > MOST_CHANGES:
                return
            world.patch("secret", "hot", {"stringData": {"token": str(number)}})

    moving = threading.Thread(target=move)
    moving.start()
    try:
        world.until("motion", lambda: 'credentials: "1' in configuration(world))
        begun = time.monotonic()
        world.put(service_monitor("b"))
        world.until("a new monitor", scraped(world, "a", "b"))
        print(f"a new monitor beside a Secret in motion: {time.monotonic() - begun:.1f} s")
        assert moving.is_alive()
    finally:
        stop.set()
        moving.join()
    last = (world.get("secret", "hot") or {})["data"]["token"]
    world.until("rest", lambda: b64decode(last).decode() in configuration(world))
