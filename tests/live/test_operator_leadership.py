"""Two replicas, one leader; and nothing is written when there is nothing to write.

Replicas act under names of their own, so that the API server's audit log tells who wrote.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.live.operating import Object, Running, World, prometheus, resource, service_monitor
from tests.live.test_operator_bindings import until_still
from tools.audit import Write
from tools.cluster import Cluster

WORKLOADS = 20
RESOURCES = 500
# Nothing in the operator has a timer but the Lease (2 s), the retries of what failed (at most 60 s,
# and nothing fails here) and the renewal of watches (5 to 10 minutes, which only reads). So what is
# silent for some renewals of the Lease is silent for good.
IDLE_SECONDS = 10.0
# A Lease runs out 15 s after its last renewal, which may be 2 s old when its holder dies.
TAKEOVER_SECONDS = 20.0
# What a busy machine may add to a time that was promised for one at rest.
SLACK = 60.0

Replica = Callable[[str], Running]


def as_user(cluster: Cluster, user: str) -> Path:
    """A kubeconfig by which the administrator acts under another name."""
    document = json.loads(cluster.kubeconfig.read_text())
    document["users"][0]["user"] |= {"as": user, "as-groups": ["system:masters"]}
    path = cluster.directory / f"kubeconfig-{user}"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def replica(world: World) -> Iterator[Replica]:
    """Starts replicas that look after the test's namespace, each under the name it is given."""
    with ExitStack() as stack:

        def start(user: str) -> Running:
            path = as_user(world.cluster, f"{user}-{world.namespace}")
            flags = f"--namespaces={world.namespace}"
            return stack.enter_context(Running.start(world.cluster, flags, kubeconfig=path))

        yield start


def leads(operator: Running) -> bool:
    """Whether a replica does the work."""
    return operator.metric("prometheus_operator_ready", controller="prometheus") == 1


def reconciles(operator: Running) -> float:
    """How often a replica has looked at a workload."""
    return operator.metric("prometheus_operator_reconcile_operations_total")


def writes(world: World, mark: int, user: str = "") -> list[Write]:
    """What operators wrote since a mark, but for the Lease: all of them in this namespace."""
    found = world.cluster.audit.since(mark, "stoker")
    name = f"{user}-{world.namespace}"
    return [each for each in found if each.resource != "leases" and each.user.endswith(name)]


def create(world: World, *objects: Object) -> None:
    """Create many objects, faster than kubectl would."""
    for each in objects:
        group = each["apiVersion"]
        start = f"/apis/{group}" if "/" in group else f"/api/{group}"
        plural = {"Prometheus": "prometheuses"}.get(each["kind"], f"{each['kind'].lower()}s")
        path = f"{start}/namespaces/{world.namespace}/{plural}"
        world.cluster.api.request("POST", path, each)


def has_monitors(world: World, workload: str) -> bool:
    """Whether the status of a workload knows that it selects something."""
    condition = world.condition("prometheus", workload, "Reconciled")
    return bool(condition["reason"] == "ReconciliationSucceeded")


def is_quiet(operator: Running) -> bool:
    """Whether nothing waits for a worker and none has work."""
    depth = operator.metric("prometheus_operator_workqueue_depth")
    return depth + operator.metric("prometheus_operator_workqueue_unfinished_work_seconds") == 0


def population() -> Iterator[Object]:
    """Workloads, each with its share of resources of all kinds."""
    for number in range(WORKLOADS):
        chosen = {"matchLabels": {"team": f"team-{number}"}}
        kinds = ("serviceMonitor", "podMonitor", "probe", "scrapeConfig", "rule")
        yield prometheus(f"main-{number}", **{f"{kind}Selector": chosen for kind in kinds})
    for number in range(RESOURCES):
        labels = {"team": f"team-{number % WORKLOADS}"}
        if number % 5:
            made = service_monitor(f"monitor-{number}")
            yield made | {"metadata": made["metadata"] | {"labels": labels}}
        else:
            rule = {"record": "up:sum", "expr": "sum(up)"}
            groups = [{"name": "one", "rules": [rule]}]
            yield resource("PrometheusRule", f"rules-{number}", {"groups": groups}, labels=labels)


