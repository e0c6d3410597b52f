"""AlertmanagerConfigs between v1alpha1 and v1beta1.

Where they differ is found by walking both declarations side by side, so a field that is added to
one of them is noticed here by itself:

    spec.muteTimeIntervals       is called timeIntervals in v1beta1 (`RENAMED`)
    regex of a matcher           v1beta1 says it with matchType `=~`
    updateAlerts of Opsgenie     v1beta1 has no word for it
    optional of some Secrets     v1beta1 has no word for it

What v1beta1 has no word for goes into an annotation of the v1beta1 object, and comes back from
there. An entry of it is used only where it still fits: after an edit in v1beta1 that moved or
changed its place it is dropped. It can bring back nothing but these members, so nobody can write
with it what the schema would refuse.

Nested routes are plain JSON to the API server and may hold anything. What does not belong there is
left as it is and reported as a finding: an object that cannot be converted would make the API
server fail every list that it is part of, for all namespaces.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import Struct, inspect

from stoker.api.admit import UNKNOWN_FIELD, WRONG_TYPE, Objection
from stoker.api.amconfig import ALERTMANAGER_CONFIG, v1alpha1, v1beta1
from stoker.api.convert.kept import (
    Converted,
    KeptObject,
    ListItems,
    PathStep,
    annotated,
    entries,
    steps,
)
from stoker.api.core import Object
from stoker.errors import below

RENAMED: Final = {"muteTimeIntervals": "timeIntervals"}
"""Members of the spec that have another name in v1beta1."""

_REGEX: Final = "regex"
_MATCH_TYPE: Final = "matchType"
_ROUTES: Final = "routes"
# Far more levels than anybody writes, far fewer than Python can follow.
_DEEPEST: Final = 100


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
    # In the order of declaration: what is kept must be the same text from each webhook process.
    for name in (each for each in here if each not in only):
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
        self.kept: list[KeptObject] = []
        self.findings: list[Objection] = []

    def value(
        self, given: Any, of: Difference, at: tuple[PathStep, ...], path: str, depth: int = 0
    ) -> Any:
        """A value as v1beta1 says it; `depth` counts the routes that it is nested in."""
        if isinstance(given, list):
            return [
                self.value(item, of, (*at, step), f"{path}[{index}]", depth)
                for index, (step, item) in enumerate(zip(steps(given), given, strict=True))
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

    def _keep(self, given: Object, said: Object, of: Difference, at: tuple[PathStep, ...]) -> None:
        names = sorted(given.keys() | said.keys())
        had = {name: given.get(name) for name in names if given.get(name) != said.get(name)}
        if had:
            self.kept.append(KeptObject(list(at), had, None if of.inner else dict(said)))

    def _misfit(self, given: Any, path: str) -> None:
        if given is not None:
            message = "is not an object, or nested too deeply"
            self.findings.append(Objection(path, WRONG_TYPE, message))

    def _look_for_unknown(self, given: Object, of: Difference, path: str) -> None:
        for name in sorted(given.keys() - of.members):
            message = "there is no such field"
            self.findings.append(Objection(below(path, name[:80]), UNKNOWN_FIELD, message))


def to_v1beta1(given: Object) -> Converted:
    """A v1alpha1 object as v1beta1 says it."""
    leaving = _Leaving()
    spec = leaving.value(given.get("spec"), differences(), (), "spec")
    if isinstance(spec, dict):
        spec = {RENAMED.get(name, name): item for name, item in spec.items()}
    return annotated(given, spec, leaving.kept, leaving.findings)


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


# --- To v1alpha1 ----------------------------------------------------------------------------------


def to_v1alpha1(given: Object) -> Converted:
    """A v1beta1 object as v1alpha1 says it."""
    spec = given.get("spec")
    if isinstance(spec, dict):
        back = {new: old for old, new in RENAMED.items()}
        spec = {back.get(name, name): item for name, item in spec.items()}
        spec = _completed(spec, entries(given))
    return annotated(given, spec, ())


def _completed(spec: Object, kept: list[KeptObject]) -> Object:
    """The spec with the entries that still fit."""
    if not kept:
        return spec
    made: Object
    # A copy; routes may be nested deeper than Python's own way to make one can follow.
    made = msgspec.json.decode(msgspec.json.encode(spec))
    places = ListItems()
    for entry in kept:
        found, of = _found(made, entry.at, places)
        if isinstance(found, dict) and of is not None:
            _complete(found, entry, of)
    return made


def _found(spec: Object, at: list[PathStep], places: ListItems) -> tuple[Any, Difference | None]:
    """What is at a place, and its difference; none where the versions agree."""
    value: Any = spec
    of: Difference | None = differences()
    for step in at:
        if isinstance(value, list):
            value = places.item(value, step)
        elif isinstance(value, dict) and of is not None:
            value, of = value.get(str(step)), of.inner.get(str(step))
        else:
            return None, None
    return value, of


def _complete(found: Object, entry: KeptObject, of: Difference) -> None:
    allowed = of.only | {_MATCH_TYPE} if of.is_matcher else of.only
    if not entry.had.keys() <= allowed or (not of.inner and found != entry.of):
        return
    whole = {name: item for name, item in (found | entry.had).items() if item is not None}
    # It must be what says in v1beta1 just this; anything else would be a way around the schema.
    if _said(whole, of) == found:
        found.clear()
        found.update(whole)


if len(ALERTMANAGER_CONFIG.versions) != 2:
    raise AssertionError("each version of AlertmanagerConfig needs a way there")
