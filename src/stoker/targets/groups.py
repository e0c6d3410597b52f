"""The candidates that Prometheus makes of one object: a pod, a Service, a node, an Ingress.

Endpoints lie beside.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from stoker.targets.discovery import (
    ENDPOINT_SLICE,
    ENDPOINTS,
    INGRESS,
    NODE,
    POD,
    SERVICE,
    CannotTellError,
    Group,
    KubernetesSd,
    Labels,
    SeenObjects,
    sights,
)
from stoker.targets.endpoints import endpoints_group, slice_group
from stoker.targets.metadata import (
    ADDRESS,
    META,
    container_labels,
    host_port,
    labels_of,
    named_labels,
    pod_labels,
    port_labels,
    told,
    with_values,
)
from stoker.targets.objects import (
    ByNamespace,
    Ingress,
    IngressRule,
    Node,
    Pod,
    PodStatus,
    Service,
    ServicePort,
    TargetSources,
)
from stoker.version import Version, parse_version

# From then on a pod whose node is not seen is left out where labels of nodes are attached.
_PODS_OF_SEEN_NODES: Final = parse_version("3.11.0")


def groups(world: TargetSources, discovery: KubernetesSd, version: Version) -> Iterator[Group]:
    """The candidates of a discovery, by the object that they come from.

    CannotTellError where the discovery is one that is not known here.
    """
    if discovery.role not in _ROLES:
        raise CannotTellError(f"role {discovery.role} is not known here")
    objects, group = _ROLES[discovery.role]
    # Nodes are in no namespace, whichever are named.
    everywhere = discovery.role == NODE
    for sight in [SeenObjects(world, discovery)] if everywhere else sights(world, discovery):
        for each in sight.all(discovery.role, objects(world)):
            yield group(each, sight, version)


def pod_group(pod: Pod, sight: SeenObjects, version: Version) -> Group:
    """One candidate for each port of a pod, or for a container that declares none."""
    made = Group(pod.title, {}, [])
    if not pod.address:
        return made
    node = sight.node(pod.node)
    if sight.of.with_node and node is None and version >= _PODS_OF_SEEN_NODES:
        return made
    made.shared = {**pod_labels(pod), f"{META}namespace": pod.namespace}
    if node:
        made.shared |= named_labels(node, "node")
    if space := sight.space(pod.namespace):
        made.shared |= labels_of(space, "namespace")
    made.candidates = list(_of_containers(pod))
    return made


def _of_containers(pod: Pod) -> Iterator[Labels]:
    status = pod.status or PodStatus()
    for container, init in pod.containers:
        known = status.init_container_statuses if init else status.container_statuses
        ids = (each.container_id for each in known or () if each.name == container.name)
        own = container_labels(container, init=init)
        own |= with_values({f"{META}pod_container_id": next(ids, None)})
        if not container.ports:
            yield {ADDRESS: pod.address, **own}
        for port in container.ports or ():
            address = host_port(pod.address, port.container_port)
            yield {ADDRESS: address, **own, **port_labels(port)}


# --- Nodes ----------------------------------------------------------------------------------------

_PROVIDER_ID: Final = parse_version("2.33.0")
_CONDITIONS: Final = parse_version("3.12.0")
# Before it, names of nodes were no addresses but the last.
_NODE_DNS: Final = parse_version("2.13.0")
_DNS: Final = frozenset({"InternalDNS", "ExternalDNS"})
# The first of these that a node has is the one that is scraped.
_ADDRESSES: Final = (
    "InternalIP", "InternalDNS", "ExternalIP", "ExternalDNS", "LegacyHostIP", "Hostname",
)  # fmt: skip


def node_group(node: Node, _sight: SeenObjects, version: Version) -> Group:
    """The kubelet of a node; nothing of a node without an address.

    CannotTellError where the status of the node is not known.
    """
    if node.status is None:
        raise CannotTellError(f"the address of {node.title} is not known")
    addresses: Labels = {}
    for each in node.status.addresses or ():
        addresses.setdefault(each.type, each.address)
    made = Group(node.title, _of_node(node, version), [])
    wanted = (kind for kind in _ADDRESSES if version >= _NODE_DNS or kind not in _DNS)
    address = next((addresses[kind] for kind in wanted if kind in addresses), None)
    if address is not None:
        port = node.status.daemon_endpoints.kubelet_endpoint.port
        own = {ADDRESS: host_port(address, port), "instance": node.name}
        told(own, "node_address", addresses, None)
        made.candidates = [with_values(own)]
    return made


def _of_node(node: Node, version: Version) -> Labels:
    shared = named_labels(node, "node")
    if version >= _PROVIDER_ID:
        shared |= with_values({f"{META}node_provider_id": node.spec.provider_id})
    if version >= _CONDITIONS and node.status:
        found = {each.type.lower(): each.status.lower() for each in node.status.conditions or ()}
        told(shared, "node_condition", found, None)
    return shared


# --- Services -------------------------------------------------------------------------------------

_OF_SERVICE: Final = f"{META}service_"
_PORT_NAME: Final = f"{_OF_SERVICE}port_name"
_PORT_NUMBER: Final = f"{_OF_SERVICE}port_number"
_PROTOCOL: Final = f"{_OF_SERVICE}port_protocol"
_TYPE: Final = f"{_OF_SERVICE}type"
_EXTERNAL_NAME: Final = f"{_OF_SERVICE}external_name"
CLUSTER_IP: Final = f"{_OF_SERVICE}cluster_ip"
LOAD_BALANCER_IP: Final = f"{_OF_SERVICE}loadbalancer_ip"
_SINCE: Final = {
    CLUSTER_IP: parse_version("2.7.0"),
    _EXTERNAL_NAME: parse_version("2.7.0"),
    _TYPE: parse_version("2.17.0"),
    _PORT_NUMBER: parse_version("2.38.0"),
    LOAD_BALANCER_IP: parse_version("2.39.0"),
}
# From then on it is the address that a load balancer has, before that the one asked for.
_ADDRESS_THAT_IS: Final = parse_version("3.15.0")


def service_group(service: Service, sight: SeenObjects, version: Version) -> Group:
    """One candidate for each port of a Service, by its name in the cluster's DNS."""
    shared = {f"{META}namespace": service.namespace, **named_labels(service, "service")}
    if space := sight.space(service.namespace):
        shared |= labels_of(space, "namespace")
    every = (_of_service(service, each, version) for each in service.ports)
    return Group(
        service.title,
        shared,
        [
            {name: v for name, v in each.items() if name not in _SINCE or version >= _SINCE[name]}
            for each in every
        ],
    )


