"""The kinds that the operator looks after, and those that these are configured with, as tables."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from stoker.api.alertmanager import Alertmanager
from stoker.api.amconfig.v1alpha1 import AlertmanagerConfig
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.rules import PrometheusRule
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.api.thanosruler import ThanosRuler
from stoker.kube import resources as kube
from stoker.kube.resources import Resource


class ResourceKind(Struct, frozen=True):
    """A kind of configuration resource: where the API server has it, and its type.

    `named_by` is the kind of workload that may name one beside it, wherever others are looked for.
    """

    resource: Resource
    model: type[Any]
    named_by: str = ""


class WorkloadKind(Struct, frozen=True):
    """A kind of workload: where the API server has it, and its type.

    `controller` is its name in metrics, `selector` the member of the settings that says which of
    them are ours by their labels. What becomes of one is in `stoker.decide.kinds`.
    """

    resource: Resource
    model: type[Any]
    controller: str
    selector: str


WORKLOADS: Final[Mapping[str, WorkloadKind]] = {
    kind.resource.kind: kind
    for kind in (
        WorkloadKind(kube.PROMETHEUS, Prometheus, "prometheus", "prometheus"),
        WorkloadKind(kube.PROMETHEUS_AGENT, PrometheusAgent, "prometheus-agent", "prometheus"),
        WorkloadKind(kube.ALERTMANAGER, Alertmanager, "alertmanager", "alertmanager"),
        WorkloadKind(kube.THANOS_RULER, ThanosRuler, "thanos", "thanos_ruler"),
    )
}
RESOURCES: Final[Mapping[str, ResourceKind]] = {
    kind.resource.kind: kind
    for kind in (
        ResourceKind(kube.SERVICE_MONITOR, ServiceMonitor),
        ResourceKind(kube.POD_MONITOR, PodMonitor),
        ResourceKind(kube.PROBE, Probe),
        ResourceKind(kube.SCRAPE_CONFIG, ScrapeConfig),
        ResourceKind(kube.PROMETHEUS_RULE, PrometheusRule),
        ResourceKind(kube.ALERTMANAGER_CONFIG, AlertmanagerConfig, named_by="Alertmanager"),
    )
}
