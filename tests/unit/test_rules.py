"""Rules: what is refused and where, what is written, and how files are spread over ConfigMaps."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusSpec
from stoker.api.rules import PrometheusRule
from stoker.generate.rules import (
    CONFIG_MAP_LIMIT,
    GROWN_LIMIT,
    MOST_FILES,
    Enforcement,
    RuleFile,
    enforcement_of,
    rule_file,
    split_files,
)
from stoker.select.workload import Scraper
from stoker.validate import templates
from stoker.validate.findings import Reason
from stoker.validate.rules import RuleReader, prometheus_reader, raw_rules, rules, thanos_reader
from stoker.version import parse_version
from tests.builders import typed


def reader(version: str = "v3.14.0", **members: Any) -> RuleReader:
    """A Prometheus that reads rules."""
    spec = convert(PrometheusSpec, {"version": version, **members})
    return prometheus_reader(Scraper(namespace="ops", name="main", spec=spec))


def rule_of(*groups: dict[str, Any]) -> PrometheusRule:
    """A PrometheusRule of a tenant."""
    return typed(PrometheusRule, "alerts", {"groups": groups}, uid="1f0c")


def one_rule(**members: Any) -> PrometheusRule:
    """A PrometheusRule with one alert, changed like this; None removes a member."""
    members = {"alert": "Down", "expr": "up == 0"} | members
    rule = {name: value for name, value in members.items() if value is not None}
    return rule_of({"name": "shop", "rules": [rule]})


def written(rule: PrometheusRule, who: RuleReader | None = None) -> RuleFile:
    """The file, which must be one."""
    made = rule_file(rule, who or reader())
    assert not made.findings
    return made


def found(rule: PrometheusRule, who: RuleReader | None = None) -> list[tuple[str, Reason]]:
    """What is wrong, and where."""
    return [(one.path, one.reason) for one in rules(rule.spec, who or reader())]


GROUP = {
    "name": "shop",
    "interval": "1m",
    "limit": 10,
    "query_offset": "30s",
    "labels": {"team": "web"},
    "partial_response_strategy": "warn",
    "rules": [
        {"record": "shop:orders:rate5m", "expr": "sum(rate(orders_total[5m]))"},
        {
            "alert": "NoOrders",
            "expr": "shop:orders:rate5m == 0",
            "for": "10m",
            "keep_firing_for": "5m",
            "labels": {"zone": "a", "severity": "page", "a10": "x", "a2": "y"},
            "annotations": {"summary": "None for {{ $value | humanizeDuration }}: look\nnow"},
        },
        {"record": "one", "expr": 1},
    ],
}
FILE = """\
groups:
- interval: 1m
  labels:
    team: web
  limit: 10
  name: shop
  query_offset: 30s
  rules:
  - expr: sum(rate(orders_total[5m]))
    record: shop:orders:rate5m
  - alert: NoOrders
    annotations:
      summary: |-
        None for {{ $value | humanizeDuration }}: look
        now
    expr: shop:orders:rate5m == 0
    for: 10m
    keep_firing_for: 5m
    labels:
      a2: "y"
      a10: x
      severity: page
      zone: a
  - expr: 1
    record: one
"""


def test_a_rule_becomes_a_file_with_its_keys_in_order() -> None:
    """Every field has its place, and what only Thanos knows is left out and told."""
    made = written(rule_of(GROUP))
    assert made.name == "shop-alerts-1f0c.yaml"
    assert made.text == FILE
    assert [one.path for one in made.ignored] == ["spec.groups[0].partial_response_strategy"]


def test_thanos_gets_its_own_field() -> None:
    """Thanos Ruler is told what to do when stores are missing."""
    made = written(rule_of(GROUP), thanos_reader(parse_version("0.42.4")))
    assert "  partial_response_strategy: warn\n" in made.text
    assert not made.ignored


def test_fields_that_are_too_new_are_left_out_and_told() -> None:
    """An old Prometheus gets what it knows; the report names the rest with its version."""
    made = written(rule_of(GROUP), reader("v2.30.0"))
    assert {one.path.rpartition(".")[2]: one.reason for one in made.ignored} == {
        "labels": "needs Prometheus 3.0.0 or newer",
        "limit": "needs Prometheus 2.31.0 or newer",
        "partial_response_strategy": "only Thanos Ruler knows it",
        "query_offset": "needs Prometheus 2.53.0 or newer",
        "keep_firing_for": "needs Prometheus 2.42.0 or newer",
    }
    assert "limit" not in made.text


def test_what_is_left_out_is_not_judged() -> None:
    """A field that an old version never sees cannot make its rules bad."""
    group = {"name": "g", "labels": {"not legacy": "x"}, "query_offset": "soon"}
    assert not found(rule_of(group), reader("v2.50.0"))
    assert len(found(rule_of(group), reader("v3.0.0"))) == 1


def test_an_empty_duration_is_as_good_as_none() -> None:
    """Prometheus would refuse the file; the user meant nothing by it."""
    made = written(rule_of({"name": "g", "interval": "", "rules": [{"record": "a", "expr": "b"}]}))
    assert "interval" not in made.text


def test_no_groups_make_an_empty_file() -> None:
    """A PrometheusRule without groups is no mistake."""
    assert written(rule_of()).text == "{}\n"


LABELLED = """\
groups:
- name: shop
  rules:
  - alert: Down
    expr: up{job="a",namespace="shop"} == 0
    labels:
      namespace: shop
