"""`stoker explain` of agents on nodes: scraped means that an agent is where the target is."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.__main__ import main
from stoker.cli.options import flag_settings
from stoker.explain.answer import Explanation, Label
from stoker.explain.ask import explanation
from stoker.explain.idle import idle_among
from stoker.offline.manifests import read
from stoker.offline.surroundings import view_of
from stoker.offline.world import world_of
from stoker.settings import OperatorSettings
from tests.builders import node, thing

Object = dict[str, Any]
FLAGS = flag_settings((), judging=True)
Capture = pytest.CaptureFixture[str]
TAINT: Object = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
WHY = "node gpu-1 has taint gpu=yes:NoSchedule that spec.tolerations does not tolerate"
AGENT = "PrometheusAgent monitoring/light"


def agent(name: str = "light", **spec: Any) -> Object:
    """An agent on nodes that takes every monitor."""
    every: Object = {
        "mode": "DaemonSet",
        "podMonitorSelector": {},
        "podMonitorNamespaceSelector": {},
        "serviceMonitorSelector": {},
        "serviceMonitorNamespaceSelector": {},
        "remoteWrite": [{"url": "http://far"}],
    }
    return thing("PrometheusAgent", name, "monitoring", spec=every | spec)


def prometheus() -> Object:
    """A Prometheus that takes every monitor."""
    spec: Object = {"podMonitorSelector": {}, "podMonitorNamespaceSelector": {}}
    made = agent("main") | {"kind": "Prometheus", "apiVersion": "monitoring.coreos.com/v1"}
    return made | {"spec": spec}


def shop(kind: str, name: str, version: str = "v1", **members: Any) -> Object:
    """An object of the shop."""
    metadata = {"name": name, "namespace": "shop", "labels": members.pop("labels", {"app": "cart"})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **members}


CONTAINERS: Object = {"containers": [{"name": "a", "ports": [{"name": "web", "containerPort": 1}]}]}


def pod(name: str, on: str) -> Object:
    """A pod on a node."""
    status = {"phase": "Running", "podIP": "10.0.0.1"}
    return shop("Pod", name, spec={"nodeName": on, **CONTAINERS}, status=status)


def made_by(kind: str, replicas: int | None = None, **spec: Any) -> Object:
    """What makes pods."""
    template = {"metadata": {"labels": {"app": "cart"}}, "spec": CONTAINERS | spec}
    return shop(kind, "cart", "apps/v1", spec={"replicas": replicas, "template": template})


POD_MONITOR = shop(
    "PodMonitor",
    "cart",
    "monitoring.coreos.com/v1",
    spec={
        "selector": {"matchLabels": {"app": "cart"}},
        "podMetricsEndpoints": [{"port": "web"}],
    },
)
SERVICE_MONITOR = shop(
    "ServiceMonitor",
    "cart",
    "monitoring.coreos.com/v1",
    spec={"selector": {"matchLabels": {"app": "cart"}}, "endpoints": [{"port": "web"}]},
)
SERVICE = shop("Service", "cart", spec={"ports": [{"name": "web", "port": 80}]})


def slice_of(*endpoints: Object) -> Object:
    """The endpoints of the Service."""
    made = shop(
        "EndpointSlice",
        "cart",
        "discovery.k8s.io/v1",
        labels={"kubernetes.io/service-name": "cart"},
    )
    return made | {"endpoints": list(endpoints), "ports": [{"name": "web", "port": 80}]}


def file_of(tmp_path: Path, *objects: Object) -> str:
    """A file with some objects."""
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def told(tmp_path: Path, kind: str, *objects: Object, name: str = "shop/cart") -> Explanation:
    """What is said of an object."""
    world = world_of(read([file_of(tmp_path, *objects)]))
    assert not world.refused
    found = explanation(view_of(world, FLAGS), kind, *name.split("/"))
    assert found is not None
    return found


TWO = (node("plain-1"), node("gpu-1", TAINT))


def test_targets_on_a_node_without_an_agent_are_not_called_scraped(tmp_path: Path) -> None:
    """The first line counts them, and says which node it is and why no agent is there."""
    pods = [pod("a", "plain-1"), pod("b", "gpu-1"), pod("c", "gpu-1")]
    found = told(tmp_path, "PodMonitor", *TWO, agent(), POD_MONITOR, *pods)
    assert not found.good
    assert (
        found.headline == f"scraped by {AGENT}: 1 of 3 targets; no agent scrapes 2 targets: {WHY}"
    )
    (lost,) = found.searches[0].unreached
    assert (lost.node, lost.targets, lost.names) == ("gpu-1", 2, ("Pod shop/b", "Pod shop/c"))
    assert f"{AGENT} covers 1 of 2 nodes; it is not on gpu-1 (has taint" in str(found.notes)


@pytest.mark.parametrize("discovery", ["Kubernetes", "Operator"])
@pytest.mark.parametrize("kind", ["PodMonitor", "ServiceMonitor"])
def test_relabelings_are_done_to_what_agents_reach(
    kind: str, discovery: str, tmp_path: Path
) -> None:
    """What is dropped is told apart from what is on a node without an agent."""
    step = {"action": "drop", "sourceLabels": ["__meta_kubernetes_pod_name"], "regex": "b"}
    monitor = deepcopy(POD_MONITOR if kind == "PodMonitor" else SERVICE_MONITOR)
    ends = monitor["spec"]["podMetricsEndpoints" if kind == "PodMonitor" else "endpoints"]
    ends[0]["relabelings"] = [step]
    pods = [pod("a", "plain-1"), pod("b", "plain-1"), pod("c", "gpu-1")]
    own = agent(daemonSet={"discovery": discovery})
    behind = (
        {"addresses": [f"10.0.0.{number}"], "targetRef": {"kind": "Pod", **each["metadata"]}}
        for number, each in enumerate(pods)
    )
    more = [] if kind == "PodMonitor" else [SERVICE, slice_of(*behind)]
    found = told(tmp_path, kind, *TWO, own, monitor, *pods, *more)
    [search] = found.searches
    assert found.headline == f"scraped by {AGENT}: 1 of 2 targets; no agent scrapes 1 target: {WHY}"
    [end] = search.endpoints
    assert (search.targets, [each.targets for each in end.dropped]) == (1, [1])
    [example] = end.examples
    assert Label(name="pod", value="a") in example.labels


def test_with_a_toleration_all_is_well(tmp_path: Path) -> None:
    """The same with an agent on both nodes."""
    given = (agent(tolerations=[{"operator": "Exists"}]), POD_MONITOR, pod("b", "gpu-1"))
    found = told(tmp_path, "PodMonitor", *TWO, *given)
    assert (found.good, found.headline) == (True, f"scraped by {AGENT}: 1 target")
    assert f"{AGENT} covers 2 of 2 nodes" in found.notes


def test_where_no_target_is_reached_nothing_is_scraped(tmp_path: Path) -> None:
    """A pool that is another than that of the agent."""
    nodes = (node("a-1", pool="a"), node("b-1", pool="b"))
    given = (agent(nodeSelector={"pool": "a"}), POD_MONITOR, pod("x", "b-1"), pod("z", "gone"))
    found = told(tmp_path, "PodMonitor", *nodes, *given)
    assert found.headline == (
        f"selected by {AGENT}, but no agent is where its targets are: 1 target: node b-1 has "
        "`pool=b`, and spec.nodeSelector asks for `pool=a`; 1 target: there is no node gone"
    )


def test_endpoints_without_a_node_are_counted_and_named(tmp_path: Path) -> None:
    """Whatever nodes there are: no agent on nodes has them. A pod of its own has a node, too."""
    reference = {"kind": "Pod", "name": "a", "namespace": "shop"}
    endpoints = (
        {"addresses": ["10.0.0.1"], "targetRef": reference},
        {"addresses": ["10.0.0.2"], "nodeName": "plain-1"},
        {"addresses": ["10.0.0.7"]},
        {"addresses": ["10.0.0.8"]},
    )
    given = (agent(), SERVICE_MONITOR, SERVICE, slice_of(*endpoints), pod("a", "plain-1"))
    why = "no node is named, and an agent on nodes scrapes only what is on its own"
    for nodes in (TWO, ()):
        found = told(tmp_path, "ServiceMonitor", *nodes, *given)
        assert not found.good
        assert found.headline == (
            f"scraped by {AGENT}: 2 of 4 targets; no agent scrapes 2 targets (10.0.0.7, 10.0.0.8): "
            f"{why}"
        )


def test_without_nodes_nothing_is_claimed(tmp_path: Path) -> None:
    """Manifests rarely hold nodes: then it is said that it is not known who is where."""
    found = told(tmp_path, "PodMonitor", agent(), POD_MONITOR, pod("a", "plain-1"))
    assert found.good
    assert found.headline == (
        f"selected by {AGENT}: 1 target; whether an agent is where they are is not known: there "
        "are no Node objects among the manifests"
    )


def test_what_another_workload_scrapes_is_scraped(tmp_path: Path) -> None:
    """By a Prometheus that scrapes from anywhere, or by agents that share the nodes."""
    pods = [pod("a", "plain-1"), pod("b", "gpu-1")]
    found = told(tmp_path, "PodMonitor", *TWO, agent(), prometheus(), POD_MONITOR, *pods)
    assert found.good
    assert found.headline.endswith("and 1 more: 2 targets")
    tolerant = agent(
        "gpu", tolerations=[{"key": "gpu", "operator": "Exists"}], nodeSelector={"gpu": "yes"}
    )
    nodes = (node("plain-1"), node("gpu-1", TAINT, gpu="yes"))
    found = told(tmp_path, "PodMonitor", *nodes, agent(), tolerant, POD_MONITOR, *pods)
    assert (found.good, found.headline.rpartition(": ")[2]) == (True, "2 targets")
    assert sorted(each.targets or 0 for each in found.searches) == [1, 1]


def test_pods_of_a_template_are_where_they_fit(tmp_path: Path) -> None:
    """Those of a DaemonSet are counted; others may be anywhere that they fit."""
    everywhere = made_by("DaemonSet", tolerations=[{"operator": "Exists"}])
    found = told(tmp_path, "PodMonitor", *TWO, agent(), POD_MONITOR, everywhere)
    assert found.headline == f"scraped by {AGENT}: 1 of 2 targets; no agent scrapes 1 target: {WHY}"
    kept_away = told(tmp_path, "PodMonitor", *TWO, agent(), POD_MONITOR, made_by("Deployment", 3))
    assert (kept_away.good, kept_away.searches[0].targets) == (True, 3)
    free = made_by("Deployment", 3, tolerations=[{"operator": "Exists"}])
    somewhere = told(tmp_path, "PodMonitor", *TWO, agent(), POD_MONITOR, free)
    assert somewhere.headline == f"scraped by {AGENT}: how many targets is not known"
    assert f"pods of Deployment shop/cart on gpu-1 are not scraped: {WHY}" in str(
        somewhere.searches
    )
    only = made_by("Deployment", 3, tolerations=[{"operator": "Exists"}], nodeSelector={"g": "1"})
    nodes = (node("plain-1"), node("gpu-1", TAINT, g="1"))
    lost = told(tmp_path, "PodMonitor", *nodes, agent(), POD_MONITOR, only)
    assert lost.headline == (
        f"selected by {AGENT}, but no agent is where its targets are: 3 targets (Deployment "
        f"shop/cart): its pods can only be on gpu-1, without an agent: {WHY}"
    )


def test_a_node_that_is_unwell_for_now_is_no_fault_of_the_agent(tmp_path: Path) -> None:
    """Kubernetes takes its taint off again, and an agent that is there stays."""
    unready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    found = told(tmp_path, "PodMonitor", node("a", unready), agent(), POD_MONITOR, pod("x", "a"))
    assert (found.good, found.headline) == (True, f"scraped by {AGENT}: 1 target")


def test_the_workload_says_on_how_many_nodes_it_is(tmp_path: Path) -> None:
    """In its first line where it is not on all of them, with the reasons below."""
    found = told(tmp_path, "PrometheusAgent", *TWO, agent(), name="monitoring/light")
    assert found.good
    assert found.headline.endswith("uses 0 resources; it covers 1 of 2 nodes")
    assert "covers 1 of 2 nodes; it is not on gpu-1 (has taint gpu=yes" in str(found.notes)
    found = told(tmp_path, "PrometheusAgent", agent(), name="monitoring/light")
    assert found.headline.endswith("uses 0 resources")


def test_a_list_on_the_page_says_no_targets_where_no_agent_is(tmp_path: Path) -> None:
    """With the reason; one that is scraped somewhere is used."""
    lists = {}
    for pods in ([pod("b", "gpu-1")], [pod("a", "plain-1"), pod("b", "gpu-1")]):
        world = world_of(read([file_of(tmp_path, *TWO, agent(), POD_MONITOR, *pods)]))
        view = view_of(world, OperatorSettings())
        idle = idle_among(view, view.workloads[0], view.resources)
        lists[len(pods)] = [reason for _, reason in idle]
    assert lists == {1: [f"no agent is there: 1 target: {WHY}"], 2: []}


def test_the_command_fails_and_prints_the_same_as_json(tmp_path: Path, capsys: Capture) -> None:
    """Exit status 1, and members for programs."""
    given = (*TWO, agent(), POD_MONITOR, pod("a", "plain-1"), pod("b", "gpu-1"))
    words = ["explain", "podmonitor", "shop/cart", "--from", file_of(tmp_path, *given)]
    assert main(words) == 1
    assert f"1 not scraped (Pod shop/b): {WHY}" in capsys.readouterr().out
    assert main([*words, "-o", "json"]) == 1
    (search,) = json.loads(capsys.readouterr().out)["searches"]
    assert search["unreached"] == [
        {"node": "gpu-1", "why": WHY, "targets": 1, "names": ["Pod shop/b"]}
    ]
    assert search["targets"] == 1
