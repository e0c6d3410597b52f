"""An explanation on a terminal: the sentence first, then how it comes about."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from stoker.cli.options import TEXT
from stoker.cli.terminal import harmless
from stoker.cli.values import print_value
from stoker.explain.answer import (
    AccountRights,
    AgentShare,
    Count,
    EndpointTargets,
    Explanation,
    Foreseen,
    MatchedObject,
    Search,
    Targets,
    Unreached,
    Usage,
)
from stoker.select.nodes import few_of
from stoker.view.states import State

SCHEMA: Final = "stoker/explain/v1"
_BOLD, _RED, _GREEN, _YELLOW, _GREY = 1, 31, 32, 33, 90
_COLOURS: Final = {
    State.USED: _GREEN,
    State.REJECTED: _RED,
    State.HELD: _YELLOW,
    State.UNCLEAR: _YELLOW,
    State.NOT_SELECTED: _GREY,
}
_SHOWN: Final = 20


def printed(found: Explanation, *, form: str, with_job: bool) -> None:
    """Print an explanation; the text that Prometheus gets is long, and must be asked for."""
    shown = found if with_job else replace(found, job="")
    if form != TEXT:
        print_value(SCHEMA, msgspec.to_builtins(shown), form)
        return
    paint = _Paint(sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    encoding = sys.stdout.encoding or "utf-8"
    for line in lines(shown, paint):
        print(line.encode(encoding, "backslashreplace").decode(encoding))


class _Paint:
    """Makes what is shown harmless, and coloured where that is wanted."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted

    def __call__(self, text: str, colour: int = 0) -> str:
        safe = harmless(text)
        return f"\033[{colour}m{safe}\033[0m" if self._wanted and colour else safe


def lines(found: Explanation, paint: _Paint) -> Iterator[str]:
    """The lines of an explanation."""
    colour = _GREEN if found.good else _RED
    yield f"{paint(found.title, _BOLD)}: {paint(found.headline, colour)}"
    parts: Sequence[tuple[str, Iterable[str]]] = (
        ("Workloads", _cut([list(_usage(each, paint)) for each in found.by_workload])),
        ("Selects", (_count_line(each.kind, each, paint) for each in found.counts)),
        ("Rejected", (paint(each, _RED) for each in found.rejected[:_SHOWN])),
        ("Without targets", map(paint, found.without_targets[:_SHOWN])),
        ("Ignored by its version", map(paint, found.ignored)),
        ("Conditions", map(paint, found.conditions)),
        *((_title(each), _search(each, paint)) for each in found.searches),
        ("Permissions", (line for each in found.access for line in _access(each, paint))),
        ("Notes", map(paint, found.notes)),
        ("What Prometheus reads", map(paint, found.job.splitlines())),
    )
    for title, content in parts:
        inside = list(content)
        if inside:
            yield ""
            yield paint(title, _BOLD)
            yield from (f"  {line}" for line in inside)


def _cut(groups: list[list[str]]) -> Iterator[str]:
    """Groups of lines, as long as there are not too many."""
    for each in groups[:_SHOWN]:
        yield from each
    if len(groups) > _SHOWN:
        yield f"… and {len(groups) - _SHOWN} more"


def _usage(each: Usage, paint: _Paint) -> Iterator[str]:
    version = f" ({each.version})" if each.version else ""
    yield f"{paint(each.state, _COLOURS[each.state])}  {paint(each.workload + version)}"
    if each.reason and not each.findings:
        yield f"    {paint(each.reason)}"
    yield from (f"    {paint(finding, _RED)}" for finding in each.findings)
    yield from (f"    ignored: {paint(field, _YELLOW)}" for field in each.ignored)
    yield from (f"    {paint(note)}" for note in each.notes)
    if each.reported:
        yield f"    the operator says: {paint(each.reported)}"
    if each.targets:
        yield from (f"    {line}" for line in _targets(each.targets, paint))


