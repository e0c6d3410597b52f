"""Who scrapes what once an agent has changed its mode.

The unit is the resource (a monitor, a Probe, a ScrapeConfig): workloads that take the same one
scrape the same targets. That two different monitors lead to the same pods cannot be seen without
the pods.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgent
from stoker.offline.migration.fields import DAEMON_SET, spec_of
from stoker.offline.migration.nodes import share_a_node
from stoker.offline.world import World, placed
from stoker.ref import ref_of
from stoker.select.choice import Monitor, choices, chosen
from stoker.select.workload import AnyPrometheus

_ON_NODES: Final = {DAEMON_SET}


class Overlap(Struct, frozen=True):
    """Another workload that takes some of the same resources."""

    workload: str
    resources: tuple[str, ...]


def agent_of(manifest: Object) -> PrometheusAgent:
    """A manifest as an agent, as a cluster would read it; DecodeError where it cannot."""
    given = manifest.get("metadata") or {}
    metadata = placed(given) if isinstance(given, dict) else given
    spec = {name: value for name, value in spec_of(manifest).items() if value is not None}
    return convert(PrometheusAgent, {"metadata": metadata, "spec": spec})


def taken(scraper: AnyPrometheus, world: World) -> dict[str, Monitor]:
    """What a workload scrapes, by kind, namespace and name."""
    wanted = choices(scraper)
    monitors = [each for each in world.resources if isinstance(each, Monitor)]
    return {title(each): each for each in chosen(wanted, monitors, world.namespaces)}


def title(found: AnyPrometheus | Monitor) -> str:
    """Kind, namespace and name."""
    return str(ref_of(found))


def overlaps(agent: PrometheusAgent, world: World) -> tuple[Overlap, ...]:
    """The other workloads that scrape some of what this agent does, in its new mode."""
    own = taken(agent, world)
    found = []
    for other in _others(agent, world):
        both = own.keys() & taken(other, world).keys()
        if both and not _on_other_nodes(agent, other, world):
            found.append(Overlap(title(other), tuple(sorted(both))))
    return tuple(found)


def homeless(
    before: PrometheusAgent,
    after: PrometheusAgent,
    world: World,
    beside: Iterable[AnyPrometheus] = (),
) -> tuple[str, ...]:
    """What the agent scraped and nobody will: not itself in its new mode, nor anybody else."""
    left = dict.fromkeys(taken(before, world))
    for scraper in (after, *_others(before, world), *beside):
        for name in taken(scraper, world):
            left.pop(name, None)
    return tuple(left)


def takers(
    agent: PrometheusAgent, world: World, beside: Iterable[AnyPrometheus] = ()
) -> dict[str, tuple[Monitor, list[AnyPrometheus]]]:
    """What an agent takes, by kind, namespace and name, each with all that take it."""
    found: dict[str, tuple[Monitor, list[AnyPrometheus]]] = {
        name: (monitor, [agent]) for name, monitor in taken(agent, world).items()
    }
    for scraper in (*_others(agent, world), *beside):
        for name in taken(scraper, world).keys() & found.keys():
            found[name][1].append(scraper)
    return found


def _others(agent: PrometheusAgent, world: World) -> Iterable[AnyPrometheus]:
    scrapers = (each for each in world.workloads if isinstance(each, AnyPrometheus))
    return (each for each in scrapers if title(each) != title(agent))


def _on_other_nodes(first: PrometheusAgent, second: AnyPrometheus, world: World) -> bool:
    """Whether both run on nodes, and none has both: each has targets of its own."""
    if not isinstance(second, PrometheusAgent) or {first.spec.mode, second.spec.mode} != _ON_NODES:
        return False
    return not share_a_node(first, second, world)
