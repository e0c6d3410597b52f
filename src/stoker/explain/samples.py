"""The objects that targets are made of, as far as they are known: read in a cluster, else samples.

Manifests say what pods are made from. One sample stands for all pods of a template, with a name and
an address that no pod has; the answer says in its place what they are called and where they are.
What Kubernetes makes of a Service, its endpoints, is made of these pods.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import OwnerReference
from stoker.targets.metadata import declared_ports
from stoker.targets.objects import (
    SERVICE_NAME,
    Endpoint,
    EndpointAddress,
    EndpointConditions,
    EndpointPort,
    Endpoints,
    EndpointSlice,
    EndpointSubset,
    Pod,
    PodCondition,
    PodStatus,
    Service,
    TargetRef,
)
from stoker.view.objects import FINISHED, PodGroup

_RUNNING: Final = (PodCondition(type="Ready", status="True"),)
# What each pod will have, and no manifest says.
_HOST, _NODE, _UID, _ZONE = "<host>", "<node>", "<uid>", "<zone>"
_MAKERS: Final = {"Deployment": "ReplicaSet", "CronJob": "Job"}


class Sample(Struct, frozen=True):
    """A pod, and what of it is made up: it stands for `count` pods, None where it is not known."""

    pod: Pod
    count: int | None = 1
    made_up: Mapping[str, str] = {}
    """Texts that stand for others, with what to say in their place."""

    def stands_in(self, values: Iterable[str]) -> bool:
        """Whether something of these is made up, so that each of the pods has its own."""
        return any(text in value for value in values for text in self.made_up)

    def told(self, value: str) -> str:
        """A value, with what is made up called so."""
        for text, words in self.made_up.items():
            value = value.replace(text, words)
        return value


def sample_of(group: PodGroup, number: int) -> Sample | None:
    """A pod of a group; None where it has none."""
    made_of = group.made_of
    if made_of is None or group.count == 0:
        return None
    if isinstance(made_of, Pod):
        return Sample(made_of) if made_of.status else _sample(group, made_of, group.name, number)
    name = f"{group.name}-0"
    owner = group.title.partition(" ")[0]
    reference = OwnerReference(
        kind=_MAKERS.get(owner, owner), name=group.name, api_version="", uid="", controller=True
    )
    pod = Pod(
        metadata=replace(
            made_of.metadata,
            name=name,
            namespace=group.namespace,
            owner_references=(reference,),
        ),
        spec=made_of.spec,
    )
    return _sample(group, pod, name, number)


def _sample(group: PodGroup, pod: Pod, name: str, number: int) -> Sample:
    # Addresses for examples: no pod has one of them.
    address = f"192.0.{2 + number // 250}.{1 + number % 250}"
    status = PodStatus(phase="Running", pod_ip=address, host_ip=_HOST, conditions=_RUNNING)
    told = {each: each for each in (_HOST, _UID, _ZONE)}
    if not isinstance(group.made_of, Pod):
        told[name] = f"{group.name}-…"
    if not pod.node:
        told[_NODE] = _NODE
    pod = replace(
        pod,
        metadata=replace(pod.metadata, uid=_UID),
        spec=replace(pod.spec, node_name=pod.node or _NODE),
        status=status,
    )
    return Sample(pod, group.count, {address: "<address>", **told})


# --- Endpoints ------------------------------------------------------------------------------------


def made_slices(service: Service, pods: Sequence[Pod]) -> Iterator[EndpointSlice]:
    """The slices that Kubernetes would make for a Service of these pods, one for each pod."""
    for pod in pods:
        if not pod.address or (pod.status and pod.status.phase in FINISHED):
            continue
        ready = pod.status is not None and pod.status.phase == "Running"
        endpoint = Endpoint(
            addresses=(pod.address,),
            conditions=EndpointConditions(ready=ready, serving=ready, terminating=False),
            target_ref=TargetRef(kind="Pod", namespace=pod.namespace, name=pod.name),
            node_name=pod.node or None,
            zone=_ZONE if pod.metadata.uid == _UID else None,
        )
        yield EndpointSlice(
            metadata=replace(
                service.metadata,
                name=f"{service.name}-{pod.name}",
                labels={**service.labels, SERVICE_NAME: service.name},
                annotations=None,
            ),
            address_type="IPv6" if ":" in pod.address else "IPv4",
            endpoints=(endpoint,),
            ports=tuple(_resolved(service, pod)),
        )


def _resolved(service: Service, pod: Pod) -> Iterator[EndpointPort]:
    """The ports of a Service that a pod has; one that is named by a number needs no declaration."""
    for port in service.ports:
        number = port.target
        if isinstance(number, str):
            named = (own for _, own, _ in declared_ports(pod) if own.is_called(port.target))
            number = next((own.container_port for own in named), 0)
        if number:
            yield EndpointPort(name=port.name, port=number, protocol=port.protocol or "TCP")


def old_endpoints(service: Service, slices: Iterable[EndpointSlice]) -> Endpoints:
    """The Endpoints that Kubernetes has beside the slices of a Service: of one family of addresses.

    Pods that are going have no place in them.
    """
    families = service.spec.ip_families or ()
    ready: defaultdict[tuple[EndpointPort, ...], list[EndpointAddress]] = defaultdict(list)
    others: defaultdict[tuple[EndpointPort, ...], list[EndpointAddress]] = defaultdict(list)
    for each in slices:
        if families and each.address_type != families[0]:
            continue
        for endpoint in each.endpoints or ():
            is_ready = endpoint.conditions.ready is not False
            if is_ready or not endpoint.conditions.terminating:
                found = ready if is_ready else others
                found[each.ports or ()] += _addresses(endpoint)
    return Endpoints(
        metadata=replace(service.metadata, annotations=None),
        subsets=tuple(
            EndpointSubset(
                addresses=tuple(ready[ports]), not_ready_addresses=tuple(others[ports]), ports=ports
            )
            for ports in dict.fromkeys((*ready, *others))
        ),
    )


def _addresses(endpoint: Endpoint) -> list[EndpointAddress]:
    return [
        EndpointAddress(
            ip=each,
            hostname=endpoint.hostname,
            node_name=endpoint.node_name,
            target_ref=endpoint.target_ref,
        )
        for each in endpoint.addresses or ()
    ]
