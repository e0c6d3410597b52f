"""The Alertmanager kind: a cluster of Alertmanagers and where its configuration comes from."""

from typing import Annotated

from stoker.api.common import (
    BasicAuth,
    ByteSize,
    Duration,
    GoDuration,
    HttpUrl,
    OAuth2,
    Proxy,
    SafeAuthorization,
    SafeTlsConfig,
    SecretOrConfigMap,
    Text,
)
from stoker.api.core import (
    Int32,
    LabelSelector,
    SecretKeySelector,
    TopologySpreadConstraint,
)
from stoker.api.crd import CustomResource, Kind, KindVersion, ScalePaths
from stoker.api.declare import NO_TEXT, Model, doc, names
from stoker.api.workload import (
    PersistentVolumeClaimRetentionPolicy,
    WebConfig,
    WebTlsConfig,
    WorkloadSpec,
    WorkloadStatus,
    workload_columns,
)


class MatcherStrategy(Model):
    """Which alerts the routes and inhibition rules of an AlertmanagerConfig may see."""

    type: Annotated[
        str | None,
        doc(
            "`OnNamespace`: those whose `namespace` label is the namespace of the "
            "AlertmanagerConfig. `OnNamespaceExceptForAlertmanagerNamespace`: the same, but all "
            "alerts for AlertmanagerConfigs beside the Alertmanager. `None`: all alerts.",
            default="OnNamespace",
            enum=("OnNamespace", "OnNamespaceExceptForAlertmanagerNamespace", "None"),
        ),
    ] = None


class NotificationHttpConfig(Proxy):
    """How Alertmanager calls the HTTP services that it notifies.

    Set at most one of `authorization`, `basicAuth`, `oauth2` and `bearerTokenSecret`.
    """

    authorization: Annotated[
        SafeAuthorization | None,
        doc("`Authorization` header to send. Needs Alertmanager 0.22 or newer."),
    ] = None
    basic_auth: Annotated[BasicAuth | None, doc("User name and password to send.")] = None
    oauth2: Annotated[
        OAuth2 | None,
        doc("Fetch a token with OAuth 2.0. Needs Alertmanager 0.22 or newer."),
    ] = None
    bearer_token_secret: Annotated[
        SecretKeySelector | None,
        doc("Secret key with a bearer token. From Alertmanager 0.22 on, prefer `authorization`."),
    ] = None
    tls_config: Annotated[SafeTlsConfig | None, doc("TLS settings for the connection.")] = None
    follow_redirects: Annotated[
        bool | None,
        doc("Follow redirects. Unset: `true`. Needs Alertmanager 0.22 or newer."),
    ] = None
    enable_http2: Annotated[
        bool | None,
        doc("Use HTTP/2 where the server offers it. Unset: `true`."),
    ] = None


class SmartHost(Model):
    """The mail server that takes outgoing mail."""

    host: Annotated[Text, doc("Name or address of the server.")] = NO_TEXT
    port: Annotated[Text, doc('Port, as text: `"25"`, `"465"` or `"587"` as a rule.')] = NO_TEXT


class SmtpDefaults(
    Model, rename=names(require_tls="requireTLS", force_implicit_tls="forceImplicitTLS")
):
    """How mail is sent, unless the receiver says otherwise."""

    from_: Annotated[str | None, doc("Sender's address.")] = None
    smart_host: Annotated[SmartHost | None, doc("Mail server to hand mail to.")] = None
    hello: Annotated[
        str | None, doc("Host name to greet the mail server with. Unset: `localhost`.")
    ] = None
    auth_username: Annotated[str | None, doc("User name. Unset: no authentication.")] = None
    auth_password: Annotated[
        SecretKeySelector | None,
        doc("Secret key with the password, for the mechanisms LOGIN and PLAIN."),
    ] = None
    auth_secret: Annotated[
        SecretKeySelector | None, doc("Secret key with the secret of CRAM-MD5.")
    ] = None
    auth_identity: Annotated[
        str | None, doc("Identity to act as, for PLAIN. Unset: the user name.")
    ] = None
    require_tls: Annotated[
        bool | None,
        doc("Refuse to send mail in the clear: the server must offer STARTTLS. Unset: `true`."),
    ] = None
    force_implicit_tls: Annotated[
        bool | None,
        doc(
            "`true` speaks TLS from the first byte, `false` starts in the clear and may upgrade. "
            "Unset: `true` for port 465 only. Needs Alertmanager 0.31 or newer."
        ),
    ] = None
    tls_config: Annotated[
        SafeTlsConfig | None,
        doc("TLS settings for the mail server. Needs Alertmanager 0.28 or newer."),
    ] = None


