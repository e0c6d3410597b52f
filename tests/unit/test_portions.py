"""What each node gets: the same as an agent there finds by itself, however the world came about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from msgspec import convert

import stoker.portions.portions as remembering
from stoker.generate.nodejobs import NodeJob
from stoker.portions.packed import Packed, packed, unpacked
from stoker.portions.placed import digest_of
from stoker.portions.portions import Portions
from stoker.portions.strays import Agents
from stoker.portions.whereabouts import Whereabouts
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand
from stoker.targets.job import expanded, job_of, outcomes
from stoker.targets.objects import (
    EndpointSlice,
    Node,
    ObjectModel,
    Pod,
    Service,
    TargetSources,
    by_place,
)
from stoker.version import parse_version
from tests.equivalence import jobs_of
from tests.targets.monitors import monitors, scrapers
from tests.targets.worlds import pods, services, slices

Object = dict[str, Any]
NEWEST = parse_version("3.15.0")
SPACES = ["shop", "front"]
NODES = ["node-1", "node-2", "node-3"]
_OWN_NODE = ("__tmp_target_node", "__tmp_own_node")


def monitor(name: str, namespace: str = "shop") -> Ref:
    """A monitor by its name."""
    return Ref("ServiceMonitor", namespace, name)


# --- Made-up worlds -------------------------------------------------------------------------------


def some_objects(seed: int) -> Iterator[ObjectModel]:
    """Pods, Services, slices and nodes."""
    random = Random(seed)
    for space in SPACES:
        for pod, status in pods(random, (), 8):
            spec = {**pod["spec"], "nodeName": random.choice([*NODES, ""])}
            uid = {"uid": f"{space}-{random.random()}"}
            yield placed(
                Pod, space, {**pod, "metadata": pod["metadata"] | uid, "spec": spec}, status
            )
        for each in services(random, 4):
            yield placed(Service, space, each)
        for each in slices(random, space, NODES, 5):
            # Some of their endpoints lead to pods of the other namespace.
            text = json.dumps(each).replace('"elsewhere"', json.dumps(SPACES[space == SPACES[0]]))
            yield placed(EndpointSlice, space, json.loads(text))
    for name in NODES:
        if random.random() < 0.8:
            labels = {"zone": random.choice("ab")}
            yield convert({"metadata": {"name": name, "labels": labels}}, Node)


def placed(
    kind: type[ObjectModel], space: str, obj: Object, status: Object | None = None
) -> ObjectModel:
    """An object in a namespace."""
    metadata = {**obj["metadata"], "namespace": space}
    return convert({**obj, "metadata": metadata, "status": status}, kind)


def world_of(found: dict[Any, Packed]) -> TargetSources:
    """The objects as the plain functions want them."""
    objects: list[Any] = [unpacked(each) for each in found.values()]
    return TargetSources(
        pods=by_place(each for each in objects if isinstance(each, Pod)),
        services=by_place(each for each in objects if isinstance(each, Service)),
        slices=by_place(each for each in objects if isinstance(each, EndpointSlice)),
        nodes={each.name: each for each in objects if isinstance(each, Node)},
    )


# --- Jobs -----------------------------------------------------------------------------------------


def agents_jobs(seed: int) -> dict[Ref, list[Object]]:
    """The jobs of an agent that asks the API server itself."""
    agent = scrapers()["agent"]
    return {
        Ref(type(each).__name__, "shop", each.metadata.name or ""): list(
            jobs_of(each, agent, AssetsAtHand({}))
        )
        for each in monitors(seed, SPACES)
        if type(each).__name__ not in ("Probe", "ScrapeConfig")
    }


def node_job(block: Object) -> NodeJob:
    """The same job without anything about the agent's own node."""
    [discovery] = block["kubernetes_sd_configs"]
    selectors = [
        {name: value for name, value in each.items() if name != "field"}
        for each in discovery.get("selectors", ())
    ]
    kept = [each for each in selectors if len(each) > 1]
    discovery = {**discovery, "selectors": kept}
    steps = [each for each in block["relabel_configs"] if each.get("target_label") not in _OWN_NODE]
    made = {**block, "kubernetes_sd_configs": [discovery], "relabel_configs": steps}
    stem = block["job_name"].replace("/", ".")
    return NodeJob(block["job_name"], stem, json.dumps(block), made)


