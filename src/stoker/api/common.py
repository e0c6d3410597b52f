"""Types that several kinds share: credentials, TLS, proxies, relabeling, conditions, bindings."""

from typing import Annotated, ClassVar, TypeAlias

from stoker.api.core import ConfigMapKeySelector, Int64, SecretKeySelector, Time
from stoker.api.crd import Column, CustomResource
from stoker.api.declare import NO_NUMBER, NO_TEXT, Cel, Model, doc, names, rule

Text: TypeAlias = Annotated[str, rule(minLength=1)]
Duration: TypeAlias = Annotated[
    str,
    rule(
        pattern=(
            "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?"
            "(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"
        )
    ),
]
NonEmptyDuration: TypeAlias = Annotated[Duration, rule(minLength=1)]
GoDuration: TypeAlias = Annotated[
    str, rule(pattern="^(0|(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$")
]
ByteSize: TypeAlias = Annotated[str, rule(pattern="(^0|([0-9]*[.])?[0-9]+((K|M|G|T|E|P)i?)?B)$")]
Quantity: TypeAlias = Annotated[
    int | str, rule(embeds="io.k8s.apimachinery.pkg.api.resource.Quantity")
]
Amount: TypeAlias = Annotated[int, rule(format="int64", minimum=0)]
Port: TypeAlias = Annotated[int, rule(format="int32", minimum=0, maximum=65535)]
HttpUrl: TypeAlias = Annotated[str, rule(pattern="^(http|https)://.+$")]
WebUrl: TypeAlias = Annotated[str, rule(pattern="^https?://.+$")]
Scheme: TypeAlias = Annotated[str, rule(enum=("http", "https", "HTTP", "HTTPS"))]
TlsVersion: TypeAlias = Annotated[str, rule(enum=("TLS10", "TLS11", "TLS12", "TLS13"))]
LogLevel: TypeAlias = Annotated[str, rule(enum=("", "debug", "info", "warn", "error"))]
LogFormat: TypeAlias = Annotated[str, rule(enum=("", "logfmt", "json"))]
ScrapeProtocol: TypeAlias = Annotated[
    str,
    rule(
        enum=(
            "PrometheusProto",
            "OpenMetricsText0.0.1",
            "OpenMetricsText1.0.0",
            "PrometheusText0.0.4",
            "PrometheusText1.0.0",
        )
    ),
]
NameEscapingScheme: TypeAlias = Annotated[
    str, rule(enum=("AllowUTF8", "Underscores", "Dots", "Values"))
]
NameValidationScheme: TypeAlias = Annotated[str, rule(enum=("UTF8", "Legacy"))]

_ACTIONS = (
    "Replace",
    "Keep",
    "Drop",
    "HashMod",
    "LabelMap",
    "LabelDrop",
    "LabelKeep",
    "Lowercase",
    "Uppercase",
    "KeepEqual",
    "DropEqual",
)


class SecretOrConfigMap(Model):
    """A value kept in a Secret or in a ConfigMap; set one of them."""

    secret: Annotated[SecretKeySelector | None, doc("Key of a Secret that holds the value.")] = None
    config_map: Annotated[
        ConfigMapKeySelector | None, doc("Key of a ConfigMap that holds the value.")
    ] = None


class SafeTlsConfig(Model):
    """TLS settings of a client whose material comes from Secrets and ConfigMaps only."""

    ca: Annotated[
        SecretOrConfigMap | None,
        doc("Certificate authorities that sign the server's certificate. Unset: the system's own."),
    ] = None
    cert: Annotated[
        SecretOrConfigMap | None,
        doc("Client certificate shown to the server. Needs `keySecret`."),
    ] = None
    key_secret: Annotated[
        SecretKeySelector | None, doc("Private key of the client certificate.")
    ] = None
    server_name: Annotated[
        str | None,
        doc("Name expected in the server's certificate, where it is not the host of the URL."),
    ] = None
    insecure_skip_verify: Annotated[
        bool | None,
        doc("Accept any server certificate. The connection can then be read by others."),
    ] = None
    min_version: Annotated[
        TlsVersion | None,
        doc("Lowest TLS version to accept. Needs Prometheus 2.35, Alertmanager 0.25 or newer."),
    ] = None
    max_version: Annotated[
        TlsVersion | None,
        doc("Highest TLS version to offer. Needs Prometheus 2.41, Alertmanager 0.25 or newer."),
    ] = None