class ApiDefaults(Model, rename=names(api_url="apiURL")):
    """Where a service is called, unless the receiver says otherwise."""

    api_url: Annotated[
        HttpUrl | None,
        doc("URL of the service. Unset: the public one, if the service has one."),
    ] = None


class RocketChatDefaults(ApiDefaults, rename=names(token_id="tokenID")):
    """Where and as whom Rocket.Chat is called, unless the receiver says otherwise."""

    token_id: Annotated[
        SecretKeySelector | None, doc("Secret key with the user id of the access token.")
    ] = None
    token: Annotated[SecretKeySelector | None, doc("Secret key with the access token itself.")] = (
        None
    )


class VictorOpsDefaults(ApiDefaults):
    """Where and as whom VictorOps is called, unless the receiver says otherwise."""

    api_key: Annotated[SecretKeySelector | None, doc("Secret key with the API key.")] = None


class WeChatDefaults(ApiDefaults, rename=names(api_corp_id="apiCorpID")):
    """Where and as whom WeChat is called, unless the receiver says otherwise."""

    api_corp_id: Annotated[Text | None, doc("Id of the company's account.")] = None
    api_secret: Annotated[
        SecretKeySelector | None, doc("Secret key with the secret of the API.")
    ] = None


class MattermostDefaults(Model, rename=names(webhook_url="webhookURL")):
    """Where Mattermost is called, unless the receiver says otherwise."""

    webhook_url: Annotated[
        SecretKeySelector | None, doc("Secret key with the URL of an incoming webhook.")
    ] = None


class GlobalSettings(Model):
    """What receivers fall back on: the `global` section of Alertmanager's configuration."""

    resolve_timeout: Annotated[
        Duration | None,
        doc(
            "How long after its last update an alert without an end time counts as resolved. "
            "Unset: `5m`. Prometheus always sends an end time."
        ),
    ] = None
    http_config: Annotated[NotificationHttpConfig | None, doc("How HTTP services are called.")] = (
        None
    )
    smtp: Annotated[SmtpDefaults | None, doc("How mail is sent.")] = None
    slack_api_url: Annotated[
        SecretKeySelector | None, doc("Secret key with the URL of a Slack webhook.")
    ] = None
    pagerduty_url: Annotated[
        HttpUrl | None, doc("URL to send PagerDuty events to. Unset: the public one.")
    ] = None
    ops_genie_api_url: Annotated[
        SecretKeySelector | None,
        doc("Secret key with the URL of Opsgenie's API. Unset: the public one."),
    ] = None
    ops_genie_api_key: Annotated[
        SecretKeySelector | None, doc("Secret key with the API key for Opsgenie.")
    ] = None
    victorops: Annotated[VictorOpsDefaults | None, doc("Defaults for VictorOps.")] = None
    wechat: Annotated[WeChatDefaults | None, doc("Defaults for WeChat.")] = None
    telegram: Annotated[
        ApiDefaults | None, doc("Defaults for Telegram. Needs Alertmanager 0.24 or newer.")
    ] = None
    webex: Annotated[
        ApiDefaults | None, doc("Defaults for Webex. Needs Alertmanager 0.25 or newer.")
    ] = None
    jira: Annotated[
        ApiDefaults | None, doc("Defaults for Jira. Needs Alertmanager 0.28 or newer.")
    ] = None
    rocket_chat: Annotated[
        RocketChatDefaults | None,
        doc("Defaults for Rocket.Chat. Needs Alertmanager 0.28 or newer."),
    ] = None
    mattermost: Annotated[
        MattermostDefaults | None,
        doc("Defaults for Mattermost. Needs Alertmanager 0.30 or newer."),
    ] = None


