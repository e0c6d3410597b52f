"""What is kept of Kubernetes' objects: whatever becomes a label of a target, and nothing else."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct, field

from stoker.api.core import LabelSelector, ObjectMeta
from stoker.api.declare import Model, names
from stoker.ref import ref_of
from stoker.select.labels import Selector, selector_of
from stoker.select.nodes import Placing, Taint

SERVICE_NAME: Final = "kubernetes.io/service-name"
"""The label of an EndpointSlice that tells its Service."""


class ObjectModel(Model):
    """Anything with metadata."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def title(self) -> str:
        """Kind, namespace and name."""
        return str(ref_of(self))

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.metadata.namespace or ""

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name or ""

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return self.metadata.labels or {}

    @property
    def controller(self) -> tuple[str, str]:
        """Kind and name of what made it and looks after it; empty if nothing does."""
        for each in self.metadata.owner_references or ():
            if each.controller:
                return each.kind, each.name
        return "", ""


class Namespace(ObjectModel):
    """A namespace."""


# --- Services and their endpoints -----------------------------------------------------------------


class ServicePort(Model):
    """A port of a Service; `target` is the pods' port behind it."""

    name: str | None = None
    port: int = 0
    protocol: str | None = None
    target_port: int | str | None = None

    @property
    def target(self) -> int | str:
        """Name or number of the port of the pods."""
        return self.target_port or self.port


class ServiceSpec(Model, rename=names(cluster_ip="clusterIP", load_balancer_ip="loadBalancerIP")):
    """Which pods a Service leads to, by which ports, and how it is reached."""

    type: str | None = None
    cluster_ip: str | None = None
    external_name: str | None = None
    load_balancer_ip: str | None = None
    ports: tuple[ServicePort, ...] | None = None
    selector: dict[str, str] | None = None
    ip_family_policy: str | None = None
    ip_families: tuple[str, ...] | None = None


class LoadBalancerIngress(Model):
    """An address by which a load balancer is reached."""

    ip: str | None = None


class LoadBalancerStatus(Model):
    """How a load balancer is reached."""

    ingress: tuple[LoadBalancerIngress, ...] | None = None


class ServiceStatus(Model):
    """What became of a Service."""

    load_balancer: LoadBalancerStatus = LoadBalancerStatus()


class Service(ObjectModel):
    """A Service."""

    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus | None = None

    @property
    def ports(self) -> tuple[ServicePort, ...]:
        """Its ports."""
        return self.spec.ports or ()

    @property
    def pods(self) -> Selector | None:
        """The pods that it leads to; None where somebody else writes its endpoints."""
        if not self.spec.selector:
            return None
        return selector_of(LabelSelector(match_labels=self.spec.selector))


class EndpointPort(Model):
    """A port of all endpoints of a slice."""

    name: str | None = None
    port: int | None = None
    protocol: str | None = None
    app_protocol: str | None = None


class TargetRef(Model):
    """What is behind an address."""

    kind: str | None = None
    namespace: str | None = None
    name: str | None = None