class TlsConfig(SafeTlsConfig):
    """TLS settings of a client that may also read files in the container."""

    ca_file: Annotated[str | None, doc("Path in the container to the certificate authorities.")] = (
        None
    )
    cert_file: Annotated[str | None, doc("Path in the container to the client certificate.")] = None
    key_file: Annotated[
        str | None, doc("Path in the container to the client certificate's private key.")
    ] = None


class BasicAuth(Model):
    """HTTP basic authentication with user name and password from Secrets."""

    username: Annotated[SecretKeySelector | None, doc("Secret key that holds the user name.")] = (
        None
    )
    password: Annotated[SecretKeySelector | None, doc("Secret key that holds the password.")] = None


class SafeAuthorization(Model):
    """The `Authorization` header, with credentials from a Secret."""

    type: Annotated[
        str | None,
        doc("Authentication scheme, `Bearer` if unset. `Basic` is refused: use `basicAuth`."),
    ] = None
    credentials: Annotated[
        SecretKeySelector | None, doc("Secret key that holds what follows the scheme's name.")
    ] = None


class Authorization(SafeAuthorization):
    """The `Authorization` header, with credentials from a Secret or a file."""

    credentials_file: Annotated[
        str | None, doc("Path in the container to a file with the credentials.")
    ] = None


class Proxy(Model):
    """How to reach a server through a proxy."""

    proxy_url: Annotated[
        str | None,
        doc("Address of the proxy to go through.", pattern="^(http|https|socks5)://.+$"),
    ] = None
    no_proxy: Annotated[
        str | None,
        doc(
            "Comma-separated hosts, domains, addresses and CIDR blocks to reach without the proxy. "
            "Needs Prometheus 2.43, Alertmanager 0.26 or newer."
        ),
    ] = None
    proxy_from_environment: Annotated[
        bool | None,
        doc(
            "Take the proxy from the container's HTTP_PROXY, HTTPS_PROXY and NO_PROXY variables. "
            "Needs Prometheus 2.43, Alertmanager 0.26 or newer."
        ),
    ] = None
    proxy_connect_header: Annotated[
        dict[str, tuple[SecretKeySelector, ...]] | None,
        doc(
            "Headers sent to the proxy with CONNECT, each with its values from Secrets. "
            "Needs Prometheus 2.43, Alertmanager 0.26 or newer.",
            mapType="atomic",
        ),
    ] = None


class OAuth2(Proxy):
    """OAuth 2.0 with the client credentials grant: a token is fetched and renewed as needed."""

    client_id: Annotated[
        SecretOrConfigMap, doc("Where the client id is kept: Secret or ConfigMap.")
    ] = SecretOrConfigMap()
    client_secret: Annotated[SecretKeySelector, doc("Secret key that holds the client secret.")] = (
        SecretKeySelector()
    )
    token_url: Annotated[HttpUrl, doc("URL to fetch the token from.")] = NO_TEXT
    scopes: Annotated[tuple[str, ...] | None, doc("Scopes to ask for.")] = None
    endpoint_params: Annotated[
        dict[str, str] | None, doc("Parameters to add to the request for the token.")
    ] = None
    tls_config: Annotated[
        SafeTlsConfig | None, doc("TLS settings for the token server. Needs Prometheus 2.43.")
    ] = None


