"""The life of workloads on a real control plane: objects, pods, status, and what changes them."""

import gzip
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.builders import agent, prometheus, resource, service_monitor, stored_secret
from tests.live.operating import Object, Running, World
from tests.live.test_objects import JUDGED_SINCE

DEADLINE = "operator.prometheus.io/deletion-deadline"


class Kind:
    """A kind of workload: how one is made, and what its objects are called."""

    def __init__(self, name: str, make: Callable[..., Object], prefix: str, service: str) -> None:
        self.name = name
        self.make = make
        self.prefix = prefix
        self.service = service

    def __repr__(self) -> str:
        return self.name


SERVER = Kind("prometheus", prometheus, "prometheus", "prometheus-operated")
AGENT = Kind("prometheusagent", agent, "prom-agent", "prometheus-agent-operated")
both_kinds = pytest.mark.parametrize("kind", [SERVER, AGENT], ids=repr)


def configuration(world: World, name: str) -> str:
    """The configuration in a workload's Secret."""
    found = world.get("secret", name)
    assert found
    return gzip.decompress(b64decode(found["data"]["prometheus.yaml.gz"])).decode()


def container(stateful_set: Object, name: str = "prometheus") -> Object:
    """A container of the pods."""
    containers = stateful_set["spec"]["template"]["spec"]["containers"]
    found: Object = next(each for each in containers if each["name"] == name)
    return found


def found(world: World, kind: str, name: str) -> Object:
    """An object that must be there."""
    there = world.get(kind, name)
    assert there, f"no {kind} {name}"
    return there


def secret(name: str, **data: str) -> Object:
    """A Secret of a user."""
    return stored_secret(name, data)


def service(name: str, **selector: str) -> Object:
    """A Service of a user."""
    spec = {"clusterIP": "None", "ports": [{"port": 9090}], "selector": selector}
    return resource("Service", name, spec)


def rule(name: str, text: str = "up == 0", count: int = 1) -> Object:
    """A PrometheusRule of some alerts."""
    group = {"name": "all", "rules": [{"alert": "Down", "expr": text}] * count}
    return resource("PrometheusRule", name, {"groups": [group]})


def gone(world: World, kind: str, name: str) -> None:
    """Wait until there is no such object."""
    world.until(f"no {kind} {name}", lambda: world.get(kind, name) is None)


def reconciled(world: World, kind: str, name: str) -> Object:
    """The condition, once it speaks of the present generation."""

    def current() -> Object | None:
        there = world.condition(kind, name, "Reconciled")
        generation = found(world, kind, name)["metadata"]["generation"]
        return there if there["observedGeneration"] == generation else None

    return world.until(f"{name} to be looked at", current) or {}


def failed(world: World, kind: str, name: str) -> str:
    """Wait until a workload could not be reconciled as it is now; why."""

    def why() -> str:
        condition = reconciled(world, kind, name)
        assert condition["status"] == "False"
        # The latter where what does not need the missing piece was made all the same.
        assert condition["reason"] in ("ReconciliationFailed", "ObjectRefused")
        return str(condition["message"])

    return world.until(f"{name} to fail", why)


# --- From beginning to end ------------------------------------------------------------------------


