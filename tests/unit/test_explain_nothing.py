"""`stoker explain` on manifests: resources that are selected, and of which nothing comes."""

from pathlib import Path
from typing import Any

import pytest

from tests.builders import thing
from tests.unit.test_explain import (
    SHOP,
    Object,
    bound,
    deployment,
    explained,
    monitor,
    prometheus,
    service,
)


@pytest.mark.parametrize(
    ("kind", "member"), [("ServiceMonitor", "endpoints"), ("PodMonitor", "podMetricsEndpoints")]
)
def test_a_monitor_without_endpoints_is_not_well(tmp_path: Path, kind: str, member: str) -> None:
    """The API server takes it, and nothing comes of it."""
    spec: Object = {"selector": {"matchLabels": {"app": "cart"}}, member: []}
    asking = thing(kind, "cart", spec=spec)
    found = explained(tmp_path, SHOP, prometheus(), asking, service(), deployment(), kind=kind)
    assert not found.good
    assert found.headline == f"selected, but without targets: spec.{member}: it names no endpoint"


@pytest.mark.parametrize(
    ("spec", "first"),
    [
        ({}, "spec.remoteWrite: without it an agent sends its samples nowhere"),
        ({"remoteWrite": [{"url": "http://a"}], "enableFeatures": ["nativ"]}, "spec.enableFea"),
    ],
)
def test_an_agent_that_hardly_works_is_not_well(tmp_path: Path, spec: Object, first: str) -> None:
    """It runs, so its monitors are scraped; that it is odd is the first thing said of itself."""
    both = (SHOP, prometheus("PrometheusAgent", **spec), monitor(), service(), deployment())
    found = explained(tmp_path, *both, kind="PrometheusAgent", name="monitoring/main")
    assert not found.good
    assert found.headline.startswith(f"runs, but probably not as intended: {first}")
    assert explained(tmp_path, *both).good


def test_a_workload_that_ends_at_once_scrapes_nothing(tmp_path: Path) -> None:
    """Neither it nor what it selects is well."""
    old = {"version": "v2.31.0", "remoteWrite": [{"url": "http://a"}]}
    both = (SHOP, prometheus("PrometheusAgent", **old), monitor(), service(), deployment())
    found = explained(tmp_path, *both, kind="PrometheusAgent", name="monitoring/main")
    assert not found.good
    assert found.headline.startswith("does not run: spec.version: Prometheus 2.31.0 is no agent")
    its = explained(tmp_path, *both)
    assert not its.good
    assert "but the workload does not run: spec.version" in its.headline


def test_receivers_without_a_route_are_told(tmp_path: Path) -> None:
    """It is taken, and no alert comes."""
    workload = thing("Alertmanager", "main", spec={"alertmanagerConfigSelector": {}})
    config = thing("AlertmanagerConfig", "cart", spec={"receivers": [{"name": "mail"}]})
    found = explained(tmp_path, SHOP, workload, config, kind="AlertmanagerConfig")
    assert found.headline == (
        "used by Alertmanager shop/main: 1 receiver; "
        "without spec.route no alert reaches its receivers"
    )


@pytest.mark.parametrize(
    ("targets", "problem"),
    [
        ({"staticConfig": {"static": []}}, "spec.targets.staticConfig.static: it lists nothing"),
        ({"ingress": {}}, "spec.targets.ingress: Ingress shop/web has no rules, so no host"),
    ],
)
def test_a_probe_of_nothing_is_not_well(tmp_path: Path, targets: Object, problem: str) -> None:
    """Zero targets are told as what they are."""
    ingress = thing("Ingress", "web", spec={"defaultBackend": {"service": {"name": "cart"}}})
    probe = thing("Probe", "web", spec={"prober": {"url": "p:9115"}, "targets": targets})
    found = explained(tmp_path, prometheus(), probe, ingress, kind="Probe", name="shop/web")
    assert not found.good
    assert found.headline.startswith(f"selected, but without targets: {problem}")


def test_a_workload_without_pods_scrapes_nothing(tmp_path: Path) -> None:
    """The monitor has targets; but nobody is there to scrape them, unless another workload is."""
    asleep, objects = prometheus(replicas=0), (SHOP, monitor(), service(), deployment())
    found = explained(tmp_path, asleep, *objects)
    assert not found.good
    assert found.headline == (
        "selected by Prometheus monitoring/main, but nothing runs there: its spec.replicas is 0"
    )
    own = explained(tmp_path, asleep, *objects, kind="Prometheus", name="monitoring/main")
    assert own.headline.endswith("uses 1 resource; nothing runs: its spec.replicas is 0")
    awake = prometheus()
    awake["metadata"]["name"] = "second"
    assert explained(tmp_path, asleep, awake, *objects).good


# --- Several workloads ----------------------------------------------------------------------------


def second(**spec: Any) -> Object:
    """Another workload beside the first."""
    found = prometheus(**spec)
    found["metadata"]["name"] = "second"
    return found


ELSEWHERE = (service("far", "far"), monitor(spec={"namespaceSelector": {"any": True}}), SHOP)
FAR = deployment()
FAR["metadata"] = {"name": "cart", "namespace": "far"}


def test_a_workload_that_finds_nothing_beside_one_that_does_is_named(tmp_path: Path) -> None:
    """Nobody should look for a mistake where all is well."""
    ignoring = second(ignoreNamespaceSelectors=True)
    found = explained(tmp_path, prometheus(), ignoring, *ELSEWHERE, FAR)
    assert not found.good
    start = "selected, but without targets for Prometheus monitoring/second: no Service in"
    assert found.headline.startswith(start)


def test_what_a_workload_would_find_that_is_held_is_not_what_is_found(tmp_path: Path) -> None:
    """Its mistakes are not told before it takes up anything, nor what it counts."""
    held = second(ignoreNamespaceSelectors=True, paused=True, serviceAccountName="scraper")
    found = explained(tmp_path, prometheus(), held, *ELSEWHERE, FAR, *bound("pods"))
    assert found.headline == "scraped by Prometheus monitoring/main: 3 targets"


def test_workloads_that_find_different_targets_are_counted_each(tmp_path: Path) -> None:
    """One number would be wrong for one of them."""
    ignoring = second(ignoreNamespaceSelectors=True)
    near = (service(), deployment())
    found = explained(tmp_path, prometheus(), ignoring, *ELSEWHERE, FAR, *near)
    assert found.headline == "scraped by Prometheus monitoring/main and 1 more: 3 to 6 targets"
