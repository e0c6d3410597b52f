"""What configuration resources say about the workloads that select them, and when they stop."""

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from aiohttp import web

from stoker.operator.rejections import REJECTED as REJECTED_LINE
from stoker.operator.rejections import USED_AGAIN
from stoker.settings import NamespaceSettings, OperatorSettings, lease_name
from tests.builders import agent, prometheus, resource, secret, service_monitor
from tests.live.faults import Gateway
from tests.live.operating import Object, Running, World
from tests.live.test_operator import configuration
from tools.audit import Write
from tools.cluster import Cluster

STALE_FOR = 30.0 * 2
"""Nothing that is no longer true may be told for longer than 30 s; a busy machine is slower."""
IDLE = 5.0
"""Nothing here has a timer, so what does not happen at once does not happen."""

PEER = "PrometheusOperator"
FINALIZER = "monitoring.coreos.com/status-cleanup"
MAIN, LIGHT = "prometheuses/main", "prometheusagents/light"
GATE_OFF = "--feature-gates=StatusForConfigurationResources=false"

RULE = {"groups": [{"name": "shop", "rules": [{"record": "shop:up", "expr": "sum(up)"}]}]}
POD_MONITOR = {"selector": {}, "podMetricsEndpoints": [{"port": "web"}]}
PROBE = {"prober": {"url": "prober:9115"}, "targets": {"staticConfig": {"static": ["shop"]}}}
SCRAPE_CONFIG = {"staticConfigs": [{"targets": ["shop:80"]}]}
EVERY = {
    "servicemonitors": service_monitor("shop"),
    "podmonitors": resource("PodMonitor", "shop", POD_MONITOR),
    "probes": resource("Probe", "shop", PROBE),
    "scrapeconfigs": resource("ScrapeConfig", "shop", SCRAPE_CONFIG),
    "prometheusrules": resource("PrometheusRule", "shop", RULE),
}
SELECTORS = ("serviceMonitor", "podMonitor", "probe", "scrapeConfig", "rule")


def bound(world: World, kind: str, name: str = "shop") -> set[str]:
    """The workloads that a resource says something about."""
    return set(world.bindings(kind, name))


def until_bound(
    world: World, kind: str, *workloads: str, name: str = "shop", seconds: float = STALE_FOR
) -> None:
    """Wait until a resource speaks of these workloads and no others."""
    wanted = set(workloads)
    what = f"{kind} {name} bound to {sorted(wanted)}"
    world.until(what, lambda: bound(world, kind, name) == wanted, seconds)


def verdict(world: World, kind: str, name: str, workload: str = MAIN) -> Object:
    """Wait for what a workload made of a resource."""
    return world.until(f"a verdict on {name}", lambda: world.bindings(kind, name)[workload])


def status_writes(world: World, mark: int, *kinds: str) -> list[Write]:
    """What the operators wrote about configuration resources of the namespace."""
    wanted = kinds or tuple(EVERY)
    return [
        each
        for each in world.cluster.audit.since(mark, "stoker")
        if each.namespace == world.namespace and each.resource in wanted
    ]


def writes(world: World, mark: int) -> list[str]:
    """What the operators wrote in the namespace, but for their Lease."""
    found = world.cluster.audit.since(mark, "stoker")
    ours = (each for each in found if each.namespace == world.namespace)
    return [str(each) for each in ours if each.resource != "leases"]


def put_status(world: World, kind: str, name: str, status: Object, manager: str) -> None:
    """Write a status as somebody else, by an update."""
    world.cluster.kubectl(
        "patch", kind, name, "-n", world.namespace, "--subresource=status", "--type=merge",
        f"--field-manager={manager}", "-p", json.dumps({"status": status}),
    )  # fmt: skip


def peers_binding(namespace: str, name: str) -> Object:
    """A binding as the peer writes it."""
    condition = {
        "type": "Accepted",
        "status": "True",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
        "observedGeneration": 1,
    }
    return {
        "group": "monitoring.coreos.com",
        "resource": "prometheuses",
        "namespace": namespace,
        "name": name,
        "conditions": [condition],
    }


