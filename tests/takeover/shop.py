"""The world of our own whose takeover is part of the tests: `python -m tests.takeover record`.

It has what made takeovers roll pods: a ThanosRuler whose rules need several ConfigMaps, agents with
shards and on every node, a Prometheus with shards, replicas and a sidecar, and alerting of teams.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

from tests.builders import (
    agent,
    alertmanager,
    alertmanager_config,
    prometheus,
    resource,
    service_monitor,
    thanos_ruler,
)
from tests.conformance.cases import ROOT, WORLDS, Case, Suite

FILE: Final = ROOT / "tests" / "golden" / "takeover" / "shop.json"
NAMESPACE: Final = "shop"
FLAGS: Final = (
    "--prometheus-config-reloader=quay.io/prometheus-operator/prometheus-config-reloader:v0.94.1",
    "--feature-gates=PrometheusAgentDaemonSet=true",
)
# A ConfigMap with rules holds half a MiB: these need three.
_RULES, _LONG_WORD = 5, 250_000
_RUN: Final = re.compile(r"(.)\1{999,}")
_TEXT: Final = (
    "Orders of {{ $labels.shop }} take {{ $value }} s, and 🔥 is a word of its own here too."
)
_KEY: Final = {"name": "vault", "key": "token"}


def given() -> dict[str, Any]:
    """What the world starts from."""
    resources = [*_workloads(), *_scraped(), *_alerting(), *map(_rule, range(_RULES))]
    for each in resources:
        each["metadata"]["namespace"] = NAMESPACE
    return {
        "namespace": NAMESPACE,
        "flags": list(FLAGS),
        "secretsAndConfigMaps": {"vault": {"token": "a-token", "url": "https://example.com/hook"}},
        "resources": resources,
    }


def _workloads() -> list[dict[str, Any]]:
    return [
        prometheus("main", replicas=2, shards=2, thanos={}, externalLabels={"about": _TEXT}),
        prometheus("short", version="v2.55.1", storage={"emptyDir": {"sizeLimit": "1Gi"}}),
        agent("sharded", shards=3, remoteWrite=[{"url": "https://example.com/write"}]),
        resource("PrometheusAgent", "on-nodes", {"mode": "DaemonSet", "podMonitorSelector": {}}),
        alertmanager("main", replicas=3, podMetadata={"annotations": {"note": "a: b"}}),
        thanos_ruler("main", replicas=2, labels={"cluster": "a"}),
        thanos_ruler("quiet", ruleSelector={"matchLabels": {"nobody": "has"}}),
    ]


def _scraped() -> list[dict[str, Any]]:
    endpoints = [{"port": "web", "metricRelabelings": [{"targetLabel": "t", "replacement": _TEXT}]}]
    targets = {"staticConfig": {"static": ["example.com"]}}
    return [
        service_monitor("cart", authorization={"credentials": _KEY}),
        resource("PodMonitor", "cart", {"selector": {}, "podMetricsEndpoints": endpoints}),
        resource("Probe", "front", {"prober": {"url": "prober:9115"}, "targets": targets}),
        resource("ScrapeConfig", "till", {"staticConfigs": [{"targets": ["till:9100"]}]}),
    ]


def _alerting() -> list[dict[str, Any]]:
    url, severe = {"name": "vault", "key": "url"}, {"name": "severity", "value": "critical"}
    chat = {"name": "team", "slackConfigs": [{"apiURL": url, "channel": "#shop", "text": _TEXT}]}
    hook = {"name": "team", "webhookConfigs": [{"urlSecret": url}]}
    return [
        alertmanager_config("chat", severe, receivers=[chat]),
        alertmanager_config("hook", receivers=[hook]),
    ]


def _rule(number: int) -> dict[str, Any]:
    alert = {
        "alert": "SlowOrders",
        "expr": "histogram_quantile(0.99, sum by (le) (rate(orders_seconds_bucket[5m]))) > 1",
        "for": "5m",
        "annotations": {"summary": _TEXT, "word": "x" * _LONG_WORD},
    }
    return resource(
        "PrometheusRule", f"orders-{number}", {"groups": [{"name": "a", "rules": [alert]}]}
    )


def recorded_world() -> Case:
    """The world with what the peer made of it."""
    (found,) = Suite(WORLDS, FILE.parent).cases()
    return found


def write(world: Case, target: Path = FILE) -> None:
    """Keep a world in a file, its long words told by their number of letters."""
    target.parent.mkdir(parents=True, exist_ok=True)
    kept = {"given": world.given, "expect": world.expect}
    target.write_text(json.dumps(_shortened(kept), indent=1, sort_keys=True) + "\n")


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_shortened(each) for each in value]
    if not isinstance(value, str) or not (found := _RUN.search(value)):
        return value
    run = {"$repeat": found[1], "$count": len(found[0])}
    return {"$join": [value[: found.start()], run, _shortened(value[found.end() :])]}
