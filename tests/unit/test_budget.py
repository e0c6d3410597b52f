"""What one object may cost: counted before anything dear is done, and said in words."""

import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from stoker.api.amconfig import v1alpha1
from stoker.api.convert import typed
from stoker.api.decode import decode
from stoker.api.prometheus import PrometheusSpec
from stoker.cli.access import access_to_read
from stoker.cli.deep_json import allow_deep_json
from stoker.cli.flag_values import resource_limits
from stoker.cli.operator_settings import operator_settings
from stoker.errors import DecodeError, FieldError
from stoker.generate.alertmanager.config import terms_of
from stoker.generate.alertmanager.kept import verdict_on
from stoker.generate.prometheus import fragment
from stoker.generate.rules import rule_file
from stoker.golang.regex import parsed
from stoker.kube.errors import AccessError
from stoker.limits import DEFAULTS, LIMITS, Limits, limits_with
from stoker.offline.problems import problems
from stoker.promql import NEWEST, ParseError, options_for, parse
from stoker.promql.nodes import walk
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand, Missing, Source
from stoker.select.workload import Scraper
from stoker.settings import Capabilities
from stoker.validate.budget import _HEAVY_TEXT, _LIGHT, _TOKEN, over_budget
from stoker.validate.findings import Finding, Reason
from stoker.validate.rules import prometheus_reader
from stoker.validate.verdicts import judge
from stoker.web.reviews import Reviewer, rules_reader
from tests.builders import thing
from tests.doubling import SORTS, Field, Sort, fields
from tests.unit.promql_expressions import FEATURES, expressions
from tests.unit.test_alertmanager_config import alertmanager
from tools.api import kubeconfig

SECURITY = Path(__file__).parents[2] / "docs" / "security.md"


def workload(**changed: int) -> Scraper:
    """A Prometheus whose operator has these limits."""
    limits = limits_with({name.replace("_", "-"): value for name, value in changed.items()})
    facts = Capabilities(limits=limits)
    return Scraper(namespace="m", name="w", spec=PrometheusSpec(), capabilities=facts)


