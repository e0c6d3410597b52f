"""Integrations that call somebody: PagerDuty, Opsgenie, VictorOps, Pushover."""

from typing import Final

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.checks import all_of, any_of, at_most_one, web, web_or_template
from stoker.generate.alertmanager.draft import go_duration, pairs, secret
from stoker.generate.alertmanager.receivers.chat import HTTP_CONFIG, SEND_RESOLVED
from stoker.generate.alertmanager.table import (
    GO_DURATION,
    GO_DURATION_TEXT,
    MAPPING,
    OBJECT_OF_ANYTHING,
    SOME_TEXT,
    SWITCH,
    TEXT,
    Member,
    Section,
    listed,
    many,
)
from stoker.generate.block import Block
from stoker.validate.alertmanager.integrations import RESPONDERS_SINCE, VICTOROPS_OWN
from stoker.validate.alertmanager.syntax import go_template_problem
from stoker.version import Version, parse_version

RESPONDERS: Final = ("team", "teams", "user", "escalation", "schedule")


# --- PagerDuty ------------------------------------------------------------------------------------


def _flat_details(block: Block, version: Version, path: str) -> None:
    nested = any(not isinstance(item, str) for item in (block.get("details") or {}).values())
    if nested and version < parse_version("0.30.0"):
        where = below(path, "details")
        raise FieldError(where, "values other than texts need Alertmanager 0.30.0 or newer")


_LINK: Final = Section((Member("href", TEXT, "href"), Member("text", TEXT, "alt")))
_IMAGE: Final = Section(
    (Member("src", TEXT, "src"), Member("alt", TEXT, "alt"), Member("href", TEXT, "href"))
)
PAGERDUTY: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("service_key", SOME_TEXT, "service_key", secret),
        Member("service_key_file", SOME_TEXT, since="0.25.0", unless="service_key"),
        Member("routing_key", SOME_TEXT, "routing_key", secret),
        Member("routing_key_file", SOME_TEXT, since="0.25.0", unless="routing_key"),
        Member("url", SOME_TEXT, "url"),
        Member("client", TEXT, "client"),
        Member("client_url", TEXT, "client_url"),
        Member("description", TEXT, "description"),
        Member("details", OBJECT_OF_ANYTHING, "details", pairs),
        Member("images", many(_IMAGE), "pager_duty_image_configs", listed(_IMAGE)),
        Member("links", many(_LINK), "pager_duty_link_configs", listed(_LINK)),
        Member("severity", TEXT, "severity"),
        Member("class", TEXT, "class_"),
        Member("component", TEXT, "component"),
        Member("group", TEXT, "group"),
        Member("source", TEXT, "source", since="0.25.0"),
        Member("timeout", GO_DURATION, "timeout", go_duration, since="0.30.0"),
    ),
    checks=(_flat_details, web("url")),
    needs=(any_of("routing_key", "service_key", "routing_key_file", "service_key_file"),),
)


# --- Opsgenie -------------------------------------------------------------------------------------


def _newer_responder(block: Block, version: Version, path: str) -> None:
    for sort, since in RESPONDERS_SINCE.items():
        if sort in block.get("type", "") and version < parse_version(since):
            raise FieldError(below(path, "type"), f"`{sort}` needs Alertmanager {since} or newer")


def _known_responder(block: Block, version: Version, path: str) -> None:
    any_of("id", "name", "username")(block, version, path)
    kind = block.get("type", "")
    problem = go_template_problem(kind, version, secret=True)
    if problem:
        raise FieldError(below(path, "type"), problem)
    if "{{" not in kind and kind.lower() not in RESPONDERS:
        raise FieldError(below(path, "type"), f"is not one of {', '.join(RESPONDERS)}")


_RESPONDER: Final = Section(
    (
        Member("id", TEXT, "id"),
        Member("name", TEXT, "name"),
        Member("username", TEXT, "username"),
        Member("type", TEXT, "type"),
    ),
    checks=(_newer_responder,),
    needs=(_known_responder,),
)
OPSGENIE: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("api_key", SOME_TEXT, "api_key", secret),
        Member("api_key_file", SOME_TEXT, since="0.24.0", unless="api_key"),
        Member("api_url", SOME_TEXT, "api_url"),
        Member("message", TEXT, "message"),
        Member("description", TEXT, "description"),
        Member("source", TEXT, "source"),
        Member("details", MAPPING, "details", pairs),
        Member("responders", many(_RESPONDER), "responders", listed(_RESPONDER)),
        Member("tags", TEXT, "tags"),
        Member("note", TEXT, "note"),
        Member("priority", TEXT, "priority"),
        Member("update_alerts", SWITCH, "update_alerts", since="0.24.0"),
        Member("entity", TEXT, "entity", since="0.24.0"),
        Member("actions", TEXT, "actions", since="0.24.0"),
    ),
    checks=(web("api_url"),),
)


# --- VictorOps ------------------------------------------------------------------------------------


def _no_own_fields(block: Block, _version: Version, path: str) -> None:
    for name in block.get("custom_fields") or ():
        if name in VICTOROPS_OWN:
            where = f"{below(path, 'custom_fields')}[{name}]"
            raise FieldError(where, "is a field of VictorOps itself")


VICTOROPS: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("api_key", SOME_TEXT, "api_key", secret),
        Member("api_key_file", SOME_TEXT, since="0.25.0", unless="api_key"),
        Member("api_url", SOME_TEXT, "api_url"),
        Member("routing_key", TEXT, "routing_key"),
        Member("message_type", TEXT, "message_type"),
        Member("state_message", TEXT, "state_message"),
        Member("entity_display_name", TEXT, "entity_display_name"),
        Member("monitoring_tool", TEXT, "monitoring_tool"),
        Member("custom_fields", MAPPING, "custom_fields", pairs),
    ),
    checks=(web("api_url"),),
    needs=(all_of("routing_key"), _no_own_fields),
)


# --- Pushover -------------------------------------------------------------------------------------

PUSHOVER: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("user_key", SOME_TEXT, "user_key", secret),
        Member("user_key_file", SOME_TEXT, "user_key_file", since="0.26.0", unless="user_key"),
        Member("token", SOME_TEXT, "token", secret),
        Member("token_file", SOME_TEXT, "token_file", since="0.26.0", unless="token"),
        Member("title", TEXT, "title"),
        Member("message", TEXT, "message"),
        Member("url", TEXT, "url"),
        Member("url_title", TEXT, "url_title"),
        Member("ttl", GO_DURATION_TEXT, "ttl", go_duration, since="0.27.0"),
        Member("device", TEXT, "device", since="0.26.0"),
        Member("sound", TEXT, "sound"),
        Member("priority", TEXT, "priority"),
        Member("retry", GO_DURATION_TEXT, "retry", go_duration),
        Member("expire", GO_DURATION_TEXT, "expire", go_duration),
        Member("html", SWITCH, "html"),
        Member("monospace", SWITCH, "monospace", since="0.29.0"),
    ),
    checks=(
        any_of("user_key", "user_key_file"),
        any_of("token", "token_file"),
        web_or_template("url"),
        at_most_one("html", "monospace"),
    ),
)
