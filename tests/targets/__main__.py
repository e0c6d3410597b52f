"""Ask a real Prometheus about more made-up relabelings: `python -m tests.targets [--count N]`.

Jobs are made from numbers; `--seed` with the number of a failure repeats it. Exit status 1 where
Prometheus says something else. The made-up clusters are a live test: `tests/live`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from stoker.targets.job import Defaults, job_of
from stoker.targets.objects import TargetSources
from stoker.version import parse_version
from tests.targets.judge import INTERVAL, pools_of, prometheus
from tests.targets.relabelings import jobs

SHOWN = 20
_AT_ONCE = 2000


def main(arguments: list[str] | None = None) -> int:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser("python -m tests.targets", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many jobs (10000)")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first (0)")
    options = parser.parse_args(arguments)
    found: list[str] = []
    for start in range(0, options.count, _AT_ONCE):
        count = min(_AT_ONCE, options.count - start)
        found += _differences(options.seed + start, count)
    for each in found[:SHOWN]:
        print(each)
    print(f"{options.count} jobs, {len(found)} differences")
    return 1 if found else 0


def _differences(seed: int, count: int) -> list[str]:
    written = list(jobs(seed, count))
    newest, defaults = parse_version("3.15.0"), Defaults(interval=INTERVAL)
    ours = pools_of([job_of(each, newest, defaults) for each in written], TargetSources())
    with tempfile.TemporaryDirectory() as folder, prometheus(written, Path(folder)) as judge:
        return judge.agrees(lambda: ours)


if __name__ == "__main__":
    sys.exit(main())
