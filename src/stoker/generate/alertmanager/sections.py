"""The sections of `alertmanager.yaml` around the receivers: tables, in the order of the file."""

from typing import Any, Final

from msgspec import Struct

from stoker.errors import FieldError, below
from stoker.generate.alertmanager.checks import all_of, among, web
from stoker.generate.alertmanager.receivers import RECEIVER
from stoker.generate.alertmanager.receivers.delivery import host_and_port
from stoker.generate.alertmanager.receivers.http import HEADER, HTTP, TLS
from stoker.generate.alertmanager.table import (
    DURATION,
    MAPPING,
    NUMBER,
    OBJECT_OF_ANYTHING,
    SOME_TEXT,
    SWITCH,
    TEXT,
    TEXTS,
    keyed,
    many,
    one,
    read_section,
)
from stoker.generate.block import Block, scalar
from stoker.generate.grammar import Member, Section, TextCheck, ValueKind
from stoker.validate.alertmanager.integrations import SLACK_BOT_URL
from stoker.validate.alertmanager.matchers import expression_problem, matcher_line_problem
from stoker.validate.alertmanager.syntax import clock_problem, range_of
from stoker.validate.syntax import label_name, milliseconds
from stoker.version import Version

# --- global ---------------------------------------------------------------------------------------


def _one_slack(block: Block, _version: Version, path: str) -> None:
    """An app and a webhook, unless both have the same URL."""
    app = block.get("slack_app_token") or block.get("slack_app_token_file")
    same = block.get("slack_api_url") == block.get("slack_app_url", SLACK_BOT_URL)
    if app and (block.get("slack_api_url") or block.get("slack_api_url_file")) and not same:
        raise FieldError(path, "`slack_app_token` and `slack_api_url` exclude each other")


def _files(*names: str, since: str) -> tuple[Member, ...]:
    """A value, and the file that gives way to it."""
    return tuple(
        Member(f"{name}_file", None, SOME_TEXT, since=since, unless=name) for name in names
    )


GLOBAL: Final = Section(
    (
        Member("resolve_timeout", None, DURATION),
        Member("http_config", None, one(HTTP)),
        Member("smtp_from", None, TEXT),
        Member("smtp_hello", None, TEXT),
        Member("smtp_smarthost", None, SOME_TEXT),
        Member("smtp_auth_username", None, TEXT),
        Member("smtp_auth_password", None, SOME_TEXT),
        *_files("smtp_auth_password", since="0.25.0"),
        Member("smtp_auth_secret", None, SOME_TEXT),
        *_files("smtp_auth_secret", since="0.31.0"),
        Member("smtp_auth_identity", None, TEXT),
        Member("smtp_require_tls", None, SWITCH),
        Member("smtp_tls_config", None, one(TLS), since="0.28.0"),
        Member("smtp_force_implicit_tls", None, SWITCH, since="0.31.0"),
        Member("slack_api_url", None, SOME_TEXT),
        *_files("slack_api_url", since="0.22.0"),
        Member("slack_app_token", None, SOME_TEXT, since="0.30.0"),
        *_files("slack_app_token", since="0.30.0"),
        Member("slack_app_url", None, SOME_TEXT, since="0.30.0"),
        Member("pagerduty_url", None, SOME_TEXT),
        Member("opsgenie_api_url", None, SOME_TEXT),
        Member("opsgenie_api_key", None, SOME_TEXT),
        *_files("opsgenie_api_key", since="0.24.0"),
        Member("wechat_api_url", None, SOME_TEXT),
        Member("wechat_api_secret", None, SOME_TEXT),
        *_files("wechat_api_secret", since="0.31.0"),
        Member("wechat_api_corp_id", None, SOME_TEXT),
        Member("victorops_api_url", None, SOME_TEXT),
        Member("victorops_api_key", None, SOME_TEXT),
        *_files("victorops_api_key", since="0.25.0"),
        Member("telegram_api_url", None, SOME_TEXT, since="0.24.0"),
        Member("telegram_bot_token", None, SOME_TEXT, since="0.31.0"),
        *_files("telegram_bot_token", since="0.31.0"),
        Member("webex_api_url", None, SOME_TEXT, since="0.25.0"),
        Member("jira_api_url", None, SOME_TEXT, since="0.28.0"),
        Member("rocketchat_api_url", None, SOME_TEXT, since="0.28.0"),
        Member("rocketchat_token", None, SOME_TEXT, since="0.28.0"),
        *_files("rocketchat_token", since="0.28.0"),
        Member("rocketchat_token_id", None, SOME_TEXT, since="0.28.0"),
        *_files("rocketchat_token_id", since="0.28.0"),
        Member("mattermost_webhook_url", None, SOME_TEXT, since="0.32.0"),
        *_files("mattermost_webhook_url", since="0.32.0"),
    ),
    checks=(_one_slack,),
    needs=(
        web(
            "slack_api_url",
            "slack_app_url",
            "pagerduty_url",
            "opsgenie_api_url",
            "wechat_api_url",
            "victorops_api_url",
            "telegram_api_url",
            "webex_api_url",
            "jira_api_url",
            "rocketchat_api_url",
            "mattermost_webhook_url",
        ),
        host_and_port("smtp_smarthost"),
    ),
)


