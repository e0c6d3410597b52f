"""Replicas of the operator that act under names of their own.

So the API server's audit log tells which of them wrote.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.live.operating import Running, World
from tools.audit import Write
from tools.cluster import Cluster

Replica = Callable[[str], Running]


@contextmanager
def replicas(world: World) -> Iterator[Replica]:
    """Give a function that starts replicas for a namespace, each under the name it is given."""
    with ExitStack() as stack:

        def start(user: str) -> Running:
            path = as_user(world.cluster, f"{user}-{world.namespace}")
            flags = f"--namespaces={world.namespace}"
            return stack.enter_context(Running.start(world.cluster, flags, kubeconfig=path))

        yield start


def as_user(cluster: Cluster, user: str) -> Path:
    """A kubeconfig by which the administrator acts under another name."""
    document = json.loads(cluster.kubeconfig.read_text())
    document["users"][0]["user"] |= {"as": user, "as-groups": ["system:masters"]}
    path = cluster.directory / f"kubeconfig-{user}"
    path.write_text(json.dumps(document))
    return path


def leads(operator: Running) -> bool:
    """Whether a replica does the work."""
    return operator.metric("prometheus_operator_ready", controller="prometheus") == 1


def reconciles(operator: Running) -> float:
    """How often a replica has looked at a workload."""
    return operator.metric("prometheus_operator_reconcile_operations_total")


def writes(world: World, mark: int, user: str = "") -> list[Write]:
    """What operators wrote since a mark, but for the Lease: all of them in this namespace."""
    found = world.cluster.audit.since(mark, "stoker")
    name = f"{user}-{world.namespace}"
    return [each for each in found if each.resource != "leases" and each.user.endswith(name)]