def all_bound(world: World) -> bool:
    """Whether each resource says what came of it, and each workload is available and counted."""
    base = "/apis/monitoring.coreos.com/v1/namespaces/" + world.namespace
    get = world.cluster.api.get
    bound = [
        each
        for plural in ("servicemonitors", "prometheusrules")
        for each in get(f"{base}/{plural}")["items"]
        if (each.get("status") or {}).get("bindings")
    ]
    fine = [
        each
        for each in get(f"{base}/prometheuses")["items"]
        for condition in (each.get("status") or {}).get("conditions") or []
        if condition["type"] == "Available" and condition["status"] == "True"
        if each["status"].get("updatedReplicas") == 1
    ]
    # What Kubernetes says of them last, the operator looks at too.
    said = [
        each
        for each in world.list("statefulset")
        if each["status"].get("availableReplicas") == 1 == each["status"].get("updatedReplicas")
    ]
    return len(bound) == RESOURCES and len(fine) == len(said) == WORKLOADS


def test_an_operator_with_nothing_to_do_writes_nothing(world: World, replica: Replica) -> None:
    """Settled, among changes of what nobody refers to, and started again: only the Lease."""
    operator = replica("one")
    create(world, *population())
    world.until("everything to be settled", lambda: all_bound(world) and is_quiet(operator))
    mark = until_still(world)
    before = reconciles(operator)
    begun = time.monotonic()
    for number in range(50):
        metadata = {"name": f"unrelated-{number}"}
        for kind in ("ConfigMap", "Secret"):
            create(world, {"apiVersion": "v1", "kind": kind, "metadata": metadata})
    time.sleep(max(0.0, IDLE_SECONDS - (time.monotonic() - begun)))
    assert writes(world, mark) == []
    assert reconciles(operator) == before
    renewals = [one for one in world.cluster.audit.since(mark, "stoker") if one.status == 200]
    assert any(one.resource == "leases" for one in renewals), "the audit log would have shown it"

    assert operator.stop() == 0
    again = replica("two")
    world.until(
        "all workloads to be looked at",
        lambda: reconciles(again) >= WORKLOADS and is_quiet(again),
    )
    assert writes(world, mark) == []


def test_one_replica_leads_and_another_follows_it(
    world: World, replica: Replica, new_namespace: Callable[[], str]
) -> None:
    """Killed, the leader is replaced; stopped and resumed, it writes nothing; told to go, at once.

    Killed and stopped leaders are watched side by side, as both take as long as a Lease lasts.
    """
    other = World(world.cluster, new_namespace())
    with ExitStack() as stack:
        flags = f"--namespaces={other.namespace}"
        killed = stack.enter_context(Running.start(other.cluster, flags))
        stopped = replica("stopped")
        world.until("leaders", lambda: leads(killed) and leads(stopped))
        heir = stack.enter_context(Running.start(other.cluster, flags))
        resting = replica("resting")
        assert not leads(heir)
        assert not leads(resting)
        world.put(prometheus("main"))
        world.until("objects", lambda: world.get("statefulset", "prometheus-main"))
        before = reconciles(stopped)

        killed.kill()
        stopped.process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        limit = TAKEOVER_SECONDS + SLACK
        world.until("new leaders", lambda: leads(heir) and leads(resting), limit)
        print(f"taken over after {time.monotonic() - begun:.1f} s")

        mark = world.cluster.audit.mark()
        world.put(prometheus("main", replicas=2), prometheus("second"))
        world.until("the new leader", lambda: world.get("statefulset", "prometheus-second"))
        stopped.process.send_signal(signal.SIGCONT)
        world.put(service_monitor("shop"))
        world.until("a binding", lambda: len(world.bindings("servicemonitor", "shop")) == 2)
        world.until("the old leader to notice", lambda: not leads(stopped))
        assert writes(world, mark, "stopped") == []
        assert writes(world, mark, "resting") != []

        for workload in ("main", "second"):
            world.settled("prometheus", workload)
            world.until("the monitor to be told of", partial(has_monitors, world, workload))
        world.until(
            "both pods to be counted",
            lambda: (world.get("prometheus", "main") or {})["status"]["availableReplicas"] == 2,
        )
        until_still(world)
        assert resting.stop() == 0
        begun = time.monotonic()
        world.until("the old leader to lead again", lambda: leads(stopped), SLACK)
        print(f"handed over after {time.monotonic() - begun:.1f} s")
        world.until(
            "both workloads to be looked at again", lambda: reconciles(stopped) >= before + 2
        )
        assert writes(world, mark, "stopped") == []
        world.delete("statefulset", "prometheus-second")
        world.until("it to work", lambda: writes(world, mark, "stopped"))
