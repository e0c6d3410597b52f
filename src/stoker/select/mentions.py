"""The Secrets and ConfigMaps that a resource names, found without judging it.

Whoever judges it says which of them count. This only tells early what will be asked for, so that
it can be read meanwhile; so it need not be complete, and looks at a limited part of a large one.
"""

from itertools import islice
from types import NoneType
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import astuple

from stoker.api.core import ConfigMapKeySelector, SecretKeySelector
from stoker.ref import Ref
from stoker.select.assets import source_of

MOST_VALUES: Final = 20_000
"""So many values of a resource are looked at."""

_PLAIN: Final = frozenset((str, int, float, bool, NoneType))


def mentioned(spec: Any, namespace: str) -> set[Ref]:
    """The objects that a typed `spec` of a resource in this namespace refers to."""
    found: set[Ref] = set()
    waiting, left = [spec], MOST_VALUES
    while waiting and left > 0:
        value = waiting.pop()
        if isinstance(value, SecretKeySelector | ConfigMapKeySelector):
            source = source_of(value, namespace)
            if source is not None:
                found.add(source.ref)
            continue
        members = _members(value)
        waiting += [each for each in islice(members, left) if type(each) not in _PLAIN]
        left -= len(members)
    return found


def _members(value: Any) -> tuple[Any, ...] | list[Any]:
    if isinstance(value, Struct):
        return astuple(value)
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, tuple | list) else ()
