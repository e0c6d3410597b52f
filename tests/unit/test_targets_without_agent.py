"""Targets that no agent on nodes is beside, as people are told of them by each reader."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from stoker.__main__ import main
from stoker.cli.operator_settings import operator_settings
from stoker.explain.answer import Explanation
from stoker.explain.ask import explanation
from stoker.offline.manifests import read
from stoker.offline.pages import DirectoryPages
from stoker.offline.surroundings import view_of
from stoker.offline.world import world_of
from stoker.portions.rendezvous import highest, numbers
from stoker.settings import SOME_OPERATOR
from tests.builders import node, pod_of, secret, thing
from tests.unit.test_validate import CERTIFICATE

Object = dict[str, Any]
Capture = pytest.CaptureFixture[str]
AGENT = "PrometheusAgent monitoring/light"
NODES = ("worker-1", "worker-2", "worker-3")
TAINT: Object = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
PAGE_FLAGS = (
    "--node-discovery-url=https://stoker:8443",
    "--prometheus-config-reloader=registry.example/stoker:1.0",
)
FLAGS = tuple(each.replace("--", "--flag=", 1) for each in PAGE_FLAGS)
API_SERVER = "172.18.0.2"


def agent(who: str | None = "Spread", discovery: str = "Operator", **spec: Any) -> Object:
    """An agent on nodes that takes every monitor."""
    settings = {"discovery": discovery} | ({"targetsWithoutAgent": who} if who else {})
    every: Object = {
        "mode": "DaemonSet",
        "daemonSet": settings,
        "serviceAccountName": "node-agent",
        "podMonitorSelector": {},
        "podMonitorNamespaceSelector": {},
        "serviceMonitorSelector": {},
        "serviceMonitorNamespaceSelector": {},
        "remoteWrite": [{"url": "http://far"}],
    }
    return thing("PrometheusAgent", "light", "monitoring", spec=every | spec)


def api_server() -> list[Object]:
    """The API server's Service with its endpoint, which names no node, and a monitor of it."""
    labels = {"component": "apiserver"}
    credentials = {"credentials": {"name": "api", "key": "token"}}
    spec = {
        "namespaceSelector": {"matchNames": ["default"]},
        "selector": {"matchLabels": labels},
        "endpoints": [{"port": "https", "authorization": credentials}],
    }
    ports = [{"name": "https", "port": 443, "targetPort": 6443}]
    slice_ = thing(
        "EndpointSlice",
        "kubernetes",
        "default",
        labels={"kubernetes.io/service-name": "kubernetes"},
        addressType="IPv4",
        ports=[{"name": "https", "port": 6443}],
        endpoints=[{"addresses": [API_SERVER]}],
    )
    return [
        thing("ServiceMonitor", "apiserver", "monitoring", spec=spec),
        secret("api", {"token": "s3cret"}, namespace="monitoring"),
        thing("Service", "kubernetes", "default", labels=labels, spec={"ports": ports}),
        slice_,
    ]


def cart(name: str, on: str, address: str) -> Object:
    """A pod of the shop."""
    ports = [{"name": "web", "containerPort": 8080}]
    return thing(
        "Pod",
        name,
        labels={"app": "cart"},
        spec={"nodeName": on, "containers": [{"name": "c", "ports": ports}]},
        status={"phase": "Running", "podIP": address},
    )


def world(*more: Object) -> list[Object]:
    """Three nodes with agents and one without, the API server, and a pod on the last node."""
    spec = {
        "selector": {"matchLabels": {"app": "cart"}}, "podMetricsEndpoints": [{"port": "web"}]
    }  # fmt: skip
    return [
        *map(node, NODES),
        node("gpu-1", TAINT),
        *api_server(),
        thing("PodMonitor", "cart", spec=spec),
        cart("a", "worker-1", "10.0.0.1"),
        cart("b", "gpu-1", "10.0.0.2"),
        *more,
    ]


def agent_pod(on: str, *, ready: bool = True) -> Object:
    """A pod of the agent, as a cluster has it."""
    labels = {
        "app.kubernetes.io/instance": "light",
        "app.kubernetes.io/managed-by": "prometheus-operator",
        "app.kubernetes.io/name": "prometheus-agent",
        "operator.prometheus.io/name": "light",
    }
    spec = {"nodeName": on, "containers": [{"name": "prometheus"}]}
    where: Object = {"namespace": "monitoring", "labels": labels}
    name = f"prom-agent-light-{on}"
    return pod_of("DaemonSet", "prom-agent-light", name, ready=ready, spec=spec, **where)


def folder(tmp_path: Path, *objects: Object) -> str:
    """A file with some objects."""
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def told(tmp_path: Path, title: str, *objects: Object) -> Explanation:
    """What is said of an object."""
    kind, _, key = title.partition(" ")
    found = world_of(read([folder(tmp_path, *objects)]))
    assert not found.refused
    made = explanation(view_of(found, SOME_OPERATOR), kind, *key.split("/"))
    assert made is not None
    return made


