"""Every metric of the operator as a table: name, type, labels and what it says.

Names, types and labels are those of prometheus-operator, so that dashboards and alerts go on
working; the words are ours, and so are the few that say so.
"""

from typing import Final, NamedTuple

from stoker.web.metrics import Counter, Family, Gauge, Histogram, Summary

PREFIX: Final = "prometheus_operator_"
_WORK_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_WAIT_BUCKETS: Final = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 60.0)


class MetricRow(NamedTuple):
    """A metric: its name without the prefix, its type, its labels, and what it says."""

    name: str
    kind: type[Family]
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()


CONTROLLER: Final = ("controller",)
_Q: Final = ("controller", "name")
_WORKLOAD: Final = ("controller", "namespace", "name")

TABLE: Final = (
    MetricRow(
        "allocated_blocks",
        Gauge,
        (),
        "Blocks of memory that Python has in use: what grows while the cluster does not is lost; "
        "one of our own.",
    ),
    MetricRow(
        "build_info",
        Gauge,
        ("branch", "goarch", "goos", "goversion", "revision", "tags", "version"),
        "What is running; always 1. The language's version stands under `goversion`.",
    ),
    MetricRow(
        "cache_bytes",
        Gauge,
        ("cache",),
        "How much is remembered of what was worked out from texts, as estimated; one of our own.",
    ),
    MetricRow(
        "cache_entries",
        Gauge,
        ("cache",),
        "How many objects are known: of each resource that is watched, `contents` of Secrets and "
        "ConfigMaps that were read, objects that were `written` or found right, and parts of "
        "resources that are `shared` by those that say the same; one of our own.",
    ),
    MetricRow("feature_gate", Gauge, ("name",), "Whether a feature is on (1) or off (0)."),
    MetricRow(
        "kubelet_managed_resource", Gauge, ("resource",), "Whether a kind of object is kept."
    ),
    MetricRow(
        "kubernetes_client_http_requests_total",
        Counter,
        ("status_code",),
        "Requests to the API server, by the status of the answer.",
    ),
    MetricRow(
        "kubernetes_client_http_request_duration_seconds",
        Summary,
        ("endpoint",),
        "How long requests to the API server took.",
    ),
    MetricRow(
        "kubernetes_client_rate_limiter_duration_seconds",
        Summary,
        ("endpoint",),
        "How long requests to the API server were held back here.",
    ),
    MetricRow(
        "late_reads",
        Gauge,
        (),
        "Secrets and ConfigMaps that are being read and nobody waits for, since they are slow to "
        "come or cannot be read; one of our own.",
    ),
    MetricRow("list_operations_total", Counter, CONTROLLER, "Lists that were asked for."),
    MetricRow("list_operations_failed_total", Counter, CONTROLLER, "Lists that failed."),
    MetricRow("watch_operations_total", Counter, CONTROLLER, "Watches that were asked for."),
    MetricRow("watch_operations_failed_total", Counter, CONTROLLER, "Watches that failed."),
    MetricRow(
        "watch_silence_seconds",
        Gauge,
        CONTROLLER,
        "How long nothing was heard from the watch that is silent longest; one of our own.",
    ),
    MetricRow(
        "managed_resources",
        Gauge,
        ("controller", "resource", "state"),
        "Resources that workloads select, by kind; `state` says whether they are usable.",
    ),
    MetricRow(
        "node_address_lookup_errors_total", Counter, (), "Nodes found to have no usable address."
    ),
    MetricRow(
        "node_discovery_bytes_total",
        Counter,
        (),
        "Bytes of files that were sent to agents on nodes; one of our own.",
    ),
    MetricRow(
        "node_discovery_certificate_seconds",
        Gauge,
        (),
        "For how long the certificate is good that agents on nodes are shown, if it is one that "
        "the operator made; one of our own.",
    ),
    MetricRow(
        "node_discovery_commits_total",
        Counter,
        (),
        "How often agents on nodes heard that what they have is complete; one of our own.",
    ),
    MetricRow(
        "node_discovery_connections",
        Gauge,
        (),
        "Agents on nodes that are connected; one of our own.",
    ),
    MetricRow(
        "node_discovery_files_total",
        Counter,
        (),
        "Files that were sent to agents on nodes; one of our own.",
    ),
    MetricRow(
        "node_discovery_objects",
        Gauge,
        ("kind",),
        "Objects that are kept to find the targets of nodes; one of our own.",
    ),
    MetricRow(
        "node_discovery_portions",
        Gauge,
        (),
        "Portions of nodes that are kept up; one of our own.",
    ),
    MetricRow(
        "node_discovery_refused_total",
        Counter,
        (),
        "Requests of agents on nodes that were not answered; one of our own.",
    ),
    MetricRow(
        "node_discovery_requests_total",
        Counter,
        (),
        "Requests of agents on nodes that were answered; one of our own.",
    ),
    MetricRow(
        "node_discovery_token_reviews_total",
        Counter,
        (),
        "Tokens about which the API server was asked; one of our own.",
    ),
    MetricRow(
        "node_syncs_total", Counter, ("resource",), "Looks at the nodes for the kubelets' objects."
    ),
    MetricRow("node_syncs_failed_total", Counter, ("resource",), "Such looks that failed."),
    MetricRow(
        "prometheus_status_condition",
        Gauge,
        (*_WORKLOAD, "condition", "status"),
        "1 for the status that a condition of a workload has.",
    ),
    MetricRow(
        "ready", Gauge, CONTROLLER, "Whether a controller is at work (1) or still preparing (0)."
    ),
    MetricRow("reconcile_operations_total", Counter, CONTROLLER, "Looks at a workload."),
    MetricRow("reconcile_errors_total", Counter, CONTROLLER, "Looks at a workload that failed."),
    MetricRow(
        "reconcile_duration_seconds",
        Histogram,
        CONTROLLER,
        "How long a look at a workload took.",
        _WORK_BUCKETS,
    ),
    MetricRow(
        "reconcile_sts_delete_create_total",
        Counter,
        CONTROLLER,
        "StatefulSets deleted and recreated because of a change that Kubernetes does not allow.",
    ),
    MetricRow("spec_replicas", Gauge, _WORKLOAD, "Replicas that a workload asks for."),
    MetricRow("spec_shards", Gauge, _WORKLOAD, "Shards that a workload asks for."),
    MetricRow("status_update_operations_total", Counter, CONTROLLER, "Writes of a status."),
    MetricRow("status_update_errors_total", Counter, CONTROLLER, "Writes of a status that failed."),
    MetricRow(
        "syncs", Gauge, ("controller", "status"), "Workloads, by how the last look at them ended."
    ),
    MetricRow(
        "task_faults_total",
        Counter,
        ("task",),
        "Tasks of the operator that ended unforeseen and were restarted; one of our own.",
    ),
    MetricRow("tasks", Gauge, (), "Tasks that go on in the operator; one of our own."),
    MetricRow(
        "triggered_total",
        Counter,
        ("controller", "triggered_by", "action"),
        "Changes that led to a look at a workload: of which kind of object, and what happened.",
    ),
    MetricRow("workqueue_adds_total", Counter, _Q, "Keys put into the queue."),
    MetricRow(
        "workqueue_retries_total", Counter, _Q, "Keys put into the queue again after a failure."
    ),
    MetricRow("workqueue_depth", Gauge, _Q, "Keys that wait."),
    MetricRow(
        "workqueue_delayed",
        Gauge,
        _Q,
        "Keys that failed and wait for the time of their next attempt; one of our own.",
    ),
    MetricRow(
        "workqueue_latency_seconds",
        Histogram,
        _Q,
        "How long keys waited.",
        _WAIT_BUCKETS,
    ),
    MetricRow(
        "workqueue_work_duration_seconds",
        Histogram,
        _Q,
        "How long the work on a key took.",
        _WAIT_BUCKETS,
    ),
    MetricRow(
        "workqueue_unfinished_work_seconds",
        Gauge,
        _Q,
        "How long all work that goes on has been going on; stays up if something is stuck.",
    ),
    MetricRow(
        "workqueue_longest_running_processor_seconds",
        Gauge,
        _Q,
        "How long the oldest work that goes on has been going on.",
    ),
)