def manifest(kind: str, spec: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    """An object of the group, in a tenant's namespace."""
    return thing(kind, "x", "tenant", version=version, uid="u", spec=spec)


def monitor(*endpoints: dict[str, Any]) -> dict[str, Any]:
    """A ServiceMonitor with these endpoints."""
    return manifest("ServiceMonitor", {"selector": {}, "endpoints": list(endpoints)})


def rule(**members: Any) -> dict[str, Any]:
    """A PrometheusRule with one rule."""
    return manifest("PrometheusRule", {"groups": [{"name": "g", "rules": [members]}]})


def alerting(**route: Any) -> dict[str, Any]:
    """An AlertmanagerConfig with these settings of its route."""
    spec = {"route": {"receiver": "r", **route}, "receivers": [{"name": "r"}]}
    return manifest("AlertmanagerConfig", spec, "v1alpha1")


def verdict(given: dict[str, Any], asking: Scraper, assets: Any = None) -> tuple[Finding, ...]:
    """What the workload that reads such an object holds against it."""
    found: Any = typed(given)
    if given["kind"] == "PrometheusRule":
        return rule_file(found, prometheus_reader(asking)).findings
    if given["kind"] == "AlertmanagerConfig":
        terms = terms_of(alertmanager(), limits=asking.capabilities.limits)
        return verdict_on(found, terms, assets or AssetsAtHand())[0].findings
    verdict = judge(asking, found, assets or AssetsAtHand())
    problem = fragment(found, asking, assets or AssetsAtHand()).problem
    if verdict.accepted and problem:
        return (Finding(problem.path, Reason.OVER_BUDGET, problem.reason),)
    return verdict.findings


# --- Every row, and every field -------------------------------------------------------------------

MATCHER = {"name": "a", "matchType": "=~", "value": "a" * 30}
# For each row that a spec alone can pass: an object, and the path at which it passes 20.
OVER = {
    "object-length": (monitor(*[{"port": "abc"}] * 3), "spec"),
    "text-length": (monitor({"path": "/" + "a" * 30}), "spec.endpoints[0].path"),
    "name-length": (
        monitor({"bearerTokenSecret": {"name": "a" * 30, "key": "k"}}),
        "spec.endpoints[0].bearerTokenSecret.name",
    ),
    "nesting": (alerting(routes=[{"routes": [{"routes": [{"routes": []}]}]}]), "spec.route"),
    "items": (alerting(groupBy=[f"l{at}" for at in range(30)]), "spec.route.groupBy"),
    "members": (monitor({"params": {f"k{at}": ["v"] for at in range(30)}}), "spec.endpoints"),
    "endpoints": (monitor(*[{}] * 30), "spec.endpoints"),
    "relabelings": (
        monitor({"relabelings": [{}] * 12, "metricRelabelings": [{}] * 12}),
        "spec.endpoints[0]",
    ),
    "targets": (
        manifest(
            "Probe", {"prober": {"url": "a"}, "targets": {"staticConfig": {"static": ["a"] * 30}}}
        ),
        "spec.targets.staticConfig.static",
    ),
    "discoveries": (
        manifest(
            "ScrapeConfig", {"consulSDConfigs": [{}] * 12, "staticConfigs": [{}] * 12}, "v1alpha1"
        ),
        "spec",
    ),
    "groups": (manifest("PrometheusRule", {"groups": [{"name": "g"}] * 30}), "spec.groups"),
    "rules": (
        manifest("PrometheusRule", {"groups": [{"name": "g", "rules": [{"expr": "a"}] * 12}] * 2}),
        "spec.groups",
    ),
    "expression-length": (rule(record="a", expr="a" * 30), "spec.groups[0].rules[0].expr"),
    "expression-tokens": (rule(record="a", expr="a" + "+a" * 15), "spec.groups[0].rules[0].expr"),
    "all-expression-tokens": (
        manifest("PrometheusRule", {"groups": [{"name": "g", "rules": [{"expr": "a+a+a"}] * 5}]}),
        "spec.groups[0].rules",
    ),
    "template-length": (
        rule(alert="A", expr="a", annotations={"t": "{{ $value }}" * 3}),
        "spec.groups[0].rules[0].annotations.t",
    ),
    "all-template-length": (
        rule(alert="A", expr="a", annotations={"t": "{{ $value }}", "u": "{{ $value }}"}),
        "spec.groups[0].rules[0].annotations",
    ),
    "pattern-weight": (
        monitor({"relabelings": [{"regex": "a{99}"}]}),
        "spec.endpoints[0].relabelings[0].regex",
    ),
    "all-pattern-weight": (alerting(matchers=[MATCHER]), "spec.route.matchers[0].value"),
    "receivers": (
        manifest("AlertmanagerConfig", {"receivers": [{"name": "r"}] * 30}, "v1alpha1"),
        "spec.receivers",
    ),
    "integrations": (
        manifest(
            "AlertmanagerConfig",
            {"receivers": [{"name": "r", "slackConfigs": [{}] * 12, "emailConfigs": [{}] * 12}]},
            "v1alpha1",
        ),
        "spec.receivers[0]",
    ),
    "routes": (alerting(routes=[{"routes": [{}] * 12}] * 12), "spec.route.routes"),
    "matchers": (alerting(matchers=[{"name": "a"}] * 30), "spec.route.matchers"),
    "inhibit-rules": (
        manifest("AlertmanagerConfig", {"inhibitRules": [{}] * 30}, "v1alpha1"),
        "spec.inhibitRules",
    ),
    "time-intervals": (alerting(muteTimeIntervals=["a"] * 30), "spec.route.muteTimeIntervals"),
}
SECRET: dict[Ref, Mapping[str, str | bytes]] = {Ref("Secret", "tenant", "s"): {"k": "v" * 30}}
TOKEN = {"name": "s", "key": "k"}


@pytest.mark.parametrize("row", OVER)
def test_whoever_is_over_a_limit_is_told_where_how_much_and_what_raises_it(row: str) -> None:
    """The same words from the workload, the webhook and lint, and they are of one row."""
    given, path = OVER[row]
    most = 4 if row == "nesting" else 20
    asking = workload(**{row.replace("-", "_"): most})
    (finding,) = verdict(given, asking)
    assert finding.reason == Reason.OVER_BUDGET
    assert finding.path.startswith(path)
    assert f"of at most {most}: the operator's --resource-limits={row}=" in finding.message
    assert int(finding.message.split()[0]) > most

    limits = asking.capabilities.limits
    assert [problem.message for problem in problems(given, limits)] == [finding.message]
    path = f"/admission-{given['kind'].lower()}s/validate"
    request = {"uid": "u", "object": given, "operation": "CREATE"}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    answer = Reviewer(rules_reader("utf8"), limits).answer(path, review)
    assert not answer.allowed
    assert finding.message in json.dumps(answer.body, ensure_ascii=False)


def test_the_rows_that_need_values_are_the_only_others() -> None:
    """Each row of the table has an example, here, below, or where alerts' queries are tested."""
    others = {"values-read", "configuration-bytes", "file-bytes", "alert-queries-length"}
    assert LIMITS.keys() - OVER.keys() == others


@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: f"{sort.kind}-{sort.version}")
def test_whatever_can_be_long_is_counted(sort: Sort) -> None:
    """Every list, mapping and text of the declarations, a new one too."""
    strict = Limits({**dict.fromkeys(LIMITS, 100), "object-length": 10**6})
    counted = [field for field in fields(sort) if field.what in ("list", "mapping", "'a'")]
    free = [str(field) for field in counted if not _is_over(field, strict)]
    assert counted
    assert free == []


