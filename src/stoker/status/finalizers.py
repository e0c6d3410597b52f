"""Finalizers put on and taken off without touching those of others.

What we know of an object comes from a cache and may be old. Each patch therefore first tests what
it builds on; the API server refuses it as a whole if that is no longer so, and the object is looked
at again. An empty patch means that there is nothing to do.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

Operation: TypeAlias = dict[str, Any]

_PATH = "/metadata/finalizers"


def removing(finalizer: str, finalizers: Sequence[str] | None) -> list[Operation]:
    """The JSON patch that takes a finalizer off, if it is still where it was seen."""
    present = list(finalizers or ())
    if finalizer not in present:
        return []
    path = f"{_PATH}/{present.index(finalizer)}"
    return [{"op": "test", "path": path, "value": finalizer}, {"op": "remove", "path": path}]
