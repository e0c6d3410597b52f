"""The kubelets' Service on a real control plane: it follows nodes and is not written in vain."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest
from msgspec.structs import replace

from stoker.kube import access
from stoker.kube.client import Client
from stoker.operator.kubelet import Kubelets
from stoker.settings import KubeletSettings, ObjectSettings
from stoker.web.operator_metrics import OperatorMetrics
from tests.live.operating import Running, World
from tools.api import kubeconfig
from tools.audit import Write
from tools.cluster import Cluster
from tools.nodes import NODE_PREFIX
from tools.waiting import DEADLINE

Object = dict[str, Any]

NODES = "prometheus_operator_node_"
SYNCS = f"{NODES}syncs_total"
# So often that a write at each look would be seen many times over.
OFTEN = 0.1
LOOKS = 5


class Nodes:
    """Nodes of one test, told from all others by a label."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._label = namespace
        self.names: list[str] = []
        self.selector = f"kubelets={namespace}"

    def add(self, name: str) -> str:
        """Add a node and wait until it is ready; its address."""
        full = f"{self._label}-{name}"
        self._cluster.add_node(full, {"kubelets": self._label})
        self.names.append(full)
        found = self._cluster.api.get(f"/api/v1/nodes/{full}")["status"]["addresses"]
        return str(next(one["address"] for one in found if one["type"] == "InternalIP"))

    def remove(self, name: str) -> None:
        """Remove a node."""
        full = f"{self._label}-{name}"
        self._cluster.remove_node(full)
        self.names.remove(full)

    def patch(self, name: str, patch: Object, *options: str) -> None:
        """Change a node, as kubelets do."""
        full = f"{self._label}-{name}"
        self._cluster.kubectl("patch", "node", full, *options, "-p", json.dumps(patch))

    def move(self, name: str, address: str) -> None:
        """Give a node another address."""
        patch = {"status": {"addresses": [{"type": "InternalIP", "address": address}]}}
        self.patch(name, patch, "--subresource=status", "--type=merge")


