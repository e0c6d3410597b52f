"""`stoker migrate agent-mode`: an agent in its other mode, told before anything is changed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.__main__ import main
from stoker.api.admit import admit
from stoker.api.kinds import version_of
from stoker.api.prometheus import RULES_OF_MODES
from stoker.offline.manifests import read
from stoker.offline.migration.fields import (
    DAEMON_SET,
    FORBIDDEN,
    STATEFUL_SET,
    WantedDiscovery,
    removed,
)
from stoker.offline.migration.plan import Migration, migration
from stoker.offline.migration.text import edited
from stoker.offline.world import world_of
from stoker.yamltree import parse
from tests.builders import node, thing

Object = dict[str, Any]
Capture = pytest.CaptureFixture[str]


def agent(name: str = "light", **spec: Any) -> Object:
    """A PrometheusAgent that takes all PodMonitors everywhere."""
    every: Object = {"podMonitorSelector": {}, "podMonitorNamespaceSelector": {}}
    return thing("PrometheusAgent", name, "monitoring", spec=every | spec)


POD_MONITOR = thing(
    "PodMonitor", "cart", spec={"selector": {}, "podMetricsEndpoints": [{"port": "web"}]}
)
PROBE = thing(
    "Probe",
    "front",
    spec={
        "prober": {"url": "prober:9115"},
        "targets": {"staticConfig": {"static": ["https://example.com"]}},
    },
)
SCRAPE_CONFIG = thing("ScrapeConfig", "fixed", spec={"staticConfigs": [{"targets": ["a:1"]}]})
EVERYTHING: Object = {
    "probeSelector": {},
    "probeNamespaceSelector": {},
    "scrapeConfigSelector": {},
    "scrapeConfigNamespaceSelector": {},
}


def plan(tmp_path: Path, moved: Object, *others: Object, to: str = DAEMON_SET, **how: Any) -> Any:
    """What becomes of an agent among other objects."""
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [moved, *others]}))
    found: Migration = migration(moved, to, world_of(read([str(file)])), **how)
    return found


# --- Fields ---------------------------------------------------------------------------------------

# The words of a rule begin with the field that it is about.
RULED = {message.split()[0] for message in RULES_OF_MODES}


def test_there_are_words_for_the_field_of_every_rule() -> None:
    """Whatever the definition forbids in a mode, the command says what is lost with it."""
    assert set(FORBIDDEN[DAEMON_SET]) | set(FORBIDDEN[STATEFUL_SET]) == RULED
    assert set(FORBIDDEN[STATEFUL_SET]) == {"daemonSet"}


FULL: Object = {
    "replicas": 2,
    "shards": 3,
    "storage": {"emptyDir": {}},
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
    "additionalScrapeConfigs": {"name": "more", "key": "jobs"},
    "shardingStrategy": {"mode": "Address"},
    **EVERYTHING,
    "daemonSet": {"minReadySeconds": 5, "discovery": "Operator"},
    "apiserverConfig": {"host": "https://other"},
    "version": "v3.5.0",
}


@pytest.mark.parametrize("mode", [DAEMON_SET, STATEFUL_SET])
def test_what_is_left_is_taken_by_the_api_server(tmp_path: Path, mode: str) -> None:
    """All forbidden fields go, the others stay, and what a server writes is not repeated."""
    given = agent(**FULL, mode=DAEMON_SET if mode == STATEFUL_SET else STATEFUL_SET)
    given["metadata"] |= {"uid": "1", "resourceVersion": "2", "labels": {"a": "b"}}
    found = plan(tmp_path, given | {"status": {"paused": False}}, to=mode)
    assert {each.field for each in found.removed} == FORBIDDEN[mode].keys()
    assert found.manifest["metadata"] == {
        "name": "light",
        "namespace": "monitoring",
        "labels": {"a": "b"},
    }
    kept = given["spec"].keys() - FORBIDDEN[mode].keys()
    assert found.manifest["spec"] == {name: given["spec"][name] for name in kept} | {"mode": mode}
    version = version_of(found.manifest["apiVersion"], "PrometheusAgent")
    assert version is not None
    assert admit(version, found.manifest).findings == ()
    assert not found.problems


@pytest.mark.parametrize("spread", [True, False])
def test_an_agent_on_nodes_may_change_who_finds_its_targets(tmp_path: Path, spread: bool) -> None:
    """In either direction, with what goes with it, and back to what it was."""
    settings = {"minReadySeconds": 5, "discovery": "Kubernetes"}
    given = agent(mode=DAEMON_SET, daemonSet=settings, serviceMonitorSelector={})
    wanted = WantedDiscovery("Operator", "Spread" if spread else None)
    there = plan(tmp_path, given, to=DAEMON_SET, discovery=wanted)
    shared = {"targetsWithoutAgent": "Spread"} if spread else {}
    assert not there.is_done
    assert there.manifest["spec"]["daemonSet"] == settings | {"discovery": "Operator"} | shared
    assert there.patch["spec"]["daemonSet"] == {"discovery": "Operator", **shared}
    assert there.problems == ()
    assert "--node-discovery-url" in there.steps[0]
    assert "rollout status" in there.steps[2]
    assert "an endpoint that names no node" in str(there.notes) or spread
    again = plan(tmp_path, there.manifest, to=DAEMON_SET, discovery=wanted)
    assert again.is_done
    back = plan(tmp_path, there.manifest, to=DAEMON_SET, discovery=WantedDiscovery("Kubernetes"))
    assert back.manifest["spec"] == given["spec"]
    assert "can-i watch pods" in back.steps[0]
    away = plan(tmp_path, there.manifest, to=STATEFUL_SET)
    assert [each.field for each in away.removed] == ["daemonSet"]
    assert "can-i watch pods" in away.steps[0]


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "  daemonSet:\n    # slowly\n    minReadySeconds: 5\n",
        "  daemonSet:\n    discovery: Kubernetes\n",
    ],
    ids=["without", "beside others", "in place of another"],
)
def test_comments_stay_where_discovery_changes(tmp_path: Path, inside: str) -> None:
    """The lines of `daemonSet` come, or become others, and nothing else does."""
    text = (
        "apiVersion: monitoring.coreos.com/v1alpha1\nkind: PrometheusAgent\n"
        f"metadata:\n  name: light\nspec:\n  # of ours\n  mode: DaemonSet\n{inside}"
        "  version: v3.5.0 # newest\n"
    )
    given = parse(text)
    assert isinstance(given, dict)
    found = plan(tmp_path, given, to=DAEMON_SET, discovery=WantedDiscovery("Operator", "Spread"))
    made = edited(text, (), DAEMON_SET, found.manifest, found.settings)
    assert made is not None
    assert parse(made) == found.manifest
    assert {"  # of ours", "  version: v3.5.0 # newest"} <= set(made.splitlines())
    assert ("    # slowly" in made) is ("slowly" in inside)


def test_only_what_breaks_a_rule_goes() -> None:
    """One shard is allowed on every node, two are not; a null is not there."""
    assert removed({"shards": 1, "replicas": None}, DAEMON_SET) == ()
    assert [each.field for each in removed({"shards": 2}, DAEMON_SET)] == ["shards"]


def test_an_agent_that_is_refused_in_its_mode_can_be_mended(tmp_path: Path) -> None:
    """The mode is set already and the API server refuses the rest: the same fields go."""
    found = plan(tmp_path, agent(mode=DAEMON_SET, replicas=2))
    assert [each.field for each in found.removed] == ["replicas"]
    assert not found.is_done
    assert plan(tmp_path, agent(mode=DAEMON_SET)).is_done


def test_fields_that_do_nothing_are_told(tmp_path: Path) -> None:
    """They may stay, for the way back, but nobody should count on them."""
    found = plan(tmp_path, agent(serviceName="mine", updateStrategy={"type": "OnDelete"}))
    assert {each.field for each in found.idle} == {"serviceName", "updateStrategy"}
    assert found.manifest["spec"]["serviceName"] == "mine"


def test_a_text_with_the_name_of_the_node_stops_the_way_back(tmp_path: Path) -> None:
    """A StatefulSet's pods have no such variable: their reloader would refuse the configuration."""
    given = agent(mode=DAEMON_SET, externalLabels={"node": "$(NODE_NAME)"})
    found = plan(tmp_path, given, to=STATEFUL_SET)
    assert found.problems == (
        "spec.externalLabels.node: $(NODE_NAME) is not set in a StatefulSet's pods; take it out",
    )
    assert found.needs_care


