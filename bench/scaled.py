"""Worlds that grow in the number of their workloads: each is as large as it ever was.

Of fifty thousand monitors a thousand are for each of fifty Prometheuses, with two hundred rules;
of five thousand AlertmanagerConfigs five hundred for each of ten Alertmanagers. A hundred monitors
are in each namespace.
"""

from collections.abc import Iterator
from typing import Final

from bench.starting import NAMESPACE, Object, World, jobs_of, route, rule, text_of, workload
from bench.world import monitor
from tools.cluster import Cluster

MONITORS: Final = 50_000
_PER_NAMESPACE: Final = 100
_MONITORS_EACH, _RULES_EACH, _ROUTES_EACH = 1000, 200, 500
_HOOK: Final = b"https://hooks.example.com/"


def namespaces(monitors: int) -> int:
    """How many namespaces so many monitors are in."""
    return max(1, monitors // _PER_NAMESPACE)


def prometheus_of(number: int, monitors: int) -> int:
    """The Prometheus that a monitor of so many is for."""
    return number % _workload_count(monitors, _MONITORS_EACH)


def _workload_count(count: int, each: int) -> int:
    return max(1, count // each)


def _owned(made: Object, name: str, namespace: int) -> Object:
    made["metadata"].setdefault("labels", {})["owner"] = name
    made["metadata"]["namespace"] = f"team-{namespace}"
    return made


def _selecting(name: str, *kinds: str) -> Object:
    """What selects all resources of these kinds that are for a workload."""
    mine: Object = {"matchLabels": {"owner": name}}
    return {f"{kind}{what}": one for kind in kinds for what, one in _selectors(mine)}


def _selectors(mine: Object) -> Iterator[tuple[str, Object]]:
    yield "Selector", mine
    yield "NamespaceSelector", {}


def _monitors(count: int) -> Iterator[Object]:
    for number in range(count):
        name = f"p{prometheus_of(number, count)}"
        yield _owned(monitor(number), name, number % namespaces(count))
    for number in range(_workload_count(count, _MONITORS_EACH)):
        name = f"p{number}"
        yield workload("Prometheus", name, **_selecting(name, "serviceMonitor", "rule"))


def _rules(count: int) -> Iterator[Object]:
    workloads = _workload_count(count, _RULES_EACH)
    spaces = namespaces(count * _MONITORS_EACH // _RULES_EACH)
    for number in range(count):
        yield _owned(rule(number), f"p{number % workloads}", number % spaces)


def _routes(count: int) -> Iterator[Object]:
    workloads = _workload_count(count, _ROUTES_EACH)
    spaces = namespaces(count * MONITORS // WORLDS["alertmanager"].size)
    for number in range(count):
        yield _owned(route(number), f"a{number % workloads}", number % spaces)
    for number in range(workloads):
        name = f"a{number}"
        yield workload("Alertmanager", name, **_selecting(name, "alertmanagerConfig"))


def _all_monitors(cluster: Cluster, count: int) -> bool:
    numbers = range(_workload_count(count, _MONITORS_EACH))
    return sum(jobs_of(cluster, f"prometheus-p{number}") for number in numbers) == 2 * count


def _all_rules(cluster: Cluster, count: int) -> bool:
    found = cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps")["items"]
    held = (one for one in found if "-rulefiles-" in one["metadata"]["name"])
    return sum(len(one.get("data") or ()) for one in held) == count


def _all_routes(cluster: Cluster, count: int) -> bool:
    names = [f"alertmanager-a{n}-generated" for n in range(_workload_count(count, _ROUTES_EACH))]
    texts = (text_of(cluster, name, "alertmanager.yaml.gz") for name in names)
    return sum(text.count(_HOOK) for text in texts) == count


WORLDS: Final[dict[str, World]] = {
    "monitors": World(
        MONITORS,
        "ServiceMonitors",
        _monitors,
        ("secrets", "prometheus-p"),
        _all_monitors,
        0,
        lambda count: _workload_count(count, _MONITORS_EACH),
    ),
    "rules": World(
        10_000,
        "PrometheusRules",
        _rules,
        ("configmaps", "prometheus-p"),
        _all_rules,
        0,
        lambda count: _workload_count(count, _RULES_EACH),
    ),
    "alertmanager": World(
        5_000,
        "AlertmanagerConfigs",
        _routes,
        ("secrets", "alertmanager-a"),
        _all_routes,
        0,
        lambda count: _workload_count(count, _ROUTES_EACH),
    ),
}