class Keeping:
    """The loop alone, in a thread of this process; it ends with the block."""

    numbers = itertools.count()

    def __init__(
        self, cluster: Cluster, settings: KubeletSettings, identity: Path | None = None
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._kubeconfig = identity or cluster.kubeconfig
        self._agent = f"kubelet-test-{next(self.numbers)}/1"
        self._metrics = OperatorMetrics()
        self._mark = cluster.audit.mark()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with Client(access.kubeconfig(self._kubeconfig), user_agent=self._agent) as client:
            kubelets = Kubelets(client, self._settings, ObjectSettings(), self._metrics)
            running = asyncio.create_task(kubelets.run())
            stopping = asyncio.create_task(self._stop.wait())
            await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(DEADLINE)

    def looks(self, resource: str, *, failed: bool = False) -> int:
        """How often this kind of object was looked at."""
        name = f"{NODES}syncs_failed_total" if failed else SYNCS
        start = f'{name}{{resource="{resource}"}} '
        lines = self._metrics.registry.text().splitlines()
        return sum(int(float(line.removeprefix(start))) for line in lines if line.startswith(start))

    def wait(self, resource: str, more: int = 1) -> None:
        """Wait until it has looked some more times."""
        goal = self.looks(resource) + more
        self._cluster.until("another look", lambda: self.looks(resource) >= goal)

    def written(self) -> list[str]:
        """What it has written since it began, or since this was asked."""
        mark, self._mark = self._mark, self._cluster.audit.mark()
        return [said(one) for one in self._cluster.audit.since(mark, self._agent)]


def said(write: Write) -> str:
    """A write in two words."""
    return f"{write.verb} {write.resource}"


@pytest.fixture
def nodes(cluster: Cluster, namespace: str) -> Iterator[Nodes]:
    """A place for nodes; they are removed afterwards."""
    made = Nodes(cluster, namespace)
    yield made
    for name in made.names:
        cluster.remove_node(name)


@pytest.fixture
def place(cluster: Cluster, namespace: str) -> World:
    """A namespace, without our definitions."""
    return World(cluster, namespace)


def settings_for(place: World, nodes: Nodes, **more: Any) -> KubeletSettings:
    """Both kinds of lists, and no look but for changes."""
    own: Object = {
        "namespace": place.namespace,
        "name": "kubelet",
        "node_selector": nodes.selector,
        "endpoint_slices": True,
        "sync_seconds": 3600.0,
    }
    return KubeletSettings(**own | more)


def endpoints(world: World) -> list[str]:
    """The addresses in Endpoints."""
    found = world.get("endpoints", "kubelet") or {}
    return sorted(one["ip"] for each in found.get("subsets") or () for one in each["addresses"])


def own_slices(world: World) -> list[Object]:
    """The slices that are ours."""
    label = "endpointslice.kubernetes.io/managed-by"
    found = world.list("endpointslices")
    return [one for one in found if one["metadata"]["labels"].get(label) == "prometheus-operator"]


def sliced(world: World, *, ready: bool = True) -> list[str]:
    """The addresses in our slices that are ready, or are not."""
    return sorted(
        one["addresses"][0]
        for each in own_slices(world)
        for one in each["endpoints"] or ()
        if one["conditions"]["ready"] is ready
    )


def until_listed(world: World, *addresses: str) -> None:
    """Wait until both kinds of lists have these addresses and no others."""
    wanted = sorted(addresses)
    world.until(f"{wanted} in both lists", lambda: endpoints(world) == wanted == sliced(world))


def test_the_operator_keeps_the_kubelets_as_a_service(world: World, nodes: Nodes) -> None:
    """Nodes appear, move and vanish in both lists; a node's report of nothing new is no work."""
    first, second = nodes.add("a"), nodes.add("b")
    flags = (
        f"--namespaces={world.namespace}",
        f"--kubelet-service={world.namespace}/kubelet",
        f"--kubelet-selector={nodes.selector}",
        "--kubelet-endpointslice=true",
    )
    with Running.start(world.cluster, *flags) as operator:
        until_listed(world, first, second)
        service = world.get("service", "kubelet")
        assert service
        assert service["spec"]["clusterIP"] == "None"
        assert {port["name"]: port["port"] for port in service["spec"]["ports"]} == {
            "https-metrics": 10250,
            "http-metrics": 10255,
            "cadvisor": 4194,
        }
        name = "prometheus_operator_kubelet_managed_resource"
        world.until("both to be counted", lambda: operator.metric(name) == 2)

        # One for each kind.
        world.until("the look to end", lambda: operator.metric(SYNCS) >= 2)
        looks, mark = operator.metric(SYNCS), world.cluster.audit.mark()
        for number in range(10):
            at = f"2030-01-01T00:00:{number:02}Z"
            beat = {"type": "Ready", "status": "True", "lastHeartbeatTime": at}
            nodes.patch("a", {"status": {"conditions": [beat]}}, "--subresource=status")
            nodes.patch("b", {"metadata": {"annotations": {"beat": str(number)}}})
        moved = f"{NODE_PREFIX}.251"
        nodes.move("a", moved)
        until_listed(world, moved, second)
        world.until("the look to end", lambda: operator.metric(SYNCS) >= looks + 2)
        assert operator.metric(SYNCS) == looks + 2
        written = world.cluster.audit.since(mark, "stoker")
        about = sorted(said(one) for one in written if one.resource != "leases")
        assert about == ["patch endpoints", "patch endpointslices"]
        # The node is well again at once: kwok sees to that.
        silent = {"type": "Ready", "status": "Unknown"}
        nodes.patch("b", {"status": {"conditions": [silent]}}, "--subresource=status")
        world.until("another look", lambda: operator.metric(SYNCS) >= looks + 4)

        third = nodes.add("c")
        until_listed(world, moved, second, third)
        nodes.remove("b")
        until_listed(world, moved, third)


def test_what_somebody_deletes_or_changes_comes_back(place: World, nodes: Nodes) -> None:
    """Each of the objects; slices belong to the new Service then. Nobody waits for a period."""
    address = nodes.add("a")
    with Keeping(place.cluster, settings_for(place, nodes)):
        until_listed(place, address)
        place.delete("endpoints", "kubelet")
        place.until("Endpoints again", lambda: endpoints(place) == [address])
        place.delete("endpointslice", own_slices(place)[0]["metadata"]["name"])
        place.until("a slice again", lambda: sliced(place) == [address])
        place.patch("endpoints", "kubelet", {"subsets": None})
        place.until("an address again", lambda: endpoints(place) == [address])
        place.patch("service", "kubelet", {"metadata": {"labels": {"k8s-app": "other"}}})
        place.until("the label", lambda: labels(place, "service")["k8s-app"] == "kubelet")
        before = place.get("service", "kubelet")
        assert before
        place.delete("service", "kubelet")

        def is_back() -> bool:
            service = place.get("service", "kubelet")
            assert service
            owners = [one["metadata"]["ownerReferences"][0]["uid"] for one in own_slices(place)]
            own = service["metadata"]["uid"]
            assert own != before["metadata"]["uid"]
            return owners == [own] and endpoints(place) == [address] == sliced(place)

        place.until("everything of a new Service", is_back)


def labels(world: World, kind: str) -> dict[str, str]:
    """The labels of an object."""
    found = world.get(kind, "kubelet")
    assert found
    own: dict[str, str] = found["metadata"]["labels"]
    return own


def test_looks_and_restarts_write_nothing_and_what_is_turned_off_goes(
    place: World, nodes: Nodes
) -> None:
    """Defect 15: nothing is written while nothing changes. Lists follow the flags."""
    address = nodes.add("a")
    both = settings_for(place, nodes, sync_seconds=OFTEN)
    with Keeping(place.cluster, both) as first:
        until_listed(place, address)
        first.wait("endpointslice", 1)
        assert first.written() == ["patch services", "patch endpoints", "patch endpointslices"]
        first.wait("endpointslice", LOOKS)
        assert first.written() == []
    with Keeping(place.cluster, both) as again:
        again.wait("endpointslice", LOOKS)
        assert again.written() == []
    with Keeping(place.cluster, replace(both, endpoints=False)) as only_slices:
        place.until("no Endpoints", lambda: place.get("endpoints", "kubelet") is None)
        only_slices.wait("endpointslice", LOOKS)
        assert only_slices.written() == ["delete endpoints"]
        assert sliced(place) == [address]
    with Keeping(place.cluster, replace(both, endpoint_slices=False)) as only_endpoints:
        place.until("no slices", lambda: not own_slices(place))
        only_endpoints.wait("endpoints", LOOKS)
        assert only_endpoints.written() == ["patch endpoints", "delete endpointslices"]
        assert endpoints(place) == [address]
        # Kubernetes makes slices of them, as it does of all Endpoints.
        place.until("slices of Kubernetes' own", lambda: place.list("endpointslices"))


def as_the_peer(place: World, nodes: Nodes, address: str) -> None:
    """Write the objects of one node as prometheus-operator does."""
    node = place.cluster.api.get(f"/api/v1/nodes/{nodes.names[0]}")["metadata"]
    reference = {"kind": "Node", "name": node["name"], "uid": node["uid"], "apiVersion": "v1"}
    own = {
        "k8s-app": "kubelet",
        "app.kubernetes.io/name": "kubelet",
        "app.kubernetes.io/managed-by": "prometheus-operator",
    }
    ports = [
        {"name": "https-metrics", "port": 10250},
        {"name": "http-metrics", "port": 10255},
        {"name": "cadvisor", "port": 4194},
    ]
    core = f"/api/v1/namespaces/{place.namespace}"
    manager = "?fieldManager=PrometheusOperator"
    service = {
        "metadata": {"name": "kubelet", "labels": own},
        "spec": {"type": "ClusterIP", "clusterIP": "None", "ports": ports},
    }
    made = place.cluster.api.request("POST", f"{core}/services{manager}", service)
    listed = {"ip": address, "nodeName": node["name"], "targetRef": reference}
    skip = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    old = {
        "metadata": {"name": "kubelet", "labels": own | skip},
        "subsets": [{"addresses": [listed], "ports": ports}],
    }
    place.cluster.api.request("POST", f"{core}/endpoints{manager}", old)
    found_by = {
        "endpointslice.kubernetes.io/managed-by": "prometheus-operator",
        "kubernetes.io/service-name": "kubelet",
    }
    owner = {
        "apiVersion": "v1",
        "kind": "Service",
        "name": "kubelet",
        "uid": made["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    endpoint = {
        "addresses": [address],
        "conditions": {"ready": True},
        "nodeName": node["name"],
        "targetRef": reference,
    }
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{place.namespace}/endpointslices{manager}"
    new = {
        "metadata": {
            "generateName": "kubelet-", "labels": own | found_by, "ownerReferences": [owner],
        },
        "addressType": "IPv4",
        "endpoints": [endpoint],
        "ports": ports,
    }  # fmt: skip
    place.cluster.api.request("POST", slices, new)


def test_the_peers_objects_are_taken_over(place: World, nodes: Nodes) -> None:
    """No object is replaced. What is wanted no longer goes, once; what users added stays."""
    address = nodes.add("a")
    as_the_peer(place, nodes, address)
    place.cluster.kubectl("label", "service", "kubelet", "-n", place.namespace, "team=ops")
    before = uids(place)
    same = settings_for(place, nodes, sync_seconds=OFTEN)
    with Keeping(place.cluster, same) as keeping:
        keeping.wait("endpointslice", 1)
        keeping.written()
        keeping.wait("endpointslice", LOOKS)
        assert keeping.written() == []
    with Keeping(place.cluster, replace(same, http_metrics=False)) as keeping:
        place.until("one port less", lambda: port_names(place) == ["https-metrics", "cadvisor"])
        keeping.wait("endpointslice", 1)
        keeping.written()
        keeping.wait("endpointslice", LOOKS)
        assert keeping.written() == []
    assert uids(place) == before
    assert labels(place, "service")["team"] == "ops"
    ports = own_slices(place)[0]["ports"]
    assert [port["name"] for port in ports] == ["https-metrics", "cadvisor"]


def uids(world: World) -> list[str]:
    """Which objects there are."""
    found = [world.get("service", "kubelet"), world.get("endpoints", "kubelet")]
    return [one["metadata"]["uid"] for one in (*found, *own_slices(world)) if one]


def port_names(world: World) -> list[str]:
    """The ports of the Service."""
    found = world.get("service", "kubelet")
    assert found
    return [port["name"] for port in found["spec"]["ports"]]


def test_a_port_of_somebody_elses_is_removed_once(place: World, nodes: Nodes) -> None:
    """The Service is ours; whoever adds to it is undone, and that is the end of it."""
    nodes.add("a")
    with Keeping(place.cluster, settings_for(place, nodes, sync_seconds=OFTEN)) as keeping:
        usual = place.until("a Service", lambda: port_names(place))
        extra = {"name": "node-exporter", "port": 9100, "protocol": "TCP"}
        place.put(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "kubelet"},
                "spec": {"ports": [extra]},
            }
        )
        place.until("the usual ports", lambda: port_names(place) == usual)
        keeping.wait("endpointslice", LOOKS)
        keeping.written()
        keeping.wait("endpointslice", LOOKS)
        assert keeping.written() == []


