"""A whole configuration at once: what one that is kept piece by piece must be equal to."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import ResourceError
from stoker.generate.draft import Ignored
from stoker.generate.prometheus import (
    NOTHING_ADDITIONAL,
    Additional,
    Fragment,
    Frame,
    Reads,
    agent_frame,
    fragment,
    kinds_of,
    server_frame,
    whole_text,
)
from stoker.ref import Ref, ref_of
from stoker.roles import RESOURCES
from stoker.select.assets import Assets
from stoker.select.workload import Scraper


class Resources(Struct, frozen=True, kw_only=True):
    """The configuration resources that a workload has selected and accepted, by key."""

    service_monitors: Mapping[str, ServiceMonitor] = {}
    pod_monitors: Mapping[str, PodMonitor] = {}
    probes: Mapping[str, Probe] = {}
    scrape_configs: Mapping[str, ScrapeConfig] = {}


class Configuration(Struct, frozen=True):
    """A whole configuration, and what its reader must know.

    `ignored` and `rejected` are by resource, the workload's own under a name of nothing.
    """

    text: str
    ignored: dict[Ref, tuple[Ignored, ...]] = {}
    rejected: dict[Ref, ResourceError] = {}
    reads: Reads = {}


def server_config(
    workload: Scraper,
    resources: Resources,
    assets: Assets,
    additional: Additional = NOTHING_ADDITIONAL,
    rule_config_maps: Sequence[str] = (),
) -> Configuration:
    """The configuration of a Prometheus server."""
    frame = server_frame(workload, assets, additional, rule_config_maps)
    return _joined(frame, _fragments(workload, resources, assets))


def agent_config(
    workload: Scraper,
    resources: Resources,
    assets: Assets,
    additional: Additional = NOTHING_ADDITIONAL,
) -> Configuration:
    """The configuration of a Prometheus agent; on every node, only what has a node is scraped."""
    frame = agent_frame(workload, assets, additional)
    return _joined(frame, _fragments(workload, resources, assets))


def _fragments(
    workload: Scraper, resources: Resources, assets: Assets
) -> Iterator[tuple[Ref, Fragment]]:
    for kind in kinds_of(workload):
        for _, resource in sorted(getattr(resources, f"{RESOURCES[kind].selector}s").items()):
            yield ref_of(resource), fragment(resource, workload, assets)


def _joined(frame: Frame, fragments: Iterator[tuple[Ref, Fragment]]) -> Configuration:
    texts: list[str] = []
    ignored = {Ref("", "", ""): frame.ignored}
    rejected = {}
    reads = dict(frame.reads)
    for key, part in fragments:
        texts.append(part.text)
        ignored[key] = part.ignored
        reads |= part.reads
        if part.problem:
            rejected[key] = part.problem
    noticed = {key: fields for key, fields in ignored.items() if fields}
    return Configuration(whole_text(frame, texts), noticed, rejected, reads)
