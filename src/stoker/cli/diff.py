"""Show what manifests would change, before they are applied.

  stoker diff deploy/                        against the cluster of your kubeconfig
  helm template chart/ | stoker diff -       what a tool prints
  stoker diff --from old/ new/               two folders, without a cluster, for a pull request
  stoker diff deploy/ -o json | jq '.changes[] | select(.pods == "roll") | .workload'

For each workload one line: what is written, whether its pods stay or roll, and which resources are
selected, no longer selected, rejected or accepted; then, as a unified diff, its configuration, its
rule files, and the objects that change. Values of Secrets are named, never shown.

Against a cluster a manifest takes the place of the object of its kind and name; all else is read
there, with your own permissions. Nothing is written. What is not among the manifests is not
removed, as with `kubectl apply`. An operator that runs with flags is described by --flag,
which may be repeated:

  stoker diff deploy/ --flag namespaces=shop,monitoring

With --consolidate-monitors the ScrapeConfigs that such an operator keeps for monitors are shown,
too: those that it would write, change or remove.

Exit status, as of `kubectl diff`: 0 if nothing would change, 1 if something would, 2 if a manifest
cannot be read or would be refused, the command was not understood, or the cluster does not answer.
"""

import argparse
from typing import TYPE_CHECKING

from stoker.cli.access import access_arguments, access_to_read, advised
from stoker.cli.busy import ASKING, JUDGING, READING, Busy, busy
from stoker.cli.options import (
    JSON,
    TEXT,
    YAML,
    flag_arguments,
    flag_settings,
    namespace_argument,
    output_argument,
    path_arguments,
)
from stoker.cli.terminal import failed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stoker.compare.change import Comparison
    from stoker.kube.access import Access
    from stoker.offline.manifests import Document
    from stoker.offline.world import World
    from stoker.settings import OperatorSettings

_NAME = "diff"
_DEFAULT_NAMESPACE = "default"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker diff`."""
    path_arguments(parser)
    parser.add_argument(
        "--from",
        dest="old",
        metavar="OLD",
        action="append",
        help="files and folders to compare with instead of a cluster; may be repeated",
    )
    namespace_argument(
        parser,
        "where manifests that name no namespace belong (default: that of the context, or default)",
    )
    access_arguments(parser)
    flag_arguments(parser)
    parser.add_argument(
        "--consolidate-monitors",
        action="store_true",
        help="the operator turns monitors into ScrapeConfigs, as its flag of this name does",
    )
    output_argument(parser, TEXT, JSON, YAML)


def run(options: argparse.Namespace) -> int:
    """Show what would change; return the exit status."""
    from stoker.cli.diff_text import printed
    from stoker.cli.render_summary import dropped_fields
    from stoker.errors import StokerError

    try:
        consolidating = ["consolidate-monitors"] if options.consolidate_monitors else []
        settings = flag_settings([*options.flag, *consolidating])
        if options.old:
            namespace = options.namespace or _DEFAULT_NAMESPACE
            with busy(_NAME, READING) as work:
                old, world = (
                    _read(paths, options.exclude, namespace, work)
                    for paths in (options.old, options.paths)
                )
                found = _between(old, world, settings)
            for fault in _faults(old):
                failed(_NAME, f"left out of what is compared with: {fault}")
        else:
            access = access_to_read(options.kubeconfig, options.context)
            namespace = options.namespace or access.namespace or _DEFAULT_NAMESPACE
            with busy(_NAME, READING) as work:
                world = _read(options.paths, options.exclude, namespace, work)
            with busy(_NAME, ASKING):
                found = _in_cluster(access, settings, world)
    except StokerError as error:
        return failed(_NAME, _advice(str(error), options))
    faults = _faults(world)
    for fault in (*faults, *(f"{title}: {reason}" for title, reason in world.doubled)):
        failed(_NAME, fault)
    for dropped in dropped_fields(world):
        failed(_NAME, f"dropped: {dropped}")
    if not (world.workloads or world.resources or world.contents or world.namespaces):
        return failed(_NAME, f"no manifest of ours in {', '.join(options.paths)}")
    printed(found, options.output)
    return 2 if faults else int(not found.is_nothing)


def _advice(reason: str, options: argparse.Namespace) -> str:
    return reason if options.old else advised(reason, "a folder with --from")


# --- Manifests ------------------------------------------------------------------------------------


def _read(paths: "Sequence[str]", exclude: "Sequence[str]", namespace: str, work: Busy) -> "World":
    from stoker.offline.manifests import read
    from stoker.offline.world import world_of

    readings = work.counted(read(paths, exclude=exclude), JUDGING)
    return world_of(_placed(readings, namespace))


def _placed(readings: "Iterable[Document]", namespace: str) -> "Iterable[Document]":
    """The readings; an object that names no namespace is in this one, as for kubectl."""
    from msgspec.structs import replace

    from stoker.offline.manifests import Manifest
    from stoker.offline.world import placed

    for reading in readings:
        metadata = reading.object.get("metadata") if isinstance(reading, Manifest) else None
        if isinstance(reading, Manifest) and isinstance(metadata, dict):
            inside = {"metadata": placed(metadata, namespace)}
            if reading.object.get("kind") not in ("Namespace", "ClusterRole", "ClusterRoleBinding"):
                reading = replace(reading, object=reading.object | inside)  # noqa: PLW2901
        yield reading


def _faults(world: "World") -> list[str]:
    """What would be refused, in sentences."""
    return [
        f"{' '.join(part for part in (each.source, each.subject) if part)}: {reason}"
        for each in world.refused
        for reason in each.reasons
    ]


def _between(old: "World", new: "World", settings: "OperatorSettings") -> "Comparison":
    """What happens to each workload from one folder to another."""
    from stoker.compare.change import changes_between
    from stoker.offline.surroundings import view_of

    return changes_between(view_of(old, settings), view_of(new, settings))


# --- A cluster ------------------------------------------------------------------------------------


def _in_cluster(access: "Access", settings: "OperatorSettings", world: "World") -> "Comparison":
    import asyncio

    from stoker import __version__
    from stoker.cluster.diff import compared_with_cluster
    from stoker.compare.overlay import Manifests
    from stoker.kube.client import Client

    manifests = Manifests(
        workloads=tuple(world.workloads),
        resources=tuple(world.resources),
        namespaces=world.namespaces,
        contents=world.assets,
    )

    async def ask() -> "Comparison":
        async with Client(access, user_agent=f"stoker-diff/{__version__}") as client:
            return await compared_with_cluster(client, settings, manifests)

    return asyncio.run(ask())
