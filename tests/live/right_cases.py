"""What needs each right of the operator: what is there, what somebody does, what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from stoker.api.crd import GROUP
from tests.builders import (
    agent,
    alertmanager,
    alertmanager_config,
    prometheus,
    resource,
    service_monitor,
    thanos_ruler,
)
from tests.live.operating import Object, World
from tests.live.rights import Right
from tests.live.test_operator_access import is_absent, left_over, rule, secret
from tests.live.test_operator_faults import configuration
from tests.live.test_operator_flags import NEVER_READY, never_ready, waits_for
from tests.live.test_operator_storage import bind, claimed, storage, storage_class
from tests.live.trials import Act, Case, Effect
from tools.stages import READINESS

EVENTS = "events.events.k8s.io"
WORKLOADS = {
    "prometheuses": "prometheus-main",
    "prometheusagents": "prom-agent-main",
    "alertmanagers": "alertmanager-main",
    "thanosrulers": "thanos-ruler-main",
}


# --- What is there before -------------------------------------------------------------------------


def basic(_world: World) -> Iterator[Object]:
    """A Prometheus without pods, monitors with and without a token, and rules."""
    token = {"credentials": {"name": "token", "key": "token"}}
    yield secret("token")
    yield prometheus("main", replicas=0)
    yield service_monitor("shop")
    yield service_monitor("private", authorization=token)
    yield rule("up:sum")


def others(_world: World) -> Iterator[Object]:
    """The other kinds of workloads, without pods."""
    for make in (agent, alertmanager, thanos_ruler):
        yield make("main", replicas=0)


def on_nodes(_world: World | None = None) -> Iterator[Object]:
    """An agent on every node."""
    yield resource("PrometheusAgent", "nodes", {"mode": "DaemonSet", "podMonitorSelector": {}})


def sharded(_world: World) -> Iterator[Object]:
    """A Prometheus of two shards."""
    yield prometheus("wide", shards=2, replicas=0)


def stored(world: World) -> Iterator[Object]:
    """A Prometheus with a claim."""
    yield storage_class(world)
    yield prometheus("main", storage=storage(world, "1Gi"))


def with_a_claim(world: World) -> None:
    """Have the claim bound, so that it could grow."""
    world.until("a claim", lambda: claimed(world) == "1Gi")
    bind(world)
    world.settled("prometheus", "main")


ORDERED = {"replicas": 2, "podManagementPolicy": "OrderedReady"}


def ordered(_world: World) -> Iterator[Object]:
    """A Prometheus whose pods follow one another."""
    yield prometheus("main", **ORDERED)


def stuck(world: World) -> None:
    """A rollout that waits for a pod of a bad change, which was taken back."""
    world.settled("prometheus", "main")
    world.put(prometheus("main", podMetadata=NEVER_READY, **ORDERED))
    bad = world.until("a pod that is not ready", lambda: never_ready(world))
    world.put(prometheus("main", **ORDERED))
    world.until("the change to be taken back", lambda: waits_for(world, bad))


def complained(world: World) -> None:
    """A monitor that was wrong once."""
    world.put(broken())
    world.until("an event", partial(events, world))
    world.put(service_monitor("wrong"))
    world.until("no complaint", lambda: accepted(world, "wrong"))


# --- What somebody does, and what comes of it -----------------------------------------------------


def selectable(name: str) -> Iterator[Object]:
    """One resource of each kind that workloads select."""
    yield service_monitor(name)
    yield resource("PodMonitor", name, {"selector": {}, "podMetricsEndpoints": [{"port": "web"}]})
    targets = {"staticConfig": {"static": ["shop.example"]}}
    yield resource("Probe", name, {"prober": {"url": "prober:9115"}, "targets": targets})
    yield resource("ScrapeConfig", name, {"staticConfigs": [{"targets": ["shop:80"]}]})
    yield resource("PrometheusRule", name, rule("up:more")["spec"])
    yield alertmanager_config(name)


SELECTED = tuple(f"{each['kind'].lower()}s" for each in selectable("any"))


def put(*objects: Object) -> Act:
    """Somebody makes or changes objects."""
    return lambda world: world.put(*objects)


def louder(*plurals: str) -> Act:
    """Somebody changes workloads, so that their pods are others."""

    def act(world: World) -> None:
        for each in plurals:
            world.patch(each, "main", {"spec": {"logLevel": "debug"}})

    return act


def louder_on_nodes(world: World) -> None:
    """Somebody changes the Prometheus, and the agent on every node."""
    louder("prometheuses")(world)
    world.patch("prometheusagents", "nodes", {"spec": {"logLevel": "debug"}})


def exists(kind: str, name: str) -> Effect:
    """An object is there."""
    return lambda world: world.get(kind, name) is not None


def gone(kind: str, name: str) -> Effect:
    """An object is not there."""
    return lambda world: is_absent(world, kind, name)


def bound(plural: str) -> Effect:
    """What was made has a binding."""
    return lambda world: world.bindings(plural, "more")


def is_louder(kind: str, name: str) -> Effect:
    """The pods are to say more."""
    return lambda world: "=debug" in str((world.get(kind, name) or {})["spec"]["template"])


def observed(plural: str, name: str = "main") -> Effect:
    """The status is about the workload as it is now."""

    def effect(world: World) -> bool:
        generation = (world.get(plural, name) or {})["metadata"]["generation"]
        found = world.condition(plural, name, "Reconciled")
        return bool(found["observedGeneration"] == generation and found["status"] == "True")

    return effect


FINALIZER = "monitoring.coreos.com/status-cleanup"


def held(world: World) -> None:
    """The peer holds up the deletion of workloads."""
    for each in WORKLOADS:
        world.patch(each, "main", {"metadata": {"finalizers": [FINALIZER]}})


def released(plural: str) -> Effect:
    """The peer's finalizer was taken off."""
    return lambda world: not (world.get(plural, "main") or {})["metadata"].get("finalizers")


