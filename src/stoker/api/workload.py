"""What Prometheus, PrometheusAgent, Alertmanager and ThanosRuler have in common.

`WorkloadSpec` holds the fields that all four spell alike; the types below it are used by more than
one of them.
"""

from typing import Annotated, ClassVar

from stoker.api.common import (
    Amount,
    Condition,
    LogFormat,
    LogLevel,
    SecretOrConfigMap,
    Text,
    TlsVersion,
)
from stoker.api.core import (
    Affinity,
    Container,
    EmptyDirVolumeSource,
    EphemeralVolumeSource,
    Int32,
    IntOrString,
    LocalObjectReference,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PodSecurityContext,
    ResourceRequirements,
    SecretKeySelector,
    Toleration,
    Volume,
    VolumeMount,
)
from stoker.api.crd import Column
from stoker.api.declare import NO_ITEMS, NO_TEXT, OF_JOBS, Cel, Model, doc, names


class Argument(Model):
    """A command line argument."""

    name: Annotated[Text, doc("Name without leading dashes, for example `log.level`.")] = NO_TEXT
    value: Annotated[str | None, doc("Value; leave it out for a switch.")] = None


class EmbeddedMetadata(Model):
    """Metadata for objects that the operator makes."""

    name: Annotated[
        str | None, doc("Name of the object. Pods are named by their StatefulSet instead.")
    ] = None
    labels: Annotated[dict[str, str] | None, doc("Labels to add.")] = None
    annotations: Annotated[dict[str, str] | None, doc("Annotations to add.")] = None


class VolumeClaimTemplate(Model):
    """The PersistentVolumeClaim to make for each pod."""

    api_version: Annotated[str | None, doc("`v1`; may be left out.")] = None
    kind: Annotated[str | None, doc("`PersistentVolumeClaim`; may be left out.")] = None
    metadata: Annotated[
        EmbeddedMetadata | None, doc("Name, labels and annotations of the claims.")
    ] = None
    spec: Annotated[
        PersistentVolumeClaimSpec | None,
        doc("Size, class and access modes. See Kubernetes' `PersistentVolumeClaimSpec`."),
    ] = None
    status: Annotated[
        PersistentVolumeClaimStatus | None,
        doc("Ignored. Deprecated: there is nothing to set here."),
    ] = None


class Storage(Model):
    """Where a pod keeps its data: the first of `emptyDir`, `ephemeral`, `volumeClaimTemplate`."""

    volume_claim_template: Annotated[
        VolumeClaimTemplate | None,
        doc("Keep the data in a PersistentVolumeClaim that outlives the pod."),
    ] = None
    ephemeral: Annotated[
        EphemeralVolumeSource | None,
        doc(
            "Keep the data in a claim that is deleted with the pod. See Kubernetes' "
            "`EphemeralVolumeSource`."
        ),
    ] = None
    empty_dir: Annotated[
        EmptyDirVolumeSource | None,
        doc(
            "Keep the data on the node or in memory, until the pod is gone. See Kubernetes' "
            "`EmptyDirVolumeSource`."
        ),
    ] = None
    disable_mount_sub_path: Annotated[
        bool | None,
        doc(
            "Deprecated: prefer a fresh volume. `true` mounts the root of the volume rather than a "
            "directory in it; switching hides the data that is already there."
        ),
    ] = None


class PersistentVolumeClaimRetentionPolicy(Model):
    """What becomes of a StatefulSet's claims that are no longer needed."""

    when_deleted: Annotated[
        str | None,
        doc("When the StatefulSet is deleted: `Retain` (default) or `Delete` the claims."),
    ] = None
    when_scaled: Annotated[
        str | None,
        doc(
            "When there are fewer replicas: `Retain` (default) or `Delete` the claims of those "
            "that went."
        ),
    ] = None


class RollingUpdate(Model):
    """The pace at which pods are replaced."""

    max_unavailable: Annotated[
        IntOrString | None,
        doc(
            "How many pods may be down at once, as a number or a percentage such as `10%`; 1 if "
            "unset, never 0. Ignored by clusters without the feature `MaxUnavailableStatefulSet`."
        ),
    ] = None