def _is_over(field: Field, limits: Limits) -> bool:
    return any(over_budget(field.spec(150), limits, nested=True))


def test_what_is_at_the_limit_is_fine() -> None:
    """One more is not."""
    asking = workload(endpoints=5)
    assert not verdict(monitor(*[{"port": "a"}] * 5), asking)
    assert verdict(monitor(*[{"port": "a"}] * 6), asking)


# What is estimated before it is counted: an object, and what it has of the row.
COUNTED = {
    "expression-tokens": (rule(record="a", expr="sum by (abc) (def)"), 8),
    "all-expression-tokens": (rule(record="a", expr='abcdef{ghi="jkl"} + mnopqr'), 8),
    "pattern-weight": (monitor({"relabelings": [{"regex": "abcdefghi"}]}), 10),
    "all-pattern-weight": (monitor({"relabelings": [{"regex": "abcd"}, {"regex": "efgh"}]}), 10),
}


@pytest.mark.parametrize("row", COUNTED)
def test_an_estimate_decides_nothing_that_counting_would_not(row: str) -> None:
    """An object at its limit is fine though an estimate of it is over; one more is not."""
    given, count = COUNTED[row]
    assert not [*over_budget(given["spec"], limits_with({row: count}))]
    (finding,) = over_budget(given["spec"], limits_with({row: count - 1}))
    assert finding.message.startswith(f"{count} ")


@hypothesis.given(st.text("ab(|)[^-]*+?.$\\dwWDsSbBAzQEé:P<>,i", max_size=40))
def test_an_estimate_is_never_too_low(pattern: str) -> None:
    """What nothing makes heavy has no more steps than its characters allow."""
    if not _HEAVY_TEXT.search(pattern):
        assert parsed(pattern).weight <= _LIGHT * (len(pattern) + 1)
    assert len(_TOKEN.findall(pattern)) <= len(pattern)


