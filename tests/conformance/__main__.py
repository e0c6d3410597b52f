"""Replay the peer's recorded behaviour and count: `python -m tests.conformance`.

Exit status: 0 if all is well, 1 on a failure, 2 when the folder, the suite or the case is absent.
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from tests.conformance.cases import Suite, default_folder
from tests.conformance.replay import Context, Way
from tests.conformance.runner import Result, all_suites, describe, run, waiting, ways_of
from tools.cluster import Cluster

_SHOWN_FAILURES: Final = 5
_COLUMNS: Final = ("cases", "passed", "byte-equal", "failed", "excepted", "not replayed")


def main(arguments: list[str] | None = None) -> int:
    """Replay what was asked for, print the table, and say with the exit status how it went."""
    options = _parser().parse_args(arguments)
    suites = all_suites(options.cases)
    if not suites:
        return _refused(f"there are no cases in {options.cases}")
    lines = _lines(suites)
    if unknown := set(options.suite) - suites.keys() - lines.keys():
        return _refused(f"there is no suite called {', '.join(sorted(unknown))}")
    wanted = {
        label: line
        for label, line in lines.items()
        if not options.suite or {label, line[0].name} & set(options.suite)
    }
    results = _results(wanted, options.case)
    if not results:
        return _refused(f"there is no case called {options.case}")
    return _report(results, options.verbose)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.conformance", description=__doc__)
    folder = default_folder()
    parser.add_argument("--cases", type=Path, default=folder, help=f"the folder ({folder})")
    parser.add_argument("--suite", action="append", default=[], help="only this one; repeatable")
    parser.add_argument("--case", default="*", help="only cases of this name or glob")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every failure")
    return parser


def _refused(message: str) -> int:
    print(message, file=sys.stderr)
    return 2


def _lines(suites: dict[str, Suite]) -> dict[str, tuple[Suite, Way | None]]:
    """The lines of the report by label: each way of replaying a suite, or that there is none."""
    lines: dict[str, tuple[Suite, Way | None]] = {}
    for suite in suites.values():
        for way in ways_of(suite.name) or (None,):
            lines[way.label if way else suite.name] = (suite, way)
    return lines


def _results(lines: dict[str, tuple[Suite, Way | None]], case: str) -> list[Result]:
    with Context(_own_cluster) as context:
        results = [
            run(way, suite, context, case, _progress(label)) if way else waiting(suite, case)
            for label, (suite, way) in lines.items()
        ]
    _clear_line()
    return [result for result in results if result.cases]


def _own_cluster() -> AbstractContextManager[Cluster]:
    return Cluster.start(nodes=0)


def _progress(label: str) -> Callable[[int], None]:
    def show(done: int) -> None:
        if done % 50 == 0 and sys.stderr.isatty():
            print(f"\r\033[K{label}: {done}", end="", file=sys.stderr, flush=True)

    return show


def _clear_line() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _report(results: list[Result], verbose: bool) -> int:
    """Print the table, the failures below it and the total last; return the exit status."""
    width = max(len(result.label) for result in results)
    print("suite".ljust(width), *(column.rjust(max(7, len(column))) for column in _COLUMNS))
    for result in results:
        print(result.label.ljust(width), *_cells(result))
    for result in results:
        if result.failures:
            print(f"\n{describe(result, None if verbose else _SHOWN_FAILURES)}")
    failed = sum(len(result.failures) for result in results)
    print(
        f"\ntotal: {sum(result.passed for result in results)} passed, {failed} failed, "
        f"{sum(result.excepted for result in results)} excepted, "
        f"{sum(result.missing for result in results)} not replayed"
    )
    return 1 if failed else 0


def _cells(result: Result) -> list[str]:
    exact = "-" if result.exact is None else result.exact
    numbers = (result.cases, result.passed, exact, len(result.failures), result.excepted)
    cells = zip(_COLUMNS, (*numbers, result.missing), strict=True)
    return [str(number).rjust(max(7, len(column))) for column, number in cells]


if __name__ == "__main__":
    sys.exit(main())
