"""What becomes of a workload: the same answer for the operator, `render` and everybody else.

    workload, candidates, values ──> select ──> validate ──> generate ──> Decision

A decision is a value: what was selected and what was rejected, what the workload's version ignores,
and the configuration, or the reason why there is none.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

from msgspec import Struct

from stoker.api.core import SecretKeySelector
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import WorkloadError
from stoker.generate.draft import Workload
from stoker.generate.prometheus import (
    Additional,
    Configuration,
    Resources,
    agent_config,
    server_config,
)
from stoker.select.assets import Assets, Missing, source_of
from stoker.select.selection import Monitor, NamespaceLabels, Selection, select
from stoker.settings import Capabilities
from stoker.version import parse_version
from stoker.yamltree import YamlError, parse

Scraper: TypeAlias = Prometheus | PrometheusAgent


class Decision(Struct, frozen=True):
    """What becomes of a workload; with a `problem` there is no configuration."""

    workload: Workload
    selection: Selection
    configuration: Configuration | None = None
    problem: str = ""


def decide(
    scraper: Scraper,
    candidates: Iterable[Monitor],
    namespaces: NamespaceLabels,
    assets: Assets,
    capabilities: Capabilities,
) -> Decision:
    """Select, validate and generate for one Prometheus or PrometheusAgent."""
    workload = workload_of(scraper, capabilities)
    try:
        parse_version(workload.spec.version or "0")
    except ValueError as error:
        return Decision(workload, Selection(()), problem=f"spec.version: {error}")
    selection = select(workload, candidates, namespaces, assets)
    if selection.findings:
        return Decision(workload, selection, problem="; ".join(map(str, selection.findings)))
    try:
        configuration = _configuration(workload, selection, assets)
    except WorkloadError as error:
        return Decision(workload, selection, problem=str(error))
    return Decision(workload, selection, configuration)


def workload_of(scraper: Scraper, capabilities: Capabilities) -> Workload:
    """A Prometheus or PrometheusAgent as the generators know it."""
    agent = isinstance(scraper, PrometheusAgent)
    return Workload(
        namespace=scraper.metadata.namespace or "",
        name=scraper.metadata.name or "",
        spec=scraper.spec,
        agent=agent,
        daemon_set=agent and getattr(scraper.spec, "mode", None) == "DaemonSet",
        capabilities=capabilities,
    )


def _configuration(workload: Workload, selection: Selection, assets: Assets) -> Configuration:
    resources = _resources(selection)
    additional = _additional(workload, assets)
    if workload.agent:
        return agent_config(workload, resources, assets, additional)
    return server_config(workload, resources, assets, additional)


def _resources(selection: Selection) -> Resources:
    chosen: dict[type, dict[str, Any]] = {
        ServiceMonitor: {},
        PodMonitor: {},
        Probe: {},
        ScrapeConfig: {},
    }
    for verdict in selection.accepted:
        _, namespace, name = verdict.key
        chosen[type(verdict.resource)][f"{namespace}/{name}"] = verdict.resource
    return Resources(
        service_monitors=chosen[ServiceMonitor],
        pod_monitors=chosen[PodMonitor],
        probes=chosen[Probe],
        scrape_configs=chosen[ScrapeConfig],
    )


# The members of the spec that refer to configuration in Prometheus' own syntax.
_ADDITIONAL = {
    "scrape_configs": ("additional_scrape_configs", "additionalScrapeConfigs"),
    "alert_relabel_configs": ("additional_alert_relabel_configs", "additionalAlertRelabelConfigs"),
    "alertmanagers": ("additional_alert_manager_configs", "additionalAlertManagerConfigs"),
}


def _additional(workload: Workload, assets: Assets) -> Additional:
    found = {
        part: _listed(workload, getattr(workload.spec, attribute, None), f"spec.{name}", assets)
        for part, (attribute, name) in _ADDITIONAL.items()
    }
    return Additional(**found)


def _listed(
    workload: Workload, reference: SecretKeySelector | None, path: str, assets: Assets
) -> list[Any] | None:
    """The list that a Secret's key holds as YAML, which is the user's own and trusted."""
    source = source_of(reference, workload.namespace)
    if reference is None or source is None:
        return None
    text = assets.value(source)
    if isinstance(text, Missing):
        if reference.optional:
            return None
        raise WorkloadError(path, str(text))
    try:
        parsed = parse(text)
    except YamlError as error:
        # Only the place: the text is a Secret's, and the reason might quote it.
        place = f"line {error.line}, column {error.column}"
        raise WorkloadError(path, f"the value is not YAML: see {place}") from None
    if parsed is not None and not isinstance(parsed, list):
        raise WorkloadError(path, "the value is not a list")
    return parsed or []
