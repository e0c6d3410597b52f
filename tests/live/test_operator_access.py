"""What the operator may do, what it does, and in which namespaces.

The manifests of `deploy/` are installed as a user would, and the operator runs as their service
account. It goes through a gateway that has all its requests, so that nothing is granted in vain.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from stoker.api.crd import GROUP
from stoker.build.names import APPLICATION_NAME
from stoker.kube.resources import Target
from tests import builders
from tests.builders import (
    agent,
    alertmanager,
    alertmanager_config,
    prometheus,
    resource,
    service_monitor,
    thanos_ruler,
)
from tests.live.faults import Gateway, SecondServer, status
from tests.live.installing import kustomized, overlay
from tests.live.operating import PROGRAM, Object, Running, World
from tests.live.rights import COMPONENTS
from tests.live.test_operator_faults import configuration
from tests.live.test_operator_flags import NEVER_READY, never_ready
from tests.live.test_operator_storage import CLAIM, bind, storage, storage_class
from tests.live.test_status_page import Page
from tests.live.trials import is_reconciled
from tools.api import Api, kubeconfig
from tools.cluster import Cluster

OPERATOR = "stoker"
# The API server asks for it when an object with an owner is written; it is no request of ours.
BY_ADMISSION = {
    ("delete", "services"),
    ("update", "services/finalizers"),
    ("update", "prometheuses.monitoring.coreos.com/finalizers"),
    ("update", "prometheusagents.monitoring.coreos.com/finalizers"),
    ("update", "alertmanagers.monitoring.coreos.com/finalizers"),
    ("update", "thanosrulers.monitoring.coreos.com/finalizers"),
}

Grant = tuple[str, str]


def manifests(variant: str, *components: str) -> list[Object]:
    """The objects of a variant with components, as kustomize makes them."""
    with tempfile.TemporaryDirectory() as folder:
        return kustomized(overlay(Path(folder), variant, *components))


def rules(objects: list[Object]) -> list[Object]:
    """The rules of all roles."""
    roles = [each for each in objects if each["kind"] in ("Role", "ClusterRole")]
    return [rule for role in roles for rule in role["rules"]]


def granted(objects: list[Object]) -> set[Grant]:
    """Each verb with each resource that roles allow, as RBAC names them."""
    return {
        (verb, name(group, each))
        for rule in rules(objects)
        for group in rule["apiGroups"]
        for each in rule["resources"]
        for verb in rule["verbs"]
    }


def name(group: str, resource: str) -> str:
    """A resource and perhaps a subresource with its group: `prometheuses.example.com/status`."""
    plural, _, rest = resource.partition("/")
    return f"{plural}{group and '.'}{group}{rest and '/'}{rest}"


def moved(objects: list[Object], home: str) -> list[Object]:
    """The same objects with the operator in another namespace."""
    text = yaml.safe_dump_all(objects).replace(f"namespace: {OPERATOR}\n", f"namespace: {home}\n")
    return list(yaml.safe_load_all(text))


def is_role(found: Object) -> bool:
    """Whether this is the Role for workloads, or binds it."""
    kinds = ("Role", "RoleBinding")
    return found["kind"] in kinds and found["metadata"]["name"] == "stoker-operator"


class Site:
    """A cluster with the operator's manifests, and the way of the operator to its API server."""

    def __init__(self, cluster: Cluster, url: str = "") -> None:
        self.cluster = cluster
        self.url = url
        self.home = OPERATOR
        self.used: set[Grant] = set()

    def seen(self, request: web.Request) -> web.Response | None:
        """Note a request, and answer it where it must be another one."""
        target = Target.of(request.path)
        self.used.add((target.verb(request.method, dict(request.query)), target.resource))
        # As a server that has no streaming lists: with those, `list` is asked for hardly ever.
        return status(422, "Invalid") if "sendInitialEvents" in request.query else None

    def install(
        self, variant: str, *namespaces: str, components: Iterable[str] = ()
    ) -> list[Object]:
        """Install what a variant consists of; into each namespace where it has Roles for some."""
        objects = manifests(variant, *components)
        text = yaml.safe_dump_all(moved(objects, self.home))
        self.cluster.kubectl("apply", "-f", "-", input=text)
        for namespace in namespaces:
            roles = [each for each in moved(objects, self.home) if is_role(each)]
            for each in roles:
                each["metadata"]["namespace"] = namespace
            self.cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(roles))
        self.until_may("create", "leases", "coordination.k8s.io", self.home)
        for namespace in namespaces:
            self.until_may("watch", "prometheuses", GROUP, namespace)
        if not namespaces:
            self.until_may("watch", "prometheuses", GROUP)
            self.until_may("watch", "nodes", "")
        return objects

    def until_may(
        self, verb: str, plural: str, group: str, namespace: str = "", *, may: bool = True
    ) -> None:
        """Wait until the API server knows this of the account: it hears of roles a bit later."""
        asked = {"verb": verb, "resource": plural, "group": group, "namespace": namespace}
        account = f"system:serviceaccount:{self.home}:stoker-operator"
        body = {"spec": {"user": account, "resourceAttributes": asked}}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        api = Api(self.url, self.cluster.token, self.cluster.ca_file)
        self.cluster.until(
            f"{verb} {plural}: {may}",
            lambda: api.request("POST", path, body)["status"].get("allowed", False) is may,
        )

    def started(
        self, *flags: str, ready: bool = True, program: tuple[str, ...] = PROGRAM
    ) -> Running:
        """Start an operator as the service account of the manifests."""
        path = f"/api/v1/namespaces/{self.home}/serviceaccounts/stoker-operator/token"
        token = self.cluster.api.request("POST", path, {"spec": {}})["status"]["token"]
        config = json.loads(kubeconfig(self.url, token, self.cluster.ca_file))
        config["contexts"][0]["context"]["namespace"] = self.home
        file = self.cluster.directory / "kubeconfig-account"
        file.write_text(json.dumps(config))
        return Running.start(self.cluster, *flags, kubeconfig=file, ready=ready, program=program)

    def forbid(
        self, verb: str, plural: str, *, role: str = "stoker-operator", group: str = GROUP
    ) -> None:
        """Take a verb away for one resource."""
        found = json.loads(self.cluster.kubectl("get", "clusterrole", role, "-o", "json").stdout)
        kept: list[Object] = []
        for rule in found["rules"]:
            others = [each for each in rule["resources"] if each != plural]
            kept.append(rule | {"resources": others})
            if plural in rule["resources"]:
                verbs = [each for each in rule["verbs"] if each != verb]
                kept.append(rule | {"resources": [plural], "verbs": verbs})
        patch = json.dumps(
            {"rules": [each for each in kept if each["resources"] and each["verbs"]]}
        )
        self.cluster.kubectl("patch", "clusterrole", role, "--type=merge", "-p", patch)
        self.until_may(verb, plural, group, may=False)

    def world(self, namespace: str, **labels: str) -> World:
        """A new namespace."""
        metadata = {"name": namespace, "labels": labels}
        self.cluster.api.request("POST", "/api/v1/namespaces", {"metadata": metadata})
        return World(self.cluster, namespace)


