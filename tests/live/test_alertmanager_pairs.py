"""Every two members of a mapping in a user's own `alertmanager.yaml`, with amtool as the judge.

The tables that the file is read with say which members there are; whether two of them may stand
together, Alertmanager says. A value goes before the file that holds it, as with
prometheus-operator, so it is asked about what we make of a file. What we refuse it refuses too.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final

import pytest
import yaml

from stoker.errors import FieldError
from stoker.generate.alertmanager.load import loaded
from stoker.generate.alertmanager.receivers import RECEIVER
from stoker.generate.alertmanager.receivers.http import HTTP
from stoker.generate.alertmanager.sanitize import sanitized
from stoker.generate.alertmanager.sections import CONFIGURATION, GLOBAL
from stoker.generate.block import text_of
from stoker.generate.grammar import Section
from stoker.settings import DEFAULT_ALERTMANAGER_VERSION
from stoker.version import parse_version
from tests.amtool import refusals

pytestmark = pytest.mark.live

_NEWEST: Final = parse_version(DEFAULT_ALERTMANAGER_VERSION)

Values = dict[str, Any]
File = Callable[[Values], str]

_GLOBAL: Final = {
    "jira_api_url": "https://a.example",
    "mattermost_webhook_url": "https://a.example",
    "opsgenie_api_key": "a",
    "rocketchat_token": "a",
    "rocketchat_token_id": "a",
    "slack_api_url": "https://a.example",
    "smtp_from": "a",
    "smtp_smarthost": "a:25",
    "telegram_bot_token": "a",
    "victorops_api_key": "a",
    "wechat_api_corp_id": "a",
    "wechat_api_secret": "a",
}
_TOKEN: Final = {"client_id": "a", "token_url": "http://a"}
# What a mapping must have besides: one way, or several.
_NEEDED: Final[dict[str, tuple[Values, ...]]] = {
    "discord_configs": ({"webhook_url": "http://a"}, {"webhook_url_file": "/a"}),
    "email_configs": ({"to": "a"},),
    "incidentio_configs": (
        {"url": "http://a", "alert_source_token": "a"},
        {"url_file": "/a", "alert_source_token_file": "/a"},
    ),
    "jira_configs": ({"project": "a", "issue_type": "a"},),
    "msteams_configs": ({"webhook_url": "http://a"}, {"webhook_url_file": "/a"}),
    "msteamsv2_configs": ({"webhook_url": "http://a"}, {"webhook_url_file": "/a"}),
    "oauth2": (_TOKEN, _TOKEN | {"proxy_url": "http://a"}),
    "pagerduty_configs": ({"routing_key": "a"}, {"service_key": "a"}),
    "pushover_configs": (
        {"user_key": "a", "token": "a"},
        {"user_key_file": "/a", "token_file": "/a"},
    ),
    "slack_configs": (
        {},
        {"api_url": "https://slack.com/api/chat.postMessage"},
        {"app_token": "a"},
    ),
    "sns_configs": ({"topic_arn": "a"}, {"phone_number": "a"}, {"target_arn": "a"}),
    "telegram_configs": ({"chat_id": 1}, {"chat_id_file": "/a"}),
    "tls_config": ({}, {"cert": "a", "key": "a"}, {"cert_file": "/a", "key_file": "/a"}),
    "victorops_configs": ({"routing_key": "a"},),
    "webex_configs": ({"room_id": "a", "http_config": {"authorization": {"credentials": "a"}}},),
    "webhook_configs": ({"url": "http://a"}, {"url_file": "/a"}),
    "http_config": ({}, {"proxy_url": "http://a"}, {"bearer_token": "a"}),
}
# The first of these that a member takes is its value.
_EXAMPLES: Final[tuple[Any, ...]] = (
    "https://a.example/b",
    {},
    {"proxy_url": "http://a"},
    _TOKEN,
    1,
    True,
    "a:25",
    "1m",
    "text",
    "HTML",
    "cloud",
    "TLS12",
    ["a"],
    [{}],
    {"authorization": {"credentials": "a"}},
    [{"title": "a", "value": "b"}],
    [{"type": "user", "name": "b"}],
    [{"type": "user", "text": "b", "url": "http://c"}],
    {"a": "b"},
)


def a_file(receiver: Values, settings: Values = _GLOBAL) -> str:
    """A file with one receiver."""
    named = {"name": "a"} | receiver
    return yaml.safe_dump({"global": settings, "route": {"receiver": "a"}, "receivers": [named]})


def of_webhook(client: Values) -> str:
    """A file with one webhook and its HTTP client."""
    return a_file({"webhook_configs": [{"url": "http://a", "http_config": client}]})


def receiver_with(key: str) -> File:
    """How an integration becomes a file."""
    return lambda one: a_file({key: [one]})


def client_with(key: str) -> File:
    """How a part of an HTTP client becomes a file."""
    return lambda one: of_webhook({key: one})


def mappings() -> Iterator[tuple[str, Section, File]]:
    """Every mapping that has members of its own: its name, its table, and how it becomes a file."""
    for row in RECEIVER.members:
        if row.kind.section:
            yield row.name, row.kind.section, receiver_with(row.name)
    yield "global", GLOBAL, lambda one: a_file({}, one)
    yield "http_config", HTTP, of_webhook
    for row in HTTP.members:
        if row.kind.section and not row.kind.keyed:
            yield row.name, row.kind.section, client_with(row.name)


def problem(text: str) -> str:
    """Why we refuse a file; empty where we take it."""
    try:
        loaded(text)
    except FieldError as error:
        return str(error)
    return ""


def handed_on(text: str) -> str | None:
    """What Alertmanager gets of a file; nothing where we refuse it."""
    try:
        return text_of(sanitized(loaded(text), CONFIGURATION, _NEWEST, []))
    except FieldError:
        return None


def values(section: Section, ways: tuple[Values, ...], file: File) -> Values:
    """A value for each member that goes well with what is needed besides, one way or another."""
    found: Values = {}
    for row in section.members:
        fitting = (
            example
            for example in _EXAMPLES
            for way in ways
            if not problem(file(way | {row.name: example}))
        )
        value = next(fitting, None)
        assert value is not None, f"no example for `{row.name}`"
        found[row.name] = value
    return found


def pairs(section: Section, ways: tuple[Values, ...], file: File) -> Mapping[str, str]:
    """A file for every two members, by what is in it."""
    known = values(section, ways, file)
    return {
        f"{one}, {other} beside {', '.join(way) or 'nothing'}": file(
            way | {one: known[one], other: known[other]}
        )
        for way in ways
        for one, other in combinations(known, 2)
    }


@pytest.mark.parametrize(
    ("name", "section", "file"), [pytest.param(*each, id=each[0]) for each in mappings()]
)
def test_two_members_stand_together_where_alertmanager_lets_them(
    name: str, section: Section, file: File
) -> None:
    """A value and its file, two ways to log in, what needs something else: as amtool says."""
    files = pairs(section, _NEEDED.get(name, ({},)), file)
    made = {what: handed_on(text) for what, text in files.items()}
    judged = [files[what] if text is None else text for what, text in made.items()]
    wrong = {
        what: f"amtool: {told or 'taken'}; we: {problem(files[what]) or 'taken'}"
        for (what, text), told in zip(made.items(), refusals(judged), strict=True)
        if (text is None) != bool(told)
    }
    assert wrong == {}
