"""The dashboard of the operator as a table: rows of panels, each with what it asks Prometheus.

`make reference` writes it for kustomize and for the chart. Where `deploy/base/prometheusrule.yaml`
records what a panel needs, the panel asks for that, so that what people see is what woke them.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

UID: Final = "stoker-operator"
_WIDTH: Final = 24
_HEIGHT: Final = 7
# Every series of the operator has these; the variables at the top choose among them.
_CHOSEN: Final = 'namespace=~"$namespace", job=~"$job"'


class Panel(NamedTuple):
    """A picture: its title, what it says, and what is drawn: an expression for each legend."""

    title: str
    help: str
    asks: dict[str, str]
    unit: str = "short"


PANELS: Final[dict[str, tuple[Panel, ...]]] = {
    "Is it well?": (
        Panel(
            "Replicas at work",
            "One for each controller: none or two is an incident.",
            {"{{controller}}": "sum by (controller) (prometheus_operator_ready{$})"},
        ),
        Panel(
            "Workloads by the last look at them",
            "Those that failed stay as they were; their condition Reconciled says why.",
            {
                "{{controller}} {{status}}": "max by (controller, status) "
                "(prometheus_operator_syncs{$})"
            },
        ),
        Panel(
            "Resources left out",
            "The status of each resource says why.",
            {
                "{{resource}}": "sum by (resource) (max by (controller, resource) "
                '(prometheus_operator_managed_resources{$, state="rejected"}))'
            },
        ),
        Panel(
            "Silence of watches",
            "Up to 27 s is usual; what happens in a longer silence is not seen.",
            {"{{pod}}": "max by (pod) (prometheus_operator_watch_silence_seconds{$})"},
            "s",
        ),
    ),
    "Changes": (
        Panel(
            "Looks at workloads",
            "How often the operator looks at a workload, by what led to it.",
            {
                "{{triggered_by}} {{action}}": "sum by (triggered_by, action) "
                "(rate(prometheus_operator_triggered_total{$}[$__rate_interval]))"
            },
            "ops",
        ),
        Panel(
            "How long a look takes (99%)",
            "From the key's turn until all is written.",
            {"{{controller}}": "stoker:reconcile_duration_seconds:p99_10m{$}"},
            "s",
        ),
        Panel(
            "How long changes wait (99%)",
            "Queues of statuses never delay a configuration.",
            {"{{controller}} {{name}}": "stoker:workqueue_wait_seconds:p99_10m{$}"},
            "s",
        ),
        Panel(
            "Looks that failed",
            "As part of all looks; and writes of statuses that failed.",
            {
                "{{controller}} looks": "stoker:reconcile_errors:ratio_rate10m{$}",
                "{{controller}} statuses": "stoker:status_update_errors:ratio_rate10m{$}",
            },
            "percentunit",
        ),
    ),
    "The API server": (
        Panel(
            "Requests by answer",
            "0 is a request without an answer.",
            {
                "{{status_code}}": "sum by (status_code) "
                "(rate(prometheus_operator_kubernetes_client_http_requests_total{$}[$__rate_interval]))"
            },
            "reqps",
        ),
        Panel(
            "Lists and watches that failed",
            "A missing right shows here, and in the log by name.",
            {
                "{{pod}} {{controller}} lists": "stoker:list_errors:ratio_rate10m{$}",
                "{{pod}} {{controller}} watches": "stoker:watch_errors:ratio_rate10m{$}",
            },
            "percentunit",
        ),
        Panel(
            "Held back by the own limit",
            "The average wait of a request for its turn.",
            {
                "{{pod}}": "sum by (pod) (rate("
                "prometheus_operator_kubernetes_client_rate_limiter_duration_seconds_sum{$}[$__rate_interval]))"
                " / sum by (pod) (rate("
                "prometheus_operator_kubernetes_client_rate_limiter_duration_seconds_count{$}[$__rate_interval]))"
            },
            "s",
        ),
    ),
    "The process": (
        Panel(
            "Memory",
            "What the process has, and what Python has in use.",
            {"{{pod}}": "max by (pod) (process_resident_memory_bytes{$})"},
            "bytes",
        ),
        Panel(
            "CPU",
            "A settled operator needs next to nothing.",
            {"{{pod}}": "sum by (pod) (rate(process_cpu_seconds_total{$}[$__rate_interval]))"},
            "percentunit",
        ),
        Panel(
            "What is known",
            "Objects that are kept in memory, by cache.",
            {"{{pod}} {{cache}}": "sum by (pod, cache) (prometheus_operator_cache_entries{$})"},
        ),
        Panel(
            "Faults of its own",
            "Tasks that ended unforeseen and began again: the log has the trace.",
            {
                "{{pod}} {{task}}": "sum by (pod, task) "
                "(increase(prometheus_operator_task_faults_total{$}[$__rate_interval]))"
            },
        ),
    ),
}


def expressions() -> Iterator[str]:
    """Everything that the dashboard asks Prometheus."""
    for row in PANELS.values():
        for panel in row:
            yield from (_expression(text) for text in panel.asks.values())


def text() -> str:
    """The dashboard as Grafana reads it."""
    made = {
        "uid": UID,
        "title": "stoker: the operator",
        "tags": ["stoker", "prometheus-operator"],
        "timezone": "browser",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": list(_variables())},
        "panels": list(_panels()),
    }
    return json.dumps(made, indent=1) + "\n"


def _expression(template: str) -> str:
    return template.replace("{$", "{" + _CHOSEN)


def _variables() -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    of = "prometheus_operator_ready"
    for name, query in (
        ("namespace", f"label_values({of}, namespace)"),
        ("job", f'label_values({of}{{namespace=~"$namespace"}}, job)'),
    ):
        yield {
            "name": name,
            "type": "query",
            "datasource": _SOURCE,
            "query": {"query": query, "refId": name},
            "refresh": 2,
            "includeAll": True,
            "multi": True,
            "current": {"text": "All", "value": "$__all"},
        }


_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for title, row in PANELS.items():
        number += 1
        place = {"x": 0, "y": top, "w": _WIDTH, "h": 1}
        yield {"id": number, "type": "row", "title": title, "gridPos": place, "panels": []}
        wide = _WIDTH // len(row)
        for index, panel in enumerate(row):
            number += 1
            place = {"x": index * wide, "y": top + 1, "w": wide, "h": _HEIGHT}
            yield _panel(panel, number, place)
        top += 1 + _HEIGHT


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.help,
        "gridPos": place,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _SOURCE,
                "expr": _expression(template),
                "legendFormat": legend,
            }
            for index, (legend, template) in enumerate(panel.asks.items())
        ],
    }