@both_kinds
def test_a_workload_lives(world: World, operator: Running, kind: Kind) -> None:
    """Create, change, scale, reshard, delete, create again: objects, pods and status follow.

    (peer scenarios: Prom Create Delete Cluster, Prom Scale Up Down Cluster, Prom Scale Up Without
    Labels, Prom Resource Update, Prom Reload Config, Prom Strategic Merge Patch, Prometheus Status
    Scale, Resharding, Sharding Provisioning, Prom When Delete CRD Clean Up Via Owner Ref, Create
    Prometheus Agent, Prometheus Agent Status Scale)
    """
    name, first = f"{kind.prefix}-main", f"{kind.prefix}-main"
    world.put(kind.make("main"), service_monitor("shop"))
    status = world.settled(kind.name, "main")["status"]
    assert (status["replicas"], status["availableReplicas"], status["shards"]) == (1, 1, 1)
    assert "app.kubernetes.io/instance=main" in status["selector"]
    job = f"serviceMonitor/{world.namespace}/shop/0"
    world.until("the monitor", lambda: job in configuration(world, name))

    changed: Object = {
        "image": "example.org/prometheus:v3.5.0",
        "version": "v3.5.0",
        "additionalArgs": [{"name": "log.level", "value": "debug"}],
        "containers": [{"name": "prometheus", "env": [{"name": "ZONE", "value": "a"}]}],
        "resources": {"requests": {"memory": "1Gi"}},
    }
    world.patch(kind.name, "main", {"spec": changed})
    world.settled(kind.name, "main")
    made = container(found(world, "statefulset", first))
    assert made["image"] == changed["image"]
    assert "--log.level=debug" in made["args"]
    assert {"name": "ZONE", "value": "a"} in made["env"]
    assert made["resources"]["requests"] == {"memory": "1Gi"}

    for replicas in (3, 1):
        world.patch(kind.name, "main", {"spec": {"replicas": replicas}})
        assert _with_pods(world, kind, replicas)["availableReplicas"] == replicas

    scale = f"{world.path(kind.name, 'main')}/scale"
    world.cluster.api.request(
        "PATCH", scale, {"spec": {"replicas": 2}}, content_type="application/merge-patch+json"
    )
    status = _with_pods(world, kind, 2)
    assert [each["shardID"] for each in status["shardStatuses"]] == ["0", "1"]
    assert [each["availableReplicas"] for each in status["shardStatuses"]] == [1, 1]
    assert status["shards"] == 2
    world.patch(kind.name, "main", {"spec": {"shards": 1}})
    world.until("the second shard to go", lambda: not world.get("statefulset", f"{first}-shard-1"))
    assert _with_pods(world, kind, 1)["shards"] == 1

    world.delete(kind.name, "main")
    for each, its in (("statefulset", first), ("secret", name), ("service", kind.service)):
        gone(world, each, its)
    world.until("no Secret of it", lambda: not _owned_secrets(world))
    world.put(kind.make("main"))
    world.settled(kind.name, "main")


def _owned_secrets(world: World) -> list[Object]:
    return [each for each in world.list("secret") if each["metadata"].get("ownerReferences")]


def _with_pods(world: World, kind: Kind, count: int) -> Object:
    """The status, once there are so many pods, all as they should be."""

    def status() -> Object:
        there: Object = world.settled(kind.name, "main")["status"]
        assert there["replicas"] == count
        return there

    return world.until(f"{count} pods", status)


def test_an_agent_and_a_server_of_one_name_share_nothing(world: World, operator: Running) -> None:
    """Each has its own objects, and its own status.

    (peer scenario: Prometheus Agent And Server Name Colision)
    """
    world.put(prometheus("main", replicas=2), agent("main"))
    assert world.settled("prometheus", "main")["status"]["replicas"] == 2
    assert world.settled("prometheusagent", "main")["status"]["replicas"] == 1
    world.delete("prometheusagent", "main")
    gone(world, "statefulset", "prom-agent-main")
    assert world.settled("prometheus", "main")["status"]["replicas"] == 2


