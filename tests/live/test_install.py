"""Installing: the chart and deploy/ are the same thing, and an operator runs with just that.

What is installed is what `helm` and `kubectl kustomize` make. The operator's pods come to life on
kwok nodes, which run nothing; so the operator is started as a process, with the arguments of its
container and the rights of its service account.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.api.crd import ConversionWebhook, Kind, manifest, with_webhook
from stoker.api.kinds import KINDS
from tests.builders import prometheus, service_monitor
from tests.live.installing import (
    CHART,
    DEFINITIONS,
    NAMESPACE,
    Object,
    comparable,
    helm,
    kustomized,
    overlay,
    rendered,
    until_found,
)
from tests.live.operating import Running, World
from tests.live.test_operator_access import Site
from tests.live.test_operator_faults import configuration
from tools.cluster import Cluster
from tools.crds import install_crds

# What the chart is told, and the folder of deploy/ and the components that say the same.
SAME: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "cluster": ((), "cluster", ()),
    "namespaced": (("scope=namespaced",), "namespaced", ()),
    "cluster, all": (
        (
            "repair.enabled=true",
            "consolidate.enabled=true",
            "nodeDiscovery.enabled=true",
            "kubelet.endpointSlices=true",
            "statusPage.login=true",
            "dashboard.enabled=true",
        ),
        "cluster",
        ("kubelet/endpointslices", "repair", "consolidate", "node-discovery", "page", "dashboard"),
    ),
    "namespaced, all": (
        (
            "scope=namespaced",
            "repair.enabled=true",
            "consolidate.enabled=true",
            "nodeDiscovery.enabled=true",
            "statusPage.login=true",
        ),
        "namespaced",
        ("repair", "consolidate", "node-discovery", "page"),
    ),
}
WEBHOOK = ("webhook.enabled=true",)
OWN = (*WEBHOOK, "webhook.caBundle=Q0E=")
CERT_MANAGER = (*WEBHOOK, "webhook.certManager.enabled=true")
SAME_WEBHOOK: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "own certificate": (OWN, "webhook/own-certificate", ()),
    "cert-manager": (CERT_MANAGER, "webhook/cert-manager", ()),
    "monitors": ((*OWN, "webhook.monitors=true"), "webhook/own-certificate", ("webhook/monitors",)),
    "workloads": (
        (*OWN, "webhook.workloads=true"),
        "webhook/own-certificate",
        ("webhook/workloads",),
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_the_chart_and_the_folder_install_the_same(case: str, tmp_path: Path) -> None:
    """Roles, arguments, security contexts and all the rest; labels of Helm aside."""
    values, base, components = SAME[case]
    folder = kustomized(overlay(tmp_path, base, *components))
    assert comparable(rendered(*values)) == comparable(folder)


@pytest.mark.parametrize("case", SAME_WEBHOOK)
def test_the_webhook_of_the_chart_is_that_of_the_folder(case: str, tmp_path: Path) -> None:
    """With both sorts of certificates, with monitors, and with workloads."""
    values, base, components = SAME_WEBHOOK[case]
    folder = comparable(kustomized(overlay(tmp_path, base, *components)))
    chart = comparable(rendered(*values))
    operator = comparable(rendered())
    assert {place: each for place, each in chart.items() if place not in operator} == folder


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (["replicas=3"], "replicas"),
        (["operator.replicas=many"], "replicas"),
        (["scope=planet"], "scope"),
        (["operator.args={log-level=debug}"], "args"),
        (["operator.args={--consolidate-monitors}"], "use `consolidate.enabled`"),
        (["operator.args={--node-discovery-url=a}"], "use `nodeDiscovery.enabled`"),
        (["operator.args={--kubelet-service=a/b}"], "use `kubelet.service`"),
        (["operator.args={--page-auth=kubernetes}"], "use `statusPage.login`"),
        (["repair.policy=none"], "policy"),
        (["image.digest=latest"], "digest"),
        ([r"commonLabels.app\.kubernetes\.io/name=other"], "commonLabels"),
        ([r"operator.podLabels.app\.kubernetes\.io/component=other"], "podLabels"),
        (["webhook.enabled=true"], "webhook.caBundle is needed"),
    ],
)
def test_values_that_mean_nothing_are_refused(values: list[str], complaint: str) -> None:
    """A name that does not exist or a value that cannot be is named, not passed over."""
    sets = [word for value in values for word in ("--set", value)]
    answer = helm("template", "stoker", str(CHART), *sets)
    assert answer.returncode != 0
    assert complaint in answer.stderr


def test_a_name_of_a_release_may_be_a_number() -> None:
    """Labels are strings, whatever they look like."""
    answer = helm("template", "2024", str(CHART), "--namespace", NAMESPACE)
    labels = yaml.safe_load(answer.stdout.split("\n---\n")[0])["metadata"]["labels"]
    assert labels["app.kubernetes.io/instance"] == "2024"


def test_everything_that_can_be_set_arrives() -> None:
    """Placement, flags, names, digests, namespaces: nothing of the values is without effect."""
    objects = rendered(*(f"{name}={value}" for name, value in PLAIN.items()), *_jsons())
    deployment = comparable(objects)["Deployment", NAMESPACE, "mine-operator"]
    pod = deployment["spec"]["template"]
    for word in ("team-a", "note-a", "zone-a", "taint-a", "urgent", "pull-a", "VARIABLE"):
        assert word in json.dumps(pod)
    container = pod["spec"]["containers"][0]
    assert container["args"] == [
        "operator",
        "--leader-election-id=mine-operator",
        "--namespaces=shop,office",
        "--log-format=json",
    ]
    image = _deployment(objects)["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == f"images.example.org/stoker@sha256:{'a' * 64}"
    roles = {
        (each["metadata"]["namespace"], each["subjects"][0]["namespace"])
        for each in objects
        if each["kind"] == "RoleBinding" and each["metadata"]["name"] == "mine-operator"
    }
    assert roles == {("shop", NAMESPACE), ("office", NAMESPACE)}
    assert all(each["metadata"]["labels"]["cost"] == "b" for each in objects)
    kinds = {each["kind"] for each in objects}
    assert not kinds & {"ClusterRole", "ServiceMonitor", "PodDisruptionBudget"}


PLAIN = {
    "fullnameOverride": "mine",
    "scope": "namespaced",
    "image.repository": "images.example.org/stoker",
    "image.digest": f"sha256:{'a' * 64}",
    "serviceMonitor.enabled": "false",
    "podDisruptionBudget.enabled": "false",
    "commonLabels.cost": "b",
    "operator.priorityClassName": "urgent",
}
SET_ALL: dict[str, Any] = {
    "namespaces": ["shop", "office"],
    "imagePullSecrets": [{"name": "pull-a"}],
    "operator.args": ["--log-format=json"],
    "operator.env": [{"name": "VARIABLE", "value": "x"}],
    "operator.podLabels": {"team": "team-a"},
    "operator.podAnnotations": {"note": "note-a"},
    "operator.nodeSelector": {"zone": "zone-a"},
    "operator.tolerations": [{"key": "taint-a", "operator": "Exists"}],
}


def _jsons() -> Iterator[str]:
    """The same as words for `--set`, which takes paths and plain values only."""
    for path, value in SET_ALL.items():
        for name, text in _leaves(value):
            yield f"{path}{name}={text}"


def _leaves(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            step = f"[{key}]" if isinstance(value, list) else f".{key}"
            for name, text in _leaves(inner):
                yield step + name, text
    else:
        yield "", str(value)


def _deployment(objects: list[Object]) -> Object:
    return next(each for each in objects if each["kind"] == "Deployment")


# --- On a real API server -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A cluster of our own: definitions and roles belong to the whole of it."""
    with Cluster.start(nodes=1) as cluster:
        yield Site(cluster, cluster.url)


