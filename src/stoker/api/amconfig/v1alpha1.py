"""AlertmanagerConfig v1alpha1, the version in which objects are stored.

What is declared here differs from v1beta1 in one of these ways, or holds something that does:

- a reference to a Secret is Kubernetes' own `SecretKeySelector`, whose `name` may be missing and
  which may be `optional`; v1beta1 needs `name` and `key` and knows no `optional`. Only the Secrets
  typed in this module differ: those declared in `chat` and in `stoker.api.common` do not;
- `regex` of a matcher and `updateAlerts` of Opsgenie are absent in v1beta1. Nested routes are
  plain JSON, so their matchers hide a `regex` too;
- `muteTimeIntervals` of the spec is called `timeIntervals` in v1beta1 (that of a route is not);
- Pushover's `tokenFile` and `userKeyFile` must not be empty;
- `ATOMIC`, `SET` and the key of `receivers` tell the API server how to merge a list; `SET` and the
  key also refuse duplicates. They change nothing in a value.
"""

from typing import Annotated, TypeAlias

from stoker.api.amconfig import chat, delivery, intervals, paging, receivers, routing
from stoker.api.common import ConfigResource, Text
from stoker.api.core import SecretKeySelector
from stoker.api.declare import Model, doc, rule

ATOMIC = rule(listType="atomic")
SET = rule(listType="set")


class HttpConfig(receivers.Http):
    """The HTTP client of an integration."""

    bearer_token_secret: Annotated[SecretKeySelector | None, receivers.BEARER_TOKEN_SECRET] = None


OptionalHttp: TypeAlias = Annotated[HttpConfig | None, receivers.HTTP_CONFIG]


class DiscordConfig(chat.Discord):
    """Posts to a Discord channel."""

    http_config: OptionalHttp = None


class EmailConfig(delivery.Email):
    """Sends email."""

    auth_password: Annotated[SecretKeySelector | None, delivery.EMAIL_AUTH_PASSWORD] = None
    auth_secret: Annotated[SecretKeySelector | None, delivery.EMAIL_AUTH_SECRET] = None
    headers: Annotated[tuple[receivers.KeyValue, ...] | None, delivery.EMAIL_HEADERS, ATOMIC] = None


class TeamsConfig(chat.Teams):
    """Posts to a Microsoft Teams channel through an Office 365 connector."""

    http_config: OptionalHttp = None


class TeamsWorkflowConfig(chat.TeamsWorkflow):
    """Posts to a Microsoft Teams channel through a Power Automate workflow."""

    http_config: OptionalHttp = None


class OpsgenieConfig(paging.Opsgenie):
    """Creates alerts in Opsgenie."""

    api_key: Annotated[SecretKeySelector | None, paging.OPSGENIE_API_KEY] = None
    details: Annotated[tuple[receivers.KeyValue, ...] | None, paging.OPSGENIE_DETAILS, ATOMIC] = (
        None
    )
    responders: Annotated[
        tuple[paging.OpsgenieResponder, ...] | None, paging.OPSGENIE_RESPONDERS, ATOMIC
    ] = None
    update_alerts: Annotated[
        bool | None,
        doc(
            "Change message and description of an alert that exists in Opsgenie. Unset: no, "
            "changes only show in its activity log. Absent in v1beta1."
        ),
    ] = None
    http_config: OptionalHttp = None


class PagerDutyConfig(paging.PagerDuty):
    """Triggers and resolves incidents in PagerDuty."""

    routing_key: Annotated[SecretKeySelector | None, paging.PAGERDUTY_ROUTING_KEY] = None
    service_key: Annotated[SecretKeySelector | None, paging.PAGERDUTY_SERVICE_KEY] = None
    http_config: OptionalHttp = None


