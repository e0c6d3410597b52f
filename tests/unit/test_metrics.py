"""Metrics: the text format, and what the operator tells about itself."""

import math
import re
import time
from collections.abc import Callable

import pytest

from stoker.kube.errors import Unavailable
from stoker.kube.report import LIST, WATCH, Report
from stoker.web.metric_table import PREFIX, TABLE
from stoker.web.metrics import Counter, Gauge, Histogram, Registry, Summary, number_text
from stoker.web.operator_metrics import OperatorMetrics, QueueMetrics

# Every metric of prometheus-operator 0.94.1 that is its own: type and labels.
PEER = {
    "build_info": "gauge branch goarch goos goversion revision tags version",
    "feature_gate": "gauge name",
    "kubelet_managed_resource": "gauge resource",
    "kubernetes_client_http_request_duration_seconds": "summary endpoint",
    "kubernetes_client_http_requests_total": "counter status_code",
    "kubernetes_client_rate_limiter_duration_seconds": "summary endpoint",
    "list_operations_failed_total": "counter controller",
    "list_operations_total": "counter controller",
    "managed_resources": "gauge controller resource state",
    "node_address_lookup_errors_total": "counter",
    "node_syncs_failed_total": "counter resource",
    "node_syncs_total": "counter resource",
    "prometheus_status_condition": "gauge condition controller name namespace status",
    "ready": "gauge controller",
    "reconcile_duration_seconds": "histogram controller",
    "reconcile_errors_total": "counter controller",
    "reconcile_operations_total": "counter controller",
    "reconcile_sts_delete_create_total": "counter controller",
    "spec_replicas": "gauge controller name namespace",
    "spec_shards": "gauge controller name namespace",
    "status_update_errors_total": "counter controller",
    "status_update_operations_total": "counter controller",
    "syncs": "gauge controller status",
    "triggered_total": "counter action controller triggered_by",
    "watch_operations_failed_total": "counter controller",
    "watch_operations_total": "counter controller",
    "workqueue_adds_total": "counter controller name",
    "workqueue_depth": "gauge controller name",
    "workqueue_latency_seconds": "histogram controller name",
    "workqueue_longest_running_processor_seconds": "gauge controller name",
    "workqueue_retries_total": "counter controller name",
    "workqueue_unfinished_work_seconds": "gauge controller name",
    "workqueue_work_duration_seconds": "histogram controller name",
}

OURS = {
    "allocated_blocks": "gauge",
    "cache_bytes": "gauge cache",
    "cache_entries": "gauge cache",
    "late_reads": "gauge",
    "node_discovery_bytes_total": "counter",
    "node_discovery_certificate_seconds": "gauge",
    "node_discovery_commits_total": "counter",
    "node_discovery_connections": "gauge",
    "node_discovery_files_total": "counter",
    "node_discovery_objects": "gauge kind",
    "node_discovery_portions": "gauge",
    "node_discovery_refused_total": "counter",
    "node_discovery_requests_total": "counter",
    "node_discovery_token_reviews_total": "counter",
    "task_faults_total": "counter task",
    "tasks": "gauge",
    "watch_silence_seconds": "gauge controller",
    "workqueue_delayed": "gauge controller name",
}

LABEL = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
LINE = re.compile(
    rf"# HELP [a-z_]+ .*|# TYPE [a-z_]+ (?:counter|gauge|histogram|summary)"
    rf"|[a-z_]+(?:\{{{LABEL}(?:,{LABEL})*\}})? (?:-?[0-9.e+-]+|NaN|[+-]Inf)"
)


def lines(metrics: OperatorMetrics) -> list[str]:
    """The lines of a scrape, less help and types, and less the prefix."""
    text = metrics.registry.text()
    return [line.removeprefix(PREFIX) for line in text.splitlines() if not line.startswith("#")]


def test_every_metric_of_the_peer_is_there() -> None:
    """Dashboards and alerts find the same names, types and labels."""
    ours = {row.name: " ".join([row.kind.kind, *sorted(row.labels)]) for row in TABLE}
    assert len(PEER) == 33
    assert ours == PEER | OURS
    assert {row.name for row in TABLE if row.help.endswith("; one of our own.")} == set(OURS)


def test_text_is_escaped_as_the_format_asks() -> None:
    """A label's value with quotes, backslashes and newlines stays one value."""
    registry = Registry()
    counter = registry.counter("x_total", "Two\nlines, one \\.", ("label",))
    counter.add(2, 'a"} 5\nx_total{label="\\')
    assert registry.text() == (
        "# HELP x_total Two\\nlines, one \\\\.\n"
        "# TYPE x_total counter\n"
        'x_total{label="a\\"} 5\\nx_total{label=\\"\\\\"} 2\n'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (0.25, "0.25"),
        (-3, "-3"),
        (True, "1"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
        (1e300, "1e+300"),
        (1700000000.5, "1700000000.5"),
    ],
)
def test_numbers_are_written_as_prometheus_reads_them(value: float, text: str) -> None:
    """Whole numbers have no fraction; what is no number has its own word."""
    assert number_text(value) == text


