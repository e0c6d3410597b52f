"""What a Prometheus server and a Prometheus agent have in common: everything about scraping."""

from typing import Annotated, ClassVar

from stoker.api.common import (
    Amount,
    AttachMetadata,
    Authorization,
    ByteSize,
    Duration,
    HttpClient,
    NameEscapingScheme,
    NameValidationScheme,
    Quantity,
    RelabelConfig,
    ScrapeProtocol,
    Text,
    TlsConfig,
)
from stoker.api.core import Int32, LabelSelector, SecretKeySelector
from stoker.api.declare import NO_NUMBER, NO_TEXT, OF_JOBS, Cel, Model, doc, names
from stoker.api.remote import MessageVersion, RemoteWrite
from stoker.api.workload import (
    ExcludedObject,
    PersistentVolumeClaimRetentionPolicy,
    WebConfig,
    WorkloadSpec,
    WorkloadStatus,
)


class ApiServerConfig(HttpClient):
    """How to reach the Kubernetes API for service discovery, from outside the cluster."""

    host: Annotated[
        str, doc("Address of the API server: a host name or IP, or a URL with port and path.")
    ] = NO_TEXT


class FileAccess(Model):
    """Which files of the Prometheus container monitors may use."""

    deny: Annotated[
        bool | None,
        doc(
            "Refuse ServiceMonitors that name files, such as `bearerTokenFile`. Otherwise whoever "
            "may write one can have Prometheus send its own token to them."
        ),
    ] = None


class ScrapeClass(Model):
    """Scrape settings under a name, for monitors to refer to with `scrapeClass`."""

    name: Annotated[Text, doc("Name that monitors refer to.")] = NO_TEXT
    default: Annotated[
        bool | None,
        doc("Use it for all that name no class. At most one class may be the default."),
    ] = None
    tls_config: Annotated[
        TlsConfig | None,
        doc("TLS settings. What the monitor sets itself wins, setting by setting."),
    ] = None
    authorization: Annotated[
        Authorization | None, doc("`Authorization` header, where the monitor sets none.")
    ] = None
    relabelings: Annotated[
        tuple[RelabelConfig, ...] | None,
        doc("Steps for targets, run after those of the operator and before the monitor's."),
    ] = None
    metric_relabelings: Annotated[
        tuple[RelabelConfig, ...] | None,
        doc("Steps for samples, run before those of the monitor."),
    ] = None
    attach_metadata: Annotated[
        AttachMetadata | None, doc("Metadata to add to targets, where the monitor says nothing.")
    ] = None
    fallback_scrape_protocol: Annotated[
        ScrapeProtocol | None,
        doc(
            "Format to assume when a target does not name one that is known. Applies where the "
            "monitor sets none. Needs Prometheus 3.0 or newer."
        ),
    ] = None


class ShardTopology(Model):
    """The zones over which shards are spread."""

    values: Annotated[
        tuple[str, ...] | None,
        doc(
            "Zones, as in the node label `topology.kubernetes.io/zone`. Shards take them in "
            "turn, and scrape targets of their own zone only.",
            listType="atomic",
        ),
    ] = None
    external_label_name: Annotated[
        str | None,
        doc("External label that holds the shard's zone. Unset: `zone`. Empty: no label."),
    ] = None


class ShardingStrategy(Model):
    """How targets are divided among shards."""

    CEL: ClassVar[Cel] = {
        "topology can only be set when mode is Topology": (
            "!has(self.topology) || (has(self.mode) && self.mode == 'Topology')"
        ),
    }

    mode: Annotated[
        str | None,
        doc(
            "`Address` divides by a hash of the target's address, `Topology` by the zone of the "
            "target first. Unset: `Address`.",
            enum=("Address", "Topology"),
        ),
    ] = None
    topology: Annotated[ShardTopology | None, doc("Zones, for mode `Topology`.")] = None


class SpreadConstraint(Model):
    """A rule of how pods spread over nodes, zones or the like."""

    EMBEDS: ClassVar[str] = "io.k8s.api.core.v1.TopologySpreadConstraint"

    max_skew: int = NO_NUMBER
    topology_key: str = NO_TEXT
    when_unsatisfiable: str = NO_TEXT
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    additional_label_selectors: Annotated[
        str | None,
        doc(
            "Labels to add to `labelSelector`: those that pods of this object share "
            "(`OnResource`), or those of one shard too (`OnShard`).",
            enum=("OnResource", "OnShard"),
        ),
    ] = None