@pytest.fixture(scope="module")
def defined(site: Site) -> Site:
    """With definitions that came from elsewhere first, and that Helm has taken over."""
    install_crds(site.cluster, "prometheuses")
    _release(site, "install", "--create-namespace", "--take-ownership", "--force-conflicts")
    until_found(site.cluster)
    return site


def _release(site: Site, verb: str, *options: str) -> None:
    words = (verb, "stoker-crds", str(DEFINITIONS), "--namespace", NAMESPACE, *options)
    answer = helm(*words, kubeconfig=site.cluster.kubeconfig)
    assert answer.returncode == 0, answer.stderr


def test_the_definitions_are_upgraded_and_fit(defined: Site) -> None:
    """Whole, with descriptions; a release takes less than two thirds of what a Secret can hold.

    Helm keeps a release, the chart with it, in a Secret of at most 1 MiB. An upgrade changes the
    definitions; uninstalling leaves them, and all objects of their kinds, where they are.
    """
    assert _size(defined, 1) < 2 / 3
    for each in rendered(chart=DEFINITIONS):
        assert each["metadata"]["annotations"].pop("helm.sh/resource-policy") == "keep"
        wanted = manifest(_kind(each))
        wanted["metadata"].setdefault("annotations", {})
        assert each == wanted

    _release(defined, "upgrade", "--set", "labels.team=a")
    assert _probes(defined)["metadata"]["labels"]["team"] == "a"