def _of_service(service: Service, port: ServicePort, version: Version) -> Labels:
    spec = service.spec
    outside = spec.type == "ExternalName"
    balanced = spec.type == "LoadBalancer"
    return with_values({
        ADDRESS: host_port(f"{service.name}.{service.namespace}.svc", port.port),
        _PORT_NAME: port.name,
        _PORT_NUMBER: str(port.port),
        _PROTOCOL: port.protocol,
        _TYPE: spec.type,
        _EXTERNAL_NAME: spec.external_name if outside else None,
        CLUSTER_IP: None if outside else spec.cluster_ip,
        LOAD_BALANCER_IP: _balancer(service, version) if balanced else None,
    })  # fmt: skip


def _balancer(service: Service, version: Version) -> str | None:
    status = service.status
    given = (status and status.load_balancer.ingress) or ()
    found = [each.ip for each in given if each.ip] if version >= _ADDRESS_THAT_IS else []
    return ",".join(found) or service.spec.load_balancer_ip


# --- Ingresses ------------------------------------------------------------------------------------


def ingress_group(ingress: Ingress, sight: SeenObjects, _version: Version) -> Group:
    """One candidate for each path of an Ingress."""
    shared = {f"{META}namespace": ingress.namespace, **named_labels(ingress, "ingress")}
    shared |= with_values({f"{META}ingress_class_name": ingress.spec.ingress_class_name})
    if space := sight.space(ingress.namespace):
        shared |= labels_of(space, "namespace")
    return Group(
        ingress.title,
        shared,
        [
            with_values({
                ADDRESS: rule.host,
                f"{META}ingress_host": rule.host,
                f"{META}ingress_path": path,
                f"{META}ingress_scheme": _scheme(ingress, rule.host or ""),
            })
            for rule in ingress.spec.rules or ()
            for path in _paths(rule)
        ],
    )  # fmt: skip


def _paths(rule: IngressRule) -> list[str]:
    if rule.http is None:
        return ["/"]
    return [each.path or "/" for each in rule.http.paths or ()]


def _scheme(ingress: Ingress, host: str) -> str:
    hosts = (each for tls in ingress.spec.tls or () for each in tls.hosts or ())
    return "https" if any(_covers(each, host) for each in hosts) else "http"


def _covers(pattern: str, host: str) -> bool:
    """Whether a host is meant by a name, of which the first part may be any."""
    first, _, rest = pattern.partition(".")
    return pattern == host or (first == "*" and host.partition(".")[2] == rest and "." in host)


_Rows = dict[
    str,
    tuple[
        Callable[[TargetSources], ByNamespace[Any]], Callable[[Any, SeenObjects, Version], Group]
    ],
]
_ROLES: Final[_Rows] = {
    POD: (lambda world: world.pods, pod_group),
    ENDPOINTS: (lambda world: world.endpoints, endpoints_group),
    ENDPOINT_SLICE: (lambda world: world.slices, slice_group),
    INGRESS: (lambda world: world.ingresses, ingress_group),
    SERVICE: (lambda world: world.services, service_group),
    NODE: (lambda world: {"": world.nodes}, node_group),
}
