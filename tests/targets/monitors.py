"""Monitors and workloads made up from a number, and the jobs that our generator writes for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from msgspec import convert

from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper, scraper_of
from stoker.settings import Capabilities
from tests.equivalence import jobs_of
from tests.live.discovering import about_targets
from tests.targets.relabelings import regex

Block = dict[str, Any]
Object = dict[str, Any]

_SELECTORS: Final[tuple[Object, ...]] = (
    {},
    {"matchLabels": {"app": "cart"}},
    {"matchExpressions": [{"key": "app", "operator": "In", "values": ["cart", "stock"]}]},
    {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "team.example/name", "operator": "DoesNotExist"}]},
    {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a.b", "1"]}]},
)
_MODES: Final = ("RelabelConfig", "RoleSelector")
_SOURCES: Final = (
    "__meta_kubernetes_pod_annotation_prometheus_io_scrape", "__meta_kubernetes_pod_phase",
    "__meta_kubernetes_pod_label_tier", "__address__", "__meta_kubernetes_pod_container_init",
    "__meta_kubernetes_endpointslice_endpoint_zone", "__meta_kubernetes_node_name",
    "__meta_kubernetes_pod_ready", "namespace", "pod", "job",
)  # fmt: skip


def _relabelings(random: Random) -> list[Object]:
    return [_relabeling(random) for _ in range(random.randint(0, 3))]


def _relabeling(random: Random) -> Object:
    source = {"sourceLabels": random.sample(_SOURCES, random.randint(1, 2))}
    if random.random() < 0.3:
        expression = random.choice((".+", "Running.*", "true.*", regex(random)))
        return {"action": random.choice(("keep", "drop")), "regex": expression, **source}
    if random.random() < 0.2:
        return {"action": "labelmap", "regex": "__meta_kubernetes_pod_label_(app|tier)"}
    return {**source, "targetLabel": random.choice(("zone", "instance", "__address__", "x"))} | (
        random.choice(({}, {"regex": "(.+);?(.*)", "replacement": "$1-$2"}, {"regex": "(.*)"}))
    )


def _shared(random: Random, namespaces: Sequence[str]) -> Object:
    spec: Object = {"selector": random.choice(_SELECTORS)}
    spec["selectorMechanism"] = random.choice(_MODES)
    if random.random() < 0.5:
        spec["attachMetadata"] = {"node": True}
    spec["namespaceSelector"] = random.choice(
        ({}, {"any": True}, {"matchNames": list(namespaces)}, {"matchNames": [namespaces[1]]})
    )
    spec["podTargetLabels"] = random.sample(("tier", "v1-2_3"), random.randint(0, 2))
    if random.random() < 0.3:
        spec["jobLabel"] = "app"
    return spec


def _endpoint(random: Random) -> Object:
    chosen: tuple[Object, ...] = (
        {"port": "web"},
        {"targetPort": 9090},
        {"targetPort": "admin"},
        {},
    )
    own: Object = {**random.choice(chosen), "relabelings": _relabelings(random)}
    if random.random() < 0.3:
        own["filterRunning"] = False
    if random.random() < 0.3:
        own |= {"interval": "90s", "scrapeTimeout": "1500ms", "path": "/m", "scheme": "https"}
    return own


def monitors(seed: int, namespaces: Sequence[str]) -> Iterator[ServiceMonitor | PodMonitor | Probe]:
    """Some of each kind."""
    random = Random(seed)
    for number in range(4):
        role = random.choice(("Endpoints", "EndpointSlice"))
        spec = {**_shared(random, namespaces), "serviceDiscoveryRole": role}
        spec |= {"targetLabels": ["app"], "endpoints": [_endpoint(random), _endpoint(random)]}
        yield convert(_resource(f"service-{seed}-{number}", namespaces[0], spec), ServiceMonitor)
    for number in range(3):
        ends = [_endpoint(random), _endpoint(random)]
        for each in ends:
            if random.random() < 0.3:
                each["portNumber"] = 8080
        spec = {**_shared(random, namespaces), "podMetricsEndpoints": ends}
        yield convert(_resource(f"pod-{seed}-{number}", namespaces[0], spec), PodMonitor)
    ingress = {"namespaceSelector": {"matchNames": list(namespaces)}, "selector": {}}
    spec = {"prober": {"url": "prober:80"}, "targets": {"ingress": ingress}, "module": "http"}
    yield convert(_resource(f"probe-{seed}", namespaces[0], spec), Probe)


def _resource(name: str, namespace: str, spec: Object) -> Object:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def scrapers() -> dict[str, Scraper]:
    """A server, and an agent on every node."""
    known = {"metadata": {"name": "main", "namespace": "monitoring"}}
    return {
        "server": scraper_of(convert({**known, "spec": {}}, Prometheus), Capabilities()),
        "agent": scraper_of(
            convert({**known, "spec": {"mode": "DaemonSet"}}, PrometheusAgent), Capabilities()
        ),
    }


def blocks(
    seed: int, namespaces: Sequence[str], kubeconfig: Path, nodes: Sequence[str]
) -> Iterator[tuple[Block, dict[str, str]]]:
    """Jobs for both, with the variables of the pod that has them; each under a name of its own."""
    for who, scraper in scrapers().items():
        for node in nodes if scraper.daemon_set else ("",):
            for monitor in monitors(seed, namespaces):
                for block in jobs_of(monitor, scraper, AssetsAtHand({})):
                    if scraper.daemon_set and isinstance(monitor, Probe):
                        continue
                    name = f"{who}/{node}/{block['job_name']}"
                    known = {"NODE_NAME": node, "SHARD": "0"}
                    job = {"job_name": name, **about_targets(block, kubeconfig)}
                    yield job, known
                    if alone := _by_its_node_alone(job):
                        yield alone, known


def _by_its_node_alone(job: Block) -> Block | None:
    """A job without the selector of its pods, which leaves the choice to that of their node."""
    [discovery] = job["kubernetes_sd_configs"]
    selectors = discovery.get("selectors", [])
    of_nodes = [each for each in selectors if each["role"] == "node"]
    if not of_nodes:
        return None
    return {
        **job,
        "job_name": f"{job['job_name']}/alone",
        "kubernetes_sd_configs": [discovery | {"selectors": of_nodes}],
    }