def test_an_object_that_is_small_in_bytes_is_over_nothing() -> None:
    """So it need not be looked through: the defaults allow more than so many bytes can hold."""
    small = Limits().small
    assert small >= 4096
    for row, given in (("endpoints", "{},"), ("rules", "{},"), ("targets", '"",'), ("items", "1,")):
        assert small // len(given) <= DEFAULTS[row]
    for heavy in ("\\pL" * 1000, "[\\pL\\pN]{1000}", "(?i)[Ā-\uffff]" * 100):
        assert verdict(monitor({"relabelings": [{"regex": heavy}]}), workload())
    assert verdict(monitor({"port": "a"}), workload(nesting=2))
    for light in ("(a)", "[a]", "[^a]", "a|", ".*", "\\w", "\\W", "()", "[[:word:]]", "[ā-ž]"):
        most = parsed(light * 1000).weight / len(light * 1000)
        assert small * most <= DEFAULTS["pattern-weight"]


@pytest.fixture
def _levels() -> Iterator[None]:
    before = sys.getrecursionlimit(), threading.stack_size()
    yield
    sys.setrecursionlimit(before[0])
    threading.stack_size(before[1])


@pytest.fixture
def _deep_json(_levels: None) -> None:
    allow_deep_json()


def _deep(levels: int) -> str:
    routes = '[{"routes":' * (levels // 2) + "[]" + "}]" * (levels // 2)
    route = f'{{"receiver":"r","routes":{routes}}}'
    metadata = '{"name":"x","namespace":"tenant"}'
    return f'{{"metadata":{metadata},"spec":{{"route":{route},"receivers":[{{"name":"r"}}]}}}}'


@pytest.mark.usefixtures("_deep_json")
def test_routes_as_deep_as_kubernetes_stores_them_are_a_finding() -> None:
    """The operator reads the list they are in, and says why it leaves them out."""
    found = decode(v1alpha1.AlertmanagerConfig, _deep(9_000))
    verdict, _ = verdict_on(found, terms_of(alertmanager()), AssetsAtHand())
    (finding,) = verdict.findings
    assert "--resource-limits=nesting=" in finding.message
    assert len(str(finding)) < 500


@pytest.mark.usefixtures("_levels")
def test_commands_that_read_a_cluster_read_what_the_operator_reads(tmp_path: Path) -> None:
    """Else one object of a tenant would keep them from answering about all others."""
    config = tmp_path / "config"
    config.write_text(kubeconfig("https://127.0.0.1:1", "token", tmp_path / "ca.crt"))
    with pytest.raises(AccessError):
        access_to_read(str(config), "no such context")
    assert decode(v1alpha1.AlertmanagerConfig, _deep(9_000))


@pytest.mark.usefixtures("_levels")
def test_what_is_too_deep_for_this_process_is_an_object_set_aside() -> None:
    """Not an error that nobody expects, nor the end of the process."""
    # Whoever was tested before may have let this process read more. Since Python 3.12 this has no
    # say in what is written in C: the limit is 10,000 levels there, and since 3.14 the stack.
    sys.setrecursionlimit(1_000)
    with pytest.raises(DecodeError, match="nested too deeply"):
        decode(v1alpha1.AlertmanagerConfig, _deep(1_000_000))


# --- What comes to light later --------------------------------------------------------------------


class Counted:
    """Values, and how often they were asked for."""

    asked = 0

    def value(self, source: Source) -> str | Missing:
        """The text behind a key, or why there is none."""
        self.asked += 1
        return AssetsAtHand(SECRET).value(source)


def test_a_large_value_is_not_multiplied() -> None:
    """What 600 endpoints would read is counted, and nothing is built of it."""
    large = AssetsAtHand({Ref("Secret", "tenant", "s"): {"k": "t" * 900_000}})
    given = monitor(*[{"port": "web", "bearerTokenSecret": TOKEN}] * 600)
    (finding,) = verdict(given, workload(), large)
    assert finding.reason == Reason.OVER_BUDGET
    assert "--resource-limits=" in finding.message


@pytest.mark.parametrize(
    ("row", "endpoint"),
    [
        ("values-read", {"tlsConfig": {"ca": {"secret": TOKEN}}}),
        ("configuration-bytes", {"bearerTokenSecret": TOKEN}),
        ("configuration-bytes", {"path": "/abc"}),
    ],
)
def test_values_and_what_they_become_are_counted(row: str, endpoint: dict[str, Any]) -> None:
    """Of a monitor; the message has the name of the limit."""
    (finding,) = verdict(
        monitor(endpoint), workload(**{row.replace("-", "_"): 20}), AssetsAtHand(SECRET)
    )
    assert finding.reason == Reason.OVER_BUDGET
    assert f"--resource-limits={row}=" in finding.message


def test_writing_stops_at_the_endpoint_that_is_too_much() -> None:
    """What is after it is not even looked at."""
    values = Counted()
    found: Any = typed(monitor(*[{"bearerTokenSecret": TOKEN}] * 100))
    made = fragment(found, workload(configuration_bytes=100), values)
    assert made.problem
    assert made.text == ""
    assert values.asked < 5


def test_files_to_mount_are_counted() -> None:
    """Certificates and keys; the same one only once."""
    pem = "-----BEGIN CERTIFICATE-----\n" + "A" * 400 + "\n-----END CERTIFICATE-----\n"
    values = AssetsAtHand({Ref("Secret", "tenant", "s"): {"a": pem, "b": pem}})
    authority = [{"tlsConfig": {"ca": {"secret": {"name": "s", "key": key}}}} for key in "aba"]
    over = verdict(monitor(*authority), workload(file_bytes=600), values)
    assert "--resource-limits=file-bytes=" in over[-1].message
    once = verdict(monitor(*authority[::2]), workload(file_bytes=600), values)
    assert not any("file-bytes" in each.message for each in once)


def test_a_workload_has_no_budget() -> None:
    """Its owner may write what it takes."""
    from stoker.validate.reading import ScraperReading

    scope = ScraperReading(workload(values_read=1), AssetsAtHand(SECRET), "tenant")
    found: Any = typed(monitor({"bearerTokenSecret": TOKEN}))
    assert scope.value(found.spec.endpoints[0].bearer_token_secret) == "v" * 30


# --- Words and weights ----------------------------------------------------------------------------


def test_an_expression_has_no_more_nodes_than_words_and_signs() -> None:
    """So counting these, which is cheap, bounds the tree."""
    options = options_for(NEWEST, FEATURES)
    seen = 0
    for text in expressions(7, 300):
        try:
            tree = parse(text, options)
        except ParseError:
            continue
        seen += 1
        assert sum(1 for _ in walk(tree)) <= len(_TOKEN.findall(text)), text
    assert seen > 50


# --- The flag, and the page -----------------------------------------------------------------------


def test_the_flag_changes_limits_by_name() -> None:
    """It may be repeated; the last word counts; the others stay."""
    words = ["--resource-limits=endpoints=5,rules=7", "--resource-limits=rules=9"]
    limits = operator_settings(words).limits
    assert (limits["endpoints"], limits["rules"]) == (5, 9)
    assert limits["groups"] == DEFAULTS["groups"]
    assert operator_settings([]).limits == Limits()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("endpoint=5", "did you mean `endpoints`?"),
        ("nonsense=5", "there are object-length, "),
        ("rules=many", "rules: `many` is not a number"),
        ("rules=0", "rules: `0` is less than 1"),
        ("rules", "not of the form key=value"),
    ],
)
def test_the_flag_teaches(text: str, said: str) -> None:
    """A name that there is not is refused with the nearest, or all."""
    with pytest.raises(ValueError, match=re.escape(said)):
        resource_limits(text)
    with pytest.raises(FieldError):
        operator_settings([f"--resource-limits={text}"])


def test_the_page_on_security_has_the_table() -> None:
    """Names, defaults, and the largest that was seen in honest use, as they are."""
    page = SECURITY.read_text()
    rows = []
    for name, limit in LIMITS.items():
        seen = f"{limit.seen:,}" if limit.seen else "–"
        rows.append(f"| `{name}` | {limit.counts}. | {limit.default:,} | {seen} |")
    assert "\n".join(rows) in page


@pytest.mark.parametrize("row", LIMITS)
def test_the_defaults_are_far_above_honest_use(row: str) -> None:
    """Ten times the largest that was seen, at least."""
    assert LIMITS[row].default >= 10 * LIMITS[row].seen
