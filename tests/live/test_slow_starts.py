"""A start: how little it asks for, and that it waits for slow answers where it should."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from http import HTTPStatus

import pytest
from aiohttp import web

from stoker.kube.resources import Target
from tests.builders import prometheus, service_monitor, stored_secret
from tests.live.faults import Fault, Gateway
from tests.live.hostile import rule
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
RECONCILED = "prometheus_operator_reconcile_operations_total"
WORKLOADS = [f"w{number}" for number in range(4)]
POD_LISTS = ("list", "pods")
# Of each: its configuration, files for TLS, for its web server and for Thanos, rules, and pods.
OBJECTS = {"secrets": 4, "configmaps": 1, "statefulsets.apps": 1}


@pytest.fixture
def gateway(crds: Cluster) -> Iterator[Gateway]:
    """A way to the API server on which requests are seen, and answers can be late."""
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


# --- How much is asked for ------------------------------------------------------------------------


class Asked:
    """What was asked for through a gateway about single objects of a namespace, and about pods."""

    def __init__(self, gateway: Gateway, world: World) -> None:
        self.requests: Counter[str] = Counter()
        self._namespace = world.namespace
        gateway.done = self._note

    def of(self, verb: str) -> Counter[str]:
        """The requests of a verb, by resource."""
        start = f"{verb} "
        found = {
            each.removeprefix(start): number
            for each, number in self.requests.items()
            if each.startswith(start)
        }
        return Counter(found)

    def _note(self, request: web.Request, _status: int) -> None:
        target = Target.of(request.path)
        verb, named = target.verb(request.method, request.query), target.name
        if "metadata.name" in request.query.get("fieldSelector", ""):
            named = "as a list of one"
        # What is left are lists and watches for the caches.
        if target.namespace == self._namespace and (named or (verb, target.plural) == POD_LISTS):
            dry = "dry-run:" if "dryRun" in request.query else ""
            self.requests[f"{dry}{verb} {target.resource}"] += 1


def put_workloads(world: World, monitors: int) -> None:
    """Put workloads that select so many monitors each; one of them selects a rule."""
    for name in WORKLOADS:
        mine: Object = {"matchLabels": {"of": name}}
        rules: Object = {"ruleSelector": {} if name == WORKLOADS[0] else mine}
        world.put(prometheus(name, serviceMonitorSelector=mine, **rules))
        for number in range(monitors):
            world.put(monitor_of(name, f"{name}-{number}"))
    world.put(rule("alerts", "vector(1)"))


def monitor_of(workload: str, name: str) -> Object:
    """A monitor that one workload selects."""
    made = service_monitor(name)
    return made | {"metadata": made["metadata"] | {"labels": {"of": workload}}}


def of_each() -> Counter[str]:
    """The objects of all of these workloads."""
    return Counter({plural: number * len(WORKLOADS) for plural, number in OBJECTS.items()})


def test_a_start_makes_what_is_new_without_looking_for_it(world: World, gateway: Gateway) -> None:
    """One write for each object, of which it is asked whether its workload is still there.

    Only where rules are to be placed it is looked where a leader before may have placed some.
    """
    put_workloads(world, monitors=3)
    asked = Asked(gateway, world)
    flags = (f"--namespaces={world.namespace}",)
    with Running.start(world.cluster, *flags, kubeconfig=gateway.kubeconfig):
        for name in WORKLOADS:
            world.settled("prometheus", name)
    written = {each: number for each, number in asked.of("patch").items() if "/" not in each}
    # They share a Service.
    assert written == of_each() | Counter(services=1)
    assert asked.of("get") == Counter(configmaps=1)
    owners = asked.of("list")["prometheuses.monitoring.coreos.com"]
    # Once for all objects of a second.
    assert len(WORKLOADS) <= owners <= len(WORKLOADS) * sum(OBJECTS.values())
    assert {each.split()[0] for each in asked.requests} == {"patch", "get", "list"}


@pytest.mark.parametrize("monitors", [1, 12])
def test_a_restart_reads_each_object_once(world: World, gateway: Gateway, monitors: int) -> None:
    """Nothing is written or tried, and it is the same however many monitors there are."""
    put_workloads(world, monitors)
    flags = (f"--namespaces={world.namespace}",)
    with Running.start(world.cluster, *flags):
        for name in WORKLOADS:
            world.settled("prometheus", name)
        world.until_still()
    asked = Asked(gateway, world)
    with Running.start(world.cluster, *flags, kubeconfig=gateway.kubeconfig) as operator:
        world.until(
            "all to be reconciled, and looked at",
            lambda: operator.metric(RECONCILED) >= len(WORKLOADS) <= asked.of("list")["pods"],
        )
        # Its binding comes after all that there was to say.
        world.put(monitor_of(WORKLOADS[0], "last"))
        world.until("a binding", lambda: world.bindings("servicemonitor", "last"))
    assert asked.requests.pop("update secrets") == 1
    assert asked.requests.pop("patch servicemonitors.monitoring.coreos.com/status") == 1
    # The pods of each in turn, perhaps once more when its change is through.
    assert asked.requests.pop("list pods") <= 3 * len(WORKLOADS)
    # After the last ConfigMap of rules there may be one more of a leader before.
    read = of_each() + Counter({"services": 1, "configmaps": 1})
    assert asked.requests == {f"get {each}": number for each, number in read.items()}


def test_what_a_start_cannot_see_is_not_overwritten_unseen(world: World) -> None:
    """A set without our label is in no cache: the server says that it is there, and it is read."""
    flags, name = (f"--namespaces={world.namespace}",), "prometheus-main"
    with Running.start(world.cluster, *flags):
        world.put(prometheus("main"))
        before = world.owned(world.settled("prometheus", "main"))
        world.until_still()
    world.patch("statefulset", name, {"metadata": {"labels": {"managed-by": None}}})
    mark = world.cluster.audit.mark()
    with Running.start(world.cluster, *flags):
        world.until("the label", lambda: labels(world, name)["managed-by"])
        world.until_still()
    assert [each["metadata"]["uid"] for each in world.list("statefulset")] == [
        each["metadata"]["uid"] for each in before
    ]
    sets = (each for each in world.writes(mark) if each.resource == "statefulsets")
    written = [each.status for each in sets if not each.dry_run]
    # Refused; then what others had of it is claimed, and it is applied.
    assert written[0] == HTTPStatus.CONFLICT
    assert set(written[1:]) == {HTTPStatus.OK}


def labels(world: World, name: str) -> Object:
    """The labels of a StatefulSet."""
    found: Object = (world.get("statefulset", name) or {})["metadata"]["labels"]
    return found
