"""An object as it is stored: its manifest, conditions with their times, Events, and who wrote it.

What an API server tells is read as it comes: members may be missing, and are of other types in
objects that somebody wrote by hand.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.kinds import KINDS
from stoker.generate.block import text_of
from stoker.page.answers import ConditionLine, EventLine, ObjectAnswer, WriterLine

_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_PARTS: Final = {"f:spec": "spec", "f:status": "status", "f:metadata": "metadata"}
_BY_PLURAL: Final = {kind.plural: kind.name for kind in KINDS}
_MOST: Final = 20


class Stored(Struct, frozen=True, kw_only=True):
    """An object as it is kept somewhere: `text` as it was written, if that is known.

    `events` are those about it, `unknown` why there may be others.
    """

    object: Object
    text: str = ""
    place: str = ""
    events: tuple[Object, ...] = ()
    unknown: str = ""


def object_answer(stored: Stored, revision: int) -> ObjectAnswer:
    """All there is to tell of an object itself."""
    metadata = _table(stored.object.get("metadata"))
    generation = metadata.get("generation")
    return ObjectAnswer(
        revision=revision,
        manifest=stored.text or manifest_of(stored.object),
        place=stored.place,
        created=_text(metadata.get("creationTimestamp")),
        generation=generation if isinstance(generation, int) else 0,
        conditions=tuple(_conditions(_table(stored.object.get("status")))),
        events=tuple(_newest(map(_event, stored.events))),
        unknown=stored.unknown,
        written=tuple(_newest(_written(metadata))),
    )


def manifest_of(found: Object) -> str:
    """An object as its user would write it: without status, and what a server keeps of writers."""
    metadata = {**_table(found.get("metadata"))}
    metadata.pop("managedFields", None)
    notes = {**_table(metadata.pop("annotations", None))}
    notes.pop(_APPLIED, None)
    shown = {name: value for name, value in found.items() if name not in ("metadata", "status")}
    start = {name: shown.pop(name) for name in ("apiVersion", "kind") if name in shown}
    rest = metadata | ({"annotations": notes} if notes else {})
    return text_of({**start, "metadata": rest, **shown})


def _conditions(status: Mapping[str, Any]) -> Iterator[ConditionLine]:
    for each in _tables(status.get("conditions")):
        yield _condition("", each)
    for binding in _tables(status.get("bindings")):
        kind = _BY_PLURAL.get(_text(binding.get("resource")), _text(binding.get("resource")))
        title = f"{kind} {_text(binding.get('namespace'))}/{_text(binding.get('name'))}"
        for each in _tables(binding.get("conditions")):
            yield _condition(title, each)


def _condition(workload: str, said: Mapping[str, Any]) -> ConditionLine:
    return ConditionLine(
        workload=workload,
        type=_text(said.get("type")),
        status=_text(said.get("status")),
        reason=_text(said.get("reason")),
        message=_text(said.get("message")),
        since=_text(said.get("lastTransitionTime")),
    )


def _event(found: Object) -> EventLine:
    series = _table(found.get("series"))
    count = series.get("count") or found.get("deprecatedCount") or 1
    times = (
        series.get("lastObservedTime"),
        found.get("deprecatedLastTimestamp"),
        found.get("eventTime"),
        _table(found.get("metadata")).get("creationTimestamp"),
    )
    by = found.get("reportingController") or _table(found.get("deprecatedSource")).get("component")
    return EventLine(
        type=_text(found.get("type")),
        reason=_text(found.get("reason")),
        message=_text(found.get("note")),
        count=count if isinstance(count, int) else 1,
        at=next((_text(each) for each in times if each), ""),
        by=_text(by),
    )


def _written(metadata: Mapping[str, Any]) -> Iterator[WriterLine]:
    for each in _tables(metadata.get("managedFields")):
        parts = [_PARTS[name] for name in _PARTS if name in _table(each.get("fieldsV1"))]
        if parts:
            by = _text(each.get("manager"))
            yield WriterLine(by=by, what=" and ".join(parts), at=_text(each.get("time")))


def _newest(lines: Iterable[Any]) -> list[Any]:
    return sorted(lines, key=lambda each: each.at, reverse=True)[:_MOST]


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _tables(value: Any) -> Iterator[dict[str, Any]]:
    return (each for each in (value if isinstance(value, list) else ()) if isinstance(each, dict))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