class EndpointConditions(Model):
    """What can be said of an endpoint; what is absent is not known."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class Endpoint(Model):
    """Addresses of one thing, mostly a pod."""

    addresses: tuple[str, ...] | None = None
    conditions: EndpointConditions = EndpointConditions()
    hostname: str | None = None
    target_ref: TargetRef | None = None
    node_name: str | None = None
    zone: str | None = None
    deprecated_topology: dict[str, str] | None = None


class EndpointSlice(ObjectModel):
    """A part of the endpoints of a Service."""

    address_type: str | None = None
    endpoints: tuple[Endpoint, ...] | None = None
    ports: tuple[EndpointPort, ...] | None = None


class EndpointAddress(Model):
    """An address in Endpoints."""

    ip: str = ""
    hostname: str | None = None
    node_name: str | None = None
    target_ref: TargetRef | None = None


class EndpointSubset(Model):
    """Addresses that have the same ports."""

    addresses: tuple[EndpointAddress, ...] | None = None
    not_ready_addresses: tuple[EndpointAddress, ...] | None = None
    ports: tuple[EndpointPort, ...] | None = None


class Endpoints(ObjectModel):
    """All endpoints of a Service, as they were written before there were slices."""

    subsets: tuple[EndpointSubset, ...] | None = None


# --- Nodes ----------------------------------------------------------------------------------------


class NodeSpec(Model, rename=names(provider_id="providerID")):
    """What keeps pods away from a node, and what its cloud calls it."""

    taints: tuple[Taint, ...] | None = None
    provider_id: str | None = None


class ReportedAddress(Model):
    """An address of a node."""

    type: str = ""
    address: str = ""


class NodeCondition(Model):
    """Something that holds of a node, or does not."""

    type: str = ""
    status: str = ""


class KubeletEndpoint(Model, rename=names(port="Port")):
    """Where a kubelet listens."""

    port: int = 0


class DaemonEndpoints(Model):
    """Where what runs on a node by itself listens."""

    kubelet_endpoint: KubeletEndpoint = KubeletEndpoint()


class NodeStatus(Model):
    """How a node is reached, and how it is."""

    addresses: tuple[ReportedAddress, ...] | None = None
    conditions: tuple[NodeCondition, ...] | None = None
    daemon_endpoints: DaemonEndpoints = DaemonEndpoints()


class Node(ObjectModel):
    """A node; `status` is None where nobody has reported it, as in a manifest."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus | None = None

    @property
    def title(self) -> str:
        """Kind and name: nodes are in no namespace."""
        return f"Node {self.name}"

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Its taints."""
        return self.spec.taints or ()


# --- Pods -----------------------------------------------------------------------------------------


class ContainerPort(Model):
    """A port that a container declares."""

    name: str | None = None
    container_port: int = 0
    protocol: str | None = None

    def is_called(self, port: int | str) -> bool:
        """Whether this is its name, or its number."""
        return port == (self.name if isinstance(port, str) else self.container_port)


class Container(Model):
    """A container, as far as its ports go."""

    name: str = ""
    image: str | None = None
    ports: tuple[ContainerPort, ...] | None = None


class PodSpec(Placing):
    """The containers of a pod, and where it may run."""

    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None


class ContainerStatus(Model, rename=names(container_id="containerID")):
    """Which container runs under a name."""

    name: str = ""
    container_id: str | None = None


class PodCondition(Model):
    """Something that holds of a pod, or does not."""

    type: str = ""
    status: str = ""


class PodStatus(Model, rename=names(pod_ip="podIP", host_ip="hostIP")):
    """How far a pod has come."""

    phase: str | None = None
    pod_ip: str | None = None
    host_ip: str | None = None
    conditions: tuple[PodCondition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None


class Pod(ObjectModel):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus | None = None

    @property
    def address(self) -> str:
        """Its address; empty as long as it has none."""
        return (self.status and self.status.pod_ip) or ""

    @property
    def node(self) -> str:
        """The node that it is on; empty as long as it is on none."""
        return self.spec.node_name or ""

    @property
    def containers(self) -> Iterator[tuple[Container, bool]]:
        """Its containers, and whether each is one that runs first."""
        for each in self.spec.containers or ():
            yield each, False
        for each in self.spec.init_containers or ():
            yield each, True


# --- Ingresses ------------------------------------------------------------------------------------


class IngressPath(Model):
    """A path of a host."""

    path: str | None = None


class IngressHttp(Model):
    """The paths of a host."""

    paths: tuple[IngressPath, ...] | None = None


class IngressRule(Model):
    """A host and its paths."""

    host: str | None = None
    http: IngressHttp | None = None


class IngressTls(Model):
    """Hosts that are reached by TLS."""

    hosts: tuple[str, ...] | None = None


class IngressSpec(Model):
    """What an Ingress leads to."""

    ingress_class_name: str | None = None
    rules: tuple[IngressRule, ...] | None = None
    tls: tuple[IngressTls, ...] | None = None


class Ingress(ObjectModel):
    """An Ingress."""

    spec: IngressSpec = IngressSpec()

    @property
    def targets(self) -> int:
        """How many targets Prometheus makes of it: one for each path, or for a host without."""
        rules = self.spec.rules or ()
        return sum(len((rule.http and rule.http.paths) or ()) or 1 for rule in rules)


# --- All together ---------------------------------------------------------------------------------

N = TypeVar("N", bound=ObjectModel)
ByNamespace: TypeAlias = Mapping[str, Mapping[str, N]]
"""Objects of a kind by namespace and name."""


class TargetSources(Struct, frozen=True, kw_only=True):
    """The objects that targets are made from, by namespace and name; nodes are in no namespace."""

    pods: ByNamespace[Pod] = field(default_factory=dict)
    services: ByNamespace[Service] = field(default_factory=dict)
    slices: ByNamespace[EndpointSlice] = field(default_factory=dict)
    endpoints: ByNamespace[Endpoints] = field(default_factory=dict)
    ingresses: ByNamespace[Ingress] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    namespaces: Mapping[str, Namespace] = field(default_factory=dict)


def by_place(found: Iterable[N]) -> dict[str, dict[str, N]]:
    """Objects of a kind by namespace and name."""
    placed: dict[str, dict[str, N]] = {}
    for each in found:
        placed.setdefault(each.namespace, {})[each.name] = each
    return placed