class OtlpConfig(Model, rename=names(convert_histograms_to_nhcb="convertHistogramsToNHCB")):
    """How metrics received by OTLP become series."""

    promote_resource_attributes: Annotated[
        tuple[Text, ...] | None,
        doc(
            "Resource attributes to turn into labels. Needs Prometheus 2.55 or newer.",
            minItems=1,
            listType="set",
        ),
    ] = None
    promote_all_resource_attributes: Annotated[
        bool | None,
        doc(
            "Turn all resource attributes into labels. Excludes `promoteResourceAttributes`. "
            "Needs Prometheus 3.5 or newer."
        ),
    ] = None
    ignore_resource_attributes: Annotated[
        tuple[Text, ...] | None,
        doc(
            "Attributes to leave out; needs `promoteAllResourceAttributes`. "
            "Needs Prometheus 3.5 or newer.",
            minItems=1,
            listType="set",
        ),
    ] = None
    keep_identifying_resource_attributes: Annotated[
        bool | None,
        doc(
            "Keep `service.name`, `service.namespace` and `service.instance.id` on `target_info` "
            "beside `job` and `instance`. Needs Prometheus 3.1 or newer."
        ),
    ] = None
    promote_scope_metadata: Annotated[
        bool | None,
        doc(
            "Turn name, version, schema and attributes of the instrumentation scope into labels. "
            "Needs Prometheus 3.6 or newer."
        ),
    ] = None
    translation_strategy: Annotated[
        str | None,
        doc(
            "Which characters of names are replaced, and whether unit and type are appended. "
            "Unset: `UnderscoreEscapingWithSuffixes`. Needs Prometheus 3.0 or newer, "
            "`NoTranslation` 3.4, `UnderscoreEscapingWithoutSuffixes` 3.6.",
            enum=(
                "NoUTF8EscapingWithSuffixes",
                "UnderscoreEscapingWithSuffixes",
                "NoTranslation",
                "UnderscoreEscapingWithoutSuffixes",
            ),
        ),
    ] = None
    label_name_underscore_sanitization: Annotated[
        bool | None,
        doc(
            "Put `key` before label names that begin with one underscore. Unset: yes. "
            "Needs Prometheus 3.8 or newer."
        ),
    ] = None
    label_name_preserve_multiple_underscores: Annotated[
        bool | None,
        doc(
            "Keep several underscores in a row in label names. Unset: yes. "
            "Needs Prometheus 3.8 or newer."
        ),
    ] = None
    convert_histograms_to_nhcb: Annotated[
        bool | None,
        doc(
            "Store explicit-bucket histograms as native ones with custom buckets. "
            "Needs Prometheus 3.4 or newer."
        ),
    ] = None


class TracingConfig(Model):
    """Where Prometheus sends traces of its own work, by OTLP."""

    endpoint: Annotated[Text, doc("Host and port of the collector, without scheme.")] = NO_TEXT
    client_type: Annotated[
        str | None,
        doc("Protocol to send with. Unset: `grpc`.", enum=("http", "grpc", "HTTP", "GRPC")),
    ] = None
    sampling_fraction: Annotated[
        Quantity | None,
        doc("Share of traces to send, from 0 to 1, for example `500m`. Unset: 0, none."),
    ] = None
    insecure: Annotated[bool | None, doc("Send without TLS.")] = None
    tls_config: Annotated[TlsConfig | None, doc("TLS settings for the collector.")] = None
    headers: Annotated[dict[str, str] | None, doc("Headers to send along.")] = None
    compression: Annotated[
        str | None, doc("Compression to use. Unset: none.", enum=("gzip", "Gzip"))
    ] = None
    timeout: Annotated[Duration | None, doc("Longest time that an export may take.")] = None


class ChunkEncoding(Model):
    """How samples are written into chunks."""

    floats: Annotated[
        str | None,
        doc(
            "Encoding of plain samples. `Xor2` is smaller; some versions want the feature "
            "`xor2-encoding` for it, and Thanos must be able to read it.",
            enum=("Xor", "Xor2"),
        ),
    ] = None


