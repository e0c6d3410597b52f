"""The status of a workload: numbers of pods, and the conditions Available and Reconciled.

    StatefulSets or a DaemonSet, pods ──> a census of each ──> numbers
                                                 └──────────> Available
    what came of the last attempt ─────────────────────────> Reconciled

All four kinds of workload have one or several StatefulSets, and an agent on every node has a
DaemonSet; a part is one of these. A StatefulSet's pods are counted one by one. Those of a DaemonSet
are counted by its controller, which alone knows on how many nodes a pod is wanted.

Each condition has a reason, a message and the generation that it speaks of. A part that is well
says so in numbers; of the others, each pod that is not ready is named with the cause.

While an agent changes its mode its old pods are there for all targets until the new ones are, so it
is as available as those of the two that fare better. The numbers are those of the new mode.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from stoker.api.common import Condition
from stoker.api.core import Object
from stoker.api.prometheus_common import PrometheusAgentStatus, ShardStatus
from stoker.status.conditions import (
    AVAILABLE,
    DEGRADED,
    FALSE,
    RECONCILED,
    TRUE,
    UNKNOWN,
    Because,
    better_status,
    bounded,
    combined_reason,
    combined_status,
    dated,
    json_of,
)
from stoker.status.pods import (
    Owned,
    alive,
    by_owner,
    is_stuck,
    node_of,
    pods_of,
    ready,
    revision,
    trouble,
)

STATEFUL_SET: Final = "StatefulSet"
DAEMON_SET: Final = "DaemonSet"

_NOT_FOUND: Final = {
    STATEFUL_SET: Because.STATEFUL_SET_NOT_FOUND,
    DAEMON_SET: Because.DAEMON_SET_NOT_FOUND,
}
_NO_PODS: Final = {
    STATEFUL_SET: "no pods are wanted: replicas is 0",
    DAEMON_SET: "no pods are wanted: no node fits nodeSelector, affinity and tolerations",
}
# More than these would not be read, and a DaemonSet may have thousands.
_MOST_PODS_TOLD: Final = 20


class Remark(Struct, frozen=True):
    """A word for programs and a sentence for people."""

    reason: str
    message: str


class Reconciliation(Struct, frozen=True):
    """What came of the last attempt to bring about what the workload asks for.

    With a `failure` it failed. `remarks` are what users should know though it went well.
    """

    failure: Remark | None = None
    remarks: tuple[Remark, ...] = ()


def failed(message: str, reason: str = Because.RECONCILIATION_FAILED) -> Reconciliation:
    """An attempt that failed."""
    return Reconciliation(Remark(reason, message))


class Scale(Struct, frozen=True):
    """What autoscalers read: the labels of the pods as text, and for some kinds the shards."""

    selector: str
    shards: int | None = None


class PodSet(Struct, frozen=True, kw_only=True):
    """A StatefulSet or DaemonSet that should exist; `found` is what the API server has of it.

    `replicas` are the pods that a StatefulSet should have. `shard` is its number, for kinds that
    have shards.
    """

    name: str
    found: Object | None
    kind: str = STATEFUL_SET
    replicas: int = 1
    shard: str | None = None

    @property
    def prefix(self) -> str:
        """What lines of a message about this part begin with."""
        return "" if self.shard is None else f"shard {self.shard}: "


class Observations(Struct, frozen=True, kw_only=True):
    """All that a status is made from. `reconciliation` is None before the first attempt.

    `old_parts`: what runs pods of the mode that an agent is leaving. `remarks`: what else users
    should know. `tells_desired` says whether the status has a member for how many pods there
    should be.
    """

    namespace: str
    generation: int
    parts: tuple[PodSet, ...]
    old_parts: tuple[PodSet, ...] = ()
    pods: Sequence[Object] = ()
    paused: bool = False
    reconciliation: Reconciliation | None = Reconciliation()
    scale: Scale | None = None
    remarks: tuple[Remark, ...] = ()
    tells_desired: bool = False


class Census(Struct, frozen=True):
    """The pods of a part in numbers.

    `observed` is false as long as nothing was counted.
    """

    wanted: int
    replicas: int = 0
    updated: int = 0
    ready: int = 0
    available: int = 0
    observed: bool = True

    @property
    def unavailable(self) -> int:
        """Pods that are not available."""
        return max(self.replicas - self.available, 0)


class _Report(Struct, frozen=True):
    """A part, its numbers, and what they mean.

    `stuck`: pods that keep it from being rolled out though all that are needed are ready.
    """

    part: PodSet
    census: Census
    status: str
    reason: str
    lines: tuple[str, ...]
    stuck: tuple[str, ...] = ()


def workload_status(
    observed: Observations, previous: Mapping[str, Any] | None, now: datetime
) -> Object:
    """The `status` of a workload as JSON; `previous` is the one that is stored."""
    before = (previous or {}).get("conditions") or ()
    owned = by_owner(observed.pods)
    reports = [_report(part, owned, observed.namespace) for part in observed.parts]
    old = [_report(part, owned, observed.namespace) for part in observed.old_parts]
    conditions = (_available(reports, old, observed), _reconciled(reports, observed))
    # The declared status of agents has all members that the other kinds have too.
    status = PrometheusAgentStatus(
        desired_replicas=_desired(reports) if observed.tells_desired else None,
        paused=observed.paused,
        replicas=sum(each.census.replicas for each in reports),
        updated_replicas=sum(each.census.updated for each in reports),
        available_replicas=sum(each.census.available for each in reports),
        unavailable_replicas=sum(each.census.unavailable for each in reports),
        shards=observed.scale.shards if observed.scale else None,
        selector=observed.scale.selector if observed.scale else None,
        shard_statuses=tuple(_shard_statuses(reports)) or None,
        conditions=tuple(dated(each, before, now) for each in conditions),
    )
    return json_of(status)


def _desired(reports: Sequence[_Report]) -> int | None:
    """How many pods there should be; None as long as nodes were not counted."""
    if all(each.census.observed for each in reports):
        return sum(each.census.wanted for each in reports)
    return None


def _shard_statuses(reports: Sequence[_Report]) -> Iterator[ShardStatus]:
    for part, census in ((each.part, each.census) for each in reports):
        if part.shard is not None:
            yield ShardStatus(
                shard_id=part.shard,
                replicas=census.replicas,
                updated_replicas=census.updated,
                available_replicas=census.available,
                unavailable_replicas=census.unavailable,
            )


def _available(
    reports: Sequence[_Report], old: Sequence[_Report], observed: Observations
) -> Condition:
    """Whether the pods are ready: as well as the worst of the parts, of the better mode."""
    status, reasons, lines = _of_mode(reports)
    if old and (status != TRUE or not any(each.census.wanted for each in reports)):
        status, reasons, lines = _of_both_modes(reports, old)
    return Condition(
        type=AVAILABLE,
        status=status,
        reason=combined_reason(reasons) or Because.NO_PODS_WANTED.value,
        message=bounded("\n".join(lines)),
        observed_generation=observed.generation,
    )


def _of_mode(reports: Sequence[_Report]) -> tuple[str, list[str], list[str]]:
    """Status, reasons and lines of all parts of one mode."""
    told = [each for each in reports if each.status != TRUE]
    lines = [f"{each.part.prefix}{line}" for each in told for line in each.lines]
    if not told:
        told = [each for each in reports if each.census.wanted] or list(reports)
        lines = [_in_numbers(told)]
    return combined_status(each.status for each in reports), [each.reason for each in told], lines


def _of_both_modes(
    reports: Sequence[_Report], old: Sequence[_Report]
) -> tuple[str, list[str], list[str]]:
    """The same while pods of the old mode are there for those of the new one."""
    serving = [each for each in old if each.census.wanted and not _is_going(each.part)]
    made = [each for each in reports if each.part.found is not None]
    status, reasons, lines = _of_mode(made or reports)
    if not serving:
        return status, reasons, lines
    before, old_reasons, old_lines = _of_mode(serving)
    # Where no node is to have a new pod, there is none to be well.
    now = status if made and any(each.census.wanted for each in made) else FALSE
    kind = serving[0].part.kind
    told = [f"{kind}, until the new pods are ready: {line}" for line in old_lines]
    if made:
        told += [f"{made[0].part.kind}: {line}" for line in lines]
    if before == TRUE:
        return TRUE, [Because.OLD_PODS_READY], told
    return better_status(before, now), [*old_reasons, *reasons], told


def _is_going(part: PodSet) -> bool:
    return bool(part.found and part.found["metadata"].get("deletionTimestamp"))


def _in_numbers(reports: Sequence[_Report]) -> str:
    """What is said of parts that are all well."""
    wanted = sum(each.census.wanted for each in reports)
    if not wanted:
        return _NO_PODS[reports[0].part.kind if reports else STATEFUL_SET]
    return f"{sum(each.census.ready for each in reports)} of {wanted} pods are ready"


def _reconciled(reports: Sequence[_Report], observed: Observations) -> Condition:
    """Whether what the workload asks for was brought about."""
    stuck = [f"{each.part.prefix}{line}" for each in reports for line in each.stuck]
    status, remarks = _outcome(observed, stuck)
    return Condition(
        type=RECONCILED,
        status=status,
        reason=combined_reason(each.reason for each in remarks),
        message=bounded("\n".join(each.message for each in remarks)),
        observed_generation=observed.generation,
    )


def _outcome(observed: Observations, stuck: Sequence[str]) -> tuple[str, tuple[Remark, ...]]:
    found = observed.reconciliation
    if found is None:
        return UNKNOWN, (Remark(Because.RECONCILIATION_PENDING, "not reconciled yet"),)
    if found.failure:
        return FALSE, (found.failure,)
    if stuck:
        text = "\n".join(("pods cannot be replaced by new ones:", *stuck))
        return FALSE, (Remark(Because.ROLLOUT_STUCK, text), *found.remarks)
    if observed.paused:
        held = Remark(Because.PAUSED, "changes are held back as long as spec.paused is true")
        return TRUE, (held, *found.remarks, *observed.remarks)
    well = Remark(Because.RECONCILIATION_SUCCEEDED, "all objects are as the specification asks")
    return TRUE, (*found.remarks, *observed.remarks) or (well,)


def _report(part: PodSet, owned: Owned, namespace: str) -> _Report:
    """The numbers of a part, and what is wrong with it."""
    where = f"{part.kind.lower()} {namespace}/{part.name}"
    if part.found is None:
        census = Census(part.replicas)
        return _Report(part, census, FALSE, _NOT_FOUND[part.kind], (f"{where} not found",))
    pods = pods_of(owned, part.kind, part.found)
    census = _daemon_set(part.found) if part.kind == DAEMON_SET else _stateful_set(part, pods)
    if not census.observed:
        line = f"{where} was not seen by its controller yet"
        return _Report(part, census, UNKNOWN, Because.DAEMON_SET_NOT_OBSERVED, (line,))
    if census.ready >= census.wanted:
        reason = Because.ALL_PODS_READY if census.wanted else Because.NO_PODS_WANTED
        return _Report(part, census, TRUE, reason, (), tuple(_stuck(part, census, pods)))
    lines = tuple(_troubles(part, census, pods, where))
    if census.ready:
        return _Report(part, census, DEGRADED, Because.SOME_PODS_NOT_READY, lines)
    return _Report(part, census, FALSE, Because.NO_POD_READY, lines)


def _stateful_set(part: PodSet, pods: Sequence[Object]) -> Census:
    """Pods counted one by one: a StatefulSet's own numbers lag behind them."""
    found = part.found or {}
    spec, status = found.get("spec") or {}, found.get("status") or {}
    living = [pod for pod in pods if alive(pod)]
    able = sum(map(ready, living))
    # Only the controller knows for how long a pod has been ready.
    known = status.get("availableReplicas", 0) if spec.get("minReadySeconds") else able
    current = None if _outdated(found) else status.get("updateRevision")
    return Census(
        wanted=part.replicas,
        replicas=len(living),
        updated=sum(revision(pod) == current for pod in living),
        ready=able,
        available=min(able, known),
    )


