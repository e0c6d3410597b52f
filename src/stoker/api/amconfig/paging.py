"""Integrations that call somebody: PagerDuty, Opsgenie, VictorOps, Pushover."""

from typing import Annotated, TypeAlias

from stoker.api.amconfig.receivers import KeyValue, Notification
from stoker.api.common import Duration, Text, WebUrl
from stoker.api.declare import NO_TEXT, Model, doc, names, rule

PositiveDuration: TypeAlias = Annotated[
    str,
    rule(
        pattern=(
            "^(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?"
            "(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?$"
        )
    ),
]

PAGERDUTY_ROUTING_KEY = doc(
    "Key of a Secret in the same namespace that holds the integration key of an Events API v2 "
    "integration. This or `serviceKey` is needed."
)
PAGERDUTY_SERVICE_KEY = doc(
    "Key of a Secret in the same namespace that holds the integration key of a `Prometheus` "
    "integration. Excludes `routingKey`."
)
OPSGENIE_API_KEY = doc(
    "Key of a Secret in the same namespace that holds the API key. Unset: the global "
    "`opsgenie_api_key`."
)
OPSGENIE_DETAILS = doc("Further details of the alert; they come on top of the common labels.")
OPSGENIE_RESPONDERS = doc("Who is responsible for the alert.")
VICTOROPS_API_KEY = doc(
    "Key of a Secret in the same namespace that holds the API key. Unset: the global "
    "`victorops_api_key`."
)
PUSHOVER_TOKEN = doc(
    "Key of a Secret in the same namespace that holds the application's API token. This or "
    "`tokenFile` is needed."
)
PUSHOVER_TOKEN_FILE = doc(
    "Path in Alertmanager's container to a file with the API token. Needs Alertmanager 0.26 or "
    "newer."
)
PUSHOVER_USER_KEY = doc(
    "Key of a Secret in the same namespace that holds the recipient's user key. This or "
    "`userKeyFile` is needed."
)
PUSHOVER_USER_KEY_FILE = doc(
    "Path in Alertmanager's container to a file with the user key. Needs Alertmanager 0.26 or "
    "newer."
)


class PagerDutyLink(Model):
    """A link attached to a PagerDuty incident."""

    href: Annotated[str | None, doc("Where the link leads; a template.")] = None
    alt: Annotated[Text | None, doc("Text of the link; a template.")] = None


class PagerDutyImage(Model):
    """An image attached to a PagerDuty incident."""

    src: Annotated[Text | None, doc("HTTPS address of the image; a template.")] = None
    href: Annotated[str | None, doc("Where a click on the image leads; a template.")] = None
    alt: Annotated[Text | None, doc("Text in place of the image; a template.")] = None


class PagerDuty(Notification, rename=names(client_url="clientURL")):
    """PagerDuty, less the keys."""

    url: Annotated[
        WebUrl | None, doc("PagerDuty API to call. Unset: the global `pagerduty_url`.")
    ] = None
    description: Annotated[
        Text | None,
        doc("Summary of the incident; a template. Unset: `pagerduty.default.description`."),
    ] = None
    severity: Annotated[
        Text | None,
        doc("`critical`, `error`, `warning` or `info`; a template. Unset: `error`."),
    ] = None
    source: Annotated[
        Text | None,
        doc(
            "What is affected, such as a host; a template. Unset: the value of `client`. Needs "
            "Alertmanager 0.25 or newer."
        ),
    ] = None
    component: Annotated[Text | None, doc("Part of the source that is broken; a template.")] = None
    group: Annotated[Text | None, doc("Cluster or group of sources; a template.")] = None
    class_: Annotated[Text | None, doc("Kind of the event, such as `disk full`; a template.")] = (
        None
    )
    details: Annotated[
        tuple[KeyValue, ...] | None,
        doc(
            "Details to show with the incident, on top of the lists and numbers of firing and "
            "resolved alerts.",
            listType="atomic",
        ),
    ] = None
    pager_duty_link_configs: Annotated[
        tuple[PagerDutyLink, ...] | None,
        doc("Links to attach to the incident.", listType="atomic"),
    ] = None
    pager_duty_image_configs: Annotated[
        tuple[PagerDutyImage, ...] | None,
        doc("Images to attach to the incident.", listType="atomic"),
    ] = None
    client: Annotated[
        Text | None,
        doc("Name of the sender to show; a template. Unset: `pagerduty.default.client`."),
    ] = None
    client_url: Annotated[
        str | None,
        doc("Link back to the sender; a template. Unset: `pagerduty.default.clientURL`."),
    ] = None
    timeout: Annotated[
        Duration | None,
        doc(
            "How long to wait for PagerDuty's answer before trying again, as `10s`. Needs "
            "Alertmanager 0.30 or newer."
        ),
    ] = None


