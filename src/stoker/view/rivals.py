"""Operators that look after the same workload, as far as the API server remembers them.

Each operator that looks after a workload writes its status, and the API server notes under which
name (`managedFields`). Of two programs of the same name only one is seen.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

# The names under which operators write: ours, and those of the peer.
_OPERATORS: Final = frozenset({"stoker", "PrometheusOperator", "prometheus-operator"})


def rivals_of(managed_fields: Iterable[Mapping[str, Any]] | None) -> tuple[str, ...]:
    """The names of operators that write the status of an object, if there are several."""
    found = {
        str(each.get("manager"))
        for each in managed_fields or ()
        if each.get("subresource") == "status" and each.get("manager") in _OPERATORS
    }
    return tuple(sorted(found)) if len(found) > 1 else ()
