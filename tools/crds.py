"""Our CustomResourceDefinitions on a cluster, as `stoker crds` prints them."""

from __future__ import annotations

import subprocess
import sys

from tools.cluster import Cluster

_GROUP = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def install_crds(cluster: Cluster, *options: str) -> None:
    """Install all definitions and wait until they are served; options are those of the command."""
    command = [sys.executable, "-m", "stoker", "crds", *options]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cluster.kubectl("apply", "--server-side", "-f", "-", input=printed)

    def served() -> bool:
        return all(_is_established(each) for each in cluster.api.get(_GROUP)["items"])

    cluster.until("our definitions to be served", served)


def _is_established(crd: dict[str, dict[str, list[dict[str, str]]]]) -> bool:
    conditions = crd["status"].get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
