"""What surrounds our kinds: Services, endpoints, pods, Ingresses and roles, as far as we read them.

Whatever makes pods (a Pod itself, or the template of a Deployment) becomes a `PodGroup`, so that
targets can be counted from manifests as well as in a cluster.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import IntOrString, LabelSelector, ObjectMeta
from stoker.api.declare import Model, names
from stoker.ref import ref_of
from stoker.select.labels import Selector, selector_of
from stoker.select.nodes import Placing, Taint, absence

SERVICE_NAME: Final = "kubernetes.io/service-name"
"""The label of an EndpointSlice that tells its Service."""
FINISHED: Final = frozenset({"Failed", "Succeeded"})


class Named(Model):
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


# --- Services and their endpoints -----------------------------------------------------------------


class ServicePort(Model):
    """A port of a Service; `target` is the pods' port behind it."""

    name: str | None = None
    port: int = 0
    target_port: IntOrString | None = None

    @property
    def target(self) -> int | str:
        """Name or number of the port of the pods."""
        return self.target_port or self.port


class ServiceSpec(Model):
    """Which pods a Service leads to, and by which ports."""

    type: str | None = None
    ports: tuple[ServicePort, ...] | None = None
    selector: dict[str, str] | None = None


class Service(Named):
    """A Service."""

    spec: ServiceSpec = ServiceSpec()

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


class TargetRef(Model):
    """What is behind an address."""

    kind: str | None = None
    name: str | None = None


class Endpoint(Model):
    """Addresses of one thing, mostly a pod."""

    addresses: tuple[str, ...] | None = None
    target_ref: TargetRef | None = None
    node_name: str | None = None


class EndpointSlice(Named):
    """A part of the endpoints of a Service."""

    endpoints: tuple[Endpoint, ...] | None = None
    ports: tuple[EndpointPort, ...] | None = None


def slices_of(service: Service) -> Selector:
    """What all EndpointSlices of a Service have in common."""
    return selector_of(LabelSelector(match_labels={SERVICE_NAME: service.name}))


# --- Nodes ----------------------------------------------------------------------------------------


class NodeSpec(Model):
    """What keeps pods away from a node."""

    taints: tuple[Taint, ...] | None = None


class Node(Named):
    """A node; what it reports every few seconds is not read."""

    spec: NodeSpec = NodeSpec()

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

    def is_called(self, port: int | str) -> bool:
        """Whether this is its name, or its number."""
        return port == (self.name if isinstance(port, str) else self.container_port)


class Container(Model):
    """A container, as far as its ports go."""

    ports: tuple[ContainerPort, ...] | None = None


class PodSpec(Placing):
    """The containers of a pod, and where it may run."""

    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None


class PodStatus(Model, rename=names(pod_ip="podIP")):
    """How far a pod has come."""

    phase: str | None = None
    pod_ip: str | None = None


class Pod(Named):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus | None = None