class OpsgenieResponder(Model):
    """Somebody responsible for an Opsgenie alert: set one of `id`, `name` and `username`."""

    type: Annotated[
        Text,
        doc(
            "What the responder is. `teams` takes several team names, with commas, in `name` and "
            "needs Alertmanager 0.24 or newer.",
            enum=("team", "teams", "user", "escalation", "schedule"),
        ),
    ] = NO_TEXT
    id: Annotated[Text | None, doc("Opsgenie's id of the responder; a template.")] = None
    name: Annotated[Text | None, doc("Name of the responder; a template.")] = None
    username: Annotated[Text | None, doc("User name of the responder; a template.")] = None


class Opsgenie(Notification, rename=names(api_url="apiURL")):
    """Opsgenie, less the API key."""

    api_url: Annotated[
        WebUrl | None, doc("Opsgenie API to call. Unset: the global `opsgenie_api_url`.")
    ] = None
    message: Annotated[
        Text | None,
        doc("Title, cut at 130 characters; a template. Unset: `opsgenie.default.message`."),
    ] = None
    description: Annotated[
        Text | None,
        doc("Description of the alert; a template. Unset: `opsgenie.default.description`."),
    ] = None
    priority: Annotated[
        Text | None, doc("`P1` (highest) to `P5`; a template. Unset: Opsgenie's own default.")
    ] = None
    responders: Annotated[tuple[OpsgenieResponder, ...] | None, OPSGENIE_RESPONDERS] = None
    tags: Annotated[Text | None, doc("Tags for the alert, with commas; a template.")] = None
    details: Annotated[tuple[KeyValue, ...] | None, OPSGENIE_DETAILS] = None
    note: Annotated[Text | None, doc("Note to add to the alert; a template.")] = None
    source: Annotated[
        Text | None,
        doc("Link back to the sender; a template. Unset: `opsgenie.default.source`."),
    ] = None
    entity: Annotated[
        Text | None,
        doc("Domain that the alert is about, such as a service; a template."),
    ] = None
    actions: Annotated[
        Text | None,
        doc(
            "Actions to offer with the alert, with commas; a template. Needs Alertmanager 0.24 or "
            "newer."
        ),
    ] = None


class VictorOps(Notification):
    """VictorOps, less the API key."""

    routing_key: Annotated[Text, doc("Key that leads to the team to alert; a template.")] = NO_TEXT
    api_url: Annotated[
        WebUrl | None, doc("VictorOps API to call. Unset: the global `victorops_api_url`.")
    ] = None
    message_type: Annotated[
        Text | None, doc("`CRITICAL`, `WARNING` or `INFO`; a template. Unset: `CRITICAL`.")
    ] = None
    entity_display_name: Annotated[
        Text | None,
        doc("Summary of the problem; a template. Unset: `victorops.default.entity_display_name`."),
    ] = None
    state_message: Annotated[
        Text | None,
        doc("Long explanation; a template. Unset: `victorops.default.state_message`."),
    ] = None
    monitoring_tool: Annotated[
        Text | None,
        doc("Name of the sender; a template. Unset: `victorops.default.monitoring_tool`."),
    ] = None
    custom_fields: Annotated[
        tuple[KeyValue, ...] | None,
        doc(
            "Further fields. Names of VictorOps' own fields, such as `routing_key`, are refused.",
            listType="atomic",
        ),
    ] = None


class Pushover(Notification):
    """Pushover, less token and user key."""

    title: Annotated[Text | None, doc("Title; a template. Unset: `pushover.default.title`.")] = None
    message: Annotated[
        Text | None, doc("Message; a template. Unset: `pushover.default.message`.")
    ] = None
    html: Annotated[
        bool | None, doc("Read the message as HTML. Unset: no. Excludes `monospace`.")
    ] = None
    monospace: Annotated[
        bool | None,
        doc(
            "Show the message in a monospaced font. Unset: no. Excludes `html`. Needs "
            "Alertmanager 0.29 or newer."
        ),
    ] = None
    url: Annotated[
        str | None,
        doc("Link to show with the message; a template. Unset: `pushover.default.url`."),
    ] = None
    url_title: Annotated[Text | None, doc("Text of the link; a template. Unset: the URL.")] = None
    priority: Annotated[
        Text | None,
        doc(
            "Pushover priority, -2 to 2; a template. Unset: 2 (asks to be acknowledged) while "
            "firing, else 0."
        ),
    ] = None
    retry: Annotated[
        PositiveDuration | None,
        doc("How often to repeat a priority 2 notification; `30s` or more. Unset: `1m`."),
    ] = None
    expire: Annotated[
        PositiveDuration | None,
        doc("When to stop repeating though nobody acknowledged. Unset: `1h`."),
    ] = None
    ttl: Annotated[
        Duration | None,
        doc("When to delete the notification from devices. Unset: never."),
    ] = None
    device: Annotated[
        Text | None,
        doc("Device of the user to send to. Unset: all."),
    ] = None
    sound: Annotated[
        Text | None, doc("Pushover sound to play. Unset: the one that the user chose.")
    ] = None
