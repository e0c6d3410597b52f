"""`stoker diff` on the real cluster: what is there, what would be, and what it never shows."""

import json
from pathlib import Path

import pytest
import yaml

from stoker.__main__ import main
from tests import builders
from tests.builders import (
    agent,
    alertmanager,
    alertmanager_config,
    prometheus,
    resource,
    service_monitor,
    thanos_ruler,
)
from tests.live.operating import Object, Running, World
from tests.live.test_explain import allow, rule
from tools.api import kubeconfig

Output = pytest.CaptureFixture[str]
CANARY = "hunter2-canary"
LOGIN = {"username": {"name": "login", "key": "user"}, "password": {"name": "login", "key": "word"}}


class Diff:
    """Calls of the command in a namespace, by somebody."""

    def __init__(self, world: World, capsys: Output, folder: Path) -> None:
        self.world, self._capsys, self._folder = world, capsys, folder
        self.config = world.cluster.kubeconfig

    def __call__(self, *objects: Object, words: str = "") -> list[str]:
        """The exit status and the lines for manifests."""
        file = self._folder / "manifests.yaml"
        file.write_text(yaml.safe_dump_all(objects))
        flag = f"--flag=namespaces={self.world.namespace}"
        options = ["-n", self.world.namespace, "--kubeconfig", str(self.config), flag]
        status = main(["diff", str(file), *options, *words.split()])
        said = self._capsys.readouterr()
        assert CANARY not in said.out + said.err
        return [str(status), *said.out.splitlines(), *said.err.splitlines()]


@pytest.fixture
def diff(world: World, capsys: Output, tmp_path: Path) -> Diff:
    """Call `stoker diff` as an administrator."""
    return Diff(world, capsys, tmp_path)


def secret(word: str) -> Object:
    """A Secret with a login."""
    return builders.secret("login", {"user": "ann", "word": word})


def test_what_manifests_change_is_shown_before_they_are_applied(
    diff: Diff, operator: Running, tmp_path: Path
) -> None:
    """Nothing, a job, the pods, a Secret's value, the selection; and then it is so."""
    world = diff.world
    team = {"metadata": {"name": "cart", "labels": {"team": "a"}}}
    main_, cart = prometheus("main"), service_monitor("cart", basicAuth=LOGIN) | team
    group = {"name": "g", "rules": [{"record": "a:b", "expr": "vector(1)"}]}
    sums = resource("PrometheusRule", "sums", {"groups": [group]})
    everything = [secret(CANARY), main_, cart, service_monitor("till"), sums]
    world.put(*everything)
    world.settled("prometheus", "main")
    title = f"Prometheus {world.namespace}/main"

    def is_settled() -> bool:
        return diff(*everything) == ["0", "nothing would change"]

    # The operator may still be taking up what was put last.
    world.until("nothing to change", is_settled)

    faster = service_monitor("cart", basicAuth=LOGIN, interval="7s") | team
    status, first, *lines = diff(faster)
    assert status == "1"
    assert first == f"{title}: configuration changes; 1 object written; pods stay"
    assert "+  scrape_interval: 7s" in lines
    assert not any("till" in line for line in lines)

    status, first, *lines = diff(prometheus("main", version="v3.4.0"))
    assert (status, "; pods roll" in first) == ("1", True)
    assert any(line.startswith("+") and line.endswith("prometheus:v3.4.0") for line in lines)
    assert not any("dnsPolicy" in line for line in lines)

    status, _, *lines = diff(secret("else"))
    name = f"<Secret {world.namespace}/login, key word"
    assert status == "1"
    assert f"-    password: {name}>" in lines
    assert f"+    password: {name}, another value>" in lines

    chosen = prometheus("main", serviceMonitorSelector={"matchLabels": {"team": "a"}})
    _, first, *_ = diff(chosen)
    assert first.endswith(f"deselected: ServiceMonitor {world.namespace}/till")
    # A label that a manifest gave is taken away by the next one that does not have it.
    bare = cart | {"metadata": {"name": "cart"}}
    _, first, *_ = diff(chosen, bare)
    assert f"ServiceMonitor {world.namespace}/cart" in first

    status, *lines = diff(prometheus("other"), words="-o json")
    (change,) = json.loads("\n".join(lines))["changes"]
    assert (change["action"], change["pods"]) == ("new", "start")

    lost = service_monitor("lost") | {"metadata": {"name": "lost", "labels": {"team": "b"}}}
    status, *lines = diff(lost, chosen)
    assert any(f"nobody selects ServiceMonitor {world.namespace}/lost" in line for line in lines)

    world.put(faster)
    world.until("the change", lambda: diff(faster)[0] == "0")


