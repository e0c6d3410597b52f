"""Objects from one served version to another, with nothing lost on the way there and back.

Only AlertmanagerConfig has two versions. Where they differ is found by walking both declarations
side by side, so a field that is added to one of them is noticed here by itself:

    spec.muteTimeIntervals       is called timeIntervals in v1beta1 (`RENAMED`)
    regex of a matcher           v1beta1 says it with matchType `=~`
    updateAlerts of Opsgenie     v1beta1 has no word for it
    optional of some Secrets     v1beta1 has no word for it

What v1beta1 has no word for goes into an annotation of the v1beta1 object, and comes back from
there. An entry of it is used only where it still fits: after an edit in v1beta1 that moved or
changed its place it is dropped. It can bring back nothing but these members, so nobody can write
with it what the schema would refuse.

Nested routes are plain JSON to the API server and may hold anything. What does not belong there is
left as it is and told as a finding: an object that cannot be converted would make the API server
fail every list that it is part of, for all namespaces.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct, inspect

from stoker.api.admit import UNKNOWN_FIELD, WRONG_TYPE, Finding
from stoker.api.amconfig import ALERTMANAGER_CONFIG, v1alpha1, v1beta1
from stoker.api.core import Object
from stoker.api.crd import GROUP
from stoker.api.kinds import version_of
from stoker.errors import FieldError, below

ANNOTATION: Final = "operator.prometheus.io/v1alpha1-only"
"""Holds, in a v1beta1 object, what only v1alpha1 can say."""

RENAMED: Final = {"muteTimeIntervals": "timeIntervals"}
"""Members of the spec that have another name in v1beta1."""

_REGEX: Final = "regex"
_MATCH_TYPE: Final = "matchType"
_ROUTES: Final = "routes"
# Far more levels than anybody writes, far fewer than Python can follow.
_DEEPEST: Final = 100
# All annotations of an object together may have 256 KiB.
_LONGEST: Final = 128 * 1024

Step: TypeAlias = str | int


class Converted(Struct, frozen=True):
    """An object in another version, and what was found in it that belongs to none."""

    object: Object
    findings: tuple[Finding, ...] = ()


def converted(given: Object, api_version: str) -> Converted:
    """The object in another version of its kind; FieldError if there is no such version."""
    here, kind = str(given.get("apiVersion", "")), str(given.get("kind", ""))
    for field, version in (("apiVersion", here), ("desiredAPIVersion", api_version)):
        if version_of(version, kind) is None:
            raise FieldError(field, f"there is no {kind[:80]} in `{version[:80]}`")
    if here == api_version:
        return Converted(given)
    # Of all kinds, AlertmanagerConfig alone has a version to go to.
    made = _DIRECTIONS[api_version](given)
    return Converted(made.object | {"apiVersion": api_version}, made.findings)


# --- Where the versions differ --------------------------------------------------------------------


class Difference(Struct):
    """Members of a v1alpha1 type: all, those that v1beta1 lacks, and those with differences inside.

    A list has the difference of its items.
    """

    members: frozenset[str]
    only: frozenset[str]
    inner: dict[str, "Difference"]

    @property
    def is_matcher(self) -> bool:
        """Whether this is a matcher, whose `regex` v1beta1 says in another way."""
        return _REGEX in self.only


@cache
def differences() -> Difference:
    """The difference between the specs of the two versions."""
    return _difference(
        inspect.type_info(v1alpha1.AlertmanagerConfigSpec),
        inspect.type_info(v1beta1.AlertmanagerConfigSpec),
        RENAMED,
    )


def _difference(alpha: Any, beta: Any, renamed: Mapping[str, str]) -> Difference:
    there = {field.encode_name: field.type for field in beta.fields}
    here = {field.encode_name: field.type for field in alpha.fields}
    only = frozenset(name for name in here if renamed.get(name, name) not in there)
    made = Difference(frozenset(here), only, {})
    for name in here.keys() - only:
        one, other = _struct(here[name]), _struct(there[renamed.get(name, name)])
        inner = _difference(one, other, {}) if one and other else None
        if inner and (inner.only or inner.inner):
            made.inner[name] = inner
    if _ROUTES in here:
        # Declared as plain JSON, since no schema can say that it is a route again.
        made.inner[_ROUTES] = made
    return made


def _struct(declared: Any) -> Any:
    """The Struct that a member holds, by itself or as items of a list; None for other members."""
    if isinstance(declared, inspect.UnionType):
        return next(filter(None, map(_struct, declared.types)), None)
    if isinstance(declared, inspect.VarTupleType):
        return _struct(declared.item_type)
    return declared if isinstance(declared, inspect.StructType) else None


# --- To v1beta1 -----------------------------------------------------------------------------------


class _Leaving:
    """An object on its way to v1beta1, and what it cannot take along."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []
        self.findings: list[Finding] = []

    def value(
        self, given: Any, of: Difference, at: tuple[Step, ...], path: str, depth: int = 0
    ) -> Any:
        """A value as v1beta1 says it; `depth` counts the routes that it is nested in."""
        if isinstance(given, list):
            return [
                self.value(item, of, (*at, step), f"{path}[{index}]", depth)
                for index, (step, item) in enumerate(zip(_steps(given), given, strict=True))
            ]
        if not isinstance(given, dict) or depth > _DEEPEST:
            self._misfit(given, path)
            return given
        if depth:
            self._look_for_unknown(given, of, path)
        said = _said(given, of)
        self._keep(given, said, of, at)
        for name, inner in of.inner.items():
            if name in said:
                deeper = depth + (inner is of)
                said[name] = self.value(said[name], inner, (*at, name), below(path, name), deeper)
        return said

    def _keep(self, given: Object, said: Object, of: Difference, at: tuple[Step, ...]) -> None:
        names = sorted(given.keys() | said.keys())
        had = {name: given.get(name) for name in names if given.get(name) != said.get(name)}
        if had:
            place = {"at": list(at), "had": had}
            self.kept.append(place if of.inner else place | {"of": dict(said)})

    def _misfit(self, given: Any, path: str) -> None:
        if given is not None:
            message = "is not an object, or nested too deeply"
            self.findings.append(Finding(path, WRONG_TYPE, message))

    def _look_for_unknown(self, given: Object, of: Difference, path: str) -> None:
        for name in given.keys() - of.members:
            message = "there is no such field"
            self.findings.append(Finding(below(path, name[:80]), UNKNOWN_FIELD, message))