def test_buckets_count_everything_below_them() -> None:
    """A bucket includes its bound and all smaller ones; the last has no bound."""
    registry = Registry()
    histogram = Histogram("seconds", "Time.", ("who",), buckets=(0.1, 1))
    registry.register(histogram)
    for amount in (0.1, 0.5, 7):
        histogram.observe(amount, "a")
    assert registry.text().splitlines()[2:] == [
        'seconds_bucket{who="a",le="0.1"} 1',
        'seconds_bucket{who="a",le="1"} 2',
        'seconds_bucket{who="a",le="+Inf"} 3',
        'seconds_sum{who="a"} 7.6',
        'seconds_count{who="a"} 3',
    ]


def test_a_summary_has_sum_and_count() -> None:
    """No quantiles, as the peer's."""
    registry = Registry()
    summary = Summary("seconds", "Time.")
    registry.register(summary)
    summary.observe(2)
    summary.observe(0.5)
    assert registry.text().splitlines()[2:] == ["seconds_sum 2.5", "seconds_count 2"]


def test_a_counter_does_not_shrink_and_labels_must_be_all_there() -> None:
    """Mistakes of ours are found where they are made."""
    with pytest.raises(ValueError, match="only grows"):
        Counter("x", "").add(-1)
    with pytest.raises(ValueError, match="has the labels"):
        Gauge("x", "", ("a", "b")).set(1, "a")
    registry = Registry()
    registry.gauge("x", "")
    with pytest.raises(ValueError, match="already"):
        registry.counter("x", "")


class Line:
    """A queue, as far as metrics ask one."""

    def __init__(self) -> None:
        self.adds = self.retries = 0
        self.waiting: list[str] = []
        self.in_hand: dict[str, float] = {}
        self.delayed = 0
        self.waited: Callable[[float], None] = print

    def __len__(self) -> int:
        return len(self.waiting)


def test_every_line_of_a_busy_operator_is_well_formed() -> None:
    """Whatever was counted, each line fits the format, and each metric stands together."""
    metrics = OperatorMetrics()
    metrics.started("0.1.0", {"A": True, "B": False})
    metrics.requested("/api/v1/secrets", 200, 0.02)
    metrics.kubelet_keeps("endpoints", kept=True)
    controller = metrics.controller("prometheus")
    controller.reconciled("ns", 'na"me\n', 0.2, failed=True)
    controller.triggered("ServiceMonitor", "add")
    QueueMetrics(metrics, ("prometheus", "prometheus"), Line())
    text = metrics.registry.text()
    assert all(LINE.fullmatch(line) for line in text.splitlines())
    assert text.endswith("\n")
    assert len(re.findall("# TYPE", text)) == len(metrics.registry.families())


def test_counters_of_a_controller_start_at_zero() -> None:
    """A rate can be taken of the first error, as there was a 0 before it."""
    metrics = OperatorMetrics()
    metrics.controller("prometheus")
    found = lines(metrics)
    for name in ("reconcile_errors_total", "list_operations_failed_total", "ready"):
        assert f'{name}{{controller="prometheus"}} 0' in found
    assert 'syncs{controller="prometheus",status="failed"} 0' in found


def test_a_workload_is_counted_once_by_how_its_last_look_ended() -> None:
    """A failure followed by a success is a success; a workload that is gone is not counted."""
    metrics = OperatorMetrics()
    controller = metrics.controller("c")
    controller.reconciled("ns", "one", 0.1, failed=True)
    controller.reconciled("ns", "two", 0.1, failed=False)
    assert 'syncs{controller="c",status="failed"} 1' in lines(metrics)
    controller.reconciled("ns", "one", 0.1, failed=False)
    assert 'syncs{controller="c",status="failed"} 0' in lines(metrics)
    assert 'syncs{controller="c",status="ok"} 2' in lines(metrics)
    controller.forget("ns", "one")
    assert 'syncs{controller="c",status="ok"} 1' in lines(metrics)
    assert 'reconcile_operations_total{controller="c"} 3' in lines(metrics)
    assert 'reconcile_errors_total{controller="c"} 1' in lines(metrics)
    assert 'reconcile_duration_seconds_count{controller="c"} 3' in lines(metrics)


def test_resources_are_summed_over_workloads() -> None:
    """Each workload says what it selects; the metric is the sum, without those that are gone."""
    metrics = OperatorMetrics()
    controller = metrics.controller("c")
    controller.manages("ns", "one", {"ServiceMonitor": (5, 1), "Probe": (1, 0)})
    controller.manages("ns", "two", {"ServiceMonitor": (2, 0)})
    name = 'managed_resources{controller="c",resource="ServiceMonitor"'
    assert f'{name},state="selected"}} 7' in lines(metrics)
    assert f'{name},state="rejected"}} 1' in lines(metrics)
    controller.manages("ns", "one", {"ServiceMonitor": (4, 0)})
    controller.forget("ns", "two")
    assert f'{name},state="selected"}} 4' in lines(metrics)
    assert f'{name},state="rejected"}} 0' in lines(metrics)


