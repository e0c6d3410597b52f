"""Which targets an agent on nodes reaches: those on nodes where it has a pod.

The node of a target is that of its endpoint, else that of its pod. A target that has neither is
scraped by no agent on nodes, whichever nodes there are, unless such targets are given to agents:
then the answer says to which, as the operator decides it. Where only a template says which pods
there will be, the nodes that fit it are compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.errors import WorkloadError
from stoker.explain.agents import ready_agents
from stoker.explain.answer import AgentShare, PortMatch, Search, Unreached
from stoker.plan.nodes import placing_of
from stoker.portions.rendezvous import highest, numbers
from stoker.select.nodes import Placing, absence, coverage, few_of, without_pods
from stoker.select.workload import AnyPrometheus, Scraper, scraper_of
from stoker.targets.objects import Node, Pod
from stoker.view.listing import Listing
from stoker.view.objects import PodGroup
from stoker.view.view import View
from stoker.view.wording import counted

NO_NODE: Final = "no node is named, and an agent on nodes scrapes only what is on its own"
NO_TAKER: Final = "no agent is ready that they could be given to"
_NO_NODES: Final = "there are no nodes"
_MOST_TOLD: Final = 3


class Spot(Struct, frozen=True):
    """Where addresses are that are alike: each on one of `nodes`, "" for one that names none.

    Without `nodes`, `pods` tells where they may be. `names` are what is there, `strays` as what
    each address is given to an agent; empty where that is not known.
    """

    nodes: tuple[str, ...] | None
    names: tuple[str, ...] = ()
    pods: PodGroup | None = None
    strays: tuple[str, ...] = ()


def spot_of(group: PodGroup) -> Spot:
    """Where pods are."""
    strays = (group.title,) if isinstance(group.made_of, Pod) else ()
    return Spot(group.nodes, (group.title,), group, strays)


class Reach(Struct, frozen=True):
    """The nodes on which an agent has pods; `unknown` says why it may be others, or all.

    `without` are the nodes that have none, and why. With `spread`, what is there, or nowhere, is
    given to `takers` (`numbers`); `unsure` says why these may be others.
    """

    nodes: dict[str, Node]
    without: dict[str, str]
    unknown: str = ""
    spread: bool = False
    takers: Mapping[str, int] = {}
    unsure: str = ""

    def why_not(self, node: str) -> str:
        """Why no agent is where targets are, in a sentence; empty if one is, or may be."""
        if node and node in self.takers:
            return ""
        if not node:
            return NO_NODE
        if not self.unknown and node not in self.nodes:
            return f"there is no node {node}"
        why = self.without.get(node)
        return f"node {node} {why}" if why else ""

    def taker(self, stray: str) -> str:
        """The node whose agent is given a stray; "" where that is not known."""
        known = stray and not self.unknown and not self.unsure
        return highest(stray, self.takers) if known else ""

    @property
    def is_without_takers(self) -> bool:
        """Whether surely no agent is ready."""
        return not self.takers and not self.unknown and not self.unsure

    @property
    def words(self) -> str:
        """On how many nodes there is an agent, and why not on the others."""
        return coverage(len(self.nodes), self.without)


def reach_of(view: View, scraper: AnyPrometheus) -> Reach | None:
    """The nodes on which a workload has pods; None for one that scrapes from anywhere."""
    if getattr(scraper.spec, "mode", None) != "DaemonSet":
        return None
    spread = scraper_of(scraper, view.capabilities).spread
    nodes = view.surroundings.nodes()
    pods = view.surroundings.pods(scraper.metadata.namespace) if spread else None
    kept = view.reaches.get(id(scraper))
    if kept is None or kept[0] is not nodes or kept[1] is not pods:
        # Beside what it is made from, which must stay as long as its number is used.
        reach = _reach(view, scraper, nodes)
        if pods is not None:
            reach = _spread(view, scraper, reach, pods)
        kept = view.reaches[id(scraper)] = (nodes, pods, reach, scraper)
    found: Reach = kept[2]
    return found


def _reach(view: View, scraper: AnyPrometheus, nodes: Listing[Node]) -> Reach:
    unknown = nodes.unknown
    placing: Placing | None = None
    try:
        placing = placing_of(scraper, view.capabilities, view.settings.objects)
    except WorkloadError as error:
        unknown = str(error)
    if placing is None or unknown:
        return Reach({}, {}, unknown)
    return Reach({each.name: each for each in nodes.items}, without_pods(placing, nodes.items))


def _spread(view: View, scraper: AnyPrometheus, reach: Reach, pods: Listing[PodGroup]) -> Reach:
    """The same for an agent that is given what is on no node of its own."""
    homes = [name for name in reach.nodes if name not in reach.without]
    ready = ready_agents(pods.items, scraper_of(scraper, view.capabilities))
    if ready is None and view.at_hand:
        # Manifests have no pods of agents: each that is meant to be there will be ready.
        return replace(reach, spread=True, takers=numbers(homes))
    there = [name for name in ready or () if reach.unknown or name in reach.nodes]
    return replace(reach, spread=True, takers=numbers(there), unsure=pods.unknown)


# --- Counting -------------------------------------------------------------------------------------


class Share(Struct, frozen=True):
    """How many targets are scraped, None where that is not known, and which surely are not.

    `perhaps` says why some might not be; `by_node` is which agent scrapes how many.
    """

    targets: int | None
    unreached: tuple[Unreached, ...] = ()
    perhaps: str = ""
    by_node: tuple[AgentShare, ...] = ()


def share(reach: Reach | None, each: int, count: int | None, spot: Spot) -> Share:
    """What of `count` addresses, each so many targets, is scraped."""
    everything = Share(None if each and count is None else each * (count or 0))
    if reach is None or not each or not count:
        return everything
    if spot.nodes is None:
        return _share_of_pods(reach, each * count, spot, everything)
    strays = spot.strays or ("",) * len(spot.nodes)
    lost: dict[str, int] = {}
    by_node: list[AgentShare] = []
    for node, stray in zip(spot.nodes, strays, strict=True):
        if not reach.why_not(node):
            by_node.append(AgentShare(node=node, targets=each))
        elif reach.spread and not reach.is_without_takers:
            names = (stray,) if stray else spot.names
            taker = reach.taker(stray)
            by_node.append(AgentShare(node=taker, targets=each, given=each, names=names))
        else:
            lost[node] = lost.get(node, 0) + each
    unreached = tuple(
        Unreached(node=node, why=_why(reach, node), targets=number, names=spot.names)
        for node, number in lost.items()
    )
    left = each * len(spot.nodes) - sum(lost.values())
    return Share(left, unreached, by_node=scraped_together(by_node))


def _why(reach: Reach, node: str) -> str:
    return f"{reach.why_not(node)}; {NO_TAKER}" if reach.spread else reach.why_not(node)


def _share_of_pods(reach: Reach, targets: int, spot: Spot, everything: Share) -> Share:
    """The same for pods that may be on several nodes."""
    if reach.unknown or spot.pods is None or (reach.spread and not reach.is_without_takers):
        return everything
    pods = spot.pods.placing
    fitting = [name for name, node in reach.nodes.items() if not absence(pods, node, daemon=False)]
    lost = [name for name in fitting if name in reach.without]
    if not lost:
        return everything
    why = f"node {lost[0]} {reach.without[lost[0]]}"
    if len(lost) < len(fitting):
        told = f"pods of {spot.pods.title} on {few_of(lost)} are not scraped: {why}"
        return Share(None, perhaps=told)
    told = f"its pods can only be on {few_of(lost)}, without an agent: {why}"
    return Share(0, (Unreached(node="", why=told, targets=targets, names=spot.names),))


def together(shares: Iterable[Share]) -> Share:
    """Several shares as one."""
    found = list(shares)
    known = [each.targets for each in found if each.targets is not None]
    return Share(
        sum(known) if len(known) == len(found) else None,
        merged(one for each in found for one in each.unreached),
        next((each.perhaps for each in found if each.perhaps), ""),
        scraped_together(one for each in found for one in each.by_node),
    )


def scraped_together(several: Iterable[AgentShare]) -> tuple[AgentShare, ...]:
    """Those of an agent together, in the order of nodes."""
    found: dict[str, AgentShare] = {}
    for each in several:
        before = found.get(each.node, AgentShare(node=each.node, targets=0))
        found[each.node] = AgentShare(
            node=each.node,
            targets=before.targets + each.targets,
            given=before.given + each.given,
            names=tuple(dict.fromkeys((*before.names, *each.names))),
        )
    return tuple(found[name] for name in sorted(found))


def merged(several: Iterable[Unreached]) -> tuple[Unreached, ...]:
    """Those of a node together, with all names."""
    found: dict[tuple[object, ...], Unreached] = {}
    for each in several:
        key = place_of(each)
        before = found.get(key)
        if before is None:
            found[key] = each
            continue
        names = tuple(dict.fromkeys((*before.names, *each.names)))
        found[key] = replace(before, targets=before.targets + each.targets, names=names)
    return tuple(found.values())


def place_of(each: Unreached) -> tuple[object, ...]:
    """What tells targets from others, whichever workload does not scrape them."""
    return (each.node,) if each.node or each.why == NO_NODE else each.names


def sure_of(search: Search, reach: Reach | None, ports: Iterable[PortMatch]) -> Search:
    """A search with what is not reached of all ports, and why that might not be known."""
    if reach is None:
        return search
    found = list(ports)
    perhaps = dict.fromkeys(each.perhaps for each in found if each.perhaps)
    return replace(
        search,
        unreached=merged(one for each in found for one in each.unreached),
        by_node=scraped_together(one for each in found for one in each.by_node),
        unsure=reach.unknown or ("" if reach.nodes else _NO_NODES),
        notes=(*search.notes, *perhaps),
    )


# --- In words -------------------------------------------------------------------------------------


def scraped_by_nobody(searches: Sequence[Search]) -> tuple[Unreached, ...]:
    """What none of some workloads reaches."""
    if not searches:
        return ()
    both = set.intersection(*({place_of(one) for one in each.unreached} for each in searches))
    return tuple(one for one in searches[0].unreached if place_of(one) in both)


def unreached_words(unreached: Iterable[Unreached]) -> str:
    """How many targets are where, and why they are not scraped."""
    found = sorted(unreached, key=lambda each: -each.targets)
    told = [f"{counted(each.targets, 'target')}{_of(each)}: {each.why}" for each in found]
    rest = found[_MOST_TOLD:]
    if rest:
        number = sum(each.targets for each in rest)
        told[_MOST_TOLD:] = [f"and {number} more on {counted(len(rest), 'node')}"]
    return "; ".join(told)


def strays_words(scraper: Scraper) -> str:
    """What becomes of targets that no agent is beside, where the operator finds them."""
    if scraper.spread:
        return "and gives those without an agent on their node to one of the others"
    return "and those without an agent on their node are nobody's"


def given_words(search: Search) -> str:
    """Which agents are given targets that are on no node of an agent; empty where none are."""
    found = [each for each in search.by_node if each.given]
    if not found:
        return ""
    number = sum(each.given for each in found)
    some = "" if number == search.targets else f"{number:,} of them "
    nodes = [each.node for each in found]
    if "" in nodes:
        return f"{some}given to agents, which is not known"
    return f"{some}given to the agent{'s' if len(nodes) > 1 else ''} on {few_of(nodes)}"


def _of(each: Unreached) -> str:
    """What is meant, where no node tells it."""
    return "" if each.node else f" ({few_of(list(each.names))})"
