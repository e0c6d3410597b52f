"""What `stoker render` says of a rendering: one line for each thing, its word first."""

from collections import Counter
from collections.abc import Iterable, Iterator

from stoker.cli.terminal import harmless
from stoker.errors import UnknownError
from stoker.offline.objects import Rendered
from stoker.offline.world import Refused, World
from stoker.ref import by_path, ref_of_manifest
from stoker.validate.verdicts import Outcome
from stoker.view.wording import counted


def summary(world: World, found: Iterable[Rendered]) -> list[str]:
    """What was refused, used, rejected and ignored, and which objects were made."""
    lines = [line for refused in world.refused for line in _refused_lines(refused)]
    lines += [f"note      {title}: {reason}" for title, reason in world.doubled]
    lines += [f"dropped   {each}" for each in dropped_fields(world)]
    lines += [line for each in found for line in _lines(each)]
    return [harmless(line) for line in lines]


def dropped_fields(world: World) -> Iterator[str]:
    """Fields that an API server would drop without a word, in sentences."""
    for ref, paths in world.dropped.items():
        yield from (f"{ref}: {path}: there is no such field" for path in paths)


def _refused_lines(refused: Refused) -> Iterator[str]:
    subject = " ".join(part for part in (refused.source, refused.subject) if part)
    for reason in refused.reasons:
        yield f"refused   {subject}: {reason}"


def _lines(each: Rendered) -> Iterator[str]:
    found = each.plan
    taken = [str(key) for key, verdict in found.verdicts.items() if verdict.accepted]
    taken += map(str, found.unjudged)
    left_out = {key: one for key, one in found.verdicts.items() if not one.accepted}
    numbers = Counter(one.outcome for one in left_out.values())
    version = "" if found.unmade else f" ({found.version})"
    # What is right in itself is of no use where nothing is made of it.
    word = "held" if found.unmade or found.not_ours or each.problem else "used"
    unknown = f", {numbers[Outcome.UNKNOWN]} unknown" if numbers[Outcome.UNKNOWN] else ""
    rejected = f"{numbers[Outcome.REJECTED]} rejected"
    yield f"{each.title}{version}: {len(taken)} {word}, {rejected}{unknown}"
    if isinstance(found.unmade, UnknownError):
        yield f"  unknown   {each.title}: {found.unmade}"
    elif found.unmade:
        yield f"  no configuration: {found.unmade}"
    elif each.problem:
        yield f"  no objects: {each.problem}"
    yield from (f"  note      {note}" for note in (*found.notes, *each.notes))
    yield from (f"  {word}      {name}" for name in taken)
    for key, verdict in left_out.items():
        outcome = f"{verdict.outcome:8}"
        yield from (f"  {outcome}  {key}: {finding}" for finding in verdict.decisive)
    for ref, fields in sorted(found.ignored.items(), key=lambda one: by_path(one[0])):
        subject = str(ref) if ref.kind else each.title
        yield from (f"  ignored   {subject}: {field.path} {field.reason}" for field in fields)
    for ref in map(ref_of_manifest, each.objects):
        yield f"  made      {ref}"
    for portion in each.shares.nodes or ():
        told = f"{counted(portion.jobs, 'job')}, {counted(portion.targets, 'target')}"
        yield f"  node      {portion.node}: {told}"
