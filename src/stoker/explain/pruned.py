"""Fields that were applied and are not there: the definitions of the cluster do not know them.

An API server accepts an object with a field that its definition does not have, and drops the field
without a word. `kubectl apply` leaves a copy of what was applied in an annotation, which is how the
loss can be seen.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from stoker.api.admit import admit
from stoker.api.kinds import version_of
from stoker.errors import below
from stoker.select.choice import Resource
from stoker.select.workload import Workload

_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
_OLD: Final = "the CRDs of the cluster do not know it"
_NO_SUCH_FIELD: Final = "there is no such field"


def misspelt(path: str) -> str:
    """That a field is written which does not exist, so that a cluster drops it."""
    return f"{path} is dropped: {_NO_SUCH_FIELD}"


class PrunedField(Struct, frozen=True):
    """A field that was applied and is not there, and why."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} was applied, but dropped: {self.reason}"


def losses(found: Workload | Resource) -> list[PrunedField]:
    """What of an object was applied and is not there."""
    applied = _applied(found)
    version = version_of(found.api_version or "", type(found).__name__)
    # One that was converted to another version has other names for its fields.
    if applied is None or version is None or version.model is not type(found):
        return []
    paths = list(_lost(applied.get("spec"), msgspec.to_builtins(found.spec), "spec"))
    misspelt = {each.path for each in admit(version, applied).unknown} if paths else set()
    return [PrunedField(path, _NO_SUCH_FIELD if path in misspelt else _OLD) for path in paths]


def _applied(found: Workload | Resource) -> dict[str, Any] | None:
    """What was applied last, if that is known and was in the same version of the API."""
    text = (found.metadata.annotations or {}).get(_ANNOTATION)
    try:
        applied = json.loads(text) if text else None
    except ValueError:
        return None
    same = isinstance(applied, dict) and applied.get("apiVersion") == found.api_version
    return applied if same else None


def _lost(applied: Any, there: Any, path: str) -> Iterator[str]:
    if isinstance(applied, Mapping) and isinstance(there, Mapping):
        for name, value in applied.items():
            if name in there:
                yield from _lost(value, there[name], below(path, name))
            elif value is not None:
                yield below(path, name)
    elif isinstance(applied, list) and isinstance(there, list | tuple):
        for index, (one, other) in enumerate(zip(applied, there, strict=False)):
            yield from _lost(one, other, f"{path}[{index}]")