# --- Routes ---------------------------------------------------------------------------------------

_MATCHERS: Final = "0.22.0"


def _grouped(block: Block, _version: Version, path: str) -> None:
    labels = block.get("group_by") or []
    where = below(path, "group_by")
    if "..." in labels and set(labels) != {"..."}:
        raise FieldError(where, "`...` must stand alone")
    for index, label in enumerate(labels):
        if not label:
            raise FieldError(f"{where}[{index}]", "is no name of a label")
        if label in labels[:index] and label != "...":
            raise FieldError(f"{where}[{index}]", "stands here twice")


def _paced(block: Block, _version: Version, path: str) -> None:
    for key in ("group_interval", "repeat_interval"):
        if key in block and not milliseconds(block[key]):
            raise FieldError(below(path, key), "must not be zero")


def _readable_matchers(*keys: str) -> TextCheck:
    def check(block: Block, version: Version, path: str) -> None:
        for key in keys:
            for index, line in enumerate(block.get(key) or ()):
                problem = matcher_line_problem(line, version)
                if problem:
                    raise FieldError(f"{below(path, key)}[{index}]", problem)

    return check


def _readable_pairs(*keys: str) -> TextCheck:
    """Old matchers: names of labels, and values that are expressions in those that end in `_re`."""

    def check(block: Block, version: Version, path: str) -> None:
        for key in keys:
            for name, value in (block.get(key) or {}).items():
                where = f"{below(path, key)}[{name}]"
                if not label_name(name, legacy=True):
                    raise FieldError(where, "is no name of a label")
                if key.endswith("_re") and expression_problem(value, version):
                    raise FieldError(where, "is no regular expression")

    return check


def _routes(words: Any, path: str) -> list[Block]:
    made: list[Block] = many(ROUTE).read(words, path)
    return made


ROUTE: Final = Section(
    (
        Member("receiver", None, SOME_TEXT),
        Member("group_by", None, TEXTS),
        Member("match", None, MAPPING),
        Member("match_re", None, MAPPING),
        Member("matchers", None, TEXTS, since=_MATCHERS, refused=True),
        Member("continue", None, SWITCH),
        Member("routes", None, ValueKind(_routes, many=True, again=True)),
        Member("group_wait", None, DURATION),
        Member("group_interval", None, DURATION),
        Member("repeat_interval", None, DURATION),
        Member("mute_time_intervals", None, TEXTS, since="0.22.0"),
        Member("active_time_intervals", None, TEXTS, since="0.24.0"),
        Member("labels", None, MAPPING, since="0.34.0"),
    ),
    needs=(
        _grouped,
        _paced,
        _readable_matchers("matchers"),
        _readable_pairs("match", "match_re"),
    ),
)
INHIBIT_RULE: Final = Section(
    (
        Member("name", None, TEXT, since="0.30.0"),
        Member("target_match", None, MAPPING),
        Member("target_match_re", None, MAPPING),
        Member("target_matchers", None, TEXTS, since=_MATCHERS, refused=True),
        Member("source_match", None, MAPPING),
        Member("source_match_re", None, MAPPING),
        Member("source_matchers", None, TEXTS, since=_MATCHERS, refused=True),
        Member("equal", None, TEXTS),
    ),
    needs=(
        _readable_matchers("target_matchers", "source_matchers"),
        _readable_pairs("target_match", "target_match_re", "source_match", "source_match_re"),
    ),
)


