"""A monitor, Probe, ScrapeConfig, PrometheusRule or AlertmanagerConfig explained."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from stoker.api.kinds import WORKLOADS
from stoker.api.rules import PrometheusRule
from stoker.explain.access import access_of
from stoker.explain.answer import AccountRights, Explanation, Search, Usage
from stoker.explain.by_workload import by_workload
from stoker.explain.pruned import losses, misspelt
from stoker.explain.reach import (
    Reach,
    given_words,
    reach_of,
    scraped_by_nobody,
    strays_words,
    unreached_words,
)
from stoker.explain.remarks import remark
from stoker.explain.selecting import can_select
from stoker.explain.targets import search_of
from stoker.generate.fragments import jobs_of
from stoker.ref import ref_of
from stoker.select.choice import AlertmanagerConfig, Monitor, Resource
from stoker.select.workload import AnyPrometheus, Scraper, Workload, scraper_of
from stoker.view.masked import Masked
from stoker.view.reconciled import AT_REST, is_at_rest
from stoker.view.states import State
from stoker.view.view import View
from stoker.view.wording import counted


def explained(view: View, resource: Resource) -> Explanation:
    """Who selects a resource, what became of it, and which targets it has."""
    metadata = resource.metadata
    found = by_workload(view, resource)
    told = tuple(usage for _, usage in found)
    able = [(workload, each.selects) for workload, each in found if _is_able(view, workload)]
    selecting = [
        workload for workload, selects in able if selects and isinstance(workload, AnyPrometheus)
    ]
    # Where nobody selects it, what the nearest would find helps all the same.
    nearest = [workload for workload, _ in able if isinstance(workload, AnyPrometheus)][:1]
    searches = tuple(_searches(view, resource, selecting or nearest))
    if not selecting:
        searches = tuple(replace(each, workloads=()) for each in searches)
    access = tuple(_accesses(view, resource, selecting))
    # What a workload would find that does not take it up is not what happens.
    using = {each.workload for each in told if each.state is State.USED}
    found_by_users = tuple(each for each in searches if using.intersection(each.workloads))
    problem = (
        _deleting(resource)
        or _selection_problem(resource, told)
        or _nothing_runs(found)
        or _target_problem(found_by_users, [each for each in access if each.workload in using])
        or _unreached_problem(told, found_by_users)
        or _loss(view, resource)
        or _scrape_problem(told)
    )
    return Explanation(
        kind=type(resource).__name__,
        namespace=metadata.namespace or "",
        name=metadata.name or "",
        good=problem in ("", _unknown(told)),
        headline=problem or _summary(resource, told, found_by_users) + remark(resource, found),
        by_workload=told,
        searches=searches,
        access=access,
        job=_job(
            view,
            resource,
            [workload for workload, usage in found if usage.state is State.USED],
        ),
        notes=tuple(_notes(view, selecting)),
    )


# --- In one sentence ------------------------------------------------------------------------------


def _deleting(resource: Resource) -> str:
    metadata = resource.metadata
    if not metadata.deletion_timestamp:
        return ""
    waits = f", and waits for {', '.join(metadata.finalizers)}" if metadata.finalizers else ""
    return f"it is being deleted since {metadata.deletion_timestamp}{waits}"


def _selection_problem(resource: Resource, told: tuple[Usage, ...]) -> str:
    """Why no workload uses it as it is, by the nearest of them; empty if all is well."""
    if not told:
        kind = type(resource).__name__
        able = [each for each in WORKLOADS if can_select(kind, each.stored.model)]
        return f"not selected: there is no {' or '.join(each.name for each in able)}"
    selecting = [each for each in told if each.selects]
    if not selecting:
        return f"not selected by {told[0].workload}: {told[0].reason}"
    rejecting = [each for each in selecting if each.state is State.REJECTED]
    if rejecting:
        return f"rejected by {rejecting[0].workload}: {rejecting[0].reason}"
    if unknown := _unknown(told):
        return unknown
    if all(each.state is not State.USED for each in selecting):
        return f"selected by {selecting[0].workload}, but {selecting[0].reason}"
    return ""


def _unknown(told: tuple[Usage, ...]) -> str:
    """That it is not known from here what becomes of it; empty if anything is known."""
    selecting = [each for each in told if each.selects]
    if not selecting or any(each.state is not State.UNCLEAR for each in selecting):
        return ""
    return f"selected by {selecting[0].workload}, but {selecting[0].reason}"


def _nothing_runs(found: list[tuple[Workload, Usage]]) -> str:
    """That no workload that uses it has pods; empty if one has."""
    using = [(workload, each) for workload, each in found if each.state is State.USED]
    if not using or not all(is_at_rest(workload) for workload, _ in using):
        return ""
    return f"selected by {using[0][1].workload}, but nothing runs there: its {AT_REST}"


def _target_problem(searches: Sequence[Search], access: Iterable[AccountRights]) -> str:
    """Why nothing is scraped although it is selected, or not by all; empty if something may be."""
    lacking = next((each for each in access if each.lacks), None)
    if lacking:
        who = f"service account {lacking.account} of {lacking.workload}"
        return f"selected, but {who} cannot {lacking.lacks[0]}"
    empty = next((each for each in searches if each.targets == 0 and each.problems), None)
    if empty is None:
        return ""
    where = f" for {empty.workloads[0]}" if len(searches) > 1 else ""
    return f"selected, but without targets{where}: {empty.problems[0]}"


def _unreached_problem(told: tuple[Usage, ...], searches: Sequence[Search]) -> str:
    """Which targets nobody scrapes, as no agent is where they are; empty if there are none."""
    lost = scraped_by_nobody(searches)
    if not lost:
        return ""
    number, found = sum(each.targets for each in lost), [each.found for each in searches]
    every = max((each for each in found if each is not None), default=0)
    if None in found:
        some = "how many targets is not known"
    elif every > number:
        some = f"{every - number:,} of {every:,} targets"
    else:
        where = "no agent is where its targets are"
        return f"selected by {_users(told)}, but {where}: {unreached_words(lost)}"
    return f"scraped by {_users(told)}: {some}; no agent scrapes {unreached_words(lost)}"


def _loss(view: View, resource: Resource) -> str:
    """What of it the cluster dropped, or would; empty if nothing."""
    lost = [str(each) for each in losses(resource)]
    lost += map(misspelt, view.dropped.get(ref_of(resource), ()))
    more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
    return f"{lost[0]}{more}" if lost else ""


def _scrape_problem(told: tuple[Usage, ...]) -> str:
    """Why targets cannot be scraped, where the operator counts them; empty if they can, or may."""
    for each in told:
        found = each.targets
        if found is None or each.state is not State.USED:
            continue
        if not found.discovered:
            who = f"{each.workload} has found none, as of {found.observed_at}"
            return f"selected, but without targets: {who}"
        if found.errors or not found.healthy:
            why = f": {found.errors[0].message}" if found.errors else ""
            failing = (
                f"{found.discovered - found.healthy:,} of {counted(found.discovered, 'target')}"
            )
            return f"{each.workload} cannot scrape {failing}{why}"
    return ""


def _summary(resource: Resource, told: tuple[Usage, ...], searches: tuple[Search, ...]) -> str:
    by = _users(told)
    if isinstance(resource, PrometheusRule):
        groups = resource.spec.groups or ()
        return f"used by {by}: {counted(sum(len(each.rules or ()) for each in groups), 'rule')}"
    if isinstance(resource, AlertmanagerConfig):
        return f"used by {by}: {counted(len(resource.spec.receivers or ()), 'receiver')}"
    partly = "; some endpoints have none" if any(each.problems for each in searches) else ""
    number = f"{_number(each.found for each in searches)}{partly}"
    if searches and all(each.unsure for each in searches):
        unsure = f"whether an agent is where they are is not known: {searches[0].unsure}"
        return f"selected by {by}: {number}; {unsure}"
    given = dict.fromkeys(filter(None, map(given_words, searches)))
    return ", ".join((f"scraped by {by}: {number}", *given))


def _users(told: tuple[Usage, ...]) -> str:
    """Who uses it."""
    used = [each.workload for each in told if each.state is State.USED]
    return used[0] if len(used) == 1 else f"{used[0]} and {len(used) - 1} more"


def _number(counts: Iterable[int | None]) -> str:
    """How many targets workloads find, which need not be the same for all."""
    found = list(counts)
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return "how many targets is not known"
    least, most = min(known), max(known)
    return f"{least:,} to {most:,} targets" if least < most else counted(most, "target")


# --- The parts ------------------------------------------------------------------------------------


def _is_able(view: View, workload: Workload) -> bool:
    """Whether a workload scrapes at all, and has a version that can be read."""
    try:
        return isinstance(workload, AnyPrometheus) and bool(
            scraper_of(workload, view.capabilities).version
        )
    except ValueError:
        return False


def _searches(
    view: View, resource: Resource, scrapers: Iterable[AnyPrometheus]
) -> Iterator[Search]:
    """What these workloads find; once for those that find the same."""
    alike: dict[Search, list[str]] = {}
    for prometheus in scrapers:
        scraper = scraper_of(prometheus, view.capabilities)
        search = search_of(view, resource, scraper, reach_of(view, prometheus))
        if search is not None:
            alike.setdefault(search, []).append(str(ref_of(prometheus)))
    for search, workloads in alike.items():
        yield replace(search, workloads=tuple(workloads))


def _accesses(
    view: View, resource: Resource, scrapers: Iterable[AnyPrometheus]
) -> Iterator[AccountRights]:
    for prometheus in scrapers:
        scraper = scraper_of(prometheus, view.capabilities)
        access = access_of(view, prometheus, resource, scraper)
        if access is not None:
            yield access


def _notes(view: View, scrapers: Iterable[AnyPrometheus]) -> Iterator[str]:
    for prometheus in scrapers:
        shards = prometheus.spec.shards or 1
        if shards > 1:
            yield f"{ref_of(prometheus)} divides the targets among {shards} shards"
        if reach := reach_of(view, prometheus):
            yield from _notes_on_nodes(prometheus, scraper_of(prometheus, view.capabilities), reach)


def _notes_on_nodes(prometheus: AnyPrometheus, scraper: Scraper, reach: Reach) -> Iterator[str]:
    title = ref_of(prometheus)
    yield f"each pod of {title} scrapes the targets of its own node"
    if not reach.unknown:
        yield f"{title} {reach.words}"
    if scraper.portions:
        found = f"the operator finds its targets, {strays_words(scraper)}"
        yield f"{title} needs no permission: {found}"
    if reach.spread and reach.unsure:
        yield f"which agents of {title} are ready is not known: {reach.unsure}"


def _job(view: View, resource: Resource, users: list[Workload]) -> str:
    """What the first workload that uses it reads; values of Secrets are only named."""
    first = users[0] if users else None
    if isinstance(resource, PrometheusRule) and first:
        made, _ = view.tried(first, [resource])
        files = made.contents.rule_files if made.contents else ()
        return "".join(text for each in files for text in each.values())
    if isinstance(resource, Monitor) and isinstance(first, AnyPrometheus):
        scraper = scraper_of(first, view.capabilities)
        return jobs_of(resource, scraper, Masked(view.assets), view.stand_ins).shown
    return ""
