"""`stoker explain` on manifests: the first line names the cause, each cause with one case."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from stoker.__main__ import main
from stoker.api.common import ConfigResourceStatus
from stoker.api.decode import convert
from stoker.api.prometheus_common import PrometheusStatus
from stoker.explain.answer import Explanation, Label, Search
from stoker.explain.ask import explanation, not_found
from stoker.offline.manifests import read
from stoker.offline.surroundings import view_of
from stoker.offline.world import world_of
from stoker.select.assets import AssetsAtHand, Missing, Source
from stoker.select.labels import Requirement, selector_of_text
from stoker.settings import NamespaceSettings, OperatorSettings, SelectorSettings
from stoker.view.states import Cause, State
from stoker.view.view import View
from tests.builders import node, thing

Object = dict[str, Any]
API = "monitoring.coreos.com/v1"


EVERYTHING: Object = {
    "serviceMonitorSelector": {}, "serviceMonitorNamespaceSelector": {},
    "podMonitorSelector": {}, "podMonitorNamespaceSelector": {},
    "probeSelector": {}, "probeNamespaceSelector": {},
    "scrapeConfigSelector": {}, "scrapeConfigNamespaceSelector": {},
}  # fmt: skip
RULES: Object = {"ruleSelector": {}, "ruleNamespaceSelector": {}}


def prometheus(kind: str = "Prometheus", **spec: object) -> Object:
    """A workload that selects everything everywhere, but for what is said."""
    every = EVERYTHING | (RULES if kind == "Prometheus" else {})
    return thing(kind, "main", "monitoring", spec=every | {"version": "v3.5.0"} | spec)


def monitor(name: str = "cart", port: Any = "metrics", **members: Any) -> Object:
    """A ServiceMonitor of one endpoint."""
    endpoint = port if isinstance(port, dict) else {"port": port}
    spec: Object = {"selector": {"matchLabels": {"app": "cart"}}, "endpoints": [endpoint]}
    return thing("ServiceMonitor", name, spec=spec | members.pop("spec", {}), **members)


PORTS = [
    {"name": "metrics", "port": 80, "targetPort": "http"},
    {"name": "admin", "port": 81, "targetPort": 8081},
]


def service(name: str = "cart", namespace: str = "shop", **members: Any) -> Object:
    """A Service in front of the pods of `cart`."""
    spec: Object = {"selector": {"app": "cart"}, "ports": PORTS}
    labels = members.pop("labels", {"app": "cart"})
    return thing("Service", name, namespace, labels=labels, spec=spec | members.pop("spec", {}))


def deployment(replicas: int = 3, labels: object = None, ports: object = None) -> Object:
    """A Deployment with the pods of `cart`."""
    declared = [{"name": "http", "containerPort": 8080}] if ports is None else ports
    template = {
        "metadata": {"labels": labels or {"app": "cart"}},
        "spec": {"containers": [{"name": "app", "ports": declared}]},
    }
    return thing("Deployment", "cart", spec={"replicas": replicas, "template": template})


SHOP = thing("Namespace", "shop", labels={"team": "shop"})
Ask = tuple[str, str]


def viewed(tmp_path: Path, *objects: Object, settings: OperatorSettings | None = None) -> View:
    """Objects, as they are seen in a directory."""
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects))
    world = world_of(read([str(tmp_path)]))
    assert not world.refused
    assert not world.unread
    return view_of(world, settings or OperatorSettings())


def explained(
    tmp_path: Path,
    *objects: Object,
    kind: str = "ServiceMonitor",
    name: str = "shop/cart",
    settings: OperatorSettings | None = None,
) -> Explanation:
    """What there is to say of an object among others."""
    return told(viewed(tmp_path, *objects, settings=settings), kind, name)


def told(view: View, kind: str = "ServiceMonitor", name: str = "shop/cart") -> Explanation:
    """What there is to say of an object in a view."""
    namespace, _, plain = name.partition("/")
    found = explanation(view, kind, namespace, plain)
    assert found is not None
    return found


# --- Selection ------------------------------------------------------------------------------------


def flags(**members: object) -> OperatorSettings:
    """Settings with the given parts."""
    return OperatorSettings(**members)  # type: ignore[arg-type]


NOT_SELECTED: dict[str, tuple[Object, Object, OperatorSettings, Cause, str]] = {
    "a label that is spelt differently": (
        prometheus(serviceMonitorSelector={"matchLabels": {"release": "main"}}),
        monitor(labels={"release": "mian"}),
        flags(),
        Cause.LABELS,
        "spec.serviceMonitorSelector asks for label `release=main`; the ServiceMonitor has "
        "`release=mian` (misspelt?)",
    ),
    "a label whose key is spelt differently": (
        prometheus(serviceMonitorSelector={"matchLabels": {"release": "main"}}),
        monitor(labels={"relase": "main"}),
        flags(),
        Cause.LABELS,
        "the ServiceMonitor has no label `release`, but `relase=main`",
    ),
    "an expression that does not hold": (
        prometheus(
            serviceMonitorSelector={
                "matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["dev", "test"]}]
            }
        ),
        monitor(labels={"env": "dev"}),
        flags(),
        Cause.LABELS,
        "asks for label `env not in (dev, test)`; the ServiceMonitor has `env=dev`",
    ),
    "a selector that Kubernetes does not take": (
        prometheus(
            serviceMonitorSelector={"matchExpressions": [{"key": "env", "operator": "in"}]}
        ),
        monitor(),
        flags(),
        Cause.INVALID_SELECTOR,
        "spec.serviceMonitorSelector.matchExpressions[0]: there is no operator `in`",
    ),
    "no namespace selector": (
        prometheus(serviceMonitorNamespaceSelector=None),
        monitor(),
        flags(),
        Cause.OWN_NAMESPACE_ONLY,
        "spec.serviceMonitorNamespaceSelector is not set, so it looks in its own namespace "
        "monitoring alone",
    ),
    "a label that the namespace lacks": (
        prometheus(serviceMonitorNamespaceSelector={"matchLabels": {"monitored": "yes"}}),
        monitor(),
        flags(),
        Cause.NAMESPACE_LABELS,
        "asks for label `monitored=yes`; namespace shop has no label `monitored`",
    ),
    "a selector that is not set": (
        prometheus(serviceMonitorSelector=None),
        monitor(),
        flags(),
        Cause.KIND_NOT_SELECTED,
        "spec.serviceMonitorSelector is not set, which selects nothing",
    ),
    "another operator's workload": (
        prometheus() | {"metadata": {"name": "main", "namespace": "monitoring", "annotations": {
            "operator.prometheus.io/controller-id": "blue"}}},
        monitor(),
        flags(),
        Cause.CONTROLLER_ID,
        "its annotation operator.prometheus.io/controller-id is `blue`, and the operator has no "
        "--controller-id",
    ),
    "a workload without the operator's id": (
        prometheus(),
        monitor(),
        flags(controller_id="green"),
        Cause.CONTROLLER_ID,
        "is not set, and the operator has `--controller-id=green`",
    ),
    "a namespace of resources that is not watched": (
        prometheus(),
        monitor(),
        flags(namespaces=NamespaceSettings(allowed=("monitoring",))),
        Cause.NAMESPACE_NOT_WATCHED,
        "the operator looks for ServiceMonitor objects in monitoring alone, not in shop",
    ),
    "a namespace of workloads that is not watched": (
        prometheus(),
        monitor(),
        flags(namespaces=NamespaceSettings(denied=("monitoring",))),
        Cause.WORKLOAD_NOT_WATCHED,
        "the operator was told to stay away from namespace monitoring",
    ),
    "a workload that a flag leaves out": (
        prometheus(),
        monitor(),
        flags(selectors=SelectorSettings(prometheus="tier in (a,b), !old")),
        Cause.WORKLOAD_NOT_WATCHED,
        "--prometheus-instance-selector asks for label `tier in (a, b)`; the workload has no label",
    ),
    "a workload that is being deleted": (
        prometheus() | {"metadata": {"name": "main", "namespace": "monitoring",
            "deletionTimestamp": "2026-11-15T00:00:00Z"}},
        monitor(),
        flags(),
        Cause.DELETING,
        "the workload is being deleted",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_SELECTED)
def test_the_first_line_says_why_a_resource_is_not_selected(case: str, tmp_path: Path) -> None:
    """The nearest workload's first reason, with its word for programs."""
    workload, resource, settings, cause, text = NOT_SELECTED[case]
    found = explained(tmp_path, SHOP, workload, resource, settings=settings)
    assert not found.good
    assert found.headline.startswith("not selected by Prometheus monitoring/main: ")
    assert text in found.headline
    assert found.by_workload[0].cause is cause
    assert found.by_workload[0].state is State.NOT_SELECTED


