"""The pod runner: pods of the real operator, run for real from their own templates."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.builders import prometheus, resource
from tests.live.operating import Running, World
from tests.live.scraping import (
    active_targets,
    allow_discovery,
    exporter,
    node_agent,
    our_reloader,
    series,
    target,
)
from tests.live.test_cluster import processes_with
from tools.components import SERVER_ADDRESS
from tools.podrunner import PodRunner

Object = dict[str, Any]
SERVER = "app.kubernetes.io/name=prometheus"
AGENT = "app.kubernetes.io/name=prometheus-agent"


@pytest.fixture
def pods(world: World, operator: Running) -> Iterator[PodRunner]:
    """What runs the pods of the test's namespace."""
    if not world.cluster.namespaces:
        pytest.skip("this machine does not let us make network namespaces")
    with PodRunner(world.cluster, world.namespace) as runner:
        yield runner


def pod_monitor(**endpoint: Any) -> Object:
    """A PodMonitor of all pods with `app: target`."""
    spec = {
        "selector": {"matchLabels": {"app": "target"}},
        "podMetricsEndpoints": [{"port": "web", "interval": "1s"} | endpoint],
    }
    return resource("PodMonitor", "targets", spec)


def command_lines() -> list[list[str]]:
    """The command lines of all processes of this machine."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(file.read_text().split("\0")[:-1])
        except OSError:
            continue
    return found


def containers(pod: Object) -> dict[str, Object]:
    """The containers of a pod by name."""
    return {each["name"]: each for each in pod["spec"]["containers"]}


@pytest.mark.parametrize(
    ("reloader", "word"),
    [
        pytest.param({}, 'msg="Reload triggered"', id="the peer's reloader, by default"),
        pytest.param(our_reloader(), "msg=reloaded", id="our reloader"),
    ],
)
def test_a_server_scrapes_pods_and_takes_a_changed_configuration(
    world: World, pods: PodRunner, reloader: Object, word: str
) -> None:
    """A change goes from the monitor to the running process, through Secret, volume and reloader.

    Discovery is told where the API server is by `spec.apiserverConfig`.
    """
    token = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}}
    world.put(token | {"stringData": {"token": world.cluster.token}})
    server = {
        "host": f"https://{SERVER_ADDRESS}:6443",
        "authorization": {"credentials": {"name": "token", "key": "token"}},
        "tlsConfig": {"insecureSkipVerify": True},
    }
    world.put(pod_monitor(), prometheus("main", apiserverConfig=server, **reloader))
    world.put(*(target(f"t-{number}", f"node-{number}", {"app": "target"}) for number in range(3)))
    with exporter(world.cluster):
        [pod] = pods.until_running(world.namespace, SERVER)
        address = pods.address(pod)
        addresses = {each["status"]["podIP"] for each in world.list("pods")} - {address}

        def asked(labels: str = "") -> bool:
            found = series(pods, address, f"asked{{{labels}}}")
            return {each["address"] for each in found} == addresses

        world.until("all targets to be scraped", asked)
        started = _runtime(pods, address)["startTime"]
        added = {"targetLabel": "team", "replacement": "blue"}
        world.put(pod_monitor(relabelings=[added]))
        world.until("the new label", lambda: asked('team="blue"'))
        assert _runtime(pods, address)["startTime"] == started
    world.until("a word", lambda: word in pods.logs(pod, "config-reloader"))


def _runtime(pods: PodRunner, address: str) -> Object:
    found: Object = json.loads(pods.page(address, 9090, "/api/v1/status/runtimeinfo"))["data"]
    return found


def test_containers_have_the_arguments_and_environment_of_the_template(
    world: World, pods: PodRunner
) -> None:
    """Not one word is changed on the way, and the downward API tells about the pod."""
    world.put(node_agent("main"))
    for pod in pods.until_running(world.namespace, AGENT, 3):
        wanted = containers(pod)
        assert ["/bin/prometheus", *wanted["prometheus"]["args"]] in command_lines()
        process = world.until("the reloader", partial(_reloader, pod))
        words = wanted["config-reloader"]["args"]
        assert any(line[-len(words) :] == words for line in command_lines())
        variables = Path(f"/proc/{process}/environ").read_text().split("\0")
        assert f"NODE_NAME={pod['spec']['nodeName']}" in variables


def _reloader(pod: Object) -> int:
    """The process of a pod that knows the name of the pod; none before the container has begun."""
    found = processes_with(f"POD_NAME={pod['metadata']['name']}\0")
    assert len(found) == 1
    return found[0]


def test_agents_on_all_nodes_scrape_with_the_rights_of_their_account(
    world: World, pods: PodRunner
) -> None:
    """Each agent has its own address and network: all listen on the same port, none disturbs."""
    allow_discovery(world.cluster, world.namespace)
    world.put(pod_monitor(), node_agent("main"))
    world.put(*(target(f"t-{number}", f"node-{number}", {"app": "target"}) for number in range(3)))
    with exporter(world.cluster):
        found = pods.until_running(world.namespace, AGENT, 3)
        assert {each["spec"]["nodeName"] for each in found} == {"node-0", "node-1", "node-2"}
        for pod in found:
            own = f"t-{pod['spec']['nodeName'][-1]}"

            def scraped(pod: Object = pod, own: str = own) -> bool:
                listed = active_targets(pods, pods.address(pod))
                return [(each["labels"]["pod"], each["health"]) for each in listed] == [(own, "up")]

            world.until(f"the agent of {own} to scrape it and no other", scraped)


def test_the_log_on_a_node_survives_the_pod_and_the_rest_does_not(
    world: World, pods: PodRunner
) -> None:
    """A replaced pod finds the host path as its predecessor left it, and each node has its own."""
    storage = {"hostPath": {"path": "/var/lib/agent"}}
    world.put(node_agent("main", daemonSet={"storage": storage}))
    before = pods.until_running(world.namespace, AGENT, 3)
    segments = {
        node: world.cluster.directory
        / f"pods/nodes/{node}/var/lib/agent/{world.namespace}/main/wal/00000000"
        for node in (each["spec"]["nodeName"] for each in before)
    }
    inodes = {node: file.stat().st_ino for node, file in segments.items()}
    assert len(set(inodes.values())) == 3
    for pod in before:
        world.delete("pods", pod["metadata"]["name"])
    old = {each["metadata"]["uid"] for each in before}
    world.until(
        "new pods",
        lambda: (
            len({each["metadata"]["uid"] for each in world.list("pods")} - old) == 3
            and len(world.list("pods")) == 3
        ),
    )
    pods.until_running(world.namespace, AGENT, 3)
    assert {node: file.stat().st_ino for node, file in segments.items()} == inodes
    live = {entry.name for entry in (world.cluster.directory / "pods/live").iterdir()}
    assert not live & old


def test_a_container_that_ends_is_started_again(world: World, pods: PodRunner) -> None:
    """A killed process comes back in the same pod, with what its empty directory held."""
    world.put(prometheus("main"))
    [pod] = pods.until_running(world.namespace, SERVER)
    address = pods.address(pod)
    started = _runtime(pods, address)["startTime"]
    pods.kill(pod, "prometheus")
    world.until("a new process", lambda: _runtime(pods, address)["startTime"] != started)
    assert pods.logs(pod, "prometheus").count("TSDB started") == 2


def test_a_pod_waits_for_a_secret_that_does_not_exist(world: World, pods: PodRunner) -> None:
    """As with kubelet, nothing of the pod starts before all of its volumes can be filled."""
    world.put(prometheus("main", secrets=["late"]))
    [pod] = world.until("the pod", lambda: [e for e in world.list("pods") if e["status"]["podIP"]])
    world.until("the reason", lambda: "secret late does not exist" in pods.missing(pod))
    assert pods.logs(pod, "init-config-reloader") == ""
    world.put({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late"}})
    pods.until_running(world.namespace, SERVER)
    assert pods.missing(pod) == []


def test_a_reload_by_signal_reaches_the_neighbour_only(world: World, pods: PodRunner) -> None:
    """The reloader finds the Prometheus of its own pod, though the machine runs several."""
    world.put(prometheus("one"), prometheus("two", reloadStrategy="ProcessSignal"))
    found = {
        each["metadata"]["labels"]["operator.prometheus.io/name"]: each
        for each in pods.until_running(world.namespace, SERVER, 2)
    }
    address = pods.address(found["two"])
    world.patch("prometheuses", "two", {"spec": {"scrapeInterval": "17s"}})
    world.until(
        "the new interval",
        lambda: "17s" in pods.page(address, 9090, "/api/v1/status/config"),
    )
    assert "17s" not in pods.page(pods.address(found["one"]), 9090, "/api/v1/status/config")


def test_nothing_is_left_after_the_block(world: World, operator: Running) -> None:
    """Processes and directories of pods end with the runner, and those of a deleted pod at once."""
    if not world.cluster.namespaces:
        pytest.skip("this machine does not let us make network namespaces")
    name = f"gone-{secrets.token_hex(4)}"
    with PodRunner(world.cluster, world.namespace) as pods:
        world.put(prometheus(name, replicas=2))
        first, second = pods.until_running(world.namespace, SERVER, 2)
        assert all(_processes(each) for each in (first, second))
        world.patch("prometheuses", name, {"spec": {"replicas": 1}})
        second = max(first, second, key=lambda each: str(each["metadata"]["name"]))
        world.until("the second to end", lambda: not _processes(second))
        assert _processes(first)
    assert not _processes(first)
    assert not (world.cluster.directory / "pods/live").exists()


def _processes(pod: Object) -> list[int]:
    """All processes of a pod, by its name in their environment or its number in their words."""
    metadata = pod["metadata"]
    return [*processes_with(metadata["name"]), *processes_with(metadata["uid"][:8])]