def finalizers(world: World, kinds: Iterable[str]) -> list[str]:
    """All finalizers on objects of these kinds."""
    found = (each for kind in kinds for each in world.list(kind))
    return [one for each in found for one in each["metadata"].get("finalizers") or ()]


def test_each_kind_tells_what_each_workload_made_of_it_and_forgets_those_that_left(
    world: World, operator: Running
) -> None:
    """Accepted with the generation; a change moves that alone; what left is gone within 30 s.

    (peer scenarios: Service Monitor Status Subresource, Pod Monitor Status Subresource, Probe
    Status Subresource, Scrape Config Status Subresource, Prometheus Rule Status Subresource,
    Service Monitor Status With Multiple Workloads, Rm … Binding During Workload Delete, Garbage
    Collection Of … Binding, Finalizer When Status For Config Resources Enabled, Finalizer For Prom
    Agent When Status For Config Res Enabled)
    """
    world.put(*EVERY.values(), prometheus("main"), agent("light"))
    for kind in EVERY:
        both = (MAIN, LIGHT) if kind != "prometheusrules" else (MAIN,)
        until_bound(world, kind, *both)
        for condition in world.bindings(kind, "shop").values():
            assert (condition["type"], condition["status"]) == ("Accepted", "True")
            assert condition["reason"] == "Accepted"
            assert condition["observedGeneration"] == 1
    before = world.bindings("servicemonitors", "shop")

    world.put(service_monitor("shop", port="metrics"))
    world.until("both to have seen the change", lambda: generations(world) == {2})
    after = world.bindings("servicemonitors", "shop")
    assert {each["lastTransitionTime"] for each in after.values()} == {
        each["lastTransitionTime"] for each in before.values()
    }
    managers = (world.get("servicemonitors", "shop") or {})["metadata"]["managedFields"]
    writers = {each["manager"] for each in managers if each.get("subresource") == "status"}
    assert writers == {
        f"stoker/prometheuses/{world.namespace}/main",
        f"stoker/prometheusagents/{world.namespace}/light",
    }
    assert finalizers(world, [*EVERY, "prometheuses", "prometheusagents"]) == []

    world.delete("prometheusagent", "light")
    for kind in EVERY:
        until_bound(world, kind, MAIN)
    nobody = {f"{each}Selector": {"matchLabels": {"team": "none"}} for each in SELECTORS}
    world.put(prometheus("main", **nobody))
    for kind in EVERY:
        until_bound(world, kind)
        assert not (world.get(kind, "shop") or {})["status"].get("bindings")
    mark = world.until_still()
    world.put(service_monitor("other"))
    time.sleep(IDLE / 5)
    assert status_writes(world, mark) == []


def generations(world: World, name: str = "shop") -> set[int]:
    """The generations of a ServiceMonitor that its workloads have seen."""
    found = world.bindings("servicemonitors", name).values()
    return {each["observedGeneration"] for each in found}


def relabeled(**step: Any) -> dict[str, Any]:
    """A member of an endpoint: one step of relabeling."""
    return {"relabelings": [step]}


def basic_auth(name: str, key: str) -> dict[str, Any]:
    """A member of an endpoint: a user name from a Secret."""
    reference = {"name": name, "key": key}
    return {"basicAuth": {"username": reference, "password": reference}}


def authority(**source: Any) -> dict[str, Any]:
    """A member of an endpoint: whom to trust."""
    return {"scheme": "https", "tlsConfig": {"ca": source}}


