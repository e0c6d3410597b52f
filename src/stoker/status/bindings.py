"""Bindings: what the workloads that select a configuration resource made of it.

Each workload writes its own binding by server-side apply on the `status` subresource, as a field
manager of its own. Bindings are a list with keys, so the API server merges what is applied: two
workloads never wait for each other, nor undo what the other wrote.

    mine = dated_binding(stored, binding(workload, verdict, generation), now)
    if is_news(stored, mine): apply(status_apply(resource, mine), manager_of(workload))

A workload that has not looked at a resource yet says `Unknown` and why, unless the resource still
tells what it made of it before: what was true or false stays until the workload knows better.

A binding is not taken back by applying a status without it: that would leave one that somebody else
wrote as well, as after a takeover from prometheus-operator.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stoker.api.common import Binding, BindingCondition, TargetCounts
from stoker.api.core import Object
from stoker.api.crd import GROUP
from stoker.api.decode import convert
from stoker.generate.draft import Ignored
from stoker.status.conditions import (
    ACCEPTED,
    FALSE,
    TRUE,
    UNKNOWN,
    Because,
    bounded,
    dated,
    json_of,
    same_conditions,
)
from stoker.status.targets import same_targets
from stoker.validate.findings import INVALID_CONFIGURATION

_KEYS: Final = ("group", "resource", "namespace", "name")
_LONGEST_MANAGER: Final = 128
# It is said at each of the resources of a workload, of which there may be thousands.
_LONGEST_CAUSE: Final = 1024


class AnyVerdict(Protocol):
    """What a workload makes of a resource, as `Verdict` has it. No message holds a secret."""

    @property
    def accepted(self) -> bool:
        """Whether the resource goes into the configuration."""

    @property
    def reason(self) -> str:
        """The word for a rejection."""

    @property
    def message(self) -> str:
        """The sentence for a rejection."""


class BoundWorkload(Struct, frozen=True):
    """The workload that a binding is about; `resource` is the plural, as in `prometheuses`."""

    resource: str
    namespace: str
    name: str
    group: str = GROUP


class ResourceIdentity(Struct, frozen=True):
    """The configuration resource whose status is written; with a `uid` that one, no namesake."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""


def binding(
    workload: BoundWorkload,
    verdict: AnyVerdict,
    generation: int,
    ignored: Iterable[Ignored] = (),
    targets: TargetCounts | None = None,
) -> Binding:
    """What the workload made of the resource at a generation, not dated yet.

    `ignored` are the fields of an accepted resource that the workload's version does not know,
    `targets` what is scraped for it, if that is known.
    """
    reason, message = _words(verdict, tuple(ignored))
    condition = BindingCondition(
        type=ACCEPTED,
        status=TRUE if verdict.accepted else FALSE,
        reason=reason,
        message=bounded(message),
        observed_generation=generation,
    )
    return _bound(workload, condition, targets if verdict.accepted else None)


def unknown_binding(workload: BoundWorkload, reason: str, message: str) -> Binding:
    """That the workload has not looked at the resource, in no generation, and why; not dated."""
    condition = BindingCondition(
        type=ACCEPTED, status=UNKNOWN, reason=reason, message=bounded(message, _LONGEST_CAUSE)
    )
    return _bound(workload, condition)


def _bound(
    workload: BoundWorkload, condition: BindingCondition, targets: TargetCounts | None = None
) -> Binding:
    return Binding(
        group=workload.group,
        resource=workload.resource,
        namespace=workload.namespace,
        name=workload.name,
        conditions=(condition,),
        targets=targets,
    )


def _words(verdict: AnyVerdict, ignored: tuple[Ignored, ...]) -> tuple[str, str]:
    if not verdict.accepted:
        return verdict.reason or INVALID_CONFIGURATION, verdict.message or "cannot be used"
    if ignored:
        told = "; ".join(f"{each.path}: {each.reason}" for each in ignored)
        return Because.IGNORED_FIELDS.value, f"accepted, with fields left out: {told}"
    return Because.ACCEPTED.value, "part of the configuration"


def dated_binding(
    previous: Sequence[Mapping[str, Any]] | None, mine: Binding, now: datetime
) -> Object:
    """My binding as JSON; what it says keeps its time as long as it stays the same.

    `previous` are the bindings that the resource has, whoever wrote them.
    """
    before = _found(previous, json_of(mine)) or {}
    stored = before.get("conditions") or ()
    conditions = tuple(dated(each, stored, now) for each in mine.conditions or ())
    made = json_of(replace(mine, conditions=conditions))
    if made.get("targets") and same_targets(before.get("targets"), made["targets"]):
        made["targets"] = before["targets"]
    return made


def same(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Whether two bindings say the same of the same workload, no matter since when."""
    conditions = (a.get("conditions") or (), b.get("conditions") or ())
    return (
        _key(a) == _key(b)
        and same_conditions(*conditions)
        and same_targets(a.get("targets"), b.get("targets"))
    )


def told_targets(
    previous: Sequence[Mapping[str, Any]] | None, workload: BoundWorkload
) -> TargetCounts | None:
    """What the resource says of the targets of a workload."""
    stored = (_found(previous, msgspec.to_builtins(workload)) or {}).get("targets")
    return convert(TargetCounts, stored) if stored else None


def is_news(previous: Sequence[Mapping[str, Any]] | None, mine: Mapping[str, Any]) -> bool:
    """Whether the resource does not have my binding yet: only then is there something to write."""
    before = _found(previous, mine)
    return before is None or not same(before, mine)


def is_known(previous: Sequence[Mapping[str, Any]] | None, workload: BoundWorkload) -> bool:
    """Whether the resource tells what the workload made of it, of whatever generation."""
    before = _found(previous, msgspec.to_builtins(workload))
    return before is not None and not is_unknown(before)


def is_unknown(stored: Mapping[str, Any]) -> bool:
    """Whether a binding says no more than that it is not known."""
    return any(each.get("status") == UNKNOWN for each in stored.get("conditions") or ())


def is_told(
    previous: Sequence[Mapping[str, Any]] | None, workload: BoundWorkload, message: str
) -> bool:
    """Whether the resource says already that the workload rejected it, in these words."""
    before = _found(previous, msgspec.to_builtins(workload)) or {}
    return any(
        each.get("status") == FALSE and each.get("message") == bounded(message)
        for each in before.get("conditions") or ()
    )


def status_apply(resource: ResourceIdentity, mine: Object) -> Object:
    """What `manager_of` the workload applies to the resource's `status`: its binding alone."""
    metadata = {"name": resource.name, "namespace": resource.namespace}
    if resource.uid:
        metadata["uid"] = resource.uid
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        "status": {"bindings": [mine]},
    }


def manager_of(workload: BoundWorkload) -> str:
    """The field manager that writes the bindings of a workload, and of no other."""
    place = f"{workload.namespace}/{workload.name}"
    readable = f"stoker/{workload.resource}/{place}"
    if len(readable.encode()) <= _LONGEST_MANAGER:
        return readable
    # No name has a slash in it, so this is nobody's readable one.
    return f"stoker/{workload.resource}/{hashlib.sha256(place.encode()).hexdigest()}"


def _found(
    bindings: Sequence[Mapping[str, Any]] | None, mine: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    key = _key(mine)
    return next((each for each in bindings or () if _key(each) == key), None)


def _key(each: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(each.get(name, "") for name in _KEYS)
