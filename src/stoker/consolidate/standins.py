"""ScrapeConfigs in place of monitors, where there are no others to compare them with."""

from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.consolidate.configs import Consolidable, consolidated
from stoker.consolidate.terms import Inexpressible, terms_of
from stoker.select.choice import Resource
from stoker.select.workload import Scraper


def stand_ins_of(resource: Resource, scraper: Scraper) -> tuple[ScrapeConfig, ...]:
    """The ScrapeConfigs that a workload scrapes in place of a monitor; none: it stays as it is."""
    if not isinstance(resource, Consolidable):
        return ()
    terms = terms_of(scraper)
    return () if isinstance(terms, Inexpressible) else consolidated(resource, terms).configs
