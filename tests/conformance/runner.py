"""Runs suites and counts: what the command line prints, and what the tests assert.

Importing the modules that replay registers what they replay.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from tests.conformance import (  # noqa: F401
    admission,
    alert_workloads,
    alerting,
    configuration,
    objects,
    operator_parts,
    parity,
    pieces,
    promql,
    reloader,
    rules,
    selection,
    status,
    validation,
    versions,
    workloads,
    worlds,
    writing,
)
from tests.conformance.cases import CRDS, WORLDS, Case, Suite, peer_crds, recorded_worlds, suites
from tests.conformance.exceptions import exception_for
from tests.conformance.replay import WAYS, Context, Outcome, Way

T = TypeVar("T")
R = TypeVar("R")


class Failure(Struct, frozen=True):
    """A case that did not come out as it should, and how."""

    case: str
    difference: str


class Result(Struct):
    """A line of the report. `exact` counts, for suites of text, what is equal to the byte."""

    label: str
    cases: int
    passed: int = 0
    exact: int | None = None
    excepted: int = 0
    missing: int = 0
    failures: list[Failure] = []

    def add(self, case: Case, outcome: Outcome) -> None:
        """Count a case, with its exception if it has one."""
        exception = exception_for(case.suite, case.name)
        if exception and outcome.passed:
            text = f"passes: the exception is no longer needed ({exception.reason})"
            self.failures.append(Failure(case.name, text))
        elif exception or (outcome.passed and outcome.on_purpose):
            self.excepted += 1
        elif outcome.passed:
            self.passed += 1
        else:
            self.failures.append(Failure(case.name, outcome.difference))
        if outcome.exact is not None:
            self.exact = (self.exact or 0) + outcome.exact


def all_suites(folder: Path) -> dict[str, Suite]:
    """Everything in the folder that is replayed or waits for it."""
    if not folder.is_dir():
        return {}
    namespaces = recorded_worlds(folder)
    beside = {WORLDS: namespaces} if namespaces.folder.is_dir() else {}
    return {CRDS: peer_crds(folder)} | suites(folder) | beside


def ways_of(suite: str) -> list[Way]:
    """How a suite is replayed; not at all, for a suite that still waits."""
    return [way for way in WAYS if way.suite == suite]


def waiting(suite: Suite, case: str = "*") -> Result:
    """The line of a suite that nothing replays yet."""
    count = sum(fnmatchcase(name, case) for name in suite.names())
    return Result(suite.name, count, missing=count)


def run(
    way: Way,
    suite: Suite,
    context: Context,
    case: str = "*",
    progress: Callable[[int], None] = lambda done: None,
) -> Result:
    """Replay the cases of a suite whose names match."""
    result = Result(way.label, 0)
    if way.live:
        context.start()
    chosen = (one for one in suite.cases() if fnmatchcase(one.name, case) and way.concerns(one))
    for one, outcome in _each(lambda one: _replayed(way, one, context), chosen, way.workers):
        result.cases += 1
        result.add(one, outcome)
        progress(result.cases)
    return result


def _replayed(way: Way, case: Case, context: Context) -> Outcome:
    try:
        return way.replay(case, context)
    except Exception as error:
        return Outcome(f"{type(error).__name__}: {error}")


def _each(work: Callable[[T], R], items: Iterable[T], workers: int) -> Iterator[tuple[T, R]]:
    """Each item with what came of it, in order, a bounded number in memory at once."""
    if workers == 1:
        yield from ((item, work(item)) for item in items)
        return
    source = iter(items)
    with ThreadPoolExecutor(workers) as pool:
        while batch := list(islice(source, 32 * workers)):
            yield from zip(batch, pool.map(work, batch), strict=True)


def describe(result: Result, limit: int | None = None) -> str:
    """The failures of a line as text, the first ones if there is a limit."""
    shown = result.failures if limit is None else result.failures[:limit]
    blocks = [f"{result.label}/{one.case}:\n{_indented(one.difference)}" for one in shown]
    rest = len(result.failures) - len(shown)
    return "\n".join(blocks + ([f"… and {rest} more (-v shows all)"] if rest else []))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