def test_the_nearest_workload_comes_first(tmp_path: Path) -> None:
    """A workload that fails later checks is nearer than one that fails the first."""
    far = prometheus("PrometheusAgent", serviceMonitorSelector=None)
    near = prometheus(serviceMonitorSelector={"matchLabels": {"release": "main"}})
    found = explained(tmp_path, SHOP, far, near, monitor())
    assert [each.workload for each in found.by_workload] == [
        "Prometheus monitoring/main",
        "PrometheusAgent monitoring/main",
    ]


def test_labels_of_a_namespace_that_is_not_there_are_not_known(tmp_path: Path) -> None:
    """Nobody is blamed for a label that may well be there."""
    workload = prometheus(serviceMonitorNamespaceSelector={"matchLabels": {"monitored": "yes"}})
    found = explained(tmp_path, workload, monitor())
    assert "there is no Namespace manifest, so only its name is known" in found.headline


def test_without_a_workload_the_kinds_are_named_that_could_select(tmp_path: Path) -> None:
    """A monitor is for a Prometheus or an agent, and for nothing else."""
    found = explained(tmp_path, SHOP, monitor())
    assert found.headline == "not selected: there is no Prometheus or PrometheusAgent"


def test_an_agent_on_every_node_takes_no_probes(tmp_path: Path) -> None:
    """In that mode the kind is not selected, whatever the selector says."""
    monitors = {"serviceMonitorSelector": {}, "mode": "DaemonSet"}
    agent = thing("PrometheusAgent", "main", "monitoring", spec=monitors)
    spec = {"prober": {"url": "prober:9115"}, "targets": {"staticConfig": {"static": ["a", "b"]}}}
    probe = thing("Probe", "web", spec=spec)
    found = explained(tmp_path, agent, probe, kind="Probe", name="shop/web")
    assert "an agent on every node (mode DaemonSet) takes no Probe objects" in found.headline
    assert found.searches[0].targets == 2


def test_a_resource_that_is_being_deleted_says_so(tmp_path: Path) -> None:
    """Also what it waits for."""
    leaving = monitor(deletionTimestamp="2026-11-15T00:00:00Z", finalizers=["example.com/wait"])
    found = explained(tmp_path, SHOP, prometheus(), leaving)
    assert found.headline == (
        "it is being deleted since 2026-11-15T00:00:00Z, and waits for example.com/wait"
    )


# --- What becomes of a selected resource ----------------------------------------------------------


def test_a_rejected_resource_is_told_with_the_path(tmp_path: Path) -> None:
    """The first line names the field; all findings are listed."""
    wrong = monitor(port={"port": "metrics", "interval": "10s", "scrapeTimeout": "30s"})
    found = explained(tmp_path, SHOP, prometheus(), wrong)
    assert found.headline.startswith(
        "rejected by Prometheus monitoring/main: spec.endpoints[0].scrapeTimeout"
    )
    assert found.by_workload[0].state is State.REJECTED
    assert len(found.by_workload[0].findings) == 1


def test_a_secret_that_is_elsewhere_is_named(tmp_path: Path) -> None:
    """A cluster may have it, so nobody is to blame; one that lacks a key is surely no use."""
    login = {word: {"name": "login", "key": "user"} for word in ("username", "password")}
    found = explained(
        tmp_path, SHOP, prometheus(), monitor(port={"port": "metrics", "basicAuth": login})
    )
    assert found.by_workload[0].state is State.UNCLEAR
    assert found.good
    assert "basicAuth.username: Secret shop/login is not among the manifests" in found.headline
    empty = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": "shop", "name": "login"},
    }
    port = {"port": "metrics", "basicAuth": login}
    found = explained(tmp_path, SHOP, prometheus(), monitor(port=port), empty)
    assert found.by_workload[0].state is State.REJECTED
    assert "Secret shop/login has no key `user`" in found.headline


def test_beside_what_is_certain_nothing_is_said_of_what_is_elsewhere(tmp_path: Path) -> None:
    """A resource is rejected for what is wrong in it, not for a Secret that a cluster may have."""
    login = {word: {"name": "login", "key": "user"} for word in ("username", "password")}
    port = {"port": "metrics", "interval": "10s", "scrapeTimeout": "30s", "basicAuth": login}
    found = explained(tmp_path, SHOP, prometheus(), monitor(port=port))
    [finding] = found.by_workload[0].findings
    assert finding.startswith("spec.endpoints[0].scrapeTimeout: ")
    view = viewed(tmp_path, SHOP, prometheus(), monitor(port=port))
    [reason] = told(view, "Prometheus", "monitoring/main").rejected
    assert "is not among the manifests" not in reason