class GlobalConfiguration(Model):
    """An AlertmanagerConfig that serves as the root of the whole configuration."""

    name: Annotated[
        Text | None,
        doc(
            "AlertmanagerConfig in this namespace whose route is the root of all routes. It sees "
            "the alerts of all namespaces."
        ),
    ] = None
    global_: Annotated[GlobalSettings | None, doc("Defaults for receivers.")] = None
    templates: Annotated[
        tuple[SecretOrConfigMap, ...] | None,
        doc("Template files for notifications, each a key of a Secret or ConfigMap."),
    ] = None


class ClusterTlsConfig(Model):
    """Mutual TLS between the members of a cluster."""

    server: Annotated[WebTlsConfig, doc("TLS settings for connections from other members.")] = (
        WebTlsConfig()
    )
    client: Annotated[SafeTlsConfig, doc("TLS settings for connections to other members.")] = (
        SafeTlsConfig()
    )


class AlertmanagerLimits(Model):
    """Bounds on what an Alertmanager keeps."""

    max_silences: Annotated[
        Int32 | None,
        doc(
            "Most silences to keep, expired ones included. Unset or 0: no limit. Needs "
            "Alertmanager 0.28 or newer.",
            minimum=0,
        ),
    ] = None
    max_per_silence_bytes: Annotated[
        ByteSize | None,
        doc(
            "Largest size of one silence, for example `64KiB`. Unset or 0: no limit. Needs "
            "Alertmanager 0.28 or newer."
        ),
    ] = None


class AlertmanagerWebConfig(WebConfig):
    """The web server of an Alertmanager."""

    get_concurrency: Annotated[
        Int32 | None,
        doc(
            "GET requests to answer at the same time; more are refused. Unset or 0: 8, or the "
            "number of CPUs if that is higher.",
            minimum=0,
        ),
    ] = None
    timeout: Annotated[
        Int32 | None,
        doc("Seconds after which a request is given up. Unset or 0: never.", minimum=0),
    ] = None


