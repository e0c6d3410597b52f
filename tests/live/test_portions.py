"""Agents on nodes get their portions: from a real operator on a real control plane."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stoker.handout.door import DoorLimits
from stoker.handout.request import MOST_BODY, MOST_HEAD, RefusedError
from stoker.handout.tokens import Tokens
from stoker.kube.access import kubeconfig
from stoker.kube.client import Client
from tests.builders import pod, resource
from tests.live.listening import (
    ACCOUNT,
    FLAGS,
    Asking,
    Object,
    ServedAt,
    make_account,
    pods_of,
    request_of,
    served_at,
    token_of,
)
from tests.live.operating import Running, World
from tests.unit.test_handout_identity import issued
from tools.stages import READINESS

STRANGE = "StrangeReloader"
REFUSALS = {400, 401, 403, 404, 405, 411, 413, 415, 431}


def on_nodes(name: str = "light", discovery: str = "Operator", **spec: Any) -> Object:
    """An agent on every node that gets portions."""
    every = {
        "mode": "DaemonSet",
        "daemonSet": {"discovery": discovery},
        "serviceAccountName": ACCOUNT,
        "podMonitorSelector": {},
        "remoteWrite": [{"url": "http://far.example"}],
    }
    return resource("PrometheusAgent", name, every | spec)


def pod_monitor(name: str = "shop", app: str = "shop", **endpoint: Any) -> Object:
    """A PodMonitor of an application."""
    spec = {
        "selector": {"matchLabels": {"app": app}},
        "podMetricsEndpoints": [{"port": "web"} | endpoint],
    }
    return resource("PodMonitor", name, spec)


def shop(name: str, node: str, app: str = "shop") -> Object:
    """A pod of an application on a node."""
    return pod(name, {"app": app}, {"web": 80}, node, serviceAccountName=ACCOUNT)


def names(files: dict[str, bytes]) -> set[str]:
    """The pods that are to be scraped."""
    return {
        entry["labels"].get("__meta_kubernetes_pod_name", "")
        for path, text in files.items()
        if path.startswith("targets/")
        for entry in json.loads(text)
    }


def until_named(asking: Asking, wanted: Iterable[str]) -> dict[str, bytes]:
    """Take commits until these pods are to be scraped."""
    files = asking.commit()
    while names(files) != set(wanted):
        files = asking.commit()
    return files


def pods_on(world: World) -> dict[str, Object]:
    """The pods of the agent by node, once two nodes have one."""

    def both() -> dict[str, Object]:
        found = pods_of(world)
        return found if {"node-0", "node-1"} <= found.keys() else {}

    return world.until("pods of the agent", both)


def pod_called(world: World, name: str) -> Object:
    """A pod, once it is there."""
    found = world.until("the pod", lambda: world.get("pod", name))
    assert found
    return found


def flags_of(world: World) -> tuple[str, ...]:
    """What operators of a namespace are started with."""
    return (f"--namespaces={world.namespace}", *FLAGS)


# --- What is told ---------------------------------------------------------------------------------


def test_each_node_is_told_its_own(world: World) -> None:
    """The right files for the right node; changes as they come, and to whom they concern.

    Whoever comes back with what it has is sent nothing. When the last target leaves a node, so
    does the password that is needed for it.
    """
    make_account(world)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}}
    world.put(secret | {"stringData": {"user": "ann", "password": "correct horse"}})
    login = {"username": {"name": "login", "key": "user"}}
    login["password"] = {"name": "login", "key": "password"}
    with Running.start(world.cluster, *flags_of(world)) as operator:
        world.put(shop("a", "node-0"), shop("b", "node-1"), pod_monitor(basicAuth=login))
        world.put(on_nodes())
        pods, server = pods_on(world), served_at(operator, world)
        tokens = {node: token_of(world, pods[node]) for node in ("node-0", "node-1")}
        with Asking(server, tokens["node-0"]) as first, Asking(server, tokens["node-1"]) as other:
            wanted = {"node": "node-0", "pod": pods["node-0"]["metadata"]["uid"], "format": 1}
            assert first.first == wanted
            files = until_named(first, ["a"])
            assert {path.split("/")[0] for path in files} == {"jobs", "targets"}
            assert any(b"correct horse" in text for text in files.values())
            until_named(other, ["b"])
            before = other.sent

            world.put(shop("c", "node-0"))
            files = until_named(first, ["a", "c"])
            world.put(shop("d", "node-1"))
            until_named(other, ["b", "d"])
            assert other.sent == before + 1, "what happens elsewhere is told here"

            with Asking(server, tokens["node-0"], files) as again:
                assert (again.commit(), again.sent) == (files, 0)
            for name in ("a", "c"):
                world.delete("pod", name)
            assert until_named(first, []) == {}
            assert operator.metric("prometheus_operator_node_discovery_connections") == 2


def test_the_agent_decides_what_its_pods_are_told(world: World) -> None:
    """A pod of another agent on the same node is told what that agent selects."""
    make_account(world)
    with Running.start(world.cluster, *flags_of(world)) as operator:
        world.put(shop("a", "node-0"), shop("x", "node-0", "bank"))
        labelled = pod_monitor("bank", "bank")
        labelled["metadata"]["labels"] = {"team": "bank"}
        world.put(pod_monitor(), labelled, on_nodes())
        other = {"matchLabels": {"team": "bank"}}
        world.put(on_nodes("bank", podMonitorSelector=other))
        pods, server = pods_on(world), served_at(operator, world)
        theirs = world.until("pods of the other", lambda: pods_of(world, "bank")["node-0"])
        with Asking(server, token_of(world, theirs)) as asking:
            until_named(asking, ["x"])
        with Asking(server, token_of(world, pods["node-0"])) as asking:
            until_named(asking, ["a", "x"])


def test_what_no_agent_is_beside_is_told_to_one_that_is_ready(world: World) -> None:
    """An endpoint that names no node; and to another, while that agent's pod is on its way out."""
    make_account(world)
    port = {"name": "web", "port": 80}
    labels = {"kubernetes.io/service-name": "far"}
    slice_ = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "far", "labels": labels},
        "addressType": "IPv4",
        "ports": [port],
        "endpoints": [{"addresses": ["192.0.2.7"]}],
    }
    service = resource("Service", "far", {"ports": [port]}) | {"apiVersion": "v1"}
    service["metadata"]["labels"] = {"app": "far"}
    spec = {"selector": {"matchLabels": {"app": "far"}}, "endpoints": [{"port": "web"}]}
    spread = {"discovery": "Operator", "targetsWithoutAgent": "Spread"}
    with Running.start(world.cluster, *flags_of(world)) as operator:
        world.put(service, slice_, resource("ServiceMonitor", "far", spec))
        world.put(on_nodes(daemonSet=spread, serviceMonitorSelector={}))
        pods, server = pods_on(world), served_at(operator, world)
        tokens = {node: token_of(world, pod) for node, pod in pods.items()}

        def having() -> list[str]:
            found = []
            for node, token in tokens.items():
                # Who does not run, or is on its way out, is not answered.
                with suppress(EOFError), Asking(server, token) as asking:
                    found += [node] if addresses(asking.commit()) == {"192.0.2.7:80"} else []
            return found

        [first] = world.until("one agent to have it", lambda: ones(having()))
        name = pods[first]["metadata"]["name"]
        world.patch("pod", name, {"metadata": {"finalizers": ["example.com/slow"]}})
        world.delete("pod", name)
        [other] = world.until("another to have it", lambda: ones(set(having()) - {first}))
        assert other != first
        assert having() == [other]
        world.patch("pod", name, {"metadata": {"finalizers": None}})


