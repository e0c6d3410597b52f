"""Replays the suites about the status of workloads, shards that are too many, and repairs.

Conditions of ours always have a reason and a message, those of the peer often have neither. So
a `reason` or `message` where the recorded condition has none does not count, and a recorded message
is met when ours has each of its lines, perhaps with more detail. All else must be equal. The peer
recorded its status before it added `shards` and `selector`, so these are not asked for.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.errors import WorkloadError
from stoker.status.conditions import combined_reason, combined_status, same_conditions
from stoker.status.repair import RepairPolicy, repair_of
from stoker.status.retention import ShardAction, fate, grace_period
from stoker.status.workload import Observations, PodSet, workload_status
from tests.conformance.cases import Case
from tests.conformance.compare import comparable_object, differences, without_nulls
from tests.conformance.replay import Context, Outcome, error_outcome, outcome_of, replays

_NOW: Final = datetime(2026, 1, 31, 12, tzinfo=UTC)
_PREFIXES: Final = {"Prometheus": "prometheus", "PrometheusAgent": "prom-agent"}


@replays("status-prometheus")
def status_of_workload(case: Case, context: Context) -> Outcome:
    """Numbers and conditions, from StatefulSets and pods."""
    given = without_nulls(case.given)
    made = workload_status(_facts(given), given["workload"].get("status"), _NOW)
    expected = comparable_object(case.expect["status"])
    for condition in expected["conditions"]:
        _let_us_say_more(condition, made["conditions"])
    return outcome_of(differences(expected, comparable_object(made)))


def _facts(given: Object) -> Observations:
    kind = given.get("workloadKind") or "Prometheus"
    model: Any = PrometheusAgent if kind == "PrometheusAgent" else Prometheus
    workload = convert(model, given["workload"])
    found = {each["metadata"]["name"]: each for each in given.get("statefulSets", ())}
    replicas = 1 if workload.spec.replicas is None else workload.spec.replicas
    first = f"{_PREFIXES[kind]}-{workload.metadata.name}"
    names = [first, *(f"{first}-shard-{shard}" for shard in range(1, workload.spec.shards or 1))]
    return Observations(
        namespace=workload.metadata.namespace,
        generation=workload.metadata.generation or 0,
        paused=bool(workload.spec.paused),
        parts=tuple(
            PodSet(name=name, found=found.get(name), replicas=replicas, shard=str(shard))
            for shard, name in enumerate(names)
        ),
        pods=given.get("pods", ()),
    )


def _let_us_say_more(expected: Object, made: list[Object]) -> None:
    """Take over from our condition what the recorded one lacks; times are ours in any case."""
    ours = next((each for each in made if each["type"] == expected["type"]), {})
    expected["lastTransitionTime"] = ours.get("lastTransitionTime")
    if not expected.get("reason"):
        expected["reason"] = ours.get("reason")
    if all(line in ours.get("message", "") for line in expected.get("message", "").splitlines()):
        expected["message"] = ours.get("message")


@replays("misc-combined-reason")
def one_reason_for_several(case: Case, context: Context) -> Outcome:
    """The word of a condition that speaks of several shards."""
    made = combined_reason(case.given["reasons"] or ())
    return outcome_of(differences(case.expect["reason"], made))


@replays("misc-combined-status")
def one_status_for_several(case: Case, context: Context) -> Outcome:
    """The status of a condition that speaks of several shards."""
    made = combined_status(case.given["statuses"] or ())
    return outcome_of(differences(case.expect["status"], made))


@replays("misc-equal-conditions")
def equal_conditions(case: Case, context: Context) -> Outcome:
    """Whether conditions say the same, so that nothing need be written."""
    given = without_nulls(case.given)
    made = same_conditions(given.get("a", ()), given.get("b", ()))
    return outcome_of(differences(case.expect["equal"], made))


@replays("misc-shard-retention")
def shard_that_is_too_many(case: Case, context: Context) -> Outcome:
    """Whether the StatefulSet of a shard that was scaled away is deleted now."""
    given = without_nulls(case.given)
    spec = convert(Prometheus, given["workload"]).spec
    enabled = given["retentionPoliciesEnabled"]
    made = fate(spec, given["statefulSet"], _NOW, enabled=enabled).action is ShardAction.DELETE
    return outcome_of(differences(case.expect["delete"], made))


@replays("misc-shard-retention-grace-period")
def grace_period_of_shard(case: Case, context: Context) -> Outcome:
    """For how long such a shard is kept; the peer says zero for good."""
    spec = convert(Prometheus, without_nulls(case.given["workload"])).spec
    try:
        period = grace_period(spec) or timedelta()
    except WorkloadError as error:
        return error_outcome(case.expect, str(error))
    if "error" in case.expect:
        return error_outcome(case.expect, None)
    return outcome_of(differences(case.expect["seconds"], period.total_seconds()))


@replays("misc-statefulset-repair")
def repaired_rollout(case: Case, context: Context) -> Outcome:
    """Which pod is removed so that a rollout continues."""
    given = without_nulls(case.given)
    policy = RepairPolicy(given["policy"])
    repair = repair_of(given["statefulSet"], given.get("pods", ()), policy)
    made = [f"{repair.namespace}/{repair.name}"] if repair else []
    return outcome_of(differences(case.expect["deletedPods"] or [], made))