def test_a_shard_that_is_retained_waits_for_its_deadline(world: World, operator: Running) -> None:
    """It keeps its pods, has a deadline that users may change, and comes back as it was.

    (peer scenario: Prometheus Retention Policies)
    """
    retain: Object = {"whenScaled": "Retain", "retain": {"retentionPeriod": "1d"}}
    world.put(prometheus("main", shards=3, shardRetentionPolicy=retain))
    world.settled("prometheus", "main")

    def deadline(shard: int) -> Any:
        there = found(world, "statefulset", f"prometheus-main-shard-{shard}")
        return (there["metadata"].get("annotations") or {}).get(DEADLINE)

    world.patch("prometheus", "main", {"spec": {"shards": 1}})
    world.until("deadlines", lambda: deadline(1) and deadline(2))
    status = world.settled("prometheus", "main")["status"]
    assert [each["shardID"] for each in status["shardStatuses"]] == ["0"]
    assert found(world, "statefulset", "prometheus-main-shard-1")["spec"]["replicas"] == 1

    world.patch("prometheus", "main", {"spec": {"shards": 2}})
    world.until("no deadline on the shard that is back", lambda: deadline(1) is None)
    assert deadline(2)
    past = {"metadata": {"annotations": {DEADLINE: "2001-01-01T00:00:00Z"}}}
    world.patch("statefulset", "prometheus-main-shard-2", past)
    gone(world, "statefulset", "prometheus-main-shard-2")
    assert world.get("statefulset", "prometheus-main-shard-1")


@both_kinds
def test_nothing_is_written_for_a_paused_workload(
    world: World, operator: Running, kind: Kind
) -> None:
    """Neither a change of its own nor one of a monitor gets through until it is not paused."""
    world.put(kind.make("main"), kind.make("other"), service_monitor("shop"))
    world.settled(kind.name, "main")
    world.settled(kind.name, "other")
    world.patch(kind.name, "main", {"spec": {"paused": True}})
    world.until("the pause to be told", lambda: found(world, kind.name, "main")["status"]["paused"])
    mark = world.cluster.audit.mark()
    world.patch(kind.name, "main", {"spec": {"replicas": 2}})
    world.put(service_monitor("late"))
    world.delete("secret", f"{kind.prefix}-main-web-config")

    # The other one shows that all of that was seen.
    job = f"serviceMonitor/{world.namespace}/late/0"
    world.until("the other", lambda: job in configuration(world, f"{kind.prefix}-other"))
    assert reconciled(world, kind.name, "main")["reason"] == "Paused"
    ours = [each for each in world.writes(mark) if each.name.startswith(f"{kind.prefix}-main")]
    assert not ours
    assert job not in configuration(world, f"{kind.prefix}-main")

    world.patch(kind.name, "main", {"spec": {"paused": False}})
    status = _with_pods(world, kind, 2)
    assert not status.get("paused")
    assert job in configuration(world, f"{kind.prefix}-main")
    world.until("its file", lambda: world.get("secret", f"{kind.prefix}-main-web-config"))


# --- What others do to our objects ----------------------------------------------------------------


def test_objects_that_others_delete_or_change_are_put_right(
    world: World, operator: Running
) -> None:
    """What is deleted comes back, what is changed is undone, what is added to metadata stays.

    Not so where its name is reserved for operators.

    (peer scenario: Prom Preserve User Added Metadata)
    """
    world.put(prometheus("main"), service_monitor("shop"), rule("alerts"))
    world.settled("prometheus", "main")
    ours = {
        "statefulset": "prometheus-main",
        "secret": "prometheus-main",
        "configmap": "prometheus-main-rulefiles-0",
        "service": "prometheus-operated",
    }
    reserved = "operator.prometheus.io/mine"
    labels = {"team": "a", reserved: "a"}
    noted = {"labels": labels, "annotations": {"example.org/note": "b", reserved: "b"}}
    for kind, name in ours.items():
        world.patch(kind, name, {"metadata": noted})
    _break(world)
    for kind, name in ours.items():
        world.until(f"{kind} to be right", partial(_is_right, world, kind))
        world.until("nothing reserved", partial(_lacks, world, kind, name, reserved))
        metadata = found(world, kind, name)["metadata"]
        assert metadata["labels"]["team"] == "a"
        assert metadata["annotations"]["example.org/note"] == "b"

    before = {kind: found(world, kind, name)["metadata"]["uid"] for kind, name in ours.items()}
    for kind, name in ours.items():
        world.delete(kind, name)
    for kind, name in ours.items():
        world.until(f"{kind} to be back", partial(_is_another, world, kind, name, before[kind]))
        world.until(f"{kind} to be right", partial(_is_right, world, kind))
    world.settled("prometheus", "main")


