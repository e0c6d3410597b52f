"""Rows and headlines of lists."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from stoker.build.sets import replicas_of
from stoker.explain.answer import Explanation
from stoker.explain.selecting import can_select, first_reason
from stoker.explain.workload import Tally, counts_of, headline_of
from stoker.generate.sharding import shard_count
from stoker.page.answers import Item, Items, Row, TargetNumbers
from stoker.page.index import Entry, PageSearch, SearchResult
from stoker.page.wellness import GOOD, PROBLEM, UNKNOWN
from stoker.page.workloads import ShownWorkload, told_by_status
from stoker.ref import ref_of
from stoker.select.choice import Resource
from stoker.select.workload import AnyPrometheus, Workload, scraper_of
from stoker.settings import Capabilities
from stoker.view.states import State, WhyNot, binding_of
from stoker.view.view import View

_MOST_REASONS: Final = 100
# In a list nobody reads why more workloads than these pass a resource over.
_MOST_ASKED: Final = 8


def row_of(view: View, shown: ShownWorkload, tally: Tally) -> Row:
    """A workload in a list."""
    workload, known = shown.workload, shown.known
    good, headline = headline_of(view, workload, tally)
    if good and not known:
        headline = "nobody has looked at it yet"
    return Row(
        kind=type(workload).__name__,
        namespace=workload.metadata.namespace or "",
        name=workload.metadata.name or "",
        version=tally.version or workload.spec.version or "",
        state=PROBLEM if not good else GOOD if known and not shown.unclear else UNKNOWN,
        headline=headline,
        counts=counts_of(workload, tally),
        ready=_ready(workload),
    )


def _ready(workload: Workload) -> str:
    """How many pods work, of how many; empty where that is not known."""
    status = workload.status
    if status is None or status.available_replicas is None:
        return ""
    wanted = replicas_of(workload.spec)
    if isinstance(workload, AnyPrometheus):
        scraper = scraper_of(workload, Capabilities())
        wanted = 0 if scraper.daemon_set else wanted * shard_count(scraper)
    return f"{status.available_replicas}/{max(wanted, status.replicas or 0)}"


def bounded(explanation: Explanation) -> Explanation:
    """An explanation of a workload without the reasons that nobody reads: a list has them all."""
    more = len(explanation.rejected) - _MOST_REASONS
    if more <= 0:
        return explanation
    note = f"{more:,} more are rejected; the list below has all of them"
    return replace(
        explanation,
        rejected=explanation.rejected[:_MOST_REASONS],
        notes=(*explanation.notes, note),
    )


# --- Resources ------------------------------------------------------------------------------------


def items_of(revision: int, query: PageSearch, found: SearchResult, items: Iterable[Item]) -> Items:
    """A part of a list."""
    return Items(
        revision=revision,
        total=found.total,
        offset=query.offset,
        items=tuple(items),
        states=found.states,
        kinds=found.kinds,
        namespaces=found.namespaces,
    )


def item_of(
    view: View,
    entry: Entry,
    resource: Resource | None,
    users: Iterable[ShownWorkload],
    workload: str,
) -> Item:
    """A resource in a list, for one workload or (without) for all."""
    state, concerned = entry.state_for(workload), list(users)
    return Item(
        kind=entry.ref.kind,
        namespace=entry.ref.namespace,
        name=entry.ref.name,
        state=state,
        headline=_headline(view, state, resource, concerned, workload) if resource else "",
        workloads=entry.workloads,
        ignored=entry.ignored,
        targets=_scraped(resource, concerned, workload) if resource else None,
    )


def unseen_item(entry: Entry, resource: Resource, unseen: str) -> Item:
    """A resource in a list of which no workload is seen that might select it."""
    told = told_by_status(resource)
    why = f"whether a workload selects it is not known: {unseen}" if told is None else told[1]
    return Item(
        kind=entry.ref.kind,
        namespace=entry.ref.namespace,
        name=entry.ref.name,
        state=entry.state,
        headline=why,
    )


def _scraped(
    resource: Resource, users: Iterable[ShownWorkload], workload: str
) -> TargetNumbers | None:
    """The targets that the status of a resource counts, of one workload or of all together."""
    asked = (each.workload for each in users if not workload or each.title == workload)
    bindings = (binding_of(user, resource) for user in asked)
    found = [each.targets for each in bindings if each and each.targets]
    if not found:
        return None
    return TargetNumbers(
        discovered=sum(each.discovered for each in found),
        healthy=sum(each.healthy for each in found),
    )


def _headline(
    view: View, state: State, resource: Resource, users: list[ShownWorkload], workload: str
) -> str:
    """The first reason why it is not used, or to no avail."""
    if state is State.USED:
        return ""
    if state is State.NOT_SELECTED:
        able = [each for each in view.workloads if not workload or str(ref_of(each)) == workload]
        return why_not(view, resource, able)
    for each in users:
        made, reason = each.made_of(resource)
        if made is state and (not workload or each.title == workload):
            return reason if workload else f"{each.title}: {reason}"
    return ""


def why_not(view: View, resource: Resource, workloads: Iterable[Workload]) -> str:
    """Why the nearest of some workloads does not select a resource."""
    kind, near = type(resource).__name__, resource.metadata.namespace
    able = [each for each in workloads if can_select(kind, type(each))]
    able.sort(key=lambda each: (each.metadata.namespace != near, str(ref_of(each))))
    told: tuple[int, Workload, WhyNot] | None = None
    for workload in able[:_MOST_ASKED]:
        passed, reason = first_reason(view, workload, resource)
        if reason and (told is None or passed > told[0]):
            told = passed, workload, reason
    if told is None:
        return "there is no workload that could select it"
    return f"{ref_of(told[1])}: {told[2].text}"
