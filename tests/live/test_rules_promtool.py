"""Prometheus itself reads the rule files that stoker writes."""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from stoker.generate.block import text_of
from stoker.generate.rules import rule_file
from stoker.offline.manifests import read
from stoker.offline.world import world_of
from stoker.settings import Capabilities
from stoker.validate.templates import template_problem
from stoker.version import parse_version
from tests.conformance.cases import ROOT, default_folder, suites
from tests.conformance.rules import enforcing, file_of
from tests.fuzz.templates import Maker
from tests.golden.test_prometheus import FOLDER, decided
from tests.live.test_promql_promtool import promtool
from tests.planning import decide
from tests.unit.go_templates import REFUSED, TAKEN
from tests.unit.test_rules import GROUP, one_rule, rule_of, written

TEMPLATES: Final = 1500
# How many files the recorded cases make that are for Prometheus: those for Thanos have members
# that only Thanos knows.
RECORDED: Final = {"rules": 8, "rules-enforce-namespace": 6}


def recorded() -> dict[str, str]:
    """Write the rule files of all recorded cases that have one."""
    folder = default_folder()
    if not folder.is_dir():
        count = sum(RECORDED.values())
        pytest.skip(f"{count} recorded rule files are missing: no folder {folder}")
    present = suites(folder)
    made = {}
    for case in present["rules"].cases():
        if case.given["format"] == "prometheus":
            made[f"rules/{case.name}"] = file_of(case.given).text
    for case in present["rules-enforce-namespace"].cases():
        rule, enforcement, reader = enforcing(named(case.given))
        file = rule_file(rule, reader, enforcement)
        made[f"rules-enforce-namespace/{case.name}"] = file.text
    return {name: text for name, text in made.items() if text}


def named(given: dict[str, Any]) -> dict[str, Any]:
    """Name the groups of a case: the peer's tests do not, and Prometheus takes no such file."""
    rule = given["prometheusRule"]
    groups = [group | {"name": "group"} for group in rule["spec"]["groups"]]
    return given | {"prometheusRule": rule | {"spec": {"groups": groups}}}


def own() -> dict[str, str]:
    """Write the rule files of our examples, golden cases and tests."""
    world = world_of(read([str(ROOT / "example")]))
    decisions = [
        decide(each, world.resources, world.namespaces, world.assets, Capabilities())
        for each in world.workloads
    ]
    for version in ("v2.45.0", "v3.14.0"):
        decisions += decided(FOLDER / "rules", version)[1]
    files = [
        text
        for decision in decisions
        for held in getattr(decision.contents, "rule_files", ())
        for text in held.values()
    ]
    annotations = {"summary": "{{ $value | humanize }}\n'a': \"b\" # {{ $labels.x }}"}
    files += [
        written(rule_of(GROUP)).text,
        written(one_rule(annotations=annotations, labels={"a": "yes", "b": "0777"})).text,
    ]
    return {str(number): text for number, text in enumerate(files)}


def refusals(files: dict[str, str], folder: Path) -> dict[str, str]:
    """Ask Prometheus about files: what it says of those that it does not take."""
    found = {}
    for number, (name, text) in enumerate(files.items()):
        path = folder / f"{number}.yaml"
        path.write_text(text, newline="")
        done = promtool("check", "rules", "--lint=none", str(path))
        if done.returncode:
            found[name] = (done.stdout + done.stderr).decode(errors="replace")
    return found


def test_prometheus_takes_every_recorded_rule_file(tmp_path: Path) -> None:
    """Whatever was accepted loads."""
    files = recorded()
    assert len(files) == sum(RECORDED.values())
    assert refusals(files, tmp_path) == {}


def test_prometheus_takes_our_own_rule_files(tmp_path: Path) -> None:
    """Those of the examples too, which show more than the recorded ones."""
    files = own()
    assert len(files) > 5
    assert refusals(files, tmp_path) == {}


def test_a_rule_file_that_is_wrong_would_be_noticed(tmp_path: Path) -> None:
    """So the tests above show something."""
    text = "groups:\n- name: a\n  rules:\n  - record: b\n    expr: c d\n"
    assert "could not parse expression" in refusals({"a": text}, tmp_path)["a"]


def test_prometheus_takes_the_templates_that_are_taken_and_no_others(tmp_path: Path) -> None:
    """Hostile texts of an alert `A`, one file of those that are taken and one of the others."""
    made = [each.text for each in Maker(4).templates(TEMPLATES)]
    made += [*TAKEN, *REFUSED, '{{ define "__alert_A" }}x{{ end }}', "{{ tmpl `a` . }}"]
    problems = {text: template_problem(text, "A", parse_version("3.14.0")) for text in made}
    taken = [text for text, problem in problems.items() if not problem]
    refused = [text for text, problem in problems.items() if problem]
    assert min(len(taken), len(refused)) > TEMPLATES / 10
    for texts, numbers in ((taken, range(0)), (refused, range(1, len(refused) + 1))):
        rules = [{"alert": "A", "expr": "up", "annotations": {"a": text}} for text in texts]
        path = tmp_path / "rules.yaml"
        path.write_text(text_of({"groups": [{"name": "g", "rules": rules}]}), newline="")
        done = promtool("check", "rules", "--lint=none", str(path))
        said = re.findall(r'group "g", rule (\d+), "A": annotation', done.stderr.decode())
        assert set(map(int, said)) == set(numbers), done.stderr.decode()[-2000:]