# --- Time intervals -------------------------------------------------------------------------------


class Flow(Struct, frozen=True):
    """A list of ranges on one line, as Alertmanager itself writes them."""

    items: tuple[str, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(_in_flow, self.items))}]"


def _in_flow(item: str) -> str:
    text = scalar(item)
    return f"'{text}'" if text == item and ":" in item else text


def _ranges(kind: str) -> ValueKind:
    def read(words: Any, path: str) -> Flow | None:
        found = []
        for index, text in enumerate(TEXTS.read(words, path)):
            one_range = range_of(kind, text)
            if one_range.problem:
                raise FieldError(f"{path}[{index}]", one_range.problem)
            found.append(one_range.text)
        return Flow(tuple(found)) if found else None

    return ValueKind(read)


def _read_times(words: Any, path: str) -> Block:
    block = read_section(words, _TIMES, path)
    problem = clock_problem(block.get("start_time", ""), block.get("end_time", ""))
    if problem:
        raise FieldError(path, problem)
    return block


def _list_of_times(words: Any, path: str) -> list[Block] | None:
    if not isinstance(words, list):
        raise FieldError(path, "must be a list")
    return [_read_times(item, f"{path}[{at}]") for at, item in enumerate(words)] or None


_TIMES: Final = Section((Member("start_time", None, TEXT), Member("end_time", None, TEXT)))
_PERIOD: Final = Section(
    (
        Member("times", None, ValueKind(_list_of_times)),
        Member("weekdays", None, _ranges("weekdays")),
        Member("days_of_month", None, _ranges("days_of_month")),
        Member("months", None, _ranges("months")),
        Member("years", None, _ranges("years")),
        Member("location", None, SOME_TEXT, since="0.25.0"),
    )
)
INTERVAL: Final = Section(
    (
        Member("name", None, TEXT, default=""),
        Member("time_intervals", None, many(_PERIOD), default=[]),
    ),
    needs=(all_of("name"),),
)


# --- Everything -----------------------------------------------------------------------------------


def _way_of_tracing(block: Block, version: Version, path: str) -> None:
    among("client_type", "http", "grpc")(block, version, path)
    among("compression", "gzip")(block, version, path)


TRACING: Final = Section(
    (
        Member("client_type", None, TEXT),
        Member("endpoint", None, TEXT),
        Member("sampling_fraction", None, NUMBER),
        Member("insecure", None, SWITCH),
        Member("tls_config", None, one(TLS)),
        Member("headers", None, keyed(HEADER)),
        Member("compression", None, TEXT),
        Member("timeout", None, DURATION),
    ),
    needs=(_way_of_tracing, all_of("endpoint")),
)
CONFIGURATION: Final = Section(
    (
        Member("global", None, one(GLOBAL)),
        Member("route", None, one(ROUTE)),
        Member("inhibit_rules", None, many(INHIBIT_RULE)),
        Member("receivers", None, many(RECEIVER)),
        Member("mute_time_intervals", None, many(INTERVAL), since="0.22.0"),
        Member("time_intervals", None, many(INTERVAL), since="0.24.0"),
        Member("templates", None, TEXTS, default=[]),
        Member("tracing", None, one(TRACING), since="0.30.0"),
        Member("event_recorder", None, OBJECT_OF_ANYTHING, since="0.33.0"),
    )
)
