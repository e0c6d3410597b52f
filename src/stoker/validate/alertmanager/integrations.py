"""Single integrations of a receiver: what Alertmanager asks of each, beyond URLs and references."""

from typing import Any, Final, TypeAlias

from stoker.errors import below
from stoker.select.assets import source_of
from stoker.validate import alerting
from stoker.validate.alertmanager.reading import AlertReading
from stoker.validate.alertmanager.syntax import (
    TEMPLATES_IN_RESPONDERS,
    TEMPLATES_IN_URLS,
    smart_host_problem,
    url_or_template_problem,
)
from stoker.validate.findings import Finding, Findings, Reason, json_name
from stoker.validate.http import conflict, sigv4, tls_config, tls_settings
from stoker.version import needs_version, parse_version

Maybe: TypeAlias = AlertReading | None

# What the type of a responder may have in it, and since when.
RESPONDERS_SINCE: Final = {"teams": "0.24.0", "{{": TEMPLATES_IN_RESPONDERS}
SLACK_BOT_URL: Final = "https://slack.com/api/chat.postMessage"


def _needed(value: Any, path: str, *attributes: str) -> Findings:
    for attribute in attributes:
        if not getattr(value, attribute):
            yield Finding(below(path, json_name(value, attribute)), Reason.REQUIRED, "must be set")


def slack(slack: Any, reading: Maybe, path: str) -> Findings:
    """Complete fields and actions, and the API of bots for messages that change."""
    for index, field in enumerate(slack.fields or ()):
        yield from _needed(field, f"{path}.fields[{index}]", "title", "value")
    for index, action in enumerate(slack.actions or ()):
        where = f"{path}.actions[{index}]"
        yield from _needed(action, where, "type", "text")
        if not action.url and not action.name:
            yield Finding(where, Reason.REQUIRED, "needs `name` or `url`")
        if action.confirm is not None:
            yield from _needed(action.confirm, below(where, "confirm"), "text")
    text = reading.value(slack.api_url) if reading else None
    if slack.update_message and text is not None and text.strip() != SLACK_BOT_URL:
        message = f"needs the API URL of bots, {SLACK_BOT_URL}"
        yield conflict(below(path, "updateMessage"), message)


def opsgenie(opsgenie: Any, reading: Maybe, path: str) -> Findings:
    """Responders who can be told apart."""
    for index, responder in enumerate(opsgenie.responders or ()):
        where = f"{path}.responders[{index}]"
        yield from alerting.opsgenie_responder(
            responder, where, reading.version if reading else None
        )
        for sort, since in RESPONDERS_SINCE.items():
            if reading and sort in responder.type and reading.version < parse_version(since):
                message = f"`{sort}` {needs_version('Alertmanager', since)}"
                yield Finding(below(where, "type"), Reason.UNSUPPORTED_VERSION, message)


def pagerduty(pagerduty: Any, reading: Maybe, path: str) -> Findings:
    """A key, and links that lead somewhere."""
    keys = (pagerduty.routing_key, pagerduty.service_key)
    if not any(source_of(key, "") for key in keys):
        yield Finding(path, Reason.REQUIRED, "needs `routingKey` or `serviceKey`")
    parts = ("pager_duty_link_configs", "pager_duty_image_configs")
    for attribute in parts:
        shown = json_name(pagerduty, attribute)
        for index, part in enumerate(getattr(pagerduty, attribute) or ()):
            problem = url_or_template_problem(part.href or "", reading.version if reading else None)
            if problem:
                where = f"{below(path, shown)}[{index}].href"
                yield Finding(where, Reason.INVALID_VALUE, problem)


def pushover(pushover: Any, _reading: Maybe, path: str) -> Findings:
    """A user, an application, and one format."""
    pairs = (("user_key", "user_key_file"), ("token", "token_file"))
    for reference, file in pairs:
        if not source_of(getattr(pushover, reference), "") and not getattr(pushover, file):
            names = f"`{json_name(pushover, reference)}` or `{json_name(pushover, file)}`"
            yield Finding(path, Reason.REQUIRED, f"needs {names}")
    if pushover.html and pushover.monospace:
        yield conflict(below(path, "monospace"), "excludes `html`")


def sns(sns: Any, reading: Maybe, path: str) -> Findings:
    """One address, and credentials that belong together."""
    given = [sns.topic_arn, sns.target_arn, sns.phone_number]
    # Alertmanager refuses none and two of them, though not three.
    if sum(map(bool, given)) % 2 == 0:
        message = "needs one of `topicARN`, `targetARN` and `phoneNumber`"
        yield Finding(path, Reason.REQUIRED, message)
    if sns.sigv4 is None:
        return
    where = below(path, "sigv4")
    if sns.sigv4.external_id and not sns.sigv4.role_arn:
        yield conflict(below(where, "externalId"), "needs `roleArn`")
    if reading:
        yield from sigv4(sns.sigv4, reading, where)


