"""The candidates that Prometheus makes of one object: a pod, an Ingress; endpoints lie beside."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from stoker.targets.discovery import (
    ENDPOINT_SLICE,
    ENDPOINTS,
    INGRESS,
    POD,
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
    with_values,
)
from stoker.targets.objects import ByNamespace, Ingress, IngressRule, Pod, PodStatus, TargetSources
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
    for sight in sights(world, discovery):
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
}
