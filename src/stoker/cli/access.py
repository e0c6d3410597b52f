"""Which cluster a command means, and as whom: the same options and the same search for all."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stoker.kube.access import Access

MANIFESTS: Final = "manifests with -f"
"""What else can be named where a cluster can."""


def access_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that name a cluster."""
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="how to reach the cluster (default: $KUBECONFIG, in a pod its service account, or "
        "~/.kube/config)",
    )
    parser.add_argument(
        "--context", metavar="NAME", help="which cluster of that file (default: the current one)"
    )


def access_of(
    kubeconfig: str | None, context: str | None, *, impersonate: str = "", at_home: bool = True
) -> "Access":
    """The cluster that is named, of $KUBECONFIG, that we run in, or of ~/.kube/config.

    The last counts only `at_home`: a program that runs in pods must not find what it was not given.
    AccessError where there is none.
    """
    from stoker.kube import access

    named = kubeconfig or context or os.environ.get("KUBECONFIG")
    in_pod = os.environ.get("KUBERNETES_SERVICE_HOST")
    if not named and (in_pod or not at_home):
        return access.in_cluster(impersonate=impersonate)
    path = Path(kubeconfig) if kubeconfig else None
    return access.kubeconfig(path, context or None, impersonate=impersonate)


def access_to_read(kubeconfig: str | None, context: str | None) -> "Access":
    """The same, for a command that reads what lies in a cluster, however deep its JSON is."""
    from stoker.cli.deep_json import allow_deep_json

    # One object that is too deep would spoil the list that it is in.
    allow_deep_json()
    return access_of(kubeconfig, context)


def advised(reason: object, instead: str = "") -> str:
    """Why a cluster could not be asked, with how to name one, and what can be named `instead`."""
    choice = f", or {instead}" if instead else ""
    return f"{reason}; name a cluster with --kubeconfig and --context{choice}"
