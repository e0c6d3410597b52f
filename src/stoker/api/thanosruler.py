"""The ThanosRuler kind: evaluates rules against Thanos or Prometheus servers elsewhere."""

from typing import Annotated

from stoker.api.common import Duration, Text
from stoker.api.core import (
    Int32,
    LabelSelector,
    SecretKeySelector,
    TopologySpreadConstraint,
)
from stoker.api.crd import CustomResource, Kind, KindVersion
from stoker.api.declare import doc
from stoker.api.remote import RemoteWrite
from stoker.api.workload import (
    ExcludedObject,
    ExcludedRule,
    GrpcServerTlsConfig,
    WebConfig,
    WorkloadSpec,
    WorkloadStatus,
    workload_columns,
)


class ThanosRulerSpec(WorkloadSpec):
    """What a Thanos Ruler runs with. It needs `queryEndpoints` or `queryConfig`."""

    query_endpoints: Annotated[
        tuple[str, ...] | None,
        doc("Servers to ask, as `host:port`: Thanos queriers or Prometheus servers."),
    ] = None
    query_config: Annotated[
        SecretKeySelector | None,
        doc(
            "Secret key with Thanos' own configuration of the servers to ask. Wins over "
            "`queryEndpoints`."
        ),
    ] = None

    rule_selector: Annotated[
        LabelSelector | None,
        doc("PrometheusRules to evaluate, by their labels. Unset: none; empty: all."),
    ] = None
    rule_namespace_selector: Annotated[
        LabelSelector | None,
        doc(
            "Namespaces to look for PrometheusRules in, by their labels. Unset: this one; empty: "
            "all."
        ),
    ] = None
    enforced_namespace_label: Annotated[
        str | None,
        doc(
            "Label to set to the namespace of the PrometheusRule, in its expressions and on its "
            "results, so that rules see only data of their own namespace. Unset: none."
        ),
    ] = None
    excluded_from_enforcement: Annotated[
        tuple[ExcludedObject, ...] | None,
        doc("Objects that `enforcedNamespaceLabel` spares."),
    ] = None
    prometheus_rules_excluded_from_enforce: Annotated[
        tuple[ExcludedRule, ...] | None,
        doc("Deprecated: use `excludedFromEnforcement`. PrometheusRules that are spared."),
    ] = None

    evaluation_interval: Annotated[
        Duration | None,
        doc("Time between evaluations of groups that set none.", default="15s"),
    ] = None
    rule_query_offset: Annotated[
        Duration | None,
        doc(
            "How far in the past rules are evaluated, so that late samples count, for groups that "
            "set none. Needs Thanos 0.38 or newer."
        ),
    ] = None
    rule_concurrent_eval: Annotated[
        Int32 | None,
        doc(
            "Rules to evaluate at the same time. Unset: 1. Needs Thanos 0.37 or newer.",
            minimum=1,
        ),
    ] = None
    rule_outage_tolerance: Annotated[
        Duration | None,
        doc(
            "Longest outage after which the `for` state of alerts is restored. Unset: `1h`. Needs "
            "Thanos 0.30 or newer."
        ),
    ] = None
    rule_grace_period: Annotated[
        Duration | None,
        doc(
            "Shortest time from a restart until a restored alert fires, for alerts whose `for` is "
            "longer. Unset: `10m`. Needs Thanos 0.30 or newer."
        ),
    ] = None

    alertmanagers_url: Annotated[
        tuple[str, ...] | None,
        doc(
            "Alertmanagers to send alerts to, as URLs; with a prefix such as "
            "`dnssrv+http://`, all addresses that DNS gives."
        ),
    ] = None
    alertmanagers_config: Annotated[
        SecretKeySelector | None,
        doc(
            "Secret key with Thanos' own configuration of Alertmanagers. Wins over "
            "`alertmanagersUrl`."
        ),
    ] = None
    resend_delay: Annotated[
        Duration | None,
        doc("Shortest time before a firing alert is sent again. Unset: `1m`."),
    ] = None
    alert_query_url: Annotated[
        str | None,
        doc("URL of the querier that alerts link to as their source."),
    ] = None
    alert_drop_labels: Annotated[
        tuple[str, ...] | None,
        doc(
            "Labels to take off alerts before they are sent, so that replicas send the same ones. "
            "`thanos_ruler_replica` always goes."
        ),
    ] = None
    alert_relabel_configs: Annotated[
        SecretKeySelector | None,
        doc("Secret key with a list of relabeling steps for alerts, in Prometheus' own form."),
    ] = None
    alert_relabel_config_file: Annotated[
        str | None,
        doc(
            "Path in the container to relabeling steps for alerts. Wins over `alertRelabelConfigs`."
        ),
    ] = None

    labels: Annotated[
        dict[str, str] | None,
        doc(
            "Labels to add to all results and alerts, besides `thanos_ruler_replica`, which "
            "always holds the pod's name."
        ),
    ] = None
    retention: Annotated[
        Duration | None,
        doc(
            "How long results are kept on disk. Has no effect with `remoteWrite`.",
            default="24h",
        ),
    ] = None
    object_storage_config: Annotated[
        SecretKeySelector | None,
        doc("Secret key with the configuration of a bucket to upload results to."),
    ] = None
    object_storage_config_file: Annotated[
        str | None,
        doc(
            "Path in the container to the bucket's configuration. Wins over `objectStorageConfig`."
        ),
    ] = None
    remote_write: Annotated[
        tuple[RemoteWrite, ...] | None,
        doc(
            "Storage to send results to; they are then not kept on disk nor uploaded. Needs "
            "Thanos 0.24 or newer."
        ),
    ] = None

    external_prefix: Annotated[
        str | None,
        doc("Path at which users reach the Ruler, for links and redirects of its web pages."),
    ] = None
    web: Annotated[WebConfig | None, doc("Settings of the web server.")] = None
    grpc_server_tls_config: Annotated[
        GrpcServerTlsConfig | None,
        doc("TLS settings of the gRPC server, from which queriers read results."),
    ] = None

    enable_features: Annotated[
        tuple[Text, ...] | None,
        doc("Feature flags to switch on. Needs Thanos 0.39 or newer.", listType="set"),
    ] = None
    tracing_config: Annotated[
        SecretKeySelector | None,
        doc("Secret key with Thanos' own configuration of tracing. May change."),
    ] = None
    tracing_config_file: Annotated[
        str | None,
        doc("Path in the container to the configuration of tracing. Wins over `tracingConfig`."),
    ] = None

    topology_spread_constraints: Annotated[
        tuple[TopologySpreadConstraint, ...] | None,
        doc(
            "How to spread the pods over zones or nodes. See Kubernetes' "
            "`TopologySpreadConstraint`."
        ),
    ] = None


class ThanosRuler(CustomResource):
    """Runs Thanos Rulers: they evaluate PrometheusRules by asking servers that hold the data."""

    spec: Annotated[
        ThanosRulerSpec, doc("Which rules to evaluate, whom to ask, where results go.")
    ] = ThanosRulerSpec()
    status: Annotated[WorkloadStatus | None, doc("What became of it. Written by the operator.")] = (
        None
    )


THANOS_RULER = Kind(
    name="ThanosRuler",
    plural="thanosrulers",
    short="ruler",
    versions=(KindVersion("v1", ThanosRuler, columns=workload_columns("Replicas")),),
)
