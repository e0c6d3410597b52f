"""What workloads say about themselves: pods, shards, what came of the last attempt, and metrics."""

import json
import time
from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode

import pytest

from tests.builders import agent, prometheus, service_monitor
from tests.live.operating import Object, Running, World
from tests.live.test_operator_bindings import (
    FINALIZER,
    events_about,
    put_status,
    writes,
)

KINDS: dict[str, Callable[..., Object]] = {
    "prometheus": prometheus,
    "prometheusagent": partial(agent, remoteWrite=[{"url": "http://receiver/api/v1/write"}]),
}
CONTROLLERS = {"prometheus": "prometheus", "prometheusagent": "prometheus-agent"}
NOWHERE = {"stoker.dev/nowhere": "true"}


def status(world: World, kind: str, name: str) -> Object:
    """The status of a workload."""
    found = world.get(kind, name)
    assert found
    value: Object = found["status"]
    return value


def until_condition(world: World, kind: str, type_: str, value: str, words: str = "") -> Object:
    """Wait until a condition has a status, and a message with these words; the condition."""

    def found() -> Object:
        condition = world.condition(kind, "main", type_)
        assert condition["status"] == value
        assert words in condition["message"]
        return condition

    return world.until(f"{type_} of {kind} main to be {value}", found)


def set_ready(world: World, pod: str, ready: str) -> None:
    """Let a pod be ready or not, as its kubelet would."""
    condition = {"type": "Ready", "status": ready, "reason": "ContainersNotReady"}
    condition["message"] = "containers with unready status: [prometheus]"
    text = json.dumps({"status": {"conditions": [condition]}})
    world.cluster.kubectl(
        "patch", "pod", pod, "-n", world.namespace, "--subresource=status", "--type=strategic",
        "-p", text,
    )  # fmt: skip


def test_availability_follows_the_pods_and_says_what_is_wrong_with_them(
    world: World, operator: Running
) -> None:
    """True, Degraded and False, each with the pods and the cause; times move with the status.

    (peer scenarios: Prom Degraded Condition, Prom Status Condition Last Transition Time,
    Prom Unavailable Condition)
    """
    world.put(prometheus("main", replicas=2))
    well = until_condition(world, "prometheus", "Available", "True")
    assert (well["reason"], well["message"]) == ("AllPodsReady", "2 of 2 pods are ready")
    assert well["observedGeneration"] == 1
    reconciled = world.condition("prometheus", "main", "Reconciled")

    set_ready(world, "prometheus-main-1", "False")
    some = until_condition(world, "prometheus", "Available", "Degraded")
    assert some["reason"] == "SomePodsNotReady"
    assert "pod prometheus-main-1: containers with unready status" in some["message"]
    found = status(world, "prometheus", "main")
    assert (found["availableReplicas"], found["unavailableReplicas"]) == (1, 1)
    assert world.condition("prometheus", "main", "Reconciled") == reconciled

    set_ready(world, "prometheus-main-0", "False")
    none = until_condition(world, "prometheus", "Available", "False")
    assert none["reason"] == "NoPodReady"
    assert operator.metric(
        "prometheus_operator_prometheus_status_condition",
        name="main", condition="Available", status="False",
    ) == 1  # fmt: skip
    for number in range(2):
        set_ready(world, f"prometheus-main-{number}", "True")
    until_condition(world, "prometheus", "Available", "True")
    assert operator.metric(
        "prometheus_operator_prometheus_status_condition", name="main", condition="Available"
    ) == 1  # fmt: skip


def test_pods_that_no_node_takes_are_told_though_no_event_tells_of_that(
    world: World, operator: Running
) -> None:
    """The scheduler's words appear in the condition, and go with the cause.

    (peer scenario: Prom Unavailable Condition)
    """
    world.put(*(make("main", nodeSelector=NOWHERE) for make in KINDS.values()))
    for kind in KINDS:
        until_condition(world, kind, "Available", "False", words="node affinity/selector")
    world.put(*(make("main") for make in KINDS.values()))
    for kind in KINDS:
        until_condition(world, kind, "Available", "True")