def has_job(name: str) -> Effect:
    """A ServiceMonitor is in the configuration."""
    return lambda world: f"serviceMonitor/{world.namespace}/{name}\n" in _lines(world)


def _lines(world: World) -> str:
    return configuration(world).replace("/0\n", "\n")


def has_token(world: World) -> bool:
    """The new token is in the configuration."""
    return "another" in configuration(world)


def has_rule(record: str) -> Effect:
    """A rule is in the ConfigMap."""
    name = "prometheus-main-rulefiles-0"
    return lambda world: record in str((world.get("configmap", name) or {}).get("data"))


def rest(kind: str) -> Act:
    """There is something that a workload had and does not want any longer."""

    def act(world: World) -> None:
        world.put(left_over(kind, world.get("prometheuses", "main") or {}))

    return act


def is_rolled(world: World) -> bool:
    """The pod that held up a rollout is another."""
    found = world.get("pod", "prometheus-main-1") or {}
    return READINESS not in (found["metadata"].get("annotations") or {})


def changed_service(world: World) -> None:
    """Somebody changes the Service."""
    world.patch("service", "prometheus-operated", {"spec": {"sessionAffinity": "ClientIP"}})


def is_usual_service(world: World) -> bool:
    """The Service is as it should be."""
    found = (world.get("service", "prometheus-operated") or {})["spec"]
    return bool(found.get("sessionAffinity", "None") == "None")


def owners(count: int) -> Effect:
    """The Service belongs to so many."""

    def effect(world: World) -> bool:
        found = world.get("service", "prometheus-operated") or {}
        return len(found["metadata"]["ownerReferences"]) == count

    return effect


def larger(world: World) -> None:
    """Somebody wants more storage."""
    world.patch("prometheus", "main", {"spec": {"storage": storage(world, "2Gi")}})


def broken() -> Object:
    """A ServiceMonitor that is rejected."""
    return service_monitor("wrong", authorization={"type": "Basic", "credentials": {"key": "a"}})


def accepted(world: World, monitor: str) -> bool:
    """Whether Prometheus takes a ServiceMonitor."""
    return bool(world.bindings("servicemonitor", monitor)["prometheuses/main"]["status"] == "True")


def events(world: World) -> list[Object]:
    """The events about resources."""
    return [each for each in world.list(EVENTS) if "regarding" in each]


def is_counted(world: World) -> bool:
    """An event was said again."""
    return any((each.get("series") or {}).get("count", 0) >= 2 for each in events(world))


def nothing(_world: World) -> None:
    """Nobody does anything."""


# --- The cases ------------------------------------------------------------------------------------


