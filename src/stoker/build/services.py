"""The headless Service that gives the pods of a StatefulSet their DNS names.

One Service serves all workloads of a kind in a namespace, so each of them owns it, none controls
it, and it selects by nothing but what runs. A user can have a Service of their own instead.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.prometheus import PrometheusSpec
from stoker.build.meta import metadata, owner_reference
from stoker.build.names import APPLICATION_NAME, application_name
from stoker.errors import WorkloadError
from stoker.select.workload import Scraper, Workload
from stoker.settings import ObjectSettings

_WEB: Final = "web"


class NamedPort(Struct, frozen=True):
    """A port of a Service; `target` names that of the container, where the two differ."""

    name: str
    number: int
    target: str = ""
    protocol: str = ""


class Governing(Struct, frozen=True):
    """The Service of a kind. The user may rename the port `web`.

    `label` is what the label `operated-…` ends in, where that is not the application.
    """

    application: str
    ports: tuple[NamedPort, ...]
    publish_not_ready: bool = False
    label: str = ""


_GRPC: Final = NamedPort("grpc", 10901)
_PROMETHEUS_WEB: Final = NamedPort(_WEB, 9090)

ALERTMANAGER: Final = Governing(
    "alertmanager",
    (
        NamedPort(_WEB, 9093, protocol="TCP"),
        NamedPort("tcp-mesh", 9094, "mesh-tcp", "TCP"),
        NamedPort("udp-mesh", 9094, "mesh-udp", "UDP"),
    ),
    # Members find each other by DNS before they are ready.
    publish_not_ready=True,
)
THANOS_RULER: Final = Governing(
    "thanos-ruler",
    (NamedPort(_WEB, 10902, protocol="TCP"), NamedPort("grpc", 10901, protocol="TCP")),
)


def governing_service(workload: Workload, scraper: Scraper, settings: ObjectSettings) -> Object:
    """The Service of Prometheus or its agent, for a workload without one of its own."""
    spec = scraper.spec
    sidecar = isinstance(spec, PrometheusSpec) and spec.thanos is not None
    ports = (_PROMETHEUS_WEB, _GRPC) if sidecar else (_PROMETHEUS_WEB,)
    # Servers and agents have one label: those of prometheus-operator have it, and users select it.
    kind = Governing(application_name(scraper), ports, label="prometheus")
    return service_of(kind, workload, settings, spec.port_name)


def shared_service(services: Sequence[Object]) -> Object:
    """The Service of workloads that each ask for one of these, the oldest first.

    Each of them asks for the same: the ports that any of them needs, and all of them as owners. So
    none undoes what another did, and the Service goes with the last. A port's number has one name,
    which the oldest workload gives it.
    """
    ports: dict[tuple[int, str], Object] = {}
    for port in (port for each in services for port in each["spec"]["ports"]):
        ports.setdefault((port["port"], port.get("protocol", "")), port)
    owners = [owner for each in services for owner in each["metadata"]["ownerReferences"]]
    first = services[0]
    return first | {
        "metadata": first["metadata"] | {"ownerReferences": owners},
        "spec": first["spec"] | {"ports": list(ports.values())},
    }


def service_of(
    kind: Governing, workload: Workload, settings: ObjectSettings, port_name: str | None
) -> Object:
    """The Service of a kind, for any workload."""
    spec: Object = {
        "clusterIP": "None",
        "selector": {APPLICATION_NAME: kind.application},
        "ports": [_port(_renamed(port, port_name)) for port in kind.ports],
    }
    if kind.publish_not_ready:
        spec["publishNotReadyAddresses"] = True
    labels = {f"operated-{kind.label or kind.application}": "true"}
    meta = metadata(workload, settings, f"{kind.application}-operated", labels=labels)
    meta["ownerReferences"] = [owner_reference(workload, sole=False)]
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


def check_custom_service(
    namespace: str,
    service_name: str,
    services: Iterable[Object],
    selector_labels: Mapping[str, str],
) -> None:
    """WorkloadError unless the user's own Service is there and selects pods with these labels."""
    path = "spec.serviceName"
    found = next((one for one in services if _is(one, namespace, service_name)), None)
    if found is None:
        raise WorkloadError(path, f"there is no Service `{service_name}` in this namespace")
    selector = (found.get("spec") or {}).get("selector") or {}
    for label, value in selector.items():
        if selector_labels.get(label) != value:
            reason = f"Service `{service_name}` does not select the pods: they have no `{label}`"
            raise WorkloadError(path, f"{reason} of `{value}`")


def _is(service: Object, namespace: str, name: str) -> bool:
    meta = service.get("metadata") or {}
    return meta.get("namespace") == namespace and meta.get("name") == name


def _renamed(port: NamedPort, name: str | None) -> NamedPort:
    return replace(port, name=name) if name and port.name == _WEB else port


def _port(port: NamedPort) -> Object:
    made: Object = {
        "name": port.name,
        "port": port.number,
        "targetPort": port.target or port.name,
    }
    return made | {"protocol": port.protocol} if port.protocol else made
