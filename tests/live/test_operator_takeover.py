"""The peer's objects become ours without a pod rolled, and the peer can have them back."""

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from stoker.api.decode import convert
from stoker.api.monitors import ServiceMonitor
from stoker.api.rules import PrometheusRule
from stoker.api.thanosruler import ThanosRuler
from stoker.cluster.kinds import WORKLOADS
from stoker.kube.resources import resource_of
from stoker.plan import objects_for
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Workload
from stoker.settings import Capabilities, ObjectSettings
from tests.builders import agent, alertmanager, prometheus, service_monitor, thanos_ruler
from tests.live.operating import Object, Running, World
from tests.live.test_operator import container, found, gone, rule
from tests.planning import decide

PEER = "PrometheusOperator"
INPUT_HASH = "prometheus-operator-input-hash"
HASH_OF_PEER = "12345678901234567890"

SPEC: Object = {
    "replicas": 2,
    "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}},
    "containers": [
        {"name": "sidecar", "image": "example.org/sidecar", "ports": [{"containerPort": 81}]},
        {"name": "prometheus", "env": [{"name": "ZONE", "value": "a"}]},
    ],
    "volumes": [{"name": "more", "emptyDir": {"sizeLimit": "1024Ki"}}],
    "podMetadata": {"labels": {"team": "a"}, "annotations": {"example.org/a": "b"}},
    "nodeSelector": {"kubernetes.io/os": "linux"},
}


def as_the_peer(world: World, *objects: Object) -> None:
    """Create objects as the peer does: plainly, under its name."""
    for each in objects:
        path = resource_of(each).path(world.namespace)
        world.cluster.api.request("POST", f"{path}?fieldManager={PEER}", each)


def objects_of_the_peer(world: World, kind: str, name: str) -> Iterator[Object]:
    """All objects of a workload, as the peer makes them, with something that it left behind."""
    models = {each_kind.lower(): each.model for each_kind, each in WORKLOADS.items()}
    workload: Workload = convert(models[kind], found(world, kind, name))
    monitors = [convert(ServiceMonitor, each) for each in world.list("servicemonitor")]
    decision = decide(workload, monitors, {world.namespace: {}}, AssetsAtHand(), Capabilities())
    assert decision.contents
    made = objects_for(workload, Capabilities(), ObjectSettings(), decision.contents)
    for each in made:
        metadata = each["metadata"]
        if each["kind"] == "StatefulSet":
            metadata["annotations"][INPUT_HASH] = HASH_OF_PEER
            metadata["labels"]["left-behind"] = "by-the-peer"
        if metadata["name"].endswith("tls-assets-0"):
            each["data"] = {"left-behind.pem": "Y2VydA=="}
        yield each


@pytest.mark.parametrize(
    ("kind", "made", "prefix"),
    [
        ("prometheus", prometheus("main", **SPEC, thanos={}), "prometheus"),
        ("prometheusagent", agent("main", **SPEC), "prom-agent"),
    ],
    ids=["server", "agent"],
)
def test_what_the_peer_made_is_taken_over_and_given_back(
    world: World, kind: str, made: Object, prefix: str
) -> None:
    """No generation increases and no pod goes; what is dropped later is dropped; then back again.

    (peer scenario: Operator Upgrade)
    """
    name = f"{prefix}-main"
    world.put(service_monitor("shop"), made)
    as_the_peer(world, *objects_of_the_peer(world, kind, "main"))
    noted = {"metadata": {"labels": {"of": "a-user"}, "annotations": {"example.org/note": "b"}}}
    ours = {"statefulset": name, "secret": name, "service": _service(prefix)}
    for each, its in ours.items():
        world.patch(each, its, noted)
    pods = world.until("the pods", lambda: _pods(world, 2))

    with Running.start(world.cluster, f"--namespaces={world.namespace}"):
        world.settled(kind, "main")
        taken = world.until("the StatefulSet to be ours", lambda: _taken(world, name))
        assert taken["metadata"]["generation"] == 1
        assert "left-behind" not in taken["metadata"]["labels"]
        assert not found(world, "secret", f"{name}-tls-assets-0").get("data")
        assert _pods(world, 2) == pods
        for each, its in ours.items():
            metadata = found(world, each, its)["metadata"]
            assert metadata["labels"]["of"] == "a-user"
            assert metadata["annotations"]["example.org/note"] == "b"

        dropped = {"containers": None, "podMetadata": None, "nodeSelector": None}
        world.patch(kind, "main", {"spec": dropped})
        world.settled(kind, "main")
        template = found(world, "statefulset", name)["spec"]["template"]
        assert "sidecar" not in {each["name"] for each in template["spec"]["containers"]}
        assert "ZONE" not in str(container(found(world, "statefulset", name)))
        assert "team" not in template["metadata"]["labels"]
        assert "nodeSelector" not in template["spec"]
        pods = world.until("new pods", lambda: _pods(world, 2))

    _give_back(world, name)
    assert _pods(world, 2) == pods
    for each, its in ours.items():
        assert found(world, each, its)["metadata"]["labels"]["of"] == "a-user"
    world.delete(kind, "main")
    gone(world, "statefulset", name)


