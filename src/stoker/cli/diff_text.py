"""Changes on a terminal: one line for each workload, then the diffs."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from stoker.cli.terminal import harmless
from stoker.compare.change import Change, Comparison, Pods
from stoker.compare.lines import FileDiff
from stoker.compare.objects import Action

_BOLD, _RED, _GREEN, _YELLOW, _CYAN = 1, 31, 32, 33, 36
_COLOURS: Final = {"+": _GREEN, "-": _RED, "@": _CYAN}
_HEADS: Final = {Action.NEW: "new", Action.GONE: "removed", Action.CHANGED: "changed"}


def printed(found: Comparison, *, as_json: bool) -> None:
    """Print changes; what could not be seen goes to standard error."""
    changes = found.changes
    for note in found.notes:
        print(harmless(f"note: {note}"), file=sys.stderr)
    if as_json:
        print(json.dumps(_summary(changes), indent=2))
        return
    encoding = sys.stdout.encoding or "utf-8"
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for line in _lines(changes, coloured):
        print(line.encode(encoding, "backslashreplace").decode(encoding))


def _lines(changes: Sequence[Change], coloured: bool) -> Iterator[str]:
    def paint(text: str, colour: int = 0) -> str:
        return f"\033[{colour}m{harmless(text)}\033[0m" if coloured and colour else harmless(text)

    for each in changes:
        colour = _RED if each.pods in (Pods.ROLL, Pods.END) else _YELLOW
        yield f"{paint(each.workload, _BOLD)}: {paint(each.sentence, colour)}"
        for made in each.objects:
            yield f"  {_HEADS[made.action]}  {paint(made.title)}"
        for file in _files(each):
            yield paint(f"--- {file.name} (now)", _BOLD)
            yield paint(f"+++ {file.name} (then)", _BOLD)
            yield from (paint(line, _COLOURS.get(line[:1], 0)) for line in file.lines)
        yield ""
    count = len([each for each in changes if not each.is_nothing])
    rolled = len([each for each in changes if each.pods is Pods.ROLL])
    if not count:
        yield "nothing would change"
    else:
        noun = "workload changes" if count == 1 else "workloads change"
        yield f"{count} {noun}; {f'pods of {rolled} roll' if rolled else 'no pods roll'}"


def _files(change: Change) -> Iterator[FileDiff]:
    if change.configuration:
        yield change.configuration
    for made in change.objects:
        yield from made.files


def _summary(changes: Sequence[Change]) -> dict[str, Any]:
    return {"changes": [_change(each) for each in changes]}


def _change(change: Change) -> dict[str, Any]:
    return {
        "workload": change.workload,
        "action": change.action,
        "pods": change.pods,
        "sentence": change.sentence,
        "selected": change.selected,
        "deselected": change.deselected,
        "rejected": change.rejected,
        "accepted": change.accepted,
        "blocked": change.blocked,
        "notes": change.notes,
        "objects": [
            {
                "kind": made.kind,
                "namespace": made.namespace,
                "name": made.name,
                "action": made.action,
                "rolls": made.rolls,
                "replaced": made.replaced,
                "paths": made.paths,
            }
            for made in change.objects
        ],
        "diffs": [{"name": file.name, "lines": file.lines} for file in _files(change)],
    }
