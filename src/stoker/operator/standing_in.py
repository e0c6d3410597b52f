"""The ScrapeConfigs in the cluster that stand in for monitors.

One counts only if it is exactly what we would write: then nobody can smuggle another job into a
configuration, and as long as one is missing or old, the monitor's own jobs are used, which do the
same. So a configuration is right at any moment, whatever is written or deleted meanwhile.
"""

from collections.abc import Sequence
from typing import Final

from stoker.api.core import ObjectMeta
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.consolidate import stand_ins_of
from stoker.operator.caches import Caches
from stoker.ref import Ref, ref_from
from stoker.select.choice import Resource
from stoker.select.consolidated import monitor_behind
from stoker.select.workload import Scraper

SCRAPE_CONFIG: Final = "ScrapeConfig"


class StandingIn:
    """Finds the ScrapeConfigs to scrape in place of a monitor (`stoker.generate.fragments`)."""

    def __init__(self, caches: Caches) -> None:
        self._caches = caches

    def __call__(self, resource: Resource, scraper: Scraper) -> Sequence[ScrapeConfig]:
        """All of them; none, if there is one that is not as it should be."""
        wanted = stand_ins_of(resource, scraper)
        return wanted if all(self._is_there(each) for each in wanted) else ()

    def _is_there(self, wanted: ScrapeConfig) -> bool:
        found = found_for(self._caches, wanted)
        return (
            found is not None
            and not found.metadata.deletion_timestamp
            and found.spec == wanted.spec
            and belongs(found.metadata, wanted.metadata)
        )


def found_for(caches: Caches, wanted: ScrapeConfig) -> ScrapeConfig | None:
    """The ScrapeConfig of the same name."""
    metadata = wanted.metadata
    key = ref_from(SCRAPE_CONFIG, metadata)
    found = caches.resource(key)
    return found if isinstance(found, ScrapeConfig) else None


def belongs(found: ObjectMeta, wanted: ObjectMeta) -> bool:
    """Whether a ScrapeConfig belongs to the monitor that it should belong to."""
    one, other = monitor_behind(found), monitor_behind(wanted)
    return one is not None and other is not None and (one.kind, one.uid) == (other.kind, other.uid)


def monitor_key(metadata: ObjectMeta) -> Ref | None:
    """The monitor that a ScrapeConfig stands in for; None for one that stands for itself."""
    behind = monitor_behind(metadata)
    return Ref(behind.kind, metadata.namespace or "", behind.name) if behind else None