def ones(found: Iterable[str]) -> list[str]:
    """What was found, if it is one."""
    listed = list(found)
    return listed if len(listed) == 1 else []


def addresses(files: dict[str, bytes]) -> set[str]:
    """What is to be scraped."""
    return {
        address
        for path, text in files.items()
        if path.startswith("targets/")
        for entry in json.loads(text)
        for address in entry["targets"]
    }


def test_nothing_is_watched_before_it_is_asked_for(world: World) -> None:
    """Nor after the last agent is gone, whose streams end."""
    make_account(world)

    def kept(kind: str) -> float:
        return operator.metric("prometheus_operator_node_discovery_objects", kind=kind)

    with Running.start(world.cluster, *flags_of(world)) as operator:
        world.put(shop("a", "node-0"), pod_monitor(), on_nodes(discovery="Kubernetes"))
        world.settled("prometheusagent", "light")
        assert (kept("Pod"), kept("Node")) == (0, 0)
        world.put(on_nodes())
        server = served_at(operator, world)
        world.until("objects", lambda: kept("Pod") > 0 and kept("Node") > 1)
        world.settled("prometheusagent", "light")
        pod = pods_on(world)["node-0"]
        with Asking(server, token_of(world, pod)) as asking:
            until_named(asking, ["a"])
            world.delete("prometheusagent", "light")
            asking.until_end()
        world.until("nothing to be kept", lambda: kept("Pod") == kept("Node") == 0)


