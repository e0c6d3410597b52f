"""What a fake node looks like, and when it takes pods."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

# Both in the pod network, so that whatever listens inside answers at node addresses as well.
POD_PREFIX = "10.244"
NODE_PREFIX = "10.244.254"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

_ROOM = {"cpu": "4", "memory": "8Gi", "pods": "110"}
DEAD_STATUS = {
    "status": {
        "capacity": _ROOM,
        "allocatable": _ROOM,
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "KubeletNotReady",
                "message": "nobody is at home",
                "lastTransitionTime": "2026-01-31T12:00:00Z",
            }
        ],
    }
}
"""What there is to know of a node whose kubelet has gone."""

NODES = 250


def manifest(name: str, number: int, labels: Mapping[str, str]) -> dict[str, Any]:
    """Make a Node as a kubelet would register it, with an address and a range for its pods.

    The number decides both, so that they are the same in every run and no controller races for
    them (one still gives ranges to nodes made by hand).
    """
    own = 1 + number % NODES
    usual = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": ARCHITECTURES.get(platform.machine(), platform.machine()),
    }
    addresses = [
        {"type": "InternalIP", "address": f"{NODE_PREFIX}.{own}"},
        {"type": "Hostname", "address": name},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**usual, **labels}},
        "spec": {"podCIDR": f"{POD_PREFIX}.{own}.0/24"},
        "status": {"addresses": addresses},
    }


def is_usable(node: Mapping[str, Any]) -> bool:
    """Tell whether pods can be scheduled to it and get an address from the pod network."""
    spec, status = node["spec"], node.get("status", {})
    ready = any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in status.get("conditions", [])
    )
    return ready and not spec.get("taints") and "podCIDR" in spec
