"""AlertmanagerConfig v1beta1, served beside the stored version.

The docstring of `v1alpha1` lists the differences. Matchers, routes, inhibition rules and time
intervals are those of `routing` and `intervals`, unchanged.
"""

from typing import Annotated, TypeAlias

from stoker.api.amconfig import chat, delivery, intervals, paging, receivers, routing
from stoker.api.common import ConfigResource, Text
from stoker.api.declare import NO_TEXT, Model, doc


class SecretKeySelector(Model):
    """A key of a Secret in the namespace of the object. Unlike Kubernetes' own, never optional."""

    name: Annotated[Text, doc("Name of the Secret.")] = NO_TEXT
    key: Annotated[Text, doc("Key in the Secret whose value is taken.")] = NO_TEXT


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


class TeamsConfig(chat.Teams):
    """Posts to a Microsoft Teams channel through an Office 365 connector."""

    http_config: OptionalHttp = None


class TeamsWorkflowConfig(chat.TeamsWorkflow):
    """Posts to a Microsoft Teams channel through a Power Automate workflow."""

    http_config: OptionalHttp = None


class OpsgenieConfig(paging.Opsgenie):
    """Creates alerts in Opsgenie."""

    api_key: Annotated[SecretKeySelector | None, paging.OPSGENIE_API_KEY] = None
    http_config: OptionalHttp = None


class PagerDutyConfig(paging.PagerDuty):
    """Triggers and resolves incidents in PagerDuty."""

    routing_key: Annotated[SecretKeySelector | None, paging.PAGERDUTY_ROUTING_KEY] = None
    service_key: Annotated[SecretKeySelector | None, paging.PAGERDUTY_SERVICE_KEY] = None
    http_config: OptionalHttp = None


class PushoverConfig(paging.Pushover):
    """Notifies a Pushover user."""

    token: Annotated[SecretKeySelector | None, paging.PUSHOVER_TOKEN] = None
    token_file: Annotated[str | None, paging.PUSHOVER_TOKEN_FILE] = None
    user_key: Annotated[SecretKeySelector | None, paging.PUSHOVER_USER_KEY] = None
    user_key_file: Annotated[str | None, paging.PUSHOVER_USER_KEY_FILE] = None
    http_config: OptionalHttp = None


class RocketChatConfig(chat.RocketChat):
    """Posts to a Rocket.Chat channel."""

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

    discord_configs: Annotated[tuple[DiscordConfig, ...] | None, receivers.DISCORD] = None
    email_configs: Annotated[tuple[EmailConfig, ...] | None, receivers.EMAIL] = None
    msteams_configs: Annotated[tuple[TeamsConfig, ...] | None, receivers.MSTEAMS] = None
    msteamsv2_configs: Annotated[tuple[TeamsWorkflowConfig, ...] | None, receivers.MSTEAMSV2] = None
    opsgenie_configs: Annotated[tuple[OpsgenieConfig, ...] | None, receivers.OPSGENIE] = None
    pagerduty_configs: Annotated[tuple[PagerDutyConfig, ...] | None, receivers.PAGERDUTY] = None
    pushover_configs: Annotated[tuple[PushoverConfig, ...] | None, receivers.PUSHOVER] = None
    rocketchat_configs: Annotated[tuple[RocketChatConfig, ...] | None, receivers.ROCKETCHAT] = None
    slack_configs: Annotated[tuple[SlackConfig, ...] | None, receivers.SLACK] = None
    sns_configs: Annotated[tuple[SnsConfig, ...] | None, receivers.SNS] = None
    telegram_configs: Annotated[tuple[TelegramConfig, ...] | None, receivers.TELEGRAM] = None
    victorops_configs: Annotated[tuple[VictorOpsConfig, ...] | None, receivers.VICTOROPS] = None
    webex_configs: Annotated[tuple[WebexConfig, ...] | None, receivers.WEBEX] = None
    webhook_configs: Annotated[tuple[WebhookConfig, ...] | None, receivers.WEBHOOK] = None
    wechat_configs: Annotated[tuple[WeChatConfig, ...] | None, receivers.WECHAT] = None


class AlertmanagerConfigSpec(Model):
    """A part of Alertmanager's configuration, about the alerts of one namespace."""

    route: Annotated[routing.Route | None, routing.ROUTE] = None
    receivers: Annotated[tuple[Receiver, ...] | None, routing.RECEIVERS] = None
    inhibit_rules: Annotated[tuple[routing.InhibitRule, ...] | None, routing.INHIBIT_RULES] = None
    time_intervals: Annotated[tuple[intervals.TimeInterval, ...] | None, intervals.INTERVALS] = None


class AlertmanagerConfig(ConfigResource):
    """Routes the alerts of a namespace to receivers. Alertmanagers select such objects by label."""

    spec: Annotated[
        AlertmanagerConfigSpec, doc("Routes, receivers, inhibition rules and time intervals.")
    ] = AlertmanagerConfigSpec()