def node_jobs(seed: int) -> dict[Ref, tuple[NodeJob, ...]]:
    """The jobs as nodes get them, by monitor."""
    return {key: tuple(map(node_job, blocks)) for key, blocks in agents_jobs(seed).items()}


def expected(jobs: dict[Ref, list[Object]], world: TargetSources, node: str) -> dict[str, set[str]]:
    """What an agent on a node finds by itself: candidates that no step drops, by job."""
    found: dict[str, set[str]] = {}
    for block in (each for blocks in jobs.values() for each in blocks):
        job = job_of(expanded(block, {"NODE_NAME": node}), NEWEST)
        own = set(job.labels.items())
        stay = {
            json.dumps(dict(each.discovered.items() - own), sort_keys=True)
            for each in outcomes(job, world)
            if each.step is None
        }
        if stay:
            found[job.name] = stay
    return found


def some_agents(random: Random) -> Agents | None:
    """Where agents are: on some nodes, not all of them ready; or nobody is given anything."""
    if random.random() < 0.2:
        return None
    homes = {each for each in NODES if random.random() < 0.6}
    ready = {each for each in NODES if random.random() < (0.8 if each in homes else 0.2)}
    return Agents(frozenset(ready), frozenset(homes))


def told(portions: Portions, node: str) -> dict[str, set[str]]:
    """What a node is told, by job; with each job's targets comes the job itself."""
    files = portions.digests(node)
    found = {}
    for path in files:
        folder, _, name = path.partition("/")
        if folder == "targets":
            job = json.loads(portions.text(node, f"jobs/{name.removesuffix('.json')}.yaml"))
            entries = json.loads(portions.text(node, path))
            found[job["job_name"]] = {
                json.dumps({"__address__": each["targets"][0], **each["labels"]}, sort_keys=True)
                for each in entries
            }
    assert {each.partition("/")[0] for each in files} <= {"jobs", "targets", "tls"}
    assert len(files) == 2 * len(found)
    return found


def filled(found: dict[Any, Packed]) -> Whereabouts:
    """Whereabouts with these objects."""
    places = Whereabouts()
    for each in found.values():
        places.changed(None, each)
    return places


def by_key(seed: int) -> dict[Any, Packed]:
    """Made-up objects as they are kept."""
    made = map(packed, some_objects(seed))
    return {(each.role, each.place): each for each in made}


# --- Tests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_a_node_is_told_what_an_agent_there_finds_by_itself(seed: int) -> None:
    """Target by target and label by label, for the jobs that we write for made-up monitors."""
    found = by_key(seed)
    portions = Portions(filled(found), NEWEST)
    portions.set_jobs(node_jobs(seed), {})
    for node in NODES:
        assert told(portions, node) == expected(agents_jobs(seed), world_of(found), node)