def _size(site: Site, revision: int) -> float:
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets/sh.helm.release.v1.stoker-crds.v{revision}"
    return len(base64.b64decode(site.cluster.api.get(path)["data"]["release"])) / 2**20


def _probes(site: Site) -> Object:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/probes.monitoring.coreos.com"
    found: Object = site.cluster.api.get(path)
    return found


def test_definitions_may_convert_through_the_webhook() -> None:
    """All versions are served then, and the API server is told where to ask, and by whom."""
    told = ("conversion.enabled=true", "conversion.caBundle=Q0E=", "conversion.service.namespace=x")
    asked = ConversionWebhook("x", "stoker-webhook", ca_bundle="Q0E=")
    for each in rendered(*told, chart=DEFINITIONS):
        kind = _kind(each)
        wanted = manifest(kind, serving=with_webhook(kind, asked))
        assert each["spec"] == wanted["spec"]


def test_definitions_do_not_convert_through_a_webhook_that_nobody_can_trust() -> None:
    """Every read of a converted kind would fail; an injector of certificates is trusted to act."""
    asked = ("--set", "conversion.enabled=true")
    answer = helm("template", "stoker-crds", str(DEFINITIONS), *asked)
    assert answer.returncode != 0
    assert "conversion.caBundle is needed" in answer.stderr
    assert rendered("conversion.enabled=true", "annotations.filled-by=another", chart=DEFINITIONS)


def _kind(definition: Object) -> Kind:
    return next(kind for kind in KINDS if kind.name == definition["spec"]["names"]["kind"])


@pytest.mark.parametrize("scope", ["cluster", "namespaced"])
@pytest.mark.parametrize("way", ["helm", "kustomize"])
def test_what_is_installed_is_enough_to_work(
    defined: Site, way: str, scope: str, tmp_path: Path
) -> None:
    """The API server takes all of it, and the operator reconciles with exactly those rights.

    Where it looks after its own namespace, the workload is there too.
    """
    world = defined.world(f"{way}-{scope}")
    defined.home = NAMESPACE if scope == "cluster" else world.namespace
    objects = _installed(way, scope, defined.home, tmp_path)
    text = yaml.dump_all(objects, Dumper=yaml.CSafeDumper)
    defined.cluster.kubectl("apply", "-f", "-", input=text)
    for role in (each for each in objects if each["kind"] in ("ClusterRole", "Role")):
        defined.cluster.until("its rights", partial(_counts, defined, role))
    with defined.started(*_arguments(objects, defined.home)) as operator:
        works(world, operator)
    # Before the next one: rights in the whole cluster, and a selector that cannot be changed.
    left = [each for each in objects if each["kind"].startswith(("Cluster", "Deployment"))]
    text = yaml.dump_all(left, Dumper=yaml.CSafeDumper)
    defined.cluster.kubectl("delete", "-f", "-", input=text)


def _counts(site: Site, role: Object) -> bool:
    """Whether the API server has learnt of a role of the operator, judged by its first rule."""
    rule = role["rules"][0]
    asked = {
        "namespace": role["metadata"].get("namespace", ""),
        "verb": rule["verbs"][0],
        "group": rule["apiGroups"][0],
        "resource": rule["resources"][0],
        "name": (rule.get("resourceNames") or [""])[0],
    }
    user = f"system:serviceaccount:{site.home}:stoker-operator"
    review = {"spec": {"user": user, "resourceAttributes": asked}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(site.cluster.api.request("POST", path, review)["status"]["allowed"])


def _installed(way: str, scope: str, home: str, folder: Path) -> list[Object]:
    if way == "helm":
        return rendered(f"scope={scope}", namespace=home)
    return kustomized(overlay(folder, scope, namespace=home if home != NAMESPACE else ""))


def _arguments(objects: list[Object], home: str) -> list[str]:
    """The flags of the container, as a kubelet hands them over."""
    name, *flags = _deployment(objects)["spec"]["template"]["spec"]["containers"][0]["args"]
    assert name == "operator"
    return [flag.replace("$(POD_NAMESPACE)", home) for flag in flags]


def works(world: World, operator: Running) -> None:
    """A Prometheus with a monitor is settled, and nothing of it was forbidden."""
    world.put(prometheus("main"), service_monitor("shop"))
    world.settled("prometheus", "main")
    job = f"serviceMonitor/{world.namespace}/shop"
    world.until("the job", lambda: job in configuration(world))
    world.until("a binding", lambda: world.bindings("servicemonitor", "shop"))
    forbidden = [line for line in operator.log().splitlines() if "orbidden" in line]
    # Namespaces cannot be watched by a Role; their labels are read instead.
    assert [line for line in forbidden if "namespaces is forbidden" not in line] == []