def telegram(telegram: Any, _reading: Maybe, path: str) -> Findings:
    """A chat, one token, and a known markup."""
    if not telegram.chat_id:
        yield Finding(below(path, "chatID"), Reason.REQUIRED, "must be set")
    if source_of(telegram.bot_token, "") and telegram.bot_token_file:
        yield conflict(below(path, "botTokenFile"), "excludes `botToken`")
    if telegram.parse_mode not in (None, "", "MarkdownV2", "Markdown", "HTML"):
        message = "is not one of `MarkdownV2`, `Markdown`, `HTML`"
        yield Finding(below(path, "parseMode"), Reason.INVALID_VALUE, message)


VICTOROPS_OWN: Final = (
    "routing_key",
    "message_type",
    "state_message",
    "entity_display_name",
    "monitoring_tool",
    "entity_id",
    "entity_state",
)


def victorops(victorops: Any, _reading: Maybe, path: str) -> Findings:
    """A team, and no field of VictorOps itself."""
    yield from _needed(victorops, path, "routing_key")
    for index, field in enumerate(victorops.custom_fields or ()):
        if field.key in VICTOROPS_OWN:
            message = f"`{field.key}` is a field of VictorOps itself"
            yield Finding(f"{path}.customFields[{index}].key", Reason.INVALID_VALUE, message)


def webex(webex: Any, _reading: Maybe, path: str) -> Findings:
    """A room, and the token of a bot."""
    yield from _needed(webex, path, "room_id")
    client = webex.http_config
    if client is None or not (client.authorization or source_of(client.bearer_token_secret, "")):
        message = "must be set: it holds the token of the bot"
        yield Finding(below(path, "httpConfig.authorization"), Reason.REQUIRED, message)


def webhook(webhook: Any, reading: Maybe, path: str) -> Findings:
    """A URL, open or in a Secret, that the version can read."""
    if not webhook.url and not source_of(webhook.url_secret, ""):
        yield Finding(path, Reason.REQUIRED, "needs `url` or `urlSecret`")
    text = (reading.value(webhook.url_secret) if reading else None) or ""
    version = reading.version if reading else None
    problem = url_or_template_problem(text.strip(), version, secret=True)
    if problem:
        yield Finding(below(path, "urlSecret"), Reason.INVALID_VALUE, f"the value {problem}")
    templated = "{{" in (text or webhook.url or "")
    if templated and reading and reading.version < parse_version(TEMPLATES_IN_URLS):
        message = f"templates in URLs need Alertmanager {TEMPLATES_IN_URLS} or newer"
        yield Finding(below(path, "url"), Reason.UNSUPPORTED_VERSION, message)
    if (webhook.max_alerts or 0) < 0:
        yield Finding(below(path, "maxAlerts"), Reason.INVALID_VALUE, "must not be negative")


def wechat(wechat: Any, _reading: Maybe, path: str) -> Findings:
    """A known type of message."""
    if wechat.message_type not in (None, "", "text", "markdown"):
        message = "is not one of `text`, `markdown`"
        yield Finding(below(path, "messageType"), Reason.INVALID_VALUE, message)


def email(email: Any, reading: Maybe, path: str) -> Findings:
    """A recipient, a server with its port, and each header once."""
    yield from _needed(email, path, "to")
    problem = smart_host_problem(email.smarthost) if email.smarthost else ""
    if problem:
        yield Finding(below(path, "smarthost"), Reason.INVALID_VALUE, problem)
    yield from _email_headers(email, path)
    if email.threading and email.threading.thread_by_date not in ("Daily", "None"):
        where = below(path, "threading.threadByDate")
        yield Finding(where, Reason.INVALID_VALUE, "is not one of `Daily`, `None`")
    where = below(path, "tlsConfig")
    if reading:
        yield from tls_config(email.tls_config, reading, where)
    else:
        yield from tls_settings(email.tls_config, where)


def _email_headers(email: Any, path: str) -> Findings:
    seen = set()
    for index, header in enumerate(email.headers or ()):
        name, where = header.key.lower(), f"{path}.headers[{index}].key"
        if name in seen:
            yield Finding(where, Reason.DUPLICATE, f"`{header.key}` is given twice")
        elif email.threading and name in ("references", "in-reply-to"):
            yield conflict(where, "is set by `threading`")
        seen.add(name)