class PushoverConfig(paging.Pushover):
    """Notifies a Pushover user."""

    token: Annotated[SecretKeySelector | None, paging.PUSHOVER_TOKEN] = None
    token_file: Annotated[Text | None, paging.PUSHOVER_TOKEN_FILE] = None
    user_key: Annotated[SecretKeySelector | None, paging.PUSHOVER_USER_KEY] = None
    user_key_file: Annotated[Text | None, paging.PUSHOVER_USER_KEY_FILE] = None
    http_config: OptionalHttp = None


class RocketChatConfig(chat.RocketChat):
    """Posts to a Rocket.Chat channel."""

    fields: Annotated[tuple[chat.RocketChatField, ...] | None, chat.ROCKETCHAT_FIELDS, ATOMIC] = (
        None
    )
    actions: Annotated[
        tuple[chat.RocketChatAction, ...] | None, chat.ROCKETCHAT_ACTIONS, ATOMIC
    ] = None
    http_config: OptionalHttp = None


class SlackConfig(chat.Slack):
    """Posts to a Slack channel."""

    api_url: Annotated[SecretKeySelector | None, chat.SLACK_API_URL] = None
    http_config: OptionalHttp = None


class SnsConfig(delivery.Sns):
    """Publishes to Amazon SNS."""

    http_config: OptionalHttp = None


class TelegramConfig(chat.Telegram):
    """Posts to a Telegram chat."""

    bot_token: Annotated[SecretKeySelector | None, chat.TELEGRAM_BOT_TOKEN] = None
    http_config: OptionalHttp = None


class VictorOpsConfig(paging.VictorOps):
    """Alerts a team through VictorOps, today Splunk On-Call."""

    api_key: Annotated[SecretKeySelector | None, paging.VICTOROPS_API_KEY] = None
    http_config: OptionalHttp = None


class WebexConfig(chat.Webex):
    """Posts to a Webex room. The bot's token goes in `httpConfig.authorization`."""

    http_config: OptionalHttp = None


class WebhookConfig(delivery.Webhook):
    """Calls an HTTP endpoint."""

    url_secret: Annotated[SecretKeySelector | None, delivery.WEBHOOK_URL_SECRET] = None
    http_config: OptionalHttp = None


class WeChatConfig(chat.WeChat):
    """Sends messages in WeChat Work."""

    api_secret: Annotated[SecretKeySelector | None, chat.WECHAT_API_SECRET] = None
    http_config: OptionalHttp = None


class Receiver(receivers.NamedReceiver):
    """Where notifications go: any number of integrations, all of which get every notification."""

    discord_configs: Annotated[tuple[DiscordConfig, ...] | None, receivers.DISCORD, ATOMIC] = None
    email_configs: Annotated[tuple[EmailConfig, ...] | None, receivers.EMAIL, ATOMIC] = None
    msteams_configs: Annotated[tuple[TeamsConfig, ...] | None, receivers.MSTEAMS, ATOMIC] = None
    msteamsv2_configs: Annotated[
        tuple[TeamsWorkflowConfig, ...] | None, receivers.MSTEAMSV2, ATOMIC
    ] = None
    opsgenie_configs: Annotated[tuple[OpsgenieConfig, ...] | None, receivers.OPSGENIE, ATOMIC] = (
        None
    )
    pagerduty_configs: Annotated[
        tuple[PagerDutyConfig, ...] | None, receivers.PAGERDUTY, ATOMIC
    ] = None
    pushover_configs: Annotated[tuple[PushoverConfig, ...] | None, receivers.PUSHOVER, ATOMIC] = (
        None
    )
    rocketchat_configs: Annotated[
        tuple[RocketChatConfig, ...] | None, receivers.ROCKETCHAT, ATOMIC
    ] = None
    slack_configs: Annotated[tuple[SlackConfig, ...] | None, receivers.SLACK, ATOMIC] = None
    sns_configs: Annotated[tuple[SnsConfig, ...] | None, receivers.SNS, ATOMIC] = None
    telegram_configs: Annotated[tuple[TelegramConfig, ...] | None, receivers.TELEGRAM, ATOMIC] = (
        None
    )
    victorops_configs: Annotated[
        tuple[VictorOpsConfig, ...] | None, receivers.VICTOROPS, ATOMIC
    ] = None
    webex_configs: Annotated[tuple[WebexConfig, ...] | None, receivers.WEBEX, ATOMIC] = None
    webhook_configs: Annotated[tuple[WebhookConfig, ...] | None, receivers.WEBHOOK, ATOMIC] = None
    wechat_configs: Annotated[tuple[WeChatConfig, ...] | None, receivers.WECHAT, ATOMIC] = None


