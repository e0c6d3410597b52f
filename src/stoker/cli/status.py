"""List everything that is not well, by namespace, the worst first, with the reason and the place.

  stoker status -A                        all namespaces of the cluster of your kubeconfig
  stoker status -n shop                   what is in one namespace
  stoker status -f deploy/                manifests, without a cluster
  stoker status -f deploy/ --watch        and again whenever something changes
  stoker status -A -o json | jq -r '.namespaces[].troubles[] | .namespace + "/" + .name'

What counts as not well is what the operator and its status page say, in the same words: objects
that cannot be used, workloads that do not run as they should, resources that are rejected, have no
targets or only targets that are down, are held, or that no workload selects. Among manifests each
comes with its file and line. Targets are known where manifests have Services or pods, and in a
cluster where the operator counts them (--target-status-interval).

Without -n or -A, a cluster is looked at in the namespace of the context, manifests as a whole. In a
cluster everything is read with your own permissions and nothing is written; what you are not
allowed to see is reported as not known. Values of Secrets are never shown.

An operator that was started with flags is described by --flag, which may be repeated:

  stoker status -A --flag namespaces=shop,monitoring

Exit status: 0 if all is well, 1 if something is not, 2 if that is not known: nothing was found,
something cannot be seen or judged from here (and nothing else is wrong), the command was not
understood, or the cluster does not answer.
"""

import argparse
import os
from typing import TYPE_CHECKING, Final

from stoker.cli.access import MANIFESTS, access_arguments, access_to_read, advised
from stoker.cli.busy import ASKING, READING, busy
from stoker.cli.options import (
    JSON,
    TEXT,
    YAML,
    flag_arguments,
    flag_settings,
    instead_of_cluster,
    namespace_argument,
    output_argument,
)
from stoker.cli.terminal import failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from stoker.page.health import Health
    from stoker.settings import OperatorSettings

_NAME: Final = "status"
_DEFAULT_NAMESPACE: Final = "default"
# Files are looked at more often than a server is asked for everything.
_SECONDS: Final = 1.0
_SECONDS_CLUSTER: Final = 10.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `stoker status`."""
    namespace_argument(parser, "what is in this namespace (default: that of the context)")
    parser.add_argument(
        "-A", "--all-namespaces", action="store_true", help="what is in all namespaces"
    )
    instead_of_cluster(parser)
    access_arguments(parser)
    flag_arguments(parser)
    parser.add_argument(
        "-w", "--watch", action="store_true", help="print it again whenever it is another"
    )
    output_argument(parser, TEXT, JSON, YAML)


def run(options: argparse.Namespace) -> int:
    """Tell how everything is; return the exit status."""
    from stoker.cli.status_text import printed
    from stoker.errors import StokerError

    if options.all_namespaces and options.namespace:
        return failed(_NAME, "-A and -n NS: name one of them")
    absent = [each for each in options.paths or () if each != "-" and not os.path.exists(each)]
    if absent:
        return failed(_NAME, f"{absent[0]}: no such file or directory")
    try:
        look = _look(options, flag_settings(options.flag, judging=True))
        with busy(_NAME, READING if options.paths else ASKING):
            found = look()
        printed(found, options.output)
        if options.watch:
            _watch(look, found, options)
    except StokerError as error:
        return failed(_NAME, error if options.paths else advised(error, MANIFESTS))
    return _exit_status(found)


def _exit_status(found: "Health") -> int:
    if found.state == "problem":
        return 1
    return 0 if found.state == "good" and not found.unseen else 2


def _watch(look: "Callable[[], Health]", last: "Health", options: argparse.Namespace) -> None:
    """Print it whenever it is another, for ever."""
    from time import sleep

    from stoker.cli.status_text import printed

    while True:
        sleep(_SECONDS if options.paths else _SECONDS_CLUSTER)
        found = look()
        if found != last:
            printed(found, options.output, again=True)
            last = found


def _look(options: argparse.Namespace, settings: "OperatorSettings") -> "Callable[[], Health]":
    if options.paths:
        from stoker.offline.health import Watched

        return Watched(options.paths, settings, options.namespace or "", options.exclude)
    access = access_to_read(options.kubeconfig, options.context)
    own = options.namespace or access.namespace or _DEFAULT_NAMESPACE
    namespace = "" if options.all_namespaces else own

    async def ask() -> "Health":
        from stoker import __version__
        from stoker.cluster.health import health_of_cluster
        from stoker.kube.client import Client

        async with Client(access, user_agent=f"stoker-status/{__version__}") as client:
            return await health_of_cluster(client, settings, namespace)

    def look() -> "Health":
        import asyncio

        return asyncio.run(ask())

    return look
