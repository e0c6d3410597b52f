"""ServiceMonitor, PodMonitor and Probe: targets described by objects of the cluster."""

from typing import Annotated

from stoker.api.common import (
    MONITOR_COLUMNS,
    AttachMetadata,
    ConfigResource,
    NamespaceSelector,
    Proxy,
    RelabelConfig,
    Text,
    TlsConfig,
)
from stoker.api.core import Int32, IntOrString, LabelSelector
from stoker.api.crd import Kind, KindVersion
from stoker.api.declare import NO_ITEMS, NO_TEXT, Model, doc
from stoker.api.scrape import (
    AuthorizationHeader,
    BasicCredentials,
    BearerTokenSecret,
    BodySizeLimit,
    EnableHttp2,
    Endpoint,
    FollowRedirects,
    MetricRelabelings,
    OAuth2Client,
    ScrapeInterval,
    ScrapeSettings,
    ScrapeTimeout,
    TargetScheme,
    TargetTls,
)


class MonitorSpec(ScrapeSettings):
    """What ServiceMonitor and PodMonitor share: which objects, and what to take from them."""

    selector: Annotated[
        LabelSelector,
        doc("Labels of the objects to scrape: Services in a ServiceMonitor, pods in a PodMonitor."),
    ] = LabelSelector()
    namespace_selector: Annotated[
        NamespaceSelector | None,
        doc("Namespaces in which to look for them. Unset: the namespace of the monitor."),
    ] = None
    selector_mechanism: Annotated[
        str | None,
        doc(
            "How `selector` is applied: `RelabelConfig` discovers everything and drops the rest, "
            "`RoleSelector` has the API server filter. Unset: `RelabelConfig`.",
            enum=("RelabelConfig", "RoleSelector"),
        ),
    ] = None
    job_label: Annotated[
        str | None,
        doc(
            "Label of the Service or pod whose value becomes the `job` label. Unset: the name of "
            "the Service, or `<namespace>/<name>` of the PodMonitor."
        ),
    ] = None
    pod_target_labels: Annotated[
        tuple[str, ...] | None, doc("Labels of the pod to copy to its metrics.")
    ] = None
    attach_metadata: Annotated[
        AttachMetadata | None, doc("Metadata of other objects to offer to `relabelings`.")
    ] = None
    body_size_limit: BodySizeLimit = None


class ServiceEndpoint(Endpoint):
    """A port of the selected Services, and how to scrape it."""

    tls_config: Annotated[
        TlsConfig | None,
        doc(
            "TLS settings for scraping over HTTPS. Its files are refused where the Prometheus "
            "sets `arbitraryFSAccessThroughSMs.deny`."
        ),
    ] = None
    bearer_token_file: Annotated[
        str | None,
        doc(
            "Deprecated: use `authorization`. Path in the container to a file with a bearer token. "
            "Refused where the Prometheus sets `arbitraryFSAccessThroughSMs.deny`."
        ),
    ] = None


class ServiceMonitorSpec(MonitorSpec):
    """Which Services to scrape, and how."""

    endpoints: Annotated[
        tuple[ServiceEndpoint, ...], doc("Ports to scrape on each selected Service.")
    ] = NO_ITEMS
    target_labels: Annotated[
        tuple[str, ...] | None, doc("Labels of the Service to copy to its metrics.")
    ] = None
    service_discovery_role: Annotated[
        str | None,
        doc(
            "Objects in which Prometheus finds the pods of a Service. Unset: "
            "`serviceDiscoveryRole` of the Prometheus.",
            enum=("Endpoints", "EndpointSlice"),
        ),
    ] = None


class ServiceMonitor(ConfigResource):
    """Says how to scrape the pods behind Services."""

    spec: Annotated[ServiceMonitorSpec, doc("What to scrape, and how.")] = ServiceMonitorSpec()


class PodEndpoint(Endpoint):
    """A port of the selected pods, and how to scrape it."""

    port_number: Annotated[
        Int32 | None,
        doc("Number of the container's port. `port` wins over it.", minimum=1, maximum=65535),
    ] = None
    target_port: Annotated[
        IntOrString | None,
        doc(
            "Deprecated: use `port` or `portNumber`, which win over it. Name or number of the "
            "container's port."
        ),
    ] = None
    tls_config: TargetTls = None


class PodMonitorSpec(MonitorSpec):
    """Which pods to scrape, and how."""

    pod_metrics_endpoints: Annotated[
        tuple[PodEndpoint, ...] | None, doc("Ports to scrape on each selected pod.")
    ] = None