REJECTED: dict[str, tuple[Object, tuple[str, ...]]] = {
    "no-secret": (
        service_monitor("no-secret", **basic_auth("late", "user")),
        ("spec.endpoints[0].basicAuth", "late"),
    ),
    "no-key": (
        service_monitor("no-key", **basic_auth("present", "nothing")),
        ("spec.endpoints[0].basicAuth", "present", "nothing"),
    ),
    "no-config-map": (
        service_monitor("no-config-map", **authority(configMap={"name": "absent", "key": "ca"})),
        ("spec.endpoints[0].tlsConfig.ca", "absent"),
    ),
    "no-certificate": (
        service_monitor("no-certificate", **authority(secret={"name": "present", "key": "user"})),
        ("spec.endpoints[0].tlsConfig.ca",),
    ),
    "relabeling": (
        service_monitor("relabeling", **relabeled(action="replace", regex="(", targetLabel="a")),
        ("spec.endpoints[0].relabelings[0].regex",),
    ),
    "version": (
        service_monitor("version", **relabeled(action="lowercase", targetLabel="a")),
        ("spec.endpoints[0].relabelings[0].action", "2.36.0"),
    ),
    "file": (
        service_monitor("file", bearerTokenFile="/var/run/secrets/token"),
        ("spec.endpoints[0].bearerTokenFile",),
    ),
    "class": (
        resource("PodMonitor", "class", POD_MONITOR | {"scrapeClass": "none-such"}),
        ("spec.scrapeClass", "none-such"),
    ),
    "promql": (
        resource(
            "PrometheusRule",
            "promql",
            {"groups": [{"name": "a", "rules": [{"record": "a:b", "expr": "sum("}]}]},
        ),
        ("spec.groups[0].rules[0].expr",),
    ),
    "discovery": (
        resource(
            "ScrapeConfig",
            "discovery",
            {"kubernetesSDConfigs": [{"role": "Pod", "selectors": [{"role": "Node"}]}]},
        ),
        ("spec.kubernetesSDConfigs[0].selectors[0]",),
    ),
    "probe": (
        resource("Probe", "probe", {"prober": {"url": "prober:9115"}, "targets": {}}),
        ("spec.targets",),
    ),
}
WORD = "hunter2-not-for-eyes"


def said_of(operator: Running, message: str, name: str) -> int:
    """How many lines of the log say this of a resource."""
    lines = (each for each in operator.log().splitlines() if f'msg="{message}"' in each)
    return sum(f' {name}" workload="Prometheus ' in each for each in lines)


def events_about(world: World, name: str) -> list[Object]:
    """The events about a resource."""
    found: list[Object] = world.list("events.events.k8s.io")
    return [each for each in found if (each.get("regarding") or {}).get("name") == name]


def an_event(world: World, name: str) -> Object:
    """Wait for the one event about a resource."""
    (event,) = world.until(f"an event about {name}", lambda: events_about(world, name))
    return event


def test_each_cause_of_a_rejection_is_named_once_and_goes_when_it_is_put_right(
    world: World,
) -> None:
    """The condition has the path and the cause, `kubectl describe` has one event, no secret.

    (peer scenarios: Prom Reconcile Status When Invalid Rule Created, Prom Arbitrary FS Acc)
    """
    deny = {"version": "v2.35.0", "arbitraryFSAccessThroughSMs": {"deny": True}}
    ignored = service_monitor("ignored", trackTimestampsStaleness=True)
    with Running.start(world.cluster, f"--namespaces={world.namespace}") as first:
        world.put(secret("present", {"user": WORD}), prometheus("main", **deny), ignored)
        world.put(*(each for each, _ in REJECTED.values()))
        for name, (each, words) in REJECTED.items():
            condition = verdict(world, f"{each['kind'].lower()}s", name)
            assert (condition["status"], condition["reason"]) == ("False", "InvalidConfiguration")
            assert condition["observedGeneration"] == 1
            assert all(word in condition["message"] for word in words), condition["message"]
        accepted = world.until(
            "ignored", lambda: world.bindings("servicemonitors", "ignored")[MAIN]
        )
        assert (accepted["status"], accepted["reason"]) == ("True", "IgnoredFields")
        assert "trackTimestampsStaleness" in accepted["message"]
        assert first.metric(
            "prometheus_operator_managed_resources",
            controller="prometheus",
            state="rejected",
        ) == len(REJECTED)

        for name in REJECTED:
            event = an_event(world, name)
            assert (event["type"], event["reason"]) == ("Warning", "InvalidConfiguration")
            assert f"rejected by Prometheus {world.namespace}/main: " in event["note"]
        described = world.cluster.kubectl(
            "describe", "servicemonitor", "relabeling", "-n", world.namespace
        ).stdout
        assert "InvalidConfiguration" in described
        assert WORD not in json.dumps([world.list(kind) for kind in (*EVERY, "events")])
        for name in REJECTED:
            assert said_of(first, REJECTED_LINE, f"{world.namespace}/{name}") == 1
        assert WORD not in first.log()
        world.settled("prometheus", "main")
        mark = world.until_still()
    with Running.start(world.cluster, f"--namespaces={world.namespace}") as second:
        world.until("a reconciliation", lambda: reconciled(second))
        world.until_still()
        assert writes(world, mark) == []

        world.put(secret("late", {"user": WORD}))
        world.until(
            "the late Secret to be seen",
            lambda: world.bindings("servicemonitors", "no-secret")[MAIN]["status"] == "True",
        )
        assert "no-secret" in configuration(world, "prometheus-main")
        assert len(events_about(world, "no-secret")) == 1
        late = f"{world.namespace}/no-secret"
        assert said_of(second, REJECTED_LINE, late) == said_of(second, USED_AGAIN, late) == 1
        assert WORD not in second.log()