"""


def test_a_rule_is_held_to_its_namespace() -> None:
    """The label is in every selector and on the result, whatever the tenant wrote there."""
    rule = one_rule(expr='up{namespace="other",job="a"} == 0', labels={"namespace": "other"})
    assert rule_file(rule, reader(), Enforcement("namespace")).text == LABELLED


def test_who_wants_all_labels_of_info_series_is_told() -> None:
    """Held to their namespace, rules get those that they name."""
    named, nameless = (one_rule(expr=text) for text in ("info(up, {a=~'.+'})", "info(up)"))
    experimental = reader(enableFeatures=["promql-experimental-functions"])
    held = Enforcement("namespace")
    assert rule_file(named, experimental, held).ignored == ()
    assert rule_file(nameless, experimental).ignored == ()
    (told,) = rule_file(nameless, experimental, held).ignored
    assert told.path == f"{RULE}.expr"
    assert "second argument" in told.reason


@pytest.mark.parametrize(
    "spared",
    [
        {"excludedFromEnforcement": [{"resource": "prometheusrules", "namespace": "shop"}]},
        {"prometheusRulesExcludedFromEnforce": [{"ruleNamespace": "shop", "ruleName": "alerts"}]},
    ],
)
def test_a_rule_can_be_spared(spared: dict[str, Any]) -> None:
    """Both ways of naming it work; a rule of another name or kind is still held."""
    rule = one_rule()
    spec = convert(PrometheusSpec, {"enforcedNamespaceLabel": "namespace", **spared})
    assert "namespace" not in rule_file(rule, reader(), enforcement_of(spec)).text
    other = convert(PrometheusRule, {"metadata": {"namespace": "x"}, "spec": {}})
    assert enforcement_of(spec).concerns(other.metadata)


RULE = "spec.groups[0].rules[0]"
RECORD = {"alert": None, "record": "a"}


@pytest.mark.parametrize(
    ("members", "path", "reason"),
    [
        ({"record": "a"}, RULE, Reason.CONFLICT),
        ({"alert": None}, RULE, Reason.REQUIRED),
        ({"expr": ""}, f"{RULE}.expr", Reason.REQUIRED),
        ({"expr": "up =="}, f"{RULE}.expr", Reason.INVALID_VALUE),
        ({"expr": "mad_over_time(up[5m])"}, f"{RULE}.expr", Reason.INVALID_VALUE),
        ({"for": "5 minutes"}, f"{RULE}.for", Reason.INVALID_VALUE),
        ({"keep_firing_for": "-1m"}, f"{RULE}.keep_firing_for", Reason.INVALID_VALUE),
        ({"labels": {"__name__": "a"}}, f"{RULE}.labels", Reason.INVALID_VALUE),
        ({"labels": {"": "a"}}, f"{RULE}.labels", Reason.INVALID_VALUE),
        ({"labels": {"a": "{{ nope }}"}}, f"{RULE}.labels[a]", Reason.INVALID_VALUE),
        ({"annotations": {"a": "{{ $val }}"}}, f"{RULE}.annotations[a]", Reason.INVALID_VALUE),
        ({"alert": None, "record": "a{}"}, f"{RULE}.record", Reason.INVALID_VALUE),
        ({**RECORD, "for": "1m"}, f"{RULE}.for", Reason.CONFLICT),
        ({**RECORD, "annotations": {"a": "b"}}, f"{RULE}.annotations", Reason.CONFLICT),
    ],
)
def test_a_bad_rule_is_refused_at_its_path(
    members: dict[str, Any], path: str, reason: Reason
) -> None:
    """One mistake, one finding, where the mistake is."""
    assert found(one_rule(**members)) == [(path, reason)]
    assert not rule_file(one_rule(**members), reader()).text


def test_what_a_version_does_not_know_is_no_mistake_of_a_recording_rule() -> None:
    """It is left out, so nobody refuses it."""
    rule = one_rule(**RECORD, keep_firing_for="5m")
    for old in (reader("v2.41.0"), thanos_reader(parse_version("0.30.0"))):
        assert found(rule, old) == []
        assert "keep_firing_for" not in rule_file(rule, old).text
    assert found(rule) == [(f"{RULE}.keep_firing_for", Reason.CONFLICT)]


def test_names_of_groups_are_needed_and_differ() -> None:
    """Prometheus refuses a file with two groups of one name, or with one of none."""
    groups = rule_of({"name": "a"}, {"name": "a"}, {"name": ""})
    assert found(groups) == [
        ("spec.groups[1].name", Reason.DUPLICATE),
        ("spec.groups[2].name", Reason.REQUIRED),
    ]


def test_settings_of_a_group_are_judged() -> None:
    """Interval, offset, limit, and the strategy where it matters."""
    group = {"name": "a", "interval": "1", "query_offset": "x", "limit": 2**63}
    names = [path.rpartition(".")[2] for path, _ in found(rule_of(group))]
    assert names == ["interval", "query_offset", "limit"]
    strategy = rule_of({"name": "a", "partial_response_strategy": "maybe"})
    assert not found(strategy)
    assert len(found(strategy, thanos_reader(parse_version("0.42.4")))) == 1


def test_a_duration_of_zero_is_no_mistake_in_a_recording_rule() -> None:
    """Prometheus looks at the length, not at the field."""
    assert not found(one_rule(alert=None, record="a", **{"for": "0s"}))


def test_names_follow_the_scheme_of_the_version() -> None:
    """Any name since 3.0 unless the workload wants legacy ones; a flag allows them before."""
    rule = one_rule(alert=None, record="shop.orders", labels={"größe": "x"})
    assert not found(rule)
    assert len(found(rule, reader("v2.55.0"))) == 2
    assert len(found(rule, reader(nameValidationScheme="Legacy"))) == 2
    assert not found(rule, reader("v2.55.0", enableFeatures=["utf8-names"]))


def test_expressions_follow_the_features_of_the_workload() -> None:
    """An experimental function needs its flag."""
    who = reader(enableFeatures=["promql-experimental-functions"])
    assert not found(one_rule(expr="mad_over_time(up[5m])"), who)


def test_a_value_of_the_wrong_type_is_a_finding() -> None:
    """YAML makes booleans of unquoted words; nothing is raised for it."""
    rule = {"alert": "A", "annotations": {"runbook": False}}
    spec = {"groups": [{"name": "a", "rules": [rule]}]}
    (one,) = raw_rules(spec, reader())
    assert one.path.startswith("spec.groups[")
    assert "annotations" in one.path
    assert one.message == "expected a string, got a boolean"


def test_a_rule_too_large_for_a_config_map_is_refused() -> None:
    """It is told how large it is."""
    made = rule_file(one_rule(annotations={"a": "ä" * (CONFIG_MAP_LIMIT // 2)}), reader())
    assert [one.path for one in made.findings] == ["spec"]


GOOD_TEMPLATES = (
    "no template }} at all",
    "{{ $labels.instance }} of {{ $externalLabels.cluster }} at {{ $externalURL }}",
    '{{ printf "%.2f" $value }}{{ $value | humanizePercentage }}',
    "{{ if gt $value 1.0 }}high{{ else if eq $value 1.0 }}one{{ else }}low{{ end }}",
    '{{ with query "up" }}{{ . | first | value | humanize }}{{ end }}',
    '{{ range $i, $e := query "up" }}{{ $i }}{{ $e.Labels.job }}{{ break }}{{ end }}',
    '{{ define "a" }}{{ . }}{{ end }}{{ template "a" $value }}',
    "{{- /* a comment */ -}} {{ (index $labels `a}}`).x }}",
    '{{ $x := reReplaceAll "a\\\\d" `\\d` .Labels.a }}{{ $x = "b" }}{{ $x | toUpper -}}',
    "{{ 'a' }}{{ 0x1f }}{{ -1.5e3 }}{{ 017 }}{{ nil | print }}",
)
BAD_TEMPLATES = (
    "{{ $labels.instance }", "{{ $labels.instance", "{{ }}", "{{ $label.instance }}",
    "{{ $labels. }}", "{{ humanize($value) }}", "{{ $value | humanise }}",
    "{{ print “%f“ $value }}", "{{ printf '%.2f' $value }}",
    '{{ reReplaceAll "\\d+" "" .Labels.a }}', "{{ $value - 1 }}", "{{ $value || 1 }}",
    '{{ $value | "a" }}', "{{ if $value }}", "{{ end }}", "{{ else }}", "{{ if }}{{ end }}",
    "{{ if 1 }}{{ else }}{{ else }}{{ end }}", "{{ range 1 }}{{ else if 2 }}{{ end }}",
    '{{ if 1 }}{{ define "a" }}{{ end }}{{ end }}', '{{ define "a" }}{{ $value }}{{ end }}',
    "{{ if $x := 1 }}{{ end }}{{ $x }}", "{{ break }}", "{{ template }}", "{{ (1 }}", "{{ 1) }}",
    "{{ tmpl `a` . }}", "{{ $a, $b := 1 }}", "{{ /* comment */ }}", "{{/* comment }}", "{{ 08 }}",
)  # fmt: skip


def template_problem(text: str) -> str:
    """Why the newest Prometheus would refuse a text of an alert."""
    return templates.template_problem(text, "Down", parse_version("3.14.0"))


@pytest.mark.parametrize("text", GOOD_TEMPLATES)
def test_a_good_template_is_taken(text: str) -> None:
    """A good rule that is refused is an outage."""
    assert template_problem(text) == ""


@pytest.mark.parametrize("text", BAD_TEMPLATES)
def test_a_bad_template_is_refused(text: str) -> None:
    """Prometheus would refuse all rules for it."""
    assert template_problem(text)


def test_a_function_of_templates_needs_its_version() -> None:
    """What a newer Prometheus brought, an older one refuses."""
    rule = one_rule(annotations={"a": "{{ now }}"})
    assert not found(rule)
    assert found(rule, reader("v3.5.0"))
    assert not found(rule, thanos_reader(parse_version("0.42.4")))
    assert found(rule, thanos_reader(parse_version("0.39.0")))


def test_an_alert_cannot_be_defined_anew_in_its_own_text() -> None:
    """Prometheus parses the text under the name of its alert, after a few variables."""
    text = '{{ define "__alert_A" }}x{{ end }}'
    assert templates.template_problem(text, "A", parse_version("3.14.0"))
    assert not templates.template_problem(text, "B", parse_version("3.14.0"))
    assert not templates.template_problem(text.replace("x", " "), "A", parse_version("3.14.0"))


def test_what_a_go_brought_an_older_prometheus_refuses() -> None:
    """`break`, `else with`, and a letter of a later Unicode."""
    since = {
        "{{ range . }}{{ break }}{{ end }}": ("v2.34.0", "v2.39.0"),
        "{{ with 1 }}{{ else with 2 }}{{ end }}": ("v2.54.0", "v3.0.0"),
        "{{ .\U0001e4d0 }}": ("v2.44.0", "v2.47.0"),
        "{{ 1\n}}": ("v2.25.0", "v2.26.0"),
        "{{ 0b1 }}": ("v2.12.0", "v2.13.0"),
        "{{ $externalURL }}": ("v2.27.0", "v2.28.0"),
    }
    for text, (before, after) in since.items():
        rule = one_rule(annotations={"a": text})
        assert found(rule, reader(before)), text
        assert not found(rule, reader(after)), text


PIECES = st.sampled_from(
    ["{{", "}}", "{{-", " -}}", " ", "|", "(", ")", "$labels", ".a", '"', "`", "'", "\\", "1", "-",
     "if ", "else ", "end", "range ", "with ", "define ", ":=", ",", "/*", "*/", "print", "\n"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES | st.text(max_size=2)).map("".join)))
def test_no_text_is_too_strange_for_a_template(text: str) -> None:
    """The answer is a sentence or nothing, never an exception."""
    assert isinstance(template_problem(text), str)
    assert template_problem(text.replace("{{", "")) == "" or "{{" in text.replace("{{", "")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_no_value_is_too_strange_for_a_rule(value: Any) -> None:
    """Whatever stands in a rule, the answer is findings."""
    rule = {"alert": "A", "expr": value, "for": value, "labels": value, "annotations": value}
    spec = {"groups": [{"name": "a", "rules": [rule]}]}
    assert all(one.path.startswith("spec") for one in raw_rules(spec, reader()))


HALF = "a" * (CONFIG_MAP_LIMIT // 2)


def test_files_fill_one_config_map_after_the_other() -> None:
    """In the order of their names; there is always one."""
    assert split_files({}) == [{}]
    files = {"c": "x", "a": HALF, "b": HALF}
    assert [list(held) for held in split_files(files)] == [["a", "b"], ["c"]]


def test_a_changed_file_rewrites_one_config_map() -> None:
    """It may grow where it is; one that outgrows even that moves, and the others stay."""
    third = CONFIG_MAP_LIMIT // 3
    files = {name: name * third for name in "abcdef"}
    before = split_files(files)
    assert [list(held) for held in before] == [["a", "b", "c"], ["d", "e", "f"]]
    small = split_files(files | {"a": "changed"}, before)
    assert small[1] == before[1]
    grown = split_files(files | {"a": "A" * (third + 9)}, before)
    assert [list(held) for held in grown] == [["a", "b", "c"], ["d", "e", "f"]]
    again = split_files(files | {"a": "A" * (third + 99)}, grown)
    assert again[1] == before[1]
    outgrown = split_files(files | {"a": "A" * (GROWN_LIMIT - 2 * third + 1)}, before)
    assert [list(held) for held in outgrown] == [["b", "c"], ["d", "e", "f"], ["a"]]


def test_many_tiny_files_are_spread_over_config_maps() -> None:
    """Their names are stored as well, twice, and are most of them."""
    files = {f"{number:04}": "x" for number in range(2 * MOST_FILES + 1)}
    before = split_files(files)
    assert [len(held) for held in before] == [MOST_FILES, MOST_FILES, 1]
    assert split_files(files | {"0000": "y", "zzzz": "x"}, before)[1] == before[1]
    crowded = split_files(files, [files])
    assert [len(held) for held in crowded] == [MOST_FILES, MOST_FILES, 1]


def test_a_new_file_rewrites_one_config_map() -> None:
    """It goes where there is room, though its name comes first."""
    before = split_files({"b": HALF, "c": HALF, "d": "x"})
    after = split_files({"a": "new", "b": HALF, "c": HALF, "d": "x"}, before)
    assert after == [before[0], {"a": "new", "d": "x"}]


def test_room_that_is_lost_is_found_again() -> None:
    """Half-empty ConfigMaps are filled anew where that saves one."""
    before = [{"a": "x"}, {"b": "y"}, {"c": "z"}]
    assert split_files({"a": "x", "b": "y", "c": "z"}, before) == [{"a": "x", "b": "y", "c": "z"}]


SIZES = st.dictionaries(st.text("abc", min_size=1), st.integers(0, CONFIG_MAP_LIMIT), max_size=8)


@given(SIZES, SIZES)
def test_every_file_has_its_place(old: dict[str, int], new: dict[str, int]) -> None:
    """Whatever was there before: all files once, none too many, and the same again next time."""
    before = split_files({name: "o" * size for name, size in old.items()})
    files = {name: "n" * size for name, size in new.items()}
    after = split_files(files, before)
    assert sorted(name for held in after for name in held) == sorted(files)
    assert all(sum(map(len, held.values())) <= GROWN_LIMIT for held in after)
    assert len(after) <= len(split_files(files))
    assert split_files(files, after) == after


def test_expressions_of_an_old_prometheus_are_its_own() -> None:
    """What came later is refused for it."""
    (one,) = found(one_rule(expr="up @ 0"), reader("v2.30.0"))
    assert one == (f"{RULE}.expr", Reason.INVALID_VALUE)
