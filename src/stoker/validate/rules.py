"""Rules as Prometheus would judge them: one bad rule in a file and it takes none of the files.

`rules` yields what is wrong with the groups of a PrometheusRule, for the program that will read
them: names, durations, PromQL of its version and features, and the templates of alerts.
"""

import re
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.decode import convert
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.api.rules import PrometheusRuleSpec, Rule, RuleGroup
from stoker.errors import DecodeError
from stoker.golang.versions import go_of_matchers, go_of_matchers_in_thanos
from stoker.limits import NO_CHANGES, Limits
from stoker.promql import NEWEST, Node, Options, ParseError, options_for, parse, shape_of
from stoker.remembered import remembered
from stoker.select.workload import Scraper
from stoker.validate.budget import over_budget
from stoker.validate.findings import Finding, Findings, Reason
from stoker.validate.syntax import label_name, milliseconds
from stoker.validate.templates import template_problem
from stoker.version import Version, needs_version, parse_version

_METRIC_NAME: Final = "__name__"
_LEGACY_METRIC: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_INT64: Final = range(-(2**63), 2**63)
_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")
# Since then the rules of a Prometheus that takes legacy names only must have legacy names.
_SCHEME_FOR_RULES: Final = "3.6.0"
_FAST_MATCHERS_IN_THANOS: Final = "0.36.0"


class RuleReader(Struct, frozen=True, kw_only=True):
    """The program that will read the rules: Prometheus or Thanos Ruler, and what it understands."""

    version: Version
    thanos: bool = False
    legacy_names: bool = False
    promql: Options = Options()
    limits: Limits = NO_CHANGES

    def lacks(self, since: "Since | None") -> str:
        """Why it does not know a field; empty if it does."""
        if since is None:
            return ""
        if self.thanos:
            return _too_old(self.version, "Thanos", since.thanos)
        if not since.prometheus:
            return "only Thanos Ruler knows it"
        return _too_old(self.version, "Prometheus", since.prometheus)


class Since(Struct, frozen=True):
    """The versions that brought a field; without one of Prometheus it has never had it."""

    prometheus: str
    thanos: str


# The fields of groups and rules that not every version knows: they are left out, and not judged.
GROUP_SINCE: Final = {
    "labels": Since("3.0.0", "0.39.0"),
    "limit": Since("2.31.0", "0.24.0"),
    "query_offset": Since("2.53.0", "0.38.0"),
    "partial_response_strategy": Since("", "0.0.0"),
}
RULE_SINCE: Final = {"keep_firing_for": Since("2.42.0", "0.34.0")}


def _too_old(version: Version, program: str, since: str) -> str:
    known = version >= parse_version(since)
    return "" if known else needs_version(program, since)


def prometheus_reader(scraper: Scraper) -> RuleReader:
    """A Prometheus as the reader of rules."""
    spec: PrometheusCommonSpec = scraper.spec
    found, features = scraper.version, spec.enable_features or ()
    if found >= parse_version(_SCHEME_FOR_RULES):
        legacy = spec.name_validation_scheme == "Legacy"
    else:
        flagged = "utf8-names" in features and found >= parse_version("2.55.0")
        legacy = found < parse_version("3.0.0") and not flagged
    numbers = (found.major, found.minor, found.patch)
    promql = options_for(numbers, features, go_of_matchers(found))
    return RuleReader(
        version=found, legacy_names=legacy, promql=promql, limits=scraper.capabilities.limits
    )


def thanos_reader(
    version: Version, features: tuple[str, ...] = (), limits: Limits = NO_CHANGES
) -> RuleReader:
    """A Thanos Ruler as the reader of rules: its PromQL is that of a recent Prometheus."""
    legacy = version < parse_version("0.38.0")
    promql = options_for(NEWEST, features, go_of_matchers_in_thanos(version))
    if version < parse_version(_FAST_MATCHERS_IN_THANOS):
        promql = replace(promql, fast_matchers=False)
    return RuleReader(
        version=version, thanos=True, legacy_names=legacy, promql=promql, limits=limits
    )


# A tree weighs what its text does many times over: `a+a+…` 250 bytes for each character.
@remembered(32 * 1024 * 1024, per_character=250)
def parsed(expression: str, options: Options) -> Node:
    """The expression; kept for a moment, since it is judged first and written after."""
    return parse(expression, options)


def _check_shape(expression: str, options: Options) -> None:
    """ParseError where an expression is none; those of one shape are judged once."""
    shape = shape_of(expression)
    try:
        parsed(shape, options)
    except ParseError:
        if shape == expression:
            raise
        parsed(expression, options)


def raw_rules(spec: Any, reader: RuleReader) -> Findings:
    """What is wrong with a `spec` that was not decoded yet: its types (`true` for a text) too."""
    over = tuple(over_budget(spec, reader.limits, nested=True))
    if over:
        yield from over
        return
    try:
        found = convert(PrometheusRuleSpec, spec)
    except DecodeError as error:
        path = f"spec.{error.path}" if error.path else "spec"
        yield Finding(path, Reason.INVALID_VALUE, error.reason)
        return
    yield from rules(found, reader)


