"""Prometheus servers and agents."""

from typing import Annotated, ClassVar, Final

from stoker.api.common import (
    BasicAuth,
    ByteSize,
    Duration,
    LogFormat,
    LogLevel,
    Proxy,
    Quantity,
    RelabelConfig,
    SafeAuthorization,
    Scheme,
    Sigv4,
    Text,
    TlsConfig,
)
from stoker.api.core import (
    Int32,
    Int64,
    IntOrString,
    LabelSelector,
    ResourceRequirements,
    SecretKeySelector,
    VolumeMount,
)
from stoker.api.crd import CustomResource, Kind, KindVersion, ScalePaths
from stoker.api.declare import NO_ITEMS, NO_TEXT, OF_JOBS, Cel, Model, doc, names
from stoker.api.prometheus_common import (
    PrometheusAgentStatus,
    PrometheusCommonSpec,
    PrometheusStatus,
)
from stoker.api.remote import RemoteRead
from stoker.api.workload import Argument, ExcludedRule, GrpcServerTlsConfig, workload_columns


class AlertmanagerEndpoints(Proxy):
    """Alertmanagers behind a Service, to which alerts are sent.

    Set at most one of `authorization`, `basicAuth`, `sigv4` and `bearerTokenFile`.
    """

    name: Annotated[Text, doc("Name of the Service.")] = NO_TEXT
    namespace: Annotated[
        Text | None, doc("Namespace of the Service. Unset: that of the Prometheus object.")
    ] = None
    port: Annotated[IntOrString, doc("Name or number of the Service's port.")] = NO_TEXT
    scheme: Annotated[Scheme | None, doc("Protocol to use. Unset: `http`.")] = None
    path_prefix: Annotated[
        Text | None, doc("Path under which the Alertmanager API is found. Unset: `/`.")
    ] = None
    api_version: Annotated[
        str | None,
        doc(
            "Version of the Alertmanager API. Unset: `v2`. Prometheus 3.0 and newer know no other.",
            enum=("v1", "V1", "v2", "V2"),
        ),
    ] = None
    timeout: Annotated[
        Duration | None, doc("Longest time that a request may take. Unset: `10s`.")
    ] = None
    authorization: Annotated[SafeAuthorization | None, doc("`Authorization` header to send.")] = (
        None
    )
    basic_auth: Annotated[BasicAuth | None, doc("User name and password to send.")] = None
    sigv4: Annotated[
        Sigv4 | None,
        doc("AWS Signature Version 4, to sign requests. Needs Prometheus 2.48 or newer."),
    ] = None
    bearer_token_file: Annotated[
        str | None,
        doc("Deprecated: use `authorization`. Path in the container to a file with a token."),
    ] = None
    tls_config: Annotated[TlsConfig | None, doc("TLS settings for the connection.")] = None
    enable_http2: Annotated[bool | None, doc("Allow HTTP/2. Unset: yes.")] = None
    relabelings: Annotated[
        tuple[RelabelConfig, ...] | None,
        doc("Steps to change or drop the Alertmanagers that were discovered."),
    ] = None
    alert_relabelings: Annotated[
        tuple[RelabelConfig, ...] | None,
        doc(
            "Steps to change or drop alerts before they go to these Alertmanagers. "
            "Needs Prometheus 2.51 or newer."
        ),
    ] = None


class Alerting(Model):
    """Where alerts go."""

    alertmanagers: Annotated[
        tuple[AlertmanagerEndpoints, ...],
        doc("Alertmanagers that get every alert, each entry a Service."),
    ] = NO_ITEMS


class Exemplars(Model):
    """Storage of exemplars."""

    max_size: Annotated[
        Int64 | None,
        doc(
            "Exemplars to keep in memory, for all series together. Unset: Prometheus' own, "
            "100000. Zero or less: none."
        ),
    ] = None


