"""The metrics of the operator: those of prometheus-operator, by name, type and labels.

The table (`metric_table`) says what there is. Loops get a handle for their controller and one for
their queue, so that no label is spelt twice. Counters of a controller are there from its first
moment with the value 0: alerts compare rates, and a rate needs a start.
"""

import collections
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from stoker.web.metric_table import CONTROLLER, PREFIX, TABLE, MetricRow
from stoker.web.metrics import Counter, Family, Gauge, Histogram, Registry, Summary
from stoker.web.process import watch_process

F = TypeVar("F", bound=Family)

SELECTED: Final = "selected"
REJECTED: Final = "rejected"
OK: Final = "ok"
FAILED: Final = "failed"


class Queue(Protocol):
    """A queue that can be asked how it fares; `stoker.kube.queue` has one."""

    adds: int
    retries: int
    waited: Callable[[float], None]

    @property
    def delayed(self) -> int:
        """How many keys have failed and wait for the time of their next attempt."""
        ...

    @property
    def in_hand(self) -> Mapping[Any, float]:
        """What is being worked on, and since when (`time.monotonic`)."""
        ...

    def __len__(self) -> int: ...


class Watch(Protocol):
    """A watch that counts what it does (`list`, `watch`); `stoker.kube.report` does so."""

    attempts: collections.Counter[str]
    failures: collections.Counter[str]

    @property
    def silence(self) -> float:
        """For how many seconds nothing was heard from it."""
        ...