def _lacks(world: World, kind: str, name: str, key: str) -> bool:
    metadata = found(world, kind, name)["metadata"]
    return key not in metadata["labels"] | metadata["annotations"]


def _is_another(world: World, kind: str, name: str, uid: str) -> bool:
    return bool(found(world, kind, name)["metadata"]["uid"] != uid)


def _break(world: World) -> None:
    """Change what is ours, and add to it, in each object."""
    path = world.path("statefulset", "prometheus-main")
    extra = {"name": "extra", "image": "example.org/extra"}
    pods = {"containers": [extra], "nodeSelector": {"zone": "a"}}
    restarted = {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}}
    changed = {"replicas": 0, "template": {"metadata": restarted, "spec": pods}}
    world.cluster.api.request(
        "PATCH",
        f"{path}?fieldManager=kubectl-edit",
        {"spec": changed},
        content_type="application/strategic-merge-patch+json",
    )
    junk = b64encode(b"junk").decode()
    data = {"prometheus.yaml.gz": junk, "more": junk}
    world.patch("secret", "prometheus-main", {"data": data})
    world.patch("configmap", "prometheus-main-rulefiles-0", {"data": {"more": "junk"}})
    world.patch("service", "prometheus-operated", {"spec": {"selector": {"more": "junk"}}})


def _is_right(world: World, kind: str) -> bool:
    if kind == "statefulset":
        there = found(world, kind, "prometheus-main")["spec"]
        pod = there["template"]["spec"]
        names = [each["name"] for each in pod["containers"]]
        return (
            there["replicas"] == 1
            and names == ["prometheus", "config-reloader"]
            and "nodeSelector" not in pod
        )
    if kind == "secret":
        data = found(world, kind, "prometheus-main")["data"]
        return list(data) == ["prometheus.yaml.gz"] and "shop" in configuration(
            world, "prometheus-main"
        )
    if kind == "configmap":
        return "more" not in found(world, kind, "prometheus-main-rulefiles-0")["data"]
    selector = found(world, kind, "prometheus-operated")["spec"]["selector"]
    return list(selector) == ["app.kubernetes.io/name"]


def test_workloads_share_the_service_that_names_their_pods(world: World, operator: Running) -> None:
    """All of them own it, none undoes what another needs, and it stays until the last is gone.

    (peer scenario: Prom Shared Resources Reconciliation)
    """
    world.put(prometheus("one"), prometheus("two", thanos={}))
    for name in ("one", "two"):
        world.settled("prometheus", name)

    def owners() -> set[str]:
        metadata = found(world, "service", "prometheus-operated")["metadata"]
        return {each["name"] for each in metadata["ownerReferences"]}

    def ports() -> set[str]:
        spec = found(world, "service", "prometheus-operated")["spec"]
        return {each["name"] for each in spec["ports"]}

    world.until("both owners", lambda: owners() == {"one", "two"})
    world.until("the ports of both", lambda: ports() == {"web", "grpc"})
    mark = world.cluster.audit.mark()
    for name in ("one", "two"):
        world.put(service_monitor(f"for-{name}"))
        world.patch("prometheus", name, {"spec": {"replicas": 2}})
        world.settled("prometheus", name)
    assert not [each for each in world.writes(mark) if each.resource == "services"]

    world.delete("service", "prometheus-operated")
    world.until("the Service to be back", lambda: owners() == {"one", "two"})
    world.delete("prometheus", "two")
    world.until("one owner and its ports", lambda: owners() == {"one"} and ports() == {"web"})
    world.delete("prometheus", "one")
    gone(world, "service", "prometheus-operated")


# --- Only what is needed --------------------------------------------------------------------------