class Query(Model):
    """Limits of PromQL queries."""

    timeout: Annotated[Duration | None, doc("Longest time that a query may run. Unset: `2m`.")] = (
        None
    )
    max_concurrency: Annotated[
        Int32 | None, doc("Most queries to run at once. Unset: 20.", minimum=1)
    ] = None
    max_samples: Annotated[
        Int32 | None,
        doc("Most samples that a query may hold in memory, else it fails. Unset: 50000000."),
    ] = None
    lookback_delta: Annotated[
        str | None,
        doc("How far back the newest sample of a series may lie to count as current. Unset: `5m`."),
    ] = None


class AlertRules(Model):
    """How the state of alerts outlives a restart, and how often alerts are sent."""

    for_outage_tolerance: Annotated[
        str | None,
        doc("Longest outage after which the `for` state of alerts is restored. Unset: `1h`."),
    ] = None
    for_grace_period: Annotated[
        str | None,
        doc("Shortest `for` time for which state is restored. Unset: `10m`."),
    ] = None
    resend_delay: Annotated[
        str | None,
        doc("Shortest time before an alert is sent to Alertmanager again. Unset: `1m`."),
    ] = None


class RuleSettings(Model):
    """How rules are run."""

    alert: Annotated[AlertRules | None, doc("Settings for alerting rules.")] = None


class RetainShards(Model):
    """How long shards are kept that were scaled away."""

    retention_period: Annotated[
        Duration,
        doc("Time after which the shard and its claims are deleted."),
    ] = NO_TEXT


class ShardRetentionPolicy(Model):
    """What becomes of shards when `shards` is lowered."""

    when_scaled: Annotated[
        str | None,
        doc(
            "`Delete` the shard at once, or `Retain` it so that its data can still be queried. "
            "Unset: `Delete`.",
            enum=("Retain", "Delete"),
        ),
    ] = None
    retain: Annotated[
        RetainShards | None,
        doc(
            "How long to retain. Unset: as long as `retention`; forever if only "
            "`retentionSize` or `retentionPercentage` is set."
        ),
    ] = None


class ThanosSidecar(Model):
    """The Thanos sidecar: serves Prometheus' data to Thanos Query and may upload its blocks."""

    version: Annotated[str | None, doc("Version of Thanos. Unset: the operator's default.")] = None
    image: Annotated[
        str | None,
        doc("Container image, in place of the operator's default. Set `version` too."),
    ] = None
    resources: Annotated[
        ResourceRequirements | None,
        doc("CPU and memory of the sidecar. See Kubernetes' `ResourceRequirements`."),
    ] = None
    object_storage_config: Annotated[
        SecretKeySelector | None,
        doc(
            "Secret key with Thanos' object storage configuration, as YAML. Blocks are uploaded "
            "there. Unset: not uploaded."
        ),
    ] = None
    object_storage_config_file: Annotated[
        str | None,
        doc(
            "Path in the container to the object storage configuration; mount it with "
            "`volumeMounts`. Wins over `objectStorageConfig`."
        ),
    ] = None
    block_size: Annotated[
        Duration | None,
        doc(
            "Time span of a block on disk while blocks are uploaded and compaction is off. Change "
            "it only for good reason.",
            default="2h",
        ),
    ] = None
    min_time: Annotated[
        str | None,
        doc(
            "Oldest data to serve: a time (RFC 3339), or a duration back from now such as `-2h`. "
            "Unset: everything."
        ),
    ] = None
    ready_timeout: Annotated[
        Duration | None, doc("Longest time to wait for Prometheus to start. Unset: `10m`.")
    ] = None
    get_config_interval: Annotated[
        Duration | None, doc("How often to ask Prometheus for its configuration. Unset: `30s`.")
    ] = None
    get_config_timeout: Annotated[
        Duration | None,
        doc("Longest time to wait for Prometheus' configuration. Unset: `5s`."),
    ] = None
    grpc_server_tls_config: Annotated[
        GrpcServerTlsConfig | None, doc("TLS settings of the gRPC server. Unset: no TLS.")
    ] = None
    grpc_listen_local: Annotated[
        bool | None,
        doc("Serve gRPC on the loopback address only; Thanos Query no longer reaches it."),
    ] = None
    http_listen_local: Annotated[
        bool | None, doc("Serve HTTP, with metrics and probes, on the loopback address only.")
    ] = None
    listen_local: Annotated[
        bool | None,
        doc("Deprecated: use `grpcListenLocal` and `httpListenLocal`. Sets both."),
    ] = None
    tracing_config: Annotated[
        SecretKeySelector | None,
        doc("Secret key with Thanos' tracing configuration, as YAML. Experimental in Thanos."),
    ] = None
    tracing_config_file: Annotated[
        str | None,
        doc("Path in the container to the tracing configuration. Wins over `tracingConfig`."),
    ] = None
    log_level: Annotated[
        LogLevel | None, doc("Least severe messages to log. Unset: as for Prometheus.")
    ] = None
    log_format: Annotated[LogFormat | None, doc("Form of log lines. Unset: as for Prometheus.")] = (
        None
    )
    volume_mounts: Annotated[
        tuple[VolumeMount, ...] | None,
        doc("Mounts to add to the sidecar. See Kubernetes' `VolumeMount`."),
    ] = None
    additional_args: Annotated[
        tuple[Argument, ...] | None,
        doc(
            "Arguments to add to the sidecar's command line, unchecked. One that the operator "
            "sets itself is an error."
        ),
    ] = None
    base_image: Annotated[
        str | None, doc("Deprecated: use `image`. Image without tag, for `tag` or `sha`.")
    ] = None
    tag: Annotated[str | None, doc("Deprecated: use `image`. Tag of the image.")] = None
    sha: Annotated[str | None, doc("Deprecated: use `image`. Digest of the image.")] = None


