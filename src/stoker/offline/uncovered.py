"""Agents on nodes among manifests, and the Nodes beside them that have none of their pods."""

from collections.abc import Iterable, Iterator

from stoker.api.decode import convert
from stoker.errors import DecodeError, WorkloadError
from stoker.offline.manifests import Manifest
from stoker.offline.migration.targets import agent_of
from stoker.offline.problems import NODES_NOT_COVERED, Problem
from stoker.plan.nodes import placing_of
from stoker.select.nodes import left_out, without_pods
from stoker.select.workload import scraper_of
from stoker.settings import Capabilities, ObjectSettings
from stoker.targets.objects import Node


def without_agents(
    agents: Iterable[Manifest], nodes: Iterable[Manifest]
) -> Iterator[tuple[Manifest, Problem]]:
    """Each agent on nodes, if no agent at all is on some of them, and why that one is not."""
    known = list(_nodes(nodes))
    placed = list(_placed(agents, known))
    everybody = [set(without) for _, without in placed]
    nobody = set.intersection(*everybody) if everybody else set()
    for manifest, without in placed if nobody else ():
        left = left_out({name: why for name, why in without.items() if name in nobody})
        told = f"of {len(known)} nodes here, no agent is on {left}"
        yield manifest, Problem("spec", NODES_NOT_COVERED, told, warning=True)


def _placed(
    agents: Iterable[Manifest], nodes: list[Node]
) -> Iterator[tuple[Manifest, dict[str, str]]]:
    """The agents on nodes, with the nodes of which nobody has what is there."""
    for each in agents:
        try:
            agent = agent_of(each.object)
            placing = placing_of(agent, Capabilities(), ObjectSettings())
        except (DecodeError, WorkloadError):
            # Reported elsewhere.
            continue
        if placing:
            without = without_pods(placing, nodes)
            shared = scraper_of(agent, Capabilities()).spread and len(without) < len(nodes)
            yield each, {} if shared else without


def _nodes(manifests: Iterable[Manifest]) -> Iterator[Node]:
    for each in manifests:
        try:
            yield convert(Node, each.object)
        except DecodeError:
            # As a cluster would: it is none.
            continue
