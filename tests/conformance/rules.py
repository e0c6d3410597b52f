"""Replays the suites about rules: files, verdicts, enforced namespaces, ConfigMaps."""

import json
from collections.abc import Iterator
from typing import Any, Final

from stoker.api.decode import convert, encode
from stoker.api.prometheus import PrometheusSpec
from stoker.api.rules import PrometheusRule
from stoker.generate.rules import (
    Enforcement,
    RuleFile,
    config_map,
    config_map_name,
    enforced,
    enforcement_of,
    mounted_names,
    rule_file,
    split_files,
)
from stoker.promql import options_for
from stoker.select.workload import Scraper
from stoker.validate.rules import RuleReader, prometheus_reader, thanos_reader
from stoker.version import parse_version
from tests.conformance.cases import Case
from tests.conformance.compare import comparable_object, differences, without_nulls
from tests.conformance.replay import (
    Context,
    Outcome,
    error_outcome,
    object_outcome,
    outcome_of,
    replays,
    text_outcome,
)

_FLAGS: Final = {
    "EnableExperimentalFunctions": "promql-experimental-functions",
    "ExperimentalDurationExpr": "promql-duration-expr",
    "EnableExtendedRangeSelectors": "promql-extended-range-selectors",
    "EnableBinopFillModifiers": "promql-binop-fill-modifiers",
}


@replays("rules")
def file_of_a_rule(case: Case, context: Context) -> Outcome:
    """The file, or that the rule is refused."""
    made = file_of(case.given)
    if "content" in case.expect and not made.findings:
        return text_outcome(case.expect["content"], made.text)
    return error_outcome(case.expect, _problem(made))


def file_of(given: dict[str, Any]) -> RuleFile:
    """What stoker makes of the input of a case."""
    given = without_nulls(given)
    return rule_file(convert(PrometheusRule, given["prometheusRule"]), _reader(given))


@replays("rules-validate")
def verdict_on_a_rule(case: Case, context: Context) -> Outcome:
    """Whether the rule is valid for an operator that knows no workload."""
    given = without_nulls(case.given)
    reader = RuleReader(
        version=parse_version("3.14.0"),
        legacy_names=given["nameValidationScheme"] == "legacy",
        promql=options_for((3, 14, 0), _features(given)),
    )
    made = rule_file(convert(PrometheusRule, {"spec": given["spec"]}), reader)
    wanted = {} if case.expect["valid"] else {"error": "; ".join(case.expect["errors"])}
    return error_outcome(wanted, _problem(made))


@replays("rules-enforce-namespace")
def rules_of_a_namespace(case: Case, context: Context) -> Outcome:
    """The rules with the label in every selector and on every result."""
    made = enforced(*enforcing(case.given))
    return object_outcome(case.expect["prometheusRule"]["spec"], json.loads(encode(made)))


def enforcing(given: dict[str, Any]) -> tuple[PrometheusRule, Enforcement, RuleReader]:
    """A rule, how a workload holds it to its namespace, and that workload as its reader."""
    given = without_nulls(given)
    members = ("enforcedNamespaceLabel", "excludedFromEnforcement")
    spec = convert(PrometheusSpec, {name: given[name] for name in members if name in given})
    rule = convert(PrometheusRule, given["prometheusRule"])
    reader = prometheus_reader(Scraper(namespace="", name="", spec=spec))
    return rule, enforcement_of(spec), reader


@replays("rules-configmaps")
def config_maps_of_rules(case: Case, context: Context) -> Outcome:
    """The ConfigMaps of a namespace once the rules have been written."""
    given = case.given
    prefix, labels = given["namePrefix"], given["configMapSelector"]
    ours = [one for one in given["existing"] if _selected(one, labels)]
    others = [one for one in given["existing"] if not _selected(one, labels)]
    made = [
        config_map(config_map_name(prefix, number), labels, files)
        for number, files in enumerate(
            split_files(given["rules"], [one.get("data") or {} for one in ours])
        )
    ]
    names = [one["metadata"]["name"] for one in made]
    return outcome_of(_map_differences(case.expect, names, [*others, *made]))


@replays("misc-append-configmap-names")
def config_maps_to_mount(case: Case, context: Context) -> Outcome:
    """The names, with some of ConfigMaps that may come."""
    given = case.given
    made = mounted_names(given["namePrefix"], given["configMapNames"], given["limit"])
    return outcome_of(differences(case.expect["configMapNames"], made))


def _reader(given: dict[str, Any]) -> RuleReader:
    features = _features(given)
    if given["format"] == "thanos":
        return thanos_reader(parse_version(given["version"]), tuple(features))
    spec = convert(PrometheusSpec, {"version": given["version"], "enableFeatures": features})
    return prometheus_reader(Scraper(namespace="", name="", spec=spec))


def _features(given: dict[str, Any]) -> list[str]:
    return [_FLAGS[name] for name, on in given["parserOptions"].items() if on]


def _problem(made: RuleFile) -> str | None:
    return "; ".join(map(str, made.findings)) or None


def _selected(one: dict[str, Any], labels: dict[str, str]) -> bool:
    return bool(labels.items() <= one["metadata"].get("labels", {}).items())


def _map_differences(
    expect: dict[str, Any], names: list[str], objects: list[dict[str, Any]]
) -> Iterator[str]:
    yield from differences(expect["configMapNames"], names)
    yield from differences(_by_name(expect["configMaps"]), _by_name(objects))


def _by_name(objects: list[dict[str, Any]]) -> dict[str, Any]:
    """What counts: the recorder does not say the kind of an object that was updated in place."""
    return {
        one["metadata"]["name"]: comparable_object(
            {"labels": one["metadata"].get("labels"), "data": one.get("data")}
        )
        for one in objects
    }