@pytest.mark.parametrize(
    ("kind", "make", "prefix"),
    [
        ("alertmanager", alertmanager, "alertmanager"),
        ("thanosruler", thanos_ruler, "thanos-ruler"),
    ],
)
def test_nothing_rolls_when_alerting_is_taken_over(
    world: World, kind: str, make: Callable[..., Object], prefix: str
) -> None:
    """The same StatefulSet and the same pods; what the peer left behind goes."""
    name = f"{prefix}-main"
    spec = {each: value for each, value in SPEC.items() if each != "containers"}
    world.put(make("main", **spec))
    as_the_peer(world, *objects_of_the_peer(world, kind, "main"))
    pods = world.until("the pods", lambda: _pods(world, 2))
    with Running.start(world.cluster, f"--namespaces={world.namespace}"):
        world.settled(kind, "main")
        taken = world.until("the StatefulSet to be ours", lambda: _taken(world, name))
        assert taken["metadata"]["generation"] == 1
        assert "left-behind" not in taken["metadata"]["labels"]
        assert not found(world, "secret", f"{name}-tls-assets-0").get("data")
        assert _pods(world, 2) == pods


def test_a_ruler_keeps_its_pods_though_rules_are_left_out_and_become_fewer(world: World) -> None:
    """It mounts the ConfigMaps that there are: what empties one of them must not take it away."""
    world.put(thanos_ruler("main", replicas=1), rule("shop"))
    ruler = convert(ThanosRuler, found(world, "thanosruler", "main"))
    rules = [convert(PrometheusRule, each) for each in world.list("prometheusrule")]
    decision = decide(ruler, rules, {world.namespace: {}}, AssetsAtHand(), Capabilities())
    # The last has nothing but a rule that the peer takes and we do not.
    files = [*decision.contents.rule_files, {"left-out.yaml": "groups: []\n"}]
    assert len(files) == 2
    contents = replace(decision.contents, rule_files=files)
    as_the_peer(world, *objects_for(ruler, Capabilities(), ObjectSettings(), contents))
    pods = world.until("the pods", lambda: _pods(world, 1))
    with Running.start(world.cluster, f"--namespaces={world.namespace}"):
        world.until("the rule to be left out", lambda: _is_empty(world, 1))
        world.delete("prometheusrule", "shop")
        world.until("no rules at all", lambda: _is_empty(world, 0))
        world.settled("thanosruler", "main")
        there = found(world, "statefulset", "thanos-ruler-main")
        assert there["metadata"]["generation"] == 1
        assert _pods(world, 1) == pods


def _is_empty(world: World, number: int) -> bool:
    return not found(world, "configmap", f"thanos-ruler-main-rulefiles-{number}").get("data")


def _service(prefix: str) -> str:
    return "prometheus-operated" if prefix == "prometheus" else "prometheus-agent-operated"


def _taken(world: World, name: str) -> Object:
    there = found(world, "statefulset", name)
    assert there["metadata"]["annotations"][INPUT_HASH] != HASH_OF_PEER
    return there


def _pods(world: World, count: int) -> set[str]:
    """The pods that are ready, by uid."""
    ready = {
        each["metadata"]["uid"]
        for each in world.list("pod")
        if not each["metadata"].get("deletionTimestamp")
        and {"type": "Ready", "status": "True"}
        in [{key: one[key] for key in ("type", "status")} for one in each["status"]["conditions"]]
    }
    assert len(ready) == count
    return ready


def _give_back(world: World, name: str) -> None:
    """Do what the peer does when it comes back: write its own hash, then whatever it wants."""
    path = world.path("statefulset", name)
    there = found(world, "statefulset", name)
    assert not there["metadata"].get("finalizers")
    generation = there["metadata"]["generation"]
    there["metadata"]["annotations"][INPUT_HASH] = HASH_OF_PEER
    there["metadata"].pop("resourceVersion")
    after = world.cluster.api.request("PUT", f"{path}?fieldManager={PEER}", there)
    assert after["metadata"]["generation"] == generation

    there["spec"]["minReadySeconds"] = 1
    del there["spec"]["template"]["spec"]["volumes"][-1]["emptyDir"]["sizeLimit"]
    after = world.cluster.api.request("PUT", f"{path}?fieldManager={PEER}&dryRun=All", there)
    assert after["spec"]["minReadySeconds"] == 1
    assert "sizeLimit" not in after["spec"]["template"]["spec"]["volumes"][-1]["emptyDir"]


def test_what_was_never_the_peers_is_taken_over_with_the_rest(
    world: World, operator: Running
) -> None:
    """Objects that somebody made by hand under our names become what they should be."""
    by_hand = {"namespace": world.namespace, "labels": {"of": "a-user"}}
    world.put(
        {"apiVersion": "v1", "kind": "Secret", "metadata": by_hand | {"name": "prometheus-main"}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": by_hand | {"name": "prometheus-main-rulefiles-0"},
            "data": {"old.yaml": "groups: []"},
        },
        service_monitor("shop"),
        rule("alerts"),
    )
    world.put(prometheus("main"))
    world.settled("prometheus", "main")
    rules = found(world, "configmap", "prometheus-main-rulefiles-0")
    assert "old.yaml" not in (rules.get("data") or {})
    assert rules["metadata"]["labels"]["of"] == "a-user"
    assert rules["metadata"]["ownerReferences"][0]["name"] == "main"
    assert "prometheus.yaml.gz" in found(world, "secret", "prometheus-main")["data"]
