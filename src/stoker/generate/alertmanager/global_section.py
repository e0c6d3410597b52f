"""The `global` section from `spec.alertmanagerConfiguration.global` of an Alertmanager."""

from typing import Final

from stoker.api.alertmanager import GlobalSettings, SmartHost
from stoker.errors import ResourceError
from stoker.generate.alertmanager.draft import AlertDraft, secret, secret_url
from stoker.generate.alertmanager.receivers.http import TLS, http_config
from stoker.generate.block import Block
from stoker.generate.grammar import Member, Write, by_section, by_table, written
from stoker.validate.syntax import Url, web_url_problem


def _address(host: SmartHost, _draft: AlertDraft, _path: str) -> str:
    name = f"[{host.host}]" if ":" in host.host else host.host
    return f"{name}:{host.port}"


def _web(text: str, _draft: AlertDraft, path: str) -> str:
    problem = web_url_problem(text)
    if problem:
        raise ResourceError(path, problem)
    return text


def _any_url(text: str, _draft: AlertDraft, path: str) -> str:
    """Recorded: PagerDuty's URL may lack its scheme here, so only what is no URL is refused."""
    problem = Url(text).problem
    if problem:
        raise ResourceError(path, problem)
    return text


_SMTP: Final = by_table(
    Member("smtp_from", "from_"),
    Member("smtp_hello", "hello"),
    Member("smtp_smarthost", "smart_host", write=_address),
    Member("smtp_auth_username", "auth_username"),
    Member("smtp_auth_password", "auth_password", write=secret),
    Member("smtp_auth_secret", "auth_secret", write=secret),
    Member("smtp_auth_identity", "auth_identity"),
    Member("smtp_require_tls", "require_tls"),
    Member("smtp_tls_config", "tls_config", write=by_section(TLS)),
    Member("smtp_force_implicit_tls", "force_implicit_tls", since="0.31.0", refused=True),
)
_OWN: Final = (
    Member("resolve_timeout"),
    Member("http_config", write=http_config),
    Member("slack_api_url", write=secret_url),
    Member("pagerduty_url", write=_any_url),
    Member("opsgenie_api_url", "ops_genie_api_url", write=secret_url),
    Member("opsgenie_api_key", "ops_genie_api_key", write=secret),
)
_VICTOROPS: Final = by_table(
    Member("victorops_api_url", "api_url", write=_web),
    Member("victorops_api_key", "api_key", write=secret),
)
_WECHAT: Final = by_table(
    Member("wechat_api_url", "api_url", write=_web),
    Member("wechat_api_secret", "api_secret", write=secret),
    Member("wechat_api_corp_id", "api_corp_id"),
)
_ROCKETCHAT: Final = by_table(
    Member("rocketchat_api_url", "api_url", write=_web),
    Member("rocketchat_token", "token", write=secret),
    Member("rocketchat_token_id", "token_id", write=secret),
)
_MATTERMOST: Final = by_table(Member("mattermost_webhook_url", "webhook_url", write=secret_url))


def _only_url(name: str) -> Write:
    return by_table(Member(name, "api_url", write=_web))


# What is inside of each stands in the section itself. An older version cannot be used with it.
_PARTS: Final = (
    Member("smtp", write=_SMTP),
    Member("victorops", write=_VICTOROPS),
    Member("wechat", write=_WECHAT),
    Member("telegram", write=_only_url("telegram_api_url"), since="0.24.0", refused=True),
    Member("webex", write=_only_url("webex_api_url"), since="0.25.0", refused=True),
    Member("jira", write=_only_url("jira_api_url"), since="0.28.0", refused=True),
    Member("rocket_chat", write=_ROCKETCHAT, since="0.28.0", refused=True),
    Member("mattermost", write=_MATTERMOST, since="0.32.0", refused=True),
)


def global_block(settings: GlobalSettings, draft: AlertDraft, path: str) -> Block:
    """The section; ResourceError for what this version cannot do or where a value is missing."""
    block = written(_OWN, settings, draft, path)
    for part in written(_PARTS, settings, draft, path).values():
        block |= part
    return block
