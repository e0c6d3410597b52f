"""What is written into the status of objects, and what is done about shards and stuck pods."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stoker.api.common import Condition, ConfigResourceStatus
from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgentSpec, PrometheusSpec
from stoker.api.prometheus_common import PrometheusStatus
from stoker.errors import WorkloadError
from stoker.generate.draft import Ignored
from stoker.status.bindings import (
    BoundWorkload,
    ResourceIdentity,
    binding,
    dated_binding,
    is_news,
    manager_of,
    same,
    status_apply,
)
from stoker.status.conditions import (
    LONGEST_MESSAGE,
    bounded,
    combined_reason,
    combined_status,
    dated,
    same_conditions,
)
from stoker.status.repair import RepairPolicy, repair_of, stuck_pod
from stoker.status.retention import DEADLINE, NEVER, ShardAction, fate, fates, grace_period
from stoker.status.workload import (
    DAEMON_SET,
    Observations,
    PodSet,
    Reconciliation,
    Remark,
    Scale,
    failed,
    workload_status,
)
from stoker.validate.findings import Finding, Reason
from stoker.validate.verdicts import Verdict
from tests.builders import pod_of

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
NOON_TEXT, LATER_TEXT = "2026-01-31T12:00:00Z", "2026-01-31T13:00:00Z"


# Workloads


def stateful_set(name: str = "prometheus-main", **members: Any) -> Object:
    """A StatefulSet as the API server has it."""
    status = {"observedGeneration": 3, "currentRevision": "old", "updateRevision": "new"}
    return {
        "metadata": {"name": name, "namespace": "shop", "generation": 3, "uid": f"uid-{name}"}
        | members.get("metadata", {}),
        "spec": members.get("spec", {}),
        "status": status | members.get("status", {}),
    }


def pod(name: str, *, ready: bool = True, revision: str = "new", **members: Any) -> Object:
    """A pod of the StatefulSet whose name its own begins with."""
    kind, owner = members.get("owner", ("StatefulSet", name.rpartition("-")[0]))
    told = {part: members.get(part, {}) for part in ("spec", "status")}
    labels = {"controller-revision-hash": revision}
    made = pod_of(kind, owner, name, uid=f"uid-{owner}", ready=ready, labels=labels, **told)
    return made | {"metadata": made["metadata"] | members.get("metadata", {})}


def facts(*pods: Object, found: Object | None = None, **members: Any) -> Observations:
    """What is known of a workload that should have one StatefulSet with two pods."""
    part = PodSet(name="prometheus-main", found=found or stateful_set(), replicas=2, shard="0")
    known: dict[str, Any] = {"namespace": "shop", "generation": 7, "parts": (part,), "pods": pods}
    return Observations(**known | members)


def condition(status: Object, type_: str = "Available") -> Object:
    """One condition of a status."""
    found: Object = next(each for each in status["conditions"] if each["type"] == type_)
    return found


def numbers(status: Object) -> tuple[int, int, int, int]:
    """The four numbers of a status, or of a shard in it."""
    return (
        status["replicas"],
        status["updatedReplicas"],
        status["availableReplicas"],
        status["unavailableReplicas"],
    )


def test_a_workload_whose_pods_are_ready_is_available() -> None:
    """Every condition has a reason, a message and a generation, also when all is well."""
    found = workload_status(facts(pod("prometheus-main-0"), pod("prometheus-main-1")), None, NOON)
    assert numbers(found) == (2, 2, 2, 0)
    assert condition(found) == {
        "type": "Available",
        "status": "True",
        "reason": "AllPodsReady",
        "message": "2 of 2 pods are ready",
        "observedGeneration": 7,
        "lastTransitionTime": NOON_TEXT,
    }
    reconciled = condition(found, "Reconciled")
    assert (reconciled["status"], reconciled["reason"]) == ("True", "ReconciliationSucceeded")
    assert reconciled["message"]
    assert reconciled["observedGeneration"] == 7


def test_pods_that_are_not_ready_are_named_with_the_cause() -> None:
    """With one of two ready the workload is degraded, and the message tells what to look at."""
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s\nrestarting"}
    status = {
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": "False", "message": "later"},
            {"type": "ContainersReady", "status": "False", "message": "unready: [prometheus]"},
        ],
        "containerStatuses": [
            {
                "name": "prometheus",
                "ready": False,
                "restartCount": 4,
                "state": {"waiting": waiting},
                "lastState": {
                    "terminated": {"exitCode": 2, "reason": "Error", "message": "token: hunter2"}
                },
            },
            {"name": "config-reloader", "ready": True, "state": {"running": {}}},
        ],
    }
    bad = pod("prometheus-main-1", ready=False, status=status)
    found = condition(workload_status(facts(pod("prometheus-main-0"), bad), None, NOON))
    assert (found["status"], found["reason"]) == ("Degraded", "SomePodsNotReady")
    assert found["message"] == (
        "shard 0: pod prometheus-main-1: unready: [prometheus] (prometheus: "
        "CrashLoopBackOff: back-off 5m0s restarting, before that Error with exit code 2, "
        "restarts: 4)"
    )


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]},
         "0/3 nodes"),
        ({"phase": "Failed", "reason": "Evicted", "message": "out of memory"}, "out of memory"),
        ({"phase": "Pending", "conditions": []}, "not ready, in phase Pending"),
        ({"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]},
         "NodeStatusUnknown"),
        ({"conditions": [{"type": "Ready", "status": "False", "message": "x" * 9999}]},
         "x" * 299 + "…"),
        ({"initContainerStatuses": [{"name": "init", "ready": False, "state": {
            "terminated": {"exitCode": 1, "reason": "Error", "message": "hunter2"}}}]},
         "not ready, in phase Running (init: Error with exit code 1)"),
    ],
)  # fmt: skip
def test_the_cause_is_told_wherever_kubernetes_put_it(status: Object, told: str) -> None:
    """In the first condition that is unmet, in the pod itself, or in a container."""
    bad = pod("prometheus-main-0", ready=False, status=status)
    found = condition(workload_status(facts(bad, found=stateful_set()), None, NOON))
    assert found["message"].splitlines()[0] == f"shard 0: pod prometheus-main-0: {told}"


def test_without_a_ready_pod_the_workload_is_not_available() -> None:
    """Pods that do not even exist are told of too."""
    found = condition(workload_status(facts(), None, NOON))
    assert (found["status"], found["reason"]) == ("False", "NoPodReady")
    assert found["message"] == (
        "shard 0: statefulset shop/prometheus-main has 0 of 2 pods: see its events"
    )


def test_a_workload_is_as_available_as_its_worst_shard() -> None:
    """One shard is missing, one is degraded, one is well: numbers are sums and stand by shard."""
    names = ("prometheus-main", "prometheus-main-shard-1", "prometheus-main-shard-2")
    parts = tuple(
        PodSet(name=name, found=None if index == 2 else stateful_set(name), replicas=2, shard=shard)
        for index, (name, shard) in enumerate(zip(names, "012", strict=True))
    )
    pods = [
        pod("prometheus-main-0"),
        pod("prometheus-main-1"),
        pod("prometheus-main-shard-1-0"),
        pod("prometheus-main-shard-1-1", ready=False, revision="old"),
    ]
    found = workload_status(facts(*pods, parts=parts), None, NOON)
    assert numbers(found) == (4, 3, 3, 1)
    assert [numbers(each) for each in found["shardStatuses"]] == [
        (2, 2, 2, 0),
        (2, 1, 1, 1),
        (0, 0, 0, 0),
    ]
    available = condition(found)
    assert available["status"] == "False"
    assert available["reason"] == "SomePodsNotReadyAndStatefulSetNotFound"
    assert available["message"].splitlines() == [
        "shard 1: pod prometheus-main-shard-1-1: not ready, in phase Running",
        "shard 2: statefulset shop/prometheus-main-shard-2 not found",
    ]


def test_a_workload_scaled_to_zero_is_available() -> None:
    """Nobody asked for pods, so none is missing."""
    part = PodSet(name="prometheus-main", found=stateful_set(), replicas=0, shard="0")
    found = condition(workload_status(facts(parts=(part,)), None, NOON))
    assert (found["status"], found["reason"]) == ("True", "NoPodsWanted")
    assert "replicas is 0" in found["message"]


def test_pods_of_others_are_not_counted() -> None:
    """Not those of another owner, of a deleted namesake, that ended, or that are going away."""
    namesake = {"kind": "StatefulSet", "name": "prometheus-main", "uid": "another"}
    going = {"deletionTimestamp": NOON_TEXT}
    pods = [
        pod("prometheus-main-0", metadata=going),
        pod("prometheus-main-1", status={"phase": "Failed"}),
        pod("prometheus-main-2", metadata={"ownerReferences": [namesake]}),
        pod("prometheus-other-0"),
    ]
    found = workload_status(facts(*pods), None, NOON)
    assert numbers(found)[0] == 0


def test_a_specification_that_its_controller_has_not_seen_is_in_no_pod() -> None:
    """Right after a change all pods still seem to be up to date, and are not."""
    found = stateful_set(metadata={"generation": 4})
    made = workload_status(
        facts(pod("prometheus-main-0"), pod("prometheus-main-1"), found=found), None, NOON
    )
    assert numbers(made) == (2, 0, 2, 0)


def test_with_min_ready_seconds_the_controller_says_what_is_available() -> None:
    """A pod that has just become ready is ready, and counts as available later."""
    found = stateful_set(spec={"minReadySeconds": 60}, status={"availableReplicas": 1})
    made = workload_status(
        facts(pod("prometheus-main-0"), pod("prometheus-main-1"), found=found), None, NOON
    )
    assert numbers(made) == (2, 2, 1, 1)
    assert condition(made)["status"] == "True"


def test_autoscalers_find_shards_and_selector() -> None:
    """Kinds that have no shards have neither these nor the statuses of shards."""
    part = PodSet(name="alertmanager-main", found=None, replicas=3)
    found = workload_status(facts(parts=(part,), scale=Scale("a=b")), None, NOON)
    assert found["selector"] == "a=b"
    assert not found.keys() & {"shards", "shardStatuses"}
    assert condition(found)["message"] == "statefulset shop/alertmanager-main not found"
    sharded = workload_status(facts(scale=Scale("a=b", 4)), None, NOON)
    assert sharded["shards"] == 4


def test_a_status_is_what_the_api_declares() -> None:
    """Every member is one that the CustomResourceDefinition knows."""
    found = workload_status(facts(pod("prometheus-main-0"), scale=Scale("a=b", 1)), None, NOON)
    declared = convert(PrometheusStatus, found)
    assert declared.shard_statuses is not None
    assert found.keys() == {
        "paused", "replicas", "updatedReplicas", "availableReplicas", "unavailableReplicas",
        "shards", "selector", "conditions", "shardStatuses",
    }  # fmt: skip


# An agent on every node


def daemon_set(**status: int) -> Object:
    """A DaemonSet as the API server has it."""
    return {
        "metadata": {"name": "prom-agent-main", "generation": 2, "uid": "uid-prom-agent-main"},
        "spec": {},
        "status": {"observedGeneration": 2} | status,
    }


def on_nodes(found: Object | None, *pods: Object, generation: int = 2) -> Object:
    """The status of an agent with this DaemonSet."""
    if found:
        found["metadata"]["generation"] = generation
    part = PodSet(kind=DAEMON_SET, name="prom-agent-main", found=found)
    return workload_status(facts(*pods, parts=(part,)), None, NOON)


def test_a_healthy_agent_on_every_node_is_available() -> None:
    """Its DaemonSet is looked at, not a StatefulSet that nobody made (defect 1)."""
    found = on_nodes(
        daemon_set(
            desiredNumberScheduled=3,
            currentNumberScheduled=3,
            updatedNumberScheduled=3,
            numberReady=3,
            numberAvailable=3,
        )
    )
    assert numbers(found) == (3, 3, 3, 0)
    assert condition(found)["status"] == "True"
    assert condition(found)["message"] == "3 of 3 pods are ready"
    assert "shardStatuses" not in found


def test_nodes_without_a_ready_agent_are_told() -> None:
    """Numbers are those of the controller: desired, updated, available, unavailable nodes."""
    owner = ("DaemonSet", "prom-agent-main")
    bad = pod("prom-agent-main-x7f", ready=False, owner=owner, spec={"nodeName": "node-2"})
    good = pod("prom-agent-main-b2c", owner=owner)
    counts = {"numberReady": 1, "numberAvailable": 1, "numberUnavailable": 1}
    found = on_nodes(
        daemon_set(desiredNumberScheduled=2, updatedNumberScheduled=1, **counts), good, bad
    )
    assert numbers(found) == (2, 1, 1, 1)
    assert condition(found)["status"] == "Degraded"
    assert condition(found)["message"] == (
        "pod prom-agent-main-x7f on node node-2: not ready, in phase Running"
    )


def test_no_message_grows_with_the_number_of_nodes() -> None:
    """Of thousands of pods that are not ready, some are named and the others counted."""
    owner = ("DaemonSet", "prom-agent-main")
    pods = [pod(f"prom-agent-main-{n:04}", ready=False, owner=owner) for n in range(3000)]
    found = condition(on_nodes(daemon_set(desiredNumberScheduled=3000), *pods))
    assert found["status"] == "False"
    assert found["message"].splitlines()[-1] == "and 2980 more pods that are not ready"


def test_a_daemon_set_that_nobody_has_counted_is_unknown() -> None:
    """Zero of zero pods right after it was made does not mean that all is well."""
    found = condition(on_nodes(daemon_set(observedGeneration=0)))
    assert (found["status"], found["reason"]) == ("Unknown", "DaemonSetNotObserved")


def test_no_pod_has_a_change_that_the_daemon_set_controller_has_not_seen() -> None:
    """The numbers of updated pods are about the specification before."""
    counts = {"numberReady": 1, "numberAvailable": 1}
    found = on_nodes(
        daemon_set(desiredNumberScheduled=1, updatedNumberScheduled=1, **counts), generation=3
    )
    assert numbers(found) == (1, 0, 1, 0)


def test_an_agent_for_which_no_node_fits_says_so() -> None:
    """Nothing is broken, though it is hardly what was meant."""
    found = condition(on_nodes(daemon_set(desiredNumberScheduled=0)))
    assert (found["status"], found["reason"]) == ("True", "NoPodsWanted")
    assert "nodeSelector" in found["message"]


def test_an_agent_whose_daemon_set_is_gone_is_not_available() -> None:
    """The message names the kind of object that is missing."""
    found = condition(on_nodes(None))
    assert (found["status"], found["reason"]) == ("False", "DaemonSetNotFound")
    assert found["message"] == "daemonset shop/prom-agent-main not found"


# Reconciled


def test_a_failed_reconciliation_says_why() -> None:
    """Reason and message of the failure are those of the condition; pods are another matter."""
    pods = (pod("prometheus-main-0"), pod("prometheus-main-1"))
    found = workload_status(
        facts(*pods, reconciliation=failed("spec.version: not a version")), None, NOON
    )
    reconciled = condition(found, "Reconciled")
    assert reconciled["status"] == "False"
    assert reconciled["reason"] == "ReconciliationFailed"
    assert reconciled["message"] == "spec.version: not a version"
    assert condition(found)["status"] == "True"


def test_remarks_stand_beside_a_success() -> None:
    """Several are combined into one word and as many lines."""
    remarks = (Remark("NoSelectedResources", "none"), Remark("IgnoredFields", "spec.otlp"))
    found = workload_status(facts(reconciliation=Reconciliation(remarks=remarks)), None, NOON)
    reconciled = condition(found, "Reconciled")
    assert reconciled["status"] == "True"
    assert reconciled["reason"] == "IgnoredFieldsAndNoSelectedResources"
    assert reconciled["message"] == "none\nspec.otlp"


def test_a_paused_workload_says_that_changes_are_held_back() -> None:
    """Both the member for programs and the condition for people."""
    found = workload_status(facts(paused=True), None, NOON)
    assert found["paused"] is True
    assert condition(found, "Reconciled")["reason"] == "Paused"


def test_before_the_first_attempt_nothing_is_known() -> None:
    """A status that is written before a reconciliation does not claim one."""
    found = workload_status(facts(reconciliation=None), None, NOON)
    assert condition(found, "Reconciled")["status"] == "Unknown"


# Transitions


def test_a_time_moves_only_with_the_status_of_its_condition() -> None:
    """A new message or generation changes no time, and one condition not that of the other."""
    first = workload_status(facts(), None, NOON)
    second = workload_status(
        facts(pod("prometheus-main-0", ready=False), generation=8), first, LATER
    )
    assert condition(second)["message"] != condition(first)["message"]
    assert condition(second)["observedGeneration"] == 8
    assert condition(second)["lastTransitionTime"] == NOON_TEXT
    third = workload_status(facts(pod("prometheus-main-0")), second, LATER)
    assert condition(third)["status"] == "Degraded"
    assert condition(third)["lastTransitionTime"] == LATER_TEXT
    assert condition(third, "Reconciled")["lastTransitionTime"] == NOON_TEXT


def test_the_same_facts_make_the_same_status() -> None:
    """So that nothing is written when nothing changed."""
    first = workload_status(facts(pod("prometheus-main-0")), None, NOON)
    assert workload_status(facts(pod("prometheus-main-0")), first, LATER) == first


def test_a_condition_without_a_time_is_dated() -> None:
    """Whatever somebody else left there, the API asks for a time."""
    stored = {"type": "Available", "status": "True", "lastTransitionTime": None}
    fresh = Condition(type="Available", status="True")
    assert dated(fresh, [stored], NOON).last_transition_time == NOON_TEXT


def test_the_worst_status_counts() -> None:
    """False, then Degraded, then Unknown; nothing at all is well."""
    assert combined_status(["True", "Unknown", "Degraded", "False"]) == "False"
    assert combined_status(["Unknown", "Degraded", "True"]) == "Degraded"
    assert combined_status(["True", "Unknown"]) == "Unknown"
    assert combined_status([]) == "True"


def test_reasons_are_combined_once_each_and_in_order() -> None:
    """One word stays one word."""
    assert combined_reason(["B", "", "A", "B"]) == "AAndB"
    assert combined_reason(["A"]) == "A"
    assert not combined_reason([])


def test_conditions_are_compared_by_what_they_say() -> None:
    """Order and time do not count; a list that is longer says something else."""
    one = {"type": "Accepted", "status": "True", "lastTransitionTime": NOON_TEXT, "reason": ""}
    two = {"type": "Ready", "status": "False"}
    assert same_conditions([one, two], [two, {"type": "Accepted", "status": "True"}])
    assert not same_conditions([one], [one, two])
    assert not same_conditions([one], [one | {"message": "new"}])


@given(st.text(), st.integers(1, 30))
def test_a_message_never_exceeds_its_bound(text: str, most: int) -> None:
    """What fits is left alone."""
    found = bounded(text, most)
    assert len(found) <= most
    assert found == text or len(text) > most


# Bindings

MAIN = BoundWorkload("prometheuses", "shop", "main")
AGENT = BoundWorkload("prometheusagents", "shop", "main")
MONITOR = ResourceIdentity("monitoring.coreos.com/v1", "ServiceMonitor", "cart", "web")


def verdict(*messages: str) -> Verdict:
    """A verdict with these findings."""
    resource: Any = None
    found = (Finding("spec.endpoints[0]", Reason.INVALID_VALUE, each) for each in messages)
    return Verdict("ServiceMonitor", resource, tuple(found))


def test_a_binding_tells_that_a_resource_was_accepted() -> None:
    """Which workload, and all members of the condition."""
    found = dated_binding(None, binding(MAIN, verdict(), 3), NOON)
    assert found == {
        "group": "monitoring.coreos.com",
        "resource": "prometheuses",
        "namespace": "shop",
        "name": "main",
        "conditions": [
            {
                "type": "Accepted",
                "status": "True",
                "reason": "Accepted",
                "message": "part of the configuration",
                "observedGeneration": 3,
                "lastTransitionTime": NOON_TEXT,
            }
        ],
    }


def test_a_binding_tells_why_a_resource_was_rejected() -> None:
    """All findings with their paths, within the bound that Kubernetes has for messages."""
    (found,) = binding(MAIN, verdict("bad interval", *["x" * 900] * 50), 3).conditions or ()
    assert (found.status, found.reason) == ("False", "InvalidConfiguration")
    assert found.message is not None
    assert found.message.startswith("spec.endpoints[0]: bad interval; spec.endpoints[0]: xxx")
    assert len(found.message) == LONGEST_MESSAGE


def test_fields_that_a_version_does_not_know_are_told_of_an_accepted_resource() -> None:
    """It is in the configuration, but not all of it."""
    ignored = [Ignored("spec.scrapeProtocols", "needs Prometheus 2.49")]
    (found,) = binding(MAIN, verdict(), 3, ignored).conditions or ()
    assert (found.status, found.reason) == ("True", "IgnoredFields")
    assert "spec.scrapeProtocols: needs Prometheus 2.49" in (found.message or "")


def test_the_time_of_a_binding_moves_with_its_verdict() -> None:
    """Not with the generation of the resource, nor when another workload changes its mind."""
    stored = [
        dated_binding(None, binding(MAIN, verdict(), 1), NOON),
        dated_binding(None, binding(AGENT, verdict("too old"), 1), LATER),
    ]
    newer = dated_binding(stored, binding(MAIN, verdict(), 2), LATER)
    assert newer["conditions"][0]["lastTransitionTime"] == NOON_TEXT
    worse = dated_binding(stored, binding(MAIN, verdict("bad"), 2), LATER)
    assert worse["conditions"][0]["lastTransitionTime"] == LATER_TEXT


def test_nothing_is_written_when_nothing_changed() -> None:
    """The time alone is no news; a new generation, and a binding that is not there, are."""
    stored = [dated_binding(None, binding(MAIN, verdict(), 1), NOON)]
    assert not is_news(stored, dated_binding(stored, binding(MAIN, verdict(), 1), LATER))
    assert is_news(stored, dated_binding(stored, binding(MAIN, verdict(), 2), LATER))
    assert is_news(stored, dated_binding(stored, binding(AGENT, verdict(), 1), LATER))
    assert is_news(None, stored[0])


def test_an_agent_tells_how_many_pods_there_should_be() -> None:
    """Of all shards together, or on all nodes; not before nodes were counted, nor for others."""
    shards = tuple(
        PodSet(name=f"prom-agent-main-{shard}", found=None, replicas=2, shard=str(shard))
        for shard in range(3)
    )
    nodes = {"desiredNumberScheduled": 5, "observedGeneration": 1}
    for wanted, part, status in ((5, DAEMON_SET, nodes), (None, DAEMON_SET, {})):
        found = {"metadata": {"name": "a", "uid": "b"}, "status": status}
        one = (PodSet(name="a", found=found, kind=part),)
        told = workload_status(facts(parts=one, tells_desired=True), None, NOON)
        assert told.get("desiredReplicas") == wanted
    told = workload_status(facts(parts=shards, tells_desired=True), None, NOON)
    assert told["desiredReplicas"] == 6
    assert "desiredReplicas" not in workload_status(facts(parts=shards), None, NOON)


def test_bindings_of_different_workloads_are_never_the_same() -> None:
    """Even where their conditions are."""
    one = dated_binding(None, binding(MAIN, verdict(), 1), NOON)
    assert same(one, dated_binding(None, binding(MAIN, verdict(), 1), LATER))
    assert not same(one, dated_binding(None, binding(AGENT, verdict(), 1), NOON))


def test_a_workload_applies_its_own_binding_and_nothing_else() -> None:
    """What is applied names the resource, and has one binding."""
    mine = dated_binding(None, binding(MAIN, verdict(), 1), NOON)
    applied = status_apply(MONITOR, mine)
    assert applied == {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "web", "namespace": "cart"},
        "status": {"bindings": [mine]},
    }
    assert convert(ConfigResourceStatus, applied["status"]).bindings is not None


NAMES = st.text("ab-.", min_size=1, max_size=253)
WORKLOADS = st.builds(
    BoundWorkload, st.sampled_from(["prometheuses", "prometheusagents"]), NAMES, NAMES
)


@example(BoundWorkload("prometheuses", "a" * 63, "b" * 253), MAIN)
@example(BoundWorkload("prometheuses", "a" * 63, "b" * 64), AGENT)
@given(WORKLOADS, WORKLOADS)
def test_each_workload_is_a_field_manager_of_its_own(a: BoundWorkload, b: BoundWorkload) -> None:
    """The API server takes 128 bytes at most."""
    assert len(manager_of(a).encode()) <= 128
    assert (manager_of(a) == manager_of(b)) is (a == b)


# Shards that are too many


def spec(**members: Any) -> PrometheusSpec:
    """A server that retains shards, by default."""
    return convert(PrometheusSpec, {"shardRetentionPolicy": {"whenScaled": "Retain"}} | members)


def annotated(deadline: str) -> Object:
    """The StatefulSet of a second shard with a deadline."""
    return stateful_set("prometheus-main-shard-1", metadata={"annotations": {DEADLINE: deadline}})


def test_shards_that_are_too_many_go_unless_they_are_retained() -> None:
    """No policy, another policy, no gate, and agents, which have no data: deleted at once."""
    surplus = stateful_set("prometheus-main-shard-1")
    for chosen in (PrometheusSpec(), spec(shardRetentionPolicy={"whenScaled": "Delete"})):
        assert fate(chosen, surplus, NOON, enabled=True).action is ShardAction.DELETE
    assert fate(spec(), surplus, NOON, enabled=False).action is ShardAction.DELETE
    assert fate(PrometheusAgentSpec(), surplus, NOON, enabled=True).action is ShardAction.DELETE


def test_a_retained_shard_gets_a_deadline() -> None:
    """And is looked at again then, though nothing may wake us."""
    found = fate(spec(retention="2h"), stateful_set(), NOON, enabled=True)
    assert found.action is ShardAction.SET_DEADLINE
    assert found.deadline == "2026-01-31T14:00:00Z"
    assert found.again == NOON + timedelta(hours=2)


def test_a_shard_whose_data_has_no_age_is_kept_for_good() -> None:
    """Its deadline is one that never comes."""
    found = fate(spec(retentionSize="10GB"), stateful_set(), NOON, enabled=True)
    assert (found.action, found.deadline, found.again) == (ShardAction.SET_DEADLINE, NEVER, None)
    assert fate(spec(), annotated(NEVER), NOON, enabled=True).action is ShardAction.KEEP


@pytest.mark.parametrize(
    ("deadline", "action"),
    [
        ("2026-01-31T12:00:00Z", ShardAction.DELETE),
        ("2026-01-31T11:59:59.5Z", ShardAction.DELETE),
        ("2026-01-31T12:00:01Z", ShardAction.KEEP),
        ("2026-01-31T13:30:00+01:00", ShardAction.KEEP),
        ("2026-01-31T12:30:00+01:00", ShardAction.DELETE),
    ],
)
def test_a_retained_shard_goes_when_its_deadline_has_passed(
    deadline: str, action: ShardAction
) -> None:
    """The annotation decides, which people may change; it is not set again."""
    found = fate(spec(retention="1y"), annotated(deadline), NOON, enabled=True)
    assert found.action is action
    if action is ShardAction.KEEP:
        assert found.again == datetime.fromisoformat(deadline)


@pytest.mark.parametrize("deadline", ["tomorrow", "2026-01-31T11:00:00", "2026-13-01T00:00:00Z"])
def test_a_deadline_that_cannot_be_read_deletes_nothing(deadline: str) -> None:
    """Data is not lost over a slip of the keyboard; what is wrong is told."""
    found = fate(spec(), annotated(deadline), NOON, enabled=True)
    assert found.action is ShardAction.KEEP
    assert DEADLINE in found.problem


def test_all_shards_of_a_workload_have_a_fate() -> None:
    """A shard that is wanted again loses its deadline; one that is going is left alone."""
    going = stateful_set("prometheus-main-shard-3", metadata={"deletionTimestamp": NOON_TEXT})
    sets = [stateful_set(), annotated(LATER_TEXT), stateful_set("prometheus-main-shard-2"), going]
    wanted = {"prometheus-main", "prometheus-main-shard-1"}
    found = fates(spec(), sets, wanted, NOON, enabled=True)
    assert [each.action for each in found] == [
        ShardAction.KEEP,
        ShardAction.CLEAR_DEADLINE,
        ShardAction.SET_DEADLINE,
        ShardAction.KEEP,
    ]


def test_how_long_a_shard_is_retained() -> None:
    """A period of its own, else the retention, else a day; none where only size limits the data."""
    own = {"whenScaled": "Retain", "retain": {"retentionPeriod": "3d"}}
    assert grace_period(spec(shardRetentionPolicy=own, retention="7d")) == timedelta(days=3)
    assert grace_period(spec(retention="7d", retentionSize="1GB")) == timedelta(days=7)
    assert grace_period(spec()) == timedelta(days=1)
    assert grace_period(spec(retentionPercentage="0")) == timedelta(days=1)
    assert grace_period(spec(retentionPercentage=80)) is None
    assert grace_period(spec(retentionSize="1GB")) is None
    assert grace_period(spec(retention="0s")) is None


def test_a_retention_that_is_no_duration_is_named() -> None:
    """The path leads to the field."""
    own = {"whenScaled": "Retain", "retain": {"retentionPeriod": "soon"}}
    with pytest.raises(WorkloadError, match=r"^spec\.retention: `soon`"):
        grace_period(spec(retention="soon"))
    with pytest.raises(WorkloadError, match=r"^spec\.shardRetentionPolicy\.retain\.retentionPer"):
        grace_period(spec(shardRetentionPolicy=own))


# Stuck rollouts


def stuck(*numbers: int) -> list[Object]:
    """Twelve pods, of which those with these numbers are of a bad revision and not ready."""
    return [
        pod(
            f"prometheus-main-{n}",
            ready=n not in numbers,
            revision="bad" if n in numbers else "old",
        )
        for n in range(12)
    ]


def test_the_highest_stuck_pod_goes_first() -> None:
    """By its number, not by the order of letters; and in the way that the policy asks for."""
    for policy in (RepairPolicy.EVICT, RepairPolicy.DELETE):
        found = repair_of(stateful_set(), stuck(2, 10, 9), policy)
        assert found is not None
        assert (found.policy, found.namespace, found.name) == (policy, "shop", "prometheus-main-10")


def test_without_a_policy_a_stuck_pod_is_only_found() -> None:
    """The operator can warn of it."""
    assert repair_of(stateful_set(), stuck(1), RepairPolicy.NONE) is None
    found = stuck_pod(stateful_set(), stuck(1))
    assert found is not None
    assert found["metadata"]["name"] == "prometheus-main-1"


def test_rollouts_that_continue_by_themselves_are_left_alone() -> None:
    """All pods are of a good revision, or ready; or one is already on its way out."""
    well = [pod("prometheus-main-0", revision="old", ready=False), pod("prometheus-main-1")]
    assert stuck_pod(stateful_set(), well) is None
    between = [pod("prometheus-main-1", revision="between")]
    assert stuck_pod(stateful_set(), between) is None
    going = pod("prometheus-main-12", metadata={"deletionTimestamp": NOON_TEXT})
    assert stuck_pod(stateful_set(), [*stuck(1), going]) is None


def test_no_pod_is_repaired_that_kubernetes_would_not_replace() -> None:
    """The controller must know the latest specification, and be asked to roll it out."""
    unseen = stateful_set(metadata={"generation": 4})
    by_hand = stateful_set(spec={"updateStrategy": {"type": "OnDelete"}})
    new = stateful_set(status={"updateRevision": ""})
    for each in (unseen, by_hand, new):
        assert stuck_pod(each, stuck(1)) is None