def test_a_reloader_that_ends_where_it_should_wait_is_told_of(world: World) -> None:
    """By its image, in the condition of the agent, for as long as a pod says so."""
    make_account(world)
    image = "mirror.example/tools/reloader:v1"
    name = "init-config-reloader"
    ended: Object = {"terminated": {"exitCode": 1, "reason": "Error"}}
    crashed = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": ended}

    def reloader_is(**state: Any) -> None:
        """Say of the pod on a node what a kubelet would."""
        status = {"name": name, "image": image, "imageID": "", "restartCount": 1, "ready": False}
        path = f"{world.path('pods', pods_on(world)['node-0']['metadata']['name'])}/status"
        patch = {"status": {"initContainerStatuses": [status | state]}}
        kind = "application/merge-patch+json"
        world.cluster.api.request("PATCH", path, patch, content_type=kind)

    def said() -> Object:
        return world.condition("prometheusagent", "light", "Reconciled")

    with Running.start(world.cluster, *flags_of(world)):
        # These pods are ready when somebody says so, and nobody does.
        told = {"annotations": {READINESS: "told"}}
        world.put(pod_monitor(), on_nodes(podMetadata=told))
        reloader_is(**crashed)
        found = world.until("the condition", lambda: said() if said()["reason"] == STRANGE else {})
        assert all(word in found["message"] for word in (image, "exit code 1", name))
        reloader_is(state={"running": {}})
        world.until("nothing to be said", lambda: said()["reason"] != STRANGE)


# --- Replicas and starts --------------------------------------------------------------------------


def test_any_replica_goes_on_where_another_ended(world: World) -> None:
    """One that leads, one that stands by, and one that is started anew send nothing again."""
    make_account(world)
    world.put(shop("a", "node-0"), pod_monitor(), on_nodes())
    flags = flags_of(world)
    with Running.start(world.cluster, *flags) as leader:
        server, pod = served_at(leader, world), pods_on(world)["node-0"]
        token = token_of(world, pod)
        with Asking(server, token) as asking:
            files = until_named(asking, ["a"])
        with Running.start(world.cluster, *flags) as other:
            second = served_at(other, world)

            def resumed() -> bool:
                with Asking(second, token, files) as asking:
                    return asking.status == 200 and asking.commit() == files and asking.sent == 0

            world.until("the other to answer", resumed)
            with Asking(second, token, files) as asking:
                asking.commit()
                leader.kill()
                world.put(shop("b", "node-0"))
                files = until_named(asking, ["a", "b"])
    with Running.start(world.cluster, *flags) as anew:
        third = served_at(anew, world)
        answers = set()

        def back() -> bool:
            with Asking(third, token, files) as asking:
                answers.add(asking.status)
                return asking.status == 200 and asking.commit() == files and asking.sent == 0

        world.until("the new one to answer", back)
        assert answers <= {200, 503}


def test_what_was_never_planned_is_not_told(world: World) -> None:
    """Of an agent that is paused while the operator starts it says: later. Not: nothing."""
    make_account(world)
    world.put(shop("a", "node-0"), pod_monitor(), on_nodes())
    flags = flags_of(world)
    with Running.start(world.cluster, *flags) as operator:
        server, token = served_at(operator, world), token_of(world, pods_on(world)["node-0"])
        with Asking(server, token) as asking:
            until_named(asking, ["a"])
            world.patch("prometheusagent", "light", {"spec": {"paused": True}})
            world.put(shop("b", "node-0"))
            files = until_named(asking, ["a", "b"])
    with Running.start(world.cluster, *flags) as operator:
        server = served_at(operator, world)
        world.until("objects", lambda: objects_of(operator) > 1)
        with Asking(server, token, files) as asking:
            assert (asking.status, asking.retry_after) == (503, "2")
        world.patch("prometheusagent", "light", {"spec": {"paused": False}})
        world.until("an answer", lambda: _status(server, token) == 200)


