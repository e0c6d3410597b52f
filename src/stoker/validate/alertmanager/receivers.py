"""Receivers of an AlertmanagerConfig: what Alertmanager would refuse, and values that are missing.

Alertmanager refuses a whole file for one receiver, so everything that it asks of one is asked here
of the object that the receiver is in. What an integration refers to, and which fields hold a URL or
a duration, are tables; the rest is in `amintegrations`.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from stoker.errors import below
from stoker.validate import alerting
from stoker.validate.alertmanager import integrations
from stoker.validate.alertmanager.integrations import Maybe
from stoker.validate.alertmanager.reading import AlertReading
from stoker.validate.alertmanager.syntax import url_or_template_problem
from stoker.validate.findings import Finding, Findings, Reason, json_name, json_names
from stoker.validate.http import http_client, tls_settings
from stoker.validate.syntax import milliseconds, web_url_problem
from stoker.version import needs_version, parse_version

ReceiverCheck: TypeAlias = Callable[[Any, Maybe, str], Findings]

# The first Alertmanager that knows a list of integrations; an older one refuses the whole file.
SINCE: Final = {
    "sns_configs": "0.23.0",
    "telegram_configs": "0.24.0",
    "discord_configs": "0.25.0",
    "webex_configs": "0.25.0",
    "msteams_configs": "0.26.0",
    "msteamsv2_configs": "0.28.0",
    "rocketchat_configs": "0.28.0",
}
# Fields without which something else would be sent, or in another way, than was asked for.
_REFUSED: Final = {
    ("email_configs", "threading"): "0.30.0",
    ("email_configs", "force_implicit_tls"): "0.31.0",
    ("slack_configs", "update_message"): "0.32.0",
    ("webhook_configs", "payload"): "0.32.0",
}
_URLS: Final = {
    "opsgenie_configs": ("api_url",),
    "pagerduty_configs": ("url",),
    "rocketchat_configs": ("api_url",),
    "telegram_configs": ("api_url",),
    "victorops_configs": ("api_url",),
    "webex_configs": ("api_url",),
    "wechat_configs": ("api_url",),
}
_TEMPLATE_URLS: Final = {
    "pagerduty_configs": ("client_url",),
    "pushover_configs": ("url",),
    "sns_configs": ("api_url",),
    "webhook_configs": ("url",),
}
_DURATIONS: Final = {
    "pagerduty_configs": ("timeout",),
    "pushover_configs": ("retry", "expire", "ttl"),
    "slack_configs": ("timeout",),
    "webhook_configs": ("timeout",),
}
_FILES: Final = {
    "pushover_configs": ("token_file", "user_key_file"),
    "telegram_configs": ("bot_token_file",),
}
_REQUIRED: Final = {
    "discord_configs": ("api_url",),
    "msteams_configs": ("webhook_url",),
    "msteamsv2_configs": ("webhook_url",),
    "rocketchat_configs": ("token", "token_id"),
}
_SECRETS: Final = {
    "email_configs": ("auth_password", "auth_secret"),
    "opsgenie_configs": ("api_key",),
    "pagerduty_configs": ("routing_key", "service_key"),
    "pushover_configs": ("token", "user_key"),
    "slack_configs": ("api_url",),
    "telegram_configs": ("bot_token",),
    "victorops_configs": ("api_key",),
    "webhook_configs": ("url_secret",),
    "wechat_configs": ("api_secret",),
}
_SECRET_URLS: Final = {
    "discord_configs": ("api_url",),
    "msteams_configs": ("webhook_url",),
    "msteamsv2_configs": ("webhook_url",),
    "slack_configs": ("api_url",),
}


def receivers(given: Iterable[Any] | None, reading: Maybe, path: str) -> Findings:
    """All receivers of an object."""
    seen: set[str] = set()
    for index, receiver in enumerate(given or ()):
        where = f"{path}[{index}]"
        if not receiver.name:
            yield Finding(below(where, "name"), Reason.REQUIRED, "must be set")
        elif receiver.name in seen:
            message = f"there are two receivers `{receiver.name}`"
            yield Finding(below(where, "name"), Reason.DUPLICATE, message)
        seen.add(receiver.name)
        yield from _receiver(receiver, reading, where)


def _receiver(receiver: Any, reading: Maybe, path: str) -> Findings:
    model: Any = type(receiver)
    for name, shown in json_names(model).items():
        given = getattr(receiver, name)
        if name == "name" or not given:
            continue
        since = SINCE.get(name, "")
        if reading and since and reading.version < parse_version(since):
            message = needs_version("Alertmanager", since)
            yield Finding(below(path, shown), Reason.UNSUPPORTED_VERSION, message)
        for index, integration in enumerate(given):
            yield from _integration(name, integration, reading, f"{below(path, shown)}[{index}]")


def _integration(name: str, integration: Any, reading: Maybe, path: str) -> Findings:
    yield from _texts(name, integration, reading, path)
    for check in _CHECKS.get(name, ()):
        yield from check(integration, reading, path)
    yield from _client(integration, reading, path)
    if reading:
        yield from _for_version(name, integration, reading, path)
        yield from _references(name, integration, reading, path)


def _texts(name: str, integration: Any, reading: Maybe, path: str) -> Findings:
    """URLs and durations."""
    version = reading.version if reading else None
    checks: tuple[tuple[Any, Callable[[str], str]], ...] = (
        (_URLS, web_url_problem),
        (_TEMPLATE_URLS, partial(url_or_template_problem, version=version)),
        (_DURATIONS, _duration_problem),
    )
    for table, problem_of in checks:
        for attribute in table.get(name, ()):
            text = getattr(integration, attribute)
            problem = problem_of(text) if text else ""
            if problem:
                where = below(path, json_name(integration, attribute))
                yield Finding(where, Reason.INVALID_VALUE, problem)


def _duration_problem(text: str) -> str:
    return "" if milliseconds(text) is not None else f"`{text[:40]}` is not a duration such as 5m"


def _client(integration: Any, reading: Maybe, path: str) -> Findings:
    """The HTTP client; its old `proxyURL` goes before the new one."""
    client = getattr(integration, "http_config", None)
    if client is None:
        return
    where = below(path, "httpConfig")
    yield from alerting.http_client(client, where)
    if reading is None:
        yield from tls_settings(client.tls_config, below(where, "tlsConfig"))
        return
    url = client.deprecated_proxy_url or client.proxy_url
    yield from _not_twice(http_client(replace(client, proxy_url=url), reading, where), client)


def _not_twice(findings: Findings, client: Any) -> Findings:
    """Without what the check of the client alone has said: two credentials of the three."""
    three = (client.authorization, client.basic_auth, client.oauth2)
    said = sum(value is not None for value in three) > 1
    return (each for each in findings if not (said and "exclude each other" in each.message))


def _for_version(name: str, integration: Any, reading: AlertReading, path: str) -> Findings:
    for (kind, attribute), since in _REFUSED.items():
        if kind != name or reading.version >= parse_version(since):
            continue
        if getattr(integration, attribute) is not None:
            message = needs_version("Alertmanager", since)
            where = below(path, json_name(integration, attribute))
            yield Finding(where, Reason.UNSUPPORTED_VERSION, message)
    for attribute in _FILES.get(name, ()):
        if reading.deny_files and getattr(integration, attribute):
            message = "files of the container must not be named: the operator forbids it"
            where = below(path, json_name(integration, attribute))
            yield Finding(where, Reason.FILE_ACCESS_FORBIDDEN, message)


def _references(name: str, integration: Any, reading: AlertReading, path: str) -> Findings:
    for attribute in _REQUIRED.get(name, ()):
        where = below(path, json_name(integration, attribute))
        yield from reading.unresolved(getattr(integration, attribute), where)
    for attribute in _SECRETS.get(name, ()):
        where = below(path, json_name(integration, attribute))
        yield from reading.unresolved_if_named(getattr(integration, attribute), where)
    for attribute in _SECRET_URLS.get(name, ()):
        text = reading.value(getattr(integration, attribute))
        problem = web_url_problem(text.strip()) if text is not None else ""
        if problem:
            where = below(path, json_name(integration, attribute))
            yield Finding(where, Reason.INVALID_VALUE, f"the value {problem}")


_CHECKS: Final[dict[str, tuple[ReceiverCheck, ...]]] = {
    "email_configs": (integrations.email,),
    "opsgenie_configs": (integrations.opsgenie,),
    "pagerduty_configs": (integrations.pagerduty,),
    "pushover_configs": (integrations.pushover,),
    "slack_configs": (integrations.slack,),
    "sns_configs": (integrations.sns,),
    "telegram_configs": (integrations.telegram,),
    "victorops_configs": (integrations.victorops,),
    "webex_configs": (integrations.webex,),
    "webhook_configs": (integrations.webhook,),
    "wechat_configs": (integrations.wechat,),
}