class AlertmanagerSpec(WorkloadSpec, rename=names(cluster_tls="clusterTLS")):
    """What an Alertmanager cluster runs with."""

    config_secret: Annotated[
        str | None,
        doc(
            "Secret in this namespace with the configuration in its key `alertmanager.yaml`; "
            "other keys are files beside it. Unset: `alertmanager-` and the name of this object. "
            "Without it, alerts go nowhere."
        ),
    ] = None
    alertmanager_configuration: Annotated[
        GlobalConfiguration | None,
        doc("AlertmanagerConfig to start from, in place of `configSecret`."),
    ] = None
    alertmanager_config_selector: Annotated[
        LabelSelector | None,
        doc("AlertmanagerConfigs to add, by their labels. Unset: none; empty: all."),
    ] = None
    alertmanager_config_namespace_selector: Annotated[
        LabelSelector | None,
        doc(
            "Namespaces to look for AlertmanagerConfigs in, by their labels. Unset: this one; "
            "empty: all."
        ),
    ] = None
    alertmanager_config_matcher_strategy: Annotated[
        MatcherStrategy | None,
        doc("Which alerts the AlertmanagerConfigs may see. Unset: those of their namespace."),
    ] = None
    secrets: Annotated[
        tuple[str, ...] | None,
        doc("Secrets in this namespace to mount at `/etc/alertmanager/secrets/<name>`."),
    ] = None
    config_maps: Annotated[
        tuple[str, ...] | None,
        doc("ConfigMaps in this namespace to mount at `/etc/alertmanager/configmaps/<name>`."),
    ] = None
    retention: Annotated[
        GoDuration | None,
        doc(
            "How long to keep notified alerts and expired silences, in hours or less: `120h`.",
            default="120h",
        ),
    ] = None
    limits: Annotated[AlertmanagerLimits | None, doc("Bounds on silences.")] = None
    enable_features: Annotated[
        tuple[str, ...] | None,
        doc("Feature flags to switch on. Needs Alertmanager 0.27 or newer."),
    ] = None

    external_url: Annotated[
        str | None,
        doc("URL at which users reach Alertmanager; used for links in notifications."),
    ] = None
    web: Annotated[AlertmanagerWebConfig | None, doc("Settings of the web server.")] = None

    force_enable_cluster_mode: Annotated[
        bool | None,
        doc(
            "Form a cluster even with one replica and no `additionalPeers`, for example when "
            "members in other Kubernetes clusters will join."
        ),
    ] = None
    additional_peers: Annotated[
        tuple[str, ...] | None,
        doc("More members of the cluster, as `host:port`, that the operator does not run."),
    ] = None
    cluster_label: Annotated[
        str | None,
        doc(
            "Name that all members share; others are turned away. Set it to what "
            "`additionalPeers` use. Unset: namespace and name of this object. Needs Alertmanager "
            "0.26 or newer."
        ),
    ] = None
    cluster_peer_name: Annotated[
        Text | None,
        doc(
            "Name of a member in the cluster, different in each pod, for example `$(POD_NAME)`. "
            "Unset: the pod's name. Needs Alertmanager 0.30 or newer."
        ),
    ] = None
    cluster_advertise_address: Annotated[
        str | None,
        doc(
            "Address, as `host:port`, at which other members reach this one. Needed where pods "
            "have no private IP address."
        ),
    ] = None
    cluster_gossip_interval: Annotated[
        GoDuration | None,
        doc("Time between gossip messages. Shorter spreads news faster. Unset: `200ms`."),
    ] = None
    cluster_pushpull_interval: Annotated[
        GoDuration | None,
        doc("Time between full exchanges of state with another member. Unset: `1m`."),
    ] = None
    cluster_peer_timeout: Annotated[
        GoDuration | None,
        doc(
            "How long a member waits for the one before it to notify, before it does so itself. "
            "Unset: `15s`."
        ),
    ] = None
    cluster_tls: Annotated[
        ClusterTlsConfig | None,
        doc("Encrypt the traffic between members. Needs Alertmanager 0.24 or newer."),
    ] = None

    automount_service_account_token: Annotated[
        bool | None,
        doc(
            "Mount the token of the ServiceAccount in the pods. Alertmanager itself does not "
            "need it. Unset: as the ServiceAccount says, else `true`."
        ),
    ] = None
    host_network: Annotated[
        bool | None,
        doc("Run the pods in the network of their node. Ports must be free there."),
    ] = None
    topology_spread_constraints: Annotated[
        tuple[TopologySpreadConstraint, ...] | None,
        doc(
            "How to spread the pods over zones or nodes. See Kubernetes' "
            "`TopologySpreadConstraint`."
        ),
    ] = None
    persistent_volume_claim_retention_policy: Annotated[
        PersistentVolumeClaimRetentionPolicy | None,
        doc(
            "What becomes of volume claims when pods go for good. Unset: they stay. Needs "
            "Kubernetes 1.27 or newer."
        ),
    ] = None

    base_image: Annotated[str | None, doc("Deprecated: use `image`. Image without its tag.")] = None
    tag: Annotated[str | None, doc("Deprecated: use `image`. Tag of `baseImage`.")] = None
    sha: Annotated[
        str | None, doc("Deprecated: use `image`. Digest of `baseImage`; wins over `tag`.")
    ] = None


class AlertmanagerStatus(WorkloadStatus):
    """The state of an Alertmanager cluster. Written by the operator."""

    selector: Annotated[str | None, doc("Selector of the pods, as text, for autoscalers.")] = None


class Alertmanager(CustomResource):
    """Runs a cluster of Alertmanagers, which group alerts and notify people of them."""

    spec: Annotated[
        AlertmanagerSpec, doc("What to run, and where its configuration comes from.")
    ] = AlertmanagerSpec()
    status: Annotated[
        AlertmanagerStatus | None, doc("What became of it. Written by the operator.")
    ] = None


ALERTMANAGER = Kind(
    name="Alertmanager",
    plural="alertmanagers",
    short="am",
    versions=(
        KindVersion(
            "v1",
            Alertmanager,
            columns=workload_columns("Replicas"),
            scale=ScalePaths(spec_replicas=".spec.replicas", status_replicas=".status.replicas"),
        ),
    ),
)