def test_a_change_writes_what_it_concerns_and_nothing_else(world: World, operator: Running) -> None:
    """A monitor, or a Secret that it reads, changes one Secret; what changes nothing, none.

    (peer scenarios: Prom Only Updated On Relevant Changes, Prometheus Reconciliation On Secret
    Changes, Prom Get Auth Secret)
    """
    login = {key: {"name": "login", "key": key} for key in ("username", "password")}
    world.put(prometheus("main"), service_monitor("shop"), service_monitor("safe", basicAuth=login))
    world.settled("prometheus", "main")

    def waited(text: str) -> None:
        world.until(f"{text} to be there", lambda: text in configuration(world, "prometheus-main"))

    def objects(mark: int) -> set[str]:
        status = ("prometheuses", "servicemonitors")
        return {str(each) for each in world.writes(mark) if each.resource not in status}

    only = {f"update secrets {world.namespace}/prometheus-main (200)"}
    waited("/shop/0")
    world.until(
        "a rejection", lambda: world.bindings("servicemonitor", "safe")["prometheuses/main"]
    )
    assert "/safe/0" not in configuration(world, "prometheus-main")
    mark = world.cluster.audit.mark()
    world.put(secret("login", username="anna", password="first-password"))  # noqa: S106
    waited("first-password")
    assert objects(mark) == only

    mark = world.cluster.audit.mark()
    world.put(secret("login", username="anna", password="second-password"))  # noqa: S106
    waited("second-password")
    assert objects(mark) == only

    mark = world.cluster.audit.mark()
    world.patch("servicemonitor", "shop", {"spec": {"sampleLimit": 4321}})
    waited("sample_limit: 4321")
    assert objects(mark) == only

    mark = world.cluster.audit.mark()
    world.patch("servicemonitor", "shop", {"metadata": {"annotations": {"a": "b"}}})
    world.patch("secret", "login", {"metadata": {"labels": {"a": "b"}}})
    world.patch("prometheus", "main", {"metadata": {"managedFields": [{}]}})
    world.put(secret("unrelated", key="value"), service_monitor("last"))
    waited("/last/0")
    assert objects(mark) == only


def test_what_others_add_to_a_configuration_outlives_its_changes(
    world: World, operator: Running
) -> None:
    """Labels, annotations and finalizers stay while the data is replaced; a foreign file goes."""
    world.put(prometheus("main"), service_monitor("shop"))
    name = "prometheus-main"

    def limited(limit: int) -> None:
        world.patch("servicemonitor", "shop", {"spec": {"sampleLimit": limit}})
        text = f"sample_limit: {limit}"
        world.until(text, lambda: text in configuration(world, name))

    limited(1)
    theirs = {
        "labels": {"team": "a"},
        "annotations": {"note": "kept"},
        "finalizers": ["example.com/kept"],
    }
    world.patch("secret", name, {"metadata": theirs, "data": {"foreign": "eA=="}})
    for limit in (2, 3, 4):
        limited(limit)
    found = world.get("secret", name) or {}
    assert set(found["data"]) == {"prometheus.yaml.gz"}
    assert found["metadata"]["labels"]["team"] == "a"
    assert found["metadata"]["annotations"]["note"] == "kept"
    assert found["metadata"]["finalizers"] == ["example.com/kept"]
    assert found["metadata"]["ownerReferences"][0]["name"] == "main"
    world.patch("secret", name, {"metadata": {"finalizers": None}})


