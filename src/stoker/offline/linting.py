"""All that is wrong with manifests, as entries of a report in the order of the files.

Each object is looked at by itself first, as an API server would; those that it would take are then
judged together, as the operator would (`judging.py`).
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct, field

from stoker.offline.judging import world_problems
from stoker.offline.manifests import Document, Manifest, Unreadable
from stoker.offline.problems import (
    ERROR,
    UNBUILDABLE,
    UNKNOWN,
    UNREADABLE,
    WARNING,
    Problem,
    defined_twice,
    is_node,
    is_ours,
    problems,
    without_kind,
    workload_problems,
)
from stoker.offline.reports import ReportLine
from stoker.offline.strangers import is_stranger
from stoker.offline.uncovered import without_agents
from stoker.offline.world import DEFAULT_NAMESPACE, gathered, settled
from stoker.plan.alone import Versions
from stoker.ref import Ref
from stoker.settings import SOME_OPERATOR, OperatorSettings
from stoker.yamltree import Places

_BESIDE: Final = ("Namespace", "Secret", "ConfigMap")


class Rules(Struct, frozen=True, kw_only=True):
    """How strictly manifests are looked at, for which operator, and for which versions."""

    strict: bool = False
    settings: OperatorSettings = SOME_OPERATOR
    versions: Versions = Versions()


class LintTally(Struct):
    """What was seen, in numbers; `strangers` are files and documents that are no manifests."""

    files: int = 0
    ours: int = 0
    faulty: int = 0
    warnings: int = 0
    unknown: int = 0
    passed_over: int = 0
    strangers: int = 0
    unreadable: int = 0

    @property
    def is_faulty(self) -> bool:
        """Whether something is wrong, or cannot be read."""
        return bool(self.faulty or self.unreadable)

    def summary(self) -> str:
        """All of it in one line."""
        ours = f"{self.ours} ours"
        if self.ours:
            told = [f"{self.ours - self.faulty} valid", f"{self.faulty} with errors"]
            told.append(_counted(self.warnings, "warning"))
            told += [f"{self.unknown} unknown"] if self.unknown else []
            ours += f" ({', '.join(told)})"
        strangers = f", {self.strangers} no manifests" if self.strangers else ""
        return (
            f"{_counted(self.files, 'file')}, {_counted(self.ours + self.passed_over, 'object')}: "
            f"{ours}, {self.passed_over} passed over, {self.unreadable} unreadable{strangers}"
        )


class _Seen(Struct):
    """A document, and what is to be said of it."""

    reading: Document
    entries: list[ReportLine] = field(default_factory=list)

    @property
    def is_ours(self) -> bool:
        """Whether it is an object of ours that could be read."""
        found = self.reading
        return (
            isinstance(found, Manifest) and not without_kind(found.object) and is_ours(found.object)
        )

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong with it so far."""
        return all(entry.severity != ERROR for entry in self.entries)


def linted(readings: Iterable[Document], rules: Rules) -> tuple[list[ReportLine], LintTally]:
    """The report on manifests, and its numbers."""
    tally, seen, file = LintTally(), list[_Seen](), ""
    places: dict[Ref, str] = {}
    for reading in readings:
        before = tally.strangers
        if found := _looked_at(reading, rules, tally, places):
            seen.append(found)
        if tally.strangers == before and reading.source != file:
            tally.files, file = tally.files + 1, reading.source
    _judge(seen, rules)
    _uncovered(seen, rules)
    for each in seen:
        tally.faulty += each.is_ours and not each.is_sound
        tally.warnings += sum(entry.severity == WARNING for entry in each.entries)
        tally.unknown += any(entry.severity == UNKNOWN for entry in each.entries)
    return [entry for each in seen for entry in each.entries], tally


def _looked_at(
    reading: Document, rules: Rules, tally: LintTally, places: dict[Ref, str]
) -> _Seen | None:
    """A document by itself, counted; None where it need not be looked at again."""
    if isinstance(reading, Unreadable):
        if reading.stranger:
            tally.strangers += 1
            return None
        tally.unreadable += 1
        return _Seen(reading, [_unreadable(reading)])
    if is_stranger(reading.object):
        tally.strangers += 1
        return None
    if untyped := without_kind(reading.object):
        tally.unreadable += 1
        return _Seen(reading, _entries(reading, [untyped], rules))
    if not is_ours(reading.object):
        tally.passed_over += 1
        kept = is_node(reading.object) or reading.object.get("kind") in _BESIDE
        return _Seen(reading) if kept else None
    tally.ours += 1
    return _Seen(reading, _alone(reading, rules, places))