class Sigv4(Model, rename=names(use_fips_sts_endpoint="useFIPSSTSEndpoint")):
    """Signs requests with AWS Signature Version 4."""

    CEL: ClassVar[Cel] = {
        "externalId can only be used together with roleArn": (
            "!has(self.externalId) || has(self.roleArn)"
        ),
    }

    region: Annotated[
        str | None, doc("AWS region. Unset: the region of the default credentials chain.")
    ] = None
    access_key: Annotated[
        SecretKeySelector | None,
        doc("Secret key with the AWS access key id. Unset: the default credentials chain."),
    ] = None
    secret_key: Annotated[
        SecretKeySelector | None, doc("Secret key with the AWS secret access key.")
    ] = None
    profile: Annotated[str | None, doc("Named AWS profile to authenticate with.")] = None
    role_arn: Annotated[str | None, doc("AWS role to assume before signing.")] = None
    external_id: Annotated[
        Text | None,
        doc("External id to present when assuming the role. Needs Prometheus 3.11 or newer."),
    ] = None
    use_fips_sts_endpoint: Annotated[
        bool | None,
        doc("Ask the FIPS endpoint of AWS STS for credentials. Needs Prometheus 2.54 or newer."),
    ] = None


class HttpClient(Proxy):
    """How the workload itself authenticates to an HTTP server; it may read files in its container.

    Set at most one kind of authentication.
    """

    authorization: Annotated[
        Authorization | None,
        doc("`Authorization` header to send. Needs Prometheus 2.26 or newer."),
    ] = None
    basic_auth: Annotated[BasicAuth | None, doc("User name and password to send.")] = None
    tls_config: Annotated[TlsConfig | None, doc("TLS settings for the connection.")] = None
    bearer_token: Annotated[
        str | None,
        doc("Deprecated: use `authorization`. The token itself, open to all who read this object."),
    ] = None
    bearer_token_file: Annotated[
        str | None,
        doc("Deprecated: use `authorization`. Path in the container to a file with the token."),
    ] = None


class RelabelConfig(Model):
    """One step that rewrites the labels of a target, a sample or an alert, or drops it.

    Prometheus explains relabeling in its documentation of `relabel_config`.
    """

    source_labels: Annotated[
        tuple[str, ...] | None,
        doc("Labels whose values are joined with the separator and matched with `regex`."),
    ] = None
    separator: Annotated[
        str | None, doc("Put between the values of the source labels. Prometheus defaults to `;`.")
    ] = None
    target_label: Annotated[
        str | None,
        doc(
            "Label that gets the result. Needed for replace, hashmod, lowercase, uppercase, "
            "keepequal and dropequal."
        ),
    ] = None
    regex: Annotated[
        str | None,
        doc("RE2 expression, anchored at both ends, for the joined value. Default `(.*)`."),
    ] = None
    modulus: Annotated[
        Amount | None,
        doc("Number that the hash of the joined value is taken modulo (hashmod)."),
    ] = None
    replacement: Annotated[
        str | None,
        doc("Value to write where `regex` matches; may use its groups. Default `$1`."),
    ] = None
    action: Annotated[
        str | None,
        doc(
            "What to do with the match. `lowercase` and `uppercase` need Prometheus 2.36, "
            "`keepequal` and `dropequal` 2.41.",
            default="replace",
            enum=tuple(spelling for name in _ACTIONS for spelling in (name.lower(), name)),
        ),
    ] = None


class NamespaceSelector(Model):
    """The namespaces in which to look; unset, only the namespace of the object itself."""

    any: Annotated[bool | None, doc("Look in every namespace.")] = None
    match_names: Annotated[tuple[str, ...] | None, doc("Look in these namespaces.")] = None


class AttachMetadata(Model):
    """Metadata of other objects to add to discovered targets."""

    node: Annotated[
        bool | None,
        doc(
            "Add the labels and annotations of the target's node. Prometheus must be allowed to "
            "get, list and watch nodes."
        ),
    ] = None


