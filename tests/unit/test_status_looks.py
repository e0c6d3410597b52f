"""What a status is made from is as new as it can be when it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.kube.queue import KeyedQueue
from stoker.operator.statuses import Statuses
from stoker.operator.tools import Tools
from stoker.plan.existing import Running
from stoker.ref import Ref, ref_of
from stoker.select.workload import Workload
from stoker.settings import Capabilities
from stoker.status.workload import PodSet, Reconciliation
from stoker.web.operator_metrics import OperatorMetrics

NAME = {"name": "main", "namespace": "shop", "uid": "main", "generation": 1}


class Cluster:
    """One workload and what runs its pods; `meanwhile` is called when pods are asked for."""

    def __init__(self, workload: Workload, kind: str, pods: list[Object]) -> None:
        self.status: Object = {}
        self.meanwhile: Callable[[], None] = lambda: None
        self._pods = pods
        self._found: Running | None = None
        self.queue = KeyedQueue[Ref]()
        part = PodSet(name="main", found=None, kind=kind)
        outline = SimpleNamespace(namespace="shop", pods="", parts=(part,), scale=None)
        store = SimpleNamespace(get=lambda *_: self._found)
        caches = SimpleNamespace(
            workload=lambda _: workload,
            owned={kind: SimpleNamespace(store=store)},
            belonging=lambda *_: [],
            saw=lambda *_: True,
        )
        tools = SimpleNamespace(
            status_client=self,
            caches=caches,
            capabilities=Capabilities(),
            outline=lambda _: outline,
            now=lambda: datetime(2026, 1, 31, tzinfo=UTC),
            settings=SimpleNamespace(repair_policy="none"),
        )
        key = ref_of(workload)
        metrics = {key.kind: OperatorMetrics().controller("any")}
        self.statuses = Statuses(cast(Tools, tools), self.queue, metrics)

    def put(self, **status: Any) -> None:
        """Let the caches have what runs the pods, with this status."""
        self._found = convert(Running, {"metadata": NAME, "status": status})

    async def ask(self, model: type[Any], *_: Any, **__: Any) -> Any:
        """All pods."""
        self.meanwhile()
        return convert(model, {"items": self._pods})

    async def apply(self, wanted: Object, **_: Any) -> Object:
        """What is written."""
        self.status = wanted["status"]
        return wanted

    def look(self, workload: Workload) -> Object:
        """Keep the status of the workload; what was written."""

        async def main() -> None:
            self.statuses.record(ref_of(workload), workload, Reconciliation())
            await self.statuses.keep(ref_of(workload))

        asyncio.run(main())
        return self.status


def test_what_runs_pods_is_never_older_than_the_pods() -> None:
    """Else new pods would count as old ones, until the next look takes that back."""
    owner = {"kind": "StatefulSet", "name": "main", "uid": "main", "controller": True}
    labels = {"controller-revision-hash": "new"}
    metadata = {"name": "main-0", "ownerReferences": [owner], "labels": labels}
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    workload = convert(Prometheus, {"metadata": NAME, "spec": {}})
    cluster = Cluster(workload, "StatefulSet", [{"metadata": metadata, "status": status}])
    cluster.put(updateRevision="old")
    cluster.meanwhile = lambda: cluster.put(updateRevision="new")
    found = cluster.look(workload)
    assert (found["availableReplicas"], found["updatedReplicas"]) == (1, 1)


def test_what_is_counted_is_as_new_as_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take seconds to be known after a start, in which pods come and go."""
    workload = convert(PrometheusAgent, {"metadata": NAME, "spec": {"mode": "DaemonSet"}})
    cluster = Cluster(workload, "DaemonSet", [])
    asked: list[str] = []

    async def remarks(*_: object) -> tuple[()]:
        asked.append("nodes")
        cluster.put(observedGeneration=1, desiredNumberScheduled=1, numberAvailable=1)
        return ()

    cluster.put(observedGeneration=1, desiredNumberScheduled=1)
    cluster.meanwhile = lambda: asked.append("pods")
    monkeypatch.setattr(cluster.statuses.nodes, "remarks", remarks)
    assert cluster.look(workload)["availableReplicas"] == 1
    assert asked == ["nodes", "pods"]