# 24: a pod on another node than an endpoint says that leads to it.
@pytest.mark.parametrize("seed", [*range(10), 24])
def test_what_is_kept_up_is_what_would_be_built_anew(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each of many changes, in the world, of the jobs and of who takes strays.

    Whose digests changed was told. So it is however much of it is remembered.
    """
    monkeypatch.setattr(remembering, "_MOST_KEPT", (0, 3000, 2**22)[seed % 3])
    random = Random(seed)
    found, jobs = by_key(seed), node_jobs(seed)
    places = filled(found)
    portions = Portions(places, NEWEST)
    portions.set_jobs(jobs, {})
    agents = some_agents(random)
    portions.set_agents(agents)
    before = {node: portions.digests(node) for node in NODES}
    for turn in range(15):
        nodes: set[str] = set()
        if random.random() < 0.4:
            agents = some_agents(random)
            nodes |= portions.set_agents(agents)
        if random.random() < 0.15:
            other = node_jobs(seed + turn)
            for key in random.sample(list(jobs.keys() | other.keys()), 3):
                jobs = {name: each for name, each in jobs.items() if name != key}
                jobs |= {key: other[key]} if key in other else {}
            nodes |= portions.set_jobs(jobs, {})
        for key, new in changes(random, found, by_key(seed + 100 * turn)):
            nodes |= portions.touch(places.changed(found.get(key), new))
            found = {name: each for name, each in found.items() if name != key}
            found |= {key: new} if new else {}
        anew = Portions(filled(found), NEWEST)
        anew.set_agents(agents)
        anew.set_jobs(jobs, {})
        for node in NODES:
            now = portions.digests(node)
            assert now == anew.digests(node)
            assert now == {path: digest_of(portions.text(node, path)) for path in now}
            assert node in nodes or now == before[node]
            before[node] = now


def changes(
    random: Random, found: dict[Any, Packed], other: dict[Any, Packed]
) -> Iterator[tuple[Any, Packed | None]]:
    """Objects that come, go, and become others."""
    for key in random.sample(sorted(found.keys() | other.keys()), random.randint(1, 4)):
        yield key, other.get(key) if random.random() < 0.8 else None


# --- One by one -----------------------------------------------------------------------------------


def a_pod(name: str, node: str, app: str = "cart", **labels: str) -> Packed:
    """A pod with a port."""
    ports = [{"name": "web", "containerPort": 8080}]
    made = {
        "metadata": {"namespace": "shop", "name": name, "labels": {"app": app, **labels}},
        "spec": {"nodeName": node, "containers": [{"name": "c", "ports": ports}]},
        "status": {"phase": "Running", "podIP": "10.0.0.1"},
    }
    return packed(convert(made, Pod))


def a_job(stem: str, *steps: Object, files: tuple[str, ...] = (), role: str = "pod") -> NodeJob:
    """A job with these steps."""
    discovery = {"role": role, "namespaces": {"names": ["shop"]}}
    block = {
        "job_name": stem, "kubernetes_sd_configs": [discovery], "relabel_configs": list(steps)
    }  # fmt: skip
    return NodeJob(stem, stem, f"job_name: {stem}, password: secret\n", block, files)


DEAR = "[xy]{1,1000}.*"
OF_CARTS = {
    "action": "keep", "source_labels": ["__meta_kubernetes_pod_label_app"], "regex": "cart"
}  # fmt: skip


def test_what_a_job_reads_leaves_a_node_with_its_last_target() -> None:
    """The job with its credentials and the TLS files; they come again with a target."""
    places = Whereabouts()
    portions = Portions(places, NEWEST)
    job = a_job("carts", OF_CARTS, files=("ca.crt",))
    portions.set_jobs({monitor("carts"): (job,)}, {"ca.crt": "PEM", "other.crt": "PEM 2"})
    pod = a_pod("one", "node-1")
    assert portions.digests("node-1") == {}
    assert portions.touch(places.changed(None, pod)) == {"node-1"}
    assert set(portions.digests("node-1")) == {
        "jobs/carts.yaml",
        "targets/carts.json",
        "tls/ca.crt",
    }
    assert portions.text("node-1", "tls/ca.crt") == b"PEM"
    assert portions.digests("node-2") == {}
    other = a_pod("one", "node-1", "stock")
    assert portions.touch(places.changed(pod, other)) == {"node-1"}
    assert portions.digests("node-1") == {}
    with pytest.raises(KeyError):
        portions.text("node-1", "jobs/carts.yaml")
    portions.touch(places.changed(other, a_pod("one", "node-2")))
    assert portions.digests("node-1") == {}
    assert len(portions.digests("node-2")) == 3


def test_another_password_changes_the_job_and_not_its_targets() -> None:
    """Nothing is worked out again for it."""
    places = Whereabouts()
    places.changed(None, a_pod("one", "node-1"))
    portions = Portions(places, NEWEST)
    job = a_job("carts", OF_CARTS)
    portions.set_jobs({monitor("carts"): (job,)}, {})
    before = portions.digests("node-1")
    changed = NodeJob(job.name, job.stem, "another", job.block)
    assert portions.set_jobs({monitor("carts"): (changed,)}, {}) == {"node-1"}
    now = portions.digests("node-1")
    assert now["targets/carts.json"] == before["targets/carts.json"]
    assert portions.text("node-1", "jobs/carts.yaml") == b"another"


@pytest.mark.parametrize(
    "step",
    [
        {"action": "drop", "source_labels": ["__address__"], "regex": "$(NODE_NAME).*"},
        {"action": "drop", "source_labels": ["__address__"], "regex": "(?i)(.*a.*){300}"},
        {"action": "hashmod", "source_labels": ["__address__"], "modulus": 0},
        {"action": "drop", "source_labels": ["__meta_kubernetes_pod_label_app"], "regex": DEAR},
    ],
    ids=["variable", "too large", "refused", "dear"],
)
def test_where_it_cannot_be_told_a_node_gets_all_candidates(step: Object) -> None:
    """What is filled in on the node, or would take too long here, is left to Prometheus."""
    places = Whereabouts()
    places.changed(None, a_pod("one", "node-1", "x" * 5000 if step.get("regex") == DEAR else "a"))
    portions = Portions(places, NEWEST)
    portions.set_jobs({monitor("all"): (a_job("all", step),)}, {})
    assert len(portions.digests("node-1")) == 2


def test_a_job_that_finds_nothing_on_nodes_is_told_of() -> None:
    """No node gets it, and the others are not held up."""
    portions = Portions(Whereabouts(), NEWEST)
    jobs = (a_job("bad", role="ingress"), a_job("carts", OF_CARTS))
    portions.set_jobs({monitor("both"): jobs}, {})
    assert list(portions.problems) == ["bad"]
    portions.set_jobs({}, {})
    assert portions.problems == {}


def test_what_becomes_no_label_is_no_change() -> None:
    """A pod that only reports is the same as before, and nobody is asked to look."""
    pod = {"metadata": {"namespace": "shop", "name": "one", "resourceVersion": "1"}, "spec": {}}
    later = {**pod, "metadata": pod["metadata"] | {"resourceVersion": "2"}}
    one, two = (packed(convert(each, Pod)) for each in (pod, later))
    assert one == two
    assert Whereabouts().changed(one, two) == []


def test_labels_of_a_node_behind_an_endpoint_are_told_where_the_endpoint_is() -> None:
    """That need not be the node whose labels they are."""
    made = {
        "metadata": {"namespace": "shop", "name": "nodes-1"},
        "addressType": "IPv4",
        "ports": [{"port": 9100}],
        "endpoints": [
            {
                "addresses": ["10.0.0.1"],
                "nodeName": "node-1",
                "targetRef": {"kind": "Node", "name": "node-2"},
            }
        ],
    }
    places = Whereabouts()
    places.changed(None, packed(convert(made, EndpointSlice)))
    job = a_job("nodes", role="endpointslice")
    [discovery] = job.block["kubernetes_sd_configs"]
    attached = {**discovery, "attach_metadata": {"node": True}}
    job = NodeJob("nodes", "nodes", "", {**job.block, "kubernetes_sd_configs": [attached]})
    portions = Portions(places, NEWEST)
    portions.set_jobs({monitor("nodes"): (job,)}, {})
    before = portions.digests("node-1")
    node = convert({"metadata": {"name": "node-2", "labels": {"zone": "a"}}}, Node)
    assert portions.touch(places.changed(None, packed(node))) == {"node-1"}
    assert portions.digests("node-1") != before
    assert b'"__meta_kubernetes_node_label_zone":"a"' in portions.text(
        "node-1", "targets/nodes.json"
    )


@pytest.mark.parametrize("before", [None, "10.0.0.1"], ids=["new", "of the same name"])
def test_a_port_that_no_service_names_is_found_though_the_slice_came_first(
    before: str | None,
) -> None:
    """It is known from the pod alone: whoever looked at the slice must look again.

    An agent that finds targets by itself does not, until the slice or its Service changes.
    """
    places = Whereabouts()
    portions = Portions(places, NEWEST)
    portions.set_jobs({monitor("all"): (a_job("all", role="endpointslice"),)}, {})
    old, new = packed(a_cart(before)) if before else None, packed(a_cart("10.0.0.2"))
    if old:
        places.changed(None, old)
    endpoint = {
        "addresses": ["10.0.0.2"],
        "nodeName": "node-1",
        "targetRef": {"kind": "Pod", "namespace": "shop", "name": "cart"},
    }
    metadata = {"namespace": "shop", "name": "carts-1"}
    made = {"metadata": metadata, "ports": [{"port": 80}], "endpoints": [endpoint]}
    places.changed(None, packed(convert(made, EndpointSlice)))
    portions.digests("node-1")
    assert b'"10.0.0.2:81"' not in portions.text("node-1", "targets/all.json")
    assert portions.touch(places.changed(old, new)) == {"node-1"}
    portions.digests("node-1")
    found = json.loads(portions.text("node-1", "targets/all.json"))
    assert {each["targets"][0] for each in found} == {"10.0.0.2:80", "10.0.0.2:81"}


def a_cart(address: str) -> Pod:
    """A pod with two ports."""
    ports = [{"name": "web", "containerPort": 80}, {"name": "admin", "containerPort": 81}]
    made = {
        "metadata": {"namespace": "shop", "name": "cart"},
        "spec": {"nodeName": "node-1", "containers": [{"name": "a", "ports": ports}]},
        "status": {"phase": "Running", "podIP": address},
    }
    return convert(made, Pod)


# --- What changes with every pod of a Service -----------------------------------------------------

DUE = "endpoints.kubernetes.io/last-change-trigger-time"
NOTE = "__meta_kubernetes_endpointslice_annotation_"
DUE_LABEL = f"{NOTE}endpoints_kubernetes_io_last_change_trigger_time"
ALL_NOTES = {"action": "labelmap", "regex": f"{NOTE}(.+)"}


def a_slice(due: str, *nodes: str, ready: bool = True) -> Packed:
    """A slice with an endpoint on each of some nodes, and when its last change was due."""
    metadata = {"namespace": "shop", "name": "carts-1", "annotations": {DUE: due, "own": "note"}}
    endpoints = [
        {
            "addresses": [f"10.0.0.{number}"],
            "nodeName": node,
            "conditions": {"ready": ready or number > 0},
        }
        for number, node in enumerate(nodes)
    ]
    made = {"metadata": metadata, "ports": [{"port": 80}], "endpoints": endpoints}
    return packed(convert(made, EndpointSlice))


def test_another_pod_of_a_service_is_no_change_for_other_nodes() -> None:
    """Kubernetes notes in a slice when its last change was due: nobody reads that, nor is told."""
    places = Whereabouts()
    portions = Portions(places, NEWEST)
    portions.set_jobs({monitor("all"): (a_job("all", role="endpointslice"),)}, {})
    one, two = a_slice("12:00", *NODES), a_slice("12:01", *NODES, ready=False)
    places.changed(None, one)
    before = {node: portions.digests(node) for node in NODES}
    text = portions.text("node-2", "targets/all.json")
    assert b"endpointslice_annotation_own" in text
    assert b"trigger_time" not in text
    assert portions.touch(places.changed(one, two)) == {"node-1"}
    assert portions.digests("node-1") != before["node-1"]
    assert portions.digests("node-2") == before["node-2"]


@pytest.mark.parametrize(
    "step",
    [
        ALL_NOTES,
        {"source_labels": ["app", DUE_LABEL], "target_label": "due"},
        {"source_labels": [DUE_LABEL], "target_label": DUE_LABEL, "action": "keepequal"},
        {"source_labels": ["app"], "regex": "(x{1000}){1000}", "action": "keep"},
    ],
    ids=["all notes", "it", "equal", "not known"],
)
def test_a_job_that_may_read_when_a_slice_changed_is_told(step: Object) -> None:
    """On all nodes, and of each change: its targets are those of an agent that looks itself."""
    places = Whereabouts()
    portions = Portions(places, NEWEST)
    jobs = (a_job("other", role="endpointslice"), a_job("reads", step, role="endpointslice"))
    portions.set_jobs({monitor("both"): jobs}, {})
    one, two = a_slice("12:00", *NODES), a_slice("12:01", *NODES)
    places.changed(None, one)
    before = {node: portions.digests(node) for node in NODES}
    assert portions.touch(places.changed(one, two)) == set(NODES)
    for node in NODES:
        now = portions.digests(node)
        assert {path for path in now if now[path] != before[node][path]} == {"targets/reads.json"}
        assert f'"{DUE_LABEL}":"12:01"'.encode() in portions.text(node, "targets/reads.json")
