"""The targets of a ScrapeConfig: those that it lists; others are found outside, by Prometheus."""

from stoker.api.convert import as_written
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.explain.answer import Search
from stoker.explain.reach import Reach
from stoker.select.workload import Scraper
from stoker.validate.findings import json_names
from stoker.view.view import View


def scrape_config_search(
    _view: View, config: ScrapeConfig, _workload: Scraper, _reach: Reach | None = None
) -> Search:
    """Where a workload finds the targets of a ScrapeConfig."""
    spec = config.spec
    listed = sum(len(each.targets) for each in spec.static_configs or ())
    names = json_names(type(spec))
    others = [
        as_written(config.api_version, "ScrapeConfig", f"spec.{names[name]}")[0]
        for name in spec.__struct_fields__
        if name.endswith("_sd_configs") and getattr(spec, name)
    ]
    if others:
        notes = (f"Prometheus finds targets by {', '.join(others)}: how many is known there alone",)
        return Search(workloads=(), looks_in=", ".join(others), targets=None, notes=notes)
    problems = () if listed else ("spec: it lists no targets and says no way to find any",)
    return Search(workloads=(), looks_in="spec.staticConfigs", targets=listed, problems=problems)