def test_a_node_that_comes_or_goes_rewrites_one_slice(place: World, nodes: Nodes) -> None:
    """All others stay as they are, even though the node is the first by name."""
    addresses = [nodes.add(name) for name in "bcde"]
    settings = settings_for(place, nodes, endpoints=False, max_endpoints=2)
    with Keeping(place.cluster, settings) as keeping:
        place.until("two slices", lambda: sliced(place) == sorted(addresses))
        keeping.written()
        nodes.remove("b")
        place.until("one less", lambda: sliced(place) == sorted(addresses[1:]))
        assert keeping.written() == ["patch endpointslices"]
        before = versions(place)
        late = nodes.add("a")
        place.until("one more", lambda: sliced(place) == sorted([*addresses[1:], late]))
        changed = {name for name, version in versions(place).items() if before[name] != version}
        assert len(changed) == 1


def versions(world: World) -> dict[str, str]:
    """The versions of our slices."""
    found = [one["metadata"] for one in own_slices(world)]
    return {one["name"]: one["resourceVersion"] for one in found}


RBAC = "/apis/rbac.authorization.k8s.io/v1"
KEEP = ["get", "list", "watch", "create", "patch"]
ROLE = [
    {"apiGroups": [""], "resources": ["services"], "resourceNames": ["kubelet"], "verbs": KEEP},
    {
        "apiGroups": [""],
        "resources": ["endpoints"],
        "resourceNames": ["kubelet"],
        "verbs": [*KEEP, "delete"],
    },
]
SLICES = {
    "apiGroups": ["discovery.k8s.io"],
    "resources": ["endpointslices"],
    "verbs": [*KEEP, "delete"],
}