def case(
    name: str, verb: str, effects: Mapping[str, Effect], act: Act, *before: Any, **more: Any
) -> Case:
    """One verb for some resources."""
    rights = {Right(verb, each): effect for each, effect in effects.items()}
    return Case(name, rights, act, before, **more)


def ours(
    effect: Callable[[str], Effect], plurals: Iterable[str], sub: str = ""
) -> dict[str, Effect]:
    """An effect for each of our kinds."""
    return {f"{each}.{GROUP}{sub}": effect(each) for each in plurals}


def more(world: World) -> None:
    """Somebody makes a resource of each kind."""
    world.put(*selectable("more"))


def more_and_louder(world: World) -> None:
    """Somebody changes everything."""
    more(world)
    louder(*WORKLOADS)(world)


def workload_cases() -> Iterator[Case]:
    """Our own kinds."""
    full = (basic, others)
    for verb in ("list", "watch"):
        yield case(f"{verb}-selected", verb, ours(bound, SELECTED), more, *full)
        effects = ours(lambda each: is_louder("statefulset", WORKLOADS[each]), WORKLOADS)
        yield case(f"{verb}-workloads", verb, effects, louder(*WORKLOADS), *full)
    yield case("get-workloads", "get", ours(observed, WORKLOADS), louder(*WORKLOADS), *full)
    yield case("patch-workloads", "patch", ours(released, WORKLOADS), held, *full)
    new = (prometheus("main"), agent("main"), alertmanager("main"), thanos_ruler("main"))
    made = ours(lambda each: exists("statefulset", WORKLOADS[each]), WORKLOADS, "/finalizers")
    yield case("finalizers", "update", made, put(*new))
    statuses = ours(observed, WORKLOADS, "/status") | ours(bound, SELECTED, "/status")
    yield case("status", "patch", statuses, more_and_louder, *full)


def value_cases() -> Iterator[Case]:
    """Secrets and ConfigMaps."""
    late = service_monitor("late", authorization={"credentials": {"name": "late", "key": "token"}})
    job, text = has_job("late"), has_rule("up:total")
    yield case("get-secrets", "get", {"secrets": job}, put(secret("late"), late), basic)
    yield case("get-configmaps", "get", {"configmaps": text}, put(rule("up:total")), basic)
    new = put(prometheus("new", replicas=0))
    for verb in ("create", "patch"):
        made = {"secrets": exists("secret", "prometheus-new")}
        yield case(f"{verb}-secrets", verb, made, new, basic)
        made = {"configmaps": exists("configmap", "prometheus-new-rulefiles-0")}
        yield case(f"{verb}-configmaps", verb, made, new, basic)
    # Then it is patched.
    patched = {"secrets": has_job("more"), "configmaps": text}
    change = put(service_monitor("more"), rule("up:total"))
    yield case("update-values", "update", patched, change, basic, harmless=True)
    for kind in ("Secret", "ConfigMap"):
        plural = f"{kind.lower()}s"
        left = {plural: gone(plural, f"left-over-{kind.lower()}")}
        yield case(f"delete-{plural}", "delete", left, rest(kind), basic)


SETS, DAEMONS = "statefulsets.apps", "daemonsets.apps"
STATEFUL_SET, DAEMON_SET = "prometheus-main", "prom-agent-nodes"
RULE_FILES, SERVICE = "prometheus-main-rulefiles-0", "prometheus-operated"


def unseen_cases() -> Iterator[Case]:
    """What the operator made, or reads, and cannot see any longer."""
    effects = {
        "secrets": has_token,
        "configmaps": exists("configmap", RULE_FILES),
        "services": exists("service", SERVICE),
        SETS: exists("statefulset", STATEFUL_SET),
        DAEMONS: exists("daemonset", DAEMON_SET),
    }
    for verb in ("list", "watch"):
        yield case(f"{verb}-owned", verb, effects, harm, basic, on_nodes)


def harm(world: World) -> None:
    """Somebody deletes what the operator made, and changes what it reads."""
    world.patch("secrets", "token", {"stringData": {"token": "another"}})
    for kind, name in (
        ("configmap", RULE_FILES),
        ("service", SERVICE),
        ("statefulset", STATEFUL_SET),
        ("daemonset", DAEMON_SET),
    ):
        world.delete(kind, name)