def _daemon_set(found: Object) -> Census:
    """The numbers of the controller, which are about nodes that should have a pod."""
    status = found.get("status") or {}
    wanted = status.get("desiredNumberScheduled", 0)
    return Census(
        wanted=wanted,
        replicas=wanted,
        updated=0 if _outdated(found) else status.get("updatedNumberScheduled", 0),
        ready=status.get("numberReady", 0),
        available=status.get("numberAvailable", 0),
        observed=bool(status.get("observedGeneration")),
    )


def _outdated(found: Object) -> bool:
    """Whether the controller has yet to see the latest specification, which no pod has then."""
    seen = (found.get("status") or {}).get("observedGeneration")
    return bool(seen) and seen < found["metadata"].get("generation", 0)


def _troubles(part: PodSet, census: Census, pods: Sequence[Object], where: str) -> Iterator[str]:
    """A line for each pod that is not ready, and one for those that do not exist."""
    bad = [pod for pod in pods if not ready(pod)]
    for pod in bad[:_MOST_PODS_TOLD]:
        yield f"pod {_called(pod, part.kind)}: {trouble(pod)}"
    if len(bad) > _MOST_PODS_TOLD:
        yield f"and {len(bad) - _MOST_PODS_TOLD} more pods that are not ready"
    if len(pods) < census.wanted:
        yield f"{where} has {len(pods)} of {census.wanted} pods: see its events"
    elif not bad:
        yield f"{census.ready} of {census.wanted} pods are ready"


def _stuck(part: PodSet, census: Census, pods: Sequence[Object]) -> Iterator[str]:
    """A line for each pod that holds up a rollout beside ready pods, as those of `maxSurge` do."""
    if census.updated < census.wanted:
        found = [pod for pod in pods if is_stuck(pod)]
        for pod in found[:_MOST_PODS_TOLD]:
            yield f"pod {_called(pod, part.kind)}: {trouble(pod)}"


def _called(pod: Object, kind: str) -> str:
    """The name of a pod; of one that belongs to a node, also that."""
    node = node_of(pod) if kind == DAEMON_SET else None
    name: str = pod["metadata"]["name"]
    return f"{name} on node {node}" if node else name