class Tsdb(Model):
    """Settings of the time series database that a reload applies."""

    out_of_order_time_window: Annotated[
        Duration | None,
        doc(
            "How much older than the newest sample of its series a sample may be. Unset: out of "
            "order samples are refused. Needs Prometheus 2.39 or newer, agents 2.54."
        ),
    ] = None
    stale_series_compaction_threshold: Annotated[
        Quantity | None,
        doc(
            "Share of stale series in memory, from 0 to 1, at which they are written to disk "
            "early. Unset: never. Needs Prometheus 3.10 or newer."
        ),
    ] = None
    chunk_encoding: Annotated[
        ChunkEncoding | None, doc("Encoding of chunks. Needs Prometheus 3.13 or newer.")
    ] = None


class Runtime(Model, rename=names(go_gc="goGC")):
    """Settings of the Go runtime."""

    go_gc: Annotated[
        Int32 | None,
        doc(
            "`GOGC`: how many percent the heap grows before garbage is collected. Lower saves "
            "memory and costs CPU; -1 turns collection off. Unset: Prometheus' own, 75. "
            "Needs Prometheus 2.53 or newer.",
            minimum=-1,
        ),
    ] = None


class PrometheusWebConfig(WebConfig):
    """The web server of Prometheus."""

    page_title: Annotated[str | None, doc("Title of the web pages.")] = None
    max_connections: Annotated[
        Int32 | None,
        doc("Most connections at the same time. Unset: Prometheus' own, 512.", minimum=0),
    ] = None