def reconciled(operator: Running) -> float:
    """How many workloads were looked at."""
    return operator.metric("prometheus_operator_reconcile_operations_total")


def test_a_label_of_the_resource_or_of_its_namespace_ends_a_binding(
    world: World, new_namespace: Callable[[], str]
) -> None:
    """Both ways of leaving, and of coming back."""
    other = World(world.cluster, new_namespace())
    team = {"matchLabels": {"team": other.namespace}}
    selectors: Object = {"serviceMonitorSelector": {"matchLabels": {"app": "shop"}}}
    labelled = service_monitor("shop")
    labelled["metadata"]["labels"] = {"app": "shop"}

    def set_label(what: str, *where: str) -> None:
        world.cluster.kubectl("label", "--overwrite", *where, what)

    with Running.start(world.cluster, f"--namespaces={world.namespace},{other.namespace}"):
        world.put(prometheus("main", serviceMonitorNamespaceSelector=team, **selectors))
        other.put(labelled)
        for place, label, back in (
            (("namespace", other.namespace), "team-", f"team={other.namespace}"),
            (("servicemonitor", "shop", "-n", other.namespace), "app=other", "app=shop"),
        ):
            set_label(f"team={other.namespace}", "namespace", other.namespace)
            until_bound(other, "servicemonitors", MAIN)
            set_label(label, *place)
            until_bound(other, "servicemonitors")
            set_label(back, *place)
        until_bound(other, "servicemonitors", MAIN)
        world.delete("prometheus", "main")
        until_bound(other, "servicemonitors")


def test_an_operator_killed_between_any_two_writes_leaves_nothing_wrong(world: World) -> None:
    """After each number of writes it is killed at once; the next one finishes the work."""
    names = ("a", "b", "c")
    expected: dict[str, set[str]] = {}

    def changed(step: int) -> None:
        """Make work for every monitor: none, accepted, another generation, one workload less."""
        nobody = {"serviceMonitorSelector": {"matchLabels": {"team": "none"}}}
        world.put(*(service_monitor(name, port=f"port-{step}") for name in names))
        world.put(prometheus("main", **(nobody if step % 2 else {})), agent("light"))
        both = {LIGHT} if step % 2 else {MAIN, LIGHT}
        expected.update(dict.fromkeys(names, both))

    def is_right() -> bool:
        for name in names:
            found = world.get("servicemonitors", name)
            assert found
            bindings = (found.get("status") or {}).get("bindings") or ()
            seen = {each["conditions"][0]["observedGeneration"] for each in bindings}
            if bound(world, "servicemonitors", name) != expected[name]:
                return False
            if seen != {found["metadata"]["generation"]}:
                return False
        return True

    flag = f"--namespaces={world.namespace}"
    place = NamespaceSettings(allowed=(world.namespace,))
    lease = lease_name(OperatorSettings(namespaces=place))
    with ExitStack() as stack:
        for step in range(6):
            changed(step)
            mark = world.cluster.audit.mark()
            running = stack.enter_context(Running.start(world.cluster, flag, ready=False))

            def written(mark: int = mark, count: int = step + 1) -> bool:
                # What the one before had no time to write need not be undone: there may be less.
                return len(status_writes(world, mark)) >= count or is_right()

            world.until(f"{step + 1} writes, or all", written)
            running.kill()
            # Or else the next one waits until the Lease has run out.
            world.cluster.kubectl("delete", "lease", lease, "-n", "default")
    world.delete("prometheusagent", "light")
    with Running.start(world.cluster, flag):
        expected.update({name: set() for name in names})
        world.until(
            "all bindings to go",
            lambda: all(bound(world, "servicemonitors", name) == set() for name in names),
            STALE_FOR,
        )
        changed(4)
        world.until("all bindings to be right", is_right, STALE_FOR)
        assert finalizers(world, ("servicemonitors", "prometheuses", "prometheusagents")) == []


