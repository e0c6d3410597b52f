"""Conditions: one aspect of an object's state each, with a word for programs and one for people.

A condition is made without a time and dated last: it keeps the time of its predecessor as long as
its `status` stays the same, whatever happens to reason and message. So a status that is worked out
again from the same facts is equal to the one before, and nothing needs to be written.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from stoker.api.common import Condition
from stoker.api.core import Object
from stoker.api.declare import Model
from stoker.api.decode import encode

AVAILABLE: Final = "Available"
RECONCILED: Final = "Reconciled"
ACCEPTED: Final = "Accepted"

TRUE: Final = "True"
DEGRADED: Final = "Degraded"
UNKNOWN: Final = "Unknown"
FALSE: Final = "False"
_WORST_FIRST: Final = (FALSE, DEGRADED, UNKNOWN, TRUE)

# What Kubernetes allows in conditions of its own.
LONGEST_MESSAGE: Final = 32768

C = TypeVar("C", bound=Condition)


class Because(StrEnum):
    """The words of conditions, one per cause."""

    ALL_PODS_READY = "AllPodsReady"
    NO_PODS_WANTED = "NoPodsWanted"
    NO_POD_READY = "NoPodReady"
    OLD_PODS_READY = "OldPodsReady"
    SOME_PODS_NOT_READY = "SomePodsNotReady"
    STATEFUL_SET_NOT_FOUND = "StatefulSetNotFound"
    DAEMON_SET_NOT_FOUND = "DaemonSetNotFound"
    DAEMON_SET_NOT_OBSERVED = "DaemonSetNotObserved"

    RECONCILIATION_SUCCEEDED = "ReconciliationSucceeded"
    RECONCILIATION_FAILED = "ReconciliationFailed"
    RECONCILIATION_PENDING = "ReconciliationPending"
    OBJECT_REFUSED = "ObjectRefused"
    FORBIDDEN = "Forbidden"
    NOT_INSTALLED = "NotInstalled"
    PAUSED = "Paused"
    SWITCHING_MODE = "SwitchingMode"
    MODE_CHANGE_HELD = "ModeChangeHeld"
    ROLLOUT_STUCK = "RolloutStuck"
    IGNORED_FIELDS = "IgnoredFields"
    DEPRECATED_FIELDS_IN_USE = "DeprecatedFieldsInUse"
    NO_SELECTED_RESOURCES = "NoSelectedResources"
    CONFIGURATION_UNMANAGED = "ConfigurationUnmanaged"
    VALUES_OUTDATED = "ValuesOutdated"
    NODES_NOT_COVERED = "NodesNotCovered"
    STRANGE_RELOADER = "StrangeReloader"

    ACCEPTED = "Accepted"


GOES_ON: Final = frozenset(
    {Because.OBJECT_REFUSED, Because.MODE_CHANGE_HELD, Because.ROLLOUT_STUCK}
)
"""Why a workload is not as it should be though its configuration is: what it selects is used."""


def combined_status(statuses: Iterable[str]) -> str:
    """The worst of several; all is well where there are none."""
    return min(statuses, key=_WORST_FIRST.index, default=TRUE)


def better_status(one: str, other: str) -> str:
    """The better of two."""
    return max(one, other, key=_WORST_FIRST.index)


def combined_reason(reasons: Iterable[str]) -> str:
    """Several words as one, each once and in alphabetical order."""
    return "And".join(sorted({reason for reason in reasons if reason}))


def bounded(message: str, most: int = LONGEST_MESSAGE) -> str:
    """The message, or as much of its start as fits, with a mark that there was more."""
    return message if len(message) <= most else f"{message[: most - 1]}…"


def timestamp(moment: datetime) -> str:
    """A moment as Kubernetes writes it: `2026-01-31T12:00:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def dated(fresh: C, previous: Iterable[Mapping[str, Any]], now: datetime) -> C:
    """The condition with the time at which its status became what it is.

    `previous` are the conditions of the object as it is stored.
    """
    before = next((each for each in previous if each.get("type") == fresh.type), {})
    kept = before.get("lastTransitionTime") if before.get("status") == fresh.status else None
    return replace(fresh, last_transition_time=kept or timestamp(now))


def same_conditions(a: Iterable[Mapping[str, Any]], b: Iterable[Mapping[str, Any]]) -> bool:
    """Whether two lists say the same, no matter in which order and since when."""
    return _content(a) == _content(b)


def _content(conditions: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        each.get("type", ""): {
            name: value for name, value in each.items() if value and name != "lastTransitionTime"
        }
        for each in conditions
    }


def json_of(declared: Model) -> Object:
    """A declared object as the API server would return it, to be compared with what is stored."""
    found: Object = msgspec.json.decode(encode(declared))
    return found
