"""Change the mode of agents in all ways, and tell the longest gap and overlap of any target.

    python -m tests.modes [--seed N] [--repeat N] [--reloader ours] [--kills each] [--only TEXT]

Five nodes, 71 targets at an interval of two seconds, real agents. For each kind of change, with
each reloader, and with an operator that is left alone or killed at each of its writes:

  gap      the longest time between two scrapes of a target, whoever made them; it should be at most
           two intervals, which is 4 s, and what the machine itself was late
  overlap  the longest time during which agents of both modes scraped a target; new agents have to
           be ready for 10 s before the old ones go
  late     by how much this process itself was too late at worst: the machine was busy
  kills    how many operators were killed

`half-way` is drawn from the seed: when the new workload is made, when one or all of its pods are
ready, or when the old workload goes. A run for one reloader takes about fifteen minutes on two idle
cores. The table is printed after each change, so that a run can be ended at any time. Exit status
1 if a gap or an overlap was longer than it should be, 2 if this machine cannot do it.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Iterator
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

KILLS = {"none": False, "each": True}
HEAD = ("change", "reloader", "operator", "gap", "overlap", "late", "kills")


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
        for reloader in options.reloader or RELOADERS:
            for case, found in _campaign(reloader, options):
                results.setdefault(case, []).append(found)
                say(f"{_words(case)}: {_numbers(found)}")
    except KeyboardInterrupt:
        say("interrupted")
    print(table(results))
    return 0 if all(each.is_kept for every in results.values() for each in every) else 1


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
    killed = "killed at each write" if KILLS[case.kills] else "left alone"
    return f"{time.strftime('%H:%M:%S')} {case.change}; reloader {case.reloader}; operator {killed}"


def _numbers(found: Measured) -> str:
    kept = "" if found.is_kept else " (too long)"
    return f"gap {found.gap:.1f} s, overlap {found.overlap:.1f} s{kept}"


def table(results: Results) -> str:
    """The worst of each kind, in the form of the documents."""
    rows = [HEAD, tuple("---" for _ in HEAD)]
    for case, every in sorted(results.items(), key=lambda each: each[0].change):
        killed = "killed at each write" if KILLS[case.kills] else "left alone"
        worst = Measured(*map(max, zip(*every, strict=True)))
        numbers = [f"{each:.1f} s" for each in (worst.gap, worst.overlap, worst.late)]
        rows.append((case.change, case.reloader, killed, *numbers, str(worst.kills)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


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
