"""The targets of a resource, as Prometheus would find them: which, how many, and why not more.

Prometheus makes one target of each port of each address; of the pods behind an address it also
takes the ports that no Service knows, so that `targetPort` can choose among all that containers
declare. Pods that are not ready count; those that ended do not.
"""

from collections.abc import Callable
from typing import Any, Final

from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.explain.answer import Search
from stoker.explain.foreseen import foreseen
from stoker.explain.pods import pod_search
from stoker.explain.probes import probe_search
from stoker.explain.reach import Reach
from stoker.explain.scrapeconfigs import scrape_config_search
from stoker.explain.services import service_search
from stoker.select.workload import Scraper
from stoker.view.view import View

_SEARCHES: Final[dict[type, Callable[[View, Any, Scraper, Reach | None], Search]]] = {
    ServiceMonitor: service_search,
    PodMonitor: pod_search,
    Probe: probe_search,
    ScrapeConfig: scrape_config_search,
}


def search_of(view: View, resource: Any, scraper: Scraper, reach: Reach | None) -> Search | None:
    """Where a workload looks for the targets of a resource; None for one that has no targets.

    `reach` says on which nodes it has pods, if it scrapes from nodes.
    """
    search = _SEARCHES.get(type(resource))
    if search is None:
        return None
    return foreseen(view, resource, scraper, reach, search(view, resource, scraper, reach))
