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
    many,
)
from stoker.generate.block import Block
from stoker.generate.grammar import Member, Section, each_by
from stoker.validate.alertmanager.integrations import RESPONDERS_SINCE, VICTOROPS_OWN
from stoker.validate.alertmanager.syntax import go_template_problem
from stoker.version import Version, needs_version, parse_version

RESPONDERS: Final = ("team", "teams", "user", "escalation", "schedule")


# --- PagerDuty ------------------------------------------------------------------------------------


def _flat_details(block: Block, version: Version, path: str) -> None:
    nested = any(not isinstance(item, str) for item in (block.get("details") or {}).values())
    if nested and version < parse_version("0.30.0"):
        where = below(path, "details")
        raise FieldError(where, "values other than texts need Alertmanager 0.30.0 or newer")


_LINK: Final = Section((Member("href", "href", TEXT), Member("text", "alt", TEXT)))
_IMAGE: Final = Section(
    (Member("src", "src", TEXT), Member("alt", "alt", TEXT), Member("href", "href", TEXT))
)
PAGERDUTY: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("service_key", "service_key", SOME_TEXT, secret),
        Member("service_key_file", None, SOME_TEXT, since="0.25.0", unless="service_key"),
        Member("routing_key", "routing_key", SOME_TEXT, secret),
        Member("routing_key_file", None, SOME_TEXT, since="0.25.0", unless="routing_key"),
        Member("url", "url", SOME_TEXT),
        Member("client", "client", TEXT),
        Member("client_url", "client_url", TEXT),
        Member("description", "description", TEXT),
        Member("details", "details", OBJECT_OF_ANYTHING, pairs),
        Member("images", "pager_duty_image_configs", many(_IMAGE), each_by(_IMAGE)),
        Member("links", "pager_duty_link_configs", many(_LINK), each_by(_LINK)),
        Member("severity", "severity", TEXT),
        Member("class", "class_", TEXT),
        Member("component", "component", TEXT),
        Member("group", "group", TEXT),
        Member("source", "source", TEXT, since="0.25.0"),
        Member("timeout", "timeout", GO_DURATION, go_duration, since="0.30.0"),
    ),
    checks=(_flat_details, web("url")),
    needs=(any_of("routing_key", "service_key", "routing_key_file", "service_key_file"),),
)


# --- Opsgenie -------------------------------------------------------------------------------------


def _newer_responder(block: Block, version: Version, path: str) -> None:
    for sort, since in RESPONDERS_SINCE.items():
        if sort in block.get("type", "") and version < parse_version(since):
            raise FieldError(
                below(path, "type"), f"`{sort}` {needs_version('Alertmanager', since)}"
            )


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
        Member("id", "id", TEXT),
        Member("name", "name", TEXT),
        Member("username", "username", TEXT),
        Member("type", "type", TEXT),
    ),
    checks=(_newer_responder,),
    needs=(_known_responder,),
)
OPSGENIE: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("api_key", "api_key", SOME_TEXT, secret),
        Member("api_key_file", None, SOME_TEXT, since="0.24.0", unless="api_key"),
        Member("api_url", "api_url", SOME_TEXT),
        Member("message", "message", TEXT),
        Member("description", "description", TEXT),
        Member("source", "source", TEXT),
        Member("details", "details", MAPPING, pairs),
        Member("responders", "responders", many(_RESPONDER), each_by(_RESPONDER)),
        Member("tags", "tags", TEXT),
        Member("note", "note", TEXT),
        Member("priority", "priority", TEXT),
        Member("update_alerts", "update_alerts", SWITCH, some_types=True, since="0.24.0"),
        Member("entity", "entity", TEXT, since="0.24.0"),
        Member("actions", "actions", TEXT, since="0.24.0"),
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
        Member("api_key", "api_key", SOME_TEXT, secret),
        Member("api_key_file", None, SOME_TEXT, since="0.25.0", unless="api_key"),
        Member("api_url", "api_url", SOME_TEXT),
        Member("routing_key", "routing_key", TEXT),
        Member("message_type", "message_type", TEXT),
        Member("state_message", "state_message", TEXT),
        Member("entity_display_name", "entity_display_name", TEXT),
        Member("monitoring_tool", "monitoring_tool", TEXT),
        Member("custom_fields", "custom_fields", MAPPING, pairs),
    ),
    checks=(web("api_url"),),
    needs=(all_of("routing_key"), _no_own_fields),
)


# --- Pushover -------------------------------------------------------------------------------------

PUSHOVER: Final = Section(
    (
        SEND_RESOLVED,
        HTTP_CONFIG,
        Member("user_key", "user_key", SOME_TEXT, secret),
        Member("user_key_file", "user_key_file", SOME_TEXT, since="0.26.0", unless="user_key"),
        Member("token", "token", SOME_TEXT, secret),
        Member("token_file", "token_file", SOME_TEXT, since="0.26.0", unless="token"),
        Member("title", "title", TEXT),
        Member("message", "message", TEXT),
        Member("url", "url", TEXT),
        Member("url_title", "url_title", TEXT),
        Member("ttl", "ttl", GO_DURATION_TEXT, go_duration, since="0.27.0"),
        Member("device", "device", TEXT, since="0.26.0"),
        Member("sound", "sound", TEXT),
        Member("priority", "priority", TEXT),
        Member("retry", "retry", GO_DURATION_TEXT, go_duration),
        Member("expire", "expire", GO_DURATION_TEXT, go_duration),
        Member("html", "html", SWITCH),
        Member("monospace", "monospace", SWITCH, since="0.29.0"),
    ),
    checks=(
        any_of("user_key", "user_key_file"),
        any_of("token", "token_file"),
        web_or_template("url"),
        at_most_one("html", "monospace"),
    ),
)