class UpdateStrategy(Model):
    """How pods are replaced after a change."""

    CEL: ClassVar[Cel] = {
        "rollingUpdate can only be set if type is RollingUpdate": (
            "!(self.type != 'RollingUpdate' && has(self.rollingUpdate))"
        ),
    }

    type: Annotated[
        str,
        doc(
            "`RollingUpdate` replaces them one after the other, `OnDelete` waits until you delete "
            "them.",
            enum=("OnDelete", "RollingUpdate"),
        ),
    ] = NO_TEXT
    rolling_update: Annotated[RollingUpdate | None, doc("Pace of a rolling update.")] = None


class DnsOption(Model):
    """An option of the pod's resolver, as in `resolv.conf`."""

    name: Annotated[Text, doc("Name of the option, for example `ndots`.")] = NO_TEXT
    value: Annotated[str | None, doc("Value, if the option takes one.")] = None


class DnsConfig(Model):
    """Resolver settings to add to those that follow from `dnsPolicy`."""

    nameservers: Annotated[
        tuple[Text, ...] | None, doc("Addresses of name servers.", listType="set")
    ] = None
    searches: Annotated[
        tuple[Text, ...] | None,
        doc("Domains to try for names that are not fully qualified.", listType="set"),
    ] = None
    options: Annotated[
        tuple[DnsOption, ...] | None,
        doc("Options of the resolver.", listType="map", listMapKeys=("name",)),
    ] = None


class HostAlias(Model):
    """A line of the pods' `/etc/hosts`."""

    ip: Annotated[str, doc("Address that the names stand for.")] = NO_TEXT
    hostnames: Annotated[tuple[str, ...], doc("Names for the address.")] = NO_ITEMS


