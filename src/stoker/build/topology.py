"""Where the pods of a shard run: their zone, their nodes, and how they spread over them.

With sharding by topology, shards take the zones in turn: with zones a and b, shard 0 is the first
of a, shard 1 the first of b, shard 2 the second of a.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from stoker.api.core import Object
from stoker.api.prometheus_common import SpreadConstraint
from stoker.build.names import selector_labels
from stoker.build.plain import plain
from stoker.errors import WorkloadError
from stoker.generate.sharding import zones
from stoker.select.workload import Scraper

ZONE: Final = "topology.kubernetes.io/zone"


def zone_of(scraper: Scraper, shard: int) -> str:
    """The zone that a shard is for; empty unless the workload shards by topology."""
    places = zones(scraper)
    return places[shard % len(places)] if places else ""


def shard_in_zone(scraper: Scraper, shard: int) -> int:
    """The number of a shard among those of its zone; its own number where there are no zones."""
    return shard // max(len(zones(scraper)), 1)


def node_selector(scraper: Scraper, shard: int | None) -> dict[str, str]:
    """The labels of nodes that the pods may run on: the user's, and the zone of the shard."""
    own = dict(scraper.spec.node_selector or {})
    zone = "" if shard is None else zone_of(scraper, shard)
    return own | {ZONE: zone} if zone else own


def spread_constraints(
    scraper: Scraper, shard: int | None, flags: Mapping[str, str]
) -> list[Object]:
    """How pods spread over nodes, with the labels that the user asks to be filled in.

    `flags` are the labels that the operator's flags put on everything. WorkloadError for two that
    Kubernetes does not tell apart.
    """
    constraints = scraper.spec.topology_spread_constraints or ()
    refuse_twice([(one.topology_key, one.when_unsatisfiable) for one in constraints])
    return [_constraint(one, scraper, shard, flags) for one in constraints]


def refuse_twice(keys: Sequence[tuple[str | None, str | None]]) -> None:
    """WorkloadError for a constraint with the topology and the consequence of one before it."""
    for index, key in enumerate(keys):
        if key in keys[:index]:
            path = f"spec.topologySpreadConstraints[{index}]"
            reason = "an entry before it has the same `topologyKey` and `whenUnsatisfiable`"
            raise WorkloadError(path, reason)


def _constraint(
    given: SpreadConstraint, scraper: Scraper, shard: int | None, flags: Mapping[str, str]
) -> Object:
    made: Object = plain(given)
    added = made.pop("additionalLabelSelectors", None)
    if added:
        own = selector_labels(scraper, shard if added == "OnShard" else None, flags)
        selector = made.setdefault("labelSelector", {})
        selector["matchLabels"] = (selector.get("matchLabels") or {}) | own
    return made
