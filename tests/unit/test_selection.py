"""Which resources apply to a workload, and what is made of them."""

from typing import Any

import pytest

from stoker.api.core import LabelSelector, LabelSelectorRequirement
from stoker.api.decode import convert
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import PrometheusAgentSpec, PrometheusSpec
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.api.rules import PrometheusRule
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.api.thanosruler import ThanosRulerSpec
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand
from stoker.select.choice import applicable, choices_in, chosen
from stoker.select.labels import (
    field_text_problem,
    label_text_problem,
    problems,
    selector_of,
)
from stoker.select.workload import Scraper
from stoker.validate.verdicts import Selection, judge, select
from tests.builders import typed


def workload(**spec: Any) -> Scraper:
    """A Prometheus with these settings, by their JSON names."""
    made = convert(PrometheusCommonSpec, spec)
    return Scraper(namespace="monitoring", name="main", spec=made)


def monitor(
    name: str, namespace: str = "monitoring", labels: dict[str, str] | None = None, **endpoint: Any
) -> ServiceMonitor:
    """A ServiceMonitor with one endpoint."""
    return typed(ServiceMonitor, name, {"endpoints": [endpoint]}, namespace, labels=labels or {})


def names(resources: list[Any]) -> list[str]:
    """Resources as `namespace/name`."""
    return [f"{one.metadata.namespace}/{one.metadata.name}" for one in resources]


def test_without_a_selector_nothing_applies_and_an_empty_one_takes_the_own_namespace() -> None:
    """An absent selector chooses nothing; namespaces are the workload's own unless told."""
    candidates = [monitor("b"), monitor("a"), monitor("c", "shop")]
    assert applicable(workload(), candidates, {}) == []
    own = applicable(workload(serviceMonitorSelector={}), candidates, {})
    assert names(own) == ["monitoring/a", "monitoring/b"]


def test_namespaces_are_chosen_by_their_labels() -> None:
    """Selectors for labels and for namespaces must both match."""
    candidates: list[Any] = [
        monitor("a", "shop", {"team": "x"}),
        monitor("b", "shop", {"team": "y"}),
        monitor("c", "bank", {"team": "x"}),
    ]
    asking = workload(
        serviceMonitorSelector={"matchLabels": {"team": "x"}},
        serviceMonitorNamespaceSelector={"matchLabels": {"watch": "yes"}},
    )
    chosen = applicable(asking, candidates, {"shop": {"watch": "yes"}, "bank": {}})
    assert names(chosen) == ["shop/a"]
    everywhere = workload(serviceMonitorSelector={}, serviceMonitorNamespaceSelector={})
    assert names(applicable(everywhere, candidates, {})) == ["bank/c", "shop/a", "shop/b"]


def test_each_kind_has_selectors_of_its_own() -> None:
    """A selector for Probes says nothing about PodMonitors; order is by kind and name."""
    models = (ScrapeConfig, Probe, PodMonitor)
    candidates: list[Any] = [typed(model, "x", namespace="monitoring") for model in models]
    asking = workload(probeSelector={}, scrapeConfigSelector={})
    chosen = applicable(asking, candidates, {})
    assert [type(one) for one in chosen] == [Probe, ScrapeConfig]


def rule(name: str, namespace: str = "monitoring", **labels: str) -> PrometheusRule:
    """A PrometheusRule without rules."""
    return typed(PrometheusRule, name, namespace=namespace, labels=labels)


RULES = [rule("b", "shop", team="x"), rule("a", team="x"), rule("c", team="y")]


@pytest.mark.parametrize(
    ("spec", "taken"),
    [
        ({}, []),
        ({"ruleNamespaceSelector": {}}, []),
        ({"ruleSelector": {}}, ["monitoring/a", "monitoring/c"]),
        ({"ruleSelector": {"matchLabels": {"team": "x"}}}, ["monitoring/a"]),
        (
            {"ruleSelector": {"matchLabels": {"team": "x"}}, "ruleNamespaceSelector": {}},
            ["monitoring/a", "shop/b"],
        ),
    ],
)
def test_rules_are_chosen_by_a_prometheus_and_by_a_thanos_ruler(
    spec: dict[str, Any], taken: list[str]
) -> None:
    """Without a selector none; without one for namespaces, those of the own namespace."""
    asking = Scraper(namespace="monitoring", name="main", spec=convert(PrometheusSpec, spec))
    assert names(applicable(asking, RULES, {})) == taken
    ruler = choices_in("monitoring", convert(ThanosRulerSpec, spec))
    assert names(chosen(ruler, RULES, {})) == taken


def test_a_workload_asks_for_the_kinds_that_it_has_selectors_for() -> None:
    """An agent evaluates no rules, and a Thanos Ruler scrapes nothing."""
    everything = choices_in("monitoring", PrometheusSpec())
    monitors = choices_in("monitoring", PrometheusAgentSpec())
    assert list(everything) == [*monitors, "PrometheusRule"]
    assert list(choices_in("monitoring", ThanosRulerSpec())) == ["PrometheusRule"]
    agent = Scraper(namespace="monitoring", name="main", spec=PrometheusAgentSpec(), agent=True)
    assert applicable(agent, RULES, {}) == []


