"""ThanosRulers on a real control plane: their objects, their rules, and who says what."""

from base64 import b64decode
from collections.abc import Callable

from tests.builders import prometheus, resource, thanos_ruler
from tests.live.alerting import Kind, keeps_what_it_has, lives, needs, pods, put_right
from tests.live.operating import Object, Running, World
from tests.live.test_operator import failed, found, rule, secret
from tests.live.test_operator_bindings import FINALIZER, MAIN, until_bound, verdict

KIND = Kind("thanosruler", thanos_ruler, "thanos-ruler", "thanos-ruler")
RULES = "prometheusrules"
RULER = "thanosrulers/main"
NOWHERE = {"stoker.dev/nowhere": "true"}


def rule_files(world: World) -> dict[str, str]:
    """The rule files of the ruler."""
    return found(world, "configmap", "thanos-ruler-main-rulefiles-0").get("data") or {}


def test_a_thanos_ruler_lives(world: World, operator: Running) -> None:
    """From one pod to several and back, and again from the beginning.

    (peer scenarios: Thanos Ruler Create Delete Cluster, Thanos Ruler Scale Up Without Labels,
    Thanos Ruler Min Ready Seconds)
    """
    lives(world, operator, KIND, ("secret", "service", "configmap"))


def test_what_others_do_to_its_objects_is_put_right(world: World, operator: Running) -> None:
    """(peer scenario: Thanos Ruler Preserve User Added Metadata)."""
    world.put(rule("shop"))
    ours = {
        "statefulset": "thanos-ruler-main",
        "service": "thanos-ruler-operated",
        "secret": "thanos-ruler-main-config",
        "configmap": "thanos-ruler-main-rulefiles-0",
    }
    put_right(world, KIND, ours)


def test_what_it_needs_must_be_there(world: World, operator: Running) -> None:
    """(peer scenarios: Thanos Ruler Service Name, Thanos Ruler Check Storage Class)."""
    needs(world, KIND)


def test_a_thanos_ruler_that_cannot_be_keeps_what_it_has(world: World, operator: Running) -> None:
    """(peer scenario: Thanos Ruler With Statefulset Creation Failure)."""
    wrong: dict[str, Object] = {
        "version": {"version": "latest-and-greatest"},
        "image": {"containers": [{"name": "no-image"}]},
        "spec.labels": {"labels": {"a=b": "c"}},
    }
    keeps_what_it_has(world, KIND, wrong)


def test_a_rollout_that_is_taken_back_counts_the_pods_of_each_state(
    world: World, operator: Running
) -> None:
    """Pods that no node takes are neither available nor unseen.

    (peer scenario: Thanos Ruler Status Updated Replicas Rollback)
    """
    world.put(thanos_ruler("main", replicas=2))
    assert pods(world, KIND, 2)["updatedReplicas"] == 2
    world.patch("thanosruler", "main", {"spec": {"nodeSelector": NOWHERE}})

    def counted() -> tuple[int, ...]:
        status: Object = found(world, "thanosruler", "main")["status"]
        return tuple(status[f"{each}Replicas"] for each in ("updated", "available", "unavailable"))

    # One has the new template and no node; the other has a node and the old template.
    world.until("one pod to be stuck", lambda: counted() == (1, 1, 1))
    world.patch("thanosruler", "main", {"spec": {"nodeSelector": None}})
    assert pods(world, KIND, 2)["updatedReplicas"] == 2


def test_whom_to_ask_and_whom_to_tell(world: World, operator: Running) -> None:
    """Files of users are mounted; where results go is a file of ours, made again as values change.

    (peer scenarios: Thanos Ruler Query Config, Thanos Ruler Alertmanager Config, Thanos Ruler
    Stateless)
    """
    world.put(secret("files", query="[]", alertmanagers="alertmanagers: []"))
    token = {"credentials": {"name": "token", "key": "token"}}
    spec: Object = {
        "queryConfig": {"name": "files", "key": "query"},
        "alertmanagersConfig": {"name": "files", "key": "alertmanagers"},
        "remoteWrite": [{"url": "http://receiver/api/v1/write", "authorization": token}],
    }
    world.put(resource("ThanosRuler", "main", spec))
    assert "token" in failed(world, "thanosruler", "main")
    world.put(secret("token", token="first"))  # noqa: S106
    world.settled("thanosruler", "main")
    arguments = KIND.arguments(world)
    for flag in ("query", "alertmanagers", "remote-write"):
        assert [each for each in arguments if each.startswith(f"--{flag}.config-file=")]

    def target() -> str:
        data = found(world, "secret", "thanos-ruler-main-config")["data"]
        return b64decode(data["remote-write.yaml"]).decode()

    assert "http://receiver/api/v1/write" in target()
    world.until("the token", lambda: "first" in target())
    world.put(secret("token", token="second"))  # noqa: S106
    world.until("another token", lambda: "second" in target())


