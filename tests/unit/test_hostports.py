"""Ports of a node that two pods cannot both have."""

from typing import Any

import pytest

from stoker.build.hostports import HostPort, held_by, host_ports, in_each_others_way

WEB = {"name": "web", "containerPort": 9090}


def pod(*ports: Any, **spec: Any) -> dict[str, Any]:
    """The spec of a pod with one container."""
    return {"containers": [{"name": "a", "ports": list(ports)}]} | spec


def test_only_ports_of_the_node_count() -> None:
    """Those that are asked for, and on the network of the host all that are declared."""
    assert host_ports(pod(WEB)) == []
    assert host_ports(pod(WEB, hostNetwork=True)) == [HostPort(9090)]
    assert host_ports(pod(WEB | {"hostPort": 80, "protocol": "UDP"})) == [HostPort(80, "UDP")]


def test_only_containers_that_stay_count() -> None:
    """A sidecar does; what ends before the others begin gives its port back."""
    init = {"name": "b", "ports": [{"containerPort": 1, "hostPort": 1}]}
    assert host_ports(pod(initContainers=[init])) == []
    assert host_ports(pod(initContainers=[init | {"restartPolicy": "Always"}])) == [HostPort(1)]


HOST = pod(WEB, hostNetwork=True)
BOUND = pod(WEB | {"hostPort": 9090, "hostIP": "10.0.0.1"})


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (HOST, HOST, True),
        (HOST, pod(WEB), False),
        (HOST, pod(WEB | {"hostPort": 9090}), True),
        (HOST, pod(WEB | {"hostPort": 9090, "protocol": "UDP"}), False),
        (BOUND, HOST, True),
        (BOUND, BOUND, True),
        (BOUND, pod(WEB | {"hostPort": 9090, "hostIP": "10.0.0.2"}), False),
        (BOUND, pod(WEB | {"hostPort": 9090, "hostIP": "0.0.0.0"}), True),  # noqa: S104
        # It listens on the loopback address and declares nothing.
        (pod(hostNetwork=True), pod(hostNetwork=True), True),
        (HOST | {"nodeSelector": {"pool": "a"}}, HOST | {"nodeSelector": {"pool": "b"}}, False),
        (HOST | {"nodeSelector": {"pool": "a"}}, HOST | {"nodeSelector": {"zone": "b"}}, True),
    ],
)
def test_pods_that_cannot_share_a_node(
    one: dict[str, Any], other: dict[str, Any], *, meet: bool
) -> None:
    """The same port, protocol and address, on nodes that both may have."""
    assert bool(in_each_others_way(one, other)) is meet
    assert bool(in_each_others_way(other, one)) is meet


def test_the_reason_says_what_to_do() -> None:
    """Which ports, and both ways out; nothing where there is no port."""
    assert held_by([], "StatefulSet", "shop", ["prom-agent-light"]) == ""
    said = held_by([HostPort(9090), HostPort(8080)], "StatefulSet", "shop", ["prom-agent-light"])
    assert "8080/TCP, 9090/TCP" in said
    assert "kubectl -n shop delete statefulset prom-agent-light" in said
    assert "hostNetwork" in said