def test_what_the_version_ignores_is_told(tmp_path: Path) -> None:
    """The field, and since when it is known."""
    old = prometheus(version="v2.30.0")
    modern = monitor(port={"port": "metrics", "enableHttp2": False})
    found = explained(tmp_path, SHOP, old, modern)
    assert found.good
    assert found.by_workload[0].ignored == (
        "spec.endpoints[0].enableHttp2: needs Prometheus 2.35.0 or newer",
    )


def test_a_paused_workload_holds_the_resource(tmp_path: Path) -> None:
    """It is selected, but nothing happens."""
    found = explained(tmp_path, SHOP, prometheus(paused=True), monitor())
    assert found.headline.startswith("selected by Prometheus monitoring/main, but spec.paused")
    assert found.by_workload[0].cause is Cause.PAUSED


def test_a_workload_that_cannot_be_configured_holds_the_resource(tmp_path: Path) -> None:
    """The cause is the workload's, with its path."""
    found = explained(tmp_path, SHOP, prometheus(version="three"), monitor())
    assert "the workload is not reconciled: spec.version" in found.headline
    assert found.by_workload[0].cause is Cause.WORKLOAD_PROBLEM


def with_status(view: View, status: str, message: str = "", generation: int = 1) -> View:
    """A view whose resource has a binding to the workload."""
    condition = {"type": "Accepted", "status": status, "message": message,
                 "observedGeneration": generation,
                 "lastTransitionTime": "2026-11-15T00:00:00Z"}  # fmt: skip
    binding = {"group": "monitoring.coreos.com", "resource": "prometheuses", "name": "main",
               "namespace": "monitoring", "conditions": [condition]}  # fmt: skip
    found = convert(ConfigResourceStatus, {"bindings": [binding]})
    return replace(view, resources=(replace(view.resources[0], status=found),))


def test_the_status_of_the_resource_is_repeated(tmp_path: Path) -> None:
    """What the operator said last, and whether that was about this generation."""
    view = viewed(tmp_path, SHOP, prometheus(), monitor(generation=2))
    found = told(with_status(view, "False", "no"))
    assert found.by_workload[0].reported == "Accepted=False: no (of an earlier generation)"


class Forbidding(AssetsAtHand, frozen=True):
    """Assets that cannot be read."""

    def value(self, source: Source) -> str | Missing:
        """Why there is no value."""
        return Missing(source, object_exists=False, problem="forbidden")


def test_what_may_not_be_read_is_not_blamed_on_the_resource(tmp_path: Path) -> None:
    """It is unclear, unless the operator, which may read more, accepted it."""
    login = {word: {"name": "login", "key": "user"} for word in ("username", "password")}
    private = monitor(port={"port": "metrics", "basicAuth": login}, generation=1)
    view = replace(viewed(tmp_path, SHOP, prometheus(), private), assets=Forbidding())
    found = told(view)
    assert found.by_workload[0].state is State.UNCLEAR
    assert "basicAuth.username: Secret shop/login cannot be read" in found.headline
    assert told(with_status(view, "True")).by_workload[0].state is State.USED
    assert told(with_status(view, "True", generation=0)).by_workload[0].state is State.UNCLEAR


def test_the_job_names_secrets_without_their_values(tmp_path: Path) -> None:
    """What Prometheus reads is shown; a password in it is not."""
    secret = thing("Secret", "login", stringData={"user": "ann", "password": "hunter2"})
    login = {name: {"name": "login", "key": key}
             for name, key in (("username", "user"), ("password", "password"))}  # fmt: skip
    found = explained(
        tmp_path, SHOP, prometheus(), secret, monitor(port={"port": "metrics", "basicAuth": login})
    )
    assert "job_name: serviceMonitor/shop/cart/0" in found.job
    assert "password: <Secret shop/login, key password>" in found.job
    assert "hunter2" not in found.job


# --- Rules and AlertmanagerConfigs ----------------------------------------------------------------


def test_the_job_is_that_of_the_scrape_config_in_its_place(tmp_path: Path) -> None:
    """Where the operator consolidates monitors, that is what Prometheus gets."""
    settings = flags(consolidate_monitors=True)
    found = told(viewed(tmp_path, prometheus(), monitor(), settings=settings))
    assert "job_name: scrapeConfig/shop/servicemonitor-cart-0" in found.job


def test_a_misspelt_label_leads_to_the_workload_that_was_meant(tmp_path: Path) -> None:
    """Not to one that comes first by its name and has nothing to do with it."""
    other = prometheus(serviceMonitorSelector={"matchLabels": {"team": "finance"}})
    other["metadata"]["name"] = "a-first"
    meant = prometheus(serviceMonitorSelector={"matchLabels": {"scraped-by": "main"}})
    cart = monitor()
    cart["metadata"]["labels"] = {"scraped-by": "mian"}
    found = told(viewed(tmp_path, other, meant, cart))
    assert found.headline.startswith("not selected by Prometheus monitoring/main: ")


def rule(expr: str) -> Object:
    """A PrometheusRule of one alert."""
    group = {"name": "cart", "rules": [{"alert": "Down", "expr": expr}]}
    return thing("PrometheusRule", "alerts", spec={"groups": [group]})


def test_a_broken_rule_is_named(tmp_path: Path) -> None:
    """Which group, which rule, and what is wrong with it."""
    found = explained(
        tmp_path, prometheus(), rule("sum(up"), kind="PrometheusRule", name="shop/alerts"
    )
    assert "spec.groups[0].rules[0].expr" in found.headline


def test_rules_are_for_workloads_that_evaluate_rules(tmp_path: Path) -> None:
    """An agent is not even mentioned; the text is that of the rule file."""
    agent = prometheus("PrometheusAgent")
    found = explained(
        tmp_path, prometheus(), agent, rule("up == 0"), kind="PrometheusRule", name="shop/alerts"
    )
    assert found.good
    assert found.headline == "used by Prometheus monitoring/main: 1 rule"
    assert [each.workload for each in found.by_workload] == ["Prometheus monitoring/main"]
    assert "alert: Down" in found.job


