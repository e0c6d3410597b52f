"""Alertmanagers that really run: they meet by the names that the operator gives them."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.builders import alertmanager, alertmanager_config
from tests.live.beside import beside
from tests.live.naming import RESOLVER, RESOLVING, Records, name_server, write
from tests.live.operating import Object, Running, World
from tests.live.scraping import our_reloader
from tests.live.test_webhook import Authority
from tools.api import ApiError
from tools.podrunner import PodRunner
from tools.stages import READINESS

MEMBERS = ("alertmanager-main-0", "alertmanager-main-1")
NAME = "alertmanager-operated"
REFRESH = 0.2


@contextmanager
def cluster_names(world: World, file: Path) -> Iterator[None]:
    """The names of a headless Service's pods, as the DNS of a cluster has them."""
    write(file, {})

    def refresh(ended: threading.Event) -> None:
        while not ended.wait(REFRESH):
            # The API server is busy: it is asked again.
            with suppress(OSError, HTTPException, ApiError):
                write(file, records(world))

    with beside(refresh), name_server(world.cluster, file):
        yield


def records(world: World) -> Records:
    """By the EndpointSlices; who is not ready yet is among them, as the Service wants it."""
    path = f"/apis/discovery.k8s.io/v1/namespaces/{world.namespace}/endpointslices"
    return {
        f"{each['hostname']}.{NAME}": {"A": each["addresses"]}
        for found in world.cluster.api.get(path)["items"]
        for each in found.get("endpoints") or []
        if found["metadata"]["labels"]["kubernetes.io/service-name"] == NAME
        and (each["conditions"]["ready"] or each["conditions"].get("serving"))
    }


def ask(world: World, member: str, path: str, body: Object | None = None) -> Any:
    """What a member answers through the API server."""
    where = f"{world.path('pods', member)}:9093/proxy/api/v2/{path}"
    return world.cluster.api.request("POST" if body else "GET", where, body)


def meet(world: World) -> bool:
    """Whether each member is in a cluster of all, as they are now."""
    pods = [(world.get("pods", member) or {})["status"]["podIP"] for member in MEMBERS]
    told = [ask(world, member, "status")["cluster"] for member in MEMBERS]
    found = [sorted(each["address"] for each in one.get("peers", ())) for one in told]
    ready = all(one["status"] == "ready" for one in told)
    return ready and found == [sorted(f"{each}:9094" for each in pods)] * len(MEMBERS)


def silence(comment: str) -> Object:
    """A silence of this year and the next ones."""
    matcher = {"name": "alertname", "value": comment, "isRegex": False}
    times = {"startsAt": "2020-01-01T00:00:00Z", "endsAt": "2100-01-01T00:00:00Z"}
    return times | {"createdBy": "test", "comment": comment, "matchers": [matcher]}


@pytest.fixture
def pods(world: World, operator: Running, tmp_path: Path) -> Iterator[PodRunner]:
    """What runs the pods of the namespace, which know each other's names."""
    if not world.cluster.namespaces:
        pytest.skip("this machine does not let us make network namespaces")
    with (
        cluster_names(world, tmp_path / "names.json"),
        PodRunner(world.cluster, world.namespace) as runner,
    ):
        yield runner


def test_members_meet_and_what_they_know_outlives_their_pods(world: World, pods: PodRunner) -> None:
    """A silence reaches the other member; while all pods are replaced, one always knows of it.

    They are asked through the API server.

    (peer scenarios: AM Cluster Initialization, AM Cluster Gossip Silences, AM Cluster After Rolling
    Update, AM Zero Downtime Rolling Deployment, AM Exposing With Kubernetes API)
    """
    honest: Object = {"podMetadata": {"annotations": {READINESS: "told"}}}
    # Members wait for many of these until they believe that they know all others.
    quick: Object = {"clusterGossipInterval": "20ms"}
    world.put(RESOLVER, alertmanager("main", replicas=2, **RESOLVING, **honest, **quick))
    world.until("members that meet", lambda: meet(world))
    ask(world, "alertmanager-main-0", "silences", silence("Noise"))
    world.until("the other one", lambda: knows(world, "alertmanager-main-1"))

    before, someone_knew = uids(world), []

    def are_replaced() -> bool:
        someone_knew.append(any(knows(world, member) for member in MEMBERS))
        return not uids(world) & before and meet(world)

    world.patch("alertmanager", "main", {"spec": {"logLevel": "debug"}})
    world.until("new members that meet", are_replaced)
    assert all(someone_knew), someone_knew
    world.until("both to know", lambda: all(knows(world, member) for member in MEMBERS))


def knows(world: World, member: str) -> bool:
    """Whether a member answers, and knows the silence."""
    try:
        return "Noise" in {each["comment"] for each in ask(world, member, "silences")}
    except (OSError, ApiError):
        return False


def uids(world: World) -> set[str]:
    """Which pods there are."""
    return {each["metadata"]["uid"] for each in world.list("pods")}


def test_an_alertmanager_with_tls_is_reloaded(
    world: World, pods: PodRunner, tmp_path: Path
) -> None:
    """It speaks nothing but TLS, and its reloader reaches it.

    (peer scenarios: AM Web, AM Reload Config)
    """
    Authority().issue(tmp_path)
    files = {name: (tmp_path / name).read_bytes() for name in ("tls.crt", "tls.key")}
    data = {name: b64encode(content).decode() for name, content in files.items()}
    pair = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pair"}, "data": data}
    keys = [{"name": "pair", "key": name} for name in files]
    tls = {"cert": {"secret": keys[0]}, "keySecret": keys[1]}
    world.put(pair, alertmanager("main", web={"tlsConfig": tls}, **our_reloader()))
    [pod] = pods.until_running(world.namespace, "app.kubernetes.io/name=alertmanager")
    address = pods.address(pod)

    def configuration() -> str:
        page = pods.page(address, 9093, "/api/v2/status", tls=True)
        return str(json.loads(page)["config"]["original"])

    assert "team" not in configuration()
    with pytest.raises(ConnectionError, match="HTTPS"):
        pods.page(address, 9093, "/api/v2/status")
    world.put(alertmanager_config("shop"))
    world.until("the receiver", lambda: f"{world.namespace}/shop/team" in configuration())