@pytest.mark.parametrize("mode", [DAEMON_SET, STATEFUL_SET])
def test_a_change_that_would_be_held_is_a_problem_beforehand(tmp_path: Path, mode: str) -> None:
    """Old and new pods want the same port of a node: the operator's own words for it."""
    before = {DAEMON_SET: {}, STATEFUL_SET: {"mode": DAEMON_SET}}[mode]
    old = {DAEMON_SET: "statefulset", STATEFUL_SET: "daemonset"}[mode]
    web = {"containerPort": 9090, "hostPort": 9090}
    ports = {"containers": [{"name": "prometheus", "ports": [web]}]}
    for spec in ({"hostNetwork": True}, {"hostNetwork": True, "listenLocal": True}, ports):
        found = plan(tmp_path, agent(**before, **spec), to=mode)
        [problem] = found.problems
        assert "would hold the change" in problem
        assert "9090/TCP" in problem
        assert f"kubectl -n monitoring delete {old} prom-agent-light" in problem
        assert found.needs_care
    assert not plan(tmp_path, agent(**before), to=mode).problems


def test_a_manifest_that_is_wrong_is_told_and_not_a_crash(tmp_path: Path) -> None:
    """What the API server would refuse in any mode is a problem here too."""
    found = plan(tmp_path, agent(version=3, replicas="two"))
    assert any(problem.startswith("spec.version") for problem in found.problems)
    assert [each.field for each in found.removed] == ["replicas"]


