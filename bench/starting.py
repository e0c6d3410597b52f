"""Worlds in which an operator is started: what there is, and when all of it is configured."""

import gzip
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from bench.world import NAMESPACES, monitor
from stoker.api.crd import GROUP
from tools.cluster import Cluster

Object = dict[str, Any]
NAMESPACE = "monitoring"
PER_WORKLOAD = 20
ALERTS = 5
# What people alert on, with the name of a service and, in every other rule, a metric of its own.
EXPRESSIONS = (
    'up{{job="{job}"}} == 0',
    'sum(rate({metric}_total{{job="{job}",code=~"5.."}}[5m]))'
    ' / sum(rate({metric}_total{{job="{job}"}}[5m])) > 0.05',
    "histogram_quantile(0.99, sum by (le, job)"
    ' (rate({metric}_seconds_bucket{{job="{job}"}}[5m]))) > 1',
    'kube_deployment_spec_replicas{{deployment="{job}"}}'
    " != on (namespace, deployment) kube_deployment_status_replicas_available",
    'max_over_time(process_resident_memory_bytes{{job="{job}"}}[1h:5m] offset 1d) > 2e9'
    ' and on () hour() >= 8 unless absent(up{{job="{job}"}})',
)


class World(Struct, frozen=True):
    """A row of the table.

    `size`: how many resources, or workloads; `counted`: what these are called.
    `objects`: what there is before an operator is started.
    `written`: the resource and the start of the name of what holds the configuration.
    `least`: how many of these are written at least.
    `complete`: tells from what they hold whether nothing is missing.
    `goal`: seconds until then, on an idle machine with two processors.
    """

    size: int
    counted: str
    objects: Callable[[int], Iterator[Object]]
    written: tuple[str, str]
    complete: Callable[[Cluster, int], bool]
    goal: float
    least: Callable[[int], int] = lambda _: 1


def workload(kind: str, name: str, **spec: Any) -> Object:
    """A workload of a kind, in the namespace of all workloads."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def _monitors(count: int) -> Iterator[Object]:
    yield from map(monitor, range(count))
    mine = {"matchExpressions": [{"key": "owner", "operator": "DoesNotExist"}]}
    yield workload(
        "Prometheus", "main", serviceMonitorSelector=mine, serviceMonitorNamespaceSelector={}
    )


def _rules(count: int) -> Iterator[Object]:
    yield from map(rule, range(count))
    yield workload("Prometheus", "ruled", ruleSelector={}, ruleNamespaceSelector={})


def rule(number: int) -> Object:
    """A PrometheusRule of five alerts as a team would write it."""
    job, team = f"service-{number}", f"team-{number % NAMESPACES}"
    metric = f"http_requests_{number}" if number % 2 else "http_requests"
    alerts = [
        {
            "alert": f"Alert{at}",
            "expr": text.format(job=job, metric=metric),
            "for": "10m",
            "labels": {"severity": "page", "team": team},
            "annotations": {
                "summary": f"{{{{ $labels.instance }}}} of {job} is in trouble",
                "description": "It is {{ $value | humanizePercentage }} for {{ $labels.job }}.",
                "runbook_url": f"https://runbooks.example.com/{job}/{at}",
            },
        }
        for at, text in enumerate(EXPRESSIONS[:ALERTS])
    ]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": job, "namespace": team},
        "spec": {"groups": [{"name": job, "rules": alerts}]},
    }


def _routes(count: int) -> Iterator[Object]:
    yield from map(route, range(count))
    yield workload(
        "Alertmanager",
        "main",
        alertmanagerConfigSelector={},
        alertmanagerConfigNamespaceSelector={},
    )


def route(number: int) -> Object:
    """An AlertmanagerConfig of one receiver as a team would write it."""
    name, team = f"service-{number}", f"team-{number % NAMESPACES}"
    matchers = [{"name": "service", "value": name, "matchType": "="}]
    hook = {"url": f"https://hooks.example.com/{name}", "sendResolved": True}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "AlertmanagerConfig",
        "metadata": {"name": name, "namespace": team},
        "spec": {
            "route": {"receiver": "hook", "groupBy": ["job"], "matchers": matchers},
            "receivers": [{"name": "hook", "webhookConfigs": [hook]}],
        },
    }


def _workloads(count: int) -> Iterator[Object]:
    for which in range(count):
        for number in range(which * PER_WORKLOAD, (which + 1) * PER_WORKLOAD):
            made = monitor(number)
            made["metadata"]["name"] = f"of-{which}-{number}"
            made["metadata"]["labels"]["owner"] = f"p{which}"
            yield made
        selector = {"matchLabels": {"owner": f"p{which}"}}
        yield workload(
            "Prometheus",
            f"p{which}",
            serviceMonitorSelector=selector,
            serviceMonitorNamespaceSelector={},
        )


def _all_monitors(cluster: Cluster, count: int) -> bool:
    return jobs_of(cluster, "prometheus-main") == 2 * count


def _all_workloads(cluster: Cluster, count: int) -> bool:
    return all(jobs_of(cluster, f"prometheus-p{n}") == 2 * PER_WORKLOAD for n in range(count))


def jobs_of(cluster: Cluster, secret: str) -> int:
    """How many jobs there are in a configuration."""
    return text_of(cluster, secret, "prometheus.yaml.gz").count(b"\n- job_name:")


def _all_rules(cluster: Cluster, count: int) -> bool:
    found = cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps")["items"]
    held = (one for one in found if "-ruled-rulefiles-" in one["metadata"]["name"])
    return sum(len(one.get("data") or ()) for one in held) == count


def _all_routes(cluster: Cluster, count: int) -> bool:
    text = text_of(cluster, "alertmanager-main-generated", "alertmanager.yaml.gz")
    return text.count(b"https://hooks.example.com/") == count


def text_of(cluster: Cluster, secret: str, key: str) -> bytes:
    """A compressed file of a Secret."""
    data = cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{secret}")["data"]
    return b"\n" + gzip.decompress(b64decode(data[key]))


WORLDS: Final[dict[str, World]] = {
    "monitors": World(
        5_000, "ServiceMonitors", _monitors, ("secrets", "prometheus-main"), _all_monitors, 1.5
    ),
    "rules": World(
        2_000,
        "PrometheusRules",
        _rules,
        ("configmaps", "prometheus-ruled-rulefiles-"),
        _all_rules,
        1.6,
    ),
    "alertmanager": World(
        2_000, "AlertmanagerConfigs", _routes, ("secrets", "alertmanager-main"), _all_routes, 0.7
    ),
    "workloads": World(
        100,
        f"Prometheus × {PER_WORKLOAD} ServiceMonitors",
        _workloads,
        ("secrets", "prometheus-p"),
        _all_workloads,
        4.0,
        int,
    ),
}


def in_words(sizes: Mapping[str, int]) -> str:
    """What there is in these worlds, by the row of each and its size."""
    return ", ".join(f"{size:,} {WORLDS[row].counted}" for row, size in sizes.items())
