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
    many,
    one,
)
from stoker.generate.block import Block
from stoker.generate.grammar import Member, Section, ValueKind
from stoker.version import Version, parse_version

# --- Jira -----------------------------------------------------------------------------------------


def _plain_field(block: Block, version: Version, path: str) -> None:
    for key in ("summary", "description"):
        if isinstance(block.get(key), dict) and version < parse_version("0.30.0"):
            raise FieldError(below(path, key), "only Alertmanager 0.30.0 or newer takes a mapping")


_FIELD_SECTION: Final = Section(
    (Member("template", None, TEXT), Member("enable_update", None, SWITCH))
)


def _read_field(words: object, path: str) -> object:
    """A template, or a mapping with one."""
    kind = one(_FIELD_SECTION) if isinstance(words, dict) else TEXT
    return kind.read(words, path)


_TEMPLATE: Final = ValueKind(_read_field)
JIRA: Final = Section(
    (
        HTTP_CONFIG,
        SEND_RESOLVED,
        Member("api_url", None, SOME_TEXT),
        Member("project", None, TEXT),
        Member("summary", None, _TEMPLATE),
        Member("description", None, _TEMPLATE),
        Member("labels", None, TEXTS),
        Member("priority", None, TEXT),
        Member("issue_type", None, TEXT),
        Member("reopen_transition", None, TEXT),
        Member("resolve_transition", None, TEXT),
        Member("wont_fix_resolution", None, TEXT),
        Member("reopen_duration", None, DURATION),
        Member("fields", None, OBJECT_OF_ANYTHING),
        Member("api_type", None, TEXT, since="0.29.0"),
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
        Member("url", None, SOME_TEXT),
        Member("url_file", None, SOME_TEXT),
        Member("alert_source_token", None, SOME_TEXT),
        Member("alert_source_token_file", None, SOME_TEXT),
        Member("max_alerts", None, COUNT),
        Member("timeout", None, GO_DURATION),
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


def _attachment(*text: str, since: str = "") -> tuple[Member, ...]:
    """What can be attached, since 0.32 also at the top, where the text has a place of its own."""
    keys = (
        "fallback", "color", "pretext", *text, "author_name", "author_link", "author_icon", "title",
        "title_link", "fields", "thumb_url", "footer", "footer_icon", "image_url",
    )  # fmt: skip
    kinds = {"fields": many(FIELD)}
    return tuple(Member(key, None, kinds.get(key, TEXT), since=since) for key in keys)


_ATTACHMENT: Final = Section(_attachment("text"), checks=(web_or_template(*_LINKS),))
_PROPS: Final = Section((Member("card", None, TEXT),))
_PRIORITY: Final = Section(
    (
        Member("priority", None, TEXT),
        Member("requested_ack", None, SWITCH),
        Member("persistent_notifications", None, SWITCH),
    )
)
MATTERMOST: Final = Section(
    (
        SEND_RESOLVED,
        Member("webhook_url", None, SOME_TEXT),
        Member("webhook_url_file", None, SOME_TEXT, unless="webhook_url"),
        Member("channel", None, TEXT),
        Member("username", None, TEXT),
        Member("text", None, TEXT),
        Member("icon_url", None, TEXT),
        Member("icon_emoji", None, TEXT),
        Member("attachments", None, many(_ATTACHMENT)),
        Member("type", None, TEXT),
        Member("props", None, one(_PROPS)),
        Member("priority", None, one(_PRIORITY)),
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
