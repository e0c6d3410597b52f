"""What many resources say alike is kept once.

Monitors are made from few templates: their endpoints are the same but for the names around them,
and of a workload that took a hundred of them within a second, all say the same in their status.
Alerts of a team have the same labels, and what one resource says it says more than once: its name
stands in its labels and in what it selects. Kept for each, that is half of what a monitor costs.
Nothing of it is ever changed, so nobody can tell.

So much is remembered that any two of thousands are found to be alike, and not more than a few
megabytes, whatever tenants write: large resources are left as they are, and long texts.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import ObjectMeta
from stoker.api.monitors import PodMonitor, ServiceMonitor
from stoker.api.rules import PrometheusRule, Rule, RuleGroup

S = TypeVar("S", bound=Struct)
T = TypeVar("T", str, str | None)
V = TypeVar("V")

# In bytes of JSON. Rules are as long as all of their alerts, which have the more in common.
_LARGEST: Final = 4096
_LARGEST_RULES: Final = 64 * 1024
# Of a text, or of labels as JSON.
_LONGEST: Final = 512
_MOST: Final = 2048
_encode: Final = msgspec.json.Encoder().encode
# By what it says: what is absent is equal to what is empty, and says something else.
_known: dict[tuple[type, bytes], Any] = {}
_texts: dict[str, str] = {}
_NOTHING: Final[Mapping[str, str]] = {}


def lean(found: Any, size: int) -> Any:
    """The same resource, with what it has in common with others; it came in so many bytes."""
    if size > (_LARGEST_RULES if isinstance(found, PrometheusRule) else _LARGEST):
        return found
    changed: dict[str, Any] = {
        name: sys.intern(text)
        for name in ("api_version", "kind")
        if (text := getattr(found, name)) is not None
    }
    changed["metadata"] = _metadata(found.metadata)
    if found.status is not None:
        changed["status"] = _shared(found.status, _in_shared_texts)
    if share := _SPECS.get(type(found)):
        changed["spec"] = share(found.spec, found.metadata.name)
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


# --- Parts of resources ---------------------------------------------------------------------------


def _metadata(found: ObjectMeta) -> ObjectMeta:
    return replace(
        found,
        namespace=_text(found.namespace),
        creation_timestamp=_text(found.creation_timestamp),
        labels=_labels(found.labels, found.name),
    )


def _monitor(endpoints: str, spec: Any, name: str | None) -> Any:
    """The specification of a monitor, whose endpoints are called so."""
    changed: dict[str, Any] = {}
    if found := getattr(spec, endpoints):
        changed[endpoints] = tuple(map(_shared, found))
    if wanted := spec.selector.match_labels:
        changed["selector"] = replace(spec.selector, match_labels=_labels(wanted, name))
    return replace(spec, **changed)


def _rules(spec: Any, _: str | None) -> Any:
    return replace(spec, groups=spec.groups and tuple(map(_group, spec.groups)))


def _group(group: RuleGroup) -> RuleGroup:
    return replace(group, rules=group.rules and tuple(map(_rule, group.rules)))


def _rule(rule: Rule) -> Rule:
    return replace(
        rule,
        alert=_text(rule.alert),
        for_=_text(rule.for_),
        labels=_labels(rule.labels),
        annotations=rule.annotations and _in_texts(rule.annotations),
    )


_SPECS: Final[Mapping[type[Struct], Callable[[Any, str | None], Any]]] = {
    ServiceMonitor: partial(_monitor, "endpoints"),
    PodMonitor: partial(_monitor, "pod_metrics_endpoints"),
    PrometheusRule: _rules,
}


# --- What is alike --------------------------------------------------------------------------------


def _labels(found: dict[str, str] | None, name: str | None = None) -> dict[str, str] | None:
    """The same labels, which others may have, or say the name of a resource as it does itself."""
    if not found:
        return found
    if name and name in found.values():
        # Nobody else has these.
        return _in_texts(found, {name: name})
    return _remembered(found, _in_texts)


def _in_texts(found: dict[str, str], own: Mapping[str, str] = _NOTHING) -> dict[str, str]:
    return {_text(name): own.get(text) or _text(text) for name, text in found.items()}


def _shared(value: S, leaner: Callable[[S], S] = lambda value: value) -> S:
    """The value that says the same and is known already, or this one, made leaner, from now on."""
    return _remembered(value, leaner, _LARGEST)


def _remembered(value: V, leaner: Callable[[V], V], longest: int = _LONGEST) -> V:
    said = _encode(value)
    if len(said) > longest:
        return value
    known: V | None = _known.get((type(value), said))
    if known is None:
        if len(_known) >= _MOST:
            _known.clear()
        known = _known[type(value), said] = leaner(value)
    return known


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


def _text(text: T) -> T:
    """The text that says the same, if one is known; what is absent equals what is empty."""
    if not text or len(text) > _LONGEST:
        return text
    if len(_texts) >= _MOST:
        _texts.clear()
    return _texts.setdefault(text, text)
