"""What many resources say alike is kept once.

Monitors are made from few templates: their endpoints are the same but for the names around them,
and of a workload that took a hundred of them within a second, all say the same in their status.
Kept for each, that is a third of what a monitor costs. Nothing of it
is ever changed, so nobody can tell.

So much is remembered that any two of thousands are found to be alike, and not more than a few
megabytes, whatever tenants write: large resources are left as they are.
"""

import sys
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stoker.api.monitors import PodMonitor, ServiceMonitor

S = TypeVar("S", bound=Struct)

_ENDPOINTS: Final[Mapping[type[Struct], str]] = {
    ServiceMonitor: "endpoints",
    PodMonitor: "pod_metrics_endpoints",
}
# In bytes of JSON.
_LARGEST: Final = 4096
_MOST: Final = 2048
_encode: Final = msgspec.json.Encoder().encode
# By what it says: what is absent is equal to what is empty, and says something else.
_known: dict[tuple[type[Struct], bytes], Struct] = {}


def lean(found: Any, size: int) -> Any:
    """The same resource, with what it has in common with others; it came in so many bytes."""
    if size > _LARGEST:
        return found
    changed = {
        name: sys.intern(text)
        for name in ("api_version", "kind")
        if (text := getattr(found, name)) is not None
    }
    if found.status is not None:
        changed["status"] = _shared(found.status)
    member = _ENDPOINTS.get(type(found), "")
    endpoints = getattr(found.spec, member, None)
    if endpoints:
        changed["spec"] = replace(found.spec, **{member: tuple(map(_shared, endpoints))})
    return replace(found, **changed)


def entries() -> int:
    """How much is remembered, for others to share."""
    return len(_known)


def _shared(value: S) -> S:
    """The value that says the same and is known already, or this one from now on."""
    key = type(value), _encode(value)
    known = _known.get(key)
    if known is None:
        if len(_known) >= _MOST:
            _known.clear()
        known = _known[key] = value
    return known  # type: ignore[return-value]
