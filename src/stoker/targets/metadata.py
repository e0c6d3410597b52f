"""The labels that Prometheus gives to candidates for what is known of Kubernetes' objects.

A label without a value is none: those are left out from the start.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from stoker.remembered import remembered
from stoker.targets.discovery import Labels
from stoker.targets.objects import Container, ContainerPort, ObjectModel, Pod, PodStatus

META: Final = "__meta_kubernetes_"
ADDRESS: Final = "__address__"
_PRESENT: Final = "true"
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_]")


@remembered(4 * 1024 * 1024, per_character=2)
def _meta_name(prefix: str, present: str, key: str) -> tuple[str, str]:
    """The name of the label for a key of a map, and of the one that says that there is one."""
    name = _NOT_IN_NAMES.sub("_", key)
    return f"{META}{prefix}_{name}", f"{META}{prefix}{present}_{name}"


def present_and_value(prefix: str, key: str) -> tuple[str, str]:
    """The names of the labels that say what an object has under a key of a map, and that it has."""
    return _meta_name(prefix, "present", key)


def with_values(pairs: Mapping[str, str | None]) -> Labels:
    """Those that have a value."""
    return {name: value for name, value in pairs.items() if value}


def told(
    labels: Labels, prefix: str, values: Mapping[str, str] | None, present: str | None = "present"
) -> None:
    """Add a map of an object; `present` is what the names of labels have that say so, if any do.

    Where two keys look alike as names of labels, Prometheus takes one of the two at random.
    """
    for key, value in (values or {}).items():
        name, there = _meta_name(prefix, present or "", key)
        if present is not None:
            labels[there] = _PRESENT
        if value:
            labels[name] = value
        else:
            labels.pop(name, None)


def labels_of(found: ObjectModel, kind: str) -> Labels:
    """Labels and annotations of an object."""
    labels: Labels = {}
    told(labels, f"{kind}_label", found.metadata.labels)
    told(labels, f"{kind}_annotation", found.metadata.annotations)
    return labels


def named_labels(found: ObjectModel, kind: str) -> Labels:
    """Its name, labels and annotations."""
    return {f"{META}{kind}_name": found.name, **labels_of(found, kind)}


def pod_labels(pod: Pod) -> Labels:
    """What is known of a pod, less its namespace."""
    status = pod.status or PodStatus()
    kind, name = pod.controller
    labels = with_values({
        f"{META}pod_ip": status.pod_ip,
        f"{META}pod_ready": _readiness(status),
        f"{META}pod_phase": status.phase,
        f"{META}pod_node_name": pod.node,
        f"{META}pod_host_ip": status.host_ip,
        f"{META}pod_uid": pod.metadata.uid,
        f"{META}pod_controller_kind": kind,
        f"{META}pod_controller_name": name,
    })  # fmt: skip
    return {**labels, **named_labels(pod, "pod")}


def _readiness(status: PodStatus) -> str:
    for each in status.conditions or ():
        if each.type == "Ready":
            return each.status.lower()
    return "unknown"


def container_labels(container: Container, *, init: bool) -> Labels:
    """What is known of a container."""
    return with_values({
        f"{META}pod_container_name": container.name,
        f"{META}pod_container_image": container.image,
        f"{META}pod_container_init": "true" if init else "false",
    })  # fmt: skip


def port_labels(port: ContainerPort) -> Labels:
    """What is known of a port that a container declares."""
    return with_values({
        f"{META}pod_container_port_name": port.name,
        f"{META}pod_container_port_number": str(port.container_port),
        f"{META}pod_container_port_protocol": port.protocol,
    })  # fmt: skip


def host_port(host: str, port: int) -> str:
    """An address as Prometheus writes it."""
    return f"[{host}]:{port}" if ":" in host or "%" in host else f"{host}:{port}"


def declared_ports(
    pod: Pod, *, init: bool = True
) -> Iterator[tuple[Container, ContainerPort, bool]]:
    """All ports that the containers of a pod declare."""
    for container, is_init in pod.containers:
        if init or not is_init:
            for port in container.ports or ():
                yield container, port, is_init