class PrometheusCommonSpec(
    WorkloadSpec,
    rename=names(
        arbitrary_fs_access_through_sms="arbitraryFSAccessThroughSMs",
        convert_classic_histograms_to_nhcb="convertClassicHistogramsToNHCB",
        enable_otlp_receiver="enableOTLPReceiver",
    ),
):
    """Settings that a Prometheus server and an agent share."""

    CEL: ClassVar[Cel] = {
        "shards cannot be fewer than the topology values when sharding mode is Topology": (
            "!has(self.shardingStrategy) || !has(self.shardingStrategy.mode) || "
            "self.shardingStrategy.mode != 'Topology' || !has(self.shardingStrategy.topology) || "
            "!has(self.shardingStrategy.topology.values) || "
            "self.shardingStrategy.topology.values.size() == 0 || "
            "(has(self.shards) ? self.shards : 1) >= self.shardingStrategy.topology.values.size()"
        ),
    }

    service_monitor_selector: Annotated[
        LabelSelector | None,
        doc(
            "ServiceMonitors to use. Unset: none; empty: all. While this and the selectors of "
            "PodMonitors, Probes and ScrapeConfigs are all unset, the configuration Secret is "
            "yours to fill."
        ),
    ] = None
    service_monitor_namespace_selector: Annotated[
        LabelSelector | None,
        doc("Namespaces to look for ServiceMonitors in. Unset: this one; empty: all."),
    ] = None
    pod_monitor_selector: Annotated[
        LabelSelector | None, doc("PodMonitors to use. Unset: none; empty: all.")
    ] = None
    pod_monitor_namespace_selector: Annotated[
        LabelSelector | None,
        doc("Namespaces to look for PodMonitors in. Unset: this one; empty: all."),
    ] = None
    probe_selector: Annotated[
        LabelSelector | None, doc("Probes to use. Unset: none; empty: all.")
    ] = None
    probe_namespace_selector: Annotated[
        LabelSelector | None,
        doc("Namespaces to look for Probes in. Unset: this one; empty: all."),
    ] = None
    scrape_config_selector: Annotated[
        LabelSelector | None, doc("ScrapeConfigs to use. Unset: none; empty: all.")
    ] = None
    scrape_config_namespace_selector: Annotated[
        LabelSelector | None,
        doc("Namespaces to look for ScrapeConfigs in. Unset: this one; empty: all."),
    ] = None
    additional_scrape_configs: Annotated[
        SecretKeySelector | None,
        doc(
            "Secret key with a YAML list of scrape configurations to add. They are not checked: "
            "a mistake, or an upgrade, can keep Prometheus from loading its configuration."
        ),
    ] = None

    shards: Annotated[
        Int32 | None,
        doc(
            "Groups of pods that divide the targets among them, each of `replicas` pods. Data "
            "does not move when the number changes.",
            default=1,
        ),
        OF_JOBS,
    ] = None
    sharding_strategy: Annotated[
        ShardingStrategy | None,
        doc("How targets are divided among shards. Unset: by a hash of their address."),
        OF_JOBS,
    ] = None
    topology_spread_constraints: Annotated[
        tuple[SpreadConstraint, ...] | None,
        doc("How pods spread over nodes. See Kubernetes' `TopologySpreadConstraint`."),
    ] = None

    scrape_interval: Annotated[
        Duration | None, doc("Time between scrapes of a target.", default="30s"), OF_JOBS
    ] = None
    scrape_timeout: Annotated[
        Duration | None,
        doc("Longest time that a scrape may take; not above the interval. Unset: `10s`."),
    ] = None
    scrape_protocols: Annotated[
        tuple[ScrapeProtocol, ...] | None,
        doc(
            "Formats to offer to targets, the preferred first. Needs Prometheus 2.49 or newer, "
            "`PrometheusText1.0.0` 3.0.",
            listType="set",
        ),
    ] = None
    scrape_classes: Annotated[
        tuple[ScrapeClass, ...] | None,
        doc("Named scrape settings for monitors.", listType="map", listMapKeys=("name",)),
        OF_JOBS,
    ] = None
    scrape_native_histograms: Annotated[
        bool | None, doc("Take native histograms. Needs Prometheus 3.8 or newer.")
    ] = None
    scrape_classic_histograms: Annotated[
        bool | None,
        doc(
            "Take the classic form too of histograms that also have a native form. "
            "Needs Prometheus 3.5 or newer."
        ),
    ] = None
    convert_classic_histograms_to_nhcb: Annotated[
        bool | None,
        doc(
            "Store classic histograms as native ones with custom buckets. "
            "Needs Prometheus 3.4 or newer."
        ),
    ] = None
    scrape_failure_log_file: Annotated[
        Text | None,
        doc(
            "File to log failed scrapes to. A name without directory is put in an `emptyDir` at "
            "`/var/log/prometheus`; else mount the directory. Needs Prometheus 2.55 or newer."
        ),
    ] = None
    name_validation_scheme: Annotated[
        NameValidationScheme | None,
        doc("Metric and label names to accept. Unset: `UTF8`. Needs Prometheus 3.0 or newer."),
        OF_JOBS,
    ] = None
    name_escaping_scheme: Annotated[
        NameEscapingScheme | None,
        doc(
            "How targets are asked to write names that are not in the legacy form. "
            "Needs Prometheus 3.4 or newer."
        ),
    ] = None
    service_discovery_role: Annotated[
        str | None,
        doc(
            "Objects that lead from Services to pods. Unset: `Endpoints`. `EndpointSlice` needs "
            "Prometheus 2.21 or newer and the right to list and watch EndpointSlices.",
            enum=("Endpoints", "EndpointSlice"),
        ),
        OF_JOBS,
    ] = None
    apiserver_config: Annotated[
        ApiServerConfig | None,
        doc("Kubernetes API to discover targets with. Unset: that of the own cluster."),
        OF_JOBS,
    ] = None
    pod_target_labels: Annotated[
        tuple[str, ...] | None,
        doc("Pod labels to copy to the targets of all ServiceMonitors and PodMonitors."),
        OF_JOBS,
    ] = None

    external_labels: Annotated[
        dict[str, str] | None,
        doc("Labels to add to everything that leaves Prometheus: samples, alerts, federation."),
    ] = None
    prometheus_external_label_name: Annotated[
        str | None,
        doc(
            "External label that holds namespace and name of this object. Unset: `prometheus`. "
            "Empty: no label."
        ),
    ] = None
    replica_external_label_name: Annotated[
        str | None,
        doc(
            "External label that holds the pod's name. Unset: `prometheus_replica`. "
            "Empty: no label."
        ),
    ] = None
    external_url: Annotated[
        str | None,
        doc("URL under which users reach Prometheus, for links to it, for example in alerts."),
    ] = None

    remote_write: Annotated[
        tuple[RemoteWrite, ...] | None, doc("Storage to which samples are sent.")
    ] = None
    enable_remote_write_receiver: Annotated[
        bool | None,
        doc(
            "Take samples by remote write, at `/api/v1/write`. For few and low rates; it is no "
            "replacement for scraping. Needs Prometheus 2.33 or newer."
        ),
    ] = None
    remote_write_receiver_message_versions: Annotated[
        tuple[MessageVersion, ...] | None,
        doc(
            "Message versions that the remote write receiver takes. "
            "Needs Prometheus 2.54 or newer.",
            minItems=1,
            listType="set",
        ),
    ] = None
    enable_otlp_receiver: Annotated[
        bool | None,
        doc(
            "Take metrics by OTLP over HTTP, at `/api/v1/otlp/v1/metrics`. "
            "Needs Prometheus 2.47 or newer."
        ),
    ] = None
    otlp: Annotated[
        OtlpConfig | None, doc("How metrics received by OTLP are stored. Needs Prometheus 2.55.")
    ] = None

    sample_limit: Annotated[
        Amount | None,
        doc(
            "Most samples that a scrape may return, else it fails. For those that set no limit of "
            "their own. Needs Prometheus 2.45 or newer."
        ),
    ] = None
    target_limit: Annotated[
        Amount | None,
        doc(
            "Most targets that a scrape configuration may have. For those that set no limit of "
            "their own. Needs Prometheus 2.45 or newer."
        ),
    ] = None
    label_limit: Annotated[
        Amount | None,
        doc(
            "Most labels that a sample may have. For scrapes that set no limit of their own. "
            "Needs Prometheus 2.45 or newer."
        ),
    ] = None
    label_name_length_limit: Annotated[
        Amount | None,
        doc(
            "Longest label name, in bytes. For scrapes that set no limit of their own. "
            "Needs Prometheus 2.45 or newer."
        ),
    ] = None
    label_value_length_limit: Annotated[
        Amount | None,
        doc(
            "Longest label value, in bytes. For scrapes that set no limit of their own. "
            "Needs Prometheus 2.45 or newer."
        ),
    ] = None
    body_size_limit: Annotated[
        ByteSize | None,
        doc(
            "Largest response, uncompressed, for example `50MB`. For scrapes that set no limit of "
            "their own. Needs Prometheus 2.45 or newer."
        ),
    ] = None
    keep_dropped_targets: Annotated[
        Amount | None,
        doc(
            "Most targets dropped by relabeling to keep in memory for the web pages; 0 keeps all. "
            "For those that set no limit of their own. Needs Prometheus 2.47 or newer."
        ),
    ] = None

    enforced_sample_limit: Annotated[
        Amount | None,
        doc("Ceiling for `sampleLimit` that no monitor can raise; they can only ask for less."),
        OF_JOBS,
    ] = None
    enforced_target_limit: Annotated[
        Amount | None,
        doc("Ceiling for `targetLimit` that no monitor can raise. Needs Prometheus 2.21 or newer."),
        OF_JOBS,
    ] = None
    enforced_label_limit: Annotated[
        Amount | None,
        doc("Ceiling for `labelLimit` that no monitor can raise. Needs Prometheus 2.27 or newer."),
        OF_JOBS,
    ] = None
    enforced_label_name_length_limit: Annotated[
        Amount | None,
        doc(
            "Ceiling for `labelNameLengthLimit` that no monitor can raise. "
            "Needs Prometheus 2.27 or newer."
        ),
        OF_JOBS,
    ] = None
    enforced_label_value_length_limit: Annotated[
        Amount | None,
        doc(
            "Ceiling for `labelValueLengthLimit` that no monitor can raise. "
            "Needs Prometheus 2.27 or newer."
        ),
        OF_JOBS,
    ] = None
    enforced_body_size_limit: Annotated[
        ByteSize | None,
        doc(
            "Ceiling for `bodySizeLimit` that no monitor can raise. Needs Prometheus 2.28 or newer."
        ),
        OF_JOBS,
    ] = None
    enforced_keep_dropped_targets: Annotated[
        Amount | None,
        doc(
            "Ceiling for `keepDroppedTargets` that no monitor can raise. "
            "Needs Prometheus 2.47 or newer."
        ),
        OF_JOBS,
    ] = None
    enforced_namespace_label: Annotated[
        str | None,
        doc(
            "Label that is given the namespace of the monitor or rule on all its samples, rules "
            "and alerts, so that tenants see and alert on their own."
        ),
        OF_JOBS,
    ] = None
    excluded_from_enforcement: Annotated[
        tuple[ExcludedObject, ...] | None,
        doc("Resources that `enforcedNamespaceLabel` does not apply to."),
        OF_JOBS,
    ] = None
    ignore_namespace_selectors: Annotated[
        bool | None,
        doc("Look for the targets of monitors in the monitor's own namespace only."),
        OF_JOBS,
    ] = None
    override_honor_labels: Annotated[
        bool | None,
        doc("Ignore `honorLabels` of monitors: labels of the target win over those it exposes."),
        OF_JOBS,
    ] = None
    override_honor_timestamps: Annotated[
        bool | None,
        doc("Ignore timestamps that targets expose, whatever monitors say."),
        OF_JOBS,
    ] = None
    arbitrary_fs_access_through_sms: Annotated[
        FileAccess | None,
        doc("Whether monitors and ScrapeConfigs may name files of the container. Unset: they may."),
        OF_JOBS,
    ] = None

    tsdb: Annotated[Tsdb | None, doc("Settings of the time series database.")] = None
    wal_compression: Annotated[
        bool | None,
        doc("Compress the write-ahead log. Unset: yes since Prometheus 2.20, no before."),
    ] = None
    persistent_volume_claim_retention_policy: Annotated[
        PersistentVolumeClaimRetentionPolicy | None,
        doc(
            "What becomes of volume claims when pods go. Unset: they stay. "
            "Needs Kubernetes 1.27 or newer."
        ),
    ] = None
    enable_features: Annotated[
        tuple[Text, ...] | None,
        doc(
            "Prometheus feature flags to turn on, by name. They are experimental.",
            listType="set",
        ),
    ] = None
    runtime: Annotated[Runtime | None, doc("Settings of the Go runtime.")] = None
    tracing_config: Annotated[
        TracingConfig | None, doc("Where traces of Prometheus' own work go. Unset: nowhere.")
    ] = None
    web: Annotated[PrometheusWebConfig | None, doc("TLS, title and limits of the web server.")] = (
        None
    )
    reload_strategy: Annotated[
        str | None,
        doc(
            "How Prometheus learns of a new configuration: by an HTTP request, or by a signal, "
            "for which the pod's containers share their processes. Unset: `HTTP`.",
            enum=("HTTP", "ProcessSignal"),
        ),
    ] = None

    secrets: Annotated[
        tuple[str, ...] | None,
        doc(
            "Secrets of this namespace to mount in the container, at "
            "`/etc/prometheus/secrets/<name>`.",
            listType="set",
        ),
    ] = None
    config_maps: Annotated[
        tuple[str, ...] | None,
        doc(
            "ConfigMaps of this namespace to mount in the container, at "
            "`/etc/prometheus/configmaps/<name>`."
        ),
    ] = None
    automount_service_account_token: Annotated[
        bool | None,
        doc(
            "Mount the ServiceAccount's token in the pods. Unset: yes. Without it, service "
            "discovery needs a token from elsewhere."
        ),
    ] = None
    host_network: Annotated[
        bool | None,
        doc(
            "Run the pods in the network of their node. `dnsPolicy` becomes "
            "`ClusterFirstWithHostNet` unless set."
        ),
    ] = None
    maximum_startup_duration_seconds: Annotated[
        Int32 | None,
        doc(
            "Seconds that Prometheus may take to start, which is mostly reading the write-ahead "
            "log, before it is restarted. Unset: 900.",
            minimum=60,
        ),
    ] = None