def test_every_kind_of_workload_that_is_settled_would_not_change(
    diff: Diff, operator: Running
) -> None:
    """Defaults of the API server, and how it writes things, are no difference."""
    config = alertmanager_config("team")
    node = resource(
        "PrometheusAgent",
        "nodes",
        {"mode": "DaemonSet", "podMonitorSelector": {}, "version": "3.5.0"},
    )
    everything = [alertmanager("main"), config, thanos_ruler("main"), agent("light"), node]
    diff.world.put(*everything)
    for kind, name in (
        ("alertmanager", "main"),
        ("thanosruler", "main"),
        ("prometheusagent", "light"),
    ):
        diff.world.settled(kind, name)
    diff.world.until("the DaemonSet", lambda: diff.world.list("daemonsets.apps"))
    diff.world.until("nothing to change", lambda: diff(*everything)[0] == "0")

    gossip = alertmanager("main", logLevel="debug", resources={"requests": {"memory": "0.25Gi"}})
    status, first, *lines = diff(gossip)
    assert (status, "; pods roll" in first) == ("1", True)
    assert any("--log.level=debug" in line for line in lines)
    status, first, *_ = diff(node | {"spec": node["spec"] | {"mode": "StatefulSet"}})
    assert (status, "the mode is being changed" in first) == ("1", True)


def test_scrape_configs_of_monitors_are_told_with_the_flag_of_their_operator(diff: Diff) -> None:
    """Written, changed and removed as the operator then does it; without the flag, noted."""
    world, keep = diff.world, "--consolidate-monitors"
    team = {"metadata": {"name": "cart", "labels": {"team": "a"}}}
    chosen = prometheus("main", serviceMonitorSelector={"matchLabels": {"team": "a"}})
    cart = service_monitor("cart", interval="20s") | team
    name = f"ScrapeConfig {world.namespace}/servicemonitor-cart-0"
    assert f"  new  {name}" in diff(chosen, cart, words=keep)
    world.put(chosen, cart)
    with Running.start(world.cluster, f"--namespaces={world.namespace}", keep):
        world.until("nothing to change", lambda: diff(chosen, cart, words=keep)[0] == "0")
        assert world.get("scrapeconfig", "servicemonitor-cart-0")
        assert any("1 ScrapeConfig stands for monitors" in line for line in diff(chosen, cart))

        faster = service_monitor("cart", interval="7s") | team
        lines = diff(faster, words=keep)
        assert "ScrapeConfigs of monitors: 1 object written" in lines
        assert {f"  changed  {name}", "+  scrapeInterval: 7s"} <= set(lines)
        unlabelled = faster | {"metadata": {"name": "cart"}}
        assert f"  removed  {name}" in diff(unlabelled, words=keep)
        world.put(unlabelled)
        world.until("its end", lambda: not world.get("scrapeconfig", "servicemonitor-cart-0"))
        world.until("nothing to change", lambda: diff(unlabelled, words=keep)[0] == "0")


def test_what_may_not_be_read_is_told(diff: Diff, tmp_path: Path) -> None:
    """Somebody with rights in one namespace alone gets an answer, and what it does not cover."""
    world = diff.world
    api, name = world.cluster.api, "tenant"
    accounts = f"/api/v1/namespaces/{world.namespace}/serviceaccounts"
    api.request("POST", accounts, {"metadata": {"name": name}})
    allow(world, name, rule("monitoring.coreos.com", "*"))
    token = api.request("POST", f"{accounts}/{name}/token", {"spec": {}})["status"]["token"]
    diff.config = tmp_path / "kubeconfig"
    diff.config.write_text(kubeconfig(world.cluster.url, token, world.cluster.ca_file))

    def is_told() -> list[str]:
        lines = diff(prometheus("main"), service_monitor("cart"))
        assert lines[0] == "1"
        return lines

    lines = world.until("the role to count", is_told)
    assert any("you cannot list prometheuses" in line for line in lines)
    assert any("you cannot get statefulsets" in line for line in lines)


def test_a_cluster_that_does_not_answer_is_a_sentence(diff: Diff, tmp_path: Path) -> None:
    """It says what to do."""
    diff.config = tmp_path / "kubeconfig"
    diff.config.write_text(kubeconfig("https://127.0.0.1:1", "x", diff.world.cluster.ca_file))
    status, said = diff(prometheus("main"))
    assert status == "2"
    assert "cannot connect to 127.0.0.1:1" in said
    assert "--from" in said
