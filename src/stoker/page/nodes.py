"""The nodes of an agent that runs on nodes: where it is, what is there, and what nobody covers."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from stoker.explain.reach import NO_NODE, Reach, reach_of
from stoker.explain.targets import search_of
from stoker.page.answers import NodesAnswer, NodeShare
from stoker.page.desk import Desk
from stoker.page.workloads import ShownWorkload
from stoker.ref import Ref
from stoker.select.workload import AnyPrometheus, scraper_of

_MOST_RESOURCES: Final = 300
_NOT_ALL: Final = f"only the first {_MOST_RESOURCES} resources are counted"


def nodes_of(desk: Desk, shown: ShownWorkload) -> NodesAnswer:
    """Every node with its targets, those first where they are not scraped."""
    workload = shown.workload
    reach = reach_of(desk.view, workload) if isinstance(workload, AnyPrometheus) else None
    if reach is None or not isinstance(workload, AnyPrometheus):
        return NodesAnswer(revision=desk.revision, agent=False)
    used = desk.index.used_by(shown.title)
    counts, adrift = _counted(desk, workload, reach, used[:_MOST_RESOURCES])
    unknown = reach.unknown or (_NOT_ALL if len(used) > _MOST_RESOURCES else "")
    shares = [
        NodeShare(node=name, why_not=reach.without.get(name, ""), targets=counts[name])
        for name in reach.nodes
    ]
    lost = [
        NodeShare(node=name, why_not="there is no such node", targets=number)
        for name, number in counts.items()
        if name not in reach.nodes
    ]
    return NodesAnswer(
        revision=desk.revision,
        agent=True,
        nodes=tuple(sorted([*shares, *lost], key=_order)),
        adrift=adrift,
        unknown=unknown,
    )


def _order(share: NodeShare) -> tuple[bool, bool, str]:
    return (not (share.why_not and share.targets), not share.why_not, share.node)


def _counted(
    desk: Desk, workload: AnyPrometheus, reach: Reach, used: Iterable[Ref]
) -> tuple[Counter[str], int]:
    """How many targets are on each node, and how many name none."""
    # Only of what is not reached is it said where it is: so for once nothing is.
    nowhere = Reach(reach.nodes, dict.fromkeys(reach.nodes, "is asked about"))
    view, scraper = replace(desk.view, reaches={}), scraper_of(workload, desk.view.capabilities)
    counts: Counter[str] = Counter()
    adrift = 0
    for ref in used:
        resource = desk.find(ref)
        search = search_of(view, resource, scraper, nowhere) if resource else None
        for each in search.unreached if search else ():
            counts[each.node] += each.targets
            adrift += each.targets if each.why == NO_NODE else 0
    # Pods that only a template tells of are on nodes that nobody knows yet.
    del counts[""]
    return counts, adrift