def test_rules_of_other_namespaces_come_and_go(
    world: World, new_namespace: Callable[[], str]
) -> None:
    """By the labels of their namespace; one that Thanos would refuse is left out and says so.

    (peer scenario: Thanos Ruler Prometheus Rule In Different Namespace)
    """
    beside = World(world.cluster, new_namespace())
    flag = f"--namespaces={world.namespace},{beside.namespace}"
    by_name = {"matchLabels": {"kubernetes.io/metadata.name": beside.namespace}}

    def is_own(file: str) -> bool:
        return file.startswith(world.namespace)

    with Running.start(world.cluster, flag):
        world.put(thanos_ruler("main", ruleNamespaceSelector=by_name), rule("here"))
        beside.put(rule("there", "vector(1)"), rule("broken", "sum("))
        world.until("the rule", lambda: "vector(1)" in str(rule_files(world)))
        assert len(rule_files(world)) == 1
        assert verdict(beside, RULES, "there", RULER)["status"] == "True"
        condition = verdict(beside, RULES, "broken", RULER)
        assert condition["status"] == "False"
        assert "spec.groups[0].rules[0].expr" in condition["message"]
        assert world.bindings(RULES, "here") == {}
        beside.put(rule("broken", "vector(2)"))
        world.until("the mended rule", lambda: "vector(2)" in str(rule_files(world)))
        world.patch("thanosruler", "main", {"spec": {"ruleNamespaceSelector": None}})
        world.until("its own", lambda: all(map(is_own, rule_files(world) or [""])))
        until_bound(beside, RULES, name="there")


def test_a_rule_tells_what_a_prometheus_and_a_ruler_made_of_it(world: World) -> None:
    """Both at once, each on its own; what left is gone, also if nobody watched.

    (peer scenarios: Prometheus Rule Status Subresource For Thanos Ruler, Garbage Collection Of Prom
    Rule Binding For Thanos Ruler, Rm Prome Rule Binding During Workload Delete For Thanos Ruler,
    Finalizer For Thanos Ruler When Status For Config Res Enabled)
    """
    flag = f"--namespaces={world.namespace}"
    ruler = thanos_ruler("main")
    ruler["metadata"]["finalizers"] = [FINALIZER]
    with Running.start(world.cluster, flag):
        world.put(prometheus("main"), ruler, rule("shop"))
        until_bound(world, RULES, MAIN, RULER)
        for condition in world.bindings(RULES, "shop").values():
            assert (condition["type"], condition["status"]) == ("Accepted", "True")
            assert condition["observedGeneration"] == 1
        assert not found(world, "thanosruler", "main")["metadata"].get("finalizers")

        world.put(rule("shop", "sum("))
        world.until("both to reject it", lambda: statuses(world) == {MAIN: "False", RULER: "False"})
        some = {"ruleSelector": {"matchLabels": {"team": "a"}}}
        world.patch("thanosruler", "main", {"spec": some})
        until_bound(world, RULES, MAIN)
        world.patch("prometheusrule", "shop", {"metadata": {"labels": {"team": "a"}}})
        until_bound(world, RULES, MAIN, RULER)
        world.delete("prometheus", "main")
        until_bound(world, RULES, RULER)
        world.delete("thanosruler", "main")
        until_bound(world, RULES)
        world.put(thanos_ruler("main"))
        until_bound(world, RULES, RULER)
    world.delete("thanosruler", "main")
    with Running.start(world.cluster, flag):
        until_bound(world, RULES)


def statuses(world: World) -> dict[str, str]:
    """What each workload says of the rule."""
    return {name: each["status"] for name, each in world.bindings(RULES, "shop").items()}
