"""Every room that has something to say about kinds has a row for each of them."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import get_args

import pytest
import yaml

from stoker.api import kinds as declared
from stoker.api.crd import GROUP
from stoker.api.prometheus import NOT_ON_EVERY_NODE, PrometheusAgentSpec
from stoker.api.schema import schema_of
from stoker.api.workload import ExcludedObject
from stoker.cluster import kinds as watched
from stoker.consolidate import configs
from stoker.explain import foreseen, known, targets
from stoker.generate import prometheus
from stoker.operator import traces
from stoker.plan import kinds as planned
from stoker.roles import RESOURCES, WORKLOADS, kinds_that
from stoker.select.choice import MONITOR_KINDS, RULE_KIND, SELECTED_KINDS, Monitor, Resource
from stoker.select.workload import Workload
from stoker.settings import NamespaceSettings, SelectorSettings
from stoker.status import targets as counted
from stoker.validate import verdicts
from stoker.validate.budget import BOUNDED
from stoker.validate.findings import json_names
from stoker.view import doubts

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src/stoker/web/assets/js/list.js"

MONITORS = kinds_that(monitor=True)
PLURALS = {kind.plural: kind.name for kind in declared.KINDS}


def names(models: Collection[type]) -> set[str]:
    """The kinds of types."""
    return {each.__name__ for each in models}


def called(plurals: Iterable[str]) -> set[str]:
    """The kinds that are called so; a word that is none stays as it is."""
    return {PLURALS.get(each, each) for each in plurals}


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        pytest.param({each.name for each in declared.WORKLOADS}, WORKLOADS, id="api"),
        pytest.param({each.name for each in declared.CONFIGURATION}, RESOURCES, id="api, too"),
        pytest.param(names(get_args(Workload)), WORKLOADS, id="select, workloads"),
        pytest.param(names(get_args(Resource)), RESOURCES, id="select"),
        pytest.param(names(get_args(Monitor)), MONITORS, id="select, monitors"),
        pytest.param(BOUNDED, RESOURCES, id="budgets"),
        pytest.param(names(verdicts._CHECKS), MONITORS, id="validate"),
        pytest.param(names(prometheus._MAKERS), MONITORS, id="generate"),
        pytest.param(names(counted._JOBS), MONITORS, id="status"),
        pytest.param(
            called(job.resource for job, _ in counted._JOBS.values()), MONITORS, id="jobs"
        ),
        pytest.param(names(targets._SEARCHES), MONITORS, id="explain"),
        pytest.param(names(foreseen._ENDS), MONITORS, id="explain, endpoints"),
        pytest.param(names(foreseen._KINDS), MONITORS, id="explain, jobs"),
        pytest.param(names(known._KINDS), MONITORS, id="explain, sources"),
        pytest.param(names(configs._KINDS), kinds_that(consolidated=True), id="consolidate"),
        pytest.param(
            names(get_args(configs.Consolidable)),
            kinds_that(consolidated=True),
            id="consolidate, too",
        ),
        pytest.param(names(planned._KINDS), WORKLOADS, id="plan"),
        pytest.param(names(doubts._EMPTY), WORKLOADS, id="doubts"),
        pytest.param(watched.WORKLOADS, WORKLOADS, id="cluster"),
        pytest.param({*traces._TRACES, traces._RULE}, RESOURCES, id="operator"),
    ],
)
def test_a_room_has_a_row_for_each_kind(table: Collection[str], wanted: Collection[str]) -> None:
    """No more, and no fewer."""
    assert set(table) == set(wanted)


def test_flags_are_called_as_the_rows_say() -> None:
    """The settings have the members that they name."""
    for role in WORKLOADS.values():
        assert hasattr(SelectorSettings(), role.flags)
        assert hasattr(NamespaceSettings(), role.flags)
    for resource in RESOURCES.values():
        assert not resource.flags or hasattr(NamespaceSettings(), resource.flags)
        assert not resource.named_by or resource.named_by in WORKLOADS


# --- Workloads and what they select ---------------------------------------------------------------


def test_each_kind_of_resource_is_selected_by_some_workload() -> None:
    """Those that scrape select every monitor."""
    for kind in SELECTED_KINDS:
        both = {kind.selector, kind.namespace_selector}
        selecting = {
            name
            for name, each in watched.WORKLOADS.items()
            if both <= set(type(each.model().spec).__struct_fields__)
        }
        scraping = {name for name, role in WORKLOADS.items() if role.scrapes}
        assert selecting >= scraping if kind in MONITOR_KINDS else selecting


def test_what_an_agent_on_a_node_does_not_scrape_it_may_not_select() -> None:
    """What the definition forbids and what jobs are made of are the same."""
    member = json_names(PrometheusAgentSpec)
    for kind in MONITOR_KINDS:
        forbidden = {member[each] for each in (kind.selector, kind.namespace_selector)}
        scraped = kind.name in prometheus._AGENT_ON_NODE
        assert forbidden & set(NOT_ON_EVERY_NODE) == (set() if scraped else forbidden)


def test_all_that_a_prometheus_selects_can_be_spared_from_the_enforced_namespace() -> None:
    """The definition lists what may be spared, by plural."""
    listed = schema_of(ExcludedObject)["properties"]["resource"]["enum"]
    assert called(listed) == {*MONITORS, RULE_KIND.name}


# --- What is installed, and the page --------------------------------------------------------------


def allowed(folder: str, verb: str) -> list[str]:
    """The resources of ours for which a role in `deploy/` has a verb."""
    documents = yaml.safe_load_all((ROOT / "deploy" / folder / "role.yaml").read_text())
    return [
        each
        for document in documents
        for rule in document.get("rules", ())
        if rule.get("apiGroups") == [GROUP] and verb in rule["verbs"]
        for each in rule["resources"]
    ]


@pytest.mark.parametrize("folder", ["cluster", "namespaced"])
def test_the_operator_may_read_each_kind_and_write_its_status(folder: str) -> None:
    """In the role for a cluster and in that for a namespace; the chart's are made of them."""
    every = {*WORKLOADS, *RESOURCES}
    assert called(allowed(folder, "list")) == called(allowed(folder, "watch")) == every
    patched = [each for each in allowed(folder, "patch") if each.endswith("/status")]
    assert called(each.removesuffix("/status") for each in patched) == every


