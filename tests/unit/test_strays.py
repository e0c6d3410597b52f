"""What no agent on nodes is beside: given to one that is ready, and moved as little as can be."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from msgspec import convert

from stoker.generate.nodejobs import NodeJob
from stoker.portions.agents import ReadyAgents
from stoker.portions.packed import Packed, packed
from stoker.portions.portions import Portions
from stoker.portions.rendezvous import highest, numbers
from stoker.portions.strays import Agents
from stoker.portions.whereabouts import Whereabouts
from stoker.ref import Ref
from stoker.targets.job import job_of, outcomes
from stoker.targets.objects import Pod, TargetSources
from tests.builders import Object, pod_of
from tests.unit.test_portions import (
    NEWEST,
    NODES,
    OF_CARTS,
    a_job,
    a_pod,
    agents_jobs,
    by_key,
    expected,
    filled,
    monitor,
    node_jobs,
    some_agents,
    told,
    world_of,
)


def strays(
    jobs: dict[Ref, tuple[NodeJob, ...]], world: TargetSources, agents: Agents
) -> dict[str, set[str]]:
    """What a Prometheus that sees all nodes finds where no agent is, by job."""
    found: dict[str, set[str]] = {}
    for each in (each for of in jobs.values() for each in of):
        job = job_of(each.block, NEWEST)
        own = set(job.labels.items())
        for one in outcomes(job, world):
            node = one.discovered.get("__meta_kubernetes_endpointslice_endpoint_node_name")
            node = node or one.discovered.get("__meta_kubernetes_pod_node_name", "")
            if one.step is None and not agents.have(node):
                labels = json.dumps(dict(one.discovered.items() - own), sort_keys=True)
                found.setdefault(job.name, set()).add(labels)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_what_no_agent_has_is_given_to_one(seed: int) -> None:
    """Every target is one node's: its own if an agent is there, else one that is ready."""
    agents = some_agents(Random(seed)) or Agents()
    found, jobs = by_key(seed), node_jobs(seed)
    portions = Portions(filled(found), NEWEST)
    portions.set_jobs(jobs, {})
    portions.set_agents(agents)
    left = strays(jobs, world_of(found), agents)
    for node in NODES:
        own = expected(agents_jobs(seed), world_of(found), node) if agents.have(node) else {}
        given = told(portions, node)
        for name in own.keys() | given.keys():
            more = given.get(name, set()) - own.get(name, set())
            assert own.get(name, set()) <= given[name]
            assert more <= left.get(name, set())
            assert not more or node in agents.ready
            left[name] = left.get(name, set()) - more
    assert not any(left.values()) or not agents.ready


def targets_of(portions: Portions, node: str) -> set[bytes]:
    """The targets of the only job that a node has."""
    return set(portions.text(node, "targets/carts.json").strip(b"[]\n").split(b",\n"))


def test_when_an_agent_goes_only_what_it_was_given_moves() -> None:
    """To all others; and back when it comes again. What nodes have of their own stays there."""
    names = [f"node-{number}" for number in range(10)]
    places = Whereabouts()
    for number in range(400):
        places.changed(None, a_pod(f"pod-{number}", f"bare-{number % 7}"))
    for name in names:
        places.changed(None, a_pod(f"of-{name}", name))
    portions = Portions(places, NEWEST)
    portions.set_jobs({monitor("carts"): (a_job("carts", OF_CARTS),)}, {})
    every = Agents(frozenset(names), frozenset(names))
    portions.set_agents(every)
    before = {name: targets_of(portions, name) for name in names}
    assert 10 <= min(map(len, before.values())) <= max(map(len, before.values())) <= 90
    less = Agents(every.ready - {"node-3"}, every.homes)
    assert portions.set_agents(less) == set(names)
    after = {name: targets_of(portions, name) for name in names}
    assert all(before[name] <= after[name] for name in less.ready)
    assert len(after["node-3"]) == 1
    assert all(before[name] < after[name] for name in less.ready)
    portions.set_agents(every)
    assert {name: targets_of(portions, name) for name in names} == before
    assert portions.set_agents(every) == set()


