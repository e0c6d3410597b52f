"""Send made-up resources through selection and generation, and made-up workloads on to objects.

    python -m tests.fuzz [--count N] [--seed N] [resources|workloads|expressions]

A round makes a hundred resources and a workload from a number, and the next round from the next; a
workload for objects has a number of its own. `--seed` with the number of a failure repeats it.
`expressions` are regular ones, which Go judges too. Exit status 1 on a failure.
"""

import argparse
import json
import sys
from typing import Any, Final

from tests.fuzz import building, expressions
from tests.fuzz.properties import COUNTS
from tests.fuzz.run import Failure, fuzz

SHOWN = 20


def main(arguments: list[str] | None = None) -> int:
    """Fuzz, and print what became of it."""
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many of each to try (1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first round's (0)")
    parser.add_argument("what", nargs="?", choices=tuple(_RUNS), help="(all)")
    options = parser.parse_args(arguments)
    chosen = [options.what] if options.what else list(_RUNS)
    failures = sum(_RUNS[what](options.seed, options.count) for what in chosen)
    return 1 if failures else 0


def _resources(seed: int, count: int) -> int:
    report, failures = fuzz(seed, count)
    for failure in failures[:SHOWN]:
        print(described(failure), end="\n\n")
    for name in COUNTS:
        print(f"{name}: {report.counts[name]}")
    print(f"failures: {len(failures)}")
    return len(failures)


def _workloads(seed: int, count: int) -> int:
    tried = list(building.attempts(seed, count))
    failures = [each for each in tried if each.problem]
    for each in failures[:SHOWN]:
        print(f"workloads --seed {each.seed} --count 1", each.problem, _json(each.workload), "")
    counts = building.counted(tried)
    for name in building.COUNTS:
        print(f"workloads for objects, {name}: {counts[name]}")
    print(f"failures: {len(failures)}")
    return len(failures)


def _expressions(seed: int, count: int) -> int:
    tallies = expressions.compared(seed, count)
    for name, tally in tallies.items():
        for text in (*tally.wrong[:SHOWN], *tally.other_empty[:SHOWN]):
            print(f"{name}: {text[:300]}")
        print(f"{name}: {tally}")
    counts = expressions.total(tallies)
    print(f"regular expressions: {dict(counts)}")
    too_strict = counts["too_strict"] > count / 1000
    return counts["wrong"] + counts["other_empty"] + too_strict


_RUNS: Final = {"resources": _resources, "workloads": _workloads, "expressions": _expressions}


def described(failure: Failure) -> str:
    """A failure with all that is needed to repeat it."""
    world = failure.world
    return "\n".join(
        (
            f"{failure.problem.property} (--seed {failure.seed} --count 1)",
            failure.problem.detail,
            *map(_json, world.resources[:1]),
            _json(world.workload),
        )
    )


def _json(value: Any) -> str:
    return json.dumps(value)[:5000]


if __name__ == "__main__":
    sys.exit(main())
