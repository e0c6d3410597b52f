"""Queries in the texts of alerts: held to the namespace where it is enforced, or refused."""

import pytest

from stoker.api.rules import PrometheusRule
from stoker.api.workload import ExcludedObject
from stoker.generate.rules import Enforcement, RuleFile, enforced, rule_file
from stoker.validate.findings import Reason
from stoker.validate.rules import thanos_reader
from stoker.version import parse_version
from tests.unit.test_rules import one_rule, reader, rule_of

ENFORCED = Enforcement("namespace")


def held(rule: PrometheusRule) -> RuleFile:
    """The file of a rule where the namespace is enforced."""
    return rule_file(rule, reader(), ENFORCED)


def annotation(text: str) -> str:
    """What becomes of an annotation, which must become something."""
    rule = one_rule(annotations={"a": text})
    assert not held(rule).findings
    (group,) = enforced(rule, ENFORCED, reader()).groups or ()
    (one,) = group.rules or ()
    return (one.annotations or {})["a"]


HELD = (
    ('{{ query "up" }}', '{{ query "up{namespace=\\"shop\\"}" }}'),
    ("{{ query `up` }}", '{{ query `up{namespace="shop"}` }}'),
    ("{{ `a` | query | first | value }}", '{{ `a{namespace="shop"}` | query | first | value }}'),
    (
        '{{ range query "m{namespace=\\"victim\\"}" }}{{ . }}{{ end }}',
        '{{ range query "m{namespace=\\"shop\\"}" }}{{ . }}{{ end }}',
    ),
    ("{{ query ((`a`)) }}", '{{ query ((`a{namespace="shop"}`)) }}'),
    (
        "{{ define `x` }}{{ with query `a` }}{{ end }}{{ end }}{{ template `x` query `b` }}",
        '{{ define `x` }}{{ with query `a{namespace="shop"}` }}{{ end }}{{ end }}'
        '{{ template `x` query `b{namespace="shop"}` }}',
    ),
    ('{{ query "a{b=`c`}" }}', '{{ query "a{b=\\"c\\",namespace=\\"shop\\"}" }}'),
    ("{{ query `a{b='\\n'}` }}", '{{ query `a{b="\\n",namespace="shop"}` }}'),
    ('{{ query "\\x61" }}', '{{ query "a{namespace=\\"shop\\"}" }}'),
    ("{{ query `vector(1)` }}", "{{ query `vector(1)` }}"),
    ("query `a` {{ .Labels.query }}{{ `query` }}", "query `a` {{ .Labels.query }}{{ `query` }}"),
    (
        "é{{ query `a` }}é{{ query `b` }}é",
        'é{{ query `a{namespace="shop"}` }}é{{ query `b{namespace="shop"}` }}é',
    ),
)


@pytest.mark.parametrize(("text", "expected"), HELD)
def test_a_query_that_is_written_out_gets_the_label(text: str, expected: str) -> None:
    """In place of what was said of it, and nothing else of the text changes."""
    assert annotation(text) == expected


UNHELD = (
    '{{ query (printf "%s" "up") }}',
    "{{ $q := `up` }}{{ query $q }}",
    "{{ with `up` }}{{ query . }}{{ end }}",
    "{{ query $labels.q }}",
    "{{ query .Labels.q }}",
    "{{ `up` | print | query }}",
    "{{ `up` | query `up` }}",
    "{{ define `x` }}{{ query . }}{{ end }}{{ template `x` `up` }}",
    "{{ range args `up` }}{{ . | query }}{{ end }}",
    "{{ query }}",
    "{{ call query `up` }}",
    "{{ query `up(` }}",
    '{{ query "\\xff" }}',
    "{{ query `` }}",
)


@pytest.mark.parametrize("text", UNHELD)
def test_a_query_that_is_made_when_the_alert_fires_is_refused(text: str) -> None:
    """Nobody can tell what it reads; it is said where it is, in labels too."""
    good = {"alert": "Up", "expr": "up"}
    bad = {"alert": "Down", "expr": "up", "annotations": {"a": text}, "labels": {"b": text}}
    rule = rule_of({"name": "shop", "rules": [good, bad]})
    made = held(rule)
    assert not made.text
    paths = ["spec.groups[0].rules[1].labels[b]", "spec.groups[0].rules[1].annotations[a]"]
    assert [one.path for one in made.findings] == paths
    assert not rule_file(rule, reader()).findings


def test_who_is_spared_asks_what_they_like() -> None:
    """The exclusions hold for the queries of alerts as for their expressions."""
    spared = ExcludedObject(resource="prometheusrules", namespace="shop", name="alerts")
    rule = one_rule(annotations={"a": "{{ query $labels.q }}{{ query `up` }}"})
    made = rule_file(rule, reader(), Enforcement("namespace", (spared,)))
    assert "{{ query `up` }}" in made.text


def test_the_labels_of_a_recording_rule_are_no_templates() -> None:
    """Nothing is asked by them, and nothing is changed."""
    rule = one_rule(alert=None, record="a:b", labels={"a": "{{ query $q }}"})
    assert "{{ query $q }}" in held(rule).text


def test_the_labels_of_a_group_are_templates_of_its_alerts() -> None:
    """They are held too; those of a group that only records are texts."""
    alert = {"alert": "A", "expr": "up"}
    for text, path in (
        ("{{ query `up` }}", ""),
        ("{{ query $q }}", "spec.groups[0].labels[a]"),
        ("{{ query $labels.q }}", "spec.groups[0].labels[a]"),
    ):
        made = held(rule_of({"name": "g", "labels": {"a": text}, "rules": [alert]}))
        assert [one.path for one in made.findings] == ([path] if path else [])
        assert made.text.count('`up{namespace="shop"}`') == (not path)
        recording = {"name": "g", "labels": {"a": text}, "rules": [{"record": "a", "expr": "up"}]}
        assert text in held(rule_of(recording)).text


def test_the_queries_of_an_object_have_a_bound() -> None:
    """Each is parsed, and a tenant writes as many as fit into an object."""
    query = "a" + "+a" * 2000
    texts = {f"a{number}": f"{{{{ query `{query}` }}}}" for number in range(20)}
    made = held(one_rule(annotations=texts))
    assert {one.path[-5:-1] for one in made.findings} <= {f"[a{number}" for number in range(10, 20)}
    assert made.findings[0].reason == Reason.OVER_BUDGET
    assert "--resource-limits=alert-queries-length=" in made.findings[0].message


def test_thanos_is_held_as_well() -> None:
    """Its rules see the metrics of all Prometheuses behind it."""
    rule = one_rule(annotations={"a": "{{ query `up` }}"})
    made = rule_file(rule, thanos_reader(parse_version("0.42.4")), ENFORCED)
    assert 'query `up{namespace="shop"}`' in made.text