def objects_of(operator: Running) -> float:
    """How many pods are kept."""
    return operator.metric("prometheus_operator_node_discovery_objects", kind="Pod")


def _status(server: ServedAt, token: str) -> int:
    with Asking(server, token) as asking:
        return asking.status


# --- Who is not told ------------------------------------------------------------------------------


def test_nobody_else_is_told_anything(world: World) -> None:
    """No token, another audience, a pod of nobody, one that is gone; and no token is in the log."""
    make_account(world)
    with Running.start(world.cluster, *flags_of(world)) as operator:
        world.put(shop("a", "node-0"), pod_monitor(), on_nodes())
        pods, server = pods_on(world), served_at(operator, world)
        good = token_of(world, pods["node-0"])
        world.until("an answer", lambda: _status(server, good) == 200)
        foreign = token_of(world, pods["node-0"], "somebody-else")
        pod = pod_called(world, "a")
        alone = token_of(world, pod)
        head, payload, signature = good.split(".")
        forged = f"{head}.{payload}.{signature[::-1]}"
        unsigned = f"{head}.{payload}."
        wanted = {foreign: 401, "none": 401, alone: 403, forged: 401, unsigned: 401}
        assert {token: _status(server, token) for token in wanted} == wanted
        admin = world.cluster.token
        assert _status(server, admin) == 401

        world.delete("pod", pods["node-0"]["metadata"]["name"])
        world.until("the pod to be gone", lambda: _status(server, good) in (401, 403))
        log = operator.log()
        assert [each for each in (*wanted, good, admin) if each != "none" and each in log] == []
        assert signature not in log
        assert log.count("agents were not answered") <= 2
        assert operator.metric("prometheus_operator_node_discovery_refused_total") >= 6


def test_a_token_is_good_for_as_long_as_it_says(world: World) -> None:
    """Then it is refused, also where the answer was remembered; and it is asked for once."""
    make_account(world)
    world.put(shop("a", "node-0"))
    pod = pod_called(world, "a")
    token, clock = token_of(world, pod), [time.time()]

    async def asked() -> tuple[str, int, int]:
        async with Client(kubeconfig(world.cluster.kubeconfig)) as client:
            tokens = Tokens(client, lambda: clock[0])
            owner = await tokens.owner(token)
            assert await tokens.owner(token) == owner
            clock[0] += 3601
            with pytest.raises(RefusedError) as refused:
                await tokens.owner(token)
            return owner.uid, tokens.reviews, refused.value.status

    assert asyncio.run(asked()) == (pod["metadata"]["uid"], 1, 401)


def test_somebody_elses_certificate_is_shown(world: World, tmp_path: Path) -> None:
    """Such as cert-manager's: agents are told whom to trust, and none is made of our own."""
    make_account(world)
    made = issued()
    texts = {"cert": made.server.certificate, "key": made.server.key, "ca": made.trusted}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    given = [f"--node-discovery-{name}-file={tmp_path / name}" for name in texts]
    with Running.start(world.cluster, *flags_of(world), *given) as operator:
        world.put(shop("a", "node-0"), pod_monitor(), on_nodes())
        pods, server = pods_on(world), served_at(operator, world)
        assert server.ca == made.trusted
        with Asking(server, token_of(world, pods["node-0"])) as asking:
            until_named(asking, ["a"])
        assert "a certificate was made" not in operator.log()


def test_a_stream_ends_with_its_pod(world: World) -> None:
    """Whoever has its token may listen no longer than it is there."""
    make_account(world)
    with Running.start(world.cluster, *flags_of(world)) as operator:
        world.put(shop("a", "node-0"), pod_monitor(), on_nodes())
        pod, server = pods_on(world)["node-0"], served_at(operator, world)
        with Asking(server, token_of(world, pod)) as asking:
            until_named(asking, ["a"])
            world.delete("pod", pod["metadata"]["name"])
            asking.until_end()