def test_rules_come_after_monitors() -> None:
    """What is chosen is in the order of kinds, whatever order it was found in."""
    spec = convert(PrometheusSpec, {"ruleSelector": {}, "serviceMonitorSelector": {}})
    asking = Scraper(namespace="monitoring", name="main", spec=spec)
    candidates: list[Any] = [rule("a"), monitor("b")]
    assert names(applicable(asking, candidates, {})) == ["monitoring/b", "monitoring/a"]


def test_a_rejected_resource_is_a_value_beside_the_accepted_ones() -> None:
    """One bad monitor is left out and told why; the other is used."""
    assets = AssetsAtHand(
        {Ref("Secret", "monitoring", "login"): {"user": "me", "password": "secret"}}
    )
    keys = {"username": {"name": "login", "key": "user"}}
    good = monitor("a", basicAuth=keys | {"password": {"name": "login", "key": "password"}})
    bad = monitor("b", basicAuth=keys | {"password": {"name": "login", "key": "word"}})
    selection = select(workload(serviceMonitorSelector={}), [bad, good], {}, assets)
    assert [one.ref for one in selection.accepted] == [Ref("ServiceMonitor", "monitoring", "a")]
    rejected = selection.rejected[0]
    assert rejected.reason == "InvalidConfiguration"
    assert rejected.message == (
        "spec.endpoints[0].basicAuth.password: Secret monitoring/login has no key `word`"
    )
    assert selection.references == {Ref("Secret", "monitoring", "login")}
    assert "secret" not in rejected.message


def test_what_was_missing_is_a_reference_too() -> None:
    """The Secret that is not there is what to wait for."""
    one = monitor("a", "shop", bearerTokenSecret={"name": "token", "key": "t"})
    selection = Selection((judge(workload(), one, AssetsAtHand()),))
    assert selection.references == {Ref("Secret", "shop", "token")}
    assert not selection.accepted


def test_findings_about_the_workload_come_with_the_selection() -> None:
    """Two default scrape classes, and a selector that Kubernetes does not take."""
    asking = workload(
        scrapeClasses=[{"name": "a", "default": True}, {"name": "b", "default": True}],
        probeSelector={"matchExpressions": [{"key": "a", "operator": "Like"}]},
    )
    findings = select(asking, [], {}, AssetsAtHand()).findings
    assert [finding.path for finding in findings] == [
        "spec.probeSelector.matchExpressions[0]",
        "spec.scrapeClasses",
    ]


def requirement(operator: str, *values: str) -> LabelSelector:
    """A selector with one expression on the label `a`."""
    one = LabelSelectorRequirement(key="a", operator=operator, values=values)
    return LabelSelector(match_expressions=(one,))


@pytest.mark.parametrize(
    ("selector", "matched"),
    [
        (None, []),
        (LabelSelector(), ["none", "one", "two"]),
        (LabelSelector(match_labels={"a": "1"}), ["one"]),
        (requirement("In", "1", "2"), ["one", "two"]),
        (requirement("NotIn", "1"), ["none", "two"]),
        (requirement("Exists"), ["one", "two"]),
        (requirement("DoesNotExist"), ["none"]),
        (requirement("Like"), []),
    ],
)
def test_a_selector_matches_what_kubernetes_would(
    selector: LabelSelector | None, matched: list[str]
) -> None:
    """Every operator, and nothing for a selector that is wrong."""
    labels: dict[str, dict[str, str]] = {"none": {}, "one": {"a": "1"}, "two": {"a": "2"}}
    compiled = selector_of(selector)
    assert [name for name, one in labels.items() if compiled.matches(one)] == matched


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (requirement("In"), "operator `In` needs values"),
        (requirement("Exists", "1"), "operator `Exists` takes no values"),
        (requirement("like"), "there is no operator `like`"),
        (requirement("In", "-"), "`-` cannot be the value of a label"),
        (LabelSelector(match_labels={"a b": "1"}), "`a b` cannot be the key of a label"),
        (LabelSelector(match_labels={"A_/b": "1"}), "`A_/b` cannot be the key of a label"),
        (LabelSelector(match_labels={"example.com/b": "x" * 64}), "cannot be the value"),
    ],
)
def test_a_wrong_selector_says_what_is_wrong(selector: LabelSelector, message: str) -> None:
    """The complaint names what Kubernetes would not take."""
    assert message in next(problems(selector)).message


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("", True),
        ("a=1,b!=2, c in (x,y),d notin (), !e, f, example.com/g==1", True),
        ("a>1,b<2", True),
        ("a in", False),
        ("a in (b", False),
        ("a=1,,b=2", False),
        ("a=1,", False),
        ("a b", False),
        ("=1", False),
        (" \t\n", True),
        ("\u00a0", False),
        ("a\f=1", False),
    ],
)
def test_label_selectors_as_text(text: str, valid: bool) -> None:
    """What Kubernetes reads, Prometheus reads."""
    assert (label_text_problem(text) == "") is valid


def test_no_selector_makes_reading_it_slow() -> None:
    """A tenant's text is read once from left to right."""
    for text in ("a in (" + ", " * 50_000, "a=" + " " * 50_000 + "b c", "a" * 50_000 + "!"):
        assert label_text_problem(text) != ""
    assert field_text_problem("a=" + "\\" * 50_001) != ""


def test_field_selectors_as_text() -> None:
    """Each part is a condition."""
    assert field_text_problem("status.phase=Running,metadata.name!=a") == ""
    assert field_text_problem("status.phase") != ""
    assert field_text_problem("a=b=c") != ""
    assert field_text_problem(r"a=b\=c\,d,e=f") == ""
