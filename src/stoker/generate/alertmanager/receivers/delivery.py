"""Integrations that deliver to an address: email, webhooks, Amazon SNS."""

from typing import Any, Final

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.checks import all_of, any_of, web_or_template
from stoker.generate.alertmanager.draft import AlertDraft, go_duration, pairs, secret, secret_text
from stoker.generate.alertmanager.receivers.chat import HTTP_CONFIG, SEND_RESOLVED
from stoker.generate.alertmanager.receivers.http import SIGV4, TLS
from stoker.generate.alertmanager.table import (
    ANYTHING,
    COUNT,
    GO_DURATION,
    MAPPING,
    SOME_TEXT,
    SWITCH,
    TEXT,
    one,
)
from stoker.generate.block import Block
from stoker.generate.grammar import Member, Section, TextCheck, by_section, written
from stoker.generate.values import if_any, lower, members
from stoker.validate.alertmanager.syntax import TEMPLATES_IN_URLS, smart_host_problem
from stoker.version import Version

# --- Email ----------------------------------------------------------------------------------------


def host_and_port(key: str) -> TextCheck:
    """A check of a member that is a mail server and its port, if it is set."""

    def check(block: Block, _version: Version, path: str) -> None:
        problem = smart_host_problem(block[key]) if block.get(key) else ""
        if problem:
            raise FieldError(below(path, key), problem)

    return check


def _headers_once(block: Block, _version: Version, path: str) -> None:
    names = [name.lower() for name in block.get("headers") or ()]
    for name in names:
        if names.count(name) > 1:
            raise FieldError(f"{below(path, 'headers')}[{name}]", "is given twice")
        if name in ("references", "in-reply-to") and (block.get("threading") or {}).get("enabled"):
            raise FieldError(f"{below(path, 'headers')}[{name}]", "is set by `threading`")


def _threads(block: Block, _version: Version, path: str) -> None:
    if block.get("enabled") and block.get("thread_by_date") not in ("daily", "none"):
        raise FieldError(below(path, "thread_by_date"), "is not one of `daily`, `none`")


_THREADING: Final = Section(
    (Member("enabled", None, SWITCH), Member("thread_by_date", "thread_by_date", TEXT, lower)),
    checks=(_threads,),
)


def _threading(source: Any, draft: AlertDraft, path: str) -> Block:
    """Whoever has settings for threads wants them."""
    return {"enabled": True} | written(_THREADING.members, source, draft, path)


EMAIL: Final = Section(
    (
        SEND_RESOLVED,
        Member("to", "to", TEXT),
        Member("from", "from_", TEXT),
        Member("hello", "hello", TEXT),
        Member("smarthost", "smarthost", SOME_TEXT),
        Member("auth_username", "auth_username", TEXT),
        Member("auth_password", "auth_password", SOME_TEXT, secret),
        Member("auth_password_file", None, SOME_TEXT, since="0.25.0", unless="auth_password"),
        Member("auth_secret", "auth_secret", SOME_TEXT, secret),
        Member("auth_secret_file", None, SOME_TEXT, since="0.31.0", unless="auth_secret"),
        Member("auth_identity", "auth_identity", TEXT),
        Member("headers", "headers", MAPPING, pairs),
        Member("html", "html", TEXT, keep_empty=True),
        Member("text", "text", TEXT),
        Member("require_tls", "require_tls", SWITCH),
        Member("tls_config", "tls_config", one(TLS), by_section(TLS), keep_empty=True),
        Member("force_implicit_tls", "force_implicit_tls", SWITCH, since="0.31.0"),
        Member("threading", "threading", one(_THREADING), _threading, since="0.30.0"),
    ),
    needs=(all_of("to"), host_and_port("smarthost"), _headers_once),
)


# --- Webhooks -------------------------------------------------------------------------------------


def _url_or_secret(source: Any, draft: AlertDraft, path: str) -> Block:
    """A webhook; a URL in a Secret goes before an open one."""
    block = written(WEBHOOK.members, source, draft, path)
    hidden = secret_text(source.url_secret, draft, below(path, "urlSecret"))
    return block if hidden is None else block | {"url": hidden}


WEBHOOK: Final = Section(
    (
        SEND_RESOLVED,
        Member("url", "url", SOME_TEXT),
        Member("url_file", None, SOME_TEXT, since="0.26.0", unless="url"),
        HTTP_CONFIG,
        Member("max_alerts", "max_alerts", COUNT),
        Member("timeout", "timeout", GO_DURATION, go_duration, since="0.28.0"),
        Member("payload", "payload", ANYTHING, since="0.32.0"),
    ),
    checks=(web_or_template("url", since=TEMPLATES_IN_URLS),),
    needs=(any_of("url", "url_file"),),
    write=_url_or_secret,
)


# --- Amazon SNS -----------------------------------------------------------------------------------


def _one_address(block: Block, _version: Version, path: str) -> None:
    """Alertmanager refuses none and two of them, though not three."""
    if sum(bool(block.get(key)) for key in ("topic_arn", "target_arn", "phone_number")) % 2 == 0:
        raise FieldError(path, "needs one of `topic_arn`, `target_arn` and `phone_number`")


SNS: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("api_url", "api_url", SOME_TEXT),
        Member("sigv4", "sigv4", one(SIGV4), by_section(SIGV4)),
        Member("topic_arn", "topic_arn", SOME_TEXT),
        Member("phone_number", "phone_number", SOME_TEXT),
        Member("target_arn", "target_arn", SOME_TEXT),
        Member("subject", "subject", TEXT),
        Member("message", "message", TEXT),
        Member("attributes", "attributes", MAPPING, members),
        Member("use_aws_http_client", "use_aws_http_client", SWITCH, if_any, since="0.33.0"),
    ),
    checks=(web_or_template("api_url"),),
    needs=(_one_address,),
)