def test_a_restart_writes_nothing(world: World) -> None:
    """An operator that finds everything as it should be reads it, and that is all."""
    flag = f"--namespaces={world.namespace}"
    claim = {"spec": {"resources": {"requests": {"storage": "1024Mi"}}}}
    spec: Object = {
        "shards": 2,
        "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}},
        "storage": {"volumeClaimTemplate": claim},
        "thanos": {},
        "retention": "10d",
        "podMetadata": {"labels": {"team": "a"}},
        "volumes": [{"name": "more", "emptyDir": {"sizeLimit": "1024Ki"}}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
        ],
    }
    with Running.start(world.cluster, flag):
        world.put(prometheus("main", **spec, replicas=0), agent("light"))
        world.put(service_monitor("shop"), rule("alerts"))
        world.settled("prometheus", "main")
        world.settled("prometheusagent", "light")
        bound = {"prometheuses/main", "prometheusagents/light"}
        world.until("bindings", lambda: set(world.bindings("servicemonitor", "shop")) == bound)
        world.until("bindings", lambda: world.bindings("prometheusrule", "alerts"))
        for kind, name in (("prometheus", "main"), ("prometheusagent", "light")):
            world.until("the last status", partial(_has_selected, world, kind, name))
    mark = world.cluster.audit.mark()
    with Running.start(world.cluster, flag) as operator:
        world.until(
            "both to be reconciled",
            lambda: operator.metric("prometheus_operator_reconcile_operations_total") >= 2,
        )
        # Statuses and bindings come after that; a change shows that those before it are through.
        world.put(service_monitor("last"))
        world.until("a binding", lambda: set(world.bindings("servicemonitor", "last")) == bound)
    expected = {
        f"update secrets {world.namespace}/prometheus-main (200)",
        f"update secrets {world.namespace}/prom-agent-light (200)",
        f"patch servicemonitors/status {world.namespace}/last (200)",
    }
    assert {str(each) for each in world.writes(mark, events=True)} == expected


def _has_selected(world: World, kind: str, name: str) -> bool:
    return bool(reconciled(world, kind, name)["reason"] != "NoSelectedResources")


# --- Rules ----------------------------------------------------------------------------------------


def test_rules_go_over_several_config_maps(world: World, operator: Running) -> None:
    """Pods mount as many as there are; a rule that changes costs one write, of one of them.

    (peer scenarios: Prom Rules Exceeding Config Map Limit, Prom Multiple Prometheus Rules Same NS,
    Prom Reload Rules)
    """
    long = " or ".join(f'up{{job="{number:06}"}}' for number in range(20))
    world.put(prometheus("main"), *(rule(f"rules-{number}", long, 700) for number in range(3)))
    maps = world.until("three ConfigMaps", lambda: _rule_maps(world, 3))
    assert sum(len(each["data"]) for each in maps.values()) == 3
    world.until("volumes of all", lambda: set(maps) <= _mounted_maps(world))
    world.settled("prometheus", "main")

    mark = world.cluster.audit.mark()
    world.put(rule("rules-1", "vector(1)"))
    world.until("the rule", lambda: _with_text(world, "vector(1)"))
    world.until_still()
    written = [each.resource for each in world.writes(mark) if each.subresource != "status"]
    assert written == ["configmaps"]

    for number in (0, 2):
        world.delete("prometheusrule", f"rules-{number}")
    left = world.until("one ConfigMap", lambda: _rule_maps(world, 1))
    assert "vector(1)" in str(left)
    world.settled("prometheus", "main")


def _rule_maps(world: World, count: int) -> dict[str, Object]:
    maps = {
        each["metadata"]["name"]: each
        for each in world.list("configmap")
        if "rulefiles" in each["metadata"]["name"]
    }
    assert len(maps) == count
    return maps


def _mounted_maps(world: World) -> set[str]:
    pod = found(world, "statefulset", "prometheus-main")["spec"]["template"]["spec"]
    return {each["configMap"]["name"] for each in pod["volumes"] if "configMap" in each}


def _with_text(world: World, text: str) -> bool:
    return any(text in str(each.get("data")) for each in world.list("configmap"))


# --- What cannot be ------------------------------------------------------------------------------


