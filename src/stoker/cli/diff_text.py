"""Changes on a terminal: one line for each workload, then the diffs."""

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

from stoker.cli.options import TEXT
from stoker.cli.terminal import harmless
from stoker.cli.values import print_value
from stoker.compare.change import Change, Comparison, Pods, written_and_removed
from stoker.compare.lines import FileDiff
from stoker.compare.objects import Action, ObjectChange

SCHEMA: Final = "stoker/diff/v1"
_BOLD, _RED, _GREEN, _YELLOW, _CYAN = 1, 31, 32, 33, 36
_COLOURS: Final = {"+": _GREEN, "-": _RED, "@": _CYAN}
_HEADS: Final = {Action.NEW: "new", Action.GONE: "removed", Action.CHANGED: "changed"}

_CONSOLIDATED: Final = "ScrapeConfigs of monitors"


def printed(found: Comparison, form: str) -> None:
    """Print changes; what could not be seen goes to standard error."""
    for note in found.notes:
        print(harmless(f"note: {note}"), file=sys.stderr)
    if form != TEXT:
        print_value(SCHEMA, _summary(found), form)
        return
    encoding = sys.stdout.encoding or "utf-8"
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for line in _lines(found, coloured):
        print(line.encode(encoding, "backslashreplace").decode(encoding))


def _lines(found: Comparison, coloured: bool) -> Iterator[str]:
    def paint(text: str, colour: int = 0) -> str:
        return f"\033[{colour}m{harmless(text)}\033[0m" if coloured and colour else harmless(text)

    def details(objects: Iterable[ObjectChange], files: Iterable[FileDiff]) -> Iterator[str]:
        for made in objects:
            yield f"  {_HEADS[made.action]}  {paint(made.title)}"
        for file in files:
            yield paint(f"--- {file.name} (now)", _BOLD)
            yield paint(f"+++ {file.name} (then)", _BOLD)
            yield from (paint(line, _COLOURS.get(line[:1], 0)) for line in file.lines)
        yield ""

    for each in found.changes:
        colour = _RED if each.pods in (Pods.ROLL, Pods.END) else _YELLOW
        yield f"{paint(each.workload, _BOLD)}: {paint(each.sentence, colour)}"
        yield from details(each.objects, _files(each))
    if found.consolidated:
        sentence = "; ".join(written_and_removed(found.consolidated))
        yield f"{paint(_CONSOLIDATED, _BOLD)}: {paint(sentence, _YELLOW)}"
        yield from details(found.consolidated, _files_of(found.consolidated))
    yield _outcome(found)


def _outcome(found: Comparison) -> str:
    if found.is_nothing:
        return "nothing would change"
    count = len([each for each in found.changes if not each.is_nothing])
    rolled = len([each for each in found.changes if each.pods is Pods.ROLL])
    workloads = f"{count} workloads change" if count > 1 else f"{count or 'no'} workload changes"
    doubt = ", as far as is known" if any(e.pods is Pods.UNKNOWN for e in found.changes) else ""
    return f"{workloads}; {f'pods of {rolled} roll' if rolled else 'no pods roll'}{doubt}"


def _files(change: Change) -> Iterator[FileDiff]:
    if change.configuration:
        yield change.configuration
    yield from _files_of(change.objects)


def _files_of(objects: Iterable[ObjectChange]) -> Iterator[FileDiff]:
    for made in objects:
        yield from made.files


def _summary(found: Comparison) -> dict[str, Any]:
    return {
        "changes": [_change(each) for each in found.changes],
        "consolidated": {
            "objects": [object_value(made) for made in found.consolidated],
            "diffs": diff_values(_files_of(found.consolidated)),
        },
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "workload": change.workload,
        "action": change.action,
        "pods": change.pods,
        "sentence": change.sentence,
        "selected": change.selected,
        "deselected": change.deselected,
        "rejected": change.rejected,
        "unknown": change.unknown,
        "accepted": change.accepted,
        "discovery": change.discovery,
        "blocked": change.blocked,
        "notes": change.notes,
        "objects": [object_value(made) for made in change.objects],
        "diffs": diff_values(_files(change)),
    }


def object_value(made: ObjectChange) -> dict[str, Any]:
    """A change of an object, for programs."""
    return {
        "kind": made.kind,
        "namespace": made.namespace,
        "name": made.name,
        "action": made.action,
        "rolls": made.rolls,
        "replaced": made.replaced,
        "paths": made.paths,
    }


def diff_values(files: Iterable[FileDiff]) -> list[dict[str, Any]]:
    """Texts that differ, for programs."""
    return [{"name": file.name, "lines": file.lines} for file in files]
