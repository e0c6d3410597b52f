"""What surrounds our kinds beside what targets are made of: what makes pods, and who may do what.

Whatever makes pods (a Pod itself, or the template of a Deployment) becomes a `PodGroup`, so that
targets can be counted from manifests as well as in a cluster.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import LabelSelector, ObjectMeta
from stoker.api.declare import Model
from stoker.select.labels import Selector, selector_of
from stoker.select.nodes import Placing, absence
from stoker.targets.objects import (
    SERVICE_NAME,
    ContainerPort,
    EndpointSlice,
    Ingress,
    Node,
    ObjectModel,
    Pod,
    PodSpec,
    Service,
)

FINISHED: Final = frozenset({"Failed", "Succeeded"})


def slices_of(service: Service) -> Selector:
    """What all EndpointSlices of a Service have in common."""
    return selector_of(LabelSelector(match_labels={SERVICE_NAME: service.name}))


# --- Pods -----------------------------------------------------------------------------------------


class PodTemplate(Model):
    """What pods are made from."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class PodOwnerSpec(Model):
    """How many pods there should be, and what they are made from."""

    replicas: int | None = None
    template: PodTemplate = PodTemplate()


class PodOwner(ObjectModel):
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


class CronJob(ObjectModel):
    """A CronJob, which runs pods now and then."""

    spec: CronJobSpec = CronJobSpec()


Runs: TypeAlias = Pod | PodOwner | CronJob
"""A pod, or something that makes pods."""


class PodGroup(Struct, frozen=True, kw_only=True):
    """Pods that are alike: one, or those of a template; `count` is None where it is not known.

    `unnamed` is how many containers declare no port: Prometheus takes each for one target. `nodes`
    are those that they are on, None where that is not known; `placing` says where they may be, and
    `on_each` that there is one on each of these. `made_of` is the pod itself, or the template.
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
    made_of: "Pod | PodTemplate | None" = None


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
        made_of=template,
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
    """Where pods may be, without their containers."""
    return Placing(**{name: getattr(spec, name) for name in Placing.__struct_fields__})


def _phase(found: Runs) -> str:
    return (found.status.phase or "") if isinstance(found, Pod) and found.status else ""


# --- Who may do what ------------------------------------------------------------------------------


class PolicyRule(Model):
    """Verbs on resources."""

    verbs: tuple[str, ...] | None = None
    api_groups: tuple[str, ...] | None = None
    resources: tuple[str, ...] | None = None
    resource_names: tuple[str, ...] | None = None


class Role(ObjectModel):
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


class RoleBinding(ObjectModel):
    """Gives a role in a namespace."""

    role_ref: RoleRef = RoleRef()
    subjects: tuple[Subject, ...] | None = None


class ClusterRoleBinding(RoleBinding):
    """Gives a role everywhere."""


_APPS: Final = "apps/v1"
_RBAC: Final = "rbac.authorization.k8s.io/v1"
MODELS: Final[dict[tuple[str, str], type[ObjectModel]]] = {
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


def groups_of(found: Iterable[ObjectModel]) -> tuple[PodGroup, ...]:
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


def _maker(found: ObjectModel) -> str:
    """The title of what made an object; empty if nothing did."""
    for each in found.metadata.owner_references or ():
        if each.controller:
            return f"{each.kind} {found.namespace}/{each.name}"
    return ""
