"""Two states of one object: where they differ, and how that looks, without a Secret's value."""

import gzip
import zlib
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.build.drift import as_far_as_wanted, differences
from stoker.build.hashing import INPUT_HASH
from stoker.compare.lines import FileDiff, file_diff
from stoker.generate.block import text_of
from stoker.ref import Ref, ref_of_manifest

_PACKED: Final = ".gz"
# What is written but says nothing of its own: a word for all the rest, and whose the object is.
_SILENT: Final = (f"metadata.annotations.{INPUT_HASH}", "metadata.ownerReferences")
_TEMPLATE: Final = "spec.template"
# What an API server does not let anybody change in a StatefulSet.
_FIXED: Final = (
    "spec.podManagementPolicy",
    "spec.selector",
    "spec.serviceName",
    "spec.volumeClaimTemplates",
)
_NOBODY: Final = "/"


class Action(StrEnum):
    """What happens to an object."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


class ObjectChange(Struct, frozen=True, kw_only=True):
    """What happens to one object; `rolls`: its pods are recreated, `replaced`: so is the object.

    `waits`: its pods should be others, and are recreated when somebody deletes them. `pods` is what
    happens to all of its pods: they come and go with it, or as their number is no longer 0 or is.
    """

    kind: str
    namespace: str
    name: str
    action: Action
    paths: tuple[str, ...] = ()
    rolls: bool = False
    waits: bool = False
    pods: Action = Action.CHANGED
    replaced: bool = False
    files: tuple[FileDiff, ...] = ()

    @property
    def title(self) -> str:
        """Kind, namespace and name."""
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def runs_pods(self) -> bool:
        """Whether it is what runs the pods of a workload."""
        return self.kind in ("StatefulSet", "DaemonSet")


def changed_from_live(wanted: Object, live: Object | None, manager: str) -> ObjectChange | None:
    """What an operator that writes as `manager` does to a live object; None if nothing."""
    if live is None:
        return _change(wanted, Action.NEW, (), None, wanted)
    paths = tuple(differences(_unpacked(wanted), _unpacked(live), manager))
    seen = as_far_as_wanted(wanted, live)
    if wanted["kind"] == "ConfigMap":
        # Files that are wanted no longer are worth seeing.
        seen = seen | {"data": live.get("data") or {}}
    return _change(wanted, Action.CHANGED, paths, seen, wanted)


def changed_from_before(after: Object, before: Object | None) -> ObjectChange | None:
    """What happens to an object that was made of one state, in another; None if nothing."""
    if before is None:
        return _change(after, Action.NEW, (), None, after)
    one, other = _unpacked(after), _unpacked(before)
    both = (*differences(one, other, _NOBODY), *differences(other, one, _NOBODY))
    return _change(after, Action.CHANGED, tuple(dict.fromkeys(both)), before, after)


def gone(before: Object) -> ObjectChange:
    """What happens to an object that is wanted no longer."""
    kind, namespace, name = ref_of_manifest(before)
    return ObjectChange(
        kind=kind, namespace=namespace, name=name, action=Action.GONE, pods=Action.GONE
    )


def _change(
    wanted: Object, action: Action, paths: tuple[str, ...], before: Object | None, after: Object
) -> ObjectChange | None:
    told = tuple(path for path in paths if not path.startswith(_SILENT))
    if action is Action.CHANGED and not told:
        return None
    identity = ref_of_manifest(wanted)
    kind, namespace, name = identity
    pods = action if action is not Action.CHANGED else _pods(_number(before or {}), _number(wanted))
    stay = pods is Action.CHANGED and _number(wanted) != 0
    return ObjectChange(
        kind=kind,
        namespace=namespace,
        name=name,
        action=action,
        paths=told,
        rolls=stay and _has_other_pods(told) and not _waits(wanted),
        waits=stay and _has_other_pods(told) and _waits(wanted),
        pods=pods,
        replaced=kind == "StatefulSet" and any(path.startswith(_FIXED) for path in told),
        files=tuple(_files(identity, before, after)) if action is Action.CHANGED else (),
    )


def _number(found: Object) -> int | None:
    """How many pods there should be; None where an object does not say."""
    number: int | None = (found.get("spec") or {}).get("replicas")
    return number


def _pods(before: int | None, after: int | None) -> Action:
    """What happens to pods of which there were so many, and then others."""
    if before == after or 0 not in (before, after):
        return Action.CHANGED
    return Action.GONE if after == 0 else Action.NEW


def _has_other_pods(paths: Iterable[str]) -> bool:
    return any(path.startswith(_TEMPLATE) for path in paths)


def _waits(wanted: Object) -> bool:
    """Whether pods are left as they are until somebody deletes them."""
    strategy = (wanted.get("spec") or {}).get("updateStrategy") or {}
    return strategy.get("type") == "OnDelete"


# --- How it looks ---------------------------------------------------------------------------------


def _files(identity: Ref, before: Object | None, after: Object) -> Iterator[FileDiff]:
    title = str(identity)
    old, new = _texts(before or {}, {}), _texts(after, before or {})
    for name in sorted(old.keys() | new.keys()):
        made = file_diff(f"{title}{f' {name}' if name else ''}", old.get(name), new.get(name))
        if made:
            yield made


def _texts(found: Object, before: Object) -> dict[str, str]:
    """An object as texts: the files of a ConfigMap by their names, and the rest under none."""
    if not found:
        return {}
    files = dict(found.get("data") or {}) if found["kind"] == "ConfigMap" else {}
    return files | {"": text_of(_presented(found, before))}


def _presented(found: Object, before: Object) -> Object:
    """An object as people may see it."""
    metadata = {name: value for name, value in found["metadata"].items() if name in _SHOWN_METADATA}
    annotations = metadata.pop("annotations", None) or {}
    kept = {name: value for name, value in annotations.items() if name != INPUT_HASH}
    metadata |= {"annotations": kept} if kept else {}
    shown = found | {"metadata": metadata}
    data = shown.pop("data", None)
    if found["kind"] == "Secret":
        shown["data"] = {key: _stand_in(before, key, data[key]) for key in data or ()}
    ordered: Object = _sorted(shown)
    return ordered


_SHOWN_METADATA: Final = ("name", "namespace", "labels", "annotations")


def _sorted(value: Any) -> Any:
    """The same, with members in one order whoever wrote them."""
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list | tuple) else value


def _stand_in(before: Object, key: str, value: str) -> str:
    """What is shown instead of a value of a Secret; a configuration is compared as a text."""
    if key.endswith(_PACKED):
        return "<configuration>"
    known = (before.get("data") or {}).get(key) if before else value
    return "<not shown>" if known == value else "<not shown, another value>"


def _unpacked(found: Object) -> Object:
    """A Secret with what is compressed in it as it is: two ways to compress are no difference."""
    if found["kind"] != "Secret" or not found.get("data"):
        return found
    return found | {"data": {key: _content(key, value) for key, value in found["data"].items()}}


def _content(key: str, encoded: str) -> str | bytes:
    if not key.endswith(_PACKED):
        return encoded
    try:
        return gzip.decompress(b64decode(encoded))
    except (OSError, EOFError, ValueError, zlib.error):
        return encoded
