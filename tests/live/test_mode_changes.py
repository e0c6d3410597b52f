"""A change of an agent's mode, step by step, on fake nodes: what is written and what is said.

Real agents, and what becomes of each scrape, are in `test_daemonset_scrapes`.
"""

import base64
import gzip
import secrets
from collections.abc import Iterator

import pytest

from tests.builders import resource, secret
from tests.live.operating import Object, Running, World
from tools.cluster import Cluster
from tools.crds import cluster_with_crds
from tools.stages import READINESS

AGENT = "prom-agent-light"
OTHER = {"DaemonSet": "StatefulSet", "StatefulSet": "DaemonSet"}
# Nobody says that new pods are ready, so that a change is not over before it is seen.
NEVER: Object = {"podMetadata": {"annotations": {READINESS: "told"}}}


def agent(mode: str, **spec: object) -> Object:
    """An agent in a mode."""
    selectors: Object = {"podMonitorSelector": {}, "serviceMonitorSelector": {}}
    return resource("PrometheusAgent", "light", {"mode": mode} | selectors | spec)


def monitor(name: str) -> Object:
    """A PodMonitor."""
    endpoints = [{"port": "web", "basicAuth": _credentials()}]
    return resource("PodMonitor", name, {"selector": {}, "podMetricsEndpoints": endpoints})


def _credentials() -> Object:
    return {part: {"name": "login", "key": part} for part in ("username", "password")}


def login(password: str) -> Object:
    """The Secret that the monitors name."""
    return secret("login", {"username": "me", "password": password})


def read_by(world: World, kind: str) -> str:
    """The configuration that pods of the agent's sets of this kind read."""
    found = world.get(kind.lower(), AGENT) or {}
    volumes = found["spec"]["template"]["spec"]["volumes"]
    [name] = [each["secret"]["secretName"] for each in volumes if each["name"] == "config"]
    secret = world.get("secret", name) or {}
    [content] = secret["data"].values()
    return gzip.decompress(base64.b64decode(content)).decode()


def condition(world: World, name: str) -> tuple[str, str, str]:
    """What the agent says of itself now, of its latest state."""
    found = world.condition("prometheusagent", "light", name)
    latest = (world.get("prometheusagent", "light") or {})["metadata"]["generation"]
    assert found["observedGeneration"] == latest
    return found["status"], found["reason"], found["message"]


def settled(world: World, mode: str, sets: int = 1) -> None:
    """Wait until the agent is in a mode and in no other."""

    def is_settled() -> bool:
        here = len(world.list(mode.lower())) == sets and not world.list(OTHER[mode].lower())
        assert "Switching" not in condition(world, "Reconciled")[1]
        return here and condition(world, "Available")[0] == "True"

    world.until(f"nothing but a {mode}", is_settled)


@pytest.mark.parametrize("mode", ["DaemonSet", "StatefulSet"])
def test_old_pods_learn_what_new_ones_learn_until_they_go(
    world: World, operator: Running, mode: str
) -> None:
    """Monitors and credentials of the time of a change are in both configurations, each its own.

    Also after the operator was killed, and none is ever rolled for it. Shards that the agent has no
    longer, or does not have yet, divide targets as long as they are there.
    """
    old = OTHER[mode]
    shards: Object = {"DaemonSet": {}, "StatefulSet": {"shards": 2}}
    world.put(login("first"), agent(old, **shards[old]), monitor("before"))
    settled(world, old, 2 if shards[old] else 1)
    template = (world.get(old.lower(), AGENT) or {})["metadata"]["generation"]
    world.put(agent(mode, **NEVER, **shards[mode]))
    world.until("the new pods", lambda: world.list(mode.lower()))

    world.put(monitor("during"))
    world.until("it for the new pods", lambda: "/during/" in read_by(world, mode))
    world.until("it for the old pods", lambda: "/during/" in read_by(world, old))
    world.put(login("second"))
    world.until("the credential for the old pods", lambda: "second" in read_by(world, old))
    operator.kill()
    with Running.start(world.cluster, f"--namespaces={world.namespace}"):
        world.put(monitor("later"))
        world.until("it for the old pods", lambda: "/later/" in read_by(world, old))
        world.until("it for the new pods", lambda: "/later/" in read_by(world, mode))
        # Each pod of a DaemonSet has its own node's targets, those of a StatefulSet have all.
        assert "NODE_NAME" in read_by(world, "DaemonSet")
        assert "NODE_NAME" not in read_by(world, "StatefulSet")
        assert "modulus: 2" in read_by(world, "StatefulSet")
        assert "modulus" not in read_by(world, "DaemonSet")
        assert (world.get(old.lower(), AGENT) or {})["metadata"]["generation"] == template