def test_an_alertmanager_config_is_explained_too(tmp_path: Path) -> None:
    """The Alertmanager that does not select it says why."""
    alertmanager = thing(
        "Alertmanager", "main", "monitoring",
        spec={"alertmanagerConfigSelector": {"matchLabels": {"team": "shop"}},
              "alertmanagerConfigNamespaceSelector": {}},
    )  # fmt: skip
    route = {"receiver": "none"}
    config = thing(
        "AlertmanagerConfig", "shop", spec={"route": route, "receivers": [{"name": "none"}]}
    )
    found = explained(tmp_path, alertmanager, config, kind="AlertmanagerConfig", name="shop/shop")
    assert "spec.alertmanagerConfigSelector asks for label `team=shop`" in found.headline


# --- Services, ports and pods ---------------------------------------------------------------------


def test_targets_are_counted_from_manifests(tmp_path: Path) -> None:
    """A Service, its port, and the replicas of the Deployment behind it."""
    found = explained(tmp_path, SHOP, prometheus(), monitor(), service(), deployment(3))
    assert found.good
    assert found.headline == "scraped by Prometheus monitoring/main: 3 targets"
    match = found.searches[0].matches[0]
    assert (match.object, match.ports[0].targets) == ("Service shop/cart", 3)


def test_endpoint_slices_count_where_there_are_any(tmp_path: Path) -> None:
    """Each address of a slice with the port is a target, ready or not."""
    slices = thing(
        "EndpointSlice", "cart-1", labels={"kubernetes.io/service-name": "cart"},
        addressType="IPv4", ports=[{"name": "metrics", "port": 8080}],
        endpoints=[{"addresses": ["10.0.0.1"], "conditions": {"ready": False}},
                   {"addresses": ["10.0.0.2"]}],
    )  # fmt: skip
    found = explained(tmp_path, SHOP, prometheus(), monitor(), service(), deployment(7), slices)
    assert found.searches[0].targets == 2


