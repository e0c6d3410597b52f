"""A change of discovery that stands still half-way: what pods of either discovery go on with.

Nobody replaces pods here (`OnDelete`). Real scrapes are in `test_discovery_scrapes`.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator

import pytest

from tests.builders import resource, secret
from tests.live.listening import ACCOUNT, FLAGS, Asking, make_account, pods_of, served_at, token_of
from tests.live.operating import Object, Running, World
from tests.live.scraping import target

KUBERNETES, OPERATOR = "Kubernetes", "Operator"
USUAL, PORTIONS = "prom-agent-light", "prom-agent-light-portions"


def agent(discovery: str, strategy: str = "OnDelete") -> Object:
    """An agent on nodes whose pods are replaced by whoever deletes them."""
    on_nodes = {"discovery": discovery, "updateStrategy": {"type": strategy}}
    spec: Object = {"mode": "DaemonSet", "daemonSet": on_nodes, "serviceAccountName": ACCOUNT}
    return resource("PrometheusAgent", "light", spec | {"podMonitorSelector": {}})


def monitor(name: str) -> Object:
    """A PodMonitor with a password."""
    login = {part: {"name": "login", "key": part} for part in ("username", "password")}
    endpoints = [{"port": "web", "basicAuth": login}]
    return resource("PodMonitor", name, {"selector": {}, "podMetricsEndpoints": endpoints})


def login(password: str) -> Object:
    """What it names."""
    return secret("login", {"username": "me", "password": password})


def usual_text(world: World) -> str:
    """The configuration that pods read which find their targets themselves; empty if gone."""
    found = world.get("secret", USUAL)
    if not found:
        return ""
    data = found["data"]["prometheus.yaml.gz"]
    return gzip.decompress(base64.b64decode(data)).decode()


@pytest.fixture
def operator(world: World) -> Iterator[Running]:
    """An operator that gives portions."""
    make_account(world)
    with Running.start(world.cluster, f"--namespaces={world.namespace}", *FLAGS) as running:
        yield running


def portion(operator: Running, world: World) -> str:
    """All that a pod of the agent is told that asks for its portion; empty if it is refused."""
    pod = pods_of(world)["node-0"]
    with Asking(served_at(operator, world), token_of(world, pod)) as asking:
        return b"".join(asking.commit().values()).decode() if asking.status == 200 else ""


def rolled(world: World, discovery: str) -> bool:
    """Whether nothing is left of the other discovery."""
    names = {each["metadata"]["name"] for each in world.list("secret")}
    here, gone = (USUAL, PORTIONS) if discovery == KUBERNETES else (PORTIONS, USUAL)
    return here in names and not any(each in (gone, f"{gone}-tls-assets-0") for each in names)


def says(world: World, word: str) -> bool:
    """Whether the agent says this of its reconciliation."""
    found = world.condition("prometheusagent", "light", "Reconciled")
    return word in (found["message"], found["reason"]) or word in found["message"]


@pytest.mark.parametrize("discovery", [OPERATOR, KUBERNETES])
def test_pods_of_either_discovery_are_told_what_is_new(
    world: World, operator: Running, discovery: str
) -> None:
    """Monitors and passwords of the time of a change reach old pods, also after it was killed.

    What they read goes when the last of them is replaced, and nothing is said any more.
    """
    other = OPERATOR if discovery == KUBERNETES else KUBERNETES
    world.put(login("first"), monitor("before"), target("shop", "node-0", {}), agent(other))
    world.until("pods", lambda: pods_of(world).get("node-0"))
    world.until("one discovery", lambda: rolled(world, other))
    world.put(agent(discovery))
    for_new_and_old(world, operator)
    world.until("the words", lambda: says(world, "the discovery is being changed"))

    world.put(monitor("during"), login("second"))
    for_new_and_old(world, operator, "/during/", "second")
    operator.kill()
    with Running.start(world.cluster, f"--namespaces={world.namespace}", *FLAGS) as next_one:
        world.put(monitor("later"))
        for_new_and_old(world, next_one, "/during/", "second", "/later/")

        world.put(agent(discovery, "RollingUpdate"))
        world.until("one discovery", lambda: rolled(world, discovery))
        world.until("no words", lambda: not says(world, "the discovery is being changed"))


def test_a_replica_that_stands_by_answers_pods_that_are_left(
    world: World, operator: Running
) -> None:
    """Pods ask whichever replica the Service leads them to; the leader is not told from others."""
    world.put(login("first"), monitor("before"), target("shop", "node-0", {}), agent(OPERATOR))
    world.until("an answer", lambda: "/before/" in portion(operator, world))
    with Running.start(world.cluster, f"--namespaces={world.namespace}", *FLAGS) as other:
        world.put(agent(KUBERNETES), monitor("during"))
        world.until("the words", lambda: says(world, "the discovery is being changed"))
        world.until("news of who leads", lambda: "/during/" in portion(operator, world))
        world.until("news of the other", lambda: "/during/" in portion(other, world))


def for_new_and_old(world: World, operator: Running, *words: str) -> None:
    """Wait until both pods that ask and pods that read all of it know of something."""

    def known() -> bool:
        texts = (usual_text(world), portion(operator, world))
        return all(text and all(each in text for each in words) for text in texts)

    world.until(f"{words} for all", known)