@pytest.mark.parametrize("mode", ["DaemonSet", "StatefulSet"])
def test_a_change_is_held_where_old_and_new_pods_exclude_each_other(
    world: World, operator: Running, mode: str
) -> None:
    """Before anything is made it says why and what to do; old pods learn of monitors meanwhile.

    Whoever deletes the old set goes on.
    """
    old = OTHER[mode]
    world.put(login("first"), agent(old, hostNetwork=True))
    settled(world, old)
    mark = world.cluster.audit.mark()
    world.put(agent(mode, hostNetwork=True))
    world.until("the words", lambda: condition(world, "Reconciled")[1] == "ModeChangeHeld")
    status, _, message = condition(world, "Reconciled")
    assert status == "False"
    assert f"delete {old.lower()} {AGENT}" in message
    assert "9090/TCP" in message
    assert condition(world, "Available")[0] == "True"
    world.put(monitor("during"))
    world.until("it for the old pods", lambda: "/during/" in read_by(world, old))
    written = {each.resource for each in world.writes(mark)}
    assert not written & {"statefulsets", "daemonsets"}
    assert world.get("secret", f"{AGENT}-switch") is None

    world.delete(old.lower(), AGENT)
    settled(world, mode)


# --- What is said at every step -------------------------------------------------------------------

ANYWHERE: Object = {"tolerations": [{"operator": "Exists"}]}
PATIENCE = "--agent-mode-change-deadline=25s"


def says(
    world: World, what: str, available: tuple[str, str], reconciled: tuple[str, str], *words: str
) -> None:
    """Wait until both conditions have these statuses and reasons, and together all these words."""

    def said() -> bool:
        found = condition(world, "Available"), condition(world, "Reconciled")
        text = "\n".join(each[2] for each in found)
        same = found[0][:2] == available and found[1][0] == reconciled[0]
        return same and reconciled[1] in found[1][1] and all(word in text for word in words)

    try:
        world.until(what, said, 90)
    except BaseException:
        print(condition(world, "Available"), condition(world, "Reconciled"))
        raise


READY, OLD = ("True", "AllPodsReady"), ("True", "OldPodsReady")
DONE, CHANGING = ("True", "NoSelectedResources"), ("True", "SwitchingMode")


@pytest.fixture(scope="module")
def small_cluster() -> Iterator[Cluster]:
    """A cluster whose nodes are all known: two, and perhaps one that is dead."""
    with cluster_with_crds(nodes=2) as cluster:
        yield cluster


@pytest.fixture
def small_world(small_cluster: Cluster) -> World:
    """A namespace there."""
    name = f"agents-{secrets.token_hex(4)}"
    small_cluster.kubectl("create", "namespace", name)
    return World(small_cluster, name)


def test_conditions_tell_the_truth_at_every_step(small_world: World) -> None:
    """Through all states of the table in the guide, to a DaemonSet and back."""
    world = small_world
    with Running.start(world.cluster, f"--namespaces={world.namespace}", PATIENCE):
        world.put(agent("StatefulSet"))
        says(world, "one mode", READY, DONE)

        world.put(agent("DaemonSet", nodeSelector={"no": "where"}))
        says(world, "no node", OLD, CHANGING, "no node fits", "1 of 1 pods are ready")
        huge = {"resources": {"requests": {"cpu": "1000"}}}
        world.put(agent("DaemonSet", **huge))
        says(world, "no room", OLD, CHANGING, "on node node-0", "Insufficient cpu")
        world.put(agent("DaemonSet", **NEVER))
        says(world, "pods that fail", OLD, CHANGING, "on node node-1", "without it")

        world.cluster.add_dead_node()
        world.put(agent("DaemonSet", **ANYWHERE))
        says(world, "a dead node", OLD, CHANGING, "on node dead: the node is not Ready since")
        some = ("Degraded", "SomePodsNotReady")
        says(world, "the end without it", some, DONE, "on node dead")
        assert not world.list("statefulset")
        events = world.list("events.events.k8s.io")
        assert any("without pod" in each["note"] and "dead" in each["note"] for each in events)

        world.put(agent("StatefulSet"))
        says(world, "a pod that cannot end", READY, CHANGING, "on node dead", "--force")
        for pod in world.list("pods"):
            if pod["spec"].get("nodeName") == "dead":
                path = world.path("pods", pod["metadata"]["name"])
                world.cluster.api.request("DELETE", path, {"gracePeriodSeconds": 0})
        says(world, "one mode again", READY, DONE)
        world.until("no DaemonSet", lambda: not world.list("daemonset"))


def test_a_rollout_that_is_stuck_beside_ready_pods_is_told(small_world: World) -> None:
    """Each new pod wants the port of the old one, which goes when the new one is ready."""
    world = small_world
    web = {"name": "web", "containerPort": 9090, "hostPort": 19090}
    surge = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    spec: Object = {
        "containers": [{"name": "prometheus", "ports": [web]}],
        "daemonSet": {"updateStrategy": surge},
    }
    with Running.start(world.cluster, f"--namespaces={world.namespace}"):
        world.put(agent("DaemonSet", **spec))
        says(world, "all ready", READY, DONE)
        world.put(agent("DaemonSet", **spec, podMetadata={"labels": {"a": "b"}}))
        says(world, "the words", READY, ("False", "RolloutStuck"), "on node node-")
