"""Monitors and workloads made up from a number, and the jobs that our generator writes for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from msgspec import convert

from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.select.assets import AssetsAtHand
from stoker.select.choice import Monitor
from stoker.select.workload import Scraper, scraper_of
from stoker.settings import Capabilities
from tests.equivalence import jobs_of
from tests.live.discovering import about_targets
from tests.targets.relabelings import regex

Block = dict[str, Any]
Object = dict[str, Any]

_GROUP: Final = "monitoring.coreos.com"
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
    "__meta_kubernetes_service_type", "__meta_kubernetes_service_cluster_ip",
    "__meta_kubernetes_service_loadbalancer_ip", "__meta_kubernetes_node_address_InternalIP",
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


_STATIC: Final = ("https://a.example/x?y=1", "b.example:80", "c", "https://a.example/x?y=1")
_OF_PODS: Final = ("Pod", "Endpoints", "EndpointSlice")
_ROLES: Final = (*_OF_PODS, "Ingress", "Service", "Node")
# All Services: only few are load balancers, or outside.
_CHOICES: Final = {"Node": ("kubernetes.io/hostname", "app=cart"), "Service": ("app",)}


def manifests(seed: int, namespaces: Sequence[str]) -> Iterator[Object]:
    """Some of each kind."""
    random = Random(seed)
    for number in range(4):
        role = random.choice(("Endpoints", "EndpointSlice"))
        spec = {**_shared(random, namespaces), "serviceDiscoveryRole": role}
        spec |= {"targetLabels": ["app"], "endpoints": [_endpoint(random), _endpoint(random)]}
        yield _resource("ServiceMonitor", f"service-{seed}-{number}", namespaces[0], spec)
    for number in range(3):
        ends = [_endpoint(random), _endpoint(random)]
        for each in ends:
            if random.random() < 0.3:
                each["portNumber"] = 8080
        spec = {**_shared(random, namespaces), "podMetricsEndpoints": ends}
        yield _resource("PodMonitor", f"pod-{seed}-{number}", namespaces[0], spec)
    ingress = {"namespaceSelector": {"matchNames": list(namespaces)}, "selector": {}}
    spec = {"prober": {"url": "prober:80"}, "targets": {"ingress": ingress}, "module": "http"}
    yield _resource("Probe", f"probe-{seed}", namespaces[0], spec)
    listed = {"static": list(_STATIC), "relabelingConfigs": _relabelings(random)}
    spec = {"prober": {"url": "prober:80"}, "targets": {"staticConfig": listed}}
    yield _resource("Probe", f"listed-{seed}", namespaces[0], spec)
    for number, role in enumerate(_ROLES):
        spec = {"kubernetesSDConfigs": [_discovery(random, role, namespaces)]}
        spec |= _with_steps(random)
        if random.random() < 0.5:
            spec["jobName"] = "named"
        yield _resource("ScrapeConfig", f"config-{seed}-{number}", namespaces[0], spec)
    spec = {"staticConfigs": [{"targets": ["x:1", "y"], "labels": {"tier": "1"}}]}
    spec |= _with_steps(random)
    yield _resource("ScrapeConfig", f"listed-{seed}", namespaces[0], spec)


def _with_steps(random: Random) -> Object:
    """Steps of a ScrapeConfig, where there must be some or none."""
    steps = _relabelings(random)
    return {"relabelings": steps} if steps else {}


def _discovery(random: Random, role: str, namespaces: Sequence[str]) -> Object:
    found: Object = {"role": role, "namespaces": {"names": list(namespaces)}}
    if random.random() < 0.5:
        labels = _CHOICES.get(role, ("app=cart", "tier"))
        found["selectors"] = [{"role": role, "label": random.choice(labels)}]
    if role in _OF_PODS and random.random() < 0.5:
        found["attachMetadata"] = {"node": True}
    return found


def _resource(kind: str, name: str, namespace: str, spec: Object) -> Object:
    version = "v1alpha1" if kind == "ScrapeConfig" else "v1"
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{_GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": spec}


_MODELS: Final[dict[str, type[Monitor]]] = {
    each.__name__: each for each in (ServiceMonitor, PodMonitor, Probe, ScrapeConfig)
}


def monitors(seed: int, namespaces: Sequence[str]) -> Iterator[Monitor]:
    """The same as resources."""
    for each in manifests(seed, namespaces):
        yield convert(each, _MODELS[each["kind"]])


def workloads(namespace: str = "monitoring") -> dict[str, Object]:
    """A server, and an agent on every node; each takes whatever there is beside it."""
    selectors: Object = {"serviceMonitorSelector": {}, "podMonitorSelector": {}}
    everywhere: Object = {"mode": "DaemonSet", "tolerations": [{"operator": "Exists"}]}
    server = _resource(
        "Prometheus", "main", namespace,
        {"probeSelector": {}, "scrapeConfigSelector": {}, **selectors},
    )  # fmt: skip
    agent = _resource("PrometheusAgent", "nodes", namespace, {**everywhere, **selectors})
    return {"server": server, "agent": agent | {"apiVersion": f"{_GROUP}/v1alpha1"}}


def scrapers() -> dict[str, Scraper]:
    """The same as they are known to the generator."""
    models = {"server": Prometheus, "agent": PrometheusAgent}
    return {
        who: scraper_of(convert(each, models[who]), Capabilities())
        for who, each in workloads().items()
    }


def blocks(
    seed: int, namespaces: Sequence[str], kubeconfig: Path, nodes: Sequence[str]
) -> Iterator[tuple[Block, dict[str, str]]]:
    """Jobs for both, with the variables of the pod that has them; each under a name of its own."""
    for who, scraper in scrapers().items():
        for node in nodes if scraper.daemon_set else ("",):
            for monitor in monitors(seed, namespaces):
                for block in jobs_of(monitor, scraper, AssetsAtHand({})):
                    if scraper.daemon_set and isinstance(monitor, Probe | ScrapeConfig):
                        continue
                    name = f"{who}/{node}/{block['job_name']}"
                    known = {"NODE_NAME": node, "SHARD": "0"}
                    job = {"job_name": name, **about_targets(block, kubeconfig)}
                    yield job, known
                    if alone := _by_its_node_alone(job):
                        yield alone, known


def _by_its_node_alone(job: Block) -> Block | None:
    """A job without the selector of its pods, which leaves the choice to that of their node."""
    if "kubernetes_sd_configs" not in job:
        return None
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
