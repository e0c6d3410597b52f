"""`stoker explain` on the real cluster: what it reads there, and with whose permissions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stoker.__main__ import main
from tests.builders import pod, prometheus, resource, service_monitor
from tests.live.operating import Object, World
from tools.api import kubeconfig
from tools.cluster import Cluster

Output = pytest.CaptureFixture[str]
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces"
READ = ["get", "list", "watch"]


def cart(name: str) -> Object:
    """A pod of the application, with a port."""
    return pod(name, {"app": "cart"}, {"http": 8080})


def cart_service() -> Object:
    """The Service of the application, with two ports."""
    ports = [
        {"name": "metrics", "port": 80, "targetPort": "http"},
        {"name": "admin", "port": 81, "targetPort": 8081},
    ]
    labels = {"app": "cart"}
    return resource("Service", "cart", {"selector": labels, "ports": ports}, labels=labels)


def allow(world: World, account: str, *rules: Object) -> None:
    """Give a service account of the namespace a role there."""
    metadata = {"name": account}
    role = {"metadata": metadata, "rules": list(rules)}
    binding = {
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": world.namespace}],
    }
    api, place = world.cluster.api, f"{RBAC}/{world.namespace}"
    api.request("POST", f"{place}/roles", role)
    api.request("POST", f"{place}/rolebindings", binding)


def rule(group: str, *resources: str) -> Object:
    """A rule to read resources."""
    return {"apiGroups": [group], "resources": list(resources), "verbs": READ}


def explain(world: World, capsys: Output, words: str, config: Path | None = None) -> list[str]:
    """The exit status and the lines of a call."""
    kind, name, *more = words.split()
    file = str(config or world.cluster.kubeconfig)
    status = main(["explain", kind, f"{world.namespace}/{name}", "--kubeconfig", file, *more])
    said = capsys.readouterr()
    return [str(status), *said.out.splitlines(), *said.err.splitlines()]


@pytest.fixture
def shop(world: World) -> World:
    """An application of two pods that run, and a Prometheus that selects everything here."""
    world.put(cart("cart-0"), cart("cart-1"), cart_service(), prometheus("main"))

    def has_addresses() -> bool:
        slices = world.list("endpointslices.discovery.k8s.io")
        found = [one for each in slices for one in each.get("endpoints") or ()]
        return [one["conditions"]["ready"] for one in found] == [True, True]

    world.until("the addresses of both pods", has_addresses)
    return world


def test_a_monitor_is_explained_with_its_targets(shop: World, capsys: Output) -> None:
    """First the permission that Prometheus lacks, then, with a role, both pods."""
    shop.put(service_monitor("cart", port="metrics"))
    status, first, *_ = explain(shop, capsys, "servicemonitor cart")
    assert status == "1"
    account = f"service account {shop.namespace}/default"
    assert f"{account} of Prometheus {shop.namespace}/main cannot list and watch" in first

    allow(shop, "default", rule("", "services", "endpoints", "pods"))

    def may_see() -> list[str]:
        lines = explain(shop, capsys, "servicemonitor cart")
        assert lines[0] == "0"
        return lines

    # The API server learns of a role a moment after it is written.
    lines = shop.until("the role to count", may_see)
    assert lines[1] == (
        f"ServiceMonitor {shop.namespace}/cart: scraped by Prometheus {shop.namespace}/main: "
        "2 targets"
    )
    assert f"  Service {shop.namespace}/cart" in lines


def test_a_port_that_is_misspelt_is_named(shop: World, capsys: Output) -> None:
    """With what the Service has, and what was probably meant."""
    allow(shop, "default", rule("", "services", "endpoints", "pods"))
    wrong = service_monitor("cart", port="metrcis")
    shop.put(wrong)
    text = (
        f"port `metrcis` not found; Service {shop.namespace}/cart has `metrics`, `admin`; did you "
        "mean `metrics`?"
    )

    def is_told() -> bool:
        status, first, *_ = explain(shop, capsys, "servicemonitor cart")
        return status == "1" and text in first

    assert shop.until("the port to be named", is_told)


def test_a_label_that_the_namespace_lacks_is_named(world: World, capsys: Output) -> None:
    """The labels of the namespace are read from the cluster."""
    wanted = {"matchLabels": {"monitored": "yes"}}
    world.put(prometheus("main", serviceMonitorNamespaceSelector=wanted), service_monitor("cart"))
    status, first, *_ = explain(world, capsys, "servicemonitor cart")
    assert status == "1"
    assert (
        f"spec.serviceMonitorNamespaceSelector asks for label `monitored=yes`; namespace "
        f"{world.namespace} has no label `monitored`" in first
    )


def test_a_pod_monitor_a_secret_and_json(shop: World, capsys: Output) -> None:
    """Secrets that it refers to are read, and their values are not shown."""
    allow(shop, "default", rule("", "pods"))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}}
    login = {
        "username": {"name": "login", "key": "user"},
        "password": {"name": "login", "key": "word"},
    }
    spec = {
        "selector": {"matchLabels": {"app": "cart"}},
        "podMetricsEndpoints": [{"port": "http", "basicAuth": login}],
    }
    shop.put(resource("PodMonitor", "cart", spec))
    status, first, *_ = explain(shop, capsys, "podmonitor cart")
    assert (status, "there is no Secret" in first) == ("1", True)
    shop.put(secret | {"stringData": {"user": "ann", "word": "hunter2"}})

    def is_used() -> str:
        status, *lines = explain(shop, capsys, "podmonitor cart -o json --job")
        assert status == "0"
        return "\n".join(lines)

    text = shop.until("the role to count", is_used)
    assert "hunter2" not in text
    found = json.loads(text)
    assert found["searches"][0]["targets"] == 2
    assert "key word>" in found["job"]


def test_a_workload_is_explained(shop: World, capsys: Output) -> None:
    """What it selects, by kind."""
    shop.put(service_monitor("cart"), service_monitor("other"))
    status, first, *lines = explain(shop, capsys, "prometheus main")
    assert (status, "uses 2 resources" in first) == ("0", True)
    assert "  ServiceMonitor: 2" in lines


def test_two_operators_on_one_workload_are_told(world: World, capsys: Output) -> None:
    """The API server remembers who writes a status; one of them is as it should be."""
    world.put(prometheus("main"))

    def write_as(manager: str, **status: int) -> list[str]:
        world.put_status(prometheus("main"), manager, **status)
        return explain(world, capsys, "prometheus main")

    status, first, *_ = write_as("stoker", replicas=1)
    assert (status, "both write its status" in first) == ("0", False)
    status, first, *_ = write_as("PrometheusOperator", availableReplicas=1)
    assert status == "1"
    assert ": PrometheusOperator and stoker both write its status: two operators" in first


def test_what_a_tenant_may_not_read_is_not_known(
    shop: World, capsys: Output, tmp_path: Path
) -> None:
    """Somebody with rights in one namespace alone still gets an answer."""
    login = {each: {"name": "login", "key": each} for each in ("username", "password")}
    shop.put(service_monitor("cart", port="metrics", basicAuth=login))
    rules = (rule("monitoring.coreos.com", "*"), rule("", "services"))
    config = tenant_of(shop, tmp_path, *rules)

    def is_told() -> list[str]:
        lines = explain(shop, capsys, "servicemonitor cart", config)
        assert "cannot be judged from here" in lines[1]
        return lines

    lines = shop.until("the role to count", is_told)
    assert any("you cannot list prometheuses" in line for line in lines)
    assert any("not known whether it can list and watch pods" in line for line in lines)
    assert any("login cannot be read" in line for line in lines)


def tenant_of(world: World, tmp_path: Path, *rules: Object) -> Path:
    """The kubeconfig of somebody with rights in one namespace alone."""
    api, name = world.cluster.api, "tenant"
    accounts = f"/api/v1/namespaces/{world.namespace}/serviceaccounts"
    api.request("POST", accounts, {"metadata": {"name": name}})
    allow(world, name, *rules)
    token = api.request("POST", f"{accounts}/{name}/token", {"spec": {}})["status"]["token"]
    config = tmp_path / "kubeconfig"
    config.write_text(kubeconfig(world.cluster.url, token, world.cluster.ca_file))
    return config


def test_workloads_that_a_tenant_may_not_see_are_not_denied(
    world: World, capsys: Output, tmp_path: Path
) -> None:
    """That none in sight selects it says nothing; its status does, where an operator wrote it."""
    monitor = service_monitor("cart", port="metrics")
    world.put(monitor)
    config = tenant_of(world, tmp_path, rule("monitoring.coreos.com", "*"))

    def is_told() -> str:
        status, first, *_ = explain(world, capsys, "servicemonitor cart", config)
        assert status == "1"
        assert ": whether a workload selects it is not known: you cannot list" in first
        return first

    world.until("the role to count", is_told)
    accepted = {
        "type": "Accepted", "status": "True", "lastTransitionTime": "2026-11-15T00:00:00Z",
    }  # fmt: skip
    binding = {
        "group": "monitoring.coreos.com", "resource": "prometheuses", "namespace": "monitoring",
        "name": "main", "conditions": [accepted],
    }  # fmt: skip
    world.put_status(monitor, "stoker", bindings=[binding])
    status, first, *_ = explain(world, capsys, "servicemonitor cart", config)
    assert status == "0"
    assert ": used by Prometheus monitoring/main, as its status says; you cannot list" in first


def test_the_ports_of_pods_that_may_not_be_read_are_not_known(
    shop: World, capsys: Output, tmp_path: Path
) -> None:
    """Nobody is told that containers declare none."""
    spec = {"selector": {"matchLabels": {"app": "cart"}}, "endpoints": [{"targetPort": 8080}]}
    shop.put(resource("ServiceMonitor", "cart", spec))
    slices = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "cart-x", "labels": {"kubernetes.io/service-name": "cart"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", "name": "cart-1"}}],
        "ports": [{"name": "metrics", "port": 8080}],
    }
    shop.put(slices)
    rules = (
        rule("monitoring.coreos.com", "*"),
        rule("", "services"),
        rule("discovery.k8s.io", "endpointslices"),
    )
    config = tenant_of(shop, tmp_path, *rules)

    def is_told() -> str:
        _, first, *lines = explain(shop, capsys, "servicemonitor cart", config)
        assert "how many targets is not known" in first
        assert any("cannot list pods" in line for line in lines)
        return first

    shop.until("the role to count", is_told)


def test_a_resource_that_is_not_there_is_answered_with_a_near_name(
    world: World, capsys: Output
) -> None:
    """The status is 2, and the sentence says what to do."""
    world.put(service_monitor("cart"))
    status, said = explain(world, capsys, "servicemonitor crat")
    assert status == "2"
    assert said.endswith(f"did you mean {world.namespace}/cart?")


def test_a_cluster_without_our_definitions_is_told_as_that(capsys: Output) -> None:
    """There can be no such object then, whatever it is called."""
    with Cluster.start(nodes=0) as bare:
        status, said = explain(World(bare, "default"), capsys, "servicemonitor cart")
    assert status == "2"
    assert "the cluster does not have servicemonitors.monitoring.coreos.com" in said
    assert "stoker crds | kubectl apply" in said


def test_a_cluster_that_does_not_answer_is_a_sentence(
    world: World, capsys: Output, tmp_path: Path
) -> None:
    """Nobody wants to see a stack of calls."""
    config = tmp_path / "kubeconfig"
    config.write_text(kubeconfig("https://127.0.0.1:1", "x", world.cluster.ca_file))
    status, *said = explain(world, capsys, "servicemonitor cart", config)
    assert status == "2"
    assert "cannot connect to 127.0.0.1:1" in said[0]
    assert "manifests with -f" in "".join(said)