def test_a_node_has_few_places_for_what_it_has_not_said_yet(world: World) -> None:
    """However many begin to say how much they have, and do not go on: no more bodies are kept."""
    make_account(world)
    with Running.start(world.cluster, *flags_of(world)) as operator, ExitStack() as begun:
        world.put(shop("a", "node-0"), pod_monitor(), on_nodes())
        pods, server = pods_on(world), served_at(operator, world)
        token, other = (token_of(world, pods[node]) for node in ("node-0", "node-1"))
        world.until("an answer", lambda: _status(server, token) == 200)
        head, _, body = request_of(token).partition(b"\r\n\r\n")
        length = b"Content-Length: "
        more = head.replace(length + b"%d" % len(body), length + b"%d" % MOST_BODY)
        assert more != head
        for _ in range(DoorLimits().of_a_node):
            connection = begun.enter_context(server.connected())
            connection.sendall(more + b"\r\n\r\n" + b" " * 100_000)
        world.until("no more places", lambda: _status(server, token) == 429)
        assert _status(server, other) == 200
        # They are not waited for, either.
        world.until("an answer", lambda: _status(server, token) == 200)


# --- Requests that are none -----------------------------------------------------------------------


def test_a_broken_request_is_refused_and_harms_nobody(world: World) -> None:
    """By its status, whatever came; and after all of them the server answers as before."""
    make_account(world)
    with Running.start(world.cluster, *flags_of(world)) as operator:
        world.put(shop("a", "node-0"), pod_monitor(), on_nodes())
        pods, server = pods_on(world), served_at(operator, world)
        token = token_of(world, pods["node-0"])
        world.until("an answer", lambda: _status(server, token) == 200)
        good = request_of(token)
        answers = {name: said(server, data) for name, (data, _) in broken(good).items()}
        assert answers == {name: status for name, (_, status) in broken(good).items()}, answers
        random = Random(20)
        for _ in range(200):
            assert said(server, mutated(good, random)) in {0, 200} | REFUSALS
        assert _status(server, token) == 200
        assert "could not be told" not in operator.log()
        assert "ended unforeseen" not in operator.log()


def broken(good: bytes) -> dict[str, tuple[bytes, int]]:
    """Requests that are almost good, each with the status that it gets."""
    head, _, body = good.partition(b"\r\n\r\n")
    length = b"Content-Length: " + str(len(body)).encode()

    def other(old: bytes, new: bytes, body: bytes = body) -> bytes:
        assert old in head
        return head.replace(old, new) + b"\r\n\r\n" + body

    return {
        "another method": (other(b"POST", b"GET"), 405),
        "another path": (other(b"/v1/portion", b"/v1/portions"), 404),
        "an old version": (other(b"HTTP/1.1", b"HTTP/1.0"), 400),
        "no length": (other(b"\r\n" + length, b""), 411),
        "two lengths": (other(length, length + b"\r\n" + length), 400),
        "chunks": (other(length, b"Transfer-Encoding: chunked"), 411),
        "too long": (other(length, b"Content-Length: %d" % (MOST_BODY + 1)), 413),
        "a negative length": (other(length, b"Content-Length: -1"), 400),
        "a folded field": (other(length, length + b"\r\n folded"), 400),
        "a field without a name": (other(length, length + b"\r\n: x"), 400),
        "a long head": (other(length, length + b"\r\nX: " + b"x" * MOST_HEAD), 431),
        "no token": (other(b"Authorization", b"Authorisation"), 401),
        "no JSON": (other(length, b"Content-Length: 3", b"{]}"), 400),
        "another JSON": (other(length, b"Content-Length: 12", b'{"have": [] }'[:12]), 400),
        "another type": (other(b"application/json", b"text/plain"), 415),
        "more than the body": (good + b"more", 400),
    }


def mutated(good: bytes, random: Random) -> bytes:
    """A request with some bytes changed, gone, or there twice."""
    data = bytearray(good)
    for _ in range(random.randrange(1, 6)):
        place = random.randrange(len(data))
        match random.randrange(3):
            case 0:
                data[place] = random.randrange(256)
            case 1:
                del data[place : place + random.randrange(20)]
            case _:
                data[place:place] = data[place : place + random.randrange(20)]
    return bytes(data)


def said(server: ServedAt, data: bytes) -> int:
    """The status of the answer; 0 where the connection just ends."""
    with server.connected() as connection:
        connection.sendall(data)
        # Who sends less than it said is not waited for: it hangs up.
        connection.settimeout(1.0)
        try:
            answer = connection.recv(64)
        except (TimeoutError, ConnectionError):
            return 0
        return int(answer.split()[1]) if answer else 0
