"""Which targets an agent on nodes reaches: those on nodes where it has a pod.

The node of a target is that of its endpoint, else that of its pod. A target that has neither is
scraped by no agent on nodes, whichever nodes there are. Where only a template says which pods there
will be, the nodes that fit it are compared.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.errors import WorkloadError
from stoker.explain.answer import PortMatch, Search, Unreached
from stoker.plan.nodes import placing_of
from stoker.select.nodes import Placing, absence, coverage, few_of, without_pods
from stoker.select.workload import AnyPrometheus
from stoker.targets.objects import Node
from stoker.view.listing import Listing
from stoker.view.objects import PodGroup
from stoker.view.view import View
from stoker.view.wording import counted

NO_NODE: Final = "no node is named, and an agent on nodes scrapes only what is on its own"
_NO_NODES: Final = "there are no nodes"
_MOST_TOLD: Final = 3


class Spot(Struct, frozen=True):
    """Where addresses are that are alike: each on one of `nodes`, "" for one that names none.

    Without `nodes`, `pods` tells where they may be. `names` are what is there.
    """

    nodes: tuple[str, ...] | None
    names: tuple[str, ...] = ()
    pods: PodGroup | None = None


def spot_of(group: PodGroup) -> Spot:
    """Where pods are."""
    return Spot(group.nodes, (group.title,), group)


class Reach(Struct, frozen=True):
    """The nodes on which an agent has pods; `unknown` says why it may be others, or all.

    `without` are the nodes that have none, and why.
    """

    nodes: dict[str, Node]
    without: dict[str, str]
    unknown: str = ""

    def why_not(self, node: str) -> str:
        """Why targets on a node are not scraped, in a sentence; empty if they are, or may be."""
        if not node:
            return NO_NODE
        if not self.unknown and node not in self.nodes:
            return f"there is no node {node}"
        why = self.without.get(node)
        return f"node {node} {why}" if why else ""

    @property
    def words(self) -> str:
        """On how many nodes there is an agent, and why not on the others."""
        return coverage(len(self.nodes), self.without)


def reach_of(view: View, scraper: AnyPrometheus) -> Reach | None:
    """The nodes on which a workload has pods; None for one that scrapes from anywhere."""
    if getattr(scraper.spec, "mode", None) != "DaemonSet":
        return None
    nodes = view.surroundings.nodes()
    kept = view.reaches.get(id(scraper))
    if kept is None or kept[0] is not nodes:
        # Beside what it is made from, which must stay as long as its number is used.
        kept = view.reaches[id(scraper)] = (nodes, _reach(view, scraper, nodes), scraper)
    found: Reach = kept[1]
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


# --- Counting -------------------------------------------------------------------------------------


class Share(Struct, frozen=True):
    """How many targets are scraped, None where nobody can tell, and which surely are not.

    `perhaps` says why some may not be.
    """

    targets: int | None
    unreached: tuple[Unreached, ...] = ()
    perhaps: str = ""


def share(reach: Reach | None, each: int, count: int | None, spot: Spot) -> Share:
    """What of `count` addresses, each so many targets, is scraped."""
    everything = Share(None if each and count is None else each * (count or 0))
    if reach is None or not each or not count:
        return everything
    if spot.nodes is None:
        return _share_of_pods(reach, each * count, spot, everything)
    lost: dict[str, int] = {}
    for node in spot.nodes:
        if reach.why_not(node):
            lost[node] = lost.get(node, 0) + each
    unreached = tuple(
        Unreached(node=node, why=reach.why_not(node), targets=number, names=spot.names)
        for node, number in lost.items()
    )
    return Share(each * len(spot.nodes) - sum(lost.values()), unreached)


def _share_of_pods(reach: Reach, targets: int, spot: Spot, everything: Share) -> Share:
    """The same for pods that may be on several nodes."""
    if reach.unknown or spot.pods is None:
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
    )


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
    """A search with what is not reached of all ports, and why that may not be known."""
    if reach is None:
        return search
    found = list(ports)
    perhaps = dict.fromkeys(each.perhaps for each in found if each.perhaps)
    return replace(
        search,
        unreached=merged(one for each in found for one in each.unreached),
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


def _of(each: Unreached) -> str:
    """What is meant, where no node tells it."""
    return "" if each.node else f" ({few_of(list(each.names))})"
