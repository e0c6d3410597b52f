"""ScrapeConfig: a scrape configuration of Prometheus with any of its service discoveries."""

from stoker.api.crd import Kind, Version
from stoker.api.scrapeconfig import v1alpha1

SCRAPE_CONFIG = Kind(
    name="ScrapeConfig",
    plural="scrapeconfigs",
    short="scfg",
    versions=(Version("v1alpha1", v1alpha1.ScrapeConfig),),
)