MONITOR = "ServiceMonitor monitoring/apiserver"
TAKER = highest(API_SERVER, numbers(NODES))
OF_POD = highest("Pod shop/b", numbers(NODES))


# --- explain --------------------------------------------------------------------------------------


def test_the_agent_is_named_that_a_target_is_given_to(tmp_path: Path) -> None:
    """By the function by which it is given; and nobody else is said to scrape it."""
    found = told(tmp_path, MONITOR, agent(), *world())
    assert found.good
    assert found.headline == f"scraped by {AGENT}: 1 target, given to the agent on {TAKER}"
    [search] = found.searches
    [share] = search.by_node
    assert (share.node, share.targets, share.given, share.names) == (TAKER, 1, 1, (API_SERVER,))
    assert not search.unreached
    found = told(tmp_path, "PodMonitor shop/cart", agent(), *world())
    assert found.headline == (
        f"scraped by {AGENT}: 2 targets, 1 of them given to the agent on {OF_POD}"
    )
    by_node = {each.node: each for each in found.searches[0].by_node}
    assert by_node["worker-1"].targets == (2 if OF_POD == "worker-1" else 1)
    assert by_node[OF_POD].names == ("Pod shop/b",)


def test_only_an_agent_that_is_ready_is_named(tmp_path: Path) -> None:
    """Where pods of the agent are known; with none that is ready nobody scrapes it."""
    others = [name for name in NODES if name != TAKER]
    pods = [agent_pod(name, ready=name != TAKER) for name in NODES]
    found = told(tmp_path, MONITOR, agent(), *world(*pods))
    taker = highest(API_SERVER, numbers(others))
    assert found.headline.endswith(f"1 target, given to the agent on {taker}")
    found = told(tmp_path, MONITOR, agent(), *world(*(agent_pod(n, ready=False) for n in NODES)))
    assert not found.good
    assert "no agent is ready that they could be given to" in found.headline


def test_where_nobody_is_given_them_they_are_nobodys(tmp_path: Path) -> None:
    """As it is without a word; the notes say so too."""
    for who in (None, "Nobody"):
        found = told(tmp_path, MONITOR, agent(who), *world())
        assert not found.good
        assert "no agent is where its targets are: 1 target (172.18.0.2)" in found.headline
        assert "those without an agent on their node are nobody's" in str(found.notes)
        assert found.searches[0].by_node == ()


def test_without_nodes_the_agent_is_not_known(tmp_path: Path) -> None:
    """That it is scraped is: somebody is given it."""
    objects = [each for each in world() if each["kind"] != "Node"]
    found = told(tmp_path, MONITOR, agent(), *objects)
    assert found.good
    [share] = found.searches[0].by_node
    assert (share.node, share.given) == ("", 1)


def test_agents_whose_targets_the_operator_finds_are_asked_for_no_permission(
    tmp_path: Path,
) -> None:
    """Those that ask the API server themselves are."""
    account = thing("ServiceAccount", "node-agent", "monitoring")
    binding = thing(
        "ClusterRoleBinding",
        "nothing",
        roleRef={"kind": "ClusterRole", "name": "nothing"},
        subjects=[{"kind": "ServiceAccount", "name": "node-agent", "namespace": "monitoring"}],
    )
    role = thing("ClusterRole", "nothing", rules=[])
    rights = (account, binding, role)
    found = told(tmp_path, MONITOR, agent(), *world(*rights))
    assert (found.good, found.access) == (True, ())
    assert f"{AGENT} needs no permission: the operator finds its targets" in str(found.notes)
    found = told(tmp_path, MONITOR, agent(None, "Kubernetes"), *world(*rights))
    assert "cannot list and watch" in found.headline


def test_the_lines_of_explain_say_which_agent_has_how_many(tmp_path: Path, capsys: Capture) -> None:
    """Without flags too: who only asks takes for granted that the operator can."""
    path = folder(tmp_path, agent(), *world())
    assert main(["explain", "podmonitor", "shop/cart", "-f", path, "--job"]) == 0
    shown = capsys.readouterr().out
    assert f"by the agent on {OF_POD}: " in shown
    assert "given to it (Pod shop/b)" in shown
    assert "file_sd_configs" in shown


def test_an_agent_tells_that_it_shares_what_is_elsewhere(tmp_path: Path) -> None:
    """In its first line, beside the nodes that it covers; without that a monitor has no targets."""
    found = told(tmp_path, AGENT, agent(), *world())
    assert found.headline.endswith("; it covers 3 of 4 nodes, and shares what is on the others")
    assert "gives those without an agent on their node to one of the others" in str(found.notes)
    found = told(tmp_path, AGENT, agent("Nobody"), *world())
    assert not found.good
    assert "shares" not in found.headline
    assert "those without an agent on their node are nobody's" in str(found.notes)


