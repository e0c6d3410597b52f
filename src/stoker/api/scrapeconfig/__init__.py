"""ScrapeConfig: a scrape configuration of Prometheus with any of its service discoveries.

client, discovery     what the versions share
v1alpha1              the declaration, and the form in which everything else works with it
graduated             v1beta1 and v1, as a table of what is different
"""

from stoker.api.crd import GROUP, Kind, Later, Version
from stoker.api.scrapeconfig import graduated, v1alpha1

SCRAPE_CONFIG = Kind(
    name="ScrapeConfig",
    plural="scrapeconfigs",
    short="scfg",
    versions=(
        Version(
            "v1alpha1",
            v1alpha1.ScrapeConfig,
            deprecated=f"{GROUP}/v1alpha1 ScrapeConfig is deprecated: use {GROUP}/v1 ScrapeConfig",
            differences=graduated.older_page,
        ),
        Version(
            "v1beta1",
            Later(graduated.scrape_config),
            storage=False,
            converted=True,
            differences=graduated.same_page,
        ),
        Version("v1", Later(graduated.scrape_config), storage=False, converted=True),
    ),
    prefers="v1",
)
