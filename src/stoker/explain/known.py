"""The objects that the targets of a resource are made from, as far as a workload scrapes them.

A monitor leads to some Services, pods or Ingresses; of others its steps make nothing. Of what a
ScrapeConfig asks for, all is looked at that its discoveries see. An agent on nodes has what is on
its nodes, or is given it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.explain.places import everywhere
from stoker.explain.reach import Reach, share, spot_of
from stoker.explain.samples import Sample, made_slices, old_endpoints, sample_of
from stoker.explain.services import spot_of_endpoint
from stoker.select.labels import EVERYTHING, Selector, selector_of
from stoker.targets.discovery import (
    ENDPOINT_SLICE,
    ENDPOINTS,
    INGRESS,
    NODE,
    POD,
    SERVICE,
    CannotTellError,
    KubernetesSd,
)
from stoker.targets.groups import CLUSTER_IP, LOAD_BALANCER_IP
from stoker.targets.objects import EndpointSlice, Service, TargetSources, by_place
from stoker.view.listing import Listing
from stoker.view.objects import PodGroup, slices_of
from stoker.view.view import View


class KnownSources(Struct, frozen=True):
    """What targets are made of, with the samples by namespace and name.

    `unknown` are labels that a cluster gives, and why they are not known.
    """

    world: TargetSources
    samples: Mapping[tuple[str, str], Sample]
    unknown: Mapping[str, str] = {}

    @property
    def is_made_up(self) -> bool:
        """Whether there are samples that stand for others."""
        return any(each.made_up for each in self.samples.values())


def known_to(
    view: View, resource: Any, names: tuple[str, ...], reach: Reach | None
) -> KnownSources:
    """The objects that a monitor or Probe leads to, in these namespaces or, without, in all.

    CannotTellError where there may be more than is known.
    """
    return _KINDS[type(resource)](view, resource, names, reach)


def seen_by(view: View, discoveries: Iterable[KubernetesSd]) -> KnownSources:
    """The objects that discoveries see; CannotTellError where there may be more than is known."""
    made = [_of_discovery(view, each) for each in discoveries]
    samples = {key: one for each in made for key, one in each.samples.items()}
    worlds = [each.world for each in made]
    return KnownSources(
        TargetSources(
            pods=_together(each.pods for each in worlds),
            services=_together(each.services for each in worlds),
            slices=_together(each.slices for each in worlds),
            endpoints=_together(each.endpoints for each in worlds),
            ingresses=_together(each.ingresses for each in worlds),
            nodes={name: node for each in worlds for name, node in each.nodes.items()},
        ),
        samples,
        {label: why for each in made for label, why in each.unknown.items()},
    )


def _together(several: Iterable[Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    return by_place(one for each in several for space in each.values() for one in space.values())


# --- Of each kind ---------------------------------------------------------------------------------


def _of_pods(
    view: View, monitor: PodMonitor, names: tuple[str, ...], reach: Reach | None
) -> KnownSources:
    pods = _whole(everywhere(view.surroundings.pods, names))
    return _of_samples(pods.matching(selector_of(monitor.spec.selector)), reach)


def _of_services(
    view: View, monitor: ServiceMonitor, names: tuple[str, ...], reach: Reach | None
) -> KnownSources:
    services = _whole(everywhere(view.surroundings.services, names))
    return _behind(view, services.matching(selector_of(monitor.spec.selector)), reach)


def _of_ingresses(
    view: View, probe: Probe, names: tuple[str, ...], _reach: Reach | None = None
) -> KnownSources:
    wanted = probe.spec.targets and probe.spec.targets.ingress
    if not wanted or (probe.spec.targets and probe.spec.targets.static_config):
        return KnownSources(TargetSources(), {})
    found = _whole(everywhere(view.surroundings.ingresses, names))
    chosen = found.matching(selector_of(wanted.selector) if wanted.selector else EVERYTHING)
    return KnownSources(TargetSources(ingresses=by_place(chosen)), {})


def _of_nothing(
    _view: View, _config: ScrapeConfig, _names: tuple[str, ...], _reach: Reach | None
) -> KnownSources:
    return KnownSources(TargetSources(), {})


_KINDS: Final[dict[type, Callable[[View, Any, tuple[str, ...], Reach | None], KnownSources]]] = {
    PodMonitor: _of_pods,
    ServiceMonitor: _of_services,
    Probe: _of_ingresses,
    ScrapeConfig: _of_nothing,
}


def _of_discovery(view: View, discovery: KubernetesSd) -> KnownSources:
    names, around = discovery.namespaces, view.surroundings
    if discovery.role == POD:
        return _of_samples(_whole(everywhere(around.pods, names)).items, None)
    if discovery.role == INGRESS:
        found = _whole(everywhere(around.ingresses, names))
        return KnownSources(TargetSources(ingresses=by_place(found.items)), {})
    if discovery.role in (ENDPOINTS, ENDPOINT_SLICE):
        return _behind(view, _whole(everywhere(around.services, names)).items, None)
    if discovery.role == SERVICE:
        return _of_names(_whole(everywhere(around.services, names)).items)
    if discovery.role == NODE:
        nodes = _whole(around.whole_nodes())
        return KnownSources(TargetSources(nodes={each.name: each for each in nodes.items}), {})
    raise CannotTellError(f"role {discovery.role} is not known here")


def _of_names(services: Iterable[Service]) -> KnownSources:
    """Services as they are called, whatever is behind them, with the defaults of a cluster."""
    unknown: dict[str, str] = {}
    found = []
    for each in services:
        spec = each.spec
        kind = spec.type or "ClusterIP"
        if kind != "ExternalName" and not spec.cluster_ip:
            unknown[CLUSTER_IP] = f"the address that {each.title} gets is not known"
        if kind == "LoadBalancer" and each.status is None and not spec.load_balancer_ip:
            unknown[LOAD_BALANCER_IP] = f"the address that {each.title} gets is not known"
        ports = tuple(replace(port, protocol=port.protocol or "TCP") for port in each.ports)
        found.append(replace(each, spec=replace(spec, type=kind, ports=ports)))
    return KnownSources(TargetSources(services=by_place(found)), {}, unknown)


# --- Pods, and Services with what is behind them --------------------------------------------------


def _behind(view: View, chosen: Iterable[Service], reach: Reach | None) -> KnownSources:
    chosen = list(chosen)
    spaces = sorted({each.namespace for each in chosen})
    listings = {each: _whole(view.surroundings.pods(each)) for each in spaces}
    known = _of_samples((group for each in listings.values() for group in each.items), reach)
    slices: list[EndpointSlice] = []
    endpoints = []
    for service in chosen:
        read = view.surroundings.slices(service.namespace)
        pods = listings[service.namespace]
        found = list(_reached(read.matching(slices_of(service)), pods, reach))
        if not found and read.unknown:
            found = list(made_slices(service, _selected(known.world, service, service.pods)))
        slices += found
        endpoints.append(old_endpoints(service, found))
    world = replace(
        known.world,
        services=by_place(chosen),
        slices=by_place(slices),
        endpoints=by_place(endpoints),
    )
    return replace(known, world=world)


def _reached(
    slices: Iterable[EndpointSlice], pods: Listing[PodGroup], reach: Reach | None
) -> Iterator[EndpointSlice]:
    """Slices without the endpoints that no agent scrapes."""
    if reach is None:
        yield from slices
        return
    by_name = {each.name: each for each in pods.items}
    for part in slices:
        there = []
        for endpoint in part.endpoints or ():
            reference = endpoint.target_ref
            pod = by_name.get(reference.name or "") if reference else None
            spot = spot_of_endpoint(endpoint, pod)
            if share(reach, 1, len(endpoint.addresses or ()), spot).targets != 0:
                there.append(endpoint)
        yield replace(part, endpoints=tuple(there))


def _selected(world: TargetSources, service: Service, selector: Selector | None) -> list[Any]:
    found = world.pods.get(service.namespace, {}).values()
    return [each for each in found if selector and selector.matches(each.labels)]


def _whole(found: Listing[Any]) -> Listing[Any]:
    """The same; CannotTellError where there may be more objects than are known."""
    if found.unknown:
        raise CannotTellError(found.unknown)
    return found


def _of_samples(groups: Iterable[PodGroup], reach: Reach | None) -> KnownSources:
    samples = {}
    for number, group in enumerate(groups):
        # Of a template as many as are scraped, where that is known.
        count = group.count and share(reach, 1, group.count, spot_of(group)).targets
        made = sample_of(replace(group, count=count), number)
        if made:
            samples[made.pod.namespace, made.pod.name] = made
    return KnownSources(
        TargetSources(pods=by_place(each.pod for each in samples.values())), samples
    )
