"""Replays the suites of `prometheus.yaml`: the same resources make the same file, to the byte.

Where the peer gave up, so must we: either the workload cannot be configured, or a resource is left
out, and then it must be the one that the peer complained about.
"""

import base64
from collections.abc import Mapping
from typing import Any, Final

from stoker.api.convert import to_internal
from stoker.api.decode import convert
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import WorkloadError
from stoker.generate.prometheus import Additional
from stoker.ref import Ref
from stoker.select.assets import CONFIG_MAP, SECRET, AssetsAtHand
from stoker.select.workload import Scraper
from stoker.settings import Capabilities
from stoker.validate.reading import ScraperReading
from stoker.validate.workload import workload as workload_findings
from stoker.yamltree import parse
from tests.conformance.cases import Case
from tests.conformance.compare import without_nulls
from tests.conformance.replay import Context, Outcome, error_outcome, replays, text_outcome
from tests.whole import Configuration, Resources, agent_config, server_config

_KINDS: Final[dict[str, Any]] = {
    "serviceMonitors": ServiceMonitor,
    "podMonitors": PodMonitor,
    "probes": Probe,
    "scrapeConfigs": ScrapeConfig,
}


@replays("prometheus-config", "prometheus-config-error")
def configuration_of_server(case: Case, context: Context) -> Outcome:
    """Write the file for a server and the resources it has selected."""
    return _replayed(case, agent=False)


@replays("agent-config", "agent-config-derived")
def configuration_of_agent(case: Case, context: Context) -> Outcome:
    """Write the file for an agent; the fields that only a server has are unknown to it."""
    return _replayed(case, agent=True)


def _replayed(case: Case, *, agent: bool) -> Outcome:
    try:
        found = configuration(case.given, agent=agent)
    except WorkloadError as error:
        return error_outcome(case.expect, str(error))
    if found.rejected:
        return _rejection(case.expect.get("error", ""), found)
    if "config" in case.expect:
        return text_outcome(case.expect["config"], found.text)
    return error_outcome(case.expect, _fault(case.given, agent=agent))


def _fault(given: dict[str, Any], *, agent: bool) -> str | None:
    """What is wrong with the workload itself, which we find before anything is written."""
    workload = workload_of(given, agent=agent)
    scope = ScraperReading(workload, contents_of(given), workload.namespace)
    return next(map(str, workload_findings(workload.spec, scope)), None)


def _rejection(error: str, found: Configuration) -> Outcome:
    """Whether the peer complained of the resource that we left out."""
    key, problem = next(iter(found.rejected.items()))
    if error and key.name in error:
        return error_outcome({"error": error}, str(problem))
    return Outcome(f"expected {error or 'success'}, got {key}: {problem}")


def configuration(given: dict[str, Any], *, agent: bool) -> Configuration:
    """What stoker makes of the input of a case."""
    workload, assets = workload_of(given, agent=agent), contents_of(given)
    resources = Resources(
        service_monitors=_objects(given, "serviceMonitors"),
        pod_monitors=_objects(given, "podMonitors"),
        probes=_objects(given, "probes"),
        scrape_configs=_objects(given, "scrapeConfigs"),
    )
    additional = Additional(
        scrape_configs=_parsed(given.get("additionalScrapeConfigs")),
        alert_relabel_configs=_parsed(given.get("additionalAlertRelabelConfigs")),
        alertmanagers=_parsed(given.get("additionalAlertManagerConfigs")),
    )
    if agent:
        return agent_config(workload, resources, assets, additional)
    rules = given.get("ruleConfigMapNames") or ()
    return server_config(workload, resources, assets, additional, rules)


def workload_of(given: dict[str, Any], *, agent: bool = False) -> Scraper:
    """The workload of a case, with the options it was generated under."""
    model: Any = PrometheusAgent if agent else Prometheus
    found = convert(model, without_nulls(given["workload"]))
    options = given.get("options") or {}
    return Scraper(
        namespace=found.metadata.namespace or "",
        name=found.metadata.name or "",
        spec=found.spec,
        agent=agent,
        daemon_set=options.get("daemonSet", False),
        capabilities=Capabilities(
            endpoint_slices=options.get("endpointSliceSupported", False),
            pod_topology_labels=options.get("podTopologyLabelsSupported", False),
            topology_sharding=options.get("topologySharding", False),
            shard_retention=options.get("retentionPolicies", False),
        ),
    )


def contents_of(given: dict[str, Any]) -> AssetsAtHand:
    """The Secrets and ConfigMaps of a case."""
    objects: dict[Ref, Mapping[str, str | bytes]] = {}
    for kind, field in ((SECRET, "secrets"), (CONFIG_MAP, "configMaps")):
        for one in given.get(field) or ():
            metadata = one["metadata"]
            data = one.get("data") or {}
            objects[Ref(kind, metadata.get("namespace", ""), metadata["name"])] = {
                key: base64.b64decode(value).decode() if kind == SECRET else value
                for key, value in data.items()
            }
    return AssetsAtHand(objects)


def _objects(given: dict[str, Any], field: str) -> dict[str, Any]:
    found = given.get(field) or {}
    return {
        key: convert(_KINDS[field], to_internal(without_nulls(value)))
        for key, value in found.items()
    }


def _parsed(text: str | None) -> list[Any] | None:
    return None if text is None else parse(text) or []