def _targets(found: Targets, paint: _Paint) -> Iterator[str]:
    """What is scraped, as the operator saw it."""
    well = found.discovered and found.healthy == found.discovered
    text = f"{found.healthy} of {found.discovered} targets healthy" if found.discovered else ""
    yield paint(f"{text or 'no targets'} since {found.observed_at}", _GREEN if well else _RED)
    for error in found.errors:
        yield f"  {paint(f'{error.count} with: {error.message}', _RED)}"


def _count_line(kind: str, each: Count, paint: _Paint) -> str:
    rejected = f", {paint(f'{each.rejected} rejected', _RED)}" if each.rejected else ""
    note = f" ({paint(each.note)})" if each.note else ""
    return f"{paint(kind)}: {each.selected}{rejected}{note}"


def _title(each: Search) -> str:
    who = ", ".join(each.workloads) if each.workloads else "whoever selects it"
    where = f" in {each.looks_in}" if each.looks_in else ""
    return f"Targets of {who}{where}"


def _search(each: Search, paint: _Paint) -> Iterator[str]:
    yield "not known" if each.targets is None else f"{each.targets} in all"
    yield from _cut([list(_match(match, paint)) for match in each.matches])
    yield from _cut([[paint(_scraped(one))] for one in each.by_node])
    for found in each.endpoints:
        yield from _endpoint(found, paint)
    known = {f"{port.path}: {port.problem}" for match in each.matches for port in match.ports}
    yield from (paint(problem, _RED) for problem in each.problems if problem not in known)
    yield from (paint(line, _RED) for line in map(_unreached, each.unreached[:_SHOWN]))
    if len(each.unreached) > _SHOWN:
        yield f"… and {len(each.unreached) - _SHOWN} more"
    if each.unsure:
        yield paint(f"whether an agent is where they are is not known: {each.unsure}", _YELLOW)
    yield from (paint(note, _YELLOW) for note in each.notes)


def _endpoint(found: EndpointTargets, paint: _Paint) -> Iterator[str]:
    """What relabeling makes of the targets of an endpoint."""
    count = "not known" if found.targets is None else str(found.targets)
    equal = f" ({found.equal} with the labels of another, scraped once)" if found.equal else ""
    yield f"{paint(found.path)} after relabeling: {count}{equal}"
    for each in found.dropped:
        dropped = "some" if each.targets is None else str(each.targets)
        yield f"  {paint(f'{dropped} dropped by {each.path}: {each.why}', _YELLOW)}"
    yield from (f"  {paint(f'cannot be scraped: {each}', _RED)}" for each in found.refused)
    yield from _cut([[f"  {paint(_labels(each))}"] for each in found.examples])


def _labels(found: Foreseen) -> str:
    """The labels of a target, and for how many it stands."""
    labels = ", ".join(f'{each.name}="{each.value}"' for each in found.labels)
    number = "" if found.count == 1 else f" (× {found.count or 'how many is not known'})"
    return f"{{{labels}}}{number}"


def _scraped(each: AgentShare) -> str:
    """What an agent on a node scrapes, and which of it is not on that node."""
    who = f"by the agent on {each.node}" if each.node else "by agents, which is not known"
    some = "" if each.given == each.targets else f"{each.given} of them "
    given = f", {some}given to it ({few_of(list(each.names))})" if each.given else ""
    return f"{who}: {each.targets}{given}"


def _unreached(each: Unreached) -> str:
    return f"{each.targets} not scraped ({few_of(list(each.names))}): {each.why}"


def _match(match: MatchedObject, paint: _Paint) -> Iterator[str]:
    yield paint(match.object)
    for port in match.ports:
        count = "not known" if port.targets is None else str(port.targets)
        yield f"  {paint(f'{port.path} {port.port}')}: {count}"
        if port.problem:
            yield f"    {paint(port.problem, _RED)}"


def _access(each: AccountRights, paint: _Paint) -> Iterator[str]:
    who = f"service account {each.account} of {each.workload}"
    if not each.lacks and not each.unknown:
        yield paint(f"{who}: can see all that it needs", _GREEN)
        return
    yield paint(who)
    yield from (f"  {paint(f'cannot {need}', _RED)}" for need in each.lacks)
    yield from (f"  {paint(f'not known whether it can {need}', _YELLOW)}" for need in each.unknown)
