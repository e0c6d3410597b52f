"""Change the mode of agents in all ways, and tell the longest gap and overlap of any target.

    python -m tests.modes [--seed N] [--repeat N] [--reloader ours] [--kills each] [--only TEXT]

Five nodes, 71 targets at an interval of two seconds, real agents. For each kind of change, with
each reloader (the default image, which is the peer's, and ours), and with an operator that is left
alone or killed at each of its writes:

  gap      the longest time between two scrapes of a target, whoever made them; it should be at most
           two intervals, which is 4 s, and what the machine itself was late
  overlap  the longest time during which agents of both modes scraped a target; new agents have to
           be ready for 10 s before the old ones go
  late     by how much this process itself woke too late at worst: the machine was busy

The table at the end has the longest `gap / overlap` of each change, in seconds.

`half-way` is drawn from the seed: when the new workload is made, when one or all of its pods are
ready, or when the old workload goes. All of it took 11 and 23 minutes on two busy cores. What is
known so far is printed when a run is interrupted. Exit status 1 if a gap or an overlap was longer
than it should be, or a change did not end; 2 if this machine cannot do it; 130 if interrupted.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.live.changing import (
    DAEMON_SET,
    RELOADERS,
    STATEFUL_SET,
    Measured,
    changes,
    measured,
    set_mode,
)
from tests.live.stage import ALONE, open_stage
from tests.live.succession import Succession
from tools import namespace
from tools.progress import say
from tools.waiting import NotInTimeError

KILLS = {"none": False, "each": True}
_OPERATOR = {"none": "operator left alone", "each": "killed at each write"}


class Case(NamedTuple):
    """A row of the table."""

    change: str
    reloader: str
    kills: str


Results = dict[Case, list[Measured]]


def main(arguments: list[str] | None = None) -> int:
    """Change modes, and print what became of it."""
    options = _parser().parse_args(arguments)
    if not namespace.launcher():
        print("error: this machine does not let us make network namespaces", file=sys.stderr)
        return 2
    results: Results = {}
    try:
        ended = [_ran(each, options, results) for each in options.reloader or RELOADERS]
    except KeyboardInterrupt:
        print(table(results))
        return 130
    print(table(results))
    kept = all(each.is_kept for every in results.values() for each in every)
    return 0 if all(ended) and kept else 1


def _ran(reloader: str, options: argparse.Namespace, results: Results) -> bool:
    """Make all changes with a reloader; whether each came to its end."""
    try:
        for case, found in _campaign(reloader, options):
            results.setdefault(case, []).append(found)
            say(f"{_words(case)}: {_numbers(found)}")
    except (AssertionError, NotInTimeError) as error:
        say(f"failed, and no more is tried with this reloader: {error}")
        return False
    return True


def _campaign(reloader: str, options: argparse.Namespace) -> Iterator[tuple[Case, Measured]]:
    """All changes with a reloader, from a StatefulSet to a DaemonSet and back, on one cluster."""
    kills = options.kills or list(KILLS)
    with (
        tempfile.TemporaryDirectory(prefix="stoker-modes-") as directory,
        open_stage(Path(directory)) as stage,
        Succession(stage.cluster, ALONE, *RELOADERS[reloader]) as operators,
    ):
        stage.furnish()
        set_mode(stage, STATEFUL_SET)
        for number, kill in itertools.product(range(options.repeat), kills):
            dice = random.Random(options.seed + number)
            for mode in (STATEFUL_SET, DAEMON_SET):
                for name, steps in changes(mode).items():
                    change = name if name.startswith("to ") else f"{mode}, {name}"
                    # Those that change the mode for good lead to the next ones.
                    if options.only not in change and not name.startswith("to "):
                        continue
                    say(f"{_words(Case(change, reloader, kill))} …")
                    found = measured(stage, operators, steps, dice, kill=KILLS[kill])
                    yield Case(change, reloader, kill), found


def _words(case: Case) -> str:
    how = f"reloader: {case.reloader}, {_OPERATOR[case.kills]}"
    return f"{time.strftime('%H:%M:%S')} {case.change}; {how}"


def _numbers(found: Measured) -> str:
    kept = "" if found.is_kept else " (too long)"
    numbers = f"gap {found.gap:.1f} s, overlap {found.overlap:.1f} s"
    return f"{numbers}, late {found.late:.1f} s, {found.kills} kills{kept}"


def table(results: Results) -> str:
    """The longest gap and overlap of each change, in the form of the documents."""
    columns = list(dict.fromkeys((case.reloader, case.kills) for case in results))
    rows = [["change", *map(_heading, columns)], ["---"] * (1 + len(columns))]
    for change in dict.fromkeys(case.change for case in results):
        cells = [_cell(results.get(Case(change, *each), [])) for each in columns]
        rows.append([change, *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _heading(column: tuple[str, str]) -> str:
    reloader, kills = column
    return f"reloader: {reloader}, {_OPERATOR[kills]}"


def _cell(every: Sequence[Measured]) -> str:
    if not every:
        return ""
    return f"{max(each.gap for each in every):.1f} / {max(each.overlap for each in every):.1f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tests.modes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=0, help="what half-way means (0)")
    parser.add_argument("--repeat", type=int, default=1, help="how often, each with a new seed (1)")
    parser.add_argument("--only", default="", metavar="TEXT", help="changes with this in the name")
    parser.add_argument("--reloader", action="append", choices=tuple(RELOADERS), help="(both)")
    parser.add_argument("--kills", action="append", choices=tuple(KILLS), help="(both)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
