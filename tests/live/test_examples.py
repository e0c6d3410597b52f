"""The manifests below example/, and what becomes of them, on a real API server."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.installing import until_found
from tests.unit.test_docs import GUIDES, manifests
from tools.cluster import Cluster
from tools.crds import cluster_with_crds

SHOP = Path(__file__).parents[2] / "example"
EXAMPLE = SHOP / "prometheus-agent" / "daemonset"
COMMON = EXAMPLE / "common.yaml"
_DRY_RUN = ("apply", "--server-side", "--dry-run=server", "--output=name", "-f")


@pytest.fixture(scope="module")
def cluster_with_namespaces() -> Iterator[Cluster]:
    """A cluster of its own, as others come and go with the same namespaces."""
    # The version to write, which is not yet the one that is served if nothing is said.
    with cluster_with_crds("--scrapeconfig-version=v1", nodes=0) as cluster:
        until_found(cluster)
        cluster.kubectl("apply", "-f", str(COMMON))
        yield cluster


def test_an_api_server_takes_the_examples_and_their_objects(
    cluster_with_namespaces: Cluster,
) -> None:
    """Every manifest, and every object that `stoker render` makes of them."""
    cluster = cluster_with_namespaces
    taken = cluster.kubectl(*_DRY_RUN, str(EXAMPLE)).stdout.split()
    agents = [name for name in taken if name.startswith("prometheusagent.")]
    assert len(agents) == 9
    # Objects of that one depend on flags of the operator.
    without = ["--exclude", "operator-discovery.yaml"]
    command = [sys.executable, "-m", "stoker", "render", "--quiet", str(EXAMPLE), *without]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    made = cluster.kubectl(*_DRY_RUN, "-", input=done.stdout).stdout.split()
    assert len([name for name in made if name.startswith("daemonset.apps/")]) == 7
    assert len([name for name in made if name.startswith("statefulset.apps/")]) == 1


def test_an_api_server_takes_the_manifests_of_the_guides(
    cluster_with_namespaces: Cluster,
) -> None:
    """All that people copy: whatever a guide calls `apiVersion:` at the start of a block."""
    cluster = cluster_with_namespaces
    text = "\n---\n".join(filter(None, map(manifests, GUIDES)))
    names = sorted(set(re.findall(r"namespace: ([-a-z]+)", text)))
    spaces = "\n---\n".join(
        f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {n}}}}}" for n in names
    )
    cluster.kubectl("apply", "--server-side", "-f", "-", input=spaces)
    taken = cluster.kubectl(*_DRY_RUN, "-", input=text).stdout.split()
    assert len(taken) == len(re.findall(r"^apiVersion:", text, re.MULTILINE))
    assert "scrapeconfig.monitoring.coreos.com/databases" in taken


def test_an_api_server_takes_the_shop(cluster_with_namespaces: Cluster) -> None:
    """Every manifest but the mistakes, the surprises among them: they are valid."""
    cluster = cluster_with_namespaces
    cluster.kubectl("apply", "--server-side", "-f", str(SHOP / "namespaces.yaml"))
    clean = sorted(path for path in SHOP.glob("*.yaml") if path.name != "mistakes.yaml")
    files = [word for path in clean[1:] for word in ("-f", str(path))]
    taken = cluster.kubectl(*_DRY_RUN, str(clean[0]), *files).stdout.split()
    ours = [name for name in taken if ".monitoring.coreos.com/" in name]
    assert len(ours) == 21
