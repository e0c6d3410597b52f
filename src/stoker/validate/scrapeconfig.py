"""ScrapeConfig: the job itself; the ways to find targets are in `discovery`."""

from typing import Final

from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import below
from stoker.select.exclusions import is_spared
from stoker.validate.discovery import DISCOVERIES, discoveries
from stoker.validate.discovery.checks import too_old
from stoker.validate.findings import Findings, json_name
from stoker.validate.http import conflict, http_client
from stoker.validate.monitors import interval_and_timeout, scrape_settings
from stoker.validate.reading import LEGACY, ScraperReading
from stoker.validate.relabel import relabelings
from stoker.validate.syntax import label_name

__all__ = ["DISCOVERIES", "name_schemes", "scrape_config", "too_old"]


def scrape_config(config: ScrapeConfig, reading: ScraperReading) -> Findings:
    """Everything about a ScrapeConfig."""
    spec = config.spec
    scheme = spec.name_validation_scheme
    yield from scrape_settings(spec, reading, "spec")
    yield from interval_and_timeout(
        spec.scrape_interval,
        spec.scrape_timeout,
        reading,
        "spec",
        ("scrapeInterval", "scrapeTimeout"),
    )
    yield from relabelings(spec.relabelings, reading, "spec.relabelings", scheme)
    yield from relabelings(spec.metric_relabelings, reading, "spec.metricRelabelings", scheme)
    yield from name_schemes(scheme, spec.name_escaping_scheme, reading, "spec")
    if reading.legacy_names(scheme) and not reading.legacy_names():
        yield from foreign_names(config, reading)
    yield from http_client(spec, reading, "spec")
    for row in DISCOVERIES:
        items = getattr(spec, row.field)
        if items:
            yield from discoveries(row, items, reading, below("spec", json_name(spec, row.field)))


def foreign_names(config: ScrapeConfig, reading: ScraperReading) -> Findings:
    """Steps of the workload in a job that takes legacy names only, where they have others.

    Prometheus judges all steps of a job by the scheme of the job, and refuses the whole file.
    """
    path, spec = "spec.nameValidationScheme", config.spec
    label = reading.spec.enforced_namespace_label
    spared = is_spared("scrapeconfigs", config.metadata, reading.spec.excluded_from_enforcement)
    if label and not spared and not label_name(label, legacy=True):
        yield conflict(path, f"`{LEGACY}` does not know the label `{label}`, which is enforced")
    for one in reading.spec.scrape_classes or ():
        if one.name == spec.scrape_class if spec.scrape_class else one.default:
            steps = (*(one.relabelings or ()), *(one.metric_relabelings or ()))
            if any(relabelings(steps, reading, path, LEGACY)):
                yield conflict(path, f"`{LEGACY}` does not know labels of its scrape class")


_ESCAPING_SCHEMES: Final = "3.4.0"


def name_schemes(
    validation: str | None, escaping: str | None, reading: ScraperReading, path: str
) -> Findings:
    """No UTF-8 names are asked for where only legacy ones are taken."""
    legacy = (validation or reading.spec.name_validation_scheme) == LEGACY
    if legacy and escaping == "AllowUTF8" and reading.knows(_ESCAPING_SCHEMES):
        yield conflict(below(path, "nameEscapingScheme"), "`AllowUTF8` needs validation by `UTF8`")
