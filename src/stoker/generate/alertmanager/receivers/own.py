"""Integrations that no AlertmanagerConfig has: Jira, incident.io, Mattermost."""

from typing import Final

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.checks import (
    all_of,
    among,
    any_of,
    at_most_one,
    web,
    web_or_template,
)
from stoker.generate.alertmanager.receivers.chat import FIELD, HTTP_CONFIG, SEND_RESOLVED
from stoker.generate.alertmanager.table import (
    COUNT,
    DURATION,
    GO_DURATION,
    OBJECT_OF_ANYTHING,
    SOME_TEXT,
    SWITCH,
    TEXT,
    TEXTS,
    Kind,
    Row,
    Section,
    many,
    one,
)
from stoker.generate.block import Block
from stoker.version import Version, parse_version

# --- Jira -----------------------------------------------------------------------------------------


def _plain_field(block: Block, version: Version, path: str) -> None:
    for key in ("summary", "description"):
        if isinstance(block.get(key), dict) and version < parse_version("0.30.0"):
            raise FieldError(below(path, key), "only Alertmanager 0.30.0 or newer takes a mapping")


_FIELD_SECTION: Final = Section((Row("template", TEXT), Row("enable_update", SWITCH)))


def _read_field(words: object, path: str) -> object:
    """A template, or a mapping with one."""
    kind = one(_FIELD_SECTION) if isinstance(words, dict) else TEXT
    return kind.read(words, path)


_TEMPLATE: Final = Kind(_read_field)
JIRA: Final = Section(
    (
        HTTP_CONFIG,
        SEND_RESOLVED,
        Row("api_url", SOME_TEXT),
        Row("project", TEXT),
        Row("summary", _TEMPLATE),
        Row("description", _TEMPLATE),
        Row("labels", TEXTS),
        Row("priority", TEXT),
        Row("issue_type", TEXT),
        Row("reopen_transition", TEXT),
        Row("resolve_transition", TEXT),
        Row("wont_fix_resolution", TEXT),
        Row("reopen_duration", DURATION),
        Row("fields", OBJECT_OF_ANYTHING),
        Row("api_type", TEXT, since="0.29.0"),
    ),
    checks=(
        all_of("project", "issue_type"),
        web("api_url"),
        among("api_type", "auto", "cloud", "datacenter"),
        _plain_field,
    ),
)


# --- incident.io ----------------------------------------------------------------------------------


def _one_token(block: Block, _version: Version, path: str) -> None:
    client = block.get("http_config")
    header = bool((client or {}).get("authorization"))
    token = next((key for key in _TOKENS if block.get(key)), "")
    if header and token:
        raise FieldError(below(path, token), "excludes `http_config.authorization`")
    if not header and not token:
        names = " or ".join(f"`{key}`" for key in _TOKENS)
        raise FieldError(path, f"needs {names}, or `http_config.authorization`")


_TOKENS: Final = ("alert_source_token", "alert_source_token_file")
INCIDENTIO: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Row("url", SOME_TEXT),
        Row("url_file", SOME_TEXT),
        Row("alert_source_token", SOME_TEXT),
        Row("alert_source_token_file", SOME_TEXT),
        Row("max_alerts", COUNT),
        Row("timeout", GO_DURATION),
    ),
    checks=(
        at_most_one("url", "url_file"),
        any_of("url", "url_file"),
        web("url"),
        at_most_one(*_TOKENS),
        _one_token,
    ),
)


# --- Mattermost -----------------------------------------------------------------------------------

_LINKS: Final = (
    "author_link",
    "author_icon",
    "title_link",
    "thumb_url",
    "footer_icon",
    "image_url",
)


def _attachment(*text: str, since: str = "") -> tuple[Row, ...]:
    """What can be attached, since 0.32 also at the top, where the text has a place of its own."""
    keys = (
        "fallback", "color", "pretext", *text, "author_name", "author_link", "author_icon", "title",
        "title_link", "fields", "thumb_url", "footer", "footer_icon", "image_url",
    )  # fmt: skip
    kinds = {"fields": many(FIELD)}
    return tuple(Row(key, kinds.get(key, TEXT), since=since) for key in keys)


_ATTACHMENT: Final = Section(_attachment("text"), checks=(web_or_template(*_LINKS),))
_PROPS: Final = Section((Row("card", TEXT),))
_PRIORITY: Final = Section(
    (
        Row("priority", TEXT),
        Row("requested_ack", SWITCH),
        Row("persistent_notifications", SWITCH),
    )
)
MATTERMOST: Final = Section(
    (
        SEND_RESOLVED,
        Row("webhook_url", SOME_TEXT),
        Row("webhook_url_file", SOME_TEXT, unless="webhook_url"),
        Row("channel", TEXT),
        Row("username", TEXT),
        Row("text", TEXT),
        Row("icon_url", TEXT),
        Row("icon_emoji", TEXT),
        Row("attachments", many(_ATTACHMENT)),
        Row("type", TEXT),
        Row("props", one(_PROPS)),
        Row("priority", one(_PRIORITY)),
        *_attachment(since="0.32.0"),
        HTTP_CONFIG,
    ),
    # From 0.32 on there can be a global URL.
    checks=(
        any_of("webhook_url", "webhook_url_file", until="0.32.0"),
        web("webhook_url"),
        web_or_template("icon_url", *_LINKS),
    ),
)