# --- Targets --------------------------------------------------------------------------------------


def test_what_agents_on_nodes_cannot_take_is_homeless(tmp_path: Path) -> None:
    """Probes, ScrapeConfigs and jobs of a Secret; what somebody else takes too has a home."""
    given = agent(**EVERYTHING, additionalScrapeConfigs={"name": "more", "key": "jobs"})
    found = plan(tmp_path, given, POD_MONITOR, PROBE, SCRAPE_CONFIG)
    assert found.homeless == (
        "Probe shop/front",
        "ScrapeConfig shop/fixed",
        "the jobs in Secret monitoring/more, key jobs",
    )
    assert found.needs_care
    everywhere: Object = {"probeSelector": {}, "probeNamespaceSelector": {}}
    other = thing("Prometheus", "main", spec=everywhere)
    left = plan(tmp_path, given, POD_MONITOR, PROBE, SCRAPE_CONFIG, other).homeless
    assert "Probe shop/front" not in left


def test_an_agent_beside_it_takes_what_is_homeless(tmp_path: Path) -> None:
    """It is as the agent was, less the monitors of what runs on nodes."""
    given = agent(**EVERYTHING, replicas=2, additionalScrapeConfigs={"name": "more", "key": "jobs"})
    found = plan(tmp_path, given, POD_MONITOR, PROBE, SCRAPE_CONFIG, beside=True)
    assert found.homeless == ()
    assert not found.needs_care
    assert found.beside["metadata"] == {"name": "light-central", "namespace": "monitoring"}
    assert found.beside["spec"].keys() == {
        *EVERYTHING,
        "additionalScrapeConfigs",
        "mode",
        "replicas",
    }
    assert "light-central" in found.steps[0]
    assert plan(tmp_path, agent(replicas=2), beside=True).beside is None


def test_who_takes_the_same_monitors_is_told(tmp_path: Path) -> None:
    """By selectors and namespaces, as the operator chooses."""
    wanted: Object = {"podMonitorSelector": {}, "podMonitorNamespaceSelector": {}}
    same = thing("Prometheus", "same", spec=wanted)
    elsewhere = thing("Prometheus", "other", spec={"podMonitorSelector": {}}, namespace="other")
    found = plan(tmp_path, agent(), POD_MONITOR, same, elsewhere)
    assert [(each.workload, each.resources) for each in found.overlaps] == [
        ("Prometheus shop/same", ("PodMonitor shop/cart",))
    ]
    assert found.needs_care


def test_agents_on_other_nodes_do_not_scrape_the_same(tmp_path: Path) -> None:
    """Two pools with one monitor: each agent has the targets of its own nodes."""
    first = agent(nodeSelector={"pool": "large", "os": "linux"})
    second = agent("small", mode=DAEMON_SET, nodeSelector={"pool": "small", "os": "linux"})
    assert not plan(tmp_path, first, POD_MONITOR, second).overlaps
    anywhere = agent("small", mode=DAEMON_SET, nodeSelector={"os": "linux"})
    assert plan(tmp_path, first, POD_MONITOR, anywhere).overlaps
    # A StatefulSet scrapes all nodes, wherever its pods are.
    back = plan(tmp_path, first | {"spec": second["spec"]}, POD_MONITOR, second, to=STATEFUL_SET)
    assert back.overlaps