def set_cases() -> Iterator[Case]:
    """What runs pods."""
    effects = {
        SETS: is_louder("statefulset", STATEFUL_SET),
        DAEMONS: is_louder("daemonset", DAEMON_SET),
    }
    for verb in ("get", "patch"):
        yield case(f"{verb}-sets", verb, effects, louder_on_nodes, basic, on_nodes)
    effects = {SETS: exists("statefulset", STATEFUL_SET), DAEMONS: exists("daemonset", DAEMON_SET)}
    yield case("create-sets", "create", effects, put(prometheus("main", replicas=0), *on_nodes()))
    surplus = gone("statefulset", "prometheus-wide-shard-1")
    effects = {SETS: surplus, DAEMONS: gone("daemonset", DAEMON_SET)}
    less = put(prometheus("wide", replicas=0), agent("nodes", mode="StatefulSet", replicas=0))
    yield case("delete-sets", "delete", effects, less, sharded, on_nodes)


def service_cases() -> Iterator[Case]:
    """The Services of workloads."""
    told = {"services": observed("prometheuses")}
    yield case("get-services", "get", told, louder("prometheuses"), basic)
    made = {"services": exists("service", SERVICE)}
    yield case("create-services", "create", made, put(prometheus("main", replicas=0)))
    yield case("patch-services", "patch", {"services": is_usual_service}, changed_service, basic)
    second = put(prometheus("second", replicas=0))
    yield case("delete-services", "delete", {"services": owners(2)}, second, basic)


def other_cases() -> Iterator[Case]:
    """How workloads fare, and what is said of it."""
    told = {"pods": observed("prometheuses")}
    yield case("list-pods", "list", told, louder("prometheuses"), basic)
    claims = "persistentvolumeclaims"
    grown = {claims: lambda world: claimed(world) == "2Gi"}
    for verb in ("list", "patch"):
        yield case(f"{verb}-{claims}", verb, grown, larger, stored, prepare=with_a_claim)
    yield case("evict", "create", {"pods/eviction": is_rolled}, nothing, ordered, prepare=stuck)
    yield case("create-events", "create", {EVENTS: events}, put(broken()), basic)
    yield case(
        "patch-events", "patch", {EVENTS: is_counted}, put(broken()), basic, prepare=complained
    )


# --- Monitors as ScrapeConfigs --------------------------------------------------------------------


def monitored(_world: World | None = None) -> Iterator[Object]:
    """A Prometheus that selects by a label, and a monitor that has it."""
    yield prometheus("main", replicas=0, serviceMonitorSelector={"matchLabels": {"team": "a"}})
    yield labelled("shop", "a")


def labelled(name: str, team: str, port: str = "web") -> Object:
    """A ServiceMonitor of a team."""
    made = service_monitor(name, port)
    return made | {"metadata": made["metadata"] | {"labels": {"team": team}}}


def scraped(text: str) -> Effect:
    """A text is in one of the ScrapeConfigs."""
    return lambda world: text in str([each["spec"] for each in world.list("scrapeconfigs")])


def has_stand_in(world: World) -> None:
    """The monitor has its ScrapeConfig."""
    world.until("a ScrapeConfig", lambda: world.list("scrapeconfigs"))


def consolidation_cases() -> Iterator[Case]:
    """ScrapeConfigs that are kept for monitors."""
    configs = f"scrapeconfigs.{GROUP}"
    changed = {configs: scraped("elsewhere")}
    for verb in ("get", "patch"):
        change = put(labelled("shop", "a", "elsewhere"))
        name = f"{verb}-scrapeconfigs"
        yield case(name, verb, changed, change, monitored, prepare=has_stand_in)
    made = {configs: lambda world: len(world.list("scrapeconfigs")) == 2}
    new = put(labelled("new", "a"))
    yield case("create-scrapeconfigs", "create", made, new, monitored, prepare=has_stand_in)
    none = {configs: lambda world: not world.list("scrapeconfigs")}
    moved = put(labelled("shop", "b"))
    yield case("delete-scrapeconfigs", "delete", none, moved, monitored, prepare=has_stand_in)


CASES = (
    *workload_cases(), *value_cases(), *unseen_cases(),
    *set_cases(), *service_cases(), *other_cases(),
)  # fmt: skip
CONSOLIDATION_CASES = tuple(consolidation_cases())
