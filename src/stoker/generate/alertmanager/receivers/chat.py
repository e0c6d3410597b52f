"""Integrations that post to a chat: Slack, Discord, Teams, Rocket.Chat, Telegram, Webex, WeChat."""

from typing import Final

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.checks import all_of, among, any_of, at_most_one, web
from stoker.generate.alertmanager.draft import go_duration, secret, secret_url
from stoker.generate.alertmanager.receivers.http import HTTP, http_config
from stoker.generate.alertmanager.table import (
    GO_DURATION,
    SOME_TEXT,
    SWITCH,
    TEXT,
    TEXTS,
    WHOLE,
    many,
    one,
)
from stoker.generate.block import Block
from stoker.generate.grammar import Member, Section, by_section, each_by
from stoker.generate.values import if_any, items
from stoker.validate.alertmanager.integrations import SLACK_BOT_URL
from stoker.version import Version

SEND_RESOLVED: Final = Member("send_resolved", "send_resolved", SWITCH)
HTTP_CONFIG: Final = Member("http_config", "http_config", one(HTTP), http_config, keep_empty=True)


# --- Slack ----------------------------------------------------------------------------------------


def _bot_updates(block: Block, _version: Version, path: str) -> None:
    if block.get("update_message") and block.get("api_url", SLACK_BOT_URL) != SLACK_BOT_URL:
        where = below(path, "update_message")
        raise FieldError(where, f"needs the `api_url` of bots, {SLACK_BOT_URL}")


def _own_bot_url(block: Block, _version: Version, path: str) -> None:
    """Alertmanager up to 0.34 crashes where the URL of bots is only a global one."""
    if block.get("update_message") and not block.get("api_url"):
        raise FieldError(below(path, "update_message"), f"needs the `api_url` {SLACK_BOT_URL}")


def _way_to_act(block: Block, _version: Version, path: str) -> None:
    if not block.get("url") and not block.get("name"):
        raise FieldError(path, "needs `name` or `url`")


_CONFIRMATION: Final = Section(
    (
        Member("text", "text", TEXT),
        Member("title", "title", TEXT),
        Member("ok_text", "ok_text", TEXT),
        Member("dismiss_text", "dismiss_text", TEXT),
    ),
    needs=(all_of("text"),),
)
_ACTION: Final = Section(
    (
        Member("type", "type", TEXT),
        Member("text", "text", TEXT),
        Member("url", "url", TEXT),
        Member("style", "style", TEXT),
        Member("name", "name", TEXT),
        Member("value", "value", TEXT),
        Member("confirm", "confirm", one(_CONFIRMATION), by_section(_CONFIRMATION)),
    ),
    needs=(all_of("type", "text"), _way_to_act),
)
FIELD: Final = Section(
    (
        Member("title", "title", TEXT),
        Member("value", "value", TEXT),
        Member("short", "short", SWITCH),
    ),
    needs=(all_of("title", "value"),),
)
_APP_TOKENS: Final = ("app_token", "app_token_file")
SLACK: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("api_url", "api_url", SOME_TEXT, secret_url),
        Member("api_url_file", None, SOME_TEXT, since="0.22.0", unless="api_url"),
        Member("app_token", None, SOME_TEXT, since="0.30.0"),
        Member("app_token_file", None, SOME_TEXT, since="0.30.0", unless="app_token"),
        Member("app_url", None, SOME_TEXT, since="0.30.0"),
        Member("channel", "channel", TEXT),
        Member("username", "username", TEXT),
        Member("color", "color", TEXT),
        Member("title", "title", TEXT),
        Member("title_link", "title_link", TEXT),
        Member("pretext", "pretext", TEXT),
        Member("text", "text", TEXT),
        Member("fields", "fields", many(FIELD), each_by(FIELD)),
        Member("short_fields", "short_fields", SWITCH, if_any),
        Member("footer", "footer", TEXT),
        Member("fallback", "fallback", TEXT),
        Member("callback_id", "callback_id", TEXT),
        Member("icon_emoji", "icon_emoji", TEXT),
        Member("icon_url", "icon_url", TEXT),
        Member("image_url", "image_url", TEXT),
        Member("thumb_url", "thumb_url", TEXT),
        Member("link_names", "link_names", SWITCH, if_any),
        Member("mrkdwn_in", "mrkdwn_in", TEXTS, items),
        Member("actions", "actions", many(_ACTION), each_by(_ACTION)),
        Member("timeout", "timeout", GO_DURATION, go_duration, since="0.30.0"),
        Member("message_text", "message_text", TEXT, since="0.31.0"),
        Member("update_message", "update_message", SWITCH, since="0.32.0"),
    ),
    checks=(
        _bot_updates,
        *(at_most_one(token, url) for token in _APP_TOKENS for url in ("api_url", "api_url_file")),
    ),
    needs=(web("api_url", "app_url"), _own_bot_url),
)


# --- Rocket.Chat, which copied Slack's messages ---------------------------------------------------

_ROCKETCHAT_FIELD: Final = Section(FIELD.members)
_ROCKETCHAT_ACTION: Final = Section(
    (
        Member("type", None, TEXT),
        Member("text", "text", TEXT),
        Member("url", "url", TEXT),
        Member("msg", "msg", TEXT),
    )
)


def _readable_tokens(block: Block, _version: Version, path: str) -> None:
    """Alertmanager's reader takes even a quoted `null` for nothing here, and then refuses it."""
    for key in ("token", "token_id"):
        if block.get(key) in ("null", "~"):
            raise FieldError(below(path, key), "Alertmanager cannot read this value")


