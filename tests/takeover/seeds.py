"""Worlds made up from a number: workloads of all kinds, and what they select.

Monitors, probes and scrape configurations are crossed from the examples that fuzzing starts from
(and, where they are present, from recorded ones); workloads, rules and alerting are made of
`members`. What an API server refuses is left out by whoever puts a world there.
"""

from copy import deepcopy
from random import Random
from typing import Any, Final

from tests.conformance.generated import schema_of_version
from tests.conformance.parity import ADDITIONS
from tests.fuzz.objects import crossed, manifest, refer, version_called
from tests.fuzz.world import assets
from tests.takeover.members import (
    INHIBIT,
    NIGHTS,
    OF_KINDS,
    OF_PODS,
    RECEIVERS,
    ROUTES,
    VALUES,
    VAULT,
    Spec,
)

_EVERYTHING: Final = {
    "Prometheus": ("serviceMonitor", "podMonitor", "probe", "scrapeConfig", "rule"),
    "PrometheusAgent": ("serviceMonitor", "podMonitor", "probe", "scrapeConfig"),
    "Alertmanager": ("alertmanagerConfig",),
    "ThanosRuler": ("rule",),
}
_MONITORS: Final = ("ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig")
_NOT_PER_NODE: Final = (
    "replicas",
    "shards",
    "storage",
    "persistentVolume",
    "scrapeConfig",
    "probe",
)
# A ConfigMap with rules holds half a MiB: so many of so long ones need several.
_LONG_RULES, _LONG_TEXT = 40, 60_000
_GATES: Final = (
    "PrometheusAgentDaemonSet",
    "PrometheusTopologySharding",
    "PrometheusShardRetentionPolicy",
    "StatusForConfigurationResources",
)
FLAGS: Final = (
    "--prometheus-config-reloader=quay.io/prometheus-operator/prometheus-config-reloader:v0.94.1",
    f"--feature-gates={','.join(f'{gate}=true' for gate in _GATES)}",
)


_ONLY_OURS: Final = frozenset(
    name.removeprefix("v1alpha1.spec.") for name in ADDITIONS["scrapeconfigs"]
)


def given_by(seed: int) -> dict[str, Any]:
    """What a world starts from; the same number makes the same."""
    random = Random(seed)
    namespace = f"made-{seed}"
    resources = [_workload(kind, number, random) for kind, number in _workloads(random)]
    resources += [
        _resource(kind, f"{kind.lower()}-{number}", _crossed(kind, random))
        for kind in _MONITORS
        for number in range(random.randint(0, 5))
    ]
    resources += [
        _resource("AlertmanagerConfig", f"team-{number}", _alerting(random))
        for number in range(random.randint(0, 4))
    ]
    resources.append(_resource("AlertmanagerConfig", "global", _alerting(random)))
    resources += _rules(random)
    for each in resources:
        each["metadata"]["namespace"] = namespace
    return {
        "namespace": namespace,
        "flags": list(FLAGS),
        "secretsAndConfigMaps": {VAULT: VALUES | _values()},
        "resources": resources,
    }


def _values() -> dict[str, str]:
    """What references of monitors lead to; only texts, as nothing else can be in a ConfigMap."""
    found = next(iter(assets().objects.values()))
    return {
        key: text
        for key, text in found.items()
        if isinstance(text, str) and (text.isprintable() or text.startswith("-----BEGIN"))
    }


def _crossed(kind: str, random: Random) -> Spec:
    """A spec of members that the peer has: it would not even see others."""
    spec = {name: each for name, each in crossed(kind, random).items() if name not in _ONLY_OURS}
    for name in spec if kind == "ScrapeConfig" else ():
        for each in spec[name] if name.endswith("SDConfigs") else ():
            for lacking in ("attachMetadata", "httpHeaders"):
                each.pop(lacking, None)
    refer(spec, random)
    return spec


def _workloads(random: Random) -> list[tuple[str, int]]:
    return [(kind, number) for kind in OF_KINDS for number in range(random.choice((1, 1, 1, 2)))]


def _workload(kind: str, number: int, random: Random) -> dict[str, Any]:
    """A workload with few or many members of those that its kind has."""
    known = schema_of_version(version_called(kind))["properties"]["spec"]["properties"]
    spec: Spec = {}
    share = random.choice((0, 0.05, 0.15, 0.3))
    for name, values in (OF_PODS | OF_KINDS[kind]).items():
        if name in known and random.random() < share:
            spec[name] = deepcopy(random.choice(values))
    for name in _EVERYTHING[kind]:
        spec[f"{name}Selector"] = {}
    if kind == "PrometheusAgent" and random.random() < 0.3:
        spec = {name: spec[name] for name in spec if not name.startswith(_NOT_PER_NODE)}
        spec = {name: spec[name] for name in spec if not name.startswith("serviceMonitor")}
        spec["mode"] = "DaemonSet"
    if kind == "ThanosRuler" and "queryConfig" not in spec:
        spec["queryEndpoints"] = ["query:10901"]
    return _resource(kind, f"main-{number}", spec)


def _alerting(random: Random) -> Spec:
    receivers = [
        {"name": f"receiver-{number}"} | deepcopy(random.choice(RECEIVERS))
        for number in range(random.randint(1, 3))
    ]

    def route() -> Spec:
        return {"receiver": random.choice(receivers)["name"]} | deepcopy(random.choice(ROUTES))

    spec: Spec = {"receivers": receivers, "route": route(), "muteTimeIntervals": [NIGHTS]}
    if random.random() < 0.5:
        spec["route"]["routes"] = [route() for _ in range(random.randint(1, 2))]
    if random.random() < 0.4:
        spec["inhibitRules"] = [INHIBIT]
    return spec


def _rules(random: Random) -> list[dict[str, Any]]:
    """A few rules, or now and then so many that they need several ConfigMaps."""
    if random.random() < 0.3:
        count, text = _LONG_RULES, _LONG_TEXT
    else:
        count, text = random.randint(0, 6), 300
    return [
        _resource("PrometheusRule", f"rules-{number}", _groups(random, text))
        for number in range(count)
    ]


def _groups(random: Random, length: int) -> Spec:
    alert = {
        "alert": "Slow",
        "expr": random.choice(('rate(a_total{job="x"}[5m]) > 1', "vector(1)", "up == 0")),
        "for": "5m",
        "labels": {"severity": "warning"},
        "annotations": {
            "text": "{{ $value }} " + "long word " * (random.randint(length // 2, length) // 10)
        },
    }
    record = {"record": "job:up:sum", "expr": "sum by (job) (up)"}
    more = random.choice(({}, {"interval": "1m"}, {"limit": 5}, {"labels": {"team": "a"}}))
    return {"groups": [{"name": "a", "rules": [alert, record]} | more, {"name": "b"}]}


def _resource(kind: str, name: str, spec: Spec) -> dict[str, Any]:
    made = manifest(kind, spec, "", name)
    # Whom the peer reads: it knows no other version of these.
    if kind in ("ScrapeConfig", "AlertmanagerConfig"):
        made["apiVersion"] = made["apiVersion"].rpartition("/")[0] + "/v1alpha1"
    return made
