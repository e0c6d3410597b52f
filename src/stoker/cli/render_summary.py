"""What `stoker render` says of a rendering: one line for each thing, its word first."""

from collections.abc import Iterable, Iterator

from stoker.cli.terminal import harmless
from stoker.offline.objects import Rendered
from stoker.offline.world import Refused, World
from stoker.ref import by_path, ref_of_manifest
from stoker.validate.verdicts import Verdict


def summary(world: World, found: Iterable[Rendered]) -> list[str]:
    """What was refused, used, rejected and ignored, and which objects were made."""
    lines = [line for refused in world.refused for line in _refused_lines(refused)]
    lines += [f"note      {title}: {reason}" for title, reason in world.doubled]
    lines += [line for each in found for line in _lines(each)]
    return [harmless(line) for line in lines]


def _refused_lines(refused: Refused) -> Iterator[str]:
    subject = " ".join(part for part in (refused.source, refused.subject) if part)
    for reason in refused.reasons:
        yield f"refused   {subject}: {reason}"


def _lines(each: Rendered) -> Iterator[str]:
    decision = each.decision
    taken = [_named(verdict) for verdict in decision.verdicts if verdict.accepted]
    taken += map(str, decision.unjudged)
    rejected = [verdict for verdict in decision.verdicts if not verdict.accepted]
    version = "" if decision.problem else f" ({decision.version})"
    # What is right in itself is of no use where nothing is made of it.
    word = "held" if decision.problem or each.problem else "used"
    yield f"{each.title}{version}: {len(taken)} {word}, {len(rejected)} rejected"
    if decision.problem:
        yield f"  no configuration: {decision.problem}"
    elif each.problem:
        yield f"  no objects: {each.problem}"
    yield from (f"  note      {note}" for note in (*decision.notes, *each.notes))
    yield from (f"  {word}      {name}" for name in taken)
    for verdict in rejected:
        yield from (f"  rejected  {_named(verdict)}: {found}" for found in verdict.findings)
    for ref, fields in sorted(decision.ignored.items(), key=lambda one: by_path(one[0])):
        subject = str(ref) if ref.kind else each.title
        yield from (f"  ignored   {subject}: {field.path} {field.reason}" for field in fields)
    for ref in map(ref_of_manifest, each.objects):
        yield f"  made      {ref}"


def _named(verdict: Verdict) -> str:
    return str(verdict.ref)