class PodMonitor(ConfigResource):
    """Says how to scrape pods, whether or not a Service stands before them."""

    spec: Annotated[PodMonitorSpec, doc("What to scrape, and how.")] = PodMonitorSpec()


class Prober(Proxy):
    """The exporter that probes targets on behalf of Prometheus."""

    url: Annotated[
        Text, doc("Host and port of the exporter, without scheme or path: `blackbox:9115`.")
    ] = NO_TEXT
    scheme: TargetScheme = None
    path: Annotated[str | None, doc("HTTP path that probes a target.", default="/probe")] = None


class ProbeParam(Model):
    """A query parameter of the request to the prober."""

    name: Annotated[Text, doc("Name of the parameter.")] = NO_TEXT
    values: Annotated[
        tuple[Text, ...] | None, doc("Values of the parameter, one or more.", minItems=1)
    ] = None


class ProbedTargets(Model):
    """Targets to probe, listed by hand."""

    static: Annotated[
        tuple[str, ...] | None,
        doc("Hosts or URLs to probe, in the form that the prober's module expects."),
    ] = None
    labels: Annotated[
        dict[str, str] | None, doc("Labels to add to the metrics of these targets.")
    ] = None
    relabeling_configs: Annotated[
        tuple[RelabelConfig, ...] | None,
        doc("Steps that rewrite or drop targets before they are probed."),
    ] = None


class IngressTargets(Model):
    """Ingresses whose hosts and paths to probe."""

    selector: Annotated[
        LabelSelector | None, doc("Labels of the Ingresses to probe. Unset: all of them.")
    ] = None
    namespace_selector: Annotated[
        NamespaceSelector | None,
        doc("Namespaces in which to look for them. Unset: the namespace of the Probe."),
    ] = None
    relabeling_configs: Annotated[
        tuple[RelabelConfig, ...] | None,
        doc(
            "Steps that rewrite or drop targets before they are probed. The Ingress' own address "
            "is in `__tmp_ingress_address`."
        ),
    ] = None


class ProbeTargets(Model):
    """What to probe: a list or Ingresses. With both, the list is used."""

    static_config: Annotated[
        ProbedTargets | None, doc("Targets listed by hand. Wins over `ingress`.")
    ] = None
    ingress: Annotated[
        IngressTargets | None, doc("Ingresses whose hosts and paths are the targets.")
    ] = None


class ProbeSpec(ScrapeSettings):
    """What to probe, with which prober, and how to ask it."""

    prober: Annotated[
        Prober | None, doc("The exporter that probes, such as the blackbox exporter.")
    ] = None
    module: Annotated[
        str | None,
        doc("Module of the prober to use, e.g. `http_2xx`. Unset: the prober's default."),
    ] = None
    targets: Annotated[ProbeTargets | None, doc("What to probe.")] = None
    params: Annotated[
        tuple[ProbeParam, ...] | None,
        doc(
            "Further query parameters of the request to the prober.",
            minItems=1,
            listType="map",
            listMapKeys=("name",),
        ),
    ] = None
    job_name: Annotated[
        str | None, doc("Value of the `job` label. Unset: `probe/<namespace>/<name>`.")
    ] = None
    interval: ScrapeInterval = None
    scrape_timeout: ScrapeTimeout = None
    metric_relabelings: MetricRelabelings = None

    authorization: AuthorizationHeader = None
    basic_auth: BasicCredentials = None
    oauth2: OAuth2Client = None
    bearer_token_secret: BearerTokenSecret = None
    tls_config: TargetTls = None
    follow_redirects: FollowRedirects = None
    enable_http2: EnableHttp2 = None


class Probe(ConfigResource):
    """Says which hosts, URLs or Ingresses to check through a prober."""

    spec: Annotated[ProbeSpec, doc("What to probe, and how.")] = ProbeSpec()


SERVICE_MONITOR = Kind(
    name="ServiceMonitor",
    plural="servicemonitors",
    short="smon",
    versions=(KindVersion("v1", ServiceMonitor, columns=MONITOR_COLUMNS),),
)
POD_MONITOR = Kind(
    name="PodMonitor",
    plural="podmonitors",
    short="pmon",
    versions=(KindVersion("v1", PodMonitor, columns=MONITOR_COLUMNS),),
)
PROBE = Kind(
    name="Probe",
    plural="probes",
    short="prb",
    versions=(KindVersion("v1", Probe, columns=MONITOR_COLUMNS),),
)
