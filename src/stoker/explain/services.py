"""The targets of a ServiceMonitor: Services, their ports, and the addresses behind them.

In a cluster the addresses are those of EndpointSlices. Manifests rarely hold these, so there they
are worked out from pods and templates that the Service selects, as Kubernetes would.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.monitors import ServiceEndpoint, ServiceMonitor
from stoker.explain.answer import MatchedObject, PortMatch, Search
from stoker.explain.nearness import near_miss
from stoker.explain.places import everywhere, place_words, places, restricted
from stoker.explain.ports import (
    Wanted,
    missing_at_containers,
    missing_at_service,
    wanted_of_service,
)
from stoker.explain.reach import Reach, Share, Spot, share, spot_of, sure_of, together
from stoker.portions.strays import stray_endpoint
from stoker.select.labels import Selector, selector_of
from stoker.select.workload import Scraper
from stoker.targets.objects import ContainerPort, Endpoint, EndpointSlice, Service, ServicePort
from stoker.view.listing import Listing
from stoker.view.objects import PodGroup, slices_of
from stoker.view.view import View
from stoker.view.wording import listed, selector_words


class Address(Struct, frozen=True):
    """Addresses that are alike: their ports by the Service's names, and the containers' own.

    `containers` is None where the pods cannot be read, `count` where it is not known how many
    there are. `spot` is where they are.
    """

    ports: tuple[tuple[str, int], ...]
    containers: tuple[ContainerPort, ...] | None = ()
    count: int | None = 1
    finished: bool = False
    spot: Spot = Spot(())

    def targets(self, wanted: Wanted) -> int | None:
        """How many targets one of them is; None where that is not known."""
        if wanted.of_service:
            return sum(name == wanted.port for name, _ in self.ports)
        if self.containers is None:
            return None
        if wanted.field:
            return sum(port.is_called(wanted.port) for port in self.containers)
        numbers = {number for _, number in self.ports}
        further = sum(port.container_port not in numbers for port in self.containers)
        return len(self.ports) + further


class _Backing(Struct, frozen=True):
    """What is behind a Service; `unknown` says why that is not known."""

    addresses: tuple[Address, ...] = ()
    unknown: str = ""
    no_address: str = ""

    @property
    def containers(self) -> list[ContainerPort]:
        return [port for each in self.addresses for port in each.containers or ()]


def service_search(
    view: View, monitor: ServiceMonitor, scraper: Scraper, reach: Reach | None = None
) -> Search:
    """Where a workload finds the targets of a ServiceMonitor."""
    spec, own = monitor.spec, monitor.metadata.namespace or ""
    if not spec.endpoints:
        return without_endpoints("spec.endpoints")
    names = places(view, spec.namespace_selector, own, scraper)
    found = everywhere(view.surroundings.services, names)
    selector = selector_of(spec.selector)
    chosen = found.matching(selector, view.most)
    ignored = restricted(spec.namespace_selector, scraper)
    base = Search(
        workloads=(),
        looks_in=place_words(names),
        notes=ignored,
    )
    if not chosen:
        instead = partial(_instead, view, selector, found, names, ignored=bool(ignored))
        return without_matches(
            base, "Service", selector, found.unknown, str if view.brief else instead
        )
    if view.is_too_many(chosen):
        return base
    matches = tuple(_match(view, each, spec.endpoints, reach) for each in chosen)
    return with_matches(base, matches, reach, _unknown(view, chosen))


def without_endpoints(path: str) -> Search:
    """The search of a monitor that says nowhere what to scrape."""
    return Search(workloads=(), targets=0, problems=(f"{path}: it names no endpoint",))


def with_matches(
    base: Search, matches: tuple[MatchedObject, ...], reach: Reach | None = None, unknown: str = ""
) -> Search:
    """A search with what was found, counted; `unknown` says why that may be impossible."""
    ports = [port for match in matches for port in match.ports]
    counts = [port.targets for port in ports]
    known = sum(count for count in counts if count)
    complete = None not in counts
    # That one of several Services or pods is of no use is no problem: the others are.
    useful = {port.path for port in ports if port.targets != 0 or port.unreached}
    idle = (port for port in ports if port.problem and port.path not in useful)
    problems = dict.fromkeys(f"{port.path}: {port.problem}" for port in idle)
    found = Search(
        workloads=base.workloads,
        looks_in=base.looks_in,
        matches=matches,
        targets=known if complete else None,
        problems=tuple(problems),
        notes=base.notes if complete or not unknown else (unknown, *base.notes),
    )
    return sure_of(found, reach, ports)


def _unknown(view: View, services: Iterable[Service]) -> str:
    """Why what is behind Services cannot be counted."""
    pods = (view.surroundings.pods(each.namespace).unknown for each in services)
    return next((each for each in pods if each), "")


# --- No Service at all ----------------------------------------------------------------------------


def without_matches(
    base: Search, what: str, selector: Selector, unknown: str, instead: Callable[[], str]
) -> Search:
    """A search that found nothing, and what was probably meant; or that it is not known."""
    if unknown:
        return replace(base, notes=(unknown, *base.notes))
    asked = selector_words(selector)
    problem = f"no {what} in {base.looks_in} has what spec.selector asks for: {asked}"
    return replace(base, targets=0, problems=(problem + instead(),))


def _instead(
    view: View,
    selector: Selector,
    found: Listing[Service],
    names: tuple[str, ...],
    *,
    ignored: bool,
) -> str:
    """What was probably meant."""
    for each in found.items:
        if each.pods and selector.matches(each.spec.selector):
            return f"; {each.title} has pods with these labels, but not the labels itself"
    if names:
        others = view.surroundings.services(None).items
        if there := [each.title for each in others if selector.matches(each.labels)]:
            why = "leaves out"
            if ignored:
                why = "does not reach, as the workload sets ignoreNamespaceSelectors"
            return f"; {listed(there)} has, which spec.namespaceSelector {why}"
    return near_miss(selector, found.items)


# --- One Service ----------------------------------------------------------------------------------


def _match(
    view: View, service: Service, endpoints: Iterable[ServiceEndpoint], reach: Reach | None
) -> MatchedObject:
    behind = _backing(view, service)
    ports = tuple(
        _port_match(service, wanted_of_service(each, index), behind, each.filter_running, reach)
        for index, each in enumerate(endpoints)
    )
    return MatchedObject(object=service.title, ports=ports)


def _port_match(
    service: Service,
    wanted: Wanted,
    behind: _Backing,
    filter_running: bool | None,
    reach: Reach | None,
) -> PortMatch:
    problem = missing_at_service(wanted, service, behind.containers) if wanted.of_service else ""
    addresses = [each for each in behind.addresses if not each.finished or filter_running is False]
    found = [(each.targets(wanted), each) for each in addresses]
    if all(each == 0 for each, _ in found):
        problem = problem or _why_none(service, wanted, behind)
    own = together(
        Share(None) if each is None else share(reach, each, address.count, address.spot)
        for each, address in found
    )
    unknown = behind.unknown and not problem
    return PortMatch(
        path=wanted.path,
        port=wanted.words,
        targets=None if unknown else own.targets,
        problem=problem,
        unreached=own.unreached,
        perhaps=own.perhaps,
        by_node=own.by_node,
    )


def _why_none(service: Service, wanted: Wanted, behind: _Backing) -> str:
    """Why a Service gives no target for an endpoint, though it may have the port."""
    if behind.unknown:
        return ""
    if not behind.addresses:
        return f"{service.title} leads nowhere: {behind.no_address}"
    if wanted.field and not wanted.of_service:
        return missing_at_containers(wanted, behind.containers, service)
    if not wanted.field:
        return f"{service.title} has no ports, and the containers declare none"
    target = next(each.target for each in service.ports if each.name == wanted.port)
    names = {each.name or str(each.container_port) for each in behind.containers}
    return (
        f"port `{wanted.port}` of {service.title} leads to `{target}`, which no container "
        f"declares; they declare {listed(sorted(names))}"
    )


# --- What is behind a Service ---------------------------------------------------------------------


def _backing(view: View, service: Service) -> _Backing:
    if service.spec.type == "ExternalName":
        return _Backing(no_address="a Service of type ExternalName has no endpoints")
    slices = view.surroundings.slices(service.namespace)
    own = slices.matching(slices_of(service))
    pods = view.surroundings.pods(service.namespace)
    if own or not slices.unknown:
        return _backed(view, service, tuple(_from_slices(own, pods)), pods)
    return _from_pods(view, service, pods)


def _backed(
    view: View, service: Service, addresses: tuple[Address, ...], pods: Listing[PodGroup]
) -> _Backing:
    return _Backing(addresses, no_address="" if addresses else _why_nowhere(view, service, pods))


def _from_slices(slices: Sequence[EndpointSlice], pods: Listing[PodGroup]) -> Iterator[Address]:
    by_name = {each.name: each for each in pods.items} if slices else {}
    for part in slices:
        ports = tuple((each.name or "", each.port or 0) for each in part.ports or ())
        for endpoint in part.endpoints or ():
            reference = endpoint.target_ref
            pod = by_name.get(reference.name or "") if reference else None
            unread = reference is not None and reference.kind == "Pod" and bool(pods.unknown)
            yield Address(
                ports,
                pod.ports if pod else None if unread else (),
                len(endpoint.addresses or ()),
                finished=pod is not None and pod.finished,
                spot=spot_of_endpoint(endpoint, pod),
            )


def spot_of_endpoint(endpoint: Endpoint, pod: PodGroup | None) -> Spot:
    """Where the addresses of an endpoint are: on its own node, else on that of its pod."""
    addresses = endpoint.addresses or ()
    node = endpoint.node_name or ((pod.nodes or ("",))[0] if pod else "")
    ref = endpoint.target_ref
    is_pod = ref is not None and ref.kind == "Pod"
    strays = tuple(stray_endpoint(endpoint)) * (len(addresses) if is_pod else 1)
    return Spot((node,) * len(addresses), (pod.title,) if pod else addresses, strays=strays)


def _from_pods(view: View, service: Service, pods: Listing[PodGroup]) -> _Backing:
    chosen = _pods_of(service, pods)
    if not chosen and (pods.unknown or not service.pods):
        return _Backing(unknown=pods.unknown or "its endpoints are not known")
    addresses = tuple(
        Address(
            tuple(_resolved(service.ports, pod)), pod.ports, pod.count, pod.finished, spot_of(pod)
        )
        for pod in chosen
        if pod.count != 0 and pod.has_address
    )
    return _backed(view, service, addresses, pods)


def _resolved(ports: Iterable[ServicePort], pod: PodGroup) -> Iterator[tuple[str, int]]:
    """The ports of a Service that a pod has; one that is named by a number needs no declaration."""
    for each in ports:
        if isinstance(each.target, int):
            yield each.name or "", each.target
            continue
        for port in pod.ports:
            if port.is_called(each.target):
                yield each.name or "", port.container_port


def _pods_of(service: Service, pods: Listing[PodGroup]) -> list[PodGroup]:
    selector = service.pods
    return pods.matching(selector) if selector else []


def _why_nowhere(view: View, service: Service, pods: Listing[PodGroup]) -> str:
    selector = service.pods
    if selector is None:
        return "it has no selector, and nobody wrote endpoints for it"
    if pods.unknown:
        return "it has no endpoints"
    chosen = _pods_of(service, pods)
    if not chosen:
        asked = selector_words(selector)
        guess = "" if view.brief else near_miss(selector, pods.items)
        return f"no pod has what its selector asks for: {asked}{guess}"
    if all(each.count == 0 for each in chosen):
        return f"{chosen[0].title} has no replicas"
    return f"{chosen[0].title} has no address yet"
