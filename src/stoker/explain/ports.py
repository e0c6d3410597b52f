"""Ports that are asked for, ports that are there, and what was probably meant."""

from collections.abc import Iterable

from msgspec import Struct

from stoker.api.monitors import PodEndpoint, ServiceEndpoint
from stoker.spelling import did_you_mean
from stoker.targets.objects import ContainerPort, Service, ServicePort
from stoker.view.wording import listed


class Wanted(Struct, frozen=True):
    """What an endpoint asks for: a port of the Service, or one of the containers, or any."""

    path: str
    field: str = ""
    port: int | str = ""

    @property
    def words(self) -> str:
        """The port, as it stands in the resource."""
        return f"{self.field} `{self.port}`" if self.field else "every port"

    @property
    def of_service(self) -> bool:
        """Whether it is a port of the Service."""
        return self.field == "port"


def wanted_of_service(endpoint: ServiceEndpoint, index: int) -> Wanted:
    """What an endpoint of a ServiceMonitor asks for; `port` wins over `targetPort`."""
    path = f"spec.endpoints[{index}]"
    if endpoint.port:
        return Wanted(path, "port", endpoint.port)
    return (
        Wanted(path, "targetPort", endpoint.target_port) if endpoint.target_port else Wanted(path)
    )


def wanted_of_pod(endpoint: PodEndpoint, index: int) -> Wanted:
    """What an endpoint of a PodMonitor asks for: `port`, then `portNumber`, then `targetPort`."""
    path = f"spec.podMetricsEndpoints[{index}]"
    for field, port in (
        ("port", endpoint.port),
        ("portNumber", endpoint.port_number),
        ("targetPort", endpoint.target_port),
    ):
        if port:
            return Wanted(path, field, port)
    return Wanted(path)


def missing_at_service(
    wanted: Wanted, service: Service, containers: Iterable[ContainerPort]
) -> str:
    """Why a Service has no port of that name; empty if it has one."""
    port, ports = str(wanted.port), service.ports
    named = [each.name for each in ports if each.name]
    if port in named:
        return ""
    start = f"port `{port}` not found"
    if not ports:
        return f"{start}; {service.title} has no ports at all"
    if not named:
        number = ports[0].port
        return f"{start}; the port {number} of {service.title} has no name: give it one"
    hint = _confusion(port, ports, containers) or did_you_mean(port, named)
    return f"{start}; {service.title} has {listed(named)}{hint}"


def _confusion(
    port: str, ports: tuple[ServicePort, ...], containers: Iterable[ContainerPort]
) -> str:
    """The port by another of its names."""
    for each in ports:
        if port == str(each.port):
            return f"; `port` takes a name, and {port} is the number of `{each.name}`"
        if port == str(each.target):
            return f"; `{port}` is the pods' port behind `{each.name}`, use that name or targetPort"
    if any(each.is_called(port) or port == str(each.container_port) for each in containers):
        return f"; the pods have `{port}`, but the Service does not lead there: use targetPort"
    return ""


def missing_at_containers(
    wanted: Wanted, containers: Iterable[ContainerPort], service: Service | None = None
) -> str:
    """Why containers declare no such port; empty if one does."""
    found = list(containers)
    if any(each.is_called(wanted.port) for each in found):
        return ""
    start = f"{wanted.field} `{wanted.port}` not found"
    for each in service.ports if service else ():
        if wanted.port in (each.port, each.name):
            return (
                f"{start} at the pods; `{wanted.port}` is the Service's port, which leads to their "
                f"`{each.target}`: use port"
            )
    if not found:
        return f"{start}; the containers declare no ports, and Prometheus sees only declared ones"
    return f"{start}; the containers declare {listed(_names(found))}{_meant(wanted, found)}"


def _names(ports: Iterable[ContainerPort]) -> list[str]:
    return [each.name or str(each.container_port) for each in ports]


def _meant(wanted: Wanted, ports: list[ContainerPort]) -> str:
    for each in ports:
        if str(wanted.port) == str(each.container_port) and isinstance(wanted.port, str):
            return f"; `{wanted.port}` is the number of `{each.name or ''}`, and text is a name"
    return did_you_mean(str(wanted.port), [each.name for each in ports if each.name])
