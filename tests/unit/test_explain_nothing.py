"""`stoker explain` on manifests: resources that are selected, and of which nothing comes."""

from pathlib import Path

import pytest

from tests.unit.test_explain import (
    SHOP,
    Object,
    deployment,
    explained,
    monitor,
    prometheus,
    service,
    thing,
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