class PrometheusSpec(PrometheusCommonSpec, rename=names(enable_admin_api="enableAdminAPI")):
    """What a Prometheus server should look like."""

    retention: Annotated[
        Duration | None,
        doc(
            "How long to keep data. Unset: `24h`, unless `retentionSize` or `retentionPercentage` "
            "is set."
        ),
    ] = None
    retention_size: Annotated[
        ByteSize | None,
        doc("How much data to keep, for example `50GB`; the oldest goes first. Unset: no limit."),
    ] = None
    retention_percentage: Annotated[
        Quantity | None,
        doc(
            "How many percent of the volume data may fill, from 0 to 100; the oldest goes first. "
            "Unset: no limit. Needs Prometheus 3.11 or newer."
        ),
    ] = None
    shard_retention_policy: Annotated[
        ShardRetentionPolicy | None,
        doc("What becomes of shards that are scaled away. Unset: they are deleted."),
        OF_JOBS,
    ] = None
    disable_compaction: Annotated[
        bool | None,
        doc(
            "Do not merge blocks on disk. When the Thanos sidecar uploads them, merging waits for "
            "the upload; before Prometheus 3.9 or Thanos 0.42 it is off."
        ),
    ] = None

    rule_selector: Annotated[
        LabelSelector | None, doc("PrometheusRules to load. Unset: none; empty: all.")
    ] = None
    rule_namespace_selector: Annotated[
        LabelSelector | None,
        doc("Namespaces to look for PrometheusRules in. Unset: this one; empty: all."),
    ] = None
    evaluation_interval: Annotated[
        Duration | None, doc("Time between two runs of a rule.", default="30s")
    ] = None
    rule_query_offset: Annotated[
        Duration | None,
        doc(
            "How far in the past rules are evaluated, so that late samples count. Unset: not at "
            "all. Needs Prometheus 2.53 or newer."
        ),
    ] = None
    rules: Annotated[
        RuleSettings | None, doc("How rules are run. A change restarts Prometheus.")
    ] = None
    prometheus_rules_excluded_from_enforce: Annotated[
        tuple[ExcludedRule, ...] | None,
        doc(
            "Deprecated: use `excludedFromEnforcement`. PrometheusRules that "
            "`enforcedNamespaceLabel` does not apply to."
        ),
    ] = None

    alerting: Annotated[Alerting | None, doc("Alertmanagers to send alerts to. Unset: none.")] = (
        None
    )
    additional_alert_manager_configs: Annotated[
        SecretKeySelector | None,
        doc(
            "Secret key with a YAML list of Alertmanager configurations to add. They are not "
            "checked: a mistake can keep Prometheus from loading its configuration."
        ),
    ] = None
    additional_alert_relabel_configs: Annotated[
        SecretKeySelector | None,
        doc(
            "Secret key with a YAML list of relabeling steps for all alerts. They are not "
            "checked: a mistake can keep Prometheus from loading its configuration."
        ),
    ] = None

    query: Annotated[Query | None, doc("Limits of queries.")] = None
    query_log_file: Annotated[
        str | None,
        doc(
            "File to log queries to. A name without directory is put in an `emptyDir` at "
            "`/var/log/prometheus`; else mount the directory. Needs Prometheus 2.16 or newer."
        ),
    ] = None
    remote_read: Annotated[
        tuple[RemoteRead, ...] | None, doc("Storage that queries read from too.")
    ] = None
    exemplars: Annotated[
        Exemplars | None,
        doc(
            "Storage of exemplars; needs the feature `exemplar-storage` in `enableFeatures`. "
            "Needs Prometheus 2.29 or newer."
        ),
    ] = None
    enable_admin_api: Annotated[
        bool | None,
        doc(
            "Serve the admin API, with which whoever reaches Prometheus can delete its data. "
            "Unset: no."
        ),
    ] = None
    thanos: Annotated[
        ThanosSidecar | None, doc("Run a Thanos sidecar in each pod. Unset: none.")
    ] = None

    allow_overlapping_blocks: Annotated[
        bool | None,
        doc("Deprecated: has no effect since Prometheus 2.39, where blocks may always overlap."),
    ] = None
    base_image: Annotated[
        str | None, doc("Deprecated: use `image`. Image without tag, for `tag` or `sha`.")
    ] = None
    tag: Annotated[str | None, doc("Deprecated: use `image`. Tag of the image.")] = None
    sha: Annotated[str | None, doc("Deprecated: use `image`. Digest of the image.")] = None