def _unreadable(found: Unreadable) -> ReportLine:
    where = (found.source, found.document, found.line)
    return ReportLine(*where, "", "", "", found.path, ERROR, UNREADABLE, found.reason)


# --- Objects by themselves ------------------------------------------------------------------------


def _alone(manifest: Manifest, rules: Rules, places: dict[Ref, str]) -> list[ReportLine]:
    """The problems of an object in the order of their lines."""
    found = problems(manifest.object, rules.settings.limits)
    if all(problem.warning for problem in found):
        found += workload_problems(manifest.object)
    if before := _defined_before(manifest, places):
        found.append(defined_twice(before))
    return _entries(manifest, found, rules)


def _defined_before(manifest: Manifest, places: dict[Ref, str]) -> str:
    """Where an object of the same kind and name stood before, or nothing."""
    identity = _identity(manifest.object)
    if not identity.name:
        return ""
    if identity in places:
        return places[identity]
    line = Places(manifest.text, manifest.line).line(manifest.path)
    places[identity] = f"{manifest.source}:{line} doc {manifest.document}"
    return ""


# --- All of them together -------------------------------------------------------------------------


def _judge(seen: Iterable[_Seen], rules: Rules) -> None:
    """Add what the operator says of the objects that an API server takes."""
    kept = [each for each in seen if isinstance(each.reading, Manifest) and each.is_sound]
    world = settled(gathered(each.reading for each in kept))
    places = {_placed(each.reading): each for each in kept if isinstance(each.reading, Manifest)}
    told: dict[Ref, list[Problem]] = {}
    for ref, problem in world_problems(world, rules.settings, rules.versions):
        told.setdefault(ref, []).append(problem)
    for ref, found in told.items():
        each = places[ref]
        if isinstance(each.reading, Manifest) and not _is_told(found, each.entries):
            each.entries += _entries(each.reading, found, rules)


def _is_told(found: Iterable[Problem], entries: Iterable[ReportLine]) -> bool:
    """Whether a workload is known to be of no use already."""
    reasons = {entry.reason for entry in entries}
    return UNBUILDABLE in reasons and any(each.reason == UNBUILDABLE for each in found)


def _uncovered(seen: Iterable[_Seen], rules: Rules) -> None:
    """Add the nodes that agents leave out."""
    manifests = [(each, each.reading) for each in seen if isinstance(each.reading, Manifest)]
    agents = [m for each, m in manifests if _is_agent(m) and each.is_sound]
    nodes = [m for _, m in manifests if is_node(m.object)]
    if not agents or not nodes:
        return
    for manifest, problem in without_agents(agents, nodes):
        own = next(each for each, m in manifests if m is manifest)
        own.entries += _entries(manifest, [problem], rules)


def _is_agent(manifest: Manifest) -> bool:
    return manifest.object.get("kind") == "PrometheusAgent" and is_ours(manifest.object)


# --- Entries --------------------------------------------------------------------------------------


def _entries(manifest: Manifest, found: Iterable[Problem], rules: Rules) -> list[ReportLine]:
    places = Places(manifest.text, manifest.line)
    made = (_entry(manifest, places, each, strict=rules.strict) for each in found)
    return sorted(made, key=lambda entry: entry.line)


def _entry(
    manifest: Manifest, places: Places, problem: Problem, *, strict: bool = False
) -> ReportLine:
    path = ".".join(part for part in (manifest.path, problem.path) if part)
    line, column = places.place(path)
    where = (manifest.source, manifest.document, line)
    who = _identity(manifest.object)
    severity = problem.severity(strict=strict)
    return ReportLine(
        *where,
        who.kind,
        who.namespace,
        who.name,
        path,
        severity,
        problem.reason,
        problem.message,
        column,
    )


def _identity(manifest: dict[str, Any]) -> Ref:
    """Kind, namespace and name, empty where they are missing or not even text."""
    metadata = manifest.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    names = (manifest.get("kind"), fields.get("namespace"), fields.get("name"))
    return Ref(*(each if isinstance(each, str) else "" for each in names))


def _placed(manifest: Manifest) -> Ref:
    kind, namespace, name = _identity(manifest.object)
    return Ref(kind, namespace or DEFAULT_NAMESPACE, name)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
