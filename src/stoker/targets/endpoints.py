"""The candidates that Prometheus makes of endpoints: of slices, and of Endpoints as of old.

One for each port of each address, with what is known of the pod behind it. Ports that the
containers of such a pod declare and that no endpoint has are candidates too.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from stoker.targets.discovery import Group, Labels, SeenObjects
from stoker.targets.metadata import (
    ADDRESS,
    META,
    container_labels,
    declared_ports,
    host_port,
    labels_of,
    named_labels,
    pod_labels,
    port_labels,
    told,
    with_values,
)
from stoker.targets.objects import (
    SERVICE_NAME,
    Container,
    ContainerPort,
    Endpoint,
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSlice,
    Pod,
    Service,
    TargetRef,
)
from stoker.version import Version, parse_version

# From then on containers that run first, or beside, are looked at as well.
_INIT_CONTAINERS: Final = parse_version("3.0.0")
# From then on the second family of addresses of a Service adds nothing.
_ONE_FAMILY: Final = parse_version("3.11.0")
_BOTH_FAMILIES: Final = ("PreferDualStack", "RequireDualStack")
_SLICE: Final = f"{META}endpointslice_"
_OLD: Final = f"{META}endpoint_"
_NOTHING: Final = TargetRef()


class _Behind(Struct):
    """A pod behind endpoints, and the ports that these have."""

    pod: Pod
    labels: Labels
    ports: set[int | None]


class _Gathered:
    """The candidates of a group, while its endpoints are gone through."""

    def __init__(self, sight: SeenObjects, version: Version) -> None:
        self.candidates: list[Labels] = []
        self._sight = sight
        self._init = version >= _INIT_CONTAINERS
        self._pods: dict[tuple[str, str], _Behind] = {}

    def add(self, own: Labels, ref: TargetRef | None, port: EndpointPort, *, old: bool) -> None:
        """An address at a port, and what is behind it."""
        behind = self._behind(ref)
        if behind:
            own |= behind.labels
            own |= self._container(behind.pod, port, old=old)
            behind.ports.add(port.port)
        self.candidates.append(own)

    def node(self, name: str | None) -> Labels:
        """What is known of a node that is seen."""
        node = self._sight.node(name) if name is not None else None
        return named_labels(node, "node") if node else {}

    def further(self) -> Iterator[Labels]:
        """Ports of containers that no endpoint has."""
        for behind in self._pods.values():
            address = behind.pod.address
            for container, port, init in declared_ports(behind.pod, init=self._init):
                if address and port.container_port not in behind.ports:
                    own = self._declared(container, port, init=init)
                    at = host_port(address, port.container_port)
                    yield {ADDRESS: at, **own, **behind.labels}

    def _declared(self, container: Container, port: ContainerPort, *, init: bool) -> Labels:
        own = {**container_labels(container, init=init), **port_labels(port)}
        if not self._init:
            del own[f"{META}pod_container_init"]
        return own

    def _behind(self, ref: TargetRef | None) -> _Behind | None:
        if ref is None or ref.kind != "Pod":
            return None
        key = ref.namespace or "", ref.name or ""
        found = self._pods.get(key)
        if found is None:
            pod = self._sight.pod(*key)
            if pod is None:
                return None
            found = self._pods[key] = _Behind(pod, pod_labels(pod), set())
        return found

    def _container(self, pod: Pod, port: EndpointPort, *, old: bool) -> Labels:
        """The container that has a port; where several have it, the last."""
        found: Labels = {}
        done: set[str] = set()
        for container, own, init in declared_ports(pod, init=self._init):
            if own.container_port == port.port and container.name not in done:
                done.add(container.name)
                found = self._declared(container, own, init=init)
                if old:
                    found |= with_values({f"{META}pod_container_port_protocol": port.protocol})
        return found


# --- Slices ---------------------------------------------------------------------------------------


def slice_group(found: EndpointSlice, sight: SeenObjects, version: Version) -> Group:
    """The candidates of an EndpointSlice."""
    service = sight.service(found.namespace, found.labels.get(SERVICE_NAME, ""))
    shared = {f"{META}namespace": found.namespace, **named_labels(found, "endpointslice")}
    shared |= with_values({f"{_SLICE}address_type": found.address_type})
    shared |= _shared(found.namespace, service, sight)
    made = Group(found.title, shared, [])
    if service and version >= _ONE_FAMILY and _is_second_family(service, found.address_type):
        return made
    gathered = _Gathered(sight, version)
    for endpoint in found.endpoints or ():
        known = _of_endpoint(endpoint, gathered)
        for port in found.ports or ():
            for address in endpoint.addresses or ():
                own = {**_at(address, port), **known}
                gathered.add(own, endpoint.target_ref, port, old=False)
    made.candidates = [*gathered.candidates, *gathered.further()]
    return made


def _shared(namespace: str, service: Service | None, sight: SeenObjects) -> Labels:
    """What is known of the Service, and of the namespace."""
    space = sight.space(namespace)
    of_service = named_labels(service, "service") if service else {}
    return {**of_service, **(labels_of(space, "namespace") if space else {})}


def _is_second_family(service: Service, family: str | None) -> bool:
    families = service.spec.ip_families
    both = service.spec.ip_family_policy in _BOTH_FAMILIES
    return bool(both and families and family != families[0])


def _at(address: str, port: EndpointPort) -> Labels:
    """An address at a port."""
    return with_values({
        ADDRESS: address if port.port is None else host_port(address, port.port),
        f"{_SLICE}port_name": port.name,
        f"{_SLICE}port_protocol": port.protocol,
        f"{_SLICE}port": None if port.port is None else str(port.port),
        f"{_SLICE}port_app_protocol": port.app_protocol,
    })  # fmt: skip


def _of_endpoint(endpoint: Endpoint, gathered: _Gathered) -> Labels:
    ref, conditions = endpoint.target_ref or _NOTHING, endpoint.conditions
    known = with_values({
        f"{_SLICE}endpoint_conditions_ready": _flag(conditions.ready),
        f"{_SLICE}endpoint_conditions_serving": _flag(conditions.serving),
        f"{_SLICE}endpoint_conditions_terminating": _flag(conditions.terminating),
        f"{_SLICE}endpoint_hostname": endpoint.hostname,
        f"{_SLICE}endpoint_node_name": endpoint.node_name,
        f"{_SLICE}endpoint_zone": endpoint.zone,
        f"{_SLICE}address_target_kind": ref.kind,
        f"{_SLICE}address_target_name": ref.name,
    })  # fmt: skip
    topology = endpoint.deprecated_topology
    told(known, "endpointslice_endpoint_topology", topology, "_present")
    return known | gathered.node(ref.name if ref.kind == "Node" else endpoint.node_name)


def _flag(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


# --- Endpoints ------------------------------------------------------------------------------------


def endpoints_group(found: Endpoints, sight: SeenObjects, version: Version) -> Group:
    """The candidates of Endpoints."""
    service = sight.service(found.namespace, found.name)
    shared = {f"{META}namespace": found.namespace, **named_labels(found, "endpoints")}
    shared |= _shared(found.namespace, service, sight)
    gathered = _Gathered(sight, version)
    for subset in found.subsets or ():
        for port in subset.ports or ():
            for ready, addresses in (
                ("true", subset.addresses),
                ("false", subset.not_ready_addresses),
            ):
                _add_addresses(gathered, addresses or (), port, ready)
    return Group(found.title, shared, [*gathered.candidates, *gathered.further()])


def _add_addresses(
    gathered: _Gathered, addresses: Iterable[EndpointAddress], port: EndpointPort, ready: str
) -> None:
    for address in addresses:
        ref = address.target_ref or _NOTHING
        own = with_values({
            ADDRESS: host_port(address.ip, port.port or 0),
            f"{_OLD}port_name": port.name,
            f"{_OLD}port_protocol": port.protocol,
            f"{_OLD}ready": ready,
            f"{_OLD}address_target_kind": ref.kind,
            f"{_OLD}address_target_name": ref.name,
            f"{_OLD}node_name": address.node_name,
            f"{_OLD}hostname": address.hostname,
        })  # fmt: skip
        by_ref = ref.name if ref.kind == "Node" else None
        own |= gathered.node(by_ref if address.node_name is None else address.node_name)
        gathered.add(own, ref, port, old=True)