def test_a_workload_that_cannot_be_reconciled_says_why_and_keeps_what_it_has(
    world: World, operator: Running
) -> None:
    """Reconciled is False with reason, message and generation, and there is one event."""
    for kind in KINDS:
        fail_and_recover(world, kind)


def fail_and_recover(world: World, kind: str) -> None:
    """Give a workload a version that there is not, and take it away again."""
    world.put(KINDS[kind]("main"), service_monitor("shop"))
    until_condition(world, kind, "Available", "True")
    before = world.condition(kind, "main", "Reconciled")
    objects = _generations(world)

    world.put(KINDS[kind]("main", version="newest"))
    failed = until_condition(world, kind, "Reconciled", "False")
    assert failed["reason"] == "ReconciliationFailed"
    assert "spec.version" in failed["message"]
    assert failed["observedGeneration"] == 2
    assert world.condition(kind, "main", "Available")["status"] == "True"
    assert _generations(world) == objects
    world.put(service_monitor("shop", port="metrics"))
    (event,) = world.until("an event", lambda: events_about(world, "main"))
    assert (event["type"], event["action"]) == ("Warning", "Reconciling")
    assert "spec.version" in event["note"]
    world.delete("events.events.k8s.io", event["metadata"]["name"])

    world.put(KINDS[kind]("main"))
    well = until_condition(world, kind, "Reconciled", "True")
    assert (well["reason"], well["observedGeneration"]) == ("ReconciliationSucceeded", 3)
    assert well["lastTransitionTime"] >= before["lastTransitionTime"]


def _generations(world: World) -> list[tuple[str, int]]:
    found = world.list("statefulsets")
    return sorted((each["metadata"]["name"], each["metadata"]["generation"]) for each in found)


def test_a_workload_is_scaled_by_its_subresource_and_counted_until_it_is_gone(
    world: World, operator: Running
) -> None:
    """`kubectl scale` sets the shards; autoscalers find shards and a selector that fits the pods.

    (peer scenarios: Prometheus Status Scale, Prometheus Agent Status Scale)
    """
    world.put(service_monitor("shop"))
    for kind in KINDS:
        scale(world, kind)
        count(world, operator, kind)


def scale(world: World, kind: str) -> None:
    """From one shard to two, as an autoscaler does it."""
    world.put(KINDS[kind]("main", replicas=2))
    until_condition(world, kind, "Available", "True")
    world.cluster.kubectl("scale", kind, "main", "-n", world.namespace, "--replicas=2")
    world.until("two shards", lambda: status(world, kind, "main")["availableReplicas"] == 4)
    found = world.settled(kind, "main")["status"]
    numbers = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
    assert found["shardStatuses"] == [
        {"shardID": str(shard), "unavailableReplicas": 0} | numbers for shard in range(2)
    ]
    assert (found["shards"], found["replicas"], found["updatedReplicas"]) == (2, 4, 4)
    known = world.cluster.api.get(f"{world.path(kind, 'main')}/scale")["status"]
    assert known["replicas"] == 2
    query = urlencode({"labelSelector": known["selector"]})
    assert len(world.cluster.api.get(f"{world.path('pods')}?{query}")["items"]) == 4


def count(world: World, operator: Running, kind: str) -> None:
    """What metrics say of a workload, as long as there is one."""
    controller = CONTROLLERS[kind]
    asked = {"controller": controller, "name": "main"}
    assert operator.metric("prometheus_operator_spec_replicas", **asked) == 2
    assert operator.metric("prometheus_operator_spec_shards", **asked) == 2

    selected = {"controller": controller, "resource": "ServiceMonitor", "state": "selected"}
    name = "prometheus_operator_managed_resources"
    world.until("a monitor to be counted", lambda: operator.metric(name, **selected) == 1)
    world.delete(kind, "main")
    world.until("nothing to be counted", lambda: operator.metric(name, **selected) == 0)
    assert operator.metric("prometheus_operator_spec_replicas", **asked) == 0
    assert operator.metric("prometheus_operator_prometheus_status_condition", **asked) == 0


