"""The `global` section from `spec.alertmanagerConfiguration.global` of an Alertmanager."""

from typing import Any, Final

from stoker.api.alertmanager import GlobalSettings, SmartHost
from stoker.errors import ResourceError, below
from stoker.generate.alertmanager.draft import AlertDraft, secret, secret_url
from stoker.generate.alertmanager.receivers.http import TLS, http_config
from stoker.generate.alertmanager.table import ANYTHING, Member, Section, Write, tabled, written
from stoker.generate.block import Block
from stoker.validate.syntax import Url, web_url_problem
from stoker.version import parse_version


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


def _rows(*rows: tuple[str, str, Write | None]) -> Section:
    return Section(tuple(Member(key, ANYTHING, field, write) for key, field, write in rows))


_SMTP: Final = _rows(
    ("smtp_from", "from_", None),
    ("smtp_hello", "hello", None),
    ("smtp_smarthost", "smart_host", _address),
    ("smtp_auth_username", "auth_username", None),
    ("smtp_auth_password", "auth_password", secret),
    ("smtp_auth_secret", "auth_secret", secret),
    ("smtp_auth_identity", "auth_identity", None),
    ("smtp_require_tls", "require_tls", None),
    ("smtp_tls_config", "tls_config", tabled(TLS)),
    ("smtp_force_implicit_tls", "force_implicit_tls", None),
)
_OWN: Final = _rows(
    ("resolve_timeout", "resolve_timeout", None),
    ("http_config", "http_config", http_config),
    ("slack_api_url", "slack_api_url", secret_url),
    ("pagerduty_url", "pagerduty_url", _any_url),
    ("opsgenie_api_url", "ops_genie_api_url", secret_url),
    ("opsgenie_api_key", "ops_genie_api_key", secret),
)
_VICTOROPS: Final = _rows(
    ("victorops_api_url", "api_url", _web), ("victorops_api_key", "api_key", secret)
)
_WECHAT: Final = _rows(
    ("wechat_api_url", "api_url", _web),
    ("wechat_api_secret", "api_secret", secret),
    ("wechat_api_corp_id", "api_corp_id", None),
)
_ROCKETCHAT: Final = _rows(
    ("rocketchat_api_url", "api_url", _web),
    ("rocketchat_token", "token", secret),
    ("rocketchat_token_id", "token_id", secret),
)
# Each with the first version that knows it; an older one cannot be used with it.
_PARTS: Final = (
    ("smtp", _SMTP, ""),
    ("victorops", _VICTOROPS, ""),
    ("wechat", _WECHAT, ""),
    ("telegram", _rows(("telegram_api_url", "api_url", _web)), "0.24.0"),
    ("webex", _rows(("webex_api_url", "api_url", _web)), "0.25.0"),
    ("jira", _rows(("jira_api_url", "api_url", _web)), "0.28.0"),
    ("rocket_chat", _ROCKETCHAT, "0.28.0"),
    ("mattermost", _rows(("mattermost_webhook_url", "webhook_url", secret_url)), "0.32.0"),
)
_NEW_SMTP: Final = {"smtp_force_implicit_tls": ("forceImplicitTLS", "0.31.0")}


def global_block(settings: GlobalSettings, draft: AlertDraft, path: str) -> Block:
    """The section; ResourceError for what this version cannot do or where a value is missing."""
    block = written(_OWN, settings, draft, path)
    for field, section, since in _PARTS:
        part: Any = getattr(settings, field)
        if part is None:
            continue
        where = below(path, _json_name(field))
        _refuse_new(draft, since, where)
        block |= written(section, part, draft, where)
    for key, (name, since) in _NEW_SMTP.items():
        if key in block:
            _refuse_new(draft, since, f"{path}.smtp.{name}")
    return block


def _refuse_new(draft: AlertDraft, since: str, path: str) -> None:
    if since and draft.version < parse_version(since):
        raise ResourceError(path, f"needs Alertmanager {since} or newer")


def _json_name(field: str) -> str:
    return "rocketChat" if field == "rocket_chat" else field
