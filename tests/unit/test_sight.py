"""What is out of sight is not taken for nothing, and whose readiness that costs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stoker.api.prometheus import Prometheus
from stoker.kube.errors import ApiError, Forbidden, NotFound
from stoker.kube.report import LIST, Report
from stoker.kube.resources import OURS
from stoker.kube.store import Store
from stoker.operator.sight import Sight
from stoker.ref import Ref
from stoker.roles import RESOURCES
from stoker.select.choice import choices
from stoker.settings import OperatorSettings
from stoker.status.conditions import Because
from tests.builders import typed

MAIN = Ref("Prometheus", "shop", "main")


def prometheus(**spec: Any) -> Prometheus:
    """A Prometheus with selectors."""
    return typed(Prometheus, "main", spec)


class Watch:
    """A reflector whose watch fares like this."""

    def __init__(self, error: ApiError | None = None, *objects: Any, listed: bool = True) -> None:
        report = Report()
        if error is None or listed:
            report.heard()
        if error is not None:
            report.failed(LIST, error)
        self.reports = [report]
        self.store = list(objects)

    @property
    def troubles(self) -> list[ApiError]:
        """What is wrong."""
        return [one.trouble for one in self.reports if one.trouble]


def sight(workload: Prometheus, kind: str, watch: Watch, *, unlabelled: bool = False) -> Sight:
    """What is seen where one kind is watched so, and there is one workload."""
    namespaces: Any = Watch(Forbidden(LIST, "/api/v1/namespaces", "", status=403), listed=False)
    namespaces.store = Store()
    resources = {name: Watch() for name in RESOURCES} | {kind: watch}
    owned = {name: Watch() for name in ("Secret", "ConfigMap", "Service", "StatefulSet")}
    caches: Any = SimpleNamespace(
        namespaces=namespaces if unlabelled else SimpleNamespace(store=Store(), troubles=[]),
        resources=resources,
        workloads={"Prometheus": Watch(None, workload)},
        owned=owned,
        are_unlabelled=unlabelled,
        all=[],
    )
    return Sight(caches, OperatorSettings())


REFUSED = Forbidden(LIST, OURS["Probe"].path(None), "", status=403)
MISSING = NotFound(LIST, OURS["Probe"].path(None), "", status=404)
REASONS = [(REFUSED, Because.FORBIDDEN), (MISSING, Because.NOT_INSTALLED)]
PROBES: dict[str, Any] = {"probeSelector": {}}


@pytest.mark.parametrize(
    ("spec", "error", "listed", "hidden", "told"),
    [
        (PROBES, REFUSED, False, {"Probe"}, "the operator cannot list probes"),
        (PROBES, REFUSED, True, set(), "the operator cannot list probes"),
        (PROBES, MISSING, False, {"Probe"}, ""),
        (PROBES, MISSING, True, set(), ""),
        ({}, REFUSED, False, set(), ""),
        (PROBES, None, True, set(), ""),
    ],
)
def test_a_kind_out_of_sight(
    spec: dict[str, Any], error: ApiError | None, listed: bool, hidden: set[str], told: str
) -> None:
    """It concerns who asks for it; what is not installed is no reason not to be ready."""
    workload = prometheus(**spec)
    seen = sight(workload, "Probe", Watch(error, listed=listed))
    assert seen.never_seen(choices(workload)) == hidden
    assert seen.not_ready().startswith(told)
    assert bool(seen.not_ready()) is bool(told)


@pytest.mark.parametrize(("error", "reason"), REASONS)
def test_a_workload_that_is_kept_is_told_until_it_is_not(error: ApiError, reason: str) -> None:
    """In its condition and by the replica."""
    workload = prometheus(**PROBES)
    seen = sight(workload, "Probe", Watch(error, listed=False))
    remark = seen.keep(MAIN, choices(workload), ["Probe"])
    assert remark.reason == reason
    assert "Prometheus shop/main stays as it is" in seen.not_ready()
    seen.release(MAIN)
    assert "stays as it is" not in seen.not_ready()


def test_labels_of_namespaces_out_of_sight_hide_what_is_looked_for_by_them() -> None:
    """By its name a namespace is known all the same."""
    by = {"serviceMonitorSelector": {}, **PROBES}
    labels = {"matchLabels": {"team": "a"}}
    name = {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}
    workload = prometheus(**by, serviceMonitorNamespaceSelector=labels, probeNamespaceSelector=name)
    seen = sight(workload, "Probe", Watch(), unlabelled=True)
    wanted = choices(workload)
    assert seen.never_seen(wanted) == {"ServiceMonitor"}
    assert "cannot list namespaces" in seen.keep(MAIN, wanted, ["ServiceMonitor"]).message
    assert "ServiceMonitor" in wanted
