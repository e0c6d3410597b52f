"""What conversions share: what a version has no word for waits in an annotation of the object.

The annotation is a list of places in the spec of the older version, each with what stood there.
How far an entry still fits, and that it says nothing but what a conversion took away, each kind's
conversion checks for itself: anybody can write annotations.
"""

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from stoker.api.admit import UNKNOWN_FIELD, Objection
from stoker.api.core import Object

ANNOTATION: Final = "operator.prometheus.io/v1alpha1-only"
"""Holds, in an object of a newer version, what only v1alpha1 can say."""

# All annotations of an object, names and values, may have so many bytes. The API server takes no
# converted object with more, and so no list that it is part of.
_ALL_BYTES: Final = 256 * 1024
# So many of them are ours at most.
_OUR_BYTES: Final = 128 * 1024

PathStep: TypeAlias = str | int


class Converted(Struct, frozen=True):
    """An object in another version, and what was found in it that belongs to none."""

    object: Object
    findings: tuple[Objection, ...] = ()


class KeptObject(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one object had in v1alpha1; null for a member that it did not have.

    `of` is how the object looked in the newer version, where the entry fits no other.
    """

    at: list[PathStep]
    had: dict[str, bool | str | None]
    of: dict[str, Any] | None = None


def steps(items: list[Any]) -> list[PathStep]:
    """How the items of a list are found again: by name where each has its own, else by place."""
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
        return [str(name) for name in names]
    return list(range(len(items)))


class ListItems:
    """Finds items of the lists of one object; each list is read once, however often it is asked."""

    def __init__(self) -> None:
        # With the list itself, so that no other can get its identity.
        self._known: dict[int, tuple[list[Any], dict[PathStep, Any]]] = {}

    def item(self, items: list[Any], step: PathStep) -> Any:
        """The item at a step as `steps` names it; None if there is none."""
        if id(items) not in self._known:
            self._known[id(items)] = items, dict(zip(steps(items), items, strict=True))
        return self._known[id(items)][1].get(step)


def entries(given: Object) -> list[KeptObject]:
    """What the annotation of an object holds, once for each place; nothing if it is not ours."""
    text = _annotations(given).get(ANNOTATION)
    try:
        found = msgspec.json.decode(text or "[]", type=list[KeptObject])
    except (msgspec.DecodeError, TypeError, RecursionError):
        return []
    return list({tuple(entry.at): entry for entry in found}.values())


def annotated(
    given: Object, spec: Any, kept: Sequence[KeptObject], findings: Sequence[Objection] = ()
) -> Converted:
    """The object with another spec and, where something is to be kept, with the annotation."""
    text = json.dumps(msgspec.to_builtins(kept), separators=(",", ":"), sort_keys=True)
    if kept and len(text) > _room(given):
        message = "holds more than can be kept of what the other version has no word for"
        kept, findings = (), (*findings, Objection("spec", UNKNOWN_FIELD, message))
    return Converted(_with(given, spec, text if kept else ""), tuple(findings))


def _annotations(given: Object) -> Object:
    metadata = given.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def _room(given: Object) -> int:
    """How long our annotation may be beside those of the user."""
    others = [each for each in _annotations(given).items() if each[0] != ANNOTATION]
    taken = sum(len(str(text).encode()) for text in chain(*others)) + len(ANNOTATION)
    return min(_OUR_BYTES, _ALL_BYTES - taken)


def _with(given: Object, spec: Any, annotation: str) -> Object:
    made = dict(given) | ({"spec": spec} if "spec" in given else {})
    annotations = dict(_annotations(given))
    had = annotations.pop(ANNOTATION, None)
    if had is None and not annotation:
        return made
    if annotation:
        annotations[ANNOTATION] = annotation
    metadata = dict(found) if isinstance(found := made.get("metadata"), dict) else {}
    metadata.pop("annotations", None)
    return made | {"metadata": metadata | ({"annotations": annotations} if annotations else {})}
