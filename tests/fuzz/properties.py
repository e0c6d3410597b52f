"""What must hold for every resource, however strange, on its way into a configuration.

- Nothing is raised but the documented errors.
- Prometheus takes the file with everything that was accepted.
- A YAML 1.1 reader gives back what was written, string by string.
- Where a namespace label is enforced, nothing that a tenant writes has the last word on it.
"""

import re
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final
from unittest.mock import patch

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from stoker.errors import DecodeError
from stoker.generate.block import text_of
from stoker.select.choice import Monitor
from stoker.validate.findings import Reason
from tests.fuzz.enforcement import tampered_jobs
from tests.fuzz.world import NAMESPACES, World, assets, typed
from tests.planning import decide
from tests.promtool import refusals

COUNTS: Final = (
    *("resources tried", "accepted", "rejected", "undecodable", "refused by promtool"),
    *("workloads tried", "workloads accepted", "workloads refused"),
)
REFUSED: Final = "Prometheus refuses it"
TAMPERED: Final = "the enforced label can be changed"

# promtool also makes targets of static lists, which Prometheus does after it has loaded a file:
# a target that comes to nothing is then left out, and no other.
OF_A_TARGET: Final = re.compile(r"instance \d+ in group \d+: ")
# Lines that older versions need and the promtool at hand no longer takes.
GONE: Final = re.compile(
    r"^ +(?:scrape_classic_histograms|max_retries|api_version): .*\n", re.MULTILINE
)


class UnfaithfulError(Exception):
    """A YAML reader gets something else than what was written."""


class UnforeseenError(Exception):
    """A resource that stoker fails on; it says so, and goes on, which is no excuse here."""


class Problem(Struct, frozen=True):
    """A property that does not hold, of a resource or (without one) of the workload."""

    property: str
    detail: str
    resource: dict[str, Any] | None = None


class Report(Struct):
    """What became of the resources of a world, and which properties do not hold."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)

    def add(self, other: "Report") -> None:
        """Take over what another says."""
        self.counts += other.counts
        self.problems += other.problems


def inspected(world: World) -> Report:
    """What becomes of a world, and where that is wrong, which resources are at fault."""
    report = Report()
    try:
        text = _configured(world, report)
    except DecodeError:
        report.counts["workloads refused"] += 1
        return report
    except Exception as error:
        return _each(world, type(error).__name__, traceback.format_exc(limit=-8))
    if not text or not world.admitted:
        return report
    if refusal := _refusals([text], world)[0]:
        report.problems += _refused(world, refusal)
        report.counts["refused by promtool"] += len(report.problems)
    tampered = list(tampered_jobs(world, yaml.load(text, yaml.CSafeLoader)))
    return _each(world, TAMPERED, "\n".join(tampered)) if tampered else report


def _each(world: World, what: str, detail: str) -> Report:
    """The same for each resource on its own, to find those that have the problem."""
    if len(world.resources) < 2:
        return Report(problems=[Problem(what, detail, next(iter(world.resources), None))])
    report = inspected(replace(world, resources=()))
    if not report.problems:
        for single in _singles(world):
            report.add(inspected(single))
    if not report.problems:
        report.problems.append(Problem(f"together: {what}", detail))
    return report


def _singles(world: World) -> list[World]:
    return [replace(world, resources=(resource,)) for resource in world.resources]


def _refusals(texts: list[str], world: World) -> list[str]:
    """Why Prometheus refuses configurations; empty for those that it can load."""
    agent = world.workload["kind"] == "PrometheusAgent"
    answers = refusals([GONE.sub("", text) for text in texts], agent=agent)
    return ["" if OF_A_TARGET.match(answer) else answer for answer in answers]


def _refused(world: World, refusal: str) -> list[Problem]:
    """Whose fault it is that Prometheus refuses a configuration: all are asked at once."""
    alone = replace(world, resources=())
    worlds = [alone, *_singles(world)] if world.resources else [alone]
    made = [(each, _configured(each, Report())) for each in worlds]
    known = [(each, text) for each, text in made if text]
    answers = _refusals([text for _, text in known], world)
    found = [
        Problem(REFUSED, answer, next(iter(each.resources), None))
        for (each, _), answer in zip(known, answers, strict=True)
        if answer
    ]
    # A workload that is refused without resources is so with any of them.
    own = [problem for problem in found if problem.resource is None]
    return own or found or [Problem(f"together: {REFUSED}", refusal)]


def _configured(world: World, report: Report) -> str:
    """The configuration as the operator makes it; empty where the workload itself is at fault."""
    scraper = world.scraper
    monitors = list(_decoded(world, report))
    namespaces: dict[str, dict[str, str]] = {name: {} for name in NAMESPACES}
    with patch("stoker.generate.prometheus.text_of", _faithful_text):
        decision = decide(scraper, monitors, namespaces, assets(), world.capabilities)
    if decision.problem:
        report.counts["workloads refused"] += 1
        return ""
    for verdict in decision.verdicts.values():
        if any(finding.reason is Reason.UNFORESEEN for finding in verdict.findings):
            raise UnforeseenError(verdict.message)
    accepted = sum(verdict.accepted for verdict in decision.verdicts.values())
    report.counts["workloads accepted"] += 1
    report.counts["accepted"] += accepted
    report.counts["rejected"] += len(decision.verdicts) - accepted
    return decision.text


def _decoded(world: World, report: Report) -> Iterator[Monitor]:
    for manifest in world.resources:
        try:
            yield typed(manifest)
        except DecodeError:
            report.counts["undecodable"] += 1


def _faithful_text(value: Any) -> str:
    """The text of a block, after a look at what others will read in it."""
    text = text_of(value)
    try:
        _compare(value, yaml.load(text, yaml.CSafeLoader), "")
    except yaml.YAMLError as error:
        raise UnfaithfulError(f"{error}\n{text}") from None
    return text


def _compare(written: Any, read: Any, path: str) -> None:
    if isinstance(written, dict):
        if not isinstance(read, dict) or list(map(_valid, written)) != list(read):
            raise UnfaithfulError(f"{path}: {written!r} is read as {read!r}")
        for name, inner in written.items():
            _compare(inner, read[_valid(name)], f"{path}.{name}")
    elif isinstance(written, list | tuple):
        if not isinstance(read, list) or len(written) != len(read):
            raise UnfaithfulError(f"{path}: {written!r} is read as {read!r}")
        for index, (one, other) in enumerate(zip(written, read, strict=True)):
            _compare(one, other, f"{path}[{index}]")
    elif isinstance(written, str):
        if _valid(written) != read:
            raise UnfaithfulError(f"{path}: {written!r} is read as {read!r}")
    elif isinstance(written, bool) != isinstance(read, bool) or written != read:
        raise UnfaithfulError(f"{path}: {written!r} is read as {read!r}")


def _valid(text: str) -> str:
    """The text as JSON readers in Go have it: half a surrogate pair is no character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
