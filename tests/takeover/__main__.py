"""Take clusters over from the peer, and give them back; count what became of pods and objects.

    python -m tests.takeover recorded                   the worlds of ../shared/worlds
    python -m tests.takeover seeds --seed 1 --count 20  worlds of our own, made by the peer itself
    python -m tests.takeover folder PATH…               manifests, such as kube-prometheus'

Exit status: 0 if no pod was replaced, no pod template changed, nothing is gone and every other
difference is on purpose; else 1; 2 where there is nothing to try.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.conformance.cases import Case, default_folder, recorded_worlds
from tests.conformance.exceptions import is_deliberate
from tests.conformance.worlds import lines
from tests.takeover.operators import OURS, PEER, running, workload_count
from tests.takeover.seeds import FLAGS, given_by
from tests.takeover.snapshot import Changes, Snapshot
from tests.takeover.world import add_objects_of_the_peer, furnish, world_of
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.progress import say

_NODES: Final = 3


def main(arguments: list[str] | None = None) -> int:
    """Try what was asked for, print what was found, and say with the exit status how it went."""
    options = _parser().parse_args(arguments)
    way: Callable[[argparse.Namespace], int] = options.way
    return way(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tests.takeover",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ways = parser.add_subparsers(required=True, metavar="WAY")
    recorded = ways.add_parser("recorded", help="worlds that were recorded from the peer")
    recorded.add_argument("--only", default="", help="worlds whose name begins so (all)")
    folder = recorded_worlds(default_folder()).folder
    recorded.add_argument("--worlds", type=Path, default=folder, help=f"the folder ({folder})")
    recorded.set_defaults(way=_recorded)
    seeds = ways.add_parser("seeds", help="worlds by number, of which the peer's process makes all")
    seeds.add_argument("--seed", type=int, default=1, help="the first number (1)")
    seeds.add_argument("--count", type=int, default=10, help="how many worlds (10)")
    seeds.add_argument("--record", type=Path, help="write the worlds to this folder as well")
    seeds.set_defaults(way=_seeds)
    for each in ways.choices.values():
        each.add_argument(
            "-v", "--verbose", action="store_true", help="what differs on purpose too"
        )
    return parser


def _recorded(options: argparse.Namespace) -> int:
    suite = recorded_worlds(options.worlds.parent / "conformance")
    worlds = [each for each in suite.cases() if each.name.startswith(options.only)]
    if not worlds:
        print(f"there are no worlds in {options.worlds}", file=sys.stderr)
        return 2
    begun = time.monotonic()
    with Cluster.start(nodes=_NODES) as cluster:
        install_crds(cluster)
        for number, world in enumerate(worlds, 1):
            say(f"{world.name}: {number} of {len(worlds)}")
            furnish(cluster, world.given)
            add_objects_of_the_peer(cluster, world)
        before = Snapshot.settled(cluster)
        flags = tuple(worlds[0].given["flags"])
        say(f"{workload_count(cluster)} workloads, {len(before.pods)} pods: stoker takes over")
        with running(OURS, cluster, flags):
            after = Snapshot.settled(cluster)
    say(f"after {time.monotonic() - begun:.0f} s")
    return _report(worlds, before, after, verbose=options.verbose)


def _seeds(options: argparse.Namespace) -> int:
    numbers = range(options.seed, options.seed + options.count)
    begun = time.monotonic()
    with Cluster.start(nodes=_NODES) as cluster:
        install_crds(cluster)
        given = []
        for number in numbers:
            given.append(furnish(cluster, given_by(number)))
            say(f"world {number}: {len(given[-1]['resources'])} resources")
        say(f"{workload_count(cluster)} workloads: the peer works")
        with running(PEER, cluster, FLAGS):
            before = Snapshot.settled(cluster)
        worlds = [world_of(each, before.in_namespace(each["namespace"])) for each in given]
        say(f"{len(before.generations)} sets, {len(before.pods)} pods: stoker takes over")
        with running(OURS, cluster, FLAGS):
            after = Snapshot.settled(cluster)
        say("the peer comes back")
        with running(PEER, cluster, FLAGS):
            back = Snapshot.settled(cluster)
    say(f"after {time.monotonic() - begun:.0f} s")
    found = _report(worlds, before, after, verbose=options.verbose)
    print("and back:")
    return max(found, _report_back(before, after, back))


def _report_back(before: Snapshot, after: Snapshot, back: Snapshot) -> int:
    """Print what the way back did to pods, and what it did not bring back."""
    changes = Changes.between(after, back)
    for namespace, found in sorted(changes.by_namespace().items()):
        for line in found:
            print(f"{namespace}: {line}")
    for name, count in changes.counts().items():
        print(f"{name}: {count}")
    unlike = Changes.between(before, back)
    print(
        f"unlike before we took over: {len(unlike.told)} Secrets and ConfigMaps",
        unlike.lost,
        unlike.gained,
        unlike.told,
    )
    return 1 if changes.replaced else 0


def _report(worlds: list[Case], before: Snapshot, after: Snapshot, *, verbose: bool) -> int:
    changes = Changes.between(before, after)
    bad = 0
    hard = changes.by_namespace()
    for world in worlds:
        namespace = world.given["namespace"]
        differences = list(lines(world, after.in_namespace(namespace)))
        shown = [f"NOT ON PURPOSE {each}" for each in differences if not is_deliberate(each)]
        shown += [f"MUST NOT BE {each}" for each in hard.get(namespace, ())]
        bad += len(shown)
        if verbose:
            shown += [f"on purpose {each}" for each in differences if is_deliberate(each)]
        for line in shown:
            print(f"{world.name}: {line}")
    for name, count in changes.counts().items():
        print(f"{name}: {count}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
