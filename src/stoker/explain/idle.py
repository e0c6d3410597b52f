"""Resources that are used, and for which nothing is scraped, where that is known without asking.

Among manifests it is known from Services and pods beside them. Of a cluster it is known where the
operator counts targets: the status of a resource says it then (`view.states.unscraped`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from stoker.explain.reach import reach_of, unreached_words
from stoker.explain.targets import search_of
from stoker.plan import Plan
from stoker.ref import Ref, ref_of
from stoker.select.choice import Resource
from stoker.select.workload import AnyPrometheus, Workload, scraper_of
from stoker.view.view import View

Fruitless: TypeAlias = tuple[Ref, str]


def idle_of(view: View, made: Plan) -> Mapping[Ref, str]:
    """What a workload would use for nothing; of one that cannot be configured it is not known."""
    if made.unmade:
        return {}
    used = (each.resource for each in made.verdicts.values() if each.accepted)
    return dict(idle_among(view, made.workload, used))


def idle_among(view: View, workload: Workload, used: Iterable[Resource]) -> Iterator[Fruitless]:
    """Those for which a workload surely finds nothing, and why."""
    if not isinstance(workload, AnyPrometheus):
        return
    scraper, reach = scraper_of(workload, view.capabilities), reach_of(view, workload)
    for resource in used:
        search = search_of(view, resource, scraper, reach)
        if search is None or search.targets != 0:
            continue
        if search.problems:
            yield ref_of(resource), search.problems[0]
        elif search.unreached:
            yield ref_of(resource), f"no agent is there: {unreached_words(search.unreached)}"