@pytest.fixture(scope="module")
def whole(open_cluster: Cluster) -> Iterator[tuple[Cluster, str]]:
    """A cluster, and a server of it that asks who may own objects, as OpenShift does."""
    asks = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
    with SecondServer(open_cluster, asks) as second:
        yield open_cluster, second.url


@pytest.fixture
def site(whole: tuple[Cluster, str]) -> Iterator[Site]:
    """The cluster with a gateway before it."""
    cluster, url = whole
    with Gateway(cluster, url) as gateway:
        site = Site(cluster, gateway.url)
        gateway.fault = site.seen
        yield site


def everything() -> Iterator[Object]:
    """One resource of each kind that a workload selects."""
    yield service_monitor("shop")
    yield resource("PodMonitor", "shop", {"selector": {}, "podMetricsEndpoints": [{"port": "web"}]})
    targets = {"staticConfig": {"static": ["shop.example"]}}
    yield resource("Probe", "shop", {"prober": {"url": "prober:9115"}, "targets": targets})
    yield resource("ScrapeConfig", "shop", {"staticConfigs": [{"targets": ["shop:80"]}]})
    yield alertmanager_config("shop")
    yield rule("up:sum")


def light(mode: str) -> Object:
    """A PrometheusAgent; on every node it has PodMonitors only."""
    return resource("PrometheusAgent", "light", {"mode": mode, "podMonitorSelector": {}})


def rule(record: str) -> Object:
    """A PrometheusRule."""
    groups = [{"name": "shop", "rules": [{"record": record, "expr": "sum(up)"}]}]
    return resource("PrometheusRule", "shop", {"groups": groups})


def secret(name: str) -> Object:
    """A Secret with a token."""
    return builders.secret(name, {"token": "token"})


