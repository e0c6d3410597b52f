"""`stoker status` on the real cluster: nothing is written, with the rights of whoever asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stoker.__main__ import main
from tests.builders import alert, prometheus, resource, service_monitor
from tests.live.operating import Running, World
from tests.live.test_explain import rule, tenant_of

Output = pytest.CaptureFixture[str]


def status(world: World, capsys: Output, config: Path) -> tuple[int, Any]:
    """The exit status of a call, and what it prints for programs."""
    words = ["--kubeconfig", str(config), "-n", world.namespace, "-o", "json"]
    code = main(["status", *words])
    return code, json.loads(capsys.readouterr().out)


def troubles(found: Any) -> list[tuple[str, str]]:
    """State and name of what is not well."""
    return [(one["state"], one["name"]) for e in found["namespaces"] for one in e["troubles"]]


def test_what_is_not_well_in_a_cluster_is_told(
    world: World, operator: Running, capsys: Output
) -> None:
    """Whether or not the operator has come to it; nothing is written."""
    config = world.cluster.kubeconfig
    code, found = status(world, capsys, config)
    assert (code, found["headline"]) == (2, f"There is nothing in namespace {world.namespace}")
    mark = world.cluster.audit.mark()
    world.put(
        prometheus("main", serviceMonitorSelector={"matchLabels": {"team": "shop"}}),
        service_monitor("other"),
        resource("PrometheusRule", "wrong", alert("g", "up ==")),
        resource("PrometheusRule", "fine", alert("g")),
    )
    code, found = status(world, capsys, config)
    wanted = [("problem", "main"), ("rejected", "wrong"), ("not selected", "other")]
    assert (code, troubles(found)) == (1, wanted)
    world.settled("prometheus", "main")
    code, found = status(world, capsys, config)
    assert (code, troubles(found)) == (1, wanted)
    assert found["resources"]["used"] == 1
    assert world.cluster.audit.since(mark, "stoker-status") == []
    assert world.cluster.audit.since(mark, "stoker") != []


def test_a_tenant_is_told_what_is_not_known(world: World, capsys: Output, tmp_path: Path) -> None:
    """With rights in one namespace nobody knows who selects what is there: no fault."""
    world.put(service_monitor("cart"))
    config = tenant_of(world, tmp_path, rule("monitoring.coreos.com", "*"))

    def is_told() -> Any:
        code, found = status(world, capsys, config)
        return found if troubles(found) and code == 2 else None

    found = world.until("the role to count", is_told)
    assert troubles(found) == [("unclear", "cart")]
    assert "you cannot list prometheuses" in found["namespaces"][0]["troubles"][0]["reason"]
    assert any("you cannot list prometheuses" in each for each in found["unseen"])