def test_without_the_gate_what_was_written_goes_and_nothing_new_is_written(world: World) -> None:
    """Bindings of somebody else's workloads stay, with the gate and without it."""
    flag = f"--namespaces={world.namespace}"
    theirs = prometheus("theirs", replicas=0)
    theirs["metadata"]["annotations"] = {"operator.prometheus.io/controller-id": "them"}
    world.put(prometheus("main"), theirs, service_monitor("shop"))
    foreign = peers_binding("elsewhere", "theirs")
    others = [peers_binding(world.namespace, "theirs"), foreign]
    put_status(world, "servicemonitors", "shop", {"bindings": others}, PEER)
    with Running.start(world.cluster, flag):
        world.until("our binding", lambda: MAIN in bound(world, "servicemonitors"))
    with Running.start(world.cluster, flag, GATE_OFF) as operator:
        stays = {"prometheuses/theirs"}
        world.until("only theirs", lambda: bound(world, "servicemonitors") == stays, STALE_FOR)
        found = (world.get("servicemonitors", "shop") or {})["status"]["bindings"]
        assert found == others
        mark = world.until_still()
        world.put(service_monitor("new"), service_monitor("shop", port="metrics"))
        world.until("new in the file", lambda: "/new/0" in configuration(world, "prometheus-main"))
        world.delete("prometheus", "main")
        world.until(
            "no series of main",
            lambda: operator.metric("prometheus_operator_spec_replicas", name="main") == 0,
        )
        assert status_writes(world, mark) == []


def test_what_others_do_to_a_status_is_put_right(world: World, operator: Running) -> None:
    """A wiped status, a namesake, the peer's bindings, and a workload that goes to another."""
    monitors = "servicemonitors"
    world.put(prometheus("main"), service_monitor("shop"))
    until_bound(world, monitors, MAIN)

    put_status(world, monitors, "shop", {"bindings": None}, "somebody")
    until_bound(world, monitors, MAIN)

    peers = [peers_binding(world.namespace, name) for name in ("gone", "main")]
    put_status(world, monitors, "shop", {"bindings": peers}, PEER)
    world.until(
        "the peer's to be ours",
        lambda: (
            bound(world, monitors) == {MAIN}
            and world.bindings(monitors, "shop")[MAIN]["reason"] == "Accepted"
        ),
        STALE_FOR,
    )
    # Its status has not changed, so it is as old as it was.
    kept = world.bindings(monitors, "shop")[MAIN]["lastTransitionTime"]
    assert kept == "2020-01-01T00:00:00Z"

    uid = (world.get(monitors, "shop") or {})["metadata"]["uid"]
    world.delete("servicemonitor", "shop")
    world.put(service_monitor("shop", **relabeled(action="replace", regex="(", targetLabel="a")))
    world.until(
        "a verdict on the new one",
        lambda: world.bindings(monitors, "shop")[MAIN]["status"] == "False",
    )
    assert (world.get(monitors, "shop") or {})["metadata"]["uid"] != uid

    world.settled("prometheus", "main")
    mark = world.until_still()
    annotation = {"annotations": {"operator.prometheus.io/controller-id": "them"}}
    world.patch("prometheus", "main", {"metadata": annotation})
    world.until(
        "main to be forgotten",
        lambda: operator.metric("prometheus_operator_spec_replicas", name="main") == 0,
    )
    # Its pods still have that configuration, and whoever looks after it now has the binding.
    assert writes(world, mark) == []
    assert bound(world, monitors) == {MAIN}
    world.delete("prometheus", "main")
    until_bound(world, monitors)