class Matcher(routing.Matcher):
    """A condition on one label of an alert."""

    regex: Annotated[
        bool | None,
        doc(
            "Deprecated: use `matchType: =~`. True makes a matcher without `matchType` read its "
            "value as an expression. Absent in v1beta1."
        ),
    ] = None


class InhibitRule(routing.InhibitRule):
    """Mutes alerts (targets) while certain other alerts (sources) are firing."""

    source_match: Annotated[tuple[Matcher, ...] | None, routing.SOURCE_MATCH, ATOMIC] = None
    target_match: Annotated[tuple[Matcher, ...] | None, routing.TARGET_MATCH, ATOMIC] = None
    equal: Annotated[tuple[str, ...] | None, routing.EQUAL, ATOMIC] = None


class Route(routing.Route):
    """Sends alerts that match to a receiver, or hands them to a nested route that fits better."""

    matchers: Annotated[tuple[Matcher, ...] | None, routing.MATCHERS, ATOMIC] = None
    group_by: Annotated[tuple[str, ...] | None, routing.GROUP_BY, SET] = None
    mute_time_intervals: Annotated[tuple[str, ...] | None, routing.MUTE_TIME_INTERVALS, SET] = None
    active_time_intervals: Annotated[tuple[str, ...] | None, routing.ACTIVE_TIME_INTERVALS, SET] = (
        None
    )
    routes: Annotated[tuple[routing.NestedRoute, ...] | None, routing.ROUTES, ATOMIC] = None


class TimePeriod(intervals.TimePeriod):
    """Moments that satisfy all of the fields that are set. A field is satisfied by any item."""

    times: Annotated[tuple[intervals.TimeRange, ...] | None, intervals.TIMES, ATOMIC] = None
    weekdays: Annotated[tuple[intervals.WeekdayRange, ...] | None, intervals.WEEKDAYS, ATOMIC] = (
        None
    )
    days_of_month: Annotated[
        tuple[intervals.DayOfMonthRange, ...] | None, intervals.DAYS_OF_MONTH, ATOMIC
    ] = None
    months: Annotated[tuple[intervals.MonthRange, ...] | None, intervals.MONTHS, ATOMIC] = None
    years: Annotated[tuple[intervals.YearRange, ...] | None, intervals.YEARS, ATOMIC] = None


class MuteTimeInterval(intervals.TimeInterval):
    """A named set of periods that routes refer to, to be muted or to be active in it."""

    time_intervals: Annotated[tuple[TimePeriod, ...] | None, intervals.PERIODS, ATOMIC] = None


class AlertmanagerConfigSpec(Model):
    """A part of Alertmanager's configuration, about the alerts of one namespace."""

    route: Annotated[Route | None, routing.ROUTE] = None
    receivers: Annotated[
        tuple[Receiver, ...] | None,
        routing.RECEIVERS,
        rule(listType="map", listMapKeys=("name",)),
    ] = None
    inhibit_rules: Annotated[tuple[InhibitRule, ...] | None, routing.INHIBIT_RULES, ATOMIC] = None
    mute_time_intervals: Annotated[
        tuple[MuteTimeInterval, ...] | None, intervals.INTERVALS, ATOMIC
    ] = None


class AlertmanagerConfig(ConfigResource):
    """Routes the alerts of a namespace to receivers. Alertmanagers select such objects by label."""

    spec: Annotated[
        AlertmanagerConfigSpec, doc("Routes, receivers, inhibition rules and time intervals.")
    ] = AlertmanagerConfigSpec()
