"""ScrapeConfig: the job itself; the ways to find targets are in `discovery`."""

from typing import Final

from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import below
from stoker.validate.discovery import DISCOVERIES, discoveries
from stoker.validate.discovery.checks import too_old
from stoker.validate.findings import Findings, json_name
from stoker.validate.http import conflict, http_client
from stoker.validate.monitors import interval_and_timeout, scrape_settings
from stoker.validate.relabel import relabelings
from stoker.validate.scope import LEGACY, Scope

__all__ = ["DISCOVERIES", "name_schemes", "scrape_config", "too_old"]


def scrape_config(config: ScrapeConfig, scope: Scope) -> Findings:
    """Everything about a ScrapeConfig."""
    spec = config.spec
    scheme = spec.name_validation_scheme
    yield from scrape_settings(spec, scope, "spec")
    yield from interval_and_timeout(
        spec.scrape_interval,
        spec.scrape_timeout,
        scope,
        "spec",
        ("scrapeInterval", "scrapeTimeout"),
    )
    yield from relabelings(spec.relabelings, scope, "spec.relabelings", scheme)
    yield from relabelings(spec.metric_relabelings, scope, "spec.metricRelabelings", scheme)
    yield from name_schemes(scheme, spec.name_escaping_scheme, scope, "spec")
    yield from http_client(spec, scope, "spec")
    for row in DISCOVERIES:
        items = getattr(spec, row.field)
        if items:
            yield from discoveries(row, items, scope, below("spec", json_name(spec, row.field)))


_ESCAPING_SCHEMES: Final = "3.4.0"


def name_schemes(validation: str | None, escaping: str | None, scope: Scope, path: str) -> Findings:
    """No UTF-8 names are asked for where only legacy ones are taken."""
    legacy = (validation or scope.spec.name_validation_scheme) == LEGACY
    if legacy and escaping == "AllowUTF8" and scope.knows(_ESCAPING_SCHEMES):
        yield conflict(below(path, "nameEscapingScheme"), "`AllowUTF8` needs validation by `UTF8`")