class WorkloadSpec(Model):
    """Settings that every kind of workload has: what to run, how many of it, where, with what."""

    paused: Annotated[
        bool | None,
        doc("Leave everything as it is: changes are not carried out until this is unset."),
    ] = None
    version: Annotated[
        str | None,
        doc(
            "Version to run; decides which settings and flags are used. Unset: the operator's "
            "default."
        ),
        OF_JOBS,
    ] = None
    image: Annotated[
        str | None,
        doc(
            "Container image, in place of the operator's default for the version. Set `version` "
            "too, as it is not read from the image's tag."
        ),
    ] = None
    image_pull_policy: Annotated[
        str | None,
        doc(
            "When nodes pull the images of all containers, but for the reloader of a ThanosRuler. "
            "Unset: Kubernetes' default.",
            enum=("", "Always", "Never", "IfNotPresent"),
        ),
    ] = None
    image_pull_secrets: Annotated[
        tuple[LocalObjectReference, ...] | None,
        doc("Secrets in this namespace with credentials for private registries."),
    ] = None
    replicas: Annotated[
        Int32 | None, doc("Number of identical pods; 1 if unset. For Prometheus: in each shard.")
    ] = None
    resources: Annotated[
        ResourceRequirements | None,
        doc("CPU and memory of the main container. See Kubernetes' `ResourceRequirements`."),
    ] = None
    storage: Annotated[
        Storage | None,
        doc("Where data is kept. Unset: in an `emptyDir`, lost when the pod goes."),
    ] = None

    log_level: Annotated[
        LogLevel | None, doc("Least severe messages to log. Unset: the program's own, `info`.")
    ] = None
    log_format: Annotated[
        LogFormat | None, doc("Form of log lines. Unset: the program's own, `logfmt`.")
    ] = None
    additional_args: Annotated[
        tuple[Argument, ...] | None,
        doc(
            "Arguments to add to the main container's command line, unchecked. One that the "
            "operator sets itself is an error."
        ),
    ] = None

    port_name: Annotated[
        str | None, doc("Name of the web port in pods and Service.", default="web")
    ] = None
    route_prefix: Annotated[
        str | None,
        doc(
            "Path under which the web server answers, where a proxy makes it differ from the "
            "path of the external URL."
        ),
    ] = None
    listen_local: Annotated[
        bool | None,
        doc(
            "Listen on the pod's loopback address only, for example behind a proxy in "
            "`containers`. Services no longer reach it."
        ),
    ] = None
    service_name: Annotated[
        Text | None,
        doc(
            "Your own headless Service, in this namespace, that gives the pods their DNS names. "
            "Its selector must match them. Unset: the operator makes one."
        ),
    ] = None

    service_account_name: Annotated[
        str | None,
        doc("ServiceAccount of the pods. Unset: the namespace's `default`."),
    ] = None
    pod_metadata: Annotated[
        EmbeddedMetadata | None,
        doc(
            "Labels and annotations to add to the pods. Those that the operator sets itself "
            "cannot be changed."
        ),
    ] = None
    containers: Annotated[
        tuple[Container, ...] | None,
        doc(
            "Containers to add to the pods. One with the name of a generated container is merged "
            "into it, which changes details that are not tested. See Kubernetes' `Container`."
        ),
    ] = None
    init_containers: Annotated[
        tuple[Container, ...] | None,
        doc(
            "Init containers to add, or to merge by name as with `containers`. See Kubernetes' "
            "`Container`."
        ),
    ] = None
    volumes: Annotated[
        tuple[Volume, ...] | None,
        doc("Volumes to add to the pods. See Kubernetes' `Volume`."),
    ] = None
    volume_mounts: Annotated[
        tuple[VolumeMount, ...] | None,
        doc("Mounts to add to the main container. See Kubernetes' `VolumeMount`."),
    ] = None
    security_context: Annotated[
        PodSecurityContext | None,
        doc("User, group and other rights of the pods. See Kubernetes' `PodSecurityContext`."),
    ] = None
    host_users: Annotated[
        bool | None,
        doc(
            "`false` runs the pods in a user namespace of their own, so that root inside is "
            "nobody on the node. The nodes must support it."
        ),
    ] = None
    enable_service_links: Annotated[
        bool | None,
        doc(
            "Give containers an environment variable for each Service of the namespace. Unset: "
            "Kubernetes' default, `true`."
        ),
    ] = None

    node_selector: Annotated[
        dict[str, str] | None, doc("Labels that a node must have to run the pods.")
    ] = None
    affinity: Annotated[
        Affinity | None,
        doc("Nodes and pods to be near to or away from. See Kubernetes' `Affinity`."),
    ] = None
    tolerations: Annotated[
        tuple[Toleration, ...] | None,
        doc("Taints of nodes that the pods put up with. See Kubernetes' `Toleration`."),
    ] = None
    priority_class_name: Annotated[
        str | None, doc("PriorityClass of the pods. Unset: the cluster's default.")
    ] = None
    scheduler_name: Annotated[
        Text | None, doc("Scheduler to place the pods. Unset: the cluster's own.")
    ] = None

    dns_policy: Annotated[
        str | None,
        doc(
            "Where the pods' resolver settings come from. Unset: Kubernetes' default, "
            "`ClusterFirst`. `None` needs `dnsConfig`.",
            enum=("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
        ),
    ] = None
    dns_config: Annotated[
        DnsConfig | None, doc("Resolver settings to add to those of `dnsPolicy`.")
    ] = None
    host_aliases: Annotated[
        tuple[HostAlias, ...] | None,
        doc("Lines to add to the pods' `/etc/hosts`.", listType="map", listMapKeys=("ip",)),
    ] = None

    update_strategy: Annotated[
        UpdateStrategy | None,
        doc("How pods are replaced after a change. Unset: a rolling update."),
    ] = None
    pod_management_policy: Annotated[
        str | None,
        doc(
            "Start and stop pods all at once (`Parallel`, the default) or one by one "
            "(`OrderedReady`). A change recreates the StatefulSet.",
            enum=("OrderedReady", "Parallel"),
        ),
    ] = None
    min_ready_seconds: Annotated[
        Int32 | None,
        doc(
            "Seconds that a new pod must stay ready to count as available; 0 if unset.",
            minimum=0,
        ),
    ] = None
    termination_grace_period_seconds: Annotated[
        Amount | None,
        doc(
            "Seconds that a pod has to stop before it is killed; 0 kills at once and risks the "
            "data. Unset: 600 for Prometheus, 120 for the others."
        ),
    ] = None


class WebHeaders(Model, rename=names(x_xss_protection="xXSSProtection")):
    """Security headers to send with every response; one that is unset or empty is not sent."""

    content_security_policy: Annotated[
        str | None, doc("Value of the `Content-Security-Policy` header.")
    ] = None
    strict_transport_security: Annotated[
        str | None,
        doc("Value of the `Strict-Transport-Security` header. Makes sense with TLS only."),
    ] = None
    x_frame_options: Annotated[
        str | None,
        doc("Value of the `X-Frame-Options` header.", enum=("", "Deny", "SameOrigin")),
    ] = None
    x_content_type_options: Annotated[
        str | None, doc("Value of the `X-Content-Type-Options` header.", enum=("", "NoSniff"))
    ] = None
    x_xss_protection: Annotated[str | None, doc("Value of the `X-XSS-Protection` header.")] = None


class WebHttpConfig(Model):
    """HTTP settings of a web server."""

    http2: Annotated[
        bool | None, doc("Offer HTTP/2. Has an effect with TLS only, where it is on if unset.")
    ] = None
    headers: Annotated[WebHeaders | None, doc("Security headers to send.")] = None


class WebTlsConfig(Model, rename=names(client_ca="client_ca", client_ca_file="clientCAFile")):
    """TLS settings of a server, from Secrets and ConfigMaps or from files in the container."""

    cert: Annotated[
        SecretOrConfigMap | None,
        doc("Certificate to show to clients. Excludes `certFile`; one of them is needed."),
    ] = None
    cert_file: Annotated[
        str | None, doc("Path in the container to the certificate. Excludes `cert`.")
    ] = None
    key_secret: Annotated[
        SecretKeySelector | None,
        doc("Private key of the certificate. Excludes `keyFile`; one of them is needed."),
    ] = None
    key_file: Annotated[
        str | None, doc("Path in the container to the private key. Excludes `keySecret`.")
    ] = None
    client_ca: Annotated[
        SecretOrConfigMap | None,
        doc("Certificate authorities that sign clients' certificates. Excludes `clientCAFile`."),
    ] = None
    client_ca_file: Annotated[
        str | None,
        doc("Path in the container to the clients' certificate authorities. Excludes `client_ca`."),
    ] = None
    client_auth_type: Annotated[
        str | None,
        doc(
            "Whether clients must show a certificate: `NoClientCert` (default), "
            "`RequestClientCert`, `RequireAnyClientCert`, `VerifyClientCertIfGiven` or "
            "`RequireAndVerifyClientCert`."
        ),
    ] = None
    min_version: Annotated[
        str | None, doc("Lowest TLS version to accept, `TLS10` to `TLS13`. Default `TLS12`.")
    ] = None
    max_version: Annotated[
        str | None, doc("Highest TLS version to accept, `TLS10` to `TLS13`. Default `TLS13`.")
    ] = None
    cipher_suites: Annotated[
        tuple[str, ...] | None,
        doc(
            "Cipher suites for TLS 1.2 and older, by Go's names. Unset: Go's defaults. Those of "
            "TLS 1.3 cannot be chosen."
        ),
    ] = None
    curve_preferences: Annotated[
        tuple[str, ...] | None,
        doc(
            "Elliptic curves for the handshake, the preferred first: `CurveP256`, `CurveP384`, "
            "`CurveP521`, `X25519`. Unset: Go's defaults."
        ),
    ] = None
    prefer_server_cipher_suites: Annotated[
        bool | None,
        doc("Take the server's order of cipher suites rather than the client's. Default `true`."),
    ] = None


class WebConfig(Model):
    """The web server of a workload. Some kinds add fields of their own."""

    tls_config: Annotated[
        WebTlsConfig | None, doc("Serve HTTPS with these settings. Unset: plain HTTP.")
    ] = None
    http_config: Annotated[WebHttpConfig | None, doc("HTTP/2 and security headers.")] = None


class GrpcServerTlsConfig(Model):
    """TLS settings of Thanos' gRPC server."""

    ca: Annotated[
        SecretOrConfigMap | None,
        doc("Not used for a server: mount the file with `volumeMounts` and name it in `caFile`."),
    ] = None
    ca_file: Annotated[
        str | None,
        doc(
            "Path in the container to the certificate authorities of clients. Unset: clients need "
            "no certificate."
        ),
    ] = None
    cert: Annotated[
        SecretOrConfigMap | None,
        doc("Not used for a server: mount the file with `volumeMounts` and name it in `certFile`."),
    ] = None
    cert_file: Annotated[str | None, doc("Path in the container to the server's certificate.")] = (
        None
    )
    key_secret: Annotated[
        SecretKeySelector | None,
        doc("Not used for a server: mount the file with `volumeMounts` and name it in `keyFile`."),
    ] = None
    key_file: Annotated[str | None, doc("Path in the container to the private key.")] = None
    min_version: Annotated[
        TlsVersion | None, doc("Lowest TLS version to accept. Unset: `TLS13`.")
    ] = None
    max_version: Annotated[TlsVersion | None, doc("Not used for a server.")] = None
    cipher_suites: Annotated[
        tuple[str, ...] | None,
        doc(
            "Cipher suites for TLS 1.2 and older, by Go's names. Needs Thanos 0.42 or newer.",
            minItems=1,
            listType="set",
        ),
    ] = None
    curves: Annotated[
        tuple[str, ...] | None,
        doc(
            "Elliptic curves for the handshake, by Go's names, such as `X25519`. Needs Thanos 0.42 "
            "or newer.",
            minItems=1,
            listType="set",
        ),
    ] = None
    server_name: Annotated[str | None, doc("Not used for a server.")] = None
    insecure_skip_verify: Annotated[bool | None, doc("Not used for a server.")] = None


class ExcludedObject(Model):
    """Configuration resources that are exempt from an enforced namespace label."""

    group: Annotated[
        str | None,
        doc(
            "API group of the resource.",
            default="monitoring.coreos.com",
            enum=("monitoring.coreos.com",),
        ),
    ] = None
    resource: Annotated[
        str,
        doc(
            "Kind of resource, as the plural name.",
            enum=("prometheusrules", "servicemonitors", "podmonitors", "probes", "scrapeconfigs"),
        ),
    ] = NO_TEXT
    namespace: Annotated[Text, doc("Namespace of the resource.")] = NO_TEXT
    name: Annotated[
        str | None, doc("Name of the resource. Unset: all of this kind in the namespace.")
    ] = None


class ExcludedRule(Model):
    """A PrometheusRule that is exempt from an enforced namespace label."""

    rule_namespace: Annotated[str, doc("Namespace of the PrometheusRule.")] = NO_TEXT
    rule_name: Annotated[str, doc("Name of the PrometheusRule.")] = NO_TEXT


class WorkloadStatus(Model):
    """The state of a workload. Written by the operator."""

    paused: Annotated[bool | None, doc("Whether changes are held back by `spec.paused`.")] = None
    replicas: Annotated[Int32 | None, doc("Pods that exist and are not being deleted.")] = None
    updated_replicas: Annotated[Int32 | None, doc("Pods that have the current specification.")] = (
        None
    )
    available_replicas: Annotated[
        Int32 | None, doc("Pods that have been ready for at least `minReadySeconds`.")
    ] = None
    unavailable_replicas: Annotated[Int32 | None, doc("Pods that are not available.")] = None
    conditions: Annotated[
        tuple[Condition, ...] | None,
        doc(
            "Whether the workload is available, and whether the operator could reconcile it.",
            listType="map",
            listMapKeys=("type",),
        ),
    ] = None


def workload_columns(replicas: str, wanted: str = ".spec.replicas") -> tuple[Column, ...]:
    """The columns of `kubectl get` for a workload.

    `replicas` heads the wanted number of pods, which is found at `wanted`.
    """
    return (
        Column("Version", ".spec.version"),
        Column(replicas, wanted, "integer"),
        Column("Ready", ".status.availableReplicas", "integer"),
        Column("Reconciled", ".status.conditions[?(@.type == 'Reconciled')].status"),
        Column("Available", ".status.conditions[?(@.type == 'Available')].status"),
        Column("Age", ".metadata.creationTimestamp", "date"),
        Column("Paused", ".status.paused", "boolean", priority=1),
    )