def rules(spec: PrometheusRuleSpec, reader: RuleReader, *, enforced: bool = False) -> Findings:
    """What is wrong with the groups of a PrometheusRule; what it costs first.

    Where they will be `enforced`, every expression is read as it is: its tree is needed after.
    """
    over = tuple(over_budget(spec, reader.limits))
    if over:
        yield from over
        return
    names: set[str] = set()
    for index, group in enumerate(spec.groups or ()):
        path = f"spec.groups[{index}]"
        if not group.name:
            yield Finding(f"{path}.name", Reason.REQUIRED, "a group needs a name")
        elif group.name in names:
            message = f"there is already a group `{group.name}` in this object"
            yield Finding(f"{path}.name", Reason.DUPLICATE, message)
        names.add(group.name)
        yield from _group(group, reader, path)
        for number, rule in enumerate(group.rules or ()):
            yield from _rule(rule, reader, f"{path}.rules[{number}]", enforced=enforced)


def _group(group: RuleGroup, reader: RuleReader, path: str) -> Findings:
    yield from _duration(group.interval, f"{path}.interval")
    if not reader.lacks(GROUP_SINCE["query_offset"]):
        yield from _duration(group.query_offset, f"{path}.query_offset")
    if group.limit is not None and group.limit not in _INT64:
        yield Finding(f"{path}.limit", Reason.INVALID_VALUE, "must fit into 64 bits")
    strategy = (group.partial_response_strategy or "").lower()
    if reader.thanos and strategy not in ("", "abort", "warn"):
        where = f"{path}.partial_response_strategy"
        yield Finding(where, Reason.INVALID_VALUE, "must be `abort` or `warn`")
    if not reader.lacks(GROUP_SINCE["labels"]):
        yield from _labels(group.labels, reader, f"{path}.labels")


def _rule(rule: Rule, reader: RuleReader, path: str, *, enforced: bool) -> Findings:
    if bool(rule.record) == bool(rule.alert):
        yield _record_or_alert(rule, path)
    yield from _expression(str(rule.expr), reader, f"{path}.expr", enforced=enforced)
    if rule.for_:
        yield from _duration(rule.for_, f"{path}.for")
    if rule.keep_firing_for and not reader.lacks(RULE_SINCE["keep_firing_for"]):
        yield from _duration(rule.keep_firing_for, f"{path}.keep_firing_for")
    if rule.record:
        yield from _recording(rule, rule.record, reader, path)
    if rule.labels:
        yield from _labels(rule.labels, reader, f"{path}.labels")
    for name in rule.annotations or ():
        if not label_name(name, legacy=reader.legacy_names):
            yield _bad_name(f"{path}.annotations", name, "an annotation")
    if rule.alert:
        yield from _templates(rule.labels, rule.alert, reader, f"{path}.labels")
        yield from _templates(rule.annotations, rule.alert, reader, f"{path}.annotations")


def _record_or_alert(rule: Rule, path: str) -> Finding:
    if rule.record:
        return Finding(path, Reason.CONFLICT, "only one of `record` and `alert` may be set")
    return Finding(path, Reason.REQUIRED, "one of `record` and `alert` must be set")


def _recording(rule: Rule, name: str, reader: RuleReader, path: str) -> Findings:
    """What only a recording rule must heed; a duration of zero is as good as none."""
    if rule.annotations:
        message = "only an alert has annotations, not a recording rule"
        yield Finding(f"{path}.annotations", Reason.CONFLICT, message)
    for field, value in (("for", rule.for_), ("keep_firing_for", rule.keep_firing_for)):
        if value and milliseconds(value) and not reader.lacks(RULE_SINCE.get(field)):
            message = f"only an alert has `{field}`, not a recording rule"
            yield Finding(f"{path}.{field}", Reason.CONFLICT, message)
    if reader.legacy_names and not _LEGACY_METRIC.fullmatch(name):
        yield _bad_name(f"{path}.record", name, "a metric")
    elif "{" in name or "}" in name:
        message = f"`{name}` has braces: is it an expression? That belongs into `expr`"
        yield Finding(f"{path}.record", Reason.INVALID_VALUE, message)


def _expression(text: str, reader: RuleReader, path: str, *, enforced: bool) -> Findings:
    if not text:
        yield Finding(path, Reason.REQUIRED, "a rule needs an expression")
        return
    try:
        (parsed if enforced else _check_shape)(text, reader.promql)
    except ParseError as error:
        yield Finding(path, Reason.INVALID_VALUE, f"is not a PromQL expression: {error}")


def _duration(value: str | None, path: str) -> Findings:
    # An empty one is as good as none, and not written.
    if value and milliseconds(value) is None:
        message = f"`{value[:40]}` is not a duration such as `30s` or `1h30m`"
        yield Finding(path, Reason.INVALID_VALUE, message)


def _labels(labels: dict[str, str] | None, reader: RuleReader, path: str) -> Findings:
    for name, value in (labels or {}).items():
        if name == _METRIC_NAME or not label_name(name, legacy=reader.legacy_names):
            yield _bad_name(path, name, "a label")
        if _HALF_PAIR.search(value):
            yield Finding(f"{path}[{name}]", Reason.INVALID_VALUE, "is not valid UTF-8")


def _templates(texts: dict[str, str] | None, alert: str, reader: RuleReader, path: str) -> Findings:
    for name, text in (texts or {}).items():
        if "{{" not in text:
            continue
        problem = template_problem(text, alert, reader.version, thanos=reader.thanos)
        if problem:
            yield Finding(f"{path}[{name}]", Reason.INVALID_VALUE, f"as a template: {problem}")


def _bad_name(path: str, name: str, what: str) -> Finding:
    return Finding(path, Reason.INVALID_VALUE, f"`{name[:80]}` cannot be the name of {what}")
