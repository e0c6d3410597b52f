"""What an operator asks of the API server that finds the targets of all nodes (`bench watches`).

All that it asks goes through a proxy that counts, like what an agent asks that finds its targets by
itself. Counted is what it asks for portions: pods, Services, EndpointSlices and nodes of the whole
cluster, whose tokens are, and on which node their pods are.
"""

import re
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import Struct
from yarl import URL

from bench.asking import authority, flags, make_home, put_on_nodes
from bench.crowd import Crowd, allow_files
from bench.process import OURS, compile_ours, running_operator
from tests.live.faults import Gateway
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.ports import held_port
from tools.waiting import until

_ASKED: Final = re.compile(
    r"/api/v1/(?:pods|services)|/apis/discovery\.k8s\.io/v1/endpointslices"
    r"|/apis/authentication\.k8s\.io/v1/tokenreviews|/api/v1/namespaces/[^/]+/pods/[^/]+"
)
# What nodes report is much, and has nothing to do with pods: it counts in the beginning alone.
_NODES: Final = "/api/v1/nodes"
# Nothing came for so long: all is told.
_QUIET_SECONDS: Final = 3

Object = dict[str, Any]


class Handed(Struct, frozen=True):
    """What one operator asked for all nodes, and what a node asked it for.

    `watches`   at the API server, by the operator; agents have none
    `begun`     bytes until it knew everything
    `asked`     bytes because all nodes asked: whose tokens are, and where their pods
    `alone`     bytes for pods that are replaced, before any node asks
    `changed`   the same while all nodes listen
    `sent`      bytes of files that all nodes were sent together
    """

    watches: int
    begun: int
    asked: int
    alone: int
    changed: int
    sent: int

    @property
    def ratio(self) -> float:
        """How many times as much a pod costs while all nodes listen as before any asks."""
        return self.changed / max(self.alone, 1)


def handed(
    cluster: Cluster, gateway: Gateway, monitors: Iterable[Object], replace_pods: Callable[[], None]
) -> Handed:
    """Have an operator find the targets of these monitors for all nodes of a cluster."""
    nodes, port = len(cluster.api.get("/api/v1/nodes")["items"]), held_port()
    allow_files(nodes)
    compile_ours()
    install_crds(cluster)
    make_home(cluster)
    for each in monitors:
        group, space = each["apiVersion"], each["metadata"]["namespace"]
        path = f"/apis/{group}/namespaces/{space}/{each['kind'].lower()}s"
        cluster.api.request("POST", path, each)
    command = [*OURS, *flags(port)]
    with running_operator(command, cluster, status=False):
        tokens = put_on_nodes(cluster, nodes)
    gateway.seen.clear()
    gateway.carried.clear()
    # One that finds all of it there, as an agent does.
    with running_operator(command, cluster, status=False, kubeconfig=gateway.kubeconfig):
        begun = _quiet(gateway) + _carried(gateway, is_of_nodes)
        alone = _cost(gateway, replace_pods)
        before = _quiet(gateway)
        with Crowd(port, authority(cluster), tokens) as crowd:
            until("all nodes to be told", lambda: crowd.told_since(0) == nodes, seconds=900)
            asked = _quiet(gateway) - before
            changed = _cost(gateway, replace_pods)
            sent = crowd.bytes
        watches = {each.path for each in gateway.seen if _is_watch(each) and _is_asked(each)}
    return Handed(len(watches), begun, asked, alone, changed, sent)


def _cost(gateway: Gateway, change: Callable[[], None]) -> int:
    before = _quiet(gateway)
    change()
    return _quiet(gateway) - before


def is_of_nodes(url: URL) -> bool:
    """Whether nodes are asked for."""
    return url.path == _NODES


def _is_asked(url: URL) -> bool:
    return is_of_nodes(url) or bool(_ASKED.fullmatch(url.path))


def _is_watch(url: URL) -> bool:
    return url.query.get("watch") in ("1", "true")


def _carried(gateway: Gateway, counts: Callable[[URL], object]) -> int:
    return sum(size for url, size in list(gateway.carried.items()) if counts(url))


def _quiet(gateway: Gateway) -> int:
    """The bytes so far of all but nodes, once there are some and no more come."""
    last = [0, time.monotonic()]

    def quiet() -> int:
        total = _carried(gateway, lambda url: _ASKED.fullmatch(url.path))
        if total != last[0]:
            last[:] = [total, time.monotonic()]
        return total if time.monotonic() - last[1] > _QUIET_SECONDS else 0

    return until("quiet", quiet, seconds=300)
