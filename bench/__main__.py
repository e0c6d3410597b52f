"""Runs measurements and prints a table for each; all but `scale`, or those that are named.

python -m bench [generate] [rules] [objects] [hostile] [decoding] [operator] [start] [takeover]
                [scale] [nodes] [watches] [losses] [page] [portions] [idle] [walks]
                [--monitors N] [--page-resources N] [--peer PATH]
"""

import argparse
import sys
from collections.abc import Callable

from bench import (
    decoding,
    generate,
    hostile,
    idle,
    losses,
    nodes,
    objects,
    operator,
    page,
    portions,
    rules,
    scale,
    start,
    takeover,
    walks,
    watches,
)
from bench.world import create_monitors
from tools.cluster import Cluster
from tools.crds import install_crds


def _decoding(options: argparse.Namespace) -> bool:
    with Cluster.start(nodes=0) as cluster:
        print(f"creating {options.monitors} ServiceMonitors …", flush=True)
        install_crds(cluster)
        create_monitors(cluster, options.monitors)
        return decoding.report(cluster)


def _generate(_options: argparse.Namespace) -> bool:
    return generate.report()


def _rules(_options: argparse.Namespace) -> bool:
    return rules.report()


def _objects(_options: argparse.Namespace) -> bool:
    return objects.report()


def _hostile(_options: argparse.Namespace) -> bool:
    return hostile.report()


def _walks(_options: argparse.Namespace) -> bool:
    return walks.report()


MEASUREMENTS: dict[str, Callable[[argparse.Namespace], bool]] = {
    "generate": _generate,
    "rules": _rules,
    "objects": _objects,
    "hostile": _hostile,
    "walks": _walks,
    "decoding": _decoding,
    "operator": operator.report,
    "start": start.report,
    "takeover": takeover.report,
    "scale": scale.report,
    "nodes": nodes.report,
    "watches": watches.report,
    "losses": losses.report,
    "page": page.report,
    "portions": portions.report,
    "idle": idle.report,
}


# What takes an hour on a small machine runs only where it is named.
_LONG = ("scale",)


def main() -> int:
    """Measure; exit 1 where a figure misses its goal."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "measurement", nargs="*", help=f"{' or '.join(MEASUREMENTS)} (all but scale)"
    )
    parser.add_argument(
        "--monitors", type=int, default=5000, help="ServiceMonitors on the cluster (5000)"
    )
    operator.arguments(parser)
    start.arguments(parser)
    nodes.arguments(parser)
    watches.arguments(parser)
    page.arguments(parser)
    portions.arguments(parser)
    idle.arguments(parser)
    options = parser.parse_args()
    unknown = set(options.measurement) - MEASUREMENTS.keys()
    if unknown:
        parser.error(f"there is no measurement {', '.join(sorted(unknown))}")
    chosen = options.measurement or [name for name in MEASUREMENTS if name not in _LONG]
    missed = [name for name in chosen if not MEASUREMENTS[name](options)]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
