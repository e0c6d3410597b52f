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
    Member,
    Section,
    listed,
    many,
    one,
    tabled,
)
from stoker.generate.block import Block
from stoker.validate.alertmanager.integrations import SLACK_BOT_URL
from stoker.version import Version

SEND_RESOLVED: Final = Member("send_resolved", SWITCH, "send_resolved")
HTTP_CONFIG: Final = Member("http_config", one(HTTP), "http_config", http_config, keep_empty=True)


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
        Member("text", TEXT, "text"),
        Member("title", TEXT, "title"),
        Member("ok_text", TEXT, "ok_text"),
        Member("dismiss_text", TEXT, "dismiss_text"),
    ),
    needs=(all_of("text"),),
)
_ACTION: Final = Section(
    (
        Member("type", TEXT, "type"),
        Member("text", TEXT, "text"),
        Member("url", TEXT, "url"),
        Member("style", TEXT, "style"),
        Member("name", TEXT, "name"),
        Member("value", TEXT, "value"),
        Member("confirm", one(_CONFIRMATION), "confirm", tabled(_CONFIRMATION)),
    ),
    needs=(all_of("type", "text"), _way_to_act),
)
FIELD: Final = Section(
    (
        Member("title", TEXT, "title"),
        Member("value", TEXT, "value"),
        Member("short", SWITCH, "short"),
    ),
    needs=(all_of("title", "value"),),
)
_APP_TOKENS: Final = ("app_token", "app_token_file")
SLACK: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("api_url", SOME_TEXT, "api_url", secret_url),
        Member("api_url_file", SOME_TEXT, since="0.22.0", unless="api_url"),
        Member("app_token", SOME_TEXT, since="0.30.0"),
        Member("app_token_file", SOME_TEXT, since="0.30.0", unless="app_token"),
        Member("app_url", SOME_TEXT, since="0.30.0"),
        Member("channel", TEXT, "channel"),
        Member("username", TEXT, "username"),
        Member("color", TEXT, "color"),
        Member("title", TEXT, "title"),
        Member("title_link", TEXT, "title_link"),
        Member("pretext", TEXT, "pretext"),
        Member("text", TEXT, "text"),
        Member("fields", many(FIELD), "fields", listed(FIELD)),
        Member("short_fields", SWITCH, "short_fields", if_true),
        Member("footer", TEXT, "footer"),
        Member("fallback", TEXT, "fallback"),
        Member("callback_id", TEXT, "callback_id"),
        Member("icon_emoji", TEXT, "icon_emoji"),
        Member("icon_url", TEXT, "icon_url"),
        Member("image_url", TEXT, "image_url"),
        Member("thumb_url", TEXT, "thumb_url"),
        Member("link_names", SWITCH, "link_names", if_true),
        Member("mrkdwn_in", TEXTS, "mrkdwn_in", items),
        Member("actions", many(_ACTION), "actions", listed(_ACTION)),
        Member("timeout", GO_DURATION, "timeout", go_duration, since="0.30.0"),
        Member("message_text", TEXT, "message_text", since="0.31.0"),
        Member("update_message", SWITCH, "update_message", since="0.32.0"),
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
        Member("type", TEXT),
        Member("text", TEXT, "text"),
        Member("url", TEXT, "url"),
        Member("msg", TEXT, "msg"),
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
        Member("api_url", SOME_TEXT, "api_url"),
        Member("token_id", SOME_TEXT, "token_id", secret),
        Member("token_id_file", SOME_TEXT),
        Member("token", SOME_TEXT, "token", secret),
        Member("token_file", SOME_TEXT),
        Member("channel", TEXT, "channel"),
        Member("color", TEXT, "color"),
        Member("title", TEXT, "title"),
        Member("title_link", TEXT, "title_link"),
        Member("text", TEXT, "text"),
        Member("fields", many(_ROCKETCHAT_FIELD), "fields", listed(_ROCKETCHAT_FIELD)),
        Member("short_fields", SWITCH, "short_fields", default=False),
        Member("emoji", TEXT, "emoji"),
        Member("icon_url", TEXT, "icon_url"),
        Member("image_url", TEXT, "image_url"),
        Member("thumb_url", TEXT, "thumb_url"),
        Member("link_names", SWITCH, "link_names", default=False),
        Member("actions", many(_ROCKETCHAT_ACTION), "actions", listed(_ROCKETCHAT_ACTION)),
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
        Member("webhook_url", SOME_TEXT, "api_url", secret_url),
        Member("webhook_url_file", SOME_TEXT, since="0.28.0"),
        Member("title", TEXT, "title"),
        Member("message", TEXT, "message"),
        Member("content", TEXT, "content", since="0.28.0"),
        Member("username", TEXT, "username", since="0.28.0"),
        Member("avatar_url", TEXT, "avatar_url", since="0.28.0"),
    ),
    checks=_ONE_WEBHOOK,
)
TEAMS: Final = Section(
    (
        SEND_RESOLVED,
        Member("webhook_url", SOME_TEXT, "webhook_url", secret_url),
        Member("webhook_url_file", SOME_TEXT, since="0.27.0"),
        Member("title", TEXT, "title"),
        Member("summary", TEXT, "summary", since="0.27.0"),
        Member("text", TEXT, "text"),
        HTTP_CONFIG,
    ),
    checks=_ONE_WEBHOOK,
)
TEAMS_WORKFLOW: Final = Section(
    (
        SEND_RESOLVED,
        Member("webhook_url", SOME_TEXT, "webhook_url", secret_url),
        Member("webhook_url_file", SOME_TEXT),
        Member("title", TEXT, "title"),
        Member("text", TEXT, "text"),
        HTTP_CONFIG,
    ),
    checks=_ONE_WEBHOOK,
)


# --- Telegram, Webex, WeChat ----------------------------------------------------------------------

TELEGRAM: Final = Section(
    (
        SEND_RESOLVED,
        Member("api_url", SOME_TEXT, "api_url"),
        Member("bot_token", SOME_TEXT, "bot_token", secret),
        Member("bot_token_file", SOME_TEXT, "bot_token_file", since="0.26.0", unless="bot_token"),
        Member("chat_id", WHOLE, "chat_id"),
        Member("chat_id_file", SOME_TEXT, since="0.31.0", unless="chat_id"),
        Member("message_thread_id", WHOLE, "message_thread_id", since="0.26.0"),
        Member("message", TEXT, "message"),
        Member("disable_notifications", SWITCH, "disable_notifications", if_true),
        Member("parse_mode", TEXT, "parse_mode"),
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
        Member("api_url", SOME_TEXT, "api_url"),
        Member("message", TEXT, "message"),
        Member("room_id", TEXT, "room_id", default=""),
    ),
    checks=(all_of("room_id"), web("api_url")),
    needs=(_token_of_bot,),
)
WECHAT: Final = Section(
    (
        SEND_RESOLVED,
        Member("api_secret", SOME_TEXT, "api_secret", secret),
        Member("api_url", SOME_TEXT, "api_url"),
        Member("corp_id", TEXT, "corp_id"),
        Member("agent_id", TEXT, "agent_id"),
        Member("to_user", TEXT, "to_user"),
        Member("to_party", TEXT, "to_party"),
        Member("to_tag", TEXT, "to_tag"),
        Member("message", TEXT, "message"),
        Member("message_type", TEXT, "message_type"),
        HTTP_CONFIG,
        Member("api_secret_file", SOME_TEXT, since="0.31.0", unless="api_secret"),
    ),
    checks=(web("api_url"),),
    needs=(among("message_type", "text", "markdown"),),
)