def test_an_operator_for_some_labels_tells_a_deleted_workload_from_one_of_anothers(
    world: World,
) -> None:
    """One that loses the label is another's and keeps its bindings; a deleted one does not."""
    main = prometheus("main")
    main["metadata"]["labels"] = {"shard": "one"}
    flags = (f"--namespaces={world.namespace}", "--prometheus-instance-selector=shard=one")
    with Running.start(world.cluster, *flags) as operator:
        world.put(main, service_monitor("shop"))
        until_bound(world, "servicemonitors", MAIN)
        mark = world.until_still()
        world.patch("prometheus", "main", {"metadata": {"labels": {"shard": "two"}}})
        world.until(
            "main to be forgotten",
            lambda: operator.metric("prometheus_operator_spec_replicas", name="main") == 0,
        )
        assert world.until_still() >= mark
        assert status_writes(world, mark) == []
        world.patch("prometheus", "main", {"metadata": {"labels": {"shard": "one"}}})
        world.until("main again", lambda: operator.metric("prometheus_operator_spec_replicas") == 1)
        world.delete("prometheus", "main")
        until_bound(world, "servicemonitors")


def test_of_a_workload_that_never_reconciled_a_resource_says_that_nobody_knows(
    world: World, new_namespace: Callable[[], str]
) -> None:
    """Unknown with the cause, until the workload comes to it; what is known stays known."""
    other, monitors = World(world.cluster, new_namespace()), "servicemonitors"
    team = f"team={other.namespace}"
    everywhere = {"matchLabels": {"team": other.namespace}}
    flag = f"--namespaces={world.namespace},{other.namespace}"

    def says(name: str, workload: str, status: str, reason: str, place: World = world) -> Object:
        def is_said() -> Object:
            found = place.bindings(monitors, name)[workload]
            assert (found["status"], found["reason"]) == (status, reason)
            return found

        return world.until(f"{workload} of {name}: {status} {reason}", is_said, STALE_FOR)

    world.put(prometheus("main", version="newest"), agent("light", paused=True))
    world.put(service_monitor("shop"))
    other.put(service_monitor("shop"))
    with Running.start(world.cluster, flag):
        unbuilt = says("shop", MAIN, "Unknown", "ReconciliationFailed")
        assert "spec.version: `newest` is not a version" in unbuilt["message"]
        assert "observedGeneration" not in unbuilt, "nobody has looked at it"
        says("shop", LIGHT, "Unknown", "Paused")
        # What is selected later, through itself or its namespace, learns of it, and of the end.
        world.put(agent("light", paused=True, serviceMonitorNamespaceSelector=everywhere))
        until_bound(world, monitors, MAIN)
        world.cluster.kubectl("label", "namespace", other.namespace, team)
        says("shop", LIGHT, "Unknown", "Paused", other)
        world.cluster.kubectl("label", "namespace", other.namespace, "team-")
        until_bound(other, monitors)
        # The workload is put right, and passes over what it would have selected.
        world.put(service_monitor("late"))
        says("late", MAIN, "Unknown", "ReconciliationFailed")
        picky = {"matchExpressions": [{"key": "late", "operator": "DoesNotExist"}]}
        world.patch("servicemonitor", "late", {"metadata": {"labels": {"late": "yes"}}})
        world.put(prometheus("main", serviceMonitorSelector=picky))
        says("shop", MAIN, "True", "Accepted")
        until_bound(world, monitors, name="late")
        # One that cannot be reconciled any longer keeps what it has, and its resources too.
        world.put(prometheus("main", paused=True))
        says("late", MAIN, "Unknown", "Paused")
        says("shop", MAIN, "True", "Accepted")
    mark = world.until_still()
    with Running.start(world.cluster, flag) as second:
        world.until("a reconciliation", lambda: reconciled(second))
        world.until_still()
        assert status_writes(world, mark) == [], "a restart is no reason to know less"
        # A namesake is another, of which nothing is known.
        world.delete("servicemonitor", "shop")
        world.put(service_monitor("shop"))
        says("shop", MAIN, "Unknown", "Paused")
        world.put(prometheus("main"))
        for name in ("shop", "late"):
            assert says(name, MAIN, "True", "Accepted")["observedGeneration"] == 1
        assert writes(world, mark)