def test_one_change_of_a_stray_is_one_nodes() -> None:
    """The others are not asked to look."""
    names = [f"node-{number}" for number in range(10)]
    places = Whereabouts()
    portions = Portions(places, NEWEST)
    portions.set_jobs({monitor("carts"): (a_job("carts", OF_CARTS),)}, {})
    portions.set_agents(Agents(frozenset(names), frozenset(names)))
    assert all(portions.digests(name) == {} for name in names)
    pod = a_pod("one", "bare")
    [node] = portions.touch(places.changed(None, pod))
    assert node == highest("Pod shop/one", numbers(names))
    assert len(portions.digests(node)) == 2
    assert portions.touch(places.changed(pod, a_pod("one", "bare", "stock"))) == {node}
    assert portions.digests(node) == {}


def test_a_node_whose_agent_is_not_ready_keeps_what_is_its_own() -> None:
    """A rollout moves no target of a node; one where an agent is no longer meant to be has none."""
    places = Whereabouts()
    places.changed(None, a_pod("one", "node-1"))
    portions = Portions(places, NEWEST)
    portions.set_jobs({monitor("carts"): (a_job("carts", OF_CARTS),)}, {})
    both = frozenset({"node-1", "node-2"})
    portions.set_agents(Agents(frozenset({"node-2"}), both))
    assert (len(portions.digests("node-1")), portions.digests("node-2")) == (2, {})
    portions.set_agents(Agents(frozenset({"node-2"}), frozenset({"node-2"})))
    assert (portions.digests("node-1"), len(portions.digests("node-2"))) == ({}, 2)
    portions.set_agents(None)
    assert (len(portions.digests("node-1")), portions.digests("node-2")) == (2, {})


def agent_pod(name: str, node: str, ready: str = "True", **metadata: Any) -> Packed:
    """A pod of an agent on nodes."""
    where: Object = {"namespace": "monitoring", "spec": {"nodeName": node}}
    made = pod_of("DaemonSet", "agent", name, ready=ready == "True", **where, **metadata)
    return packed(convert(made, Pod))


def test_the_nodes_of_agents_that_are_ready_are_kept_up() -> None:
    """One that is not ready, is being deleted, or is on no node takes nothing; two are one."""
    agents, place = ReadyAgents(), ("monitoring", "agent")
    first, second = agent_pod("a", "node-1"), agent_pod("b", "node-1")
    assert agents.changed(None, agent_pod("a", "node-1", "False")) == set()
    assert agents.changed(agent_pod("a", "node-1", "False"), first) == {place}
    assert agents.changed(None, second) == set()
    assert agents.changed(None, a_pod("other", "node-2")) == set()
    assert agents.changed(None, agent_pod("c", "")) == set()
    assert agents.on(place) == {"node-1"}
    leaving = agent_pod("a", "node-1", deletionTimestamp="2026-11-19T00:00:00Z")
    assert agents.changed(first, leaving) == set()
    assert agents.changed(leaving, None) == set()
    assert agents.changed(second, agent_pod("b", "node-2")) == {place}
    assert agents.on(place) == {"node-2"}
    assert agents.changed(agent_pod("b", "node-2"), None) == {place}
    assert agents.on(place) == frozenset()


@pytest.mark.parametrize(("takers", "things"), [(3, 3000), (500, 20_000)])
def test_things_are_spread_evenly(takers: int, things: int) -> None:
    """As evenly as by throwing dice; a taker that is gone has left the others what they had."""
    names = numbers(f"worker-{number}" for number in range(takers))
    has = {str(number): highest(f"Pod shop/{number}", names) for number in range(things)}
    counts = [list(has.values()).count(name) for name in names]
    even = things / takers
    assert sum((each - even) ** 2 for each in counts) / takers < 2 * even
    less = {name: own for name, own in names.items() if name != "worker-1"}
    for number in range(0, things, 20):
        had = has[str(number)]
        assert had in ("worker-1", highest(f"Pod shop/{number}", less))