def _to_v1beta1(given: Object) -> Converted:
    leaving = _Leaving()
    spec = leaving.value(given.get("spec"), differences(), (), "spec")
    if isinstance(spec, dict):
        spec = {RENAMED.get(name, name): item for name, item in spec.items()}
    text = json.dumps(leaving.kept, separators=(",", ":"), sort_keys=True) if leaving.kept else ""
    if len(text) > _LONGEST:
        message = "holds more than can be kept of what v1beta1 has no word for"
        leaving.findings.append(Finding("spec", UNKNOWN_FIELD, message))
        text = ""
    return Converted(_with(given, spec, text), tuple(leaving.findings))


def _said(given: Object, of: Difference) -> Object:
    """An object in the words of v1beta1, less what is inside of its members."""
    said = {
        name: item
        for name, item in given.items()
        if not (name in of.only and isinstance(item, bool))
    }
    if of.is_matcher and given.get(_REGEX) is True and not given.get(_MATCH_TYPE):
        said[_MATCH_TYPE] = "=~"
    return said


def _steps(items: list[Any]) -> list[Step]:
    """How the items of a list are found again: by name where each has its own, else by place."""
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
        return [str(name) for name in names]
    return list(range(len(items)))


# --- To v1alpha1 ----------------------------------------------------------------------------------


class _Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """What one object had in v1alpha1; null for a member that it did not have."""

    at: list[Step]
    had: dict[str, bool | str | None]
    of: dict[str, Any] | None = None


def _to_v1alpha1(given: Object) -> Converted:
    spec = given.get("spec")
    if isinstance(spec, dict):
        back = {new: old for old, new in RENAMED.items()}
        spec = {back.get(name, name): item for name, item in spec.items()}
        spec = _completed(spec, _entries(given))
    return Converted(_with(given, spec, ""))


def _entries(given: Object) -> list[_Entry]:
    """What the annotation holds; nothing if it is not as we wrote it."""
    text = ((given.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION)
    try:
        return msgspec.json.decode(text or "[]", type=list[_Entry])
    except (msgspec.DecodeError, TypeError, RecursionError):
        return []


def _completed(spec: Object, entries: list[_Entry]) -> Object:
    """The spec with the entries that still fit."""
    if not entries:
        return spec
    made: Object
    # A copy; routes may be nested deeper than Python's own way to make one can follow.
    made = msgspec.json.decode(msgspec.json.encode(spec))
    for entry in entries:
        found, of = _found(made, entry.at)
        if isinstance(found, dict) and of is not None:
            _complete(found, entry, of)
    return made


def _found(spec: Object, at: list[Step]) -> tuple[Any, Difference | None]:
    """What is at a place, and its difference; none where the versions agree."""
    value: Any = spec
    of: Difference | None = differences()
    for step in at:
        if isinstance(value, list):
            value = dict(zip(_steps(value), value, strict=True)).get(step)
        elif isinstance(value, dict) and of is not None:
            value, of = value.get(str(step)), of.inner.get(str(step))
        else:
            return None, None
    return value, of


def _complete(found: Object, entry: _Entry, of: Difference) -> None:
    allowed = of.only | {_MATCH_TYPE} if of.is_matcher else of.only
    if not entry.had.keys() <= allowed or (not of.inner and found != entry.of):
        return
    whole = {name: item for name, item in (found | entry.had).items() if item is not None}
    # It must be what says in v1beta1 just this; anything else would be a way around the schema.
    if _said(whole, of) == found:
        found.clear()
        found.update(whole)


# --- Both ways ------------------------------------------------------------------------------------


def _with(given: Object, spec: Any, annotation: str) -> Object:
    """The object with another spec, and with the annotation or without it."""
    made = dict(given) | ({"spec": spec} if "spec" in given else {})
    metadata = dict(given.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    had = annotations.pop(ANNOTATION, None)
    if had is None and not annotation:
        return made
    if annotation:
        annotations[ANNOTATION] = annotation
    metadata.pop("annotations", None)
    return made | {"metadata": metadata | ({"annotations": annotations} if annotations else {})}


_DIRECTIONS: Final[dict[str, Callable[[Object], Converted]]] = {
    f"{GROUP}/v1alpha1": _to_v1alpha1,
    f"{GROUP}/v1beta1": _to_v1beta1,
}
if len(ALERTMANAGER_CONFIG.versions) != len(_DIRECTIONS):
    raise AssertionError("each version of AlertmanagerConfig needs a way there")
