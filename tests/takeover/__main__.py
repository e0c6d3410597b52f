"""Take clusters over from the peer, and give them back; count what became of pods and objects.

    python -m tests.takeover recorded                   the worlds of ../shared/worlds
    python -m tests.takeover seeds --seed 1 --count 20  worlds of our own, made by the peer itself
    python -m tests.takeover folder PATH…               manifests, such as kube-prometheus'
    python -m tests.takeover record                     the world that the live tests take over

The peer is $PEER_OPERATOR, or is built once by `python -m tools.build peer-operator` (six minutes).
Exit status: 0 if no pod was replaced, no pod template changed, nothing is gone and every other
difference is on purpose; else 1; 2 where there is nothing to try.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tests.conformance.cases import WORLDS, Suite, default_folder, recorded_worlds
from tests.takeover import folder, shop
from tests.takeover.report import report
from tests.takeover.seeds import FLAGS, given_by
from tests.takeover.trial import new_cluster, of_process, of_recorded
from tests.takeover.world import furnish, world_of
from tools.progress import say


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
    worlds = recorded_worlds(default_folder()).folder
    recorded.add_argument("--worlds", type=Path, default=worlds, help=f"the folder ({worlds})")
    recorded.set_defaults(way=_recorded)
    seeds = ways.add_parser("seeds", help="worlds by number, of which the peer's process makes all")
    seeds.add_argument("--seed", type=int, default=1, help="the first number (1)")
    seeds.add_argument("--count", type=int, default=10, help="how many worlds (10)")
    seeds.add_argument("--record", type=Path, help="write the worlds to this folder, too")
    seeds.set_defaults(way=_seeds)
    files = ways.add_parser("folder", help="manifests of which the peer's process makes all")
    files.add_argument("paths", type=Path, nargs="+", help="files, or folders of them")
    files.set_defaults(way=_folder)
    record = ways.add_parser("record", help=f"write {shop.FILE.name}, the world of our tests, anew")
    record.set_defaults(way=_shop)
    for each in (recorded, seeds, files, record):
        each.add_argument("-v", "--verbose", action="store_true", help="what is on purpose, too")
    return parser


def _recorded(options: argparse.Namespace) -> int:
    suite = Suite(WORLDS, options.worlds)
    worlds = [each for each in suite.cases() if each.name.startswith(options.only)]
    if not worlds:
        print(f"there are no such worlds in {options.worlds}", file=sys.stderr)
        return 2
    with new_cluster() as cluster:
        trial = of_recorded(cluster, worlds)
    return 0 if report(trial, worlds, verbose=options.verbose) else 1


def _seeds(options: argparse.Namespace) -> int:
    numbers = range(options.seed, options.seed + options.count)
    with new_cluster() as cluster:
        given = [furnish(cluster, given_by(number)) for number in numbers]
        say(f"{sum(len(each['resources']) for each in given)} resources in {len(given)} worlds")
        trial = of_process(cluster, FLAGS)
    worlds = [world_of(each, trial.before.in_namespace(each["namespace"])) for each in given]
    for world in worlds if options.record else ():
        shop.write(world, options.record / f"{world.name}.json")
    return 0 if report(trial, worlds, verbose=options.verbose) else 1


def _shop(options: argparse.Namespace) -> int:
    with new_cluster() as cluster:
        given = furnish(cluster, shop.given())
        trial = of_process(cluster, shop.FLAGS)
    world = world_of(given, trial.before.in_namespace(shop.NAMESPACE))
    shop.write(world)
    return 0 if report(trial, [world], verbose=options.verbose) else 1


def _folder(options: argparse.Namespace) -> int:
    objects = folder.manifests(options.paths)
    if not objects:
        print(f"there are no manifests in {options.paths}", file=sys.stderr)
        return 2
    flags = folder.operator_flags(objects)
    say(f"{len(objects)} objects; flags: {' '.join(flags)}")
    with new_cluster() as cluster:
        folder.apply(cluster, objects)
        trial = of_process(cluster, flags)
    return 0 if report(trial, [], verbose=options.verbose) else 1


if __name__ == "__main__":
    sys.exit(main())