NO_TARGETS: dict[str, tuple[list[Object], str]] = {
    "a port that is misspelt": (
        [monitor(port="metrcis"), service(), deployment()],
        "spec.endpoints[0]: port `metrcis` not found; Service shop/cart has `metrics`, `admin`; "
        "did you mean `metrics`?",
    ),
    "a number instead of a name": (
        [monitor(port="80"), service(), deployment()],
        "`port` takes a name, and 80 is the number of `metrics`",
    ),
    "the pods' name of a port": (
        [monitor(port="http"), service(), deployment()],
        "`http` is the pods' port behind `metrics`, use that name or targetPort",
    ),
    "a port of the pods that the Service does not have": (
        [monitor(port="extra"), service(),
         deployment(ports=[{"name": "extra", "containerPort": 9000}])],
        "the pods have `extra`, but the Service does not lead there: use targetPort",
    ),
    "a port without a name": (
        [monitor(), service(spec={"ports": [{"port": 80}]}), deployment()],
        "port `metrics` not found; the port 80 of Service shop/cart has no name: give it one",
    ),
    "a headless Service without ports": (
        [monitor(), service(spec={"ports": [], "clusterIP": "None"}), deployment()],
        "port `metrics` not found; Service shop/cart has no ports at all",
    ),
    "a targetPort that is the Service's": (
        [monitor(port={"targetPort": 80}), service(), deployment()],
        "`80` is the Service's port, which leads to their `http`: use port",
    ),
    "a targetPort that no container declares": (
        [monitor(port={"targetPort": 9999}), service(), deployment()],
        "targetPort `9999` not found; the containers declare `http`",
    ),
    "a Service's targetPort that no container declares": (
        [monitor(), service(),
         deployment(ports=[{"name": "web", "containerPort": 8080}])],
        "port `metrics` of Service shop/cart leads to `http`, which no container declares; they "
        "declare `web`",
    ),
    "a Service with another label": (
        [monitor(), service(labels={"app": "card"}, spec={"selector": {"app": "x"}}), deployment()],
        "no Service in namespace shop has what spec.selector asks for: label `app=cart`; the "
        "nearest is Service shop/cart, which has `app=card` (misspelt?)",
    ),
    "labels on the pods instead of the Service": (
        [monitor(), service(labels={}), deployment()],
        "Service shop/cart has pods with these labels, but not the labels itself",
    ),
    "a Service in another namespace": (
        [monitor(), service(namespace="other"), deployment()],
        "`Service other/cart` has, which spec.namespaceSelector leaves out",
    ),
    "a namespace selector that looks elsewhere": (
        [monitor(spec={"namespaceSelector": {"matchNames": ["other"]}}), service(), deployment()],
        "no Service in namespace other has what spec.selector asks for",
    ),
    "a Service whose selector misses the pods": (
        [monitor(), service(spec={"selector": {"app": "kart"}}), deployment()],
        "Service shop/cart leads nowhere: no pod has what its selector asks for: label `app=kart`; "
        "the nearest is Deployment shop/cart, which has `app=cart` (misspelt?)",
    ),
    "no replicas": (
        [monitor(), service(), deployment(0)],
        "Service shop/cart leads nowhere: Deployment shop/cart has no replicas",
    ),
    "an external name": (
        [monitor(), service(spec={"type": "ExternalName"}), deployment()],
        "a Service of type ExternalName has no endpoints",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_TARGETS)
def test_the_first_line_says_why_there_are_no_targets(case: str, tmp_path: Path) -> None:
    """Selected and accepted, but nothing is scraped: the near miss is named."""
    objects, text = NO_TARGETS[case]
    found = explained(tmp_path, SHOP, prometheus(), *objects)
    assert not found.good
    assert found.headline.startswith("selected, but without targets: ")
    assert text in found.headline
    assert found.searches[0].targets == 0


def test_without_services_among_the_manifests_targets_are_not_known(tmp_path: Path) -> None:
    """A directory with monitors alone is no reason to complain."""
    found = explained(tmp_path, SHOP, prometheus(), monitor())
    assert found.good
    assert found.searches[0].targets is None
    assert "there are no Service objects among the manifests" in found.searches[0].notes[0]


def test_a_target_port_chooses_among_declared_ports(tmp_path: Path) -> None:
    """Also one that the Service does not lead to, as Prometheus does."""
    ports = [{"name": "http", "containerPort": 8080}, {"name": "extra", "containerPort": 9000}]
    found = explained(
        tmp_path, SHOP, prometheus(), monitor(port={"targetPort": "extra"}), service(),
        deployment(2, ports=ports),
    )  # fmt: skip
    assert found.searches[0].targets == 2


def test_without_a_port_every_port_is_a_target(tmp_path: Path) -> None:
    """Those of the Service, and those that only the containers declare."""
    ports = [{"name": "http", "containerPort": 8080}, {"name": "extra", "containerPort": 9000}]
    found = explained(
        tmp_path, SHOP, prometheus(), monitor(port={}), service(), deployment(2, ports=ports)
    )
    assert found.searches[0].targets == 6


def test_ignored_namespace_selectors_are_told(tmp_path: Path) -> None:
    """Two workloads that look in different places are told apart."""
    wide = monitor(spec={"namespaceSelector": {"any": True}})
    own = prometheus("PrometheusAgent", ignoreNamespaceSelectors=True)
    found = explained(
        tmp_path, SHOP, prometheus(), own, wide, service(namespace="other"), deployment()
    )
    places = {each.workloads: each.looks_in for each in found.searches}
    assert places == {
        ("Prometheus monitoring/main",): "all namespaces",
        ("PrometheusAgent monitoring/main",): "namespace shop",
    }


POD_LABEL = "__meta_kubernetes_pod_"


def pod_monitor(**endpoint: object) -> Object:
    """A PodMonitor of one endpoint."""
    spec = {"selector": {"matchLabels": {"app": "cart"}}, "podMetricsEndpoints": [endpoint]}
    return thing("PodMonitor", "cart", spec=spec)


PODS: dict[str, tuple[Object, list[Object], int, str]] = {
    "a port": (pod_monitor(port="http"), [deployment(4)], 4, "4 targets"),
    "a number": (pod_monitor(portNumber=8080), [deployment(4)], 4, "4 targets"),
    "a port that is misspelt": (
        pod_monitor(port="htpp"), [deployment()], 0,
        "port `htpp` not found; the containers declare `http`; did you mean `http`?",
    ),
    "containers without ports": (
        pod_monitor(port="http"), [deployment(ports=[])], 0, "the containers declare no ports",
    ),
    "another label": (
        pod_monitor(port="http"), [deployment(labels={"app": "carts"})], 0,
        "no pod in namespace shop has what spec.selector asks for: label `app=cart`; the nearest "
        "is Deployment shop/cart, which has `app=carts`",
    ),
    "labels of a Service": (
        pod_monitor(port="http"), [deployment(labels={"tier": "web"}), service()], 0,
        "`Service shop/cart` has these labels, but a PodMonitor selects pods by their own",
    ),
    "a pod that has ended": (
        pod_monitor(), [thing("Pod", "cart-0", labels={"app": "cart"},
        spec={"containers": [{"name": "a"}]}, status={"phase": "Failed", "podIP": "10.0.0.1"})],
        0, "Pod shop/cart-0 has ended",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PODS)
def test_pods_are_counted_and_near_misses_named(case: str, tmp_path: Path) -> None:
    """A PodMonitor chooses pods by their labels, and ports by what containers declare."""
    resource, objects, targets, text = PODS[case]
    found = explained(tmp_path, SHOP, prometheus(), resource, *objects, kind="PodMonitor")
    assert found.searches[0].targets == targets
    assert text in found.headline


def test_a_pod_that_has_ended_is_no_problem_beside_others(tmp_path: Path) -> None:
    """Pods of a Job stay around; they are not counted, and nobody is alarmed."""
    ended = thing("Pod", "job-0", labels={"app": "cart"}, spec={"containers": [{"name": "a"}]},
                  status={"phase": "Succeeded", "podIP": "10.0.0.1"})  # fmt: skip
    found = explained(
        tmp_path, SHOP, prometheus(), pod_monitor(port="http"), ended, deployment(2),
        kind="PodMonitor",
    )  # fmt: skip
    assert found.headline == "scraped by Prometheus monitoring/main: 2 targets"


def test_a_daemon_set_has_as_many_pods_as_there_are_nodes(tmp_path: Path) -> None:
    """How many that is, nobody knows from manifests."""
    made = deployment() | {"kind": "DaemonSet"}
    found = explained(
        tmp_path, SHOP, prometheus(), pod_monitor(port="http"), made, kind="PodMonitor"
    )
    assert found.good
    assert found.searches[0].targets is None


def test_ingresses_are_counted_by_their_paths(tmp_path: Path) -> None:
    """One target for each path, or for a host without any."""
    rules = [{"host": "a", "http": {"paths": [{"path": "/x"}, {"path": "/y"}]}}, {"host": "b"}]
    ingress = thing("Ingress", "web", spec={"rules": rules})
    spec = {"prober": {"url": "prober:9115"}, "targets": {"ingress": {}}}
    found = explained(
        tmp_path, prometheus(), thing("Probe", "web", spec=spec), ingress,
        kind="Probe", name="shop/web",
    )  # fmt: skip
    assert found.searches[0].targets == 3


def test_a_relabeling_that_drops_every_target_is_named(tmp_path: Path) -> None:
    """With what it looks at, and with the name of a pod that is not there yet."""
    endpoint = {"port": "http", "relabelings": [{"action": "drop", "sourceLabels": ["pod"]}]}
    spec = {"selector": {"matchLabels": {"app": "cart"}}, "podMetricsEndpoints": [endpoint]}
    asking = thing("PodMonitor", "cart", spec=spec)
    found = explained(tmp_path, SHOP, prometheus(), asking, deployment(), kind="PodMonitor")
    assert found.headline == (
        "selected, but without targets: spec.podMetricsEndpoints[0].relabelings[0] drops all "
        "targets: `drop`: `pod` matches `(.*)`, and it is `cart-…`"
    )


@pytest.mark.parametrize(
    ("step", "targets", "told"),
    [
        ({"action": "keep", "sourceLabels": [f"{POD_LABEL}node_name"], "regex": ".+"}, 3, ""),
        ({"action": "keep", "sourceLabels": [f"{POD_LABEL}host_ip"], "regex": "(.+)"}, 3, ""),
        ({"action": "keep", "sourceLabels": [f"{POD_LABEL}node_name"], "regex": "gpu-.*"}, 3,
         "spec.podMetricsEndpoints[0].relabelings may drop targets that are counted here: "
         "spec.podMetricsEndpoints[0].relabelings[0] looks at `<node>`, not known yet"),
        ({"action": "keepequal", "sourceLabels": ["__address__"], "targetLabel": "x"}, 3,
         "spec.podMetricsEndpoints[0].relabelings may drop targets that are counted here: "
         "spec.podMetricsEndpoints[0].relabelings[0] looks at `<address>:8080`, not known yet"),
        ({"action": "keep", "sourceLabels": [f"{POD_LABEL}name"], "regex": "$(POD_NAME)"}, 3,
         "spec.podMetricsEndpoints[0].relabelings may drop targets that are counted here: "
         "each pod has its own `$(POD_NAME)`"),
        ({"action": "keep", "sourceLabels": [f"{POD_LABEL}phase"], "regex": "Failed"}, 0, ""),
    ],
)  # fmt: skip
def test_what_no_manifest_says_of_a_pod_drops_nothing(
    step: Object, targets: int, told: str, tmp_path: Path
) -> None:
    """Its node and addresses: where a step chooses by them, the targets are as counted before."""
    asking = pod_monitor(port="http", relabelings=[step])
    found = explained(tmp_path, SHOP, prometheus(), asking, deployment(), kind="PodMonitor")
    [search] = found.searches
    assert (search.targets, found.good) == (targets, targets > 0)
    assert search.notes == ((told,) if told else ())


def test_labels_of_nodes_are_attached(tmp_path: Path) -> None:
    """Where the nodes are among the manifests, and the pods on them."""
    asking = pod_monitor(port="http")
    asking["spec"]["attachMetadata"] = {"node": True}
    container = {"name": "a", "ports": [{"name": "http", "containerPort": 8080}]}
    spec = {"nodeName": "one", "containers": [container]}
    running = {"phase": "Running", "podIP": "10.0.0.1"}
    pod = thing("Pod", "cart-0", labels={"app": "cart"}, spec=spec, status=running)
    label = {"action": "labelmap", "regex": "__meta_kubernetes_node_label_(zone)"}
    asking["spec"]["podMetricsEndpoints"][0]["relabelings"] = [label]
    where = node("one", zone="north")
    found = explained(tmp_path, SHOP, prometheus(), asking, pod, where, kind="PodMonitor")
    [search] = found.searches
    [example] = search.endpoints[0].examples
    assert search.targets == 1
    assert {"zone": "north"}.items() <= {one.name: one.value for one in example.labels}.items()


def test_relabelings_of_a_probe_are_done(tmp_path: Path) -> None:
    """On what is listed and on Ingresses; equal ones count once."""
    step = {"action": "drop", "sourceLabels": ["__param_target"], "regex": ".*b.*"}
    listed = {"static": ["http://a", "http://b", "http://a"], "relabelingConfigs": [step]}
    spec = {"prober": {"url": "prober:9115"}, "targets": {"staticConfig": listed}}
    workload = prometheus(probeSelector={})
    probe = thing("Probe", "web", spec=spec)
    found = explained(tmp_path, SHOP, workload, probe, kind="Probe", name="shop/web")
    [end] = found.searches[0].endpoints
    assert (found.headline, end.equal) == ("scraped by Prometheus monitoring/main: 1 target", 1)
    assert end.dropped[0].path == "spec.targets.staticConfig.relabelingConfigs[0]"
    assert Label(name="instance", value="http://a") in end.examples[0].labels

    everything = {"action": "drop", "sourceLabels": ["__meta_kubernetes_ingress_host"]}
    spec["targets"] = {"ingress": {"relabelingConfigs": [everything]}}
    ingress = thing("Ingress", "web", spec={"rules": [{"host": "a"}]})
    probe = thing("Probe", "web", spec=spec)
    found = explained(tmp_path, SHOP, workload, probe, ingress, kind="Probe", name="shop/web")
    assert found.headline.startswith(
        "selected, but without targets: spec.targets.ingress.relabelingConfigs[0] drops all"
    )


def scrape_config(**spec: object) -> Object:
    """A ScrapeConfig of the shop."""
    return thing("ScrapeConfig", "cart", spec=spec)


KEEP_CART: Object = {"action": "keep", "sourceLabels": [f"{POD_LABEL}label_app"], "regex": "cart"}
LABELS: Object = {"action": "labelmap", "regex": "__meta_kubernetes_service_label_(.+)"}
BY_CLASS: Object = {"name": "strict", "relabelings": [KEEP_CART | {"regex": "none"}]}


@pytest.mark.parametrize(
    ("spec", "workload", "targets", "told"),
    [
        ({"staticConfigs": [{"targets": ["x:1", "y:1"]}], "jobName": "named",
          "relabelings": [{"action": "drop", "sourceLabels": ["__address__"], "regex": "x.*"}]},
         {}, 1, "scraped by Prometheus monitoring/main: 1 target"),
        ({"staticConfigs": [{"targets": ["x:1"]}],
          "relabelings": [{"action": "drop", "sourceLabels": ["__address__"]}]},
         {}, 0, "selected, but without targets: spec.relabelings[0] drops all targets: `drop`: "
         "`__address__` matches `(.*)`, and it is `x:1`"),
        ({"kubernetesSDConfigs": [{"role": "Pod"}], "relabelings": [KEEP_CART]},
         {"shards": 2}, 3, "scraped by Prometheus monitoring/main: 3 targets"),
        ({"kubernetesSDConfigs": [{"role": "EndpointSlice", "namespaces": {"names": ["shop"]}}]},
         {}, 6, "scraped by Prometheus monitoring/main: 6 targets"),
        ({"kubernetesSDConfigs": [{"role": "Service", "namespaces": {"names": ["shop"]}}],
          "relabelings": [{"action": "keep", "sourceLabels": ["team"], "regex": "shop"}]},
         {}, 0, "selected, but without targets: spec.relabelings[0] drops all targets: `keep`: "
         "`team` does not match `shop`, and it is empty"),
        # The ports of Prometheus and of the reloaders beside it.
        ({"kubernetesSDConfigs": [{"role": "Pod", "namespaces": {"ownNamespace": True}}]},
         {}, 3, "scraped by Prometheus monitoring/main: 3 targets"),
        ({"kubernetesSDConfigs": [{"role": "Pod", "namespaces": {"names": ["empty"]}}]},
         {}, 0, "selected, but without targets: spec.kubernetesSDConfigs: nothing is found there"),
        ({"kubernetesSDConfigs": [{"role": "Pod", "apiServer": "https://far"}]},
         {}, None, "scraped by Prometheus monitoring/main: how many targets is not known"),
        ({"kubernetesSDConfigs": [{"role": "Node"}]},
         {}, None, "scraped by Prometheus monitoring/main: how many targets is not known"),
        ({"kubernetesSDConfigs": [{"role": "Service", "namespaces": {"names": ["shop"]}}]},
         {}, 2, "scraped by Prometheus monitoring/main: 2 targets"),
        ({"kubernetesSDConfigs": [{"role": "Service", "namespaces": {"names": ["shop"]}}],
          "relabelings": [LABELS, {"sourceLabels": ["__meta_kubernetes_service_type"],
                                   "action": "keep", "regex": "ClusterIP"}]},
         {}, 2, "scraped by Prometheus monitoring/main: 2 targets"),
        ({"kubernetesSDConfigs": [{"role": "Service", "namespaces": {"names": ["shop"]}}],
          "relabelings": [{"sourceLabels": ["__meta_kubernetes_service_cluster_ip"],
                           "action": "drop", "regex": "None"}]},
         {}, None, "scraped by Prometheus monitoring/main: how many targets is not known"),
        ({"kubernetesSDConfigs": [{"role": "Pod"}], "httpSDConfigs": [{"url": "http://far"}]},
         {}, None, "scraped by Prometheus monitoring/main: how many targets is not known"),
        ({"kubernetesSDConfigs": [{"role": "Pod"}], "scrapeClass": "strict", "jobName": "named"},
         {"scrapeClasses": [BY_CLASS]}, 0,
         "selected, but without targets: spec.scrapeClasses[0].relabelings[0] drops all targets"),
    ],
)  # fmt: skip
def test_targets_of_a_scrape_config_are_worked_out(
    spec: Object, workload: Object, targets: int | None, told: str, tmp_path: Path
) -> None:
    """Those that it lists, and those that it finds in this cluster."""
    found = explained(
        tmp_path, SHOP, prometheus(scrapeConfigSelector={}, **workload), scrape_config(**spec),
        deployment(), service(), kind="ScrapeConfig",
    )  # fmt: skip
    assert found.searches[0].targets == targets
    assert found.headline.startswith(told)


def test_kubelets_are_targets_where_the_addresses_of_nodes_are_known(tmp_path: Path) -> None:
    """From manifests of a cluster; from others it is not told how many there are."""
    config = scrape_config(kubernetesSDConfigs=[{"role": "Node"}])
    status = {
        "addresses": [{"type": "InternalIP", "address": "10.0.0.9"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
    }

    def search(*nodes: Object) -> Search:
        workload = prometheus(scrapeConfigSelector={})
        made = explained(tmp_path, SHOP, workload, config, *nodes, kind="ScrapeConfig")
        [found] = made.searches
        return found

    known = search(node("one") | {"status": status}, node("two") | {"status": status})
    [end] = known.endpoints
    assert (known.targets, end.targets) == (2, 2)
    assert Label(name="instance", value="one") in end.examples[0].labels
    unknown = search(node("one"), node("two"))
    assert unknown.targets is None
    assert unknown.notes[1:] == (
        "they cannot be worked out here: the address of Node one is not known",
    )


def test_discoveries_of_a_scrape_config_are_left_to_prometheus(tmp_path: Path) -> None:
    """Listed targets are counted, found ones cannot be."""
    listed = thing("ScrapeConfig", "a", spec={"staticConfigs": [{"targets": ["x:1", "y:1"]}]})
    other = thing("ScrapeConfig", "b", spec={"dnsSDConfigs": [{"names": ["a.example"]}]})
    kind = "ScrapeConfig"
    first = explained(tmp_path, prometheus(), listed, other, name="shop/a", kind=kind)
    second = explained(tmp_path, prometheus(), listed, other, name="shop/b", kind=kind)
    assert (first.searches[0].targets, second.searches[0].targets) == (2, None)
    assert "spec.dnsSDConfigs" in second.searches[0].notes[0]


# --- Permissions ----------------------------------------------------------------------------------


def bound(*resources: str, namespace: str = "shop") -> list[Object]:
    """A role for the service account of the Prometheus, and its binding."""
    rules = [{"apiGroups": [""], "resources": list(resources), "verbs": ["get", "list", "watch"]}]
    subject = {"kind": "ServiceAccount", "name": "scraper", "namespace": "monitoring"}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "scraper"}
    return [
        thing("Role", "scraper", namespace, rules=rules),
        thing("RoleBinding", "scraper", namespace, roleRef=ref, subjects=[subject]),
    ]


def test_a_permission_that_prometheus_lacks_is_named(tmp_path: Path) -> None:
    """The service account, and what it cannot do; what it can is not mentioned."""
    workload = prometheus(serviceAccountName="scraper")
    found = explained(
        tmp_path, SHOP, workload, monitor(), service(), deployment(), *bound("services", "pods")
    )
    assert found.headline == (
        "selected, but service account monitoring/scraper of Prometheus monitoring/main cannot "
        "list and watch endpoints in namespace shop"
    )
    assert found.access[0].lacks == ("list and watch endpoints in namespace shop",)


def test_a_role_in_another_namespace_does_not_help(tmp_path: Path) -> None:
    """A binding counts where it lies."""
    workload = prometheus(serviceAccountName="scraper")
    objects = bound("services", "pods", "endpoints", namespace="other")
    found = explained(tmp_path, SHOP, workload, monitor(), *objects)
    assert len(found.access[0].lacks) == 3


def test_all_permissions_are_well(tmp_path: Path) -> None:
    """Nothing lacks where the role has it all."""
    workload = prometheus(serviceAccountName="scraper")
    found = explained(tmp_path, SHOP, workload, monitor(), *bound("services", "pods", "endpoints"))
    assert found.good
    assert (found.access[0].lacks, found.access[0].unknown) == ((), ())


def test_permissions_of_an_account_that_nobody_names_are_not_known(tmp_path: Path) -> None:
    """Its roles may lie somewhere else."""
    found = explained(tmp_path, SHOP, prometheus(), monitor())
    assert found.good
    assert len(found.access[0].unknown) == 3


# --- Workloads ------------------------------------------------------------------------------------


def test_a_workload_tells_what_it_selects_and_rejects(tmp_path: Path) -> None:
    """Counts by kind, the rejected ones by name, and why a kind has none."""
    bad = monitor("bad", port={"port": "x", "interval": "10s", "scrapeTimeout": "30s"})
    found = explained(
        tmp_path, SHOP, prometheus(probeSelector=None), monitor(), bad,
        kind="Prometheus", name="monitoring/main",
    )  # fmt: skip
    assert not found.good
    counts = {each.kind: (each.selected, each.rejected, each.note) for each in found.counts}
    assert counts["ServiceMonitor"] == (2, 1, "")
    assert counts["Probe"] == (0, 0, "spec.probeSelector is not set")
    assert counts["PodMonitor"][2] == "asks for everything in all namespaces; there are 0 in all"
    assert found.rejected[0].startswith("ServiceMonitor shop/bad: spec.endpoints[0].scrapeTimeout")


def test_a_workload_that_is_well_says_so(tmp_path: Path) -> None:
    """Its conditions are repeated."""
    condition = {"type": "Available", "status": "True", "reason": "Ok",
                 "lastTransitionTime": "2026-11-15T00:00:00Z"}  # fmt: skip
    view = viewed(tmp_path, SHOP, prometheus(), monitor())
    status = convert(PrometheusStatus, {"conditions": [condition]})
    workload = replace(view.workloads[0], status=status)
    found = told(replace(view, workloads=(workload,)), "Prometheus", "monitoring/main")
    assert found.good
    assert found.headline == "version 3.5.0 uses 1 resource"
    assert found.conditions == ("Available=True Ok",)


# --- The command ----------------------------------------------------------------------------------

Output = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Manifests of a monitor that is well, and one whose port is misspelt."""
    good, bad = monitor(), monitor("crat", port="metrcis")
    objects = [SHOP, prometheus(), good, bad, service(), deployment()]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects))
    return str(tmp_path)


def test_the_command_prints_the_sentence_first(folder: str, capsys: Output) -> None:
    """Without colours when it does not write to a terminal."""
    assert main(["explain", "servicemonitor", "shop/cart", "--from", folder]) == 0
    output = capsys.readouterr().out
    first = "ServiceMonitor shop/cart: scraped by Prometheus monitoring/main: 3 targets"
    assert output.splitlines()[0] == first
    assert "\033" not in output
    assert "job_name" not in output


def test_the_status_is_one_where_nothing_is_scraped(folder: str, capsys: Output) -> None:
    """For scripts."""
    assert main(["explain", "smon", "crat", "-n", "shop", "--from", folder]) == 1
    assert "did you mean `metrics`?" in capsys.readouterr().out


def test_a_workload_names_what_it_finds_no_targets_for(tmp_path: Path, capsys: Output) -> None:
    """Its sentence has the number; the reason is that of the resource."""
    objects = [SHOP, prometheus(), monitor(port="metrcis"), service(), deployment()]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects))
    assert main(["explain", "prom/main", "-n", "monitoring", "-f", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert (
        "Without targets\n  ServiceMonitor shop/cart: spec.endpoints[0]: port `metrcis` not" in told
    )


def test_json_is_for_programs(folder: str, capsys: Output) -> None:
    """The members of the explanation, in camelCase; the job where it is asked for."""
    command = ["explain", "smon", "shop/cart", "--from", folder, "-o", "json"]
    assert main([*command, "--job"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["standings"][0]["state"] == "used"
    assert found["searches"][0]["looksIn"] == "namespace shop"
    assert found["job"].startswith("- job_name: serviceMonitor/shop/cart/0")


def test_names_in_the_same_namespace_are_offered_first() -> None:
    """Where none is near, what there is: at first what lies beside."""
    known = ["apps/a", "apps/b", "apps/c", "apps/d", "apps/e", "shop/z"]
    told = (
        "there is no Probe shop/other; there are shop/z, apps/a, apps/b, apps/c, apps/d and 1 more"
    )
    assert not_found("Probe", "shop/other", known) == told


NOT_UNDERSTOOD = {
    "a resource that is not there": (
        ["smon", "shop/carts"], "there is no ServiceMonitor shop/carts; did you mean shop/cart?"
    ),
    "a namespace that is forgotten": (
        ["smon", "cart"], "there is no ServiceMonitor default/cart; did you mean shop/cart?"
    ),
    "none of that kind": (["probe", "shop/x"], "there are no Probe objects at all"),
    "no kind of ours": (
        ["servicemonitr", "shop/cart"], "there is no kind servicemonitr; did you mean `Service"
    ),
    "two slashes": (["smon", "a/b/c"], "name an object as KIND NAME or KIND/NAME"),
    "a flag that does not exist": (
        ["smon", "shop/cart", "--flag", "namespace=x"], "did you mean --namespaces?"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_UNDERSTOOD)
def test_what_cannot_be_answered_is_status_two(case: str, folder: str, capsys: Output) -> None:
    """With a sentence that says what to do."""
    words, text = NOT_UNDERSTOOD[case]
    assert main(["explain", *words, "--from", folder]) == 2
    assert text in capsys.readouterr().err


def test_flags_of_the_operator_count(folder: str, capsys: Output) -> None:
    """What it does not watch it does not select."""
    command = ["explain", "smon", "shop/cart", "--from", folder]
    assert main([*command, "--flag", "namespaces=monitoring"]) == 1
    assert "in monitoring alone, not in shop" in capsys.readouterr().out


def test_a_manifest_that_a_cluster_refuses_is_explained(folder: str, capsys: Output) -> None:
    """By what is wrong with it."""
    wrong = monitor("wrong", port={"port": "metrics", "interval": "soon"})
    (Path(folder) / "wrong.yaml").write_text(yaml.safe_dump(wrong))
    assert main(["explain", "smon", "shop/wrong", "--from", folder]) == 1
    assert "not valid: spec.endpoints[0].interval" in capsys.readouterr().out
    assert main(["explain", "smon", "shop/cart", "--from", folder]) == 0
    assert "ServiceMonitor shop/wrong" in capsys.readouterr().out


def test_a_terminal_gets_colours_unless_it_wants_none(
    folder: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR is respected, as everywhere."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    main(["explain", "smon", "shop/cart", "--from", folder])
    assert "\033[32m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    main(["explain", "smon", "shop/cart", "--from", folder])
    assert "\033" not in capsys.readouterr().out


def test_a_tenants_text_does_not_reach_the_terminal(folder: str, capsys: Output) -> None:
    """Whatever stands in a field is shown, never obeyed."""
    evil = monitor("evil", port="a\x1b[31mb")
    (Path(folder) / "evil.yaml").write_text(yaml.safe_dump(evil))
    main(["explain", "smon", "shop/evil", "--from", folder])
    output = capsys.readouterr().out
    assert "\033" not in output
    assert "a\\x1b[31mb" in output


def test_selectors_of_flags_are_read_as_kubernetes_reads_them() -> None:
    """All forms of a requirement, but for numbers, which are passed over."""
    found = selector_of_text("a=1,b==2 , c != 3,d in (x, y),e notin (z),f,!g,h>5")
    assert found.requirements == (
        Requirement("a", "In", frozenset({"1"})),
        Requirement("b", "In", frozenset({"2"})),
        Requirement("c", "NotIn", frozenset({"3"})),
        Requirement("d", "In", frozenset({"x", "y"})),
        Requirement("e", "NotIn", frozenset({"z"})),
        Requirement("f", "Exists"),
        Requirement("g", "DoesNotExist"),
    )
