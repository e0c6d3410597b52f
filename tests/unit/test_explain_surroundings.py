"""`stoker explain` on manifests: what is not among them, and is there in a cluster all the same."""

from pathlib import Path
from typing import Any

import pytest

from stoker.explain.answer import Explanation
from stoker.offline.surroundings import Directory
from stoker.targets.objects import Service
from tests.builders import thing
from tests.unit.test_explain import (
    SHOP,
    Object,
    deployment,
    explained,
    monitor,
    pod_monitor,
    prometheus,
    service,
    viewed,
)

# --- Pods -----------------------------------------------------------------------------------------


def owned(found: Object, name: str, kind: str, maker: str) -> Object:
    """An object that something made."""
    reference = {"apiVersion": "v1", "kind": kind, "name": maker, "uid": "1", "controller": True}
    metadata = found["metadata"] | {"name": name, "ownerReferences": [reference]}
    return found | {"metadata": metadata}


def batch(kind: str) -> Object:
    """A Job or a CronJob with the pods of `cart`."""
    template = deployment()["spec"]["template"]
    spec = {"template": template}
    spec = {"jobTemplate": {"spec": spec}} if kind == "CronJob" else spec
    return thing(kind, "cart", spec=spec) | {"apiVersion": "batch/v1"}


def pods_of(tmp_path: Path, *objects: Object) -> Explanation:
    """A PodMonitor of `cart`, beside a Deployment of something else."""
    other = deployment(labels={"app": "other"})
    other["metadata"]["name"] = "other"
    return explained(
        tmp_path, SHOP, prometheus(), pod_monitor(port="http"), other, *objects, kind="PodMonitor"
    )


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_pods_that_run_for_a_while_are_seen(tmp_path: Path, kind: str) -> None:
    """How many of them there are at a time is not known."""
    found = pods_of(tmp_path, batch(kind))
    assert found.good
    assert [each.object for each in found.searches[0].matches] == [f"{kind} shop/cart"]
    assert found.searches[0].targets is None


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
def test_pods_are_seen_whatever_makes_them(tmp_path: Path, kind: str) -> None:
    """Deployments are not all."""
    version = "v1" if kind == "ReplicationController" else "apps/v1"
    found = pods_of(tmp_path, deployment() | {"kind": kind, "apiVersion": version})
    assert found.headline == "scraped by Prometheus monitoring/main: 3 targets"


def test_pods_that_come_with_what_made_them_are_counted_once(tmp_path: Path) -> None:
    """As in what was written down from a cluster; old ReplicaSets have no pods."""
    replicas = deployment(2) | {"kind": "ReplicaSet"}
    old = deployment(0) | {"kind": "ReplicaSet"}
    pod = thing("Pod", "x", labels={"app": "cart"}, spec=deployment()["spec"]["template"]["spec"])
    found = pods_of(
        tmp_path,
        deployment(2),
        owned(replicas, "cart-b", "Deployment", "cart"),
        owned(old, "cart-a", "Deployment", "cart"),
        owned(pod, "cart-b-1", "ReplicaSet", "cart-b"),
        owned(pod, "cart-b-2", "ReplicaSet", "cart-b"),
    )
    titles = [each.object for each in found.searches[0].matches]
    assert titles == ["Pod shop/cart-b-1", "Pod shop/cart-b-2"]
    assert found.searches[0].targets == 2


def test_a_deployment_without_replicas_is_named_beside_its_old_sets(tmp_path: Path) -> None:
    """What is to be mended is the Deployment."""
    old = owned(deployment(0) | {"kind": "ReplicaSet"}, "cart-a", "Deployment", "cart")
    found = pods_of(tmp_path, deployment(0), old)
    assert found.headline.endswith("Deployment shop/cart has no replicas")


