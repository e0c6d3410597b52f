"""What many resources say alike is kept once.

Monitors are made from few templates: their endpoints are the same but for the names around them,
and of a workload that took a hundred of them within a second, all say the same in their status.
Kept for each, that is a third of what a monitor costs. Nothing of it
is ever changed, so nobody can tell.

So much is remembered that any two of thousands are found to be alike, and not more than a few
megabytes, whatever tenants write: large resources are left as they are.
"""

import sys
from collections.abc import Callable, Mapping
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
_texts: dict[str, str] = {}


def lean(found: Any, size: int) -> Any:
    """The same resource, with what it has in common with others; it came in so many bytes."""
    if size > _LARGEST:
        return found
    changed = {
        name: sys.intern(text)
        for name in ("api_version", "kind")
        if (text := getattr(found, name)) is not None
    }
    if found.metadata.namespace:
        namespace = _text(found.metadata.namespace)
        changed["metadata"] = replace(found.metadata, namespace=namespace)
    if found.status is not None:
        changed["status"] = _shared(found.status, _in_shared_texts)
    member = _ENDPOINTS.get(type(found), "")
    endpoints = getattr(found.spec, member, None)
    if endpoints:
        changed["spec"] = replace(found.spec, **{member: tuple(map(_shared, endpoints))})
    return replace(found, **changed)


def of_one_spec(old: Any, new: Any) -> Any:
    """A later state of a resource, with what it still says as it did taken from the earlier one.

    Whoever judged a resource keeps it as it was judged, while its status changes. That the spec is
    the same is known by the generation: what is absent equals what is empty.
    """
    before, after = old.metadata, new.metadata
    if (before.uid, before.generation) != (after.uid, after.generation) or not after.generation:
        return new
    if old.api_version != new.api_version:
        return new
    same = {
        name: value
        for name in ("name", "namespace", "uid", "labels", "annotations", "creation_timestamp")
        if (value := getattr(before, name)) == getattr(after, name)
    }
    return replace(new, spec=old.spec, metadata=replace(after, **same))


def entries() -> int:
    """How much is remembered, for others to share."""
    return len(_known) + len(_texts)


def _shared(value: S, leaner: Callable[[S], S] = lambda value: value) -> S:
    """The value that says the same and is known already, or this one, made leaner, from now on."""
    key = type(value), _encode(value)
    known = _known.get(key)
    if known is None:
        if len(_known) >= _MOST:
            _known.clear()
        known = _known[key] = leaner(value)
    return known  # type: ignore[return-value]


def _in_shared_texts(value: Any) -> Any:
    """The same value of texts that others have too: of two seconds, only the time is different."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        return tuple(map(_in_shared_texts, value))
    if isinstance(value, Struct):
        names = value.__struct_fields__
        return replace(value, **{name: _in_shared_texts(getattr(value, name)) for name in names})
    return value


def _text(text: str) -> str:
    """The text that says the same, if one is known; what is absent equals what is empty."""
    if not text:
        return text
    if len(_texts) >= _MOST:
        _texts.clear()
    return _texts.setdefault(text, text)