def seeded(cluster: Cluster, namespace: str, count: int) -> None:
    """Create monitors, many at a time."""
    path = f"/apis/monitoring.coreos.com/v1/namespaces/{namespace}/servicemonitors"
    with ThreadPoolExecutor(8) as pool:
        names = (f"shop-{number}" for number in range(count))
        list(pool.map(lambda name: cluster.api.request("POST", path, service_monitor(name)), names))


class Slow:
    """A server that takes its time to write a status, until it is told not to."""

    def __init__(self) -> None:
        self.seconds = 1.0

    def __call__(self, request: web.Request) -> float | None:
        """For how long a request is held back."""
        return self.seconds if request.path.endswith("/status") else None


@pytest.mark.parametrize("count", [500])
def test_bindings_never_delay_a_configuration(world: World, count: int) -> None:
    """The file is complete before the first binding, and is changed while they are written."""
    seeded(world.cluster, world.namespace, count)
    world.put(prometheus("main"))
    mark, slow, flag = world.cluster.audit.mark(), Slow(), f"--namespaces={world.namespace}"
    with ExitStack() as stack:
        gateway = stack.enter_context(Gateway(world.cluster))
        gateway.fault = slow
        stack.enter_context(Running.start(world.cluster, flag, kubeconfig=gateway.kubeconfig))
        world.until("the first bindings", lambda: status_writes(world, mark, "servicemonitors"))
        seeded_late = service_monitor("late")
        path = f"/apis/monitoring.coreos.com/v1/namespaces/{world.namespace}/servicemonitors"
        world.cluster.api.request("POST", path, seeded_late)
        world.until("the late one", lambda: "/late/0" in configuration(world, "prometheus-main"))
        slow.seconds = 0
        world.until(
            "all bindings",
            lambda: len(status_writes(world, mark, "servicemonitors")) > count,
        )
        found = world.cluster.audit.since(mark, "stoker")
    ours = [each for each in found if each.namespace == world.namespace]
    places = {"secrets": [], "servicemonitors": []}  # type: dict[str, list[int]]
    for place, each in enumerate(ours):
        if each.resource == "servicemonitors" or each.name == "prometheus-main":
            places.setdefault(each.resource, []).append(place)
    first, second = places["secrets"]
    assert first < places["servicemonitors"][0]
    assert second < places["servicemonitors"][-100]
    # One write for each, however often it was looked at.
    assert len(places["servicemonitors"]) == count + 1


def test_kubectl_get_shows_who_uses_a_resource_and_who_does_not(world: World) -> None:
    """A column each, the first of several; of those with targets, how many of them are healthy."""

    def binding(name: str, status: str, **more: Any) -> Object:
        condition = {"type": "Accepted", "status": status, "lastTransitionTime": _EVER}
        return {
            "group": "monitoring.coreos.com",
            "resource": "prometheuses",
            "namespace": "monitoring",
            "name": name,
            "conditions": [condition],
            **more,
        }

    counts = {"targets": {"discovered": 7, "healthy": 5, "observedAt": _EVER}}
    bindings = [binding("strict", "False"), binding("main", "True", **counts)]
    for kind, each in EVERY.items():
        world.put(each)
        some = [
            {k: v for k, v in one.items() if k != "targets" or _is_scraped(kind)}
            for one in bindings
        ]
        world.put_status(each, "stoker", bindings=some)
        arguments = ("get", kind, "--namespace", world.namespace)
        head, row = world.cluster.kubectl(*arguments).stdout.splitlines()
        columns = ["NAME", "USED", "BY", "REJECTED", "BY", "TARGETS", "HEALTHY", "AGE"]
        wanted = ["shop", "main", "strict", "7", "5"]
        if not _is_scraped(kind):
            del columns[5:7], wanted[3:5]
        assert head.split() == columns
        assert row.split()[:-1] == wanted


_EVER = "2026-01-01T00:00:00Z"


def _is_scraped(kind: str) -> bool:
    return kind != "prometheusrules"