class Condition(Model):
    """One aspect of the state of a workload."""

    type: Annotated[Text, doc("Aspect that the condition is about.")] = NO_TEXT
    status: Annotated[Text, doc("`True`, `False`, `Unknown`, or `Degraded`.")] = NO_TEXT
    last_transition_time: Annotated[Time, doc("When the status last changed.")] = NO_TEXT
    reason: Annotated[str | None, doc("The cause in one word, for programs.")] = None
    message: Annotated[str | None, doc("The cause in a sentence, for people.")] = None
    observed_generation: Annotated[
        Int64 | None, doc("Generation of the object that the condition speaks of.")
    ] = None


class BindingCondition(Condition):
    """Whether a workload took a configuration resource."""

    type: Annotated[Text, doc("Always `Accepted`.", enum=("Accepted",))] = NO_TEXT


class TargetError(Model):
    """Why targets cannot be scraped."""

    message: Annotated[str, doc("What Prometheus says, without addresses and credentials.")] = (
        NO_TEXT
    )
    count: Annotated[Int64, doc("How many targets it says so of.")] = NO_NUMBER


class TargetCounts(Model):
    """What a workload scrapes for this resource."""

    discovered: Annotated[Int64, doc("How many targets were found.", minimum=0)] = NO_NUMBER
    healthy: Annotated[Int64, doc("How many of them were scraped without error.", minimum=0)] = (
        NO_NUMBER
    )
    errors: Annotated[
        tuple[TargetError, ...] | None,
        doc("The most frequent errors, at most three.", listType="atomic"),
    ] = None
    observed_at: Annotated[
        Time, doc("When it was first so; it stays as long as the numbers and errors do.")
    ] = NO_TEXT


class Binding(Model):
    """A workload that selects this resource, and what it made of it."""

    group: Annotated[str, doc("API group of the workload.", enum=("monitoring.coreos.com",))] = (
        NO_TEXT
    )
    resource: Annotated[
        str,
        doc(
            "Kind of workload, as the plural name of its resource.",
            enum=("prometheuses", "prometheusagents", "thanosrulers", "alertmanagers"),
        ),
    ] = NO_TEXT
    name: Annotated[Text, doc("Name of the workload.")] = NO_TEXT
    namespace: Annotated[Text, doc("Namespace of the workload.")] = NO_TEXT
    conditions: Annotated[
        tuple[BindingCondition, ...] | None,
        doc(
            "Whether the workload accepted the resource, and if not, why.",
            listType="map",
            listMapKeys=("type",),
        ),
    ] = None
    targets: Annotated[
        TargetCounts | None,
        doc(
            "What the workload scrapes for the resource. Unset where that is not known, and where "
            "the operator was not asked to find out (`--target-status-interval`)."
        ),
    ] = None


class ConfigResourceStatus(Model):
    """What became of a configuration resource. Written by the operator."""

    bindings: Annotated[
        tuple[Binding, ...] | None,
        doc(
            "The workloads that select this resource.",
            listType="map",
            listMapKeys=("group", "resource", "name", "namespace"),
        ),
    ] = None


class ConfigResource(CustomResource):
    """The base of the six kinds that configure workloads."""

    status: Annotated[
        ConfigResourceStatus | None, doc("Which workloads took it. Written by the operator.")
    ] = None


# A column shows one value, the first: of several workloads, that one.
_USED_BY = ".status.bindings[?(@.conditions[0].status=='True')].name"
_REJECTED_BY = ".status.bindings[?(@.conditions[0].status=='False')].name"
RESOURCE_COLUMNS = (
    Column("Used By", _USED_BY),
    Column("Rejected By", _REJECTED_BY),
    Column("Age", ".metadata.creationTimestamp", "date"),
)
"""The columns of `kubectl get` for a resource; the peer has none."""
MONITOR_COLUMNS = (
    *RESOURCE_COLUMNS[:2],
    Column("Targets", ".status.bindings[*].targets.discovered", "integer"),
    Column("Healthy", ".status.bindings[*].targets.healthy", "integer"),
    *RESOURCE_COLUMNS[2:],
)
"""The same for one that has targets, which are counted with `--target-status-interval`."""
