"""What receivers have in common: the name, the HTTP client, what every integration can do.

The integrations themselves are in `chat`, `paging` and `delivery`. Each has a class with the
fields that are equal in both versions. The rest is added by a subclass in `v1alpha1` and in
`v1beta1`: fields that refer to a Secret, and `httpConfig`, which has such a field inside. Their
descriptions are constants here, so that they too are written once.
"""

from typing import Annotated, TypeAlias

from stoker.api.common import BasicAuth, OAuth2, Proxy, SafeAuthorization, SafeTlsConfig, Text
from stoker.api.declare import NO_TEXT, Model, doc, names

QuietResolve: TypeAlias = Annotated[
    bool | None, doc("Send another notification when the alerts are resolved. Unset: no.")
]

HTTP_CONFIG = doc("HTTP client for this integration. Unset: Alertmanager's global `http_config`.")
BEARER_TOKEN_SECRET = doc(
    "Key of a Secret in the same namespace that holds a bearer token. Excludes `basicAuth` and "
    "`authorization`, which is the newer way to send one."
)

DISCORD = doc("Discord channels to post to. Needs Alertmanager 0.25 or newer.")
EMAIL = doc("Addresses to send email to.")
MSTEAMS = doc(
    "Microsoft Teams channels to post to through Office 365 connectors, which Microsoft is "
    "retiring: prefer `msteamsv2Configs`. Needs Alertmanager 0.26 or newer."
)
MSTEAMSV2 = doc(
    "Microsoft Teams channels to post to through Power Automate workflows. Needs Alertmanager "
    "0.28 or newer."
)
OPSGENIE = doc("Opsgenie accounts in which to create alerts.")
PAGERDUTY = doc("PagerDuty services in which to trigger incidents.")
PUSHOVER = doc("Pushover users to notify.")
ROCKETCHAT = doc("Rocket.Chat channels to post to. Needs Alertmanager 0.28 or newer.")
SLACK = doc("Slack channels to post to.")
SNS = doc("Amazon SNS topics, phones or devices to publish to. Needs Alertmanager 0.23 or newer.")
TELEGRAM = doc("Telegram chats to post to. Needs Alertmanager 0.24 or newer.")
VICTOROPS = doc("VictorOps (Splunk On-Call) teams to alert.")
WEBEX = doc("Webex rooms to post to. Needs Alertmanager 0.25 or newer.")
WEBHOOK = doc("HTTP endpoints to call, for systems that Alertmanager does not know itself.")
WECHAT = doc("WeChat Work users, departments or tags to send to.")


class Http(Proxy, rename=names(deprecated_proxy_url="proxyURL")):
    """The HTTP client of an integration, less `bearerTokenSecret`, whose type has versions."""

    authorization: Annotated[
        SafeAuthorization | None,
        doc(
            "`Authorization` header to send. Excludes `basicAuth` and `oauth2`. Needs "
            "Alertmanager 0.22 or newer."
        ),
    ] = None
    basic_auth: Annotated[
        BasicAuth | None,
        doc("User name and password to send. Excludes `authorization` and `oauth2`."),
    ] = None
    oauth2: Annotated[
        OAuth2 | None,
        doc(
            "OAuth 2.0 client to fetch a token with. Excludes `authorization` and `basicAuth`. "
            "Needs Alertmanager 0.22 or newer."
        ),
    ] = None
    tls_config: Annotated[SafeTlsConfig | None, doc("TLS settings for the connection.")] = None
    follow_redirects: Annotated[
        bool | None,
        doc("Follow HTTP redirects. Unset: yes."),
    ] = None
    enable_http2: Annotated[
        bool | None, doc("Use HTTP/2. Unset: yes. Needs Alertmanager 0.25 or newer.")
    ] = None
    deprecated_proxy_url: Annotated[
        str | None, doc("Deprecated: use `proxyUrl`. Goes before it where both are set.")
    ] = None


class KeyValue(Model):
    """A name and its value."""

    key: Annotated[Text, doc("Name, once in a list.")] = NO_TEXT
    value: Annotated[str, doc("Value; a template.")] = NO_TEXT


class Notification(Model):
    """What every integration can do."""

    send_resolved: Annotated[
        bool | None, doc("Send another notification when the alerts are resolved. Unset: yes.")
    ] = None


class NamedReceiver(Model):
    """The name of a receiver; the lists of integrations are added by each version."""

    name: Annotated[
        Text,
        doc(
            "Name for routes to refer to. Unique within this object; Alertmanager shows it as "
            "`namespace/object/name`."
        ),
    ] = NO_TEXT
