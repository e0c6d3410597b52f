"""The targets of a PodMonitor: ports of pods."""

from collections.abc import Iterable
from functools import partial

from stoker.api.monitors import PodEndpoint, PodMonitor
from stoker.explain.answer import MatchedObject, PortMatch, Search
from stoker.explain.nearness import near_miss
from stoker.explain.places import everywhere, place_words, places, restricted
from stoker.explain.ports import Wanted, missing_at_containers, wanted_of_pod
from stoker.explain.reach import Reach, share, spot_of
from stoker.explain.services import with_matches, without_endpoints, without_matches
from stoker.select.labels import Selector, selector_of
from stoker.select.workload import Scraper
from stoker.view.listing import Listing
from stoker.view.objects import PodGroup
from stoker.view.view import View
from stoker.view.wording import listed


def pod_search(
    view: View, monitor: PodMonitor, scraper: Scraper, reach: Reach | None = None
) -> Search:
    """Where a workload finds the targets of a PodMonitor."""
    spec, own = monitor.spec, monitor.metadata.namespace or ""
    if not spec.pod_metrics_endpoints:
        return without_endpoints("spec.podMetricsEndpoints")
    names = places(view, spec.namespace_selector, own, scraper)
    found = everywhere(view.surroundings.pods, names)
    selector = selector_of(spec.selector)
    chosen = found.matching(selector, view.most)
    base = Search(
        workloads=(),
        looks_in=place_words(names),
        notes=restricted(spec.namespace_selector, scraper),
    )
    if not chosen:
        instead = str if view.brief else partial(_instead, view, selector, found, names)
        return without_matches(base, "pod", selector, found.unknown, instead)
    if view.is_too_many(chosen):
        return base
    endpoints = spec.pod_metrics_endpoints
    matches = tuple(_match(each, endpoints, reach) for each in chosen)
    return with_matches(base, matches, reach)


def _instead(
    view: View, selector: Selector, found: Listing[PodGroup], names: tuple[str, ...]
) -> str:
    services = everywhere(view.surroundings.services, names).items
    if there := [each.title for each in services if selector.matches(each.labels)]:
        return f"; {listed(there)} has these labels, but a PodMonitor selects pods by their own"
    return near_miss(selector, found.items)


def _match(pod: PodGroup, endpoints: Iterable[PodEndpoint], reach: Reach | None) -> MatchedObject:
    wanted = [wanted_of_pod(each, index) for index, each in enumerate(endpoints)]
    ports = (
        _port_match(pod, one, each.filter_running, reach)
        for one, each in zip(wanted, endpoints, strict=True)
    )
    return MatchedObject(object=pod.title, ports=tuple(ports))


def _port_match(
    pod: PodGroup, wanted: Wanted, filter_running: bool | None, reach: Reach | None
) -> PortMatch:
    problem = missing_at_containers(wanted, pod.ports) if wanted.field else ""
    each = _targets(pod, wanted)
    if pod.finished and filter_running is not False:
        each, problem = 0, problem or f"{pod.title} has ended"
    elif not pod.has_address:
        each, problem = 0, problem or f"{pod.title} has no address yet"
    elif pod.count == 0:
        problem = problem or f"{pod.title} has no replicas"
    own = share(reach, each, pod.count, spot_of(pod))
    return PortMatch(
        path=wanted.path,
        port=wanted.words,
        targets=own.targets,
        problem=problem,
        unreached=own.unreached,
        perhaps=own.perhaps,
        by_node=own.by_node,
    )


def _targets(pod: PodGroup, wanted: Wanted) -> int:
    """How many targets one of the pods is: without a port, one for each, and for each container."""
    if not wanted.field:
        return len(pod.ports) + pod.unnamed
    return sum(port.is_called(wanted.port) for port in pod.ports)
