"""Agents as a DaemonSet on a real control plane."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Final

import pytest

from stoker.api.admit import admit
from stoker.api.decode import convert
from stoker.api.prometheus import PROMETHEUS_AGENT, PrometheusAgent
from stoker.build.agent import daemon_set
from stoker.build.site import Site, TlsAssets
from stoker.select.workload import scraper_of
from stoker.settings import Capabilities, ObjectSettings
from tests.builders import resource
from tests.live import dry_run
from tests.live.operating import Object, Running, World
from tools.cluster import Cluster
from tools.crds import cluster_with_crds
from tools.stages import READINESS


def on_nodes(name: str = "light", **spec: object) -> Object:
    """An agent on every node."""
    selectors: Object = {"podMonitorSelector": {}, "serviceMonitorSelector": {}}
    return resource("PrometheusAgent", name, {"mode": "DaemonSet"} | selectors | spec)


def nodes_of(world: World) -> set[str]:
    """The nodes that have a pod of an agent, all of them running."""
    pods = world.list("pods")
    assert all(pod["status"].get("phase") == "Running" for pod in pods)
    return {pod["spec"]["nodeName"] for pod in pods}


def available(world: World, name: str = "light") -> bool:
    """Whether the agent says that it is available and reconciled."""
    return all(
        world.condition("prometheusagent", name, each)["status"] == "True"
        for each in ("Available", "Reconciled")
    )


def column(table: str, head: str) -> dict[str, str]:
    """What `kubectl get` shows of each object under a heading; empty where it shows nothing."""
    heads, *rows = table.splitlines()
    place, name = heads.index(head), heads.index("NAME ")
    return {row[name:].split()[0]: row[place:].partition(" ")[0] for row in rows}


def settled_in(world: World, kind: str) -> bool:
    """Whether the agent has workloads of this kind and of no other, and none is on its way."""
    other = {"daemonset": "statefulset", "statefulset": "daemonset"}[kind]
    remarks = world.condition("prometheusagent", "light", "Reconciled")["reason"]
    return (
        len(world.list(kind)) == 1
        and not world.list(other)
        and "SwitchingMode" not in remarks
        and available(world)
    )


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """A cluster whose nodes may come and go."""
    with cluster_with_crds(nodes=2) as cluster:
        yield cluster


def test_agents_follow_the_nodes_and_the_status_counts_them(own_cluster: Cluster) -> None:
    """One agent per node that fits, also after nodes joined and left; numbers are the DaemonSet's.

    (peer scenarios: Create Prometheus Agent Daemon Set, Prom Agent Daemon Set Resource Update,
    Prom Agent Reconcile Daemon Set Resource Update, Prom Agent Reconcile Daemon Set Resource
    Delete; defects 1 and 4)
    """
    own_cluster.kubectl("create", "namespace", "agents")
    world = World(own_cluster, "agents")
    agents = ("prometheusagents", "-n", "agents")
    with Running.start(own_cluster, "--namespaces=agents"):
        world.put(on_nodes())
        world.until("an agent on each node", lambda: nodes_of(world) == {"node-0", "node-1"})
        own_cluster.add_node("node-2", {"pool": "large"})
        world.until("one on the new node", lambda: len(nodes_of(world)) == 3)

        def counted(wanted: int) -> bool:
            found = world.get("prometheusagent", "light") or {}
            numbers = {
                found["status"][f"{each}eplicas"] for each in ("r", "availableR", "updatedR")
            }
            return numbers == {wanted} and available(world)

        world.until("the status to count three", lambda: counted(3))
        assert column(own_cluster.kubectl("get", *agents).stdout, "DESIRED") == {"light": "3"}
        own_cluster.remove_node("node-1")
        world.until("the status to count two", lambda: counted(2))
        mark = own_cluster.audit.mark()
        world.put(on_nodes(nodeSelector={"pool": "large"}, resources={"requests": {"cpu": "10m"}}))
        world.until("only the pool", lambda: nodes_of(world) == {"node-2"} and counted(1))
        assert column(own_cluster.kubectl("get", *agents).stdout, "DESIRED") == {"light": "1"}
        writes = [each for each in own_cluster.audit.since(mark, "stoker") if each.status < 300]
        assert len([each for each in writes if each.resource == "daemonsets"]) <= 2
        before = (world.get("daemonset", "prom-agent-light") or {})["metadata"]["uid"]
        world.delete("daemonset", "prom-agent-light")
        world.until(
            "the DaemonSet to come back",
            lambda: (world.get("daemonset", "prom-agent-light") or {})["metadata"]["uid"] != before,
        )


def test_agents_go_where_tolerations_and_affinity_let_them(own_cluster: Cluster) -> None:
    """Also to a node without the usual labels; and a new monitor is no reason to write a DaemonSet.

    A Probe is nobody's: the selectors for it cannot be set in this mode (see the rules below), so
    no agent has it, and none says that it has.

    (peer scenario: Prometheus Agent Daemon Set Select Pod Monitor)
    """
    own_cluster.add_node("tainted", {"pool": "special"})
    taint = {"key": "special", "value": "yes", "effect": "NoSchedule"}
    _patch_node(own_cluster, "tainted", {"spec": {"taints": [taint]}})
    label = "kubernetes.io/hostname"
    _patch_node(own_cluster, "node-1", {"metadata": {"labels": {label: None}}})
    world = World(own_cluster, "default")
    with Running.start(own_cluster, "--namespaces=default"):
        world.put(on_nodes())
        world.until("agents where they may", lambda: nodes_of(world) == {"node-0", "node-1"})
        toleration = {"key": "special", "operator": "Equal", "value": "yes"}
        world.put(on_nodes(tolerations=[toleration]))
        world.until("one on the tainted node", lambda: len(nodes_of(world)) == 3)
        wanted = {"key": "pool", "operator": "In", "values": ["special"]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        world.put(on_nodes(tolerations=[toleration], affinity=affinity))
        world.until("only that one", lambda: nodes_of(world) == {"tainted"} and available(world))

        mark = own_cluster.audit.mark()
        probe = {"prober": {"url": "prober:9115"}, "targets": {"staticConfig": {"static": ["a"]}}}
        world.put(resource("Probe", "ours", probe))
        monitor = {"selector": {}, "podMetricsEndpoints": [{"port": "web"}]}
        world.put(resource("PodMonitor", "ours", monitor))
        world.until("its binding", lambda: _bindings(world, "podmonitor") == ["light"])
        assert "daemonsets" not in {each.resource for each in world.writes(mark)}
        assert "secrets" in {each.resource for each in world.writes(mark)}
        assert _bindings(world, "probe") == []


def _patch_node(cluster: Cluster, name: str, patch: Object) -> None:
    kind = "application/merge-patch+json"
    cluster.api.request("PATCH", f"/api/v1/nodes/{name}", patch, content_type=kind)


def _bindings(world: World, kind: str) -> list[str]:
    found = world.get(kind, "ours") or {}
    return [each["name"] for each in (found.get("status") or {}).get("bindings") or []]


def test_a_switch_that_is_taken_back_leaves_the_old_agents_alone(
    world: World, operator: Running
) -> None:
    """Nothing of the other mode stays; whole switches are in `test_daemonset_scrapes`."""
    world.put(on_nodes())
    world.until("the DaemonSet", lambda: settled_in(world, "daemonset"))
    before = _uids(world)
    # Nobody says that the new pods are ready, so that the switch is not over before it is seen.
    never = {"podMetadata": {"annotations": {READINESS: "told"}}}
    world.put(on_nodes() | {"spec": on_nodes()["spec"] | never | {"mode": "StatefulSet"}})
    world.until("the StatefulSet", lambda: world.list("statefulset"))
    world.until(
        "the words for it",
        lambda: (
            "SwitchingMode" in world.condition("prometheusagent", "light", "Reconciled")["reason"]
        ),
    )
    world.put(on_nodes())
    world.until("the DaemonSet alone", lambda: settled_in(world, "daemonset"))
    world.until(
        "the Secret of the switch to go",
        lambda: world.get("secret", "prom-agent-light-switch") is None,
    )
    world.until("its pods to go", lambda: _uids(world) == before)


def _uids(world: World) -> set[str]:
    return {each["metadata"]["uid"] for each in (*world.list("daemonset"), *world.list("pods"))}


def test_what_makes_no_sense_on_every_node_is_refused_by_the_api_server(crds: Cluster) -> None:
    """Each forbidden field, with the words of its rule.

    (peer scenario: Prometheus Agent Daemon Set CEL Validations)
    """
    forbidden: Object = {
        "replicas": 2,
        "storage": {"emptyDir": {}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
        "scrapeConfigSelector": {},
        "scrapeConfigNamespaceSelector": {},
        "probeSelector": {},
        "probeNamespaceSelector": {},
        "additionalScrapeConfigs": {"name": "a", "key": "b"},
    }
    world = World(crds, "default")
    for field, value in forbidden.items():
        refusal = _refusal(world, on_nodes("refused", **{field: value}))
        assert f"{field} cannot be set when mode is DaemonSet" in refusal
    assert "shards cannot be greater than 1" in _refusal(world, on_nodes("refused", shards=2))
    daemon_set = {"daemonSet": {"minReadySeconds": 1}}
    agent = resource("PrometheusAgent", "refused", daemon_set)
    assert "daemonSet can only be set when mode is DaemonSet" in _refusal(world, agent)


def _refusal(world: World, wanted: Object) -> str:
    with pytest.raises(Exception, match=r"cannot|can only") as refused:
        world.put(wanted)
    return str(refused.value)


def test_without_cel_the_operator_says_the_same_and_makes_nothing() -> None:
    """Definitions without rules, as for old clusters: the condition has the rule's words.

    Nor have they what the peer's have not, and the status goes without that.
    """
    with cluster_with_crds("--without-cel", nodes=1) as cluster:
        _without_own_status(cluster)
        world = World(cluster, "default")
        with Running.start(cluster, "--namespaces=default"):
            world.put(on_nodes(replicas=2))
            world.until(
                "the condition",
                lambda: (
                    "replicas cannot be set when mode is DaemonSet"
                    in world.condition("prometheusagent", "light", "Reconciled")["message"]
                ),
            )
            condition = world.condition("prometheusagent", "light", "Reconciled")
            assert condition["status"] == "False"
            assert world.list("daemonset") == world.list("statefulset") == []
            world.put(on_nodes())
            world.until("the agent", lambda: available(world))
            found = world.get("prometheusagent", "light") or {}
            assert found["status"]["replicas"] == 1
            assert "desiredReplicas" not in found["status"]
            mark = cluster.audit.mark()
            monitor = {"selector": {}, "podMetricsEndpoints": [{"port": "web"}]}
            world.put(resource("PodMonitor", "ours", monitor))
            world.until("its binding", lambda: _bindings(world, "podmonitor") == ["light"])
            world.until("something selected", lambda: _selects(world))
            refused = [each for each in world.writes(mark) if each.status >= 400]
            assert refused == [], "what the definition does not have is not tried again"


def _selects(world: World) -> bool:
    reason = world.condition("prometheusagent", "light", "Reconciled")["reason"]
    return "NoSelectedResources" not in reason


def _without_own_status(cluster: Cluster) -> None:
    """Take from the definition of agents what their status has beyond the peer's."""
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/desiredReplicas"
    cluster.kubectl(
        "patch", "crd", "prometheusagents.monitoring.coreos.com", "--type=json",
        "-p", json.dumps([{"op": "remove", "path": path}]),
    )  # fmt: skip