class OperatorMetrics:
    """All metrics of a running operator; `registry.text()` is what a scrape reads."""

    def __init__(self, registry: Registry | None = None) -> None:
        self.registry = registry or Registry()
        self._families: dict[str, Family] = {}
        for row in TABLE:
            family = _family(row)
            self._families[row.name] = family
            self.registry.register(family)
        watch_process(self.registry)

    def counter(self, name: str) -> Counter:
        """The counter of this name, without the prefix."""
        return self._found(Counter, name)

    def gauge(self, name: str) -> Gauge:
        """The gauge of this name, without the prefix."""
        return self._found(Gauge, name)

    def histogram(self, name: str) -> Histogram:
        """The histogram of this name, without the prefix."""
        return self._found(Histogram, name)

    def _found(self, kind: type[F], name: str) -> F:
        family = self._families[name]
        if not isinstance(family, kind):
            raise TypeError(f"{family.name} is a {family.kind}")
        return family

    def started(self, version: str, gates: Mapping[str, bool]) -> None:
        """Say what is running, and with which features."""
        machine = platform.machine()
        architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
        language = f"python{platform.python_version()}"
        system = platform.system().lower()
        self.gauge("build_info").set(1, "", architecture, system, language, "", "", version)
        for name, on in gates.items():
            self.gauge("feature_gate").set(on, name)

    def requested(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request to the API server.

        `endpoint` is the path with its names left open: one for each object would be too many.
        """
        self.counter("kubernetes_client_http_requests_total").add(1, str(status))
        summary = self._found(Summary, "kubernetes_client_http_request_duration_seconds")
        summary.observe(seconds, endpoint)

    def held_back(self, endpoint: str, seconds: float) -> None:
        """Count a request that waited so long for its turn."""
        summary = self._found(Summary, "kubernetes_client_rate_limiter_duration_seconds")
        summary.observe(seconds, endpoint)

    def kubelet_keeps(self, resource: str, kept: bool) -> None:
        """Say whether the nodes are kept as this kind of object."""
        self.gauge("kubelet_managed_resource").set(kept, resource)
        self.counter("node_syncs_total").add(0, resource)
        self.counter("node_syncs_failed_total").add(0, resource)

    def nodes_synced(self, resource: str, *, failed: bool = False) -> None:
        """Count a look at the nodes for this kind of object."""
        self.counter("node_syncs_total").add(1, resource)
        self.counter("node_syncs_failed_total").add(failed, resource)

    def addresses_missing(self, count: int) -> None:
        """Count nodes without a usable address."""
        self.counter("node_address_lookup_errors_total").add(count)

    def controller(self, name: str) -> "ControllerMetrics":
        """The metrics of a controller, all of them there from now on."""
        return ControllerMetrics(self, name)


class ControllerMetrics:
    """What one controller tells about itself."""

    def __init__(self, metrics: OperatorMetrics, name: str) -> None:
        self._metrics = metrics
        self.name = name
        self._ended: dict[tuple[str, str], str] = {}
        self._managed: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
        self._conditions: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for row in TABLE:
            if row.labels == CONTROLLER and row.kind is Counter:
                metrics.counter(row.name).add(0, name)
        metrics.histogram("reconcile_duration_seconds").appear(name)
        self.ready(False)
        for status in (OK, FAILED):
            metrics.gauge("syncs").set(0, name, status)

    def ready(self, is_ready: bool) -> None:
        """Say whether the caches are filled and work goes on."""
        self._metrics.gauge("ready").set(is_ready, self.name)

    def watches(self, watches: Iterable[Watch]) -> None:
        """Count the lists and watches by which the controller knows the cluster."""
        watches = tuple(watches)
        self._metrics.gauge("watch_silence_seconds").follow(
            lambda: max((each.silence for each in watches), default=0.0), self.name
        )
        for operation in ("list", "watch"):
            for name, of in (("", "attempts"), ("_failed", "failures")):
                self._metrics.counter(f"{operation}_operations{name}_total").follow(
                    partial(_summed, watches, of, operation), self.name
                )

    def triggered(self, kind: str, action: str) -> None:
        """Count a change (`add`, `update`, `delete`) that leads to a look at a workload."""
        self._metrics.counter("triggered_total").add(1, self.name, kind, action)

    def reconciled(self, namespace: str, name: str, seconds: float, *, failed: bool) -> None:
        """Count a look at a workload, and keep how it ended."""
        self._metrics.counter("reconcile_operations_total").add(1, self.name)
        self._metrics.counter("reconcile_errors_total").add(failed, self.name)
        self._metrics.histogram("reconcile_duration_seconds").observe(seconds, self.name)
        self._end(namespace, name, FAILED if failed else OK)

    def _end(self, namespace: str, name: str, status: str | None) -> None:
        syncs = self._metrics.gauge("syncs")
        before = self._ended.pop((namespace, name), None)
        if before:
            syncs.add(-1, self.name, before)
        if status:
            self._ended[namespace, name] = status
            syncs.add(1, self.name, status)

    def recreated(self) -> None:
        """Count a StatefulSet that was recreated."""
        self._metrics.counter("reconcile_sts_delete_create_total").add(1, self.name)

    def status_written(self, *, failed: bool = False) -> None:
        """Count a write of a status."""
        self._metrics.counter("status_update_operations_total").add(1, self.name)
        self._metrics.counter("status_update_errors_total").add(failed, self.name)

    def asks_for(self, namespace: str, name: str, replicas: int, shards: int | None = None) -> None:
        """Say what a workload asks for; some kinds know no shards."""
        self._metrics.gauge("spec_replicas").set(replicas, self.name, namespace, name)
        if shards is not None:
            self._metrics.gauge("spec_shards").set(shards, self.name, namespace, name)

    def conditions(self, namespace: str, name: str, status: Mapping[str, str]) -> None:
        """Say which status each condition of a workload has."""
        gauge = self._metrics.gauge("prometheus_status_condition")
        now = set(status.items())
        for gone in self._conditions.get((namespace, name), set()) - now:
            gauge.forget(self.name, namespace, name, *gone)
        for one in now:
            gauge.set(1, self.name, namespace, name, *one)
        self._conditions[namespace, name] = now

    def manages(self, namespace: str, name: str, resources: Mapping[str, tuple[int, int]]) -> None:
        """Say how many resources of each kind a workload selects: usable ones, and rejected."""
        gauge = self._metrics.gauge("managed_resources")
        before = self._managed.pop((namespace, name), {})
        for kind in {*before, *resources}:
            old, new = before.get(kind, (0, 0)), resources.get(kind, (0, 0))
            for state, was, is_now in zip((SELECTED, REJECTED), old, new, strict=True):
                gauge.add(is_now - was, self.name, kind, state)
        if resources:
            self._managed[namespace, name] = dict(resources)

    def forget(self, namespace: str, name: str) -> None:
        """Remove all that was said about a workload: it is gone."""
        self._end(namespace, name, None)
        self.manages(namespace, name, {})
        self.conditions(namespace, name, {})
        self._conditions.pop((namespace, name), None)
        for gauge in ("spec_replicas", "spec_shards"):
            self._metrics.gauge(gauge).forget(self.name, namespace, name)


class QueueMetrics:
    """What a queue tells about itself; what it knows already is asked when somebody looks."""

    def __init__(self, metrics: OperatorMetrics, labels: tuple[str, str], queue: Queue) -> None:
        self._metrics = metrics
        self._labels = labels
        queue.waited = self._waited
        for name in ("workqueue_latency_seconds", "workqueue_work_duration_seconds"):
            metrics.histogram(name).appear(*labels)
        metrics.counter("workqueue_adds_total").follow(lambda: queue.adds, *labels)
        metrics.counter("workqueue_retries_total").follow(lambda: queue.retries, *labels)
        metrics.gauge("workqueue_depth").follow(lambda: len(queue), *labels)
        metrics.gauge("workqueue_delayed").follow(lambda: queue.delayed, *labels)
        metrics.gauge("workqueue_unfinished_work_seconds").follow(
            lambda: sum(_ages(queue.in_hand.values())), *labels
        )
        metrics.gauge("workqueue_longest_running_processor_seconds").follow(
            lambda: max(_ages(queue.in_hand.values()), default=0.0), *labels
        )

    def done(self, seconds: float) -> None:
        """Count work that took so long."""
        self._metrics.histogram("workqueue_work_duration_seconds").observe(seconds, *self._labels)

    def _waited(self, seconds: float) -> None:
        self._metrics.histogram("workqueue_latency_seconds").observe(seconds, *self._labels)


def _summed(watches: Iterable[Watch], of: str, operation: str) -> int:
    return sum(getattr(each, of)[operation] for each in watches)


def _family(row: MetricRow) -> Family:
    name = PREFIX + row.name
    if row.kind is Histogram:
        return Histogram(name, row.help, row.labels, buckets=row.buckets)
    return row.kind(name, row.help, row.labels)


def _ages(starts: Iterable[float]) -> list[float]:
    now = time.monotonic()
    return [max(0.0, now - start) for start in starts]