def test_a_workload_that_cannot_be_keeps_what_it_has(
    world: World, operator: Running, minor: int
) -> None:
    """It says why, its objects stay as they were, others go on, and it recovers when it is mended.

    (peer scenario: Prometheus With Statefulset Creation Failure)
    """
    world.put(prometheus("main"), prometheus("other"), service_monitor("shop"))
    for name in ("main", "other"):
        world.settled("prometheus", name)
        world.until("the monitor", partial(_has_job, world, f"prometheus-{name}", "shop"))
    wrong: dict[str, Object] = {
        "version": {"version": "latest-and-greatest"},
        "image": {"containers": [{"name": "no-image"}], "version": "v2.30.0"},
        "storage": {"storage": {"disableMountSubPath": True}},
    }
    if minor < JUDGED_SINCE:
        del wrong["image"]
    for words, spec in wrong.items():
        before = _versions(world)
        world.patch("prometheus", "main", {"spec": spec})
        assert words in failed(world, "prometheus", "main")
        world.put(service_monitor(f"{words}-job"))
        world.until(
            "the other to go on", partial(_has_job, world, "prometheus-other", f"{words}-job")
        )
        assert _versions(world) == before
        world.patch("prometheus", "main", {"spec": dict.fromkeys(spec)})
        world.settled("prometheus", "main")
        assert _has_job(world, "prometheus-main", f"{words}-job")


def test_a_workload_recovers_when_the_secret_that_is_wrong_is_mended(
    world: World, operator: Running
) -> None:
    """Nobody touches the workload itself then."""
    jobs = {"name": "jobs", "key": "jobs.yaml"}
    world.put(secret("jobs", **{"jobs.yaml": "- job_name: [more"}))
    world.put(prometheus("main", additionalScrapeConfigs=jobs))
    assert "spec.additionalScrapeConfigs" in failed(world, "prometheus", "main")
    world.put(secret("jobs", **{"jobs.yaml": "- job_name: more"}))
    world.settled("prometheus", "main")
    assert _has_job(world, "prometheus-main", "more")


def _versions(world: World) -> tuple[object, object]:
    """What tells whether the pods or the configuration of main were changed."""
    secret_, pods = (found(world, kind, "prometheus-main") for kind in ("secret", "statefulset"))
    return secret_["metadata"]["resourceVersion"], pods["metadata"]["generation"]


def _has_job(world: World, name: str, job: str) -> bool:
    return job in configuration(world, name)


@both_kinds
def test_a_service_of_the_users_own_must_be_there(
    world: World, operator: Running, kind: Kind
) -> None:
    """Without it no pods are made; once it is there and selects the pods, all is.

    (peer scenarios: Prometheus Service Name, Prometheus Agent S Set Service Name)
    """
    world.put(kind.make("main", serviceName="mine"))
    assert "there is no Service `mine`" in failed(world, kind.name, "main")
    assert world.get("statefulset", f"{kind.prefix}-main") is None
    world.put(service("mine", wrong="selector"))
    world.until(
        "the selector to be found wrong",
        lambda: "does not select the pods" in failed(world, kind.name, "main"),
    )
    world.put(service("mine", **{"app.kubernetes.io/instance": "main"}))
    world.settled(kind.name, "main")
    made = found(world, "statefulset", f"{kind.prefix}-main")
    assert made["spec"]["serviceName"] == "mine"
    assert world.get("service", kind.service) is None


def test_a_configuration_that_is_the_users_own_is_left_alone(
    world: World, operator: Running
) -> None:
    """Without selectors the Secret is made empty once, and never written again.

    (peer scenario: Prom No Service Monitor Selector)
    """
    world.put(resource("Prometheus", "main", {"replicas": 1}), service_monitor("shop"))
    condition = world.settled("prometheus", "main")["status"]["conditions"]
    assert any(each["reason"] == "ConfigurationUnmanaged" for each in condition)
    assert configuration(world, "prometheus-main") == ""
    own = b64encode(gzip.compress(b"global: {}\n")).decode()
    world.patch("secret", "prometheus-main", {"data": {"prometheus.yaml.gz": own}})
    world.patch("prometheus", "main", {"spec": {"replicas": 2}})
    world.settled("prometheus", "main")
    assert configuration(world, "prometheus-main") == "global: {}\n"
    world.patch("prometheus", "main", {"spec": {"serviceMonitorSelector": {}}})
    world.until("the monitor", lambda: "shop" in configuration(world, "prometheus-main"))
