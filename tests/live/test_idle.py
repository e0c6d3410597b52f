"""Nothing is written when there is nothing to write."""

from __future__ import annotations

import time
from collections.abc import Iterator

from tests.builders import prometheus, resource, service_monitor
from tests.live.operating import Object, Running, World
from tests.live.replicas import Replica, reconciles, writes

WORKLOADS = 20
RESOURCES = 500
# Other tests run meanwhile (tools/lanes.py): this one only waits.
IDLE_SECONDS = 180.0


def create(world: World, *objects: Object) -> None:
    """Create many objects, faster than kubectl would."""
    for each in objects:
        group = each["apiVersion"]
        start = f"/apis/{group}" if "/" in group else f"/api/{group}"
        plural = {"Prometheus": "prometheuses"}.get(each["kind"], f"{each['kind'].lower()}s")
        path = f"{start}/namespaces/{world.namespace}/{plural}"
        world.cluster.api.request("POST", path, each)


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
    mark = world.until_still()
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