def test_a_status_that_somebody_wipes_is_written_again_and_only_then(
    world: World, operator: Running
) -> None:
    """Nothing is written while nothing changes; what the peer wrote becomes ours."""
    world.put(prometheus("main"))
    world.settled("prometheus", "main")
    mark = world.until_still()
    conditions = status(world, "prometheus", "main")["conditions"]
    put_status(world, "prometheus", "main", {"conditions": None, "shards": 7}, "PrometheusOperator")
    world.until(
        "the status again",
        lambda: (
            len(status(world, "prometheus", "main")["conditions"]) == len(conditions)
            and status(world, "prometheus", "main")["shards"] == 1
        ),
    )
    after = world.until_still()
    assert len(writes(world, mark)) <= 2
    world.cluster.kubectl(
        "annotate", "pods", "--all", "-n", world.namespace, "stoker.dev/touched=yes"
    )
    time.sleep(1)
    assert writes(world, after) == []


def test_the_peers_finalizer_never_holds_a_workload_back(world: World) -> None:
    """It is taken off living workloads and off those that wait for it to go; others' stay.

    (peer scenarios: Finalizer When Status For Config Resources Enabled, Finalizer For Prom Agent
    When Status For Config Res Enabled)
    """
    every = [(kind, name) for kind in KINDS for name in ("living", "dying")]
    for kind, name in every:
        held = KINDS[kind](name, replicas=0)
        held["metadata"]["finalizers"] = ["example.com/mine", FINALIZER]
        world.put(held)
    for kind in KINDS:
        world.delete(kind, "dying")
    with Running.start(world.cluster, f"--namespaces={world.namespace}"):
        for kind, name in every:
            assert _released(world, kind, name) == ["example.com/mine"]
    for kind, name in every:
        world.patch(kind, name, {"metadata": {"finalizers": None}})
    assert [world.get(kind, "dying") for kind in KINDS] == [None, None]


def _released(world: World, kind: str, name: str) -> list[str]:
    """Wait until the peer's finalizer is gone; those that are left."""

    def left() -> list[str]:
        found: list[str] = (world.get(kind, name) or {})["metadata"]["finalizers"]
        assert FINALIZER not in found
        return found

    return world.until(f"{name} to be released", left)


@pytest.mark.parametrize("policy", ["evict", "delete"])
def test_a_rollout_that_is_stuck_is_set_free_where_the_policy_says_so(
    world: World, policy: str
) -> None:
    """A pod of an update that could not work holds up the next one until it is removed."""
    flags = (f"--namespaces={world.namespace}", f"--repair-policy-for-statefulsets={policy}")
    ordered = {"replicas": 2, "podManagementPolicy": "OrderedReady"}
    with Running.start(world.cluster, *flags):
        world.put(prometheus("main", **ordered))
        until_condition(world, "prometheus", "Available", "True")
        world.put(prometheus("main", nodeSelector=NOWHERE, **ordered))
        until_condition(world, "prometheus", "Available", "Degraded")
        mark = world.cluster.audit.mark()
        world.put(prometheus("main", **ordered))
        until_condition(world, "prometheus", "Available", "True")
        world.until(
            "all pods to be updated",
            lambda: status(world, "prometheus", "main")["updatedReplicas"] == 2,
        )
    done = [each for each in world.cluster.audit.since(mark, "stoker") if each.resource == "pods"]
    assert [(each.verb, each.subresource, each.name) for each in done] == [
        ("create", "eviction", "prometheus-main-1")
        if policy == "evict"
        else ("delete", "", "prometheus-main-1")
    ]