# --- Nodes ----------------------------------------------------------------------------------------


def pod(name: str, on: str) -> Object:
    """A pod of the shop on a node."""
    container = {"name": "a", "ports": [{"name": "web", "containerPort": 80}]}
    status = {"phase": "Running", "podIP": "10.0.0.1"}
    return thing("Pod", name, spec={"nodeName": on, "containers": [container]}, status=status)


POOLS = (node("infra-1", pool="infra"), node("apps-1", pool="apps"), node("apps-2", pool="apps"))


def affine(operator: str, *values: str) -> Object:
    """Required affinity to nodes of pools."""
    wanted = {"key": "pool", "operator": operator, "values": list(values)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_targets_on_nodes_without_an_agent_are_lost(tmp_path: Path, capsys: Capture) -> None:
    """A StatefulSet on a pool scrapes everything; a DaemonSet on that pool scrapes that pool."""
    given = agent(nodeSelector={"pool": "infra"})
    pods = [pod("a", "infra-1"), pod("b", "apps-1"), pod("c", "apps-1"), pod("d", "apps-2")]
    objects = [given, *POOLS, POD_MONITOR, *pods]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects))
    status, _, report = called(capsys, "--to", "DaemonSet", tmp_path)
    assert status == 1
    why = "has `pool=apps`, and spec.nodeSelector asks for `pool=infra`"
    lines = [line.split(maxsplit=1) for line in report.splitlines()]
    assert ["nodes", f"covers 1 of 3 nodes; it is not on apps-1, apps-2 ({why})"] in lines
    told = f"node apps-1 {why}; nobody will scrape them"
    assert ["lost", f"2 targets of PodMonitor shop/cart (Pod shop/b, Pod shop/c): {told}"] in lines
    assert "have agents where the lost targets are" in report
    found = plan(tmp_path, *objects)
    assert [(each.node, each.targets) for each in found.nodes.lost] == [
        ("apps-1", 2),
        ("apps-2", 1),
    ]


def test_what_another_takes_is_not_lost(tmp_path: Path) -> None:
    """Another agent that is where the first is not, or that scrapes from anywhere."""
    given = (agent(nodeSelector={"pool": "infra"}), *POOLS, POD_MONITOR, pod("b", "apps-1"))
    apps = agent("apps", mode=DAEMON_SET, nodeSelector={"pool": "apps"})
    found = plan(tmp_path, *given, apps)
    assert (found.nodes.lost, found.overlaps, found.needs_care) == ((), (), False)
    assert not plan(tmp_path, *given, agent("central")).nodes.lost


def test_endpoints_without_a_node_are_lost(tmp_path: Path) -> None:
    """Whichever nodes there are."""
    monitors: Object = {"serviceMonitorSelector": {}, "serviceMonitorNamespaceSelector": {}}
    spec = {"selector": {}, "endpoints": [{"port": "web"}]}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "far", "namespace": "shop"},
        "spec": {"ports": [{"name": "web", "port": 80}]},
    }
    slices = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "far",
            "namespace": "shop",
            "labels": {"kubernetes.io/service-name": "far"},
        },
        "endpoints": [{"addresses": ["192.0.2.7"]}],
        "ports": [{"name": "web", "port": 80}],
    }
    monitor = thing("ServiceMonitor", "far", spec=spec)
    found = plan(tmp_path, agent(**monitors), monitor, service, slices)
    (lost,) = found.nodes.lost
    assert (lost.node, lost.targets, lost.names) == ("", 1, ("192.0.2.7",))
    assert lost.resources == ("ServiceMonitor shop/far",)


def test_a_narrow_agent_is_no_safe_change_where_nodes_or_pods_are_not_known(tmp_path: Path) -> None:
    """It surely leaves nodes out; without a choice of nodes there is only a note."""
    narrow = agent(affinity=affine("In", "infra"))
    found = plan(tmp_path, narrow, POD_MONITOR)
    assert found.nodes.doubt.endswith("there are no Node objects among the manifests")
    assert found.needs_care
    found = plan(tmp_path, narrow, POD_MONITOR, *POOLS)
    assert "nobody will scrape what is on nodes without an agent" in found.nodes.doubt
    assert found.needs_care
    everywhere = plan(tmp_path, agent(), POD_MONITOR)
    assert not everywhere.needs_care
    assert "with Nodes among the manifests this says which have no agent" in str(everywhere.notes)
    # Nothing that it takes is there.
    assert not plan(tmp_path, narrow, POD_MONITOR, *POOLS, pod("a", "infra-1")).needs_care


