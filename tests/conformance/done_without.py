"""Parts of the peer that our operator does without, written for their recorded cases alone.

We put no finalizer on anything, one watch never serves two lists of namespaces, sets are found by
their owners, and a change of labels is told apart by whom it concerns before and after.
"""

from collections.abc import Iterable, Mapping, Sequence

from stoker.build.names import MANAGING_OPERATOR, MODE, NAME, SHARD
from stoker.operator.reconcile import Operation
from stoker.select.labels import Selector

_PATH = "/metadata/finalizers"


def selection_changed(
    selector: Selector, old: Mapping[str, str] | None, current: Mapping[str, str] | None
) -> bool:
    """Whether a change of labels is one between chosen and not chosen."""
    return selector.matches(old) is not selector.matches(current)


def identical(first: Iterable[str], second: Iterable[str]) -> bool:
    """Whether two lists name the same namespaces."""
    return set(first) == set(second)


def adding(
    finalizer: str, finalizers: Sequence[str] | None, resource_version: str
) -> list[Operation]:
    """The JSON patch that adds a finalizer; another's list is never overwritten."""
    present = list(finalizers or ())
    if finalizer in present:
        return []
    if not present:
        return [
            {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version},
            {"op": "add", "path": _PATH, "value": [finalizer]},
        ]
    return [
        {"op": "test", "path": _PATH, "value": present},
        {"op": "add", "path": f"{_PATH}/-", "value": finalizer},
    ]


def stateful_set_selector(mode: str) -> str:
    """A label selector for all StatefulSets of a mode, `server` or `agent`, whoever owns them."""
    return f"managed-by in ({MANAGING_OPERATOR}),{SHARD},{NAME},{MODE} in ({mode})"
