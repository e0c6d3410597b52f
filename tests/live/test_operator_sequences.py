"""Several writes that belong together, with something that comes in between any two of them.

Each write of a sequence is harmed once, each in a world of its own: the operator is killed before
the server has it, or after that and before the answer; or the server says 503. What is there in the
end must be what is there where nothing came in between.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pytest
from aiohttp import web

from stoker.build.hashing import INPUT_HASH
from tests.builders import prometheus, resource, service_monitor
from tests.live.faults import Gateway, status
from tests.live.operating import Object, Running, World
from tests.live.test_operator import found
from tests.live.test_operator_faults import configuration
from tests.live.test_operator_storage import bind, claimed, storage, storage_class
from tools.cluster import Cluster

NAME = "prometheus-main"
COUNTED = "prometheus_operator_reconcile_sts_delete_create_total"
NewNamespace = Callable[[], str]

# Nothing follows from them.
_NO_STEP = ("/events", "/leases", "reviews", "/status")
_READS = ("GET", "HEAD")


# --- Operators that are harmed --------------------------------------------------------------------


class Harm(NamedTuple):
    """What happens to which write, counted from 0."""

    number: int
    how: str


class Harmed:
    """An operator, and another one when it was killed, for some namespaces.

    `writes` are those since `expect`, and one of them `is_met`.
    """

    def __init__(
        self, cluster: Cluster, gateway: Gateway, namespaces: list[str], *flags: str
    ) -> None:
        self.writes: list[str] = []
        self._cluster = cluster
        self._gateway = gateway
        places = f"--namespaces={','.join(namespaces)}"
        self._flags = (places, "--leader-election=false", *flags)
        self._harm: Harm | None = None
        self._operator: Running | None = None
        self._counted: dict[int, int] = {}
        self.is_met = False
        # Who asks whether it was killed must not come while it is being killed.
        self._turn = threading.Lock()
        gateway.fault, gateway.done = self._fault, self._done

    def __enter__(self) -> Harmed:
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._operator:
            self._operator.__exit__(kind)

    @property
    def operator(self) -> Running:
        """The one that runs now."""
        assert self._operator
        return self._operator

    def start(self) -> None:
        """Start one in the place of the one before."""
        if self._operator:
            self._operator.__exit__(None)
        self._operator = Running.start(
            self._cluster, *self._flags, kubeconfig=self._gateway.kubeconfig
        )

    def expect(self, harm: Harm | None) -> None:
        """From now on writes are counted, and one of them is harmed."""
        with self._turn:
            self.writes, self._counted, self._harm, self.is_met = [], {}, harm, False

    @property
    def is_dead(self) -> bool:
        """Whether it was killed."""
        return self.operator.process.poll() is not None

    def _fault(self, request: web.Request) -> web.Response | None:
        if not _is_step(request):
            return None
        with self._turn:
            return self._harmed(request)

    def _harmed(self, request: web.Request) -> web.Response | None:
        self._counted[id(request)] = len(self.writes)
        self.writes.append(f"{request.method} {request.path}")
        if self._harm == Harm(len(self.writes) - 1, "killed before"):
            return self._kill()
        if self._harm == Harm(len(self.writes) - 1, "refused"):
            self.is_met = True
            return status(503, "ServiceUnavailable")
        return None

    def _done(self, request: web.Request, _status: int) -> None:
        with self._turn:
            number = self._counted.pop(id(request), -1)
            if self._harm == Harm(number, "killed after"):
                self._kill()

    def _kill(self) -> web.Response:
        self.operator.process.kill()
        self.operator.process.wait()
        self.is_met = True
        return status(503, "ServiceUnavailable")


def _is_step(request: web.Request) -> bool:
    asked = request.method in _READS or "dryRun" in request.query
    return not asked and not any(each in request.path for each in _NO_STEP)


# --- Sequences ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sequence:
    """What is there, what somebody does, and when all that follows from it is done."""

    make: Callable[[World], None]
    act: Callable[[World], None]
    is_done: Callable[[World], object]
    # Whether pods must be the same afterwards.
    same_pods: bool = True
    flags: tuple[str, ...] = ()


def _restart(world: World) -> None:
    """As `kubectl rollout restart` does it, and gifts of several users."""
    note = {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
    template = {"metadata": {"annotations": note}}
    _as("kubectl-rollout", world, {"spec": {"template": template}})
    _as("kubectl-label", world, {"metadata": {"labels": {"team": "a"}}})
    _as("kubectl-annotate", world, {"metadata": {"annotations": {"example.org/a": "b"}}})


def _as(manager: str, world: World, patch: Object) -> None:
    path = f"{world.path('statefulset', NAME)}?fieldManager={manager}"
    world.cluster.api.request("PATCH", path, patch, content_type="application/merge-patch+json")


def _make_stored(world: World) -> None:
    world.put(storage_class(world))
    bind(world)
    world.put(prometheus("main", storage=storage(world, "1Gi")))
    world.until("a set", lambda: world.get("statefulset", NAME))
    _restart(world)


def _grow(world: World, size: str = "2Gi") -> None:
    world.patch("prometheus", "main", {"spec": {"storage": storage(world, size)}})


def _has_grown(world: World, size: str = "2Gi") -> None:
    world.settled_now("prometheus", "main")
    template = found(world, "statefulset", NAME)["spec"]["volumeClaimTemplates"][0]
    assert template["spec"]["resources"]["requests"]["storage"] == size
    assert claimed(world) == size


def _make_sharded(world: World) -> None:
    world.put(prometheus("main", shards=2, replicas=1), service_monitor("shop"))


def _drop_shard(world: World) -> None:
    world.patch("prometheus", "main", {"spec": {"shards": 1}})


def _is_dropped(world: World) -> None:
    world.settled_now("prometheus", "main")
    assert world.get("statefulset", f"{NAME}-shard-1") is None
    assert len(world.list("pod")) == 1


def _make_plain(world: World) -> None:
    world.put(prometheus("main"))
    world.until("a set", lambda: world.get("statefulset", NAME))
    _restart(world)


def _take_over(world: World) -> None:
    """Have the objects be written by prometheus-operator, and something to be written."""
    for kind in ("statefulset", "secret"):
        entries = found(world, kind, NAME)["metadata"]["managedFields"]
        for each in entries:
            if each["manager"] == "stoker":
                each |= {"manager": "PrometheusOperator", "operation": "Update"}
        world.patch(kind, NAME, {"metadata": {"managedFields": entries}})
    world.patch("prometheus", "main", {"spec": {"minReadySeconds": 1, "scrapeInterval": "31s"}})


def _is_taken_over(world: World) -> None:
    world.settled_now("prometheus", "main")
    assert found(world, "statefulset", NAME)["spec"]["minReadySeconds"] == 1
    for kind in ("statefulset", "secret"):
        metadata = found(world, kind, NAME)["metadata"]
        assert "PrometheusOperator" not in {each["manager"] for each in _own_entries(metadata)}


def _make_monitored(world: World) -> None:
    world.put(prometheus("main", replicas=0))


def _monitor(world: World) -> None:
    world.put(service_monitor("shop"))


def _is_consolidated(world: World) -> None:
    world.settled_now("prometheus", "main")
    text = configuration(world)
    assert "/servicemonitor-shop-0" in text
    assert "serviceMonitor/" not in text


SEQUENCES = {
    "a replacement": Sequence(_make_stored, _grow, _has_grown),
    "a shard fewer": Sequence(_make_sharded, _drop_shard, _is_dropped, same_pods=False),
    "an adoption": Sequence(_make_plain, _take_over, _is_taken_over),
    "a consolidation": Sequence(
        _make_monitored, _monitor, _is_consolidated, flags=("--consolidate-monitors",)
    ),
}


# --- What is there in the end ---------------------------------------------------------------------


def _pods(world: World) -> set[str]:
    return {each["metadata"]["uid"] for each in world.list("pod")}


def _state(world: World) -> str:
    """All that was asked for, without what differs from one world to the other."""
    sets = [_set(each) for each in world.list("statefulset")]
    names = [
        _names(world, kind) for kind in ("secret", "configmap", "service", "pod", "scrapeconfig")
    ]
    claims = [each["spec"]["resources"] for each in world.list("persistentvolumeclaim")]
    text = json.dumps([sets, names, claims, _noted(world)], sort_keys=True, indent=1)
    for each in world.list("prometheus"):
        text = text.replace(each["metadata"]["uid"], "UID")
    return text.replace(world.namespace, "NAMESPACE")


def _set(each: Object) -> Object:
    metadata = each["metadata"]
    entries = sorted(
        ([one["manager"], one["operation"], one["fieldsV1"]] for one in _own_entries(metadata)),
        key=str,
    )
    kept = {name: metadata.get(name) for name in ("name", "labels", "annotations")}
    # It is made of the namespace, too.
    kept["annotations"] = kept["annotations"] | {INPUT_HASH: ""}
    return kept | {"spec": each["spec"], "fields": entries, "owners": metadata["ownerReferences"]}


def _own_entries(metadata: Object) -> Iterator[Object]:
    return (each for each in metadata["managedFields"] if not each.get("subresource"))


def _names(world: World, kind: str) -> list[str]:
    return sorted(each["metadata"]["name"] for each in world.list(kind))


def _noted(world: World) -> list[str]:
    """What is still to be done here."""
    maps: list[Any] = world.cluster.api.get("/api/v1/namespaces/default/configmaps")["items"]
    return [key for each in maps for key in each.get("data") or {} if world.namespace in key]


def _is_adopted(world: World) -> bool:
    sets = {each["metadata"]["uid"] for each in world.list("statefulset")}
    owners = {
        one["uid"]
        for pod in world.list("pod")
        for one in pod["metadata"].get("ownerReferences") or [{"uid": ""}]
    }
    return owners <= sets


@pytest.fixture
def gateway(crds: Cluster) -> Iterator[Gateway]:
    """The way of operators to the API server."""
    with Gateway(crds) as made:
        yield made


def _made(cluster: Cluster, sequence: Sequence, names: list[str]) -> list[World]:
    """Worlds in which a sequence can begin."""
    worlds = [World(cluster, name) for name in names]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(sequence.make, worlds))
        list(pool.map(lambda each: each.settled("prometheus", "main"), worlds))
    return worlds


def _is_over(world: World, sequence: Sequence) -> bool:
    sequence.is_done(world)
    return _is_adopted(world) and not _noted(world)


def _is_met_or_over(harmed: Harmed, world: World, sequence: Sequence) -> bool:
    return harmed.is_met or _is_over(world, sequence)


def _ended(world: World, sequence: Sequence) -> str:
    world.until("the end", partial(_is_over, world, sequence))
    return _state(world)


def _plans(steps: list[str]) -> Iterator[Harm]:
    """Each write is harmed.

    Killed before a write, the server has what it has when killed after the one before; but for a
    deletion, which takes a while.
    """
    for number, step in enumerate(steps):
        yield from (Harm(number, "killed after"), Harm(number, "refused"))
        if number == 0:
            yield Harm(0, "killed before")
        if step.startswith("DELETE") and number + 1 < len(steps):
            yield Harm(number + 1, "killed before")


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_sequence_that_is_interrupted_ends_as_one_that_is_not(
    crds: Cluster, gateway: Gateway, new_namespace: NewNamespace, name: str
) -> None:
    """Whatever comes in between which two writes, the next process or attempt goes on."""
    sequence, first = SEQUENCES[name], new_namespace()
    with Harmed(crds, gateway, [first], *sequence.flags) as harmed:
        [world] = _made(crds, sequence, [first])
        world.until_still()
        harmed.expect(None)
        sequence.act(world)
        whole = _ended(world, sequence)
        world.until_still()
        steps = list(harmed.writes)
    print(*steps, sep="\n")
    plans = list(_plans(steps))
    places = [new_namespace() for _ in plans]
    failures = []
    with Harmed(crds, gateway, places, *sequence.flags) as harmed:
        worlds = _made(crds, sequence, places)
        for plan, world in zip(plans, worlds, strict=True):
            before = _pods(world)
            harmed.expect(plan)
            sequence.act(world)
            # A write that had to be repeated need not be repeated in each of them.
            world.until("harm", partial(_is_met_or_over, harmed, world, sequence))
            harmed.expect(None)
            if harmed.is_dead:
                harmed.start()
            after = _ended(world, sequence)
            if after != whole:
                failures.append(f"{plan} of {steps}: {_differing(whole, after)}")
            if sequence.same_pods and _pods(world) != before:
                failures.append(f"{plan} of {steps}: pods were rolled")
    print(*failures, sep="\n")
    assert len(failures) == 0


def _differing(one: str, other: str) -> str:
    lines = set(one.splitlines()) ^ set(other.splitlines())
    return " ".join(line.strip() for line in sorted(lines))


# --- What is wanted meanwhile is another thing ----------------------------------------------------

ORDERED = {"spec": {"podManagementPolicy": "OrderedReady"}}
ON_NODES = {"spec": {"mode": "DaemonSet", "podManagementPolicy": None}}


@dataclass(frozen=True)
class Meanwhile:
    """Somebody wants something else while a StatefulSet is neither the old one nor the new one.

    `is_right` gets the uids of the pods that were there before.
    """

    make: Callable[[World], None]
    act: Callable[[World], None]
    change: Callable[[World], None]
    is_right: Callable[[World, set[str]], bool]
    kind: str = "prometheus"
    held: str = NAME


def _make_agent(world: World) -> None:
    world.put(resource("PrometheusAgent", "main", {"podMonitorSelector": {}}))


def _order(world: World, kind: str = "prometheus") -> None:
    world.patch(kind, "main", ORDERED)


def _is_as_before(world: World, pods: set[str]) -> bool:
    labels = found(world, "statefulset", NAME)["metadata"]["labels"]
    return _is_adopted(world) and labels["team"] == "a" and _pods(world) == pods


def _is_as_large(world: World, pods: set[str]) -> bool:
    _has_grown(world, "3Gi")
    return _is_as_before(world, pods)


def _is_gone(world: World, _: set[str]) -> bool:
    return not world.list("statefulset") and not world.list("pod")


def _is_one_shard(world: World, pods: set[str]) -> bool:
    _is_dropped(world)
    return _is_adopted(world) and _pods(world) < pods


def _is_on_nodes(world: World, pods: set[str]) -> bool:
    daemon_set = world.list("daemonset")[0]
    available = daemon_set["status"]["numberAvailable"] == len(world.list("pod"))
    return available and not world.list("statefulset") and not _pods(world) & pods


MEANWHILE = {
    "paused": Meanwhile(
        _make_plain,
        _order,
        lambda world: world.patch("prometheus", "main", {"spec": {"paused": True}}),
        _is_as_before,
    ),
    "larger": Meanwhile(_make_stored, _grow, partial(_grow, size="3Gi"), _is_as_large),
    "deleted": Meanwhile(
        _make_plain, _order, lambda world: world.delete("prometheus", "main"), _is_gone
    ),
    "fewer": Meanwhile(_make_sharded, _order, _drop_shard, _is_one_shard, held=f"{NAME}-shard-1"),
    "on nodes": Meanwhile(
        _make_agent,
        partial(_order, kind="prometheusagent"),
        lambda world: world.patch("prometheusagent", "main", ON_NODES),
        _is_on_nodes,
        kind="prometheusagent",
        held="prom-agent-main",
    ),
}


class Held:
    """Lets StatefulSets be deleted, and not be made again."""

    def __init__(self, paths: set[str]) -> None:
        self.gone: set[str] = set()
        self._paths = paths

    def fault(self, request: web.Request) -> web.Response | None:
        """Refuse to make what is gone."""
        is_write = request.method not in (*_READS, "DELETE")
        if is_write and request.path in self.gone:
            return status(503, "ServiceUnavailable")
        return None

    def done(self, request: web.Request, _status: int) -> None:
        """See that something is deleted."""
        if request.method == "DELETE" and request.path in self._paths:
            self.gone.add(request.path)


def test_what_is_wanted_meanwhile_is_what_comes_of_it(
    crds: Cluster, gateway: Gateway, new_namespace: NewNamespace
) -> None:
    """Pods of a StatefulSet that is not there are not forgotten: they stay, or they go."""
    worlds = {name: World(crds, new_namespace()) for name in MEANWHILE}
    places = [each.namespace for each in worlds.values()]
    paths = {name: each.path("statefulset", MEANWHILE[name].held) for name, each in worlds.items()}
    pods = {}
    with Harmed(crds, gateway, places) as harmed:
        for name, world in worlds.items():
            MEANWHILE[name].make(world)
        for name, world in worlds.items():
            world.settled(MEANWHILE[name].kind, "main")
            pods[name] = _pods(world)
        held = Held(set(paths.values()))
        gateway.fault, gateway.done = held.fault, held.done
        for name, world in worlds.items():
            MEANWHILE[name].act(world)
        crds.until("all to be deleted", lambda: held.gone == set(paths.values()))
        harmed.operator.kill()
        gateway.fault = lambda _request: None
        for name, world in worlds.items():
            world.until("it to be gone", partial(_is_unmade, world, name))
            MEANWHILE[name].change(world)
        harmed.start()
        for name, world in worlds.items():
            right = partial(MEANWHILE[name].is_right, world, pods[name])
            world.until(f"{name}: what is wanted", right)
            world.until(f"{name}: notes to be struck", partial(_is_clean, world))
        assert harmed.operator.metric(COUNTED) == 0
        _order(worlds["larger"])
        worlds["larger"].until("a count", lambda: harmed.operator.metric(COUNTED) == 1)


def test_a_shard_that_was_just_made_again_goes_with_its_pod(open_cluster: Cluster) -> None:
    """However late Kubernetes is: before it takes the pod into the new set, the pod is nobody's."""
    world = World(open_cluster, "late-controllers")
    open_cluster.kubectl("create", "namespace", world.namespace)
    controllers = partial(open_cluster.signal, "kube-controller-manager")
    with Running.start(open_cluster, f"--namespaces={world.namespace}"):
        _make_sharded(world)
        world.settled("prometheus", "main")
        world.patch("prometheus", "main", {"spec": {"paused": True}})
        world.until("a pause", lambda: found(world, "prometheus", "main")["status"].get("paused"))
        shard = f"{NAME}-shard-1"
        open_cluster.kubectl(
            *("-n", world.namespace, "delete", "statefulset", shard, "--cascade=orphan")
        )
        assert len(world.list("pod")) == 2
        controllers(signal.SIGSTOP)
        try:
            world.patch("prometheus", "main", {"spec": {"paused": False}})
            world.until("the set", lambda: world.get("statefulset", shard))
            _drop_shard(world)
            world.until("a look at it", partial(_is_looked_at, world))
        finally:
            controllers(signal.SIGCONT)
        world.until("one pod", lambda: len(world.list("pod")) == 1)
        assert world.get("statefulset", shard) is None


def _is_looked_at(world: World) -> bool:
    main = found(world, "prometheus", "main")
    conditions = {each["type"]: each for each in main["status"]["conditions"]}
    return bool(conditions["Reconciled"]["observedGeneration"] == main["metadata"]["generation"])


def _is_clean(world: World) -> bool:
    return not _noted(world)


def _is_unmade(world: World, name: str) -> bool:
    return world.get("statefulset", MEANWHILE[name].held) is None