def test_the_page_names_the_agent(tmp_path: Path) -> None:
    """In the first line of the monitor, and beside what it was given."""
    folder(tmp_path, agent(), *world())
    pages = DirectoryPages(str(tmp_path), operator_settings(list(PAGE_FLAGS)))

    async def shown() -> object:
        running = asyncio.create_task(pages.run())
        answer = await pages.resource("ServiceMonitor", "monitoring", "apiserver")
        running.cancel()
        return json.loads(msgspec.json.encode(answer))

    found: Any = asyncio.run(shown())
    text = json.dumps(found)
    assert f"given to the agent on {TAKER}" in text
    assert f'"node": "{TAKER}", "targets": 1, "given": 1, "names": ["{API_SERVER}"]' in text


# --- lint, diff, render ---------------------------------------------------------------------------


def test_a_node_without_an_agent_is_no_warning_where_its_targets_are_shared(
    tmp_path: Path, capsys: Capture
) -> None:
    """Otherwise it is; neither is it an error that nobody said where the operator serves."""
    for who, warnings in (("Spread", 0), ("Nobody", 1)):
        assert main(["lint", folder(tmp_path, agent(who), *world())]) == 0
        assert f"0 with errors, {warnings} warning" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (agent(None, "Kubernetes"), agent(), "the operator finds targets"),
        (agent(), agent(None, "Kubernetes"), "agents find targets themselves"),
        (agent("Nobody"), agent(), "are given to one of the others; pods stay"),
        (agent(), agent(None), "targets without an agent on their node are nobody's; pods stay"),
    ],
    ids=["to the operator", "to agents", "shared", "nobody's"],
)
def test_a_change_of_discovery_is_told_in_words(
    tmp_path: Path, capsys: Capture, old: Object, new: Object, said: str
) -> None:
    """Also where no object changes; the jobs differ in how targets come to them, and no more."""
    before, after = (folder(tmp_path, each, *world()) for each in (old, new))
    assert main(["diff", "--from", before, after, *FLAGS]) == 1
    shown = capsys.readouterr().out
    assert said in shown.splitlines()[0]
    assert "s3cret" not in shown
    jobs = "podMonitor/shop/cart/0"
    assert f"-- job_name: {jobs}" not in shown
    assert f"+- job_name: {jobs}" not in shown


def test_each_node_has_a_folder_with_what_it_gets(tmp_path: Path, capsys: Capture) -> None:
    """The node that explain names has the target, and the credentials of its job; others not."""
    path, out = folder(tmp_path, agent(), *world()), tmp_path / "out"
    assert main(["render", path, "--output-dir", str(out), *FLAGS]) == 0
    inside = out / "readable" / "prometheusagent-monitoring-light" / "portions"
    lists = {each: each.read_text() for each in inside.rglob("targets/*.json")}
    assert {each.parts[-3] for each, text in lists.items() if API_SERVER in text} == {TAKER}
    assert {each.parts[-3] for each, text in lists.items() if "10.0.0.2" in text} == {OF_POD}
    jobs = {each: each.read_text() for each in inside.rglob("jobs/*.yaml")}
    assert {each.parts[-3] for each, text in jobs.items() if "s3cret" in text} == {TAKER}
    for each, text in jobs.items():
        [job] = yaml.safe_load(text)["scrape_configs"]
        [found] = job["file_sd_configs"][0]["files"]
        assert json.loads((each.parent.parent / "targets" / Path(found).name).read_text())
    assert f"node      {TAKER}: " in capsys.readouterr().err


def test_without_nodes_there_are_the_jobs_as_they_would_be_given_out(
    tmp_path: Path, capsys: Capture
) -> None:
    """In a folder, and after the configuration, which has none itself."""
    objects = [each for each in world() if each["kind"] != "Node"]
    path, out = folder(tmp_path, agent(), *objects), tmp_path / "out"
    assert main(["render", path, "--output-dir", str(out), *FLAGS]) == 0
    inside = out / "readable" / "prometheusagent-monitoring-light"
    assert len(list(inside.glob("jobs/*.yaml"))) == 2
    assert not (inside / "portions").exists()
    capsys.readouterr()
    assert main(["render", path, "--config-only"]) == 0
    shown = capsys.readouterr().out
    assert shown.count(", on each node that has a target of it\n") == 2
    documents = [each for each in yaml.safe_load_all(shown) if each]
    assert [len(each["scrape_configs"]) for each in documents] == [0, 1, 1]


def test_names_of_files_lead_out_of_no_folder(tmp_path: Path) -> None:
    """Though a key of a ConfigMap among manifests may be any text."""
    key = "../" * 12 + "escaped"
    maps = thing("ConfigMap", "ca", "shop", data={key: CERTIFICATE})
    tls = {"tlsConfig": {"ca": {"configMap": {"name": "ca", "key": key}}}, "port": "web"}
    spec = {"selector": {}, "podMetricsEndpoints": [tls]}
    objects = [*world(), maps, thing("PodMonitor", "tls", spec=spec)]
    out = tmp_path / "a" / "b" / "out"
    out.parent.mkdir(parents=True)
    main(["render", folder(tmp_path, agent(), *objects), "--output-dir", str(out), *FLAGS])
    assert not [each for each in tmp_path.rglob("*escaped*") if not each.is_relative_to(out)]
    written = list(out.rglob("*escaped*"))
    assert written
    assert all(each.is_relative_to(out / "readable") for each in written)