class Prometheus(CustomResource):
    """A Prometheus server: scrapes, stores, runs rules and answers queries."""

    spec: Annotated[PrometheusSpec, doc("What to run, and what to scrape.")] = PrometheusSpec()
    status: Annotated[PrometheusStatus | None, doc("Written by the operator.")] = None


_ON_EVERY_NODE = "has(self.mode) && self.mode == 'DaemonSet'"
NOT_ON_EVERY_NODE: Final = (
    "replicas",
    "storage",
    "persistentVolumeClaimRetentionPolicy",
    "scrapeConfigSelector",
    "scrapeConfigNamespaceSelector",
    "probeSelector",
    "probeNamespaceSelector",
    "additionalScrapeConfigs",
    "shardingStrategy",
)


class HostPath(Model):
    """A directory of the node."""

    path: Annotated[
        str,
        doc(
            "Absolute path on the node. Each agent has the directory `<namespace>/<name>` in it, "
            "made with the same mode; the pods' user must be allowed to write there.",
            pattern="^/",
        ),
    ] = NO_TEXT
    type: Annotated[
        str | None,
        doc(
            "`DirectoryOrCreate` makes the directory if it is absent, `Directory` wants it to be "
            "there. Unset: `DirectoryOrCreate`.",
            enum=("DirectoryOrCreate", "Directory"),
        ),
    ] = None


class NodeStorage(Model):
    """Where agents on every node keep their write-ahead log."""

    host_path: Annotated[
        HostPath | None,
        doc(
            "Keep it on the node: the log and the memory of its series outlive the pod. Yet a "
            "Prometheus that starts sends only samples that are newer than its start."
        ),
    ] = None