def foreign(kind: str, workload: Object) -> Object:
    """An object that belongs to a workload, and that no operator made."""
    owner = {
        "apiVersion": workload["apiVersion"],
        "kind": workload["kind"],
        "name": workload["metadata"]["name"],
        "uid": workload["metadata"]["uid"],
        "controller": True,
    }
    metadata = {"name": f"foreign-{kind.lower()}", "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def left_over(kind: str, workload: Object) -> Object:
    """An object that a workload had and does not want any longer."""
    made = foreign(kind, workload)
    named = {"name": f"left-over-{kind.lower()}", "labels": {"managed-by": "prometheus-operator"}}
    return made | {"metadata": made["metadata"] | named}


def lives(world: World) -> None:
    """All that a workload can go through."""
    finalizers = ["monitoring.coreos.com/status-cleanup"]
    made = [
        prometheus("main", storage=storage(world, "1Gi")),
        light("DaemonSet"),
        alertmanager("main"),
        thanos_ruler("main"),
    ]
    for each in made:
        each["metadata"]["finalizers"] = finalizers
    world.put(storage_class(world), secret("token"), *made, *everything())
    token = {"credentials": {"name": "token", "key": "token"}}
    world.put(prometheus("wide", shards=2), service_monitor("private", authorization=token))
    world.until("the claim", lambda: world.get("persistentvolumeclaim", CLAIM))
    bind(world)
    world.settled("prometheus", "main")
    world.settled("prometheusagent", "light")
    for kind in ("alertmanager", "thanosruler"):
        world.settled(kind, "main")
    for each in everything():
        kind = each["kind"].lower()
        world.until(f"a binding of a {kind}", partial(world.bindings, kind, "shop"))
    workload = world.get("prometheus", "main") or {}
    assert not workload["metadata"].get("finalizers")

    # What is changed, by users and by others.
    (agents,) = world.list("daemonset")
    name, label = agents["metadata"]["name"], {APPLICATION_NAME: "another"}
    world.patch("daemonset", name, {"metadata": {"labels": label}})
    world.until(
        "its label", lambda: label_of(world, name) == agents["metadata"]["labels"][APPLICATION_NAME]
    )
    world.put(rule("up:total"), service_monitor("more"), light("StatefulSet"))
    world.patch("service", "prometheus-operated", {"spec": {"publishNotReadyAddresses": True}})
    world.patch("service", "prometheus-operated", {"metadata": {"labels": {"managed-by": None}}})
    for values in ("Secret", "ConfigMap"):
        world.put(foreign(values, workload), left_over(values, workload))
    world.patch("prometheus", "main", {"spec": {"storage": storage(world, "2Gi")}})
    world.patch("prometheus", "wide", {"spec": {"shards": 1, "replicas": 2}})
    world.settled("prometheus", "main")
    world.settled("prometheus", "wide")
    world.until("one shard", partial(is_absent, world, "statefulset", "prometheus-wide-shard-1"))
    for kind in ("secret", "configmap"):
        world.until("no rest", partial(is_absent, world, kind, f"left-over-{kind}"))
        assert world.get(kind, f"foreign-{kind}")
    world.until("the other mode", lambda: not world.list("daemonset"))

    # The same complaint twice.
    for _ in range(2):
        world.put(service_monitor("private", authorization=token | {"type": "Basic"}))
        world.until("a rejection", lambda: accepted(world, "private") == "False")
        world.put(service_monitor("private", authorization=token))
        world.until("no rejection", lambda: accepted(world, "private") == "True")
    world.delete("prometheus", "main")
    world.until("one binding less", lambda: len(world.bindings("prometheusrule", "shop")) == 2)


def repaired(world: World) -> None:
    """A rollout that a pod holds up goes on."""
    ordered: Object = {"replicas": 2, "podManagementPolicy": "OrderedReady"}
    world.put(prometheus("main", **ordered))
    world.settled("prometheus", "main")
    world.put(prometheus("main", podMetadata=NEVER_READY, **ordered))
    world.until("a pod that is not ready", lambda: never_ready(world))
    world.put(prometheus("main", **ordered))
    world.settled("prometheus", "main")


def label_of(world: World, name: str) -> str:
    """What a DaemonSet says that it is."""
    return str((world.get("daemonset", name) or {})["metadata"]["labels"][APPLICATION_NAME])


def is_absent(world: World, kind: str, name: str) -> bool:
    """Whether there is no such object."""
    return world.get(kind, name) is None


def accepted(world: World, monitor: str) -> str:
    """What the server says of a ServiceMonitor."""
    return str(world.bindings("servicemonitor", monitor)["prometheuses/main"]["status"])


def test_each_verb_is_granted_because_it_is_used(site: Site) -> None:
    """As the service account of `deploy/cluster`: nothing is forbidden, nothing granted in vain.

    The whole of it, with all components, is accepted by the API server, and its pods start.
    """
    objects = site.install("cluster", components=COMPONENTS)
    mark = site.cluster.audit.mark()
    flags = next(each for each in objects if each["kind"] == "Deployment")["spec"]["template"][
        "spec"
    ]["containers"][0]["args"]
    assert flags[0] == "operator"
    world = site.world("lives")
    kubelet = World(site.cluster, "kube-system")
    logs = []
    with site.started(*flags[1:], "--target-status-interval=1s") as operator:
        kubelet.until("kubelets", lambda: kubelet.get("endpoints", "kubelet"))
        lives(world)
        repaired(site.world("repaired"))
        assert Page(operator).ask(f"resources/ServiceMonitor/{world.namespace}/shop")
        site.cluster.add_node("another")
        kubelet.until("a node", lambda: addresses(kubelet) == 3)
        logs.append(operator.log())
        assert operator.stop() == 0
    with site.started(*flags[1:], "--kubelet-endpoints=false") as operator:
        kubelet.until("slices", lambda: nodes_in_slices(kubelet) == 3)
        kubelet.until("no endpoints", lambda: not kubelet.get("endpoints", "kubelet"))
        site.cluster.remove_node("another")
        kubelet.until("a node less", lambda: nodes_in_slices(kubelet) == 2)
        logs.append(operator.log())
        assert operator.stop() == 0
    without_slices = [each for each in flags[1:] if "endpointslice" not in each]
    with site.started(*without_slices) as operator:
        kubelet.until("no slices", lambda: not nodes_in_slices(kubelet))
        logs.append(operator.log())
    assert [line for log in logs for line in log.splitlines() if "orbidden" in line] == []
    done = site.cluster.audit.since(mark, "stoker")
    refused = {each.resource for each in done if each.status == HTTPStatus.FORBIDDEN}
    # The page asks what Prometheus may do, for which it may have a role of its own.
    assert refused <= {"subjectaccessreviews"}
    # An apply that makes an object needs `create`, though it is a patch.
    made = {one.resource for one in done if one.status == HTTPStatus.CREATED}
    grants = granted(objects)
    site.used |= {one for one in grants if one[0] == "create" and one[1].split(".")[0] in made}
    assert grants - site.used == BY_ADMISSION
    site.cluster.until("the pods of the Deployment", lambda: is_available(site.cluster))


def addresses(world: World) -> int:
    """How many nodes are in the kubelets' Endpoints."""
    found = world.get("endpoints", "kubelet") or {}
    return sum(len(subset["addresses"]) for subset in found["subsets"])


def nodes_in_slices(world: World) -> int:
    """How many nodes are in the kubelets' EndpointSlices."""
    slices = world.list("endpointslice")
    own = [one for one in slices if one["metadata"]["name"].startswith("kubelet")]
    managed = "endpointslice.kubernetes.io/managed-by"
    ours = [one for one in own if one["metadata"]["labels"][managed] == "prometheus-operator"]
    return sum(len(each["endpoints"] or ()) for each in ours)


def is_available(cluster: Cluster) -> bool:
    """Whether both replicas of the Deployment run."""
    path = f"/apis/apps/v1/namespaces/{OPERATOR}/deployments/stoker-operator"
    return bool(cluster.api.get(path)["status"].get("availableReplicas") == 2)


def test_both_variants_allow_the_same_within_a_namespace() -> None:
    """The rules differ in what belongs to the whole cluster, and in nothing else."""
    wide = [each for each in manifests("cluster") if is_main_role(each)]
    narrow = [each for each in manifests("namespaced") if is_main_role(each)]
    assert granted(wide) - granted(narrow) == {
        ("list", "namespaces"),
        ("watch", "namespaces"),
        ("list", "nodes"),
        ("watch", "nodes"),
        ("get", "storageclasses.storage.k8s.io"),
    }
    assert granted(narrow) - granted(wide) == {("get", "namespaces")}


def is_main_role(found: Object) -> bool:
    """Whether this is the role for workloads."""
    return found["kind"] in ("Role", "ClusterRole") and (
        found["metadata"]["name"] == "stoker-operator"
    )


def test_what_is_forbidden_is_named_and_the_rest_goes_on(site: Site) -> None:
    """Without `watch` for Probes: a line, a metric and a condition say so, and monitors work.

    The replica is not ready, so that an upgrade would stop. When the permission comes, all is well.
    """
    site.install("cluster")
    site.forbid("watch", "probes")
    world = site.world("blind")
    other = prometheus("other")
    del other["spec"]["probeSelector"]
    world.put(prometheus("main"), other, *everything())
    missing = "watch probes.monitoring.coreos.com"
    with site.started(ready=False) as operator:
        world.until("a configuration", lambda: "serviceMonitor/blind/shop" in configuration(world))
        world.until("a condition", lambda: missing in reconciled(world, "main")["message"])
        condition = reconciled(world, "main")
        assert condition["status"] == "False"
        assert condition["reason"] == "Forbidden"
        world.until("all well", lambda: reconciled(world, "other")["status"] == "True")
        line = 'msg="cannot watch probes.monitoring.coreos.com, trying again'
        world.until("a line in the log", lambda: line in operator.log())
        name = "prometheus_operator_watch_operations_failed_total"
        world.until("a number", lambda: operator.metric(name, controller="prometheus") > 0)
        assert not operator.is_ready()

        site.install("cluster")
        world.until("sight", lambda: reconciled(world, "main")["status"] == "True")
        world.until("readiness", operator.is_ready)
        world.until("a Probe", lambda: "probe/blind/shop" in configuration(world))


WORKLOADS_OF = {
    "servicemonitors": ("prometheus", "prometheusagent"),
    "podmonitors": ("prometheus", "prometheusagent"),
    "probes": ("prometheus", "prometheusagent"),
    "scrapeconfigs": ("prometheus", "prometheusagent"),
    "prometheusrules": ("prometheus", "thanosruler"),
    "alertmanagerconfigs": ("alertmanager",),
}


def made_of_resources(world: World) -> dict[tuple[str, str], Object]:
    """What is in the configurations and rules of all workloads."""
    return {
        (kind, each["metadata"]["name"]): each.get("data") or {}
        for kind in ("secret", "configmap")
        for each in world.list(kind)
        if each["metadata"].get("ownerReferences")
    }


def test_a_start_without_sight_takes_nothing_away(site: Site) -> None:
    """What was made of resources that cannot be seen now stays, and the workload says why."""
    site.install("cluster")
    world = site.world("kept")
    world.put(
        prometheus("main", replicas=0),
        agent("main", replicas=0),
        alertmanager("main", replicas=0),
        thanos_ruler("main", replicas=0),
        *everything(),
    )
    with site.started():
        for kind in ("prometheus", "prometheusagent", "alertmanager", "thanosruler"):
            world.until(f"the {kind}", partial(is_reconciled, world, kind, "main"))
    before = made_of_resources(world)
    for plural, workloads in WORKLOADS_OF.items():
        site.forbid("list", plural)
        with site.started(ready=False) as operator:
            for kind in workloads:
                said = (f"list {plural}.monitoring.coreos.com", "nothing is changed")
                world.until(f"words of the {kind}", partial(says, world, kind, *said))
            assert made_of_resources(world) == before
            assert not operator.is_ready()
            site.install("cluster")
            for kind in workloads:
                world.until(f"sight of {plural}", partial(is_reconciled, world, kind, "main"))
            assert made_of_resources(world) == before
            world.until("readiness", operator.is_ready)


def says(world: World, kind: str, *words: str) -> bool:
    """Whether a workload says why it is not reconciled, in these words."""
    condition = world.condition(kind, "main", "Reconciled")
    said = condition.get("message", "")
    return condition.get("status") == "False" and all(each in said for each in words)


def test_a_secret_that_may_be_read_later_is_read_then(site: Site) -> None:
    """Without `get` for Secrets a monitor that needs one is refused, until the permission comes."""
    site.install("cluster")
    site.forbid("get", "secrets", group="")
    world, vault = site.world("locked"), site.world("vault")
    account = f"--serviceaccount={site.home}:stoker-operator"
    kubectl = partial(site.cluster.kubectl, "--namespace=locked", "create")
    kubectl("role", "secrets", "--verb=get", "--resource=secrets")
    kubectl("rolebinding", "secrets", "--role=secrets", account)
    token = {"name": "token", "key": "token"}
    vault.put(secret("token"), service_monitor("needing", authorization={"credentials": token}))
    main = prometheus("main", serviceMonitorNamespaceSelector={})
    world.put(main, service_monitor("shop"))
    with site.started():
        world.until("a configuration", lambda: "serviceMonitor/locked/shop" in configuration(world))
        vault.until("a refusal", lambda: accepted(vault, "needing") == "False")
        assert "serviceMonitor/vault/needing" not in configuration(world)

        site.install("cluster")
        world.until("its job", lambda: "serviceMonitor/vault/needing" in configuration(world))
        vault.until("no refusal", lambda: accepted(vault, "needing") == "True")


def reconciled(world: World, workload: str) -> Object:
    """What a workload says of itself."""
    return world.condition("prometheus", workload, "Reconciled")


def test_roles_in_some_namespaces_are_enough(site: Site) -> None:
    """With `deploy/namespaced`, nothing of the whole cluster is needed, not even for labels.

    (peer scenario: Operator NS Scope)
    """
    site.home = "tenants"
    shop, office = site.world("shop", team="a"), site.world("office", team="b")
    site.world(site.home)
    site.install("namespaced", shop.namespace, office.namespace)
    selector = {"matchLabels": {"team": "b"}}
    shop.put(prometheus("main", serviceMonitorNamespaceSelector=selector), *everything())
    office.put(service_monitor("desk"), rule("up:sum"))
    lease = "--leader-election-id=stoker-operator"
    with site.started("--namespaces=shop,office", lease) as operator:
        shop.settled("prometheus", "main")
        shop.until("a monitor", lambda: "serviceMonitor/office/desk" in configuration(shop))
        assert "serviceMonitor/shop" not in configuration(shop)
        office.until("a binding", lambda: office.bindings("servicemonitor", "desk"))
        shop.delete("prometheus", "main")
        office.until("no binding", lambda: not office.bindings("servicemonitor", "desk"))
        about = {line for line in operator.log().splitlines() if "orbidden" in line}
        assert all("namespaces is forbidden" in line for line in about)
        assert len(about) == 1


def test_each_operator_looks_after_its_own(whole: tuple[Cluster, str]) -> None:
    """Namespaces allowed, denied and per kind, instance selectors and controller ids.

    (peer scenarios: Allow List, Deny List, Deny Ns)
    """
    cluster, _ = whole
    site = Site(cluster)
    names = ("allowed", "denied", "elsewhere", "instances", "mine")
    worlds = {each: site.world(each) for each in names}
    everywhere: Object = {"serviceMonitorNamespaceSelector": {}}
    for world in worlds.values():
        world.put(prometheus("main", **everywhere), service_monitor("shop"))
    chosen = prometheus("chosen", **everywhere)
    chosen["metadata"]["labels"] = {"team": "a"}
    worlds["instances"].put(chosen)
    own = prometheus("own", **everywhere)
    own["metadata"]["annotations"] = {"operator.prometheus.io/controller-id": "me"}
    worlds["mine"].put(own)
    flags = {
        "allowed": ["--namespaces=allowed"],
        "elsewhere": ["--deny-namespaces=allowed,denied,instances,mine"],
        "instances": [
            "--namespaces=allowed,instances",
            "--prometheus-instance-namespaces=instances",
            "--prometheus-instance-selector=team=a",
        ],
        "mine": ["--namespaces=mine", "--controller-id=me"],
    }
    # The workloads that each has, and the namespaces whose monitors they may not have.
    expected = {
        ("allowed", "main"): {"denied", "elsewhere", "instances", "mine"},
        ("elsewhere", "main"): {"allowed", "denied", "instances", "mine"},
        ("instances", "chosen"): {"denied", "elsewhere", "mine"},
        ("mine", "own"): {"allowed", "denied", "elsewhere", "instances"},
    }
    with ExitStack() as stack:
        for each in flags.values():
            stack.enter_context(Running.start(cluster, *each, ready=False))
        for (namespace, workload), unseen in expected.items():
            world = worlds[namespace]
            name = f"prometheus-{workload}"
            world.until(f"{namespace}/{name}", partial(world.get, "statefulset", name))
            found = namespaces_in(configuration(world, f"prometheus-{workload}"))
            assert namespace in found
            assert not found & unseen
        for namespace, world in worlds.items():
            sets = {each["metadata"]["name"] for each in world.list("statefulset")}
            wanted = {f"prometheus-{name}" for where, name in expected if where == namespace}
            assert sets == wanted


def namespaces_in(text: str) -> set[str]:
    """The namespaces of the ServiceMonitors in a configuration."""
    jobs = [part for part in text.split() if part.startswith("serviceMonitor/")]
    return {job.split("/")[1] for job in jobs}
