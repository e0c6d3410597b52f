"""ScrapeConfig: a scrape configuration of Prometheus with any of its service discoveries.

client, discovery     what the versions share
v1alpha1              the declaration, and the form in which everything else works with it
graduated             v1beta1 and v1, as a table of what is different
"""

from stoker.api.common import MONITOR_COLUMNS
from stoker.api.crd import GROUP, Kind, KindVersion, Later
from stoker.api.scrapeconfig import graduated, v1alpha1

SCRAPE_CONFIG = Kind(
    name="ScrapeConfig",
    plural="scrapeconfigs",
    short="scfg",
    versions=(
        KindVersion(
            "v1alpha1",
            v1alpha1.ScrapeConfig,
            deprecated=f"{GROUP}/v1alpha1 ScrapeConfig is deprecated: use {GROUP}/v1 ScrapeConfig",
            columns=MONITOR_COLUMNS,
            differences=graduated.older_page,
        ),
        KindVersion(
            "v1beta1",
            Later(graduated.scrape_config),
            storage=False,
            converted=True,
            columns=MONITOR_COLUMNS,
            differences=graduated.same_page,
        ),
        KindVersion(
            "v1",
            Later(graduated.scrape_config),
            storage=False,
            converted=True,
            columns=MONITOR_COLUMNS,
        ),
    ),
    prefers="v1",
)
