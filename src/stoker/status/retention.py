"""Shards that were scaled away: deleted at once, or kept for a while so that they can be queried.

When `shards` is lowered and the policy is `Retain`, the StatefulSet of a shard that is too many is
given a deadline, as an annotation, and is deleted when that has passed. The annotation is then the
user's to change: `0001-01-01T00:00:00Z` means never, and is what a shard gets whose data is limited
by size alone. It goes when the shard is wanted again. One that cannot be read deletes nothing.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.prometheus import PrometheusSpec
from stoker.api.workload import WorkloadSpec
from stoker.errors import WorkloadError
from stoker.status.conditions import timestamp
from stoker.validate.syntax import milliseconds, quantity

DEADLINE: Final = "operator.prometheus.io/deletion-deadline"
NEVER: Final = "0001-01-01T00:00:00Z"
_RETAIN: Final = "Retain"
_DEFAULT_RETENTION: Final = "24h"


class ShardAction(StrEnum):
    """What to do with a StatefulSet: SET and CLEAR are about the annotation."""

    KEEP = "keep"
    DELETE = "delete"
    SET_DEADLINE = "set deadline"
    CLEAR_DEADLINE = "clear deadline"


class Fate(Struct, frozen=True):
    """What becomes of a StatefulSet.

    `deadline` is the annotation that it has from now on. `again` is when it must be looked at
    again, though nothing may have changed. `problem` is what is wrong with the annotation.
    """

    name: str
    action: ShardAction
    deadline: str | None = None
    again: datetime | None = None
    problem: str = ""


def fates(
    spec: WorkloadSpec,
    stateful_sets: Iterable[Object],
    wanted: Collection[str],
    now: datetime,
    *,
    enabled: bool,
) -> tuple[Fate, ...]:
    """What becomes of each StatefulSet of a workload; those named in `wanted` stay.

    `enabled` is the feature gate: without it, what is too many is deleted.
    """
    return tuple(_fates(spec, stateful_sets, wanted, now, enabled=enabled))


def _fates(
    spec: WorkloadSpec,
    stateful_sets: Iterable[Object],
    wanted: Collection[str],
    now: datetime,
    *,
    enabled: bool,
) -> Iterator[Fate]:
    for each in stateful_sets:
        name = each["metadata"]["name"]
        if each["metadata"].get("deletionTimestamp"):
            yield Fate(name, ShardAction.KEEP)
        elif name in wanted:
            yield Fate(name, ShardAction.CLEAR_DEADLINE if _annotation(each) else ShardAction.KEEP)
        else:
            yield fate(spec, each, now, enabled=enabled)


def fate(spec: WorkloadSpec, stateful_set: Object, now: datetime, *, enabled: bool) -> Fate:
    """What becomes of the StatefulSet of a shard that is too many.

    WorkloadError where the workload's own retention cannot be read.
    """
    name = stateful_set["metadata"]["name"]
    if not enabled or not isinstance(spec, PrometheusSpec) or not _retains(spec):
        return Fate(name, ShardAction.DELETE)
    annotation = _annotation(stateful_set)
    if annotation:
        return _at_deadline(name, annotation, now)
    period = grace_period(spec)
    if period is None:
        return Fate(name, ShardAction.SET_DEADLINE, NEVER)
    deadline = now + period
    return Fate(name, ShardAction.SET_DEADLINE, timestamp(deadline), deadline)


def _retains(spec: PrometheusSpec) -> bool:
    policy = spec.shard_retention_policy
    return policy is not None and policy.when_scaled == _RETAIN


def _annotation(stateful_set: Object) -> str:
    annotations = stateful_set["metadata"].get("annotations") or {}
    return annotations.get(DEADLINE) or ""


def _at_deadline(name: str, annotation: str, now: datetime) -> Fate:
    try:
        deadline = datetime.fromisoformat(annotation)
    except ValueError:
        deadline = None
    if deadline is None or deadline.tzinfo is None:
        problem = f"annotation {DEADLINE} is not a time such as `2026-01-31T12:00:00Z`"
        return Fate(name, ShardAction.KEEP, annotation, problem=problem)
    if deadline.replace(tzinfo=UTC) == datetime.min.replace(tzinfo=UTC):
        return Fate(name, ShardAction.KEEP, annotation)
    if deadline <= now:
        return Fate(name, ShardAction.DELETE)
    return Fate(name, ShardAction.KEEP, annotation, deadline)


def grace_period(spec: PrometheusSpec) -> timedelta | None:
    """For how long a shard that is too many is kept; None means for good.

    A policy of its own wins, then the workload's retention, by default a day. Data that is limited
    by size alone has no age at which it goes, and a period of zero is none.
    """
    policy = spec.shard_retention_policy
    retain = policy.retain if policy else None
    if retain and retain.retention_period:
        where = "spec.shardRetentionPolicy.retain.retentionPeriod"
        return _period(where, retain.retention_period)
    if not spec.retention and (spec.retention_size or _by_percentage(spec)):
        return None
    return _period("spec.retention", spec.retention or _DEFAULT_RETENTION)


def _by_percentage(spec: PrometheusSpec) -> bool:
    share = quantity(spec.retention_percentage) if spec.retention_percentage is not None else None
    return share is not None and share > 0


def _period(path: str, text: str) -> timedelta | None:
    length = milliseconds(text)
    if length is None:
        raise WorkloadError(path, f"`{text[:40]}` is not a duration such as `15d`")
    return timedelta(milliseconds=length) if length else None
