"""Integrations that post to a chat: Slack, Discord, Teams, Rocket.Chat, Telegram, Webex, WeChat."""

from typing import Final

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.checks import all_of, among, any_of, at_most_one, web
from stoker.generate.alertmanager.draft import go_duration, if_true, items, secret, secret_url
from stoker.generate.alertmanager.receivers.http import HTTP, http_config
from stoker.generate.alertmanager.table import (
    GO_DURATION,
    SOME_TEXT,
    SWITCH,
    TEXT,
    TEXTS,
    WHOLE,
    Row,
    Section,
    listed,
    many,
    one,
    tabled,
)
from stoker.generate.block import Block
from stoker.validate.alertmanager.integrations import SLACK_BOT_URL
from stoker.version import Version

SEND_RESOLVED: Final = Row("send_resolved", SWITCH, "send_resolved")
HTTP_CONFIG: Final = Row("http_config", one(HTTP), "http_config", http_config, keep_empty=True)


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
        Row("text", TEXT, "text"),
        Row("title", TEXT, "title"),
        Row("ok_text", TEXT, "ok_text"),
        Row("dismiss_text", TEXT, "dismiss_text"),
    ),
    needs=(all_of("text"),),
)
_ACTION: Final = Section(
    (
        Row("type", TEXT, "type"),
        Row("text", TEXT, "text"),
        Row("url", TEXT, "url"),
        Row("style", TEXT, "style"),
        Row("name", TEXT, "name"),
        Row("value", TEXT, "value"),
        Row("confirm", one(_CONFIRMATION), "confirm", tabled(_CONFIRMATION)),
    ),
    needs=(all_of("type", "text"), _way_to_act),
)
FIELD: Final = Section(
    (Row("title", TEXT, "title"), Row("value", TEXT, "value"), Row("short", SWITCH, "short")),
    needs=(all_of("title", "value"),),
)
_APP_TOKENS: Final = ("app_token", "app_token_file")
SLACK: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Row("api_url", SOME_TEXT, "api_url", secret_url),
        Row("api_url_file", SOME_TEXT, since="0.22.0", unless="api_url"),
        Row("app_token", SOME_TEXT, since="0.30.0"),
        Row("app_token_file", SOME_TEXT, since="0.30.0", unless="app_token"),
        Row("app_url", SOME_TEXT, since="0.30.0"),
        Row("channel", TEXT, "channel"),
        Row("username", TEXT, "username"),
        Row("color", TEXT, "color"),
        Row("title", TEXT, "title"),
        Row("title_link", TEXT, "title_link"),
        Row("pretext", TEXT, "pretext"),
        Row("text", TEXT, "text"),
        Row("fields", many(FIELD), "fields", listed(FIELD)),
        Row("short_fields", SWITCH, "short_fields", if_true),
        Row("footer", TEXT, "footer"),
        Row("fallback", TEXT, "fallback"),
        Row("callback_id", TEXT, "callback_id"),
        Row("icon_emoji", TEXT, "icon_emoji"),
        Row("icon_url", TEXT, "icon_url"),
        Row("image_url", TEXT, "image_url"),
        Row("thumb_url", TEXT, "thumb_url"),
        Row("link_names", SWITCH, "link_names", if_true),
        Row("mrkdwn_in", TEXTS, "mrkdwn_in", items),
        Row("actions", many(_ACTION), "actions", listed(_ACTION)),
        Row("timeout", GO_DURATION, "timeout", go_duration, since="0.30.0"),
        Row("message_text", TEXT, "message_text", since="0.31.0"),
        Row("update_message", SWITCH, "update_message", since="0.32.0"),
    ),
    checks=(
        _bot_updates,
        *(at_most_one(token, url) for token in _APP_TOKENS for url in ("api_url", "api_url_file")),
    ),
    needs=(web("api_url", "app_url"), _own_bot_url),
)


# --- Rocket.Chat, which copied Slack's messages ---------------------------------------------------

