"""Pods of a workload and the nodes that they are on, read when somebody needs to know."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from stoker.api.core import Object, ObjectMeta
from stoker.api.declare import Model
from stoker.kube.client import Client
from stoker.kube.errors import Forbidden
from stoker.kube.resources import NODE, POD
from stoker.plan import Outline
from stoker.status.waiting import NodeState

# Where more nodes are in doubt, there is more amiss than a pod that is late.
_MOST_NODES: Final = 20


class _PodSpec(Model):
    """Where a pod is, or is to be."""

    node_name: str | None = None
    affinity: Object | None = None


class _Pod(Model):
    """What is read of a pod; the rest is most of it, and there may be one on each of many nodes."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _PodSpec = _PodSpec()
    status: Object | None = None


class _Pods(Model):
    """All pods of a workload."""

    items: tuple[_Pod, ...] = ()


class _Node(Model):
    """What is read of a node."""

    metadata: ObjectMeta = ObjectMeta()
    status: Object | None = None


class _Nodes(Model):
    """The nodes of a name: one, or none."""

    items: tuple[_Node, ...] = ()


async def pods_of(client: Client, outline: Outline) -> Sequence[Object]:
    """The pods of a workload, of whatever runs them."""
    path, query = POD.path(outline.namespace), {"labelSelector": outline.pods}
    found = await client.ask(_Pods, "GET", path, query=query)
    return [msgspec.to_builtins(each) for each in found.items]


async def states_of(client: Client, names: Iterable[str]) -> dict[str, NodeState]:
    """How nodes of these names fare; nothing of those that we cannot see, or that are many.

    They are listed, one each: that right is there where nodes are kept for kubelets.
    """
    states: dict[str, NodeState] = {}
    wanted = list(names)
    if len(wanted) > _MOST_NODES:
        return states
    path = NODE.path(None)
    for name in wanted:
        query = {"fieldSelector": f"metadata.name={name}"}
        try:
            found = await client.ask(_Nodes, "GET", path, query=query)
        except Forbidden:
            return states
        for each in found.items:
            states[name] = _state(each)
    return states


def _state(node: _Node) -> NodeState:
    for each in (node.status or {}).get("conditions") or ():
        if each.get("type") == "Ready":
            return NodeState(each.get("status") == "True", each.get("lastTransitionTime") or "")
    return NodeState(ready=False, since=node.metadata.creation_timestamp or "")