_COUNTS: Final = (None, 0, 1, -1, "0%", "5%", "100%", "101%", "-5%", "abc", "1", "5.5%", "")


def test_a_pace_is_refused_exactly_where_kubernetes_refuses_it(crds: Cluster) -> None:
    """What we take becomes a DaemonSet that the API server takes; what it refuses, we do.

    Its own verdict on each pace is asked as well, so that we refuse nothing without need.
    """
    agents = {
        (surge, away): _on_pace({"maxSurge": surge, "maxUnavailable": away})
        for surge, away in product(_COUNTS, _COUNTS)
    }
    sets = map(_daemon_set, agents.values())
    taken = [not each.refusal for each in dry_run.answers(crds, sets)]
    by_kubernetes = dict(zip(agents, taken, strict=True))
    taken = [not each.refusal for each in dry_run.answers(crds, agents.values())]
    assert dict(zip(agents, taken, strict=True)) == by_kubernetes
    (version,) = PROMETHEUS_AGENT.versions
    assert {
        pace: not admit(version, each).findings for pace, each in agents.items()
    } == by_kubernetes
    assert 10 < sum(by_kubernetes.values()) < len(by_kubernetes)


def _on_pace(pace: Object) -> Object:
    given = {name: count for name, count in pace.items() if count is not None}
    strategy = {"type": "RollingUpdate", "rollingUpdate": given}
    agent = on_nodes("paced", daemonSet={"updateStrategy": strategy})
    return agent | {"metadata": agent["metadata"] | {"namespace": "default"}}


def _daemon_set(agent: Object) -> Object:
    """The DaemonSet of an agent, whether or not we would take its pace."""
    made = convert(PrometheusAgent, {**agent, "metadata": {**agent["metadata"], "uid": "u-1"}})
    capabilities = Capabilities()
    site = Site(made, scraper_of(made, capabilities), ObjectSettings())
    found = daemon_set(site, tls_assets=TlsAssets("assets", 0))
    return found | {"metadata": found["metadata"] | {"namespace": "default"}}