def _is_count(field: str) -> str:
    """A rule for a number of nodes, or a share of them."""
    value = f"self.{field}"
    number, share = f"{value} >= 0", f"{value}.matches('^(100|[0-9]{{1,2}})%$')"
    return f"!has({value}) || (type({value}) == int ? {number} : {share})"


def _is_zero(field: str) -> str:
    return f"(self.{field} == 0 || self.{field} == '0%' || self.{field} == '00%')"


class DaemonSetRollingUpdate(Model):
    """The pace at which agents are replaced."""

    CEL: ClassVar[Cel] = {
        f"{field} must be a number of nodes, or a percentage from 0% to 100%": _is_count(field)
        for field in ("maxUnavailable", "maxSurge")
    } | {
        "maxUnavailable must be 0 or unset with maxSurge": (
            f"!(has(self.maxSurge) && !{_is_zero('maxSurge')} && "
            f"has(self.maxUnavailable) && !{_is_zero('maxUnavailable')})"
        ),
        "maxUnavailable cannot be 0 without maxSurge: no agent could ever be replaced": (
            f"!(has(self.maxUnavailable) && {_is_zero('maxUnavailable')} && "
            f"(!has(self.maxSurge) || {_is_zero('maxSurge')}))"
        ),
    }

    max_unavailable: Annotated[
        IntOrString | None,
        doc(
            "How many nodes may be without an agent at once, as a number or a percentage such as "
            "`10%`. Unset: 1, or none with `maxSurge`."
        ),
    ] = None
    max_surge: Annotated[
        IntOrString | None,
        doc(
            "On how many nodes the new agent may start before the old one has stopped, as a number "
            "or a percentage. Unset: 0. `maxUnavailable` is 0 then."
        ),
    ] = None


class DaemonSetUpdateStrategy(Model):
    """How agents are replaced after a change."""

    CEL: ClassVar[Cel] = {
        "rollingUpdate can only be set if type is RollingUpdate": (
            "!(self.type != 'RollingUpdate' && has(self.rollingUpdate))"
        ),
    }

    type: Annotated[
        str,
        doc(
            "`RollingUpdate` replaces them node by node, `OnDelete` waits until you delete them.",
            enum=("OnDelete", "RollingUpdate"),
        ),
    ] = NO_TEXT
    rolling_update: Annotated[DaemonSetRollingUpdate | None, doc("Pace of a rolling update.")] = (
        None
    )


class DaemonSetSettings(Model):
    """How agents run on every node."""

    CEL: ClassVar[Cel] = {
        "maxSurge cannot be set with storage.hostPath: two agents would write one log": (
            "!(has(self.storage) && has(self.storage.hostPath) && has(self.updateStrategy) && "
            "has(self.updateStrategy.rollingUpdate) && "
            "has(self.updateStrategy.rollingUpdate.maxSurge))"
        ),
        "targetsWithoutAgent can only be Spread if discovery is Operator": (
            "!(has(self.targetsWithoutAgent) && self.targetsWithoutAgent == 'Spread' && "
            "!(has(self.discovery) && self.discovery == 'Operator'))"
        ),
    }

    update_strategy: Annotated[
        DaemonSetUpdateStrategy | None,
        doc("How agents are replaced after a change. Unset: a rolling update, a node at a time."),
    ] = None
    min_ready_seconds: Annotated[
        Int32 | None,
        doc(
            "Seconds that a new agent must stay ready before the next node is updated. Unset: as "
            "`minReadySeconds` of the agent itself.",
            minimum=0,
        ),
    ] = None
    storage: Annotated[
        NodeStorage | None,
        doc("Where the write-ahead log is kept. Unset: in the container, lost with the pod."),
    ] = None
    discovery: Annotated[
        str | None,
        doc(
            "Who finds the targets of a node. `Kubernetes`: its agent asks the API server, and "
            "gets the credentials of all monitors. `Operator`: the operator finds the targets of "
            "all nodes and gives each node those that run there, with their credentials alone; "
            "agents then need no permission, Prometheus 2.43, and an operator that was started "
            "with `--node-discovery-url`. Unset: `Kubernetes`.",
            enum=("Kubernetes", "Operator"),
        ),
    ] = None
    targets_without_agent: Annotated[
        str | None,
        doc(
            "Who scrapes targets that have no agent on their node: endpoints that name no node, "
            "such as those of the API server, and whatever is on nodes where no agent of this "
            "workload is meant to be. `Nobody`, or `Spread`: each is given to one of the agents "
            "that are ready, and to another when that one goes. `Spread` needs `discovery: "
            "Operator`. Unset: `Nobody`.",
            enum=("Nobody", "Spread"),
        ),
    ] = None