class PodTemplate(Model):
    """What pods are made from."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class PodOwnerSpec(Model):
    """How many pods there should be, and what they are made from."""

    replicas: int | None = None
    template: PodTemplate = PodTemplate()


class PodOwner(Named):
    """What makes pods from a template."""

    spec: PodOwnerSpec = PodOwnerSpec()


class Deployment(PodOwner):
    """A Deployment."""


class StatefulSet(PodOwner):
    """A StatefulSet."""


class ReplicaSet(PodOwner):
    """A ReplicaSet, mostly that of a Deployment."""


class ReplicationController(PodOwner):
    """A ReplicationController."""


class DaemonSet(PodOwner):
    """A DaemonSet, which runs as many pods as there are nodes."""


class Job(PodOwner):
    """A Job, which runs pods for a while."""


class CronJobSpec(Model):
    """What Jobs are made from."""

    job_template: PodOwner = PodOwner()


class CronJob(Named):
    """A CronJob, which runs pods now and then."""

    spec: CronJobSpec = CronJobSpec()


Runs: TypeAlias = Pod | PodOwner | CronJob
"""A pod, or something that makes pods."""


class PodGroup(Struct, frozen=True, kw_only=True):
    """Pods that are alike: one, or those of a template; `count` is None where nobody can tell.

    `unnamed` is how many containers declare no port: Prometheus takes each for one target. `nodes`
    are those that they are on, None where nobody can tell; `placing` says where they may be, and
    `on_each` that there is one on each of these.
    """

    title: str
    namespace: str
    name: str
    labels: dict[str, str]
    ports: tuple[ContainerPort, ...]
    unnamed: int = 0
    count: int | None = 1
    finished: bool = False
    has_address: bool = True
    nodes: tuple[str, ...] | None = None
    placing: Placing = Placing()
    on_each: bool = False


def group_of(found: Runs) -> PodGroup:
    """The pods that an object is, or will make."""
    template = _template(found)
    containers = (*(template.spec.containers or ()), *(template.spec.init_containers or ()))
    return PodGroup(
        title=found.title,
        namespace=found.namespace,
        name=found.name,
        labels=template.metadata.labels or {},
        ports=tuple(port for each in containers for port in each.ports or ()),
        unnamed=sum(not each.ports for each in containers),
        count=_count(found),
        finished=_phase(found) in FINISHED,
        # A manifest has no status: the pod will have an address.
        has_address=not isinstance(found, Pod) or not found.status or bool(found.status.pod_ip),
        nodes=_nodes(found),
        placing=_placing(template.spec),
        on_each=isinstance(found, DaemonSet),
    )


def placed(group: PodGroup, nodes: Iterable[Node]) -> PodGroup:
    """Pods, with where they are if there is one on each of the nodes that fit."""
    if not group.on_each:
        return group
    names = tuple(each.name for each in nodes if absence(group.placing, each) is None)
    return replace(group, nodes=names, count=len(names))


def _template(found: Runs) -> Pod | PodTemplate:
    if isinstance(found, CronJob):
        return found.spec.job_template.spec.template
    return found.spec.template if isinstance(found, PodOwner) else found


def _count(found: Runs) -> int | None:
    if isinstance(found, DaemonSet | Job | CronJob):
        return None
    if isinstance(found, PodOwner):
        return 1 if found.spec.replicas is None else found.spec.replicas
    return 1


def _nodes(found: Runs) -> tuple[str, ...] | None:
    """The node of a pod that has one."""
    node = found.spec.node_name if isinstance(found, Pod) else None
    return (node,) if node else None


def _placing(spec: PodSpec) -> Placing:
    """Where pods may be; their containers are not kept with it."""
    return Placing(**{name: getattr(spec, name) for name in Placing.__struct_fields__})


def _phase(found: Runs) -> str:
    return (found.status.phase or "") if isinstance(found, Pod) and found.status else ""


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


class IngressSpec(Model):
    """What an Ingress leads to."""

    rules: tuple[IngressRule, ...] | None = None


class Ingress(Named):
    """An Ingress."""

    spec: IngressSpec = IngressSpec()

    @property
    def targets(self) -> int:
        """How many targets Prometheus makes of it: one for each path, or for a host without."""
        rules = self.spec.rules or ()
        return sum(len((rule.http and rule.http.paths) or ()) or 1 for rule in rules)


# --- Who may do what ------------------------------------------------------------------------------


class PolicyRule(Model):
    """Verbs on resources."""

    verbs: tuple[str, ...] | None = None
    api_groups: tuple[str, ...] | None = None
    resources: tuple[str, ...] | None = None
    resource_names: tuple[str, ...] | None = None


class Role(Named):
    """What is allowed in a namespace."""

    rules: tuple[PolicyRule, ...] | None = None


class AggregationRule(Model):
    """The ClusterRoles whose rules become those of another."""

    cluster_role_selectors: tuple[LabelSelector, ...] | None = None


class ClusterRole(Role):
    """What is allowed wherever it is bound; one that is aggregated gets its rules in a cluster."""

    aggregation_rule: AggregationRule | None = None


class RoleRef(Model):
    """The role that a binding gives."""

    kind: str = ""
    name: str = ""


class Subject(Model):
    """Whom a binding gives a role to."""

    kind: str = ""
    name: str = ""
    namespace: str | None = None


class RoleBinding(Named):
    """Gives a role in a namespace."""

    role_ref: RoleRef = RoleRef()
    subjects: tuple[Subject, ...] | None = None


class ClusterRoleBinding(RoleBinding):
    """Gives a role everywhere."""


_APPS: Final = "apps/v1"
_RBAC: Final = "rbac.authorization.k8s.io/v1"
MODELS: Final[dict[tuple[str, str], type[Named]]] = {
    ("v1", "Service"): Service,
    ("v1", "Pod"): Pod,
    ("v1", "Node"): Node,
    ("discovery.k8s.io/v1", "EndpointSlice"): EndpointSlice,
    (_APPS, "Deployment"): Deployment,
    (_APPS, "StatefulSet"): StatefulSet,
    (_APPS, "DaemonSet"): DaemonSet,
    (_APPS, "ReplicaSet"): ReplicaSet,
    ("v1", "ReplicationController"): ReplicationController,
    ("batch/v1", "Job"): Job,
    ("batch/v1", "CronJob"): CronJob,
    ("networking.k8s.io/v1", "Ingress"): Ingress,
    (_RBAC, "Role"): Role,
    (_RBAC, "ClusterRole"): ClusterRole,
    (_RBAC, "RoleBinding"): RoleBinding,
    (_RBAC, "ClusterRoleBinding"): ClusterRoleBinding,
}
"""The types by `apiVersion` and `kind`."""


def groups_of(found: Iterable[Named]) -> tuple[PodGroup, ...]:
    """All pods among objects, each of them once.

    Where objects come from a cluster, those that made others are among them: then the others are
    counted, for these are there, and what was made and has no pods (an old ReplicaSet) is left out.
    """
    makers = [each for each in found if isinstance(each, Runs)]
    known = {each.title for each in makers}
    groups = [(group_of(each), _maker(each)) for each in makers]
    made = [(group, maker) for group, maker in groups if maker in known and group.count != 0]
    replaced = {maker for _, maker in made}
    return tuple(
        group
        for group, maker in groups
        if group.title not in replaced and (group.count != 0 or maker not in known)
    )


def _maker(found: Named) -> str:
    """The title of what made an object; empty if nothing did."""
    for each in found.metadata.owner_references or ():
        if each.controller:
            return f"{each.kind} {found.namespace}/{each.name}"
    return ""
