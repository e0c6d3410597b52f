"""How targets are divided among the shards of a workload.

By default the hash of a target's address, modulo the number of shards, names its shard. In
topology mode the target's zone comes first: each zone has its share of the shards, and the hash
chooses among those. A target can be exempt with `__tmp_disable_sharding`, or set the value that is
hashed, or its zone, in `__tmp_hash` and `__tmp_topology`. The reloader puts each pod's own numbers
in place of `$(SHARD)`, `$(INZONE_SHARD)` and `$(TOPOLOGY_ZONE)`. A DaemonSet divides targets by
node instead.
"""

from functools import lru_cache
from typing import Any, Final

from stoker.generate.block import Block, Constant
from stoker.generate.draft import ScraperDraft
from stoker.select.workload import Scraper

ADDRESS: Final = "__address__"
PROBED: Final = "__param_target"

_ZONE: Final = "topology_kubernetes_io_zone"
_CURRENT_SHARD: Final = {
    "target_label": "__tmp_current_shard",
    "replacement": "$(SHARD)",
    "action": "replace",
}


def _first_of(label: str, chosen: str, regex: str) -> Block:
    """A step that fills a label that is still empty."""
    return Constant(
        {
            "source_labels": [*label.split(), chosen],
            "target_label": chosen,
            "regex": regex,
            "replacement": "$1",
            "action": "replace",
        }
    )


def _kept(chosen: str, mine: str) -> Block:
    return Constant(
        {
            "source_labels": [chosen, "__tmp_disable_sharding"],
            "regex": f"{mine};|.+;.+",
            "action": "keep",
        }
    )


def _zone_of(kind: str) -> Block:
    labels = f"__meta_kubernetes_{kind}_label_{_ZONE} __meta_kubernetes_{kind}_labelpresent_{_ZONE}"
    return _first_of(labels, "__tmp_topology", "(.+);true;")


_ZONE_OF_ENDPOINT: Final = _first_of(
    "__meta_kubernetes_endpointslice_endpoint_zone", "__tmp_topology", "(.+);"
)
_ZONE_OF_POD: Final = _zone_of("pod")
_ZONE_OF_NODE: Final = _zone_of("node")
_KEEP_ZONE: Final = _kept("__tmp_topology", "$(TOPOLOGY_ZONE)")
_KEEP_SHARD: Final = _kept("__tmp_hash", "$(SHARD)")
_KEEP_SHARD_OF_ZONE: Final = _kept("__tmp_hash", "$(INZONE_SHARD)")
_HASHED: Final = {label: _first_of(label, "__tmp_hash", "(.+);") for label in (ADDRESS, PROBED)}


def shard_count(scraper: Scraper) -> int:
    """The number of shards, at least one."""
    return max(scraper.spec.shards or 1, 1)


def zones(scraper: Scraper) -> tuple[str, ...]:
    """The zones that shards are spread over; none unless the workload shards by topology."""
    strategy = scraper.spec.sharding_strategy
    if not scraper.capabilities.topology_sharding or not strategy:
        return ()
    if strategy.mode != "Topology" or not strategy.topology:
        return ()
    return strategy.topology.values or ()


def needs_node_metadata(scraper: Scraper) -> bool:
    """Whether a pod's zone can only be found at its node."""
    return bool(zones(scraper)) and not scraper.capabilities.pod_topology_labels


def sharding_steps(
    draft: ScraperDraft, hashed: str = ADDRESS, *, zoned: bool = True
) -> list[Block]:
    """Steps that leave a shard the targets that are its own.

    `hashed` is the label that identifies a target. What has no zone of its own, such as a probed
    URL, is not `zoned`: it is divided among all shards, or no zone would take it.
    """
    scraper = draft.scraper
    if scraper.daemon_set:
        return []
    shards = shard_count(scraper)
    steps = _only_active(shards) if scraper.capabilities.shard_retention else []
    places = len(zones(scraper)) if zoned else 0
    if not places:
        return [*steps, _HASHED[hashed], _modulo(shards), _KEEP_SHARD]
    zone = _ZONE_OF_POD if scraper.capabilities.pod_topology_labels else _ZONE_OF_NODE
    # Left-over shards of an uneven division stay idle: rounding up would lose targets.
    each = _modulo(max(shards // places, 1))
    return [
        *steps, _ZONE_OF_ENDPOINT, zone, _KEEP_ZONE, _HASHED[hashed], each, _KEEP_SHARD_OF_ZONE
    ]  # fmt: skip


@lru_cache(maxsize=1024)
def _modulo(shards: int) -> Block:
    return Constant(
        {
            "source_labels": ["__tmp_hash"],
            "target_label": "__tmp_hash",
            "modulus": shards,
            "action": "hashmod",
        }
    )


@lru_cache(maxsize=1024)
def _only_active(shards: int) -> list[Block]:
    """Steps for shards that were scaled away but live on to answer queries: they scrape nothing."""
    active = "|".join(map(str, range(shards)))
    keep = {"source_labels": ["__tmp_current_shard"], "regex": active, "action": "keep"}
    return [_CURRENT_SHARD, Constant(keep)]


def divided(steps: list[Any], draft: ScraperDraft) -> list[Any]:
    """A user's own steps, and those that divide targets among shards, unless theirs do that.

    Nothing is divided where there is one shard and none that was scaled away can live on.
    """
    own = any(isinstance(step, dict) and depends_on_shard(step.get("regex")) for step in steps)
    if own or not _has_shards(draft.scraper):
        return steps
    return [*steps, *sharding_steps(draft, zoned=False)]


def _has_shards(scraper: Scraper) -> bool:
    policy = getattr(scraper.spec, "shard_retention_policy", None)
    retained = policy is not None and policy.when_scaled == "Retain"
    return shard_count(scraper) > 1 or (scraper.capabilities.shard_retention and retained)


def depends_on_shard(regex: object) -> bool:
    """Whether a step with this expression depends on the shard that runs it."""
    return "SHARD)" in str(regex)
