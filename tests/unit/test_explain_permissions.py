"""`stoker explain` on manifests: which permissions Prometheus needs, and which roles give them."""

from pathlib import Path

import pytest

from tests.builders import thing
from tests.unit.test_explain import SHOP, Object, bound, explained, monitor, prometheus

READ = {"apiGroups": [""], "verbs": ["get", "list", "watch"]}
ALL = [READ | {"resources": ["services", "pods", "endpoints"]}]


def aggregated(*parts: Object) -> list[Object]:
    """A ClusterRole of others, bound to the service account, with these among the manifests."""
    selector = {"clusterRoleSelectors": [{"matchLabels": {"part-of": "scraper"}}]}
    subject = {"kind": "ServiceAccount", "name": "scraper", "namespace": "monitoring"}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "whole"}
    return [
        thing("ClusterRole", "whole", aggregationRule=selector, rules=[]),
        thing("ClusterRoleBinding", "whole", roleRef=ref, subjects=[subject]),
        *parts,
    ]


def test_an_aggregated_role_allows_what_its_parts_do(tmp_path: Path) -> None:
    """Kubernetes fills it in a cluster; one without its parts here may allow anything."""
    workload = prometheus(serviceAccountName="scraper")
    part = thing("ClusterRole", "part", labels={"part-of": "scraper"}, rules=ALL)
    whole = explained(tmp_path, SHOP, workload, monitor(), *aggregated(part))
    assert (whole.access[0].lacks, whole.access[0].unknown) == ((), ())
    empty = explained(tmp_path, SHOP, workload, monitor(), *aggregated())
    assert empty.good
    assert len(empty.access[0].unknown) == 3


NODE = {"attachMetadata": {"node": True}}


@pytest.mark.parametrize(
    ("workload", "resource", "lacks"),
    [
        ({}, thing("ScrapeConfig", "cart", spec={"kubernetesSDConfigs": [{"role": "Pod"}]}), False),
        ({}, thing("ScrapeConfig", "cart", spec={"kubernetesSDConfigs": [{"role": "Pod"} | NODE]}),
         True),
        ({"scrapeClasses": [{"name": "a", "default": True} | NODE]}, monitor(), True),
        ({"scrapeClasses": [{"name": "a", "default": True} | NODE]},
         monitor(spec={"attachMetadata": {"node": False}}), False),
    ],
)  # fmt: skip
def test_labels_of_nodes_take_a_permission_whoever_asks_for_them(
    tmp_path: Path, workload: Object, resource: Object, lacks: bool
) -> None:
    """Without it Prometheus finds no targets at all."""
    found = explained(
        tmp_path, SHOP, prometheus(serviceAccountName="scraper", **workload), resource,
        *bound("services", "pods", "endpoints"), kind=resource["kind"],
    )  # fmt: skip
    assert ("list and watch nodes in all namespaces" in found.access[0].lacks) is lacks


@pytest.mark.parametrize(
    ("version", "role", "reads"),
    [
        ("v2.20.0", "EndpointSlice", "endpoints"),
        ("v2.21.0", "EndpointSlice", "endpointslices.discovery.k8s.io"),
        ("v3.5.0", "Endpoints", "endpoints"),
    ],
)
def test_rights_are_judged_by_the_role_that_the_generator_chooses(
    tmp_path: Path, version: str, role: str, reads: str
) -> None:
    """What a version cannot watch, it need not be allowed to."""
    workload = prometheus(serviceAccountName="scraper", version=version, serviceDiscoveryRole=role)
    found = explained(tmp_path, SHOP, workload, monitor()).access[0]
    asked = " ".join((*found.lacks, *found.unknown))
    assert f" {reads} " in f" {asked} ".replace(",", " ").replace("`", " ")
