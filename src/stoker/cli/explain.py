"""Say why a resource is scraped, or why not: which workloads select it and what they find.

  stoker explain servicemonitor shop/cart                 in the cluster of your kubeconfig
  stoker explain smon/cart -n shop -f deploy/             among manifests, without a cluster
  stoker explain podmonitor worker -n shop --job          with the job that Prometheus gets
  stoker explain prometheus monitoring/main               what a workload selects and rejects
  stoker explain rule shop/alerts -o json | jq .standings

The first line says it all; the rest says how it comes about: of each workload that could select the
resource, the first reason why it does not; what was rejected and what the workload's version
ignores; the Services, ports and pods that match, near misses, and how many targets they make; and
which permissions Prometheus lacks to find them.

In a cluster only what is needed is read, with your own permissions. What you are not allowed to
read is reported as not known. Values of Secrets are never shown.

An operator that was started with flags is described by --flag, which may be repeated:

  stoker explain probe shop/web --flag namespaces=shop,monitoring

Exit status: 0 if at least one workload selects the resource and all that do accept it, 1 if it is
not selected, rejected, or surely without targets, 2 if there is no such resource, or the command
was not understood or the cluster does not answer.
"""

import argparse
from typing import TYPE_CHECKING

from stoker.cli.access import MANIFESTS, access_arguments, access_to_read, advised
from stoker.cli.busy import ASKING, JUDGING, READING, busy
from stoker.cli.options import (
    JSON,
    TEXT,
    YAML,
    flag_arguments,
    flag_settings,
    instead_of_cluster,
    namespace_argument,
    object_meant,
    output_argument,
)
from stoker.cli.terminal import failed

if TYPE_CHECKING:
    from stoker.explain.answer import Explanation
    from stoker.kube.access import Access
    from stoker.offline.world import World
    from stoker.settings import OperatorSettings

_NAME = "explain"
_DEFAULT_NAMESPACE = "default"
_MOST_DOUBLED = 3


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker explain`."""
    parser.add_argument(
        "words",
        metavar="KIND [NS/]NAME",
        nargs="+",
        help="as for kubectl: servicemonitor cart, smon/cart, rule shop/alerts, …",
    )
    namespace_argument(
        parser, "its namespace, if not in the name (default: that of the context, or `default`)"
    )
    instead_of_cluster(parser)
    access_arguments(parser)
    flag_arguments(parser)
    parser.add_argument(
        "--job", action="store_true", help="show its part of the configuration, too"
    )
    output_argument(parser, TEXT, JSON, YAML)


def run(options: argparse.Namespace) -> int:
    """Explain a resource; return the exit status."""
    from stoker.cli.explain_text import printed
    from stoker.errors import StokerError

    try:
        kind, namespace, name = object_meant(options.words, options.namespace)
        settings = flag_settings(options.flag, judging=True)
    except StokerError as error:
        return failed(_NAME, error)
    try:
        found = _found(options, settings, kind.name, namespace, name)
    except StokerError as error:
        return failed(_NAME, error if options.paths else advised(error, MANIFESTS))
    if isinstance(found, str):
        return failed(_NAME, found)
    printed(found, form=options.output, with_job=options.job)
    return 0 if found.good else 1


def _found(
    options: argparse.Namespace,
    settings: "OperatorSettings",
    kind: str,
    namespace: str,
    name: str,
) -> "Explanation | str":
    if options.paths:
        from stoker.offline.manifests import read
        from stoker.offline.world import world_of

        with busy(_NAME, READING) as work:
            readings = read(options.paths, exclude=options.exclude)
            world = world_of(work.counted(readings, JUDGING))
            return _in_directory(world, settings, kind, namespace or _DEFAULT_NAMESPACE, name)
    access = access_to_read(options.kubeconfig, options.context)
    with busy(_NAME, ASKING):
        return _in_cluster(access, settings, kind, namespace, name)


# --- Manifests ------------------------------------------------------------------------------------


def _in_directory(
    world: "World", settings: "OperatorSettings", kind: str, namespace: str, name: str
) -> "Explanation | str":
    from msgspec.structs import replace

    from stoker.explain.ask import beside_unusable, explanation, not_found, unusable
    from stoker.offline.surroundings import view_of

    view = view_of(world, settings)
    found = explanation(view, kind, namespace, name)
    if found is None:
        for refused in world.refused:
            if refused.subject == f"{kind} {namespace}/{name}":
                return unusable(kind, namespace, name, refused.reasons)
        known = [each for each in (*world.workloads, *world.resources) if _is_of(each, kind)]
        names = (f"{each.metadata.namespace}/{each.metadata.name}" for each in known)
        return not_found(kind, f"{namespace}/{name}", names) + _lost(world)
    unread = [*world.refused, *world.unread]
    found = beside_unusable(found, ((each.subject, each.reasons) for each in world.refused))
    if unread:
        shown = ", ".join(each.subject or each.source for each in unread[:3])
        told = f"not everything could be read, which `stoker lint` explains: {shown}"
        found = replace(found, notes=(*found.notes, told + (", …" if len(unread) > 3 else "")))
    twice = tuple(f"{title}: {reason}" for title, reason in world.doubled[:_MOST_DOUBLED])
    return replace(found, notes=(*found.notes, *twice))


def _lost(world: "World") -> str:
    """Where else it may be written: what could not be read at all."""
    lost = [each for each in world.refused if not each.subject]
    if not lost:
        return ""
    more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
    return f"; {lost[0].source} cannot be read: {lost[0].reasons[0]}{more}"


def _is_of(found: object, kind: str) -> bool:
    return type(found).__name__ == kind


# --- A cluster ------------------------------------------------------------------------------------


def _in_cluster(
    access: "Access", settings: "OperatorSettings", kind: str, namespace: str, name: str
) -> "Explanation | str":
    import asyncio

    from stoker import __version__
    from stoker.cluster.explain import explained_in_cluster
    from stoker.kube.client import Client

    where = namespace or access.namespace or _DEFAULT_NAMESPACE

    async def ask() -> "Explanation | str":
        async with Client(access, user_agent=f"stoker-explain/{__version__}") as client:
            return await explained_in_cluster(client, settings, kind, where, name)

    return asyncio.run(ask())
