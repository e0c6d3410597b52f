"""`stoker migrate takeover` on a real API server: what it says comes true, and it only reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from stoker.__main__ import main
from tests.builders import service_monitor
from tests.conformance.cases import Case
from tests.takeover import shop
from tests.takeover.snapshot import Changes, Snapshot
from tests.takeover.trial import new_cluster, of_recorded
from tests.takeover.world import add_objects_of_the_peer, furnish
from tools.api import kubeconfig
from tools.cluster import Cluster

Object = dict[str, Any]
Output = pytest.CaptureFixture[str]
HOME = "office"
IMAGE = "registry.example.org/mirror/prometheus-operator:v0.94.1"
RBAC = "rbac.authorization.k8s.io"


def deployment(name: str, *flags: str) -> Object:
    """prometheus-operator under a name of somebody's own."""
    labels = {"app": name}
    container = {
        "name": "main",
        "image": IMAGE,
        "args": [*flags, "--web.enable-http2=true"],
        "env": [{"name": "GOGC", "value": "30"}],
    }
    pod = {"serviceAccountName": "watcher", "containers": [container]}
    return {
        "metadata": {"name": name, "namespace": HOME},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


class Site:
    """A cluster that prometheus-operator has furnished, and calls of the command there."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._deployments = f"/apis/apps/v1/namespaces/{HOME}/deployments"

    def install(self, name: str, *flags: str) -> None:
        """Put a Deployment there, or another in its place."""
        made = deployment(name, *flags)
        self.remove(name)
        self.cluster.api.request("POST", self._deployments, made)

    def remove(self, name: str) -> None:
        """Take a Deployment away."""
        found = self.cluster.api.get(self._deployments)["items"]
        if name in (each["metadata"]["name"] for each in found):
            self.cluster.api.request("DELETE", f"{self._deployments}/{name}")

    def look(self, capsys: Output, *words: str, config: Path | None = None) -> tuple[int, str]:
        """The exit status and all that is said; a look that writes is a failure."""
        mark = self.cluster.audit.mark()
        status = main(
            ["migrate", "takeover", "--kubeconfig", str(config or self.cluster.kubeconfig), *words]
        )
        done = self.cluster.audit.since(mark, "stoker-migrate")
        # What it asks about rights is in the log, so writes would be.
        assert done or status == 2
        kept = [each for each in done if not each.resource.endswith("subjectaccessreviews")]
        assert kept == []
        said = capsys.readouterr()
        return status, said.out + said.err

    def value(self, capsys: Output, *words: str, config: Path | None = None) -> tuple[int, Any]:
        """The exit status and the value for programs."""
        status, said = self.look(capsys, "-o", "json", *words, config=config)
        return status, json.loads(said)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """The shop as prometheus-operator made it, and the Deployment of that in a namespace apart."""
    world = shop.recorded_world()
    with new_cluster() as cluster:
        furnish(cluster, world.given)
        add_objects_of_the_peer(cluster, world)
        cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": HOME}})
        Snapshot.settled(cluster)
        yield Site(cluster)


@pytest.fixture
def furnished(site: Site) -> Iterator[Site]:
    """With one Deployment, whose flags are those of the record."""
    site.install("observer", *shop.FLAGS)
    yield site
    site.remove("observer")


def test_nothing_happens_to_what_prometheus_operator_made(furnished: Site, capsys: Output) -> None:
    """No pod, no judgement and no text; of the Service that two share, the ports of both."""
    status, found = furnished.value(capsys)
    assert (status, found["schema"], found["well"]) == (0, "stoker/migrate-takeover/v1", True)
    assert len(found["workloads"]) == 7
    assert {each["pods"] for each in found["workloads"]} == {"stay"}
    written = {name for each in found["workloads"] for name in each["written"]}
    assert written == {"Service shop/prometheus-operated"}
    operator = found["operator"]
    assert (operator["namespace"], operator["name"]) == (HOME, "observer")
    assert (operator["version"], operator["environment"]) == ("0.94.1", ["GOGC"])
    assert operator["arguments"] == list(shop.FLAGS)
    assert [each["age"] for each in found["definitions"]] == ["the same"] * 10
    assert found["adoption"]["objects"] > 40
    assert found["unknown"] == []
    status, said = furnished.look(capsys)
    assert status == 0
    assert said.startswith("nothing would happen to 5 of 7 workloads\n")


def test_rights_that_the_account_lacks_are_told(furnished: Site, capsys: Output) -> None:
    """Those of a role that it has are not among them; who may ask all lacks nothing itself."""
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}
    role = {"metadata": {"name": "watcher"}, "rules": [rule]}
    binding = {
        "metadata": {"name": "watcher"},
        "roleRef": {"kind": "ClusterRole", "name": "watcher", "apiGroup": RBAC},
        "subjects": [{"kind": "ServiceAccount", "namespace": HOME, "name": "watcher"}],
    }
    furnished.cluster.api.request("POST", f"/apis/{RBAC}/v1/clusterroles", role)
    furnished.cluster.api.request("POST", f"/apis/{RBAC}/v1/clusterrolebindings", binding)

    def is_told() -> list[str]:
        _, found = furnished.value(capsys)
        assert (found["rights"]["account"], found["rights"]["youLack"]) == (f"{HOME}/watcher", [])
        lacks: list[str] = found["rights"]["lacks"]
        assert "get secrets" not in lacks
        return lacks

    lacks = furnished.cluster.until("the role to count", lambda: _without_error(is_told))
    assert "patch servicemonitors.monitoring.coreos.com/status" in lacks
    assert "get configmaps" in lacks


def _without_error(look: Any) -> Any:
    try:
        return look()
    except AssertionError:
        return None


def test_flags_that_make_other_pods_are_told_with_the_field(
    furnished: Site, capsys: Output
) -> None:
    """Pods roll, and the status says so; so it does of a flag told by hand."""
    status, said = furnished.look(capsys, "--flag", "localhost=127.0.0.1")
    assert status == 1
    assert "Alertmanager shop/main: pods stay" not in said
    assert "Prometheus shop/short: pods roll" in said
    assert "spec.template.spec.containers" in said
    assert any(line.strip().startswith("+") and "127.0.0.1" in line for line in said.splitlines())


def test_a_flag_that_nobody_knows_leaves_it_open(furnished: Site, capsys: Output) -> None:
    """Then nothing is certain, and there is no script."""
    furnished.install("observer", *shop.FLAGS, "--brand-new=yes")
    status, said = furnished.look(capsys)
    assert (status, "--brand-new: stoker has no such flag" in said) == (2, True)
    status, said = furnished.look(capsys, "-o", "move")
    assert (status, "a script would be wrong" in said) == (2, True)
    furnished.install("observer", *shop.FLAGS)


def test_from_whom_we_take_over_must_be_clear(site: Site, capsys: Output) -> None:
    """None, several, one that is named, and one that is not there."""
    status, said = site.look(capsys)
    assert (status, "no Deployment of prometheus-operator" in said) == (2, True)
    site.install("one", *shop.FLAGS)
    site.install("two", *shop.FLAGS, "--namespaces=elsewhere")
    status, said = site.look(capsys)
    assert (status, f"{HOME}/one, {HOME}/two" in said) == (2, True)
    status, found = site.value(capsys, "--deployment", f"{HOME}/two")
    assert (status, found["workloads"], len(found["leftAlone"])) == (0, [], 7)
    status, said = site.look(capsys, "--deployment", f"{HOME}/three")
    assert (status, "three" in said) == (2, True)
    for name in ("one", "two"):
        site.remove(name)


def test_what_may_not_be_seen_is_not_known(furnished: Site, capsys: Output, tmp_path: Path) -> None:
    """Whoever may read our kinds alone hears what that does not cover, never that all is well."""
    api = furnished.cluster.api
    accounts = f"/api/v1/namespaces/{HOME}/serviceaccounts"
    api.request("POST", accounts, {"metadata": {"name": "reader"}})
    rules = [
        {"apiGroups": ["monitoring.coreos.com"], "resources": ["*"], "verbs": ["get", "list"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]},
    ]
    role = {"metadata": {"name": "reader"}, "rules": rules}
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {"kind": "ClusterRole", "name": "reader", "apiGroup": RBAC},
        "subjects": [{"kind": "ServiceAccount", "namespace": HOME, "name": "reader"}],
    }
    api.request("POST", f"/apis/{RBAC}/v1/clusterroles", role)
    api.request("POST", f"/apis/{RBAC}/v1/clusterrolebindings", binding)
    token = api.request("POST", f"{accounts}/reader/token", {"spec": {}})["status"]["token"]
    config = tmp_path / "kubeconfig"
    config.write_text(kubeconfig(furnished.cluster.url, token, furnished.cluster.ca_file))

    def is_told() -> Any:
        status, said = furnished.look(capsys, "-o", "json", config=config)
        found = json.loads(said) if said.startswith("{") else {"workloads": ()}
        return (status, found) if len(found["workloads"]) == 7 else None

    status, found = furnished.cluster.until("the role to count", is_told)
    assert status == 2
    unknown = " ".join(found["unknown"])
    for resource in ("secrets", "statefulsets", "customresourcedefinitions", "namespaces"):
        assert resource in unknown, unknown
    assert "the rights of" in unknown
    assert "create clusterroles.rbac.authorization.k8s.io" in found["rights"]["youLack"]


def altered(world: Case) -> Case:
    """The shop with objects that nobody would have made so."""
    objects: dict[str, Object] = deepcopy(world.expect["objects"])
    rolls = objects["statefulsets/alertmanager-main"]["spec"]["template"]["spec"]
    rolls["terminationGracePeriodSeconds"] = 121
    more = objects["statefulsets/prometheus-short"]["spec"]["template"]["spec"]
    more["enableServiceLinks"] = False
    more["dnsConfig"] = {"options": [{"name": "ndots", "value": "2"}]}
    surplus = deepcopy(objects["secrets/prometheus-short-tls-assets-0"])
    objects["secrets/prometheus-short-tls-assets-7"] = surplus
    surplus["metadata"]["name"] = "prometheus-short-tls-assets-7"
    del objects["secrets/prometheus-short-web-config"]
    return replace(world, expect={"objects": objects})


def test_what_is_foreseen_comes() -> None:
    """Pods that roll, objects that come and go, and a resource that was left out so far."""
    world = altered(shop.recorded_world())
    world.given["resources"].append(
        service_monitor("late") | {"metadata": {"name": "late", "namespace": shop.NAMESPACE}}
    )
    with new_cluster() as cluster:
        trial = of_recorded(cluster, [world])
    changes = Changes.between(trial.before, trial.after)
    assert list(trial.foreseen.mistakes(changes)) == []
    assert {name for _, name in changes.rolled} == {
        "statefulsets/alertmanager-main",
        "statefulsets/prometheus-short",
    }
    assert [name for _, name in changes.lost] == ["secrets/prometheus-short-tls-assets-7"]
    assert [name for _, name in changes.gained] == ["secrets/prometheus-short-web-config"]
    judged = {
        (each.workload, one.resource, one.before, one.after)
        for each in trial.foreseen.report.workloads
        for one in each.disagreements
    }
    late = ("ServiceMonitor shop/late", "left out", "taken")
    assert {("Prometheus shop/main", *late), ("Prometheus shop/short", *late)} <= judged