RULES_OF_MODES: Final[Cel] = {
    f"{field} cannot be set when mode is DaemonSet": f"!({_ON_EVERY_NODE} && has(self.{field}))"
    for field in NOT_ON_EVERY_NODE
} | {
    "shards cannot be greater than 1 when mode is DaemonSet": (
        f"!({_ON_EVERY_NODE} && has(self.shards) && self.shards > 1)"
    ),
    "daemonSet can only be set when mode is DaemonSet": (
        f"!has(self.daemonSet) || ({_ON_EVERY_NODE})"
    ),
    "apiserverConfig cannot be set when daemonSet.discovery is Operator": (
        "!(has(self.apiserverConfig) && has(self.daemonSet) && has(self.daemonSet.discovery) && "
        "self.daemonSet.discovery == 'Operator')"
    ),
}
"""Which fields an agent may have in which mode."""


class PrometheusAgentSpec(PrometheusCommonSpec):
    """What a Prometheus agent should look like."""

    CEL: ClassVar[Cel] = {
        **RULES_OF_MODES,
        "maxSurge cannot be set with hostNetwork: two agents would want one port of a node": (
            "!(has(self.hostNetwork) && self.hostNetwork && has(self.daemonSet) && "
            "has(self.daemonSet.updateStrategy) && "
            "has(self.daemonSet.updateStrategy.rollingUpdate) && "
            "has(self.daemonSet.updateStrategy.rollingUpdate.maxSurge) && "
            f"!{_is_zero('daemonSet.updateStrategy.rollingUpdate.maxSurge')})"
        ),
    }

    mode: Annotated[
        str | None,
        doc(
            "`StatefulSet` runs shards and replicas that divide all targets; `DaemonSet` runs one "
            "agent on each node, for the targets on that node. Unset: `StatefulSet`.",
            enum=("StatefulSet", "DaemonSet"),
        ),
    ] = None
    daemon_set: Annotated[
        DaemonSetSettings | None,
        doc("How agents run on every node, for mode `DaemonSet`. Not in prometheus-operator."),
    ] = None


class PrometheusAgent(CustomResource):
    """A Prometheus agent: scrapes and sends samples on by remote write; it answers no queries."""

    spec: Annotated[PrometheusAgentSpec, doc("What to run, and what to scrape.")] = (
        PrometheusAgentSpec()
    )
    status: Annotated[PrometheusAgentStatus | None, doc("Written by the operator.")] = None


_COLUMNS = workload_columns("Desired")
# An agent on every node has no `replicas`, and a column cannot look in two places.
_AGENT_COLUMNS = workload_columns("Desired", ".status.desiredReplicas")
_SCALE = ScalePaths(spec_replicas=".spec.shards", status_replicas=".status.shards")

PROMETHEUS = Kind(
    name="Prometheus",
    plural="prometheuses",
    short="prom",
    versions=(KindVersion("v1", Prometheus, columns=_COLUMNS, scale=_SCALE),),
)
PROMETHEUS_AGENT = Kind(
    name="PrometheusAgent",
    plural="prometheusagents",
    short="promagent",
    versions=(KindVersion("v1alpha1", PrometheusAgent, columns=_AGENT_COLUMNS, scale=_SCALE),),
)
