"""The ten kinds, and how to find one by what a user calls it."""

from typing import Final

from stoker.api.alertmanager import ALERTMANAGER
from stoker.api.amconfig import ALERTMANAGER_CONFIG
from stoker.api.crd import GROUP, Kind, KindVersion
from stoker.api.monitors import POD_MONITOR, PROBE, SERVICE_MONITOR
from stoker.api.prometheus import PROMETHEUS, PROMETHEUS_AGENT
from stoker.api.rules import PROMETHEUS_RULE
from stoker.api.scrapeconfig import SCRAPE_CONFIG
from stoker.api.thanosruler import THANOS_RULER

WORKLOADS: Final = (PROMETHEUS, PROMETHEUS_AGENT, ALERTMANAGER, THANOS_RULER)
CONFIGURATION: Final = (
    SERVICE_MONITOR,
    POD_MONITOR,
    PROBE,
    SCRAPE_CONFIG,
    PROMETHEUS_RULE,
    ALERTMANAGER_CONFIG,
)
KINDS: Final[tuple[Kind, ...]] = WORKLOADS + CONFIGURATION


def kind_called(word: str) -> Kind | None:
    """The kind that a user means: by kind, plural, singular or short name, in any case."""
    folded = word.lower().removesuffix(f".{GROUP}")
    for kind in KINDS:
        if folded in (kind.name.lower(), kind.plural, kind.short):
            return kind
    return None


def version_of(api_version: str, kind: str) -> KindVersion | None:
    """The declaration behind the `apiVersion` and `kind` of a manifest."""
    group, _, name = api_version.partition("/")
    if group != GROUP:
        return None
    found = next((candidate for candidate in KINDS if candidate.name == kind), None)
    return found.version(name) if found else None