def test_nothing_is_left_of_a_workload_that_is_gone() -> None:
    """Replicas, shards and conditions disappear with it, and an old status with the new one."""
    metrics = OperatorMetrics()
    controller = metrics.controller("c")
    controller.asks_for("ns", "gone", 2, 3)
    controller.conditions("ns", "gone", {"Available": "False"})
    controller.conditions("ns", "gone", {"Available": "True"})
    found = [line for line in lines(metrics) if '"gone"' in line]
    assert sorted(found) == [
        'prometheus_status_condition{controller="c",namespace="ns",name="gone",'
        'condition="Available",status="True"} 1',
        'spec_replicas{controller="c",namespace="ns",name="gone"} 2',
        'spec_shards{controller="c",namespace="ns",name="gone"} 3',
    ]
    controller.forget("ns", "gone")
    assert not [line for line in lines(metrics) if '"gone"' in line]


def test_a_queue_is_asked_when_somebody_looks() -> None:
    """Depth and age are those of the moment of the scrape."""
    metrics = OperatorMetrics()
    line = Line()
    queue = QueueMetrics(metrics, ("c", "q"), line)
    labels = '{controller="c",name="q"}'
    assert f"workqueue_depth{labels} 0" in lines(metrics)
    assert f"workqueue_longest_running_processor_seconds{labels} 0" in lines(metrics)
    line.waiting.append("key")
    line.in_hand = {"a": time.monotonic() - 100, "b": time.monotonic() - 50}
    line.adds, line.retries, line.delayed = 2, 1, 3
    line.waited(0.5)
    queue.done(0.1)
    found = dict(line.rsplit(" ", 1) for line in lines(metrics))
    assert found[f"workqueue_depth{labels}"] == "1"
    assert found[f"workqueue_delayed{labels}"] == "3"
    assert 100 <= float(found[f"workqueue_longest_running_processor_seconds{labels}"]) < 110
    assert 150 <= float(found[f"workqueue_unfinished_work_seconds{labels}"]) < 160
    assert found[f"workqueue_adds_total{labels}"] == "2"
    assert found[f"workqueue_retries_total{labels}"] == "1"
    assert found[f"workqueue_latency_seconds_count{labels}"] == "1"
    assert found[f"workqueue_work_duration_seconds_sum{labels}"] == "0.1"


def test_what_is_counted_elsewhere_arrives() -> None:
    """Nodes, requests, statuses, lists and watches each have their numbers."""
    metrics = OperatorMetrics()
    metrics.started("1.2.3", {"A": True})
    metrics.requested("/e", 500, 2.0)
    metrics.held_back("/e", 0.25)
    metrics.kubelet_keeps("endpointslice", kept=False)
    metrics.nodes_synced("endpoints", failed=True)
    metrics.addresses_missing(2)
    controller = metrics.controller("c")
    controller.ready(True)
    watch = Report()
    controller.watches([watch, Report()])
    watch.began(LIST)
    watch.began(WATCH)
    watch.failed(WATCH, Unavailable(WATCH, "/e", "broken"))
    controller.status_written(failed=True)
    controller.recreated()
    found = lines(metrics)
    for line in (
        'feature_gate{name="A"} 1',
        'kubernetes_client_http_requests_total{status_code="500"} 1',
        'kubernetes_client_http_request_duration_seconds_sum{endpoint="/e"} 2',
        'kubernetes_client_rate_limiter_duration_seconds_sum{endpoint="/e"} 0.25',
        'kubelet_managed_resource{resource="endpointslice"} 0',
        'node_syncs_failed_total{resource="endpoints"} 1',
        "node_address_lookup_errors_total 2",
        'ready{controller="c"} 1',
        'list_operations_total{controller="c"} 1',
        'list_operations_failed_total{controller="c"} 0',
        'watch_operations_failed_total{controller="c"} 1',
        'status_update_errors_total{controller="c"} 1',
        'reconcile_sts_delete_create_total{controller="c"} 1',
    ):
        assert line in found
    assert any(line.startswith("build_info{") and 'version="1.2.3"' in line for line in found)


def test_the_process_shows_its_memory_and_time() -> None:
    """The standard names, with values that can be true of a Python process."""
    metrics = OperatorMetrics()
    values = dict(line.rsplit(" ", 1) for line in lines(metrics) if line.startswith("process_"))
    assert 5e6 < float(values["process_resident_memory_bytes"]) < 5e9
    assert float(values["process_cpu_seconds_total"]) > 0
    assert float(values["process_open_fds"]) >= 3
    assert time.time() - 86400 < float(values["process_start_time_seconds"]) < time.time() + 2
    assert {"process_max_fds", "process_virtual_memory_bytes"} <= values.keys()
    assert "process_virtual_memory_max_bytes" in values