class ShardStatus(Model, rename=names(shard_id="shardID")):
    """The state of one shard."""

    shard_id: Annotated[str, doc("Number of the shard.")] = NO_TEXT
    replicas: Annotated[Int32, doc("Pods of the shard.")] = NO_NUMBER
    updated_replicas: Annotated[Int32, doc("Pods that have the current specification.")] = NO_NUMBER
    available_replicas: Annotated[
        Int32, doc("Pods that have been ready for at least `minReadySeconds`.")
    ] = NO_NUMBER
    unavailable_replicas: Annotated[Int32, doc("Pods that are not available.")] = NO_NUMBER


class PrometheusStatus(WorkloadStatus):
    """The state of a server. Written by the operator."""

    shards: Annotated[Int32 | None, doc("Number of shards.")] = None
    shard_statuses: Annotated[
        tuple[ShardStatus, ...] | None,
        doc("The state of each shard.", listType="map", listMapKeys=("shardID",)),
    ] = None
    selector: Annotated[
        str | None, doc("Label selector of the pods, as text, for autoscalers.")
    ] = None


class PrometheusAgentStatus(PrometheusStatus):
    """The state of an agent. Written by the operator."""

    desired_replicas: Annotated[
        Int32 | None, doc("Pods that there should be: those of all shards, or one for each node.")
    ] = None
