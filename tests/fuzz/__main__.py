"""Send made-up resources through selection and generation: `python -m tests.fuzz`.

A round makes a hundred resources and a workload from a number, and the next round from the next:
`--seed` with the number of a failure repeats it. Exit status 1 on a failure.
"""

import argparse
import json
import sys
from typing import Any

from tests.fuzz.properties import COUNTS
from tests.fuzz.run import Failure, fuzz

SHOWN = 20


def main(arguments: list[str] | None = None) -> int:
    """Fuzz, and print what became of it."""
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="resources to try (1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first round's (0)")
    options = parser.parse_args(arguments)
    report, failures = fuzz(options.seed, options.count)
    for failure in failures[:SHOWN]:
        print(described(failure), end="\n\n")
    for name in COUNTS:
        print(f"{name}: {report.counts[name]}")
    print(f"failures: {len(failures)}")
    return 1 if failures else 0


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