def test_agents_that_share_no_node_are_not_double(tmp_path: Path) -> None:
    """Kept apart by affinity, or by taints where the nodes are known."""
    first = agent(affinity=affine("In", "infra"))
    second = agent("apps", mode=DAEMON_SET, affinity=affine("NotIn", "infra"))
    assert not plan(tmp_path, first, POD_MONITOR, second).overlaps
    assert not plan(tmp_path, first, POD_MONITOR, second, *POOLS).overlaps
    assert plan(tmp_path, agent(), POD_MONITOR, second, *POOLS).overlaps
    taint = {"key": "gpu", "effect": "NoSchedule"}
    tolerant: Object = {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"gpu": "yes"}}
    gpu = agent("gpu", mode=DAEMON_SET, **tolerant)
    nodes = (node("plain"), node("gpu-1", taint, gpu="yes"))
    assert not plan(tmp_path, agent(), POD_MONITOR, gpu, *nodes).overlaps
    assert plan(tmp_path, agent(), POD_MONITOR, gpu).overlaps
    assert plan(tmp_path, agent(), POD_MONITOR, gpu, node("gpu-2", gpu="yes")).overlaps


def test_the_agent_beside_is_on_no_node(tmp_path: Path) -> None:
    """It has neither the host's network nor the name of a node, and that is said."""
    given = agent(
        **EVERYTHING,
        hostNetwork=True,
        dnsPolicy="ClusterFirstWithHostNet",
        externalLabels={"node": "$(NODE_NAME)", "cluster": "a"},
        additionalArgs=[{"name": "x", "value": "$(NODE_NAME)"}, {"name": "y", "value": "z"}],
    )
    found = plan(tmp_path, given, PROBE, beside=True)
    assert found.beside["spec"] == EVERYTHING | {
        "mode": STATEFUL_SET,
        "externalLabels": {"cluster": "a"},
        "additionalArgs": [{"name": "y", "value": "z"}],
    }
    assert (
        "light-central is on no node of its own, and without spec.hostNetwork, "
        "spec.externalLabels.node, spec.additionalArgs[0].value"
    ) in found.notes
    assert found.manifest["spec"]["hostNetwork"] is True


# --- The command ----------------------------------------------------------------------------------

WRITTEN = """\
apiVersion: monitoring.coreos.com/v1alpha1
kind: PrometheusAgent
metadata:
  name: light
  namespace: monitoring
spec:
  # pods of all teams
  podMonitorSelector: {}
  replicas: 2 # for safety
  probeSelector:
    matchLabels:
      a: b

  # to the store
  remoteWrite:
  - url: http://store.example.com/write # there
  storage:
    volumeClaimTemplate:
      spec: {resources: {requests: {storage: 1Gi}}}
"""


def called(capsys: Capture, *words: str | Path) -> tuple[int, str, str]:
    """Exit status, output and report of a call."""
    status = main(["migrate", "agent-mode", *map(str, words)])
    answer = capsys.readouterr()
    return status, answer.out, answer.err


def test_the_manifest_is_printed_with_its_comments(tmp_path: Path, capsys: Capture) -> None:
    """Lines are taken out and one is put in; the report has what is lost and the steps."""
    (tmp_path / "agent.yaml").write_text(WRITTEN)
    status, output, report = called(capsys, "--to", "DaemonSet", tmp_path)
    assert status == 0
    assert (
        output
        == """\
---
apiVersion: monitoring.coreos.com/v1alpha1
kind: PrometheusAgent
metadata:
  name: light
  namespace: monitoring
spec:
  mode: DaemonSet
  # pods of all teams
  podMonitorSelector: {}

  # to the store
  remoteWrite:
  - url: http://store.example.com/write # there
"""
    )
    assert "PrometheusAgent monitoring/light: StatefulSet -> DaemonSet" in report
    assert re.search(r"goes +spec\.storage: .*instead: daemonSet\.storage\.hostPath", report)
    patch = '{"spec":{"mode":"DaemonSet","replicas":null,"storage":null,"probeSelector":null}}'
    assert patch in report
    assert "kubectl get -n monitoring pvc" in report.splitlines()[-1]


