"""What becomes of a workload: the same answer for the operator, `render` and everybody else.

    workload, candidates, values ──> select ──> validate ──> generate ──> Decision

A decision is a value: what was selected and what was rejected, what the workload's version ignores,
and the configuration, or the reason why there is none.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from stoker.api.core import SecretKeySelector
from stoker.api.prometheus import PrometheusAgent
from stoker.errors import WorkloadError
from stoker.generate.draft import Ignored
from stoker.generate.fragments import OWN, KeptConfiguration, ResourceKey
from stoker.generate.prometheus import Additional
from stoker.select.assets import Assets, Missing, source_of
from stoker.select.choice import Monitor, NamespaceLabels, applicable
from stoker.select.workload import Scraper, Workload, workload_of
from stoker.settings import Capabilities
from stoker.validate.features import agent_notes
from stoker.validate.findings import Finding, Findings
from stoker.validate.verdicts import Verdict
from stoker.yamltree import YamlError, parse

__all__ = ["OWN", "Decision", "decide"]

class Decision(Struct, frozen=True):
    """What becomes of a workload; with a `problem` there is no configuration.

    `ignored` are the fields that the version does not know, by resource; the workload's own are
    under `OWN`. `notes` are about a workload that runs, though hardly as it was meant.
    """

    workload: Workload
    verdicts: tuple[Verdict, ...] = ()
    ignored: Mapping[ResourceKey, tuple[Ignored, ...]] = {}
    text: str = ""
    problem: str = ""
    notes: tuple[Finding, ...] = ()


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
        kept = KeptConfiguration(workload, assets, _additional(workload, assets))
    except WorkloadError as error:
        return Decision(workload, problem=str(error))
    chosen = {_key(each): each for each in applicable(workload, candidates, namespaces)}
    kept.put_all(chosen, assets)
    verdicts = tuple(kept.verdicts[key] for key in chosen)
    notes = tuple(_notes(scraper, workload))
    try:
        return Decision(workload, verdicts, kept.ignored, kept.text(), notes=notes)
    except WorkloadError as error:
        return Decision(workload, verdicts, kept.ignored, problem=str(error), notes=notes)


def _notes(scraper: Scraper, workload: Workload) -> Findings:
    if isinstance(scraper, PrometheusAgent):
        yield from agent_notes(scraper.spec, workload.version)


def _key(resource: Monitor) -> ResourceKey:
    metadata = resource.metadata
    return type(resource).__name__, f"{metadata.namespace or ''}/{metadata.name or ''}"


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
    if source is None:
        return None
    text = assets.value(source)
    if isinstance(text, Missing):
        # Whether that is a fault is for validation to say.
        return None
    try:
        parsed = parse(text)
    except YamlError as error:
        # Only the place: the text is a Secret's, and the reason might quote it.
        place = f"line {error.line}, column {error.column}"
        raise WorkloadError(path, f"the value is not YAML: see {place}") from None
    if parsed is not None and not isinstance(parsed, list):
        raise WorkloadError(path, "the value is not a list")
    return parsed or []
