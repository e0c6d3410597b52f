"""Our CustomResourceDefinitions on a real API server (K1, K3)."""

import json
import subprocess
import sys
from collections.abc import Iterator

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


def established(cluster: Cluster) -> set[str]:
    """The kinds of ours that the API server serves, once it serves all of them."""
    names = [f"crd/{kind.plural}.{GROUP}" for kind in KINDS]
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    listed = json.loads(cluster.kubectl("get", "crds", "-o", "json").stdout)["items"]
    violations = [
        condition["message"]
        for crd in listed
        for condition in crd["status"]["conditions"]
        if condition["type"] == "NonStructuralSchema" and condition["status"] == "True"
    ]
    assert violations == []
    return {crd["spec"]["names"]["kind"] for crd in listed}


def test_all_variants_install_without_a_warning(bare_cluster: Cluster) -> None:
    """Server-side apply takes every variant, one over the other, and nobody warns."""
    for options in ((), ("--no-descriptions",), ("--without-cel",)):
        applied = bare_cluster.kubectl("apply", "--server-side", "-f", "-", input=crds(*options))
        assert applied.stderr == ""
        assert established(bare_cluster) == {kind.name for kind in KINDS}


def test_client_side_apply_takes_the_small_variant(bare_cluster: Cluster) -> None:
    """`kubectl apply` works, again and again, with `--no-descriptions` (K3)."""
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
    """`--without-cel` really is without: then the operator itself must check (D4)."""
    agent = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "PrometheusAgent",
        "metadata": {"name": "nodes", "namespace": "default"},
        "spec": {"mode": "DaemonSet", "replicas": 2},
    }
    for options, accepted in ((("--without-cel",), True), ((), False)):
        bare_cluster.kubectl("apply", "--server-side", "-f", "-", input=crds("promagent", *options))
        bare_cluster.kubectl("wait", "--for=condition=Established", f"crd/prometheusagents.{GROUP}")

        def verdict_is(accepted: bool = accepted) -> bool:
            done = bare_cluster.kubectl(
                "create", "--dry-run=server", "-f", "-", input=json.dumps(agent), check=False
            )
            return accepted == (done.returncode == 0) and (accepted or "replicas" in done.stderr)

        assert bare_cluster.until(f"accepted: {accepted}", verdict_is)
