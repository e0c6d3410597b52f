"""Flags of the operator that change what becomes of pods, on a real control plane."""

from __future__ import annotations

import pytest

from tests.builders import agent, alertmanager, prometheus
from tests.live.operating import Object, Running, World
from tools.stages import READINESS

STATEFUL_SETS = {
    prometheus: "prometheus-main",
    agent: "prom-agent-main",
    alertmanager: "alertmanager-main",
}
# What keeps pods from becoming ready, as nobody tells that they are.
NEVER_READY: Object = {"annotations": {READINESS: "told"}}


def reloaders(world: World, name: str) -> list[Object]:
    """The containers of the reloader in a StatefulSet, the one that ends at once among them."""
    pod = (world.get("statefulset", name) or {})["spec"]["template"]["spec"]
    found = [each for each in pod["containers"] if "config-reloader" in each["name"]]
    return found + [each for each in pod["initContainers"] if "config-reloader" in each["name"]]


def until_reloaders_have(world: World, resources: Object) -> None:
    """Wait until the reloaders of all workloads have these resources."""
    for name in STATEFUL_SETS.values():

        def have_them(name: str = name) -> bool:
            found = reloaders(world, name)
            return len(found) == 2 and all(each["resources"] == resources for each in found)

        world.until(f"the reloaders of {name}", have_them)


def test_reloaders_get_the_resources_that_the_operator_is_told(world: World) -> None:
    """In all workloads, of those that are there already too; 0 is for none.

    (peer scenario: Config Reloader Resources)
    """
    world.put(*(make("main") for make in STATEFUL_SETS))
    flag, own = "--config-reloader", f"--namespaces={world.namespace}"
    given = (f"{flag}-cpu-request=20m", f"{flag}-cpu-limit=0", f"{flag}-memory-request=0")
    with Running.start(world.cluster, own):
        usual = {"cpu": "10m", "memory": "50Mi"}
        until_reloaders_have(world, {"limits": usual, "requests": usual})
    with Running.start(world.cluster, own, *given, f"{flag}-memory-limit=90Mi"):
        until_reloaders_have(world, {"requests": {"cpu": "20m"}, "limits": {"memory": "90Mi"}})


def removals(world: World, mark: int, name: str) -> set[tuple[str, str]]:
    """What operators did to a pod: the verb, and the subresource that it was for."""
    found = [each for each in world.writes(mark) if each.resource == "pods" and each.name == name]
    return {(each.verb, each.subresource) for each in found}


@pytest.mark.parametrize(
    ("policy", "removal"), [("evict", ("create", "eviction")), ("delete", ("delete", ""))]
)
def test_a_pod_that_holds_up_a_rollout_is_removed_where_the_policy_says_so(
    world: World, policy: str, removal: tuple[str, str]
) -> None:
    """A bad change was taken back, but Kubernetes waits for the pod that it made.

    (peer scenario: Repair Policy)
    """
    own = f"--namespaces={world.namespace}"
    good = prometheus("main", replicas=2, podManagementPolicy="OrderedReady")
    world.put(good)
    with Running.start(world.cluster, own):
        world.settled("prometheus", "main")
        world.put(good | {"spec": good["spec"] | {"podMetadata": NEVER_READY}})
        bad = world.until("a pod that is not ready", lambda: never_ready(world))
        world.put(good)
        world.until("the change to be taken back", lambda: waits_for(world, bad))
        assert pod(world)["metadata"]["uid"] == bad["metadata"]["uid"]
    mark = world.cluster.audit.mark()
    with Running.start(world.cluster, own, f"--repair-policy-for-statefulsets={policy}"):
        world.settled("prometheus", "main")
        assert pod(world)["metadata"]["uid"] != bad["metadata"]["uid"]
        assert removals(world, mark, "prometheus-main-1") == {removal}


def pod(world: World) -> Object:
    """The pod that a rollout begins with."""
    return world.get("pod", "prometheus-main-1") or {}


def never_ready(world: World) -> Object:
    """The pod of the bad change, once it runs."""
    found = pod(world)
    assert found["metadata"]["annotations"][READINESS] == "told"
    assert found["status"]["phase"] == "Running"
    return found


def waits_for(world: World, bad: Object) -> bool:
    """Whether Kubernetes knows that a pod is not as it should be, and does nothing about it."""
    found = world.get("statefulset", "prometheus-main") or {}
    annotations = found["spec"]["template"]["metadata"].get("annotations", {})
    status = found["status"]
    return (
        READINESS not in annotations
        and status["observedGeneration"] == found["metadata"]["generation"]
        and status["updateRevision"] != bad["metadata"]["labels"]["controller-revision-hash"]
    )