def test_a_service_does_not_lead_to_a_pod_without_an_address(tmp_path: Path) -> None:
    """As a PodMonitor would say."""
    spec = deployment()["spec"]["template"]["spec"]
    pod = thing("Pod", "cart", labels={"app": "cart"}, spec=spec, status={"phase": "Pending"})
    found = explained(tmp_path, SHOP, prometheus(), monitor(), service(), pod)
    assert found.headline.endswith("leads nowhere: Pod shop/cart has no address yet")


# --- What the operator and Kubernetes add ---------------------------------------------------------


def own_monitor(name: str, labels: Object, port: str, **spec: Any) -> Object:
    """A monitor beside the workload."""
    selector = {"selector": {"matchLabels": labels}, "endpoints": [{"port": port}]}
    return thing("ServiceMonitor", name, "monitoring", spec=selector | spec)


def test_pods_that_the_operator_makes_are_seen(tmp_path: Path) -> None:
    """Prometheus is scraped by itself in every set-up."""
    ports = [{"name": "web", "port": 9090, "targetPort": "web"}]
    selector = {"app.kubernetes.io/name": "prometheus", "prometheus": "main"}
    own = service(
        "own", "monitoring", labels={"own": "1"}, spec={"selector": selector, "ports": ports}
    )
    asking = own_monitor("own", {"own": "1"}, "web")
    found = explained(
        tmp_path, prometheus(replicas=2), asking, own, deployment(), name="monitoring/own"
    )
    assert found.headline == "scraped by Prometheus monitoring/main: 2 targets"


def test_the_service_that_the_operator_makes_is_seen(tmp_path: Path) -> None:
    """It is among no manifests."""
    asking = own_monitor("own", {"operated-prometheus": "true"}, "web")
    found = explained(
        tmp_path, prometheus(), asking, service(), deployment(), name="monitoring/own"
    )
    assert [each.object for each in found.searches[0].matches] == [
        "Service monitoring/prometheus-operated"
    ]


def test_only_where_targets_are_looked_for_is_anything_made_of_workloads(tmp_path: Path) -> None:
    """Who asks about one namespace does not wait for what becomes of all others."""
    asked: list[str | None] = []

    def made(namespace: str | None) -> tuple[Service, ...]:
        asked.append(namespace)
        return ()

    directory = Directory((Service(),), made)
    for namespace in ("shop", "shop", None):
        directory.services(namespace)
    assert asked == ["shop", None]
    view = viewed(tmp_path, SHOP, prometheus(), service(namespace="monitoring"))
    operated = "prometheus-operated"
    for place, there in (("shop", False), ("monitoring", True), (None, True)):
        names = {each.name for each in view.surroundings.services(place).items}
        assert (operated in names) is there


@pytest.mark.parametrize(
    ("namespace", "labels"),
    [("kube-system", {"k8s-app": "kubelet"}), ("default", {"component": "apiserver"})],
)
def test_what_kubernetes_has_of_its_own_is_not_denied(
    tmp_path: Path, namespace: str, labels: Object
) -> None:
    """Its Services are in every cluster, and in no folder."""
    where = {"namespaceSelector": {"matchNames": [namespace]}}
    asking = own_monitor("own", labels, "https", **where)
    found = explained(
        tmp_path, prometheus(), asking, service(), deployment(), name="monitoring/own"
    )
    assert found.good
    assert found.searches[0].targets is None


def test_a_port_of_pods_that_cannot_be_read_is_not_missing(tmp_path: Path) -> None:
    """An EndpointSlice says which pod is behind an address, and not what that declares."""
    endpoint = {"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", "name": "cart-1"}}
    part = thing(
        "EndpointSlice", "cart-x", labels={"kubernetes.io/service-name": "cart"},
        endpoints=[endpoint], ports=[{"name": "metrics", "port": 8080}],
    )  # fmt: skip
    for port, targets in (({"targetPort": 8080}, None), ({"path": "/m"}, None), ("metrics", 1)):
        found = explained(tmp_path, SHOP, prometheus(), monitor(port=port), service(), part)
        assert found.good
        assert found.searches[0].targets == targets