@pytest.fixture
def limited(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig of someone who may do what the documentation asks for, save for slices."""
    document = json.loads(kubeconfig(cluster.url, cluster.token, cluster.ca_file))
    document["users"][0]["user"]["as"] = namespace
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(document))
    subjects = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": namespace}]
    named: Object = {"metadata": {"name": namespace}}
    nodes = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}
    for where, kind, rules in (
        (RBAC, "ClusterRole", [nodes]),
        (f"{RBAC}/namespaces/{namespace}", "Role", ROLE),
    ):
        cluster.api.request("POST", f"{where}/{kind.lower()}s", named | {"rules": rules})
        role = {"kind": kind, "apiGroup": "rbac.authorization.k8s.io", "name": namespace}
        binding = named | {"roleRef": role, "subjects": subjects}
        cluster.api.request("POST", f"{where}/{kind.lower()}bindings", binding)
    # The server hears of roles a bit later.
    for asked in (
        {"verb": "watch", "resource": "nodes"},
        {"verb": "patch", "resource": "endpoints", "name": "kubelet", "namespace": namespace},
    ):
        cluster.until(f"{asked}", partial(is_allowed, cluster, namespace, asked))
    yield path
    for kind in ("clusterroles", "clusterrolebindings"):
        cluster.api.request("DELETE", f"{RBAC}/{kind}/{namespace}")


def is_allowed(cluster: Cluster, user: str, asked: Object) -> bool:
    """Whether a user may do something."""
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    body = {"spec": {"user": user, "resourceAttributes": asked}}
    return bool(cluster.api.request("POST", path, body)["status"].get("allowed"))


def test_a_missing_role_for_slices_keeps_nobody_from_endpoints(
    place: World, nodes: Nodes, limited: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is named and counted, and slices come when it is there; these roles are enough."""
    address = nodes.add("a")
    both = settings_for(place, nodes)
    without = replace(both, endpoint_slices=False, sync_seconds=OFTEN)
    with Keeping(place.cluster, without, limited) as keeping:
        keeping.wait("endpoints", LOOKS)
        assert errors(caplog) == []
    with Keeping(place.cluster, both, limited) as keeping:
        place.until("Endpoints", lambda: endpoints(place) == [address])
        place.until("a failure", lambda: keeping.looks("endpointslice", failed=True))
        assert keeping.looks("endpoints", failed=True) == 0
        place.until("a word of it", lambda: any(map(is_about_slices, errors(caplog))))
        grown = {"metadata": {"name": place.namespace}, "rules": [*ROLE, SLICES]}
        path = f"{RBAC}/namespaces/{place.namespace}/roles/{place.namespace}"
        place.cluster.api.request("PUT", path, grown)
        until_listed(place, address)
    with Keeping(place.cluster, replace(both, endpoints=False), limited):
        place.until("no Endpoints", lambda: place.get("endpoints", "kubelet") is None)


def is_about_slices(error: str) -> bool:
    """Whether somebody cannot do something to slices."""
    return "endpointslices" in error and "forbidden" in error


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The errors that were logged."""
    fields = [getattr(record, "stoker_fields", {}) for record in caplog.records]
    return [one["error"] for one in fields if "error" in one]