UNEDITABLE = {
    "on one line": "spec: {podMonitorSelector: {}, replicas: 2}\n",
    "an anchor in what goes": "spec:\n  probeSelector: &all {}\n  podMonitorSelector: *all\n",
    "a status": "spec:\n  replicas: 2\n  podMonitorSelector: {}\nstatus: {}\n",
}


@pytest.mark.parametrize("spec", UNEDITABLE.values(), ids=UNEDITABLE)
def test_a_manifest_that_cannot_be_edited_is_written_anew(
    tmp_path: Path, capsys: Capture, spec: str
) -> None:
    """It means the same, and the report says that comments are gone."""
    head = WRITTEN.partition("spec:")[0]
    (tmp_path / "agent.yaml").write_text(head + spec)
    _, output, report = called(capsys, "--to", "DaemonSet", tmp_path)
    assert yaml.safe_load(output)["spec"] == {"mode": "DaemonSet", "podMonitorSelector": {}}
    assert "rewritten, without your comments" in report


def test_a_mode_is_replaced_where_it_stands() -> None:
    """With its comment, whatever quotes it had."""
    text = 'spec:\n  version: v3.5.0\n  mode: "DaemonSet" # on nodes\n  daemonSet: {}\n'
    wanted = {"spec": {"version": "v3.5.0", "mode": "StatefulSet"}}
    assert edited(text, {"daemonSet"}, "StatefulSet", wanted) == (
        "spec:\n  version: v3.5.0\n  mode: StatefulSet # on nodes\n"
    )


def test_programs_get_all_of_it_as_json(tmp_path: Path, capsys: Capture) -> None:
    """One object for each agent, on standard output alone."""
    documents = [agent(**EVERYTHING), agent("done", mode=DAEMON_SET), PROBE]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(documents))
    status, output, report = called(capsys, "--to", "DaemonSet", "-o", "json", tmp_path)
    first, second = map(json.loads, output.splitlines())
    assert (status, report) == (1, "")
    assert first["homeless"] == ["Probe shop/front"]
    assert first["patch"]["spec"] == {"mode": "DaemonSet"} | dict.fromkeys(EVERYTHING)
    assert (first["done"], second["done"]) == (False, True)


def test_one_agent_of_several_can_be_meant(tmp_path: Path, capsys: Capture) -> None:
    """By name, or by namespace and name; nobody of that name is an error."""
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([agent("a"), agent("b")]))
    for name in ("a", "monitoring/a"):
        _, output, _ = called(capsys, "--to", "DaemonSet", tmp_path, "--workload", name)
        assert [each["metadata"]["name"] for each in yaml.safe_load_all(output)] == ["a"]
    status, _, report = called(capsys, "--to", "DaemonSet", tmp_path, "--workload", "c")
    assert status == 2
    assert "no PrometheusAgent called c found" in report
    status, _, report = called(capsys, "--to", "DaemonSet", tmp_path / "nowhere")
    assert status == 2
    assert "nowhere (no such file or directory)" in report


def test_what_could_not_be_read_is_told(tmp_path: Path, capsys: Capture) -> None:
    """A monitor that is broken may be one that is scraped twice: the status says so."""
    broken = thing("PodMonitor", "odd", spec={"selector": {}, "podMetricsEndpoints": "none"})
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([agent(), broken]))
    status, _, report = called(capsys, "--to", "DaemonSet", tmp_path)
    assert status == 1
    assert "PodMonitor shop/odd (spec.podMetricsEndpoints" in report


def test_a_name_cannot_break_out_of_the_commands(tmp_path: Path, capsys: Capture) -> None:
    """Steps are copied into a shell: odd names are quoted, and control codes spelt out."""
    odd = agent("a; rm\x1b[2J")
    (tmp_path / "all.json").write_text(json.dumps(odd))
    _, _, report = called(capsys, "--to", "DaemonSet", tmp_path)
    assert "prometheusagent 'a; rm\\x1b[2J'" in report


def test_a_cluster_that_does_not_answer_is_an_error(tmp_path: Path, capsys: Capture) -> None:
    """One line, and the status of a command that could not begin."""
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    }
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    status, output, report = called(
        capsys, "--to", "DaemonSet", "--kubeconfig", tmp_path / "config", "light"
    )
    assert (status, output) == (2, "")
    assert report.startswith("stoker migrate agent-mode: ")
    status, _, report = called(capsys, "--to", "DaemonSet", "--kubeconfig", tmp_path / "absent")
    assert status == 2
