"""On which nodes an agent will be, which targets that leaves out, and whom it meets there."""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.prometheus import PrometheusAgent
from stoker.errors import WorkloadError
from stoker.explain.answer import Unreached
from stoker.explain.reach import Reach, merged, place_of, reach_of, scraped_by_nobody
from stoker.explain.targets import search_of
from stoker.offline.surroundings import view_of
from stoker.offline.world import World
from stoker.plan.nodes import placing_of
from stoker.select.choice import Monitor
from stoker.select.nodes import Placing, absence, never_meet
from stoker.select.workload import AnyPrometheus, scraper_of
from stoker.settings import SOME_OPERATOR, Capabilities, ObjectSettings
from stoker.targets.objects import Node
from stoker.view.view import View


class Lost(Struct, frozen=True):
    """Targets of some resources that nobody will scrape, as no agent is where they are."""

    node: str
    why: str
    targets: int
    names: tuple[str, ...]
    resources: tuple[str, ...]


class OnNodes(Struct, frozen=True):
    """What is known of an agent on nodes.

    `covers` says on how many nodes it is, `lost` which targets nobody will scrape. `doubt` says
    why there may be more of these than are known, where the agent is not on every node.
    """

    covers: str = ""
    lost: tuple[Lost, ...] = ()
    doubt: str = ""


def on_nodes(
    agent: PrometheusAgent, world: World, scrapers: dict[str, tuple[Monitor, list[AnyPrometheus]]]
) -> OnNodes:
    """What becomes of the targets of an agent that will be on nodes.

    `scrapers` are the resources that it takes, by their titles, each with all that will take it.
    """
    everybody = {id(each): each for _, takers in scrapers.values() for each in (agent, *takers)}
    view = view_of(replace(world, workloads=list(everybody.values())), SOME_OPERATOR)
    reach = reach_of(view, agent)
    if reach is None:
        return OnNodes()
    lost: list[tuple[str, Unreached]] = []
    for title, (monitor, takers) in scrapers.items():
        lost += ((title, each) for each in _unreached(view, monitor, takers))
    covers = "" if reach.unknown else reach.words
    return OnNodes(covers, tuple(_by_node(lost)), _doubt(view, agent, reach))


def _unreached(
    view: View, monitor: Monitor, takers: Iterable[AnyPrometheus]
) -> tuple[Unreached, ...]:
    found = (
        search_of(view, monitor, scraper_of(each, view.capabilities), reach_of(view, each))
        for each in takers
    )
    return scraped_by_nobody([each for each in found if each is not None])


def _by_node(lost: list[tuple[str, Unreached]]) -> Iterator[Lost]:
    for each in merged(one for _, one in lost):
        titles = [title for title, one in lost if place_of(one) == place_of(each)]
        yield Lost(each.node, each.why, each.targets, each.names, tuple(dict.fromkeys(titles)))


def _doubt(view: View, agent: PrometheusAgent, reach: Reach) -> str:
    if reach.unknown:
        placing = _placing(agent)
        if placing is None or not placing.is_choosy:
            return ""
        asked = "nodeSelector and affinity leave nodes out, and nobody will scrape what is there"
        return f"{asked}; which nodes these are is not known: {reach.unknown}"
    unseen = view.surroundings.pods(None).unknown
    if not reach.without or not unseen:
        return ""
    asked = "nobody will scrape what is on nodes without an agent"
    return f"{asked}; what that is, is not known: {unseen}"


# --- Agents that share nodes ----------------------------------------------------------------------


def share_a_node(first: PrometheusAgent, second: PrometheusAgent, world: World) -> bool:
    """Whether two agents on nodes are, or without knowing the nodes may be, on one of them both."""
    one, other = _placing(first), _placing(second)
    if one is None or other is None:
        return True
    nodes = [each for each in world.surroundings if isinstance(each, Node)]
    if nodes:
        return any(_is_on(one, node) and _is_on(other, node) for node in nodes)
    return not never_meet(one, other)


def _is_on(pods: Placing, node: Node) -> bool:
    away = absence(pods, node)
    return away is None or away.passing


def _placing(agent: PrometheusAgent) -> Placing | None:
    try:
        return placing_of(agent, Capabilities(), ObjectSettings())
    except WorkloadError:
        return None
