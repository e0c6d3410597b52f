"""Our CustomResourceDefinitions on a cluster, as `stoker crds` prints them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tools.cluster import Cluster

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def install_crds(
    cluster: Cluster, *options: str, program: Sequence[str] = (sys.executable, "-m", "stoker")
) -> None:
    """Install all definitions and wait until they are served; options are those of the command.

    `program` is how stoker is called: another one may have other definitions.
    """
    command = [*program, "crds", *options]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cluster.kubectl("apply", "--server-side", "-f", "-", input=printed)

    def served() -> bool:
        found = cluster.api.get(_DEFINITIONS)["items"]
        return all(_is_established(each) and _answers(cluster, each) for each in found)

    cluster.until("our definitions to be served", served)


def _is_established(crd: dict[str, Any]) -> bool:
    conditions = crd["status"].get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _answers(cluster: Cluster, crd: dict[str, Any]) -> bool:
    """Whether its objects can be listed, which takes a moment longer; an error says no.

    Where a webhook converts them it may not run yet, and is not waited for.
    """
    spec = crd["spec"]
    if spec["conversion"]["strategy"] == "None":
        for version in (each["name"] for each in spec["versions"] if each["served"]):
            cluster.api.get(f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1")
    return True