_ROCKETCHAT_FIELD: Final = Section(FIELD.rows)
_ROCKETCHAT_ACTION: Final = Section(
    (
        Row("type", TEXT),
        Row("text", TEXT, "text"),
        Row("url", TEXT, "url"),
        Row("msg", TEXT, "msg"),
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
        Row("api_url", SOME_TEXT, "api_url"),
        Row("token_id", SOME_TEXT, "token_id", secret),
        Row("token_id_file", SOME_TEXT),
        Row("token", SOME_TEXT, "token", secret),
        Row("token_file", SOME_TEXT),
        Row("channel", TEXT, "channel"),
        Row("color", TEXT, "color"),
        Row("title", TEXT, "title"),
        Row("title_link", TEXT, "title_link"),
        Row("text", TEXT, "text"),
        Row("fields", many(_ROCKETCHAT_FIELD), "fields", listed(_ROCKETCHAT_FIELD)),
        Row("short_fields", SWITCH, "short_fields", default=False),
        Row("emoji", TEXT, "emoji"),
        Row("icon_url", TEXT, "icon_url"),
        Row("image_url", TEXT, "image_url"),
        Row("thumb_url", TEXT, "thumb_url"),
        Row("link_names", SWITCH, "link_names", default=False),
        Row("actions", many(_ROCKETCHAT_ACTION), "actions", listed(_ROCKETCHAT_ACTION)),
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
        Row("webhook_url", SOME_TEXT, "api_url", secret_url),
        Row("webhook_url_file", SOME_TEXT, since="0.28.0"),
        Row("title", TEXT, "title"),
        Row("message", TEXT, "message"),
        Row("content", TEXT, "content", since="0.28.0"),
        Row("username", TEXT, "username", since="0.28.0"),
        Row("avatar_url", TEXT, "avatar_url", since="0.28.0"),
    ),
    checks=_ONE_WEBHOOK,
)
TEAMS: Final = Section(
    (
        SEND_RESOLVED,
        Row("webhook_url", SOME_TEXT, "webhook_url", secret_url),
        Row("webhook_url_file", SOME_TEXT, since="0.27.0"),
        Row("title", TEXT, "title"),
        Row("summary", TEXT, "summary", since="0.27.0"),
        Row("text", TEXT, "text"),
        HTTP_CONFIG,
    ),
    checks=_ONE_WEBHOOK,
)
TEAMS_WORKFLOW: Final = Section(
    (
        SEND_RESOLVED,
        Row("webhook_url", SOME_TEXT, "webhook_url", secret_url),
        Row("webhook_url_file", SOME_TEXT),
        Row("title", TEXT, "title"),
        Row("text", TEXT, "text"),
        HTTP_CONFIG,
    ),
    checks=_ONE_WEBHOOK,
)


# --- Telegram, Webex, WeChat ----------------------------------------------------------------------

TELEGRAM: Final = Section(
    (
        SEND_RESOLVED,
        Row("api_url", SOME_TEXT, "api_url"),
        Row("bot_token", SOME_TEXT, "bot_token", secret),
        Row("bot_token_file", SOME_TEXT, "bot_token_file", since="0.26.0", unless="bot_token"),
        Row("chat_id", WHOLE, "chat_id"),
        Row("chat_id_file", SOME_TEXT, since="0.31.0", unless="chat_id"),
        Row("message_thread_id", WHOLE, "message_thread_id", since="0.26.0"),
        Row("message", TEXT, "message"),
        Row("disable_notifications", SWITCH, "disable_notifications", if_true),
        Row("parse_mode", TEXT, "parse_mode"),
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
        Row("api_url", SOME_TEXT, "api_url"),
        Row("message", TEXT, "message"),
        Row("room_id", TEXT, "room_id", default=""),
    ),
    checks=(all_of("room_id"), web("api_url")),
    needs=(_token_of_bot,),
)
WECHAT: Final = Section(
    (
        SEND_RESOLVED,
        Row("api_secret", SOME_TEXT, "api_secret", secret),
        Row("api_url", SOME_TEXT, "api_url"),
        Row("corp_id", TEXT, "corp_id"),
        Row("agent_id", TEXT, "agent_id"),
        Row("to_user", TEXT, "to_user"),
        Row("to_party", TEXT, "to_party"),
        Row("to_tag", TEXT, "to_tag"),
        Row("message", TEXT, "message"),
        Row("message_type", TEXT, "message_type"),
        HTTP_CONFIG,
        Row("api_secret_file", SOME_TEXT, since="0.31.0", unless="api_secret"),
    ),
    checks=(web("api_url"),),
    needs=(among("message_type", "text", "markdown"),),
)
