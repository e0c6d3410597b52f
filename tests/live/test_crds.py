"""Our CustomResourceDefinitions on a real API server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from stoker.api.crd import GROUP
from stoker.api.kinds import KINDS
from tools.cluster import Cluster


def crds(*options: str) -> str:
    """What `stoker crds` prints, called as a user calls it."""
    command = [sys.executable, "-m", "stoker", "crds", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def bare_cluster() -> Iterator[Cluster]:
    """A control plane of its own, on which nothing is installed and nothing else depends."""
    with Cluster.start(nodes=0) as cluster:
        yield cluster


def established(cluster: Cluster, count: int = len(KINDS)) -> set[str]:
    """The kinds of ours that the API server serves, once it serves so many, all structural."""

    def served() -> list[dict[str, Any]]:
        listed = cluster.api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
        ready = [crd for crd in listed if "Established" in true_conditions(crd)]
        return ready if len(ready) == count else []

    crds = cluster.until(f"{count} established definitions", served)
    assert not [crd for crd in crds if "NonStructuralSchema" in true_conditions(crd)]
    return {crd["spec"]["names"]["kind"] for crd in crds}


def true_conditions(crd: dict[str, Any]) -> set[str]:
    """The conditions of a definition that hold; a new one has none yet."""
    conditions = crd["status"].get("conditions") or []
    return {condition["type"] for condition in conditions if condition["status"] == "True"}


def test_all_variants_install_without_a_warning(bare_cluster: Cluster) -> None:
    """Server-side apply takes every variant, one over the other, and nobody warns."""
    for options in ((), ("--no-descriptions",), ("--without-cel",)):
        applied = bare_cluster.kubectl("apply", "--server-side", "-f", "-", input=crds(*options))
        assert applied.stderr == ""
        assert established(bare_cluster) == {kind.name for kind in KINDS}


def test_client_side_apply_takes_the_small_variant(bare_cluster: Cluster) -> None:
    """`kubectl apply` works, again and again, with `--no-descriptions`."""
    small = crds("--no-descriptions")
    first = bare_cluster.kubectl("apply", "-f", "-", input=small)
    assert first.stderr == ""
    assert established(bare_cluster) == {kind.name for kind in KINDS}
    second = bare_cluster.kubectl("apply", "-f", "-", input=small)
    assert second.stdout.count("unchanged") == len(KINDS)


def test_kubectl_explains_our_fields(bare_cluster: Cluster) -> None:
    """The descriptions reach the person who asks kubectl."""
    bare_cluster.kubectl("apply", "--server-side", "-f", "-", input=crds())
    established(bare_cluster)
    fields = {
        "servicemonitor.spec.endpoints": ("interval", "scrapeTimeout", "relabelings"),
        "prometheus.spec": ("serviceMonitorSelector", "retention", "shards"),
        "alertmanagerconfig.spec.receivers": ("slackConfigs", "webhookConfigs"),
        "scrapeconfig.spec.kubernetesSDConfigs": ("role", "namespaces", "selectors"),
    }
    for path, expected in fields.items():

        def explained(path: str = path) -> str:
            done = bare_cluster.kubectl("explain", path, check=False)
            return done.stdout if done.returncode == 0 else ""

        text = bare_cluster.until(f"kubectl explain {path}", explained)
        assert all(f"\n  {field}\t" in text for field in expected), text
        assert "<no description>" not in text.replace("  metadata", "")


def test_clusters_without_cel_take_what_cel_would_refuse(bare_cluster: Cluster) -> None:
    """`--without-cel` really is without: then the operator itself must check."""
    agent = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "PrometheusAgent",
        "metadata": {"name": "nodes", "namespace": "default"},
        "spec": {"mode": "DaemonSet", "replicas": 2},
    }
    for options, accepted in ((("--without-cel",), True), ((), False)):
        bare_cluster.kubectl("apply", "--server-side", "-f", "-", input=crds("promagent", *options))
        assert established(bare_cluster, count=1) == {"PrometheusAgent"}

        def verdict_is(accepted: bool = accepted) -> bool:
            done = bare_cluster.kubectl(
                "create", "--dry-run=server", "-f", "-", input=json.dumps(agent), check=False
            )
            return accepted == (done.returncode == 0) and (accepted or "replicas" in done.stderr)

        assert bare_cluster.until(f"accepted: {accepted}", verdict_is)
