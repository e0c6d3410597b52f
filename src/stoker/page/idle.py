"""Resources that are used, and for which nothing is scraped, where that is known without asking.

Among manifests it is known from Services and pods beside them. Of a cluster it is known where the
operator counts targets: the status of a resource says it then.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from stoker.decide import key_of
from stoker.explain.standings import binding_of
from stoker.explain.targets import search_of
from stoker.explain.view import View
from stoker.generate.fragments import ResourceKey
from stoker.select.choice import Candidate
from stoker.select.workload import Owner, Scraper, workload_of

Idle: TypeAlias = tuple[ResourceKey, str]


def idle_among(view: View, owner: Owner, used: Iterable[Candidate]) -> Iterator[Idle]:
    """Those for which a workload surely finds nothing, and why."""
    if not isinstance(owner, Scraper):
        return
    workload = workload_of(owner, view.capabilities)
    for resource in used:
        search = search_of(view, resource, workload)
        if search and search.targets == 0 and search.problems:
            yield key_of(resource), search.problems[0]


def none_discovered(owner: Owner, resource: Candidate) -> str:
    """That a workload has no targets for a resource; empty if it has some, or nobody counts."""
    binding = binding_of(owner, resource)
    counts = binding.targets if binding else None
    if counts is None or counts.discovered:
        return ""
    return f"it has found no targets, as of {counts.observed_at}"
