"""What watches the operator: alerts, their pages, the dashboard, all about metrics of ours."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.promql import check, parse
from stoker.web.metric_table import PREFIX, TABLE
from stoker.web.metrics import Histogram, Summary
from stoker.web.webhook_metrics import WebhookMetrics
from tools import dashboard

ROOT = Path(__file__).parents[2]
RUNBOOKS = ROOT / "docs/runbooks"
MANIFEST = yaml.safe_load((ROOT / "deploy/base/prometheusrule.yaml").read_text())
RULES: list[dict[str, Any]] = [
    rule for group in MANIFEST["spec"]["groups"] for rule in group["rules"]
]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
RECORDS = {rule["record"] for rule in RULES if "record" in rule}
# The alerts of prometheus-operator's own mixin, which people route and silence by name.
PEER = {
    "PrometheusOperatorListErrors",
    "PrometheusOperatorNodeLookupErrors",
    "PrometheusOperatorNotReady",
    "PrometheusOperatorReconcileErrors",
    "PrometheusOperatorRejectedResources",
    "PrometheusOperatorStatusUpdateErrors",
    "PrometheusOperatorSyncFailed",
    "PrometheusOperatorWatchErrors",
}
ASKED = [rule["expr"] for rule in RULES] + [
    text.replace("$__rate_interval", "5m") for text in dashboard.expressions()
]
NAME = re.compile(r"\b(?:prometheus_operator|process)_\w+|\bstoker:\w+:\w+")


def served() -> dict[str, set[str]]:
    """Every series that the operator and the webhook serve, with its labels."""
    found: dict[str, set[str]] = {}
    for row in TABLE:
        parts = [""]
        if row.kind in (Histogram, Summary):
            parts = ["_sum", "_count", *(["_bucket"] if row.kind is Histogram else [])]
        for part in parts:
            extra = {"le"} if part == "_bucket" else set()
            found[f"{PREFIX}{row.name}{part}"] = {*row.labels, *extra}
    for family in WebhookMetrics("", ()).registry.families():
        found[family.name] = set(family.labels)
    return found


def test_the_alerts_of_prometheus_operator_keep_their_names() -> None:
    """Routes and silences by name go on working after a move."""
    assert set(ALERTS) >= PEER
    assert {name for name in ALERTS if name.startswith("PrometheusOperator")} == PEER


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    """Whoever is woken finds what it means, where to look and what to do; the index lists all."""
    pages = {path.stem for path in RUNBOOKS.glob("*.md")} - {"README"}
    assert pages == set(ALERTS)
    index = (RUNBOOKS / "README.md").read_text()
    for name, rule in ALERTS.items():
        text = (RUNBOOKS / f"{name}.md").read_text()
        for part in (f"# {name}\n", "**What it does to users.**", "\n## Look\n", "\n## Do\n"):
            assert part in text, f"{name}: {part}"
        severity, summary = rule["labels"]["severity"], rule["annotations"]["summary"]
        assert f"| [{name}]({name}.md) | {severity} | {summary} |" in index


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_and_where(name: str) -> None:
    """How urgent it is, in a sentence and in detail, by labels that the expression has."""
    rule = ALERTS[name]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"]["summary"].endswith(".")
    kept = set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", rule["expr"]))))
    for record in re.findall(r"stoker:\w+:\w+", rule["expr"]):
        expr = next(each["expr"] for each in RULES if each.get("record") == record)
        kept |= set(re.findall(r"\w+", re.findall(r"by \(([^)]*)\)", expr)[0]))
    used = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["description"]))
    # One series of the process itself has what every scrape gives it.
    assert used <= kept | ({"namespace", "pod"} if "allocated_blocks" in rule["expr"] else set())


@pytest.mark.parametrize("expression", ASKED)
def test_only_what_is_served_is_asked_for(expression: str) -> None:
    """A metric or label that does not exist would make an alert that never fires."""
    assert list(check(parse(expression))) == []
    series = served()
    for name in NAME.findall(expression):
        if name.startswith("process_"):
            assert name in ("process_resident_memory_bytes", "process_cpu_seconds_total")
        elif not name.startswith("stoker:"):
            assert name in series
        else:
            assert name in RECORDS
    known = set().union(*series.values()) | {"namespace", "job", "pod", "instance"}
    labels = re.findall(r"(?:by|on) \(([^)]*)\)", expression)
    assert set(re.findall(r"\w+", " ".join(labels))) <= known


def test_every_record_is_used() -> None:
    """What is recorded is for an alert or a picture."""
    used = {name for text in ASKED for name in re.findall(r"stoker:\w+:\w+", text)}
    assert used == RECORDS


def test_the_dashboard_is_one_that_grafana_can_place() -> None:
    """Numbers are unique, nothing overlaps or leaves the page, and each panel explains itself."""
    made = json.loads(dashboard.text())
    panels = made["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
        if panel["type"] != "row":
            assert panel["description"].endswith(".")
            assert all("$" not in target["legendFormat"] for target in panel["targets"])