def test_the_storage_version_of_each_kind_can_be_migrated() -> None:
    """The role names the objects and their definitions."""
    assert called(allowed("storage-version", "patch")) == {*WORKLOADS, *RESOURCES}
    role = yaml.safe_load((ROOT / "deploy/storage-version/role.yaml").read_text())
    definitions = [rule["resourceNames"] for rule in role["rules"] if "resourceNames" in rule]
    assert definitions
    for each in definitions:
        assert called(name.removesuffix(f".{GROUP}") for name in each) == {*WORKLOADS, *RESOURCES}


def test_the_webhook_is_asked_about_each_kind_of_monitor() -> None:
    """By what kustomize installs, and by the chart."""
    patch = (ROOT / "deploy/webhook/monitors/validating.json").read_text()
    assert called(re.findall(r'"/admission-(\w+)/validate"', patch)) == set(MONITORS)
    chart = (ROOT / "charts/stoker/templates/webhook/webhooks.yaml").read_text()
    listed = re.search(r"webhook\.monitors }}\n.*:= list (.*) }}", chart)
    assert listed
    assert called(re.findall(r'"(\w+)"', listed[1])) == set(MONITORS)


def test_the_page_can_show_one_kind_alone() -> None:
    """Its list of kinds is in their order."""
    listed = re.search(r"const KINDS = \[(.*?)\];", PAGE.read_text(), re.DOTALL)
    assert listed
    assert re.findall(r'"(\w+)"', listed[1]) == list(RESOURCES)
