"""A start beside answers that are slow: to everybody, or to one namespace alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from aiohttp import web

from tests.builders import prometheus, service_monitor, stored_secret
from tests.live.faults import Fault, Gateway
from tests.live.operating import Object, Running, World
from tests.live.test_operator_faults import configuration
from tools.cluster import Cluster

EVERYWHERE: Object = {"serviceMonitorNamespaceSelector": {}}
# As long as such an answer may take before it counts as none.
NEVER_SECONDS = 25.0
# As long as no start would wait that counted seconds.
LATE_SECONDS = 7.0
TOKENS = 6
TOKEN: Object = {"token": "dG9rZW4="}
LATE = "prometheus_operator_late_reads"


@pytest.fixture
def gateway(crds: Cluster) -> Iterator[Gateway]:
    """A way to the API server on which answers can be late."""
    with Gateway(crds) as gateway:
        yield gateway


def furnish(world: World) -> set[str]:
    """Monitors that each need a Secret of its own; the names of their jobs."""
    names = [f"app-{number}" for number in range(TOKENS)]
    for name in names:
        world.put(stored_secret(name, {"token": "token"}))
        token = {"name": name, "key": "token"}
        world.put(service_monitor(name, bearerTokenSecret=token))
    return {f"serviceMonitor/{world.namespace}/{name}/0" for name in names}


def jobs(world: World) -> set[str]:
    """The jobs in the configuration."""
    if world.get("secret", "prometheus-main") is None:
        return set()
    return {part for part in configuration(world).split() if part.startswith("serviceMonitor/")}


def slow_to_everybody(request: web.Request) -> float | None:
    """Every read of a Secret is late, whoever has it."""
    is_one = request.method == "GET" and "/secrets/" in request.path
    return LATE_SECONDS if is_one else None


def slow_to(namespace: str) -> Fault:
    """The Secrets of one namespace are not answered for."""

    def fault(request: web.Request) -> float | None:
        theirs = f"/namespaces/{namespace}/secrets/"
        return NEVER_SECONDS if request.method == "GET" and theirs in request.path else None

    return fault


def test_a_start_that_is_slow_to_everybody_leaves_nothing_out(
    world: World, gateway: Gateway
) -> None:
    """Not for a moment: the configuration is written once, for what really changed."""
    world.put(prometheus("main"))
    wanted = furnish(world)
    flags = (f"--namespaces={world.namespace}",)
    with Running.start(world.cluster, *flags):
        world.until("all jobs", lambda: jobs(world) == wanted)
        mark = world.until_still()
    world.put(service_monitor("late"))
    wanted |= {f"serviceMonitor/{world.namespace}/late/0"}
    gateway.fault = slow_to_everybody
    with Running.start(world.cluster, *flags, kubeconfig=gateway.kubeconfig):
        world.until("the job that came meanwhile", lambda: len(jobs(world)) != TOKENS, 200)
        assert jobs(world) == wanted
        gateway.fault = lambda _request: None
        world.until_still()
    written = [(each.resource, each.name) for each in world.writes(mark)]
    assert written.count(("secrets", "prometheus-main")) == 1


def test_who_has_slow_secrets_holds_up_nobody_at_a_start(
    world: World, new_namespace: Callable[[], str], gateway: Gateway
) -> None:
    """The others are served while his are being read, and his jobs come when they are."""
    world.put(prometheus("main", **EVERYWHERE))
    other = World(world.cluster, new_namespace())
    honest, slow = furnish(world), furnish(other)
    flags = (f"--namespaces={world.namespace},{other.namespace}",)
    gateway.fault = slow_to(other.namespace)
    with Running.start(world.cluster, *flags, kubeconfig=gateway.kubeconfig) as operator:
        world.until("the honest jobs", lambda: honest <= jobs(world))
        assert operator.metric(LATE) == TOKENS
        assert jobs(world) == honest
        world.until("the slow jobs", lambda: jobs(world) == honest | slow)
        world.until("nothing to be late", lambda: operator.metric(LATE) == 0)
