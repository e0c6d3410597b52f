"""Runs all measurements on one cluster and prints a table for each.

python -m bench [--monitors N]
"""

import argparse
import sys

from bench import decoding
from bench.world import create_monitors
from tools.cluster import Cluster


def main() -> int:
    """Build the world once, then measure; exit 1 where a figure misses its goal."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--monitors", type=int, default=5000, help="ServiceMonitors (5000)")
    options = parser.parse_args()
    with Cluster.start(nodes=0) as cluster:
        print(f"creating {options.monitors} ServiceMonitors …", flush=True)
        create_monitors(cluster, options.monitors)
        return 0 if decoding.report(cluster) else 1


if __name__ == "__main__":
    sys.exit(main())