ROCKETCHAT: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("api_url", "api_url", SOME_TEXT),
        Member("token_id", "token_id", SOME_TEXT, secret),
        Member("token_id_file", None, SOME_TEXT),
        Member("token", "token", SOME_TEXT, secret),
        Member("token_file", None, SOME_TEXT),
        Member("channel", "channel", TEXT),
        Member("color", "color", TEXT),
        Member("title", "title", TEXT),
        Member("title_link", "title_link", TEXT),
        Member("text", "text", TEXT),
        Member("fields", "fields", many(_ROCKETCHAT_FIELD), each_by(_ROCKETCHAT_FIELD)),
        Member("short_fields", "short_fields", SWITCH, default=False),
        Member("emoji", "emoji", TEXT),
        Member("icon_url", "icon_url", TEXT),
        Member("image_url", "image_url", TEXT),
        Member("thumb_url", "thumb_url", TEXT),
        Member("link_names", "link_names", SWITCH, default=False),
        Member("actions", "actions", many(_ROCKETCHAT_ACTION), each_by(_ROCKETCHAT_ACTION)),
    ),
    checks=(
        at_most_one("token", "token_file"),
        at_most_one("token_id", "token_id_file"),
        web("api_url"),
    ),
    needs=(_readable_tokens,),
)


# --- Discord and Teams ----------------------------------------------------------------------------

_ONE_WEBHOOK: Final = (
    at_most_one("webhook_url", "webhook_url_file"),
    any_of("webhook_url", "webhook_url_file"),
    web("webhook_url"),
)
DISCORD: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("webhook_url", "api_url", SOME_TEXT, secret_url),
        Member("webhook_url_file", None, SOME_TEXT, since="0.28.0"),
        Member("title", "title", TEXT),
        Member("message", "message", TEXT),
        Member("content", "content", TEXT, since="0.28.0"),
        Member("username", "username", TEXT, since="0.28.0"),
        Member("avatar_url", "avatar_url", TEXT, since="0.28.0"),
    ),
    checks=_ONE_WEBHOOK,
)
TEAMS: Final = Section(
    (
        SEND_RESOLVED,
        Member("webhook_url", "webhook_url", SOME_TEXT, secret_url),
        Member("webhook_url_file", None, SOME_TEXT, since="0.27.0"),
        Member("title", "title", TEXT),
        Member("summary", "summary", TEXT, since="0.27.0"),
        Member("text", "text", TEXT),
        HTTP_CONFIG,
    ),
    checks=_ONE_WEBHOOK,
)
TEAMS_WORKFLOW: Final = Section(
    (
        SEND_RESOLVED,
        Member("webhook_url", "webhook_url", SOME_TEXT, secret_url),
        Member("webhook_url_file", None, SOME_TEXT),
        Member("title", "title", TEXT),
        Member("text", "text", TEXT),
        HTTP_CONFIG,
    ),
    checks=_ONE_WEBHOOK,
)


# --- Telegram, Webex, WeChat ----------------------------------------------------------------------

TELEGRAM: Final = Section(
    (
        SEND_RESOLVED,
        Member("api_url", "api_url", SOME_TEXT),
        Member("bot_token", "bot_token", SOME_TEXT, secret),
        Member("bot_token_file", "bot_token_file", SOME_TEXT, since="0.26.0", unless="bot_token"),
        Member("chat_id", "chat_id", WHOLE),
        Member("chat_id_file", None, SOME_TEXT, since="0.31.0", unless="chat_id"),
        Member("message_thread_id", "message_thread_id", WHOLE, since="0.26.0"),
        Member("message", "message", TEXT),
        Member("disable_notifications", "disable_notifications", SWITCH, if_any),
        Member("parse_mode", "parse_mode", TEXT),
        HTTP_CONFIG,
    ),
    # From 0.31 on there can be a global token.
    checks=(
        any_of("bot_token", "bot_token_file", until="0.31.0"),
        any_of("chat_id", "chat_id_file"),
        web("api_url"),
    ),
    needs=(among("parse_mode", "Markdown", "MarkdownV2", "HTML"),),
)


def _token_of_bot(block: Block, _version: Version, path: str) -> None:
    """Alertmanager takes a token that stands there in the old way for an authorization."""
    client = block.get("http_config") or {}
    if not any(client.get(key) for key in ("authorization", "bearer_token", "bearer_token_file")):
        raise FieldError(below(path, "http_config.authorization"), "must be set")


WEBEX: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("api_url", "api_url", SOME_TEXT),
        Member("message", "message", TEXT),
        Member("room_id", "room_id", TEXT, default=""),
    ),
    checks=(all_of("room_id"), web("api_url")),
    needs=(_token_of_bot,),
)
WECHAT: Final = Section(
    (
        SEND_RESOLVED,
        Member("api_secret", "api_secret", SOME_TEXT, secret),
        Member("api_url", "api_url", SOME_TEXT),
        Member("corp_id", "corp_id", TEXT),
        Member("agent_id", "agent_id", TEXT),
        Member("to_user", "to_user", TEXT),
        Member("to_party", "to_party", TEXT),
        Member("to_tag", "to_tag", TEXT),
        Member("message", "message", TEXT),
        Member("message_type", "message_type", TEXT),
        HTTP_CONFIG,
        Member("api_secret_file", None, SOME_TEXT, since="0.31.0", unless="api_secret"),
    ),
    checks=(web("api_url"),),
    needs=(among("message_type", "text", "markdown"),),
)
