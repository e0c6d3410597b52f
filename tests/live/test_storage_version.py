"""Objects come into another stored version, while an operator goes on with what it has.

One control plane with the conversion webhook: objects are written in an old version, the storage
version of their definitions changes, and `stoker migrate storage-version` brings them there. Their
schemas take anything, since the real ones take the API server seconds for each change of a
definition; `test_graduation.py` goes the way once with those.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from aiohttp import web

from stoker.__main__ import main
from stoker.api.crd import GROUP
from stoker.cluster import storage_version
from stoker.cluster.definitions import NOTE
from tests.builders import alertmanager, alertmanager_config, prometheus, resource
from tests.live.faults import Gateway, status
from tests.live.operating import Object, Running, World
from tests.live.test_operator_faults import configuration
from tests.live.test_webhook import Process, Site
from tools.api import ApiError, kubeconfig
from tools.audit import Write
from tools.cluster import Cluster
from tools.crds import install_crds

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLE = Path(__file__).parents[2] / "deploy" / "storage-version"
MANY = 8
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCRAPE_CONFIGS = f"/apis/{GROUP}/v1/namespaces/default/scrapeconfigs"
ALERTMANAGER_CONFIGS = f"/apis/{GROUP}/v1beta1/namespaces/default/alertmanagerconfigs"
# The old version and the new one.
VERSIONS = {"scrapeconfigs": ("v1alpha1", "v1"), "alertmanagerconfigs": ("v1alpha1", "v1beta1")}
Output = pytest.CaptureFixture[str]
# Prints the version that each object of a resource has in etcd.
READ_ETCD = """
import base64, json, sys, urllib.request
coded = lambda text: base64.b64encode(text.encode()).decode()
asked = {"key": coded(sys.argv[2] + "/"), "range_end": coded(sys.argv[2] + "0")}
answer = urllib.request.urlopen(sys.argv[1], data=json.dumps(asked).encode())
for found in json.load(answer).get("kvs") or ():
    print(json.loads(base64.b64decode(found["value"]))["apiVersion"].rpartition("/")[2])
"""


class Store:
    """What a cluster stores, and in which version."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def versions(self, plural: str) -> Counter[str]:
        """How many objects lie in etcd in each version."""
        file = self.cluster.directory / "stored"
        url = f"http://127.0.0.1:{self.cluster._ports.etcd}/v3/kv/range"
        command = [sys.executable, "-c", READ_ETCD, url, f"/registry/{GROUP}/{plural}"]
        with file.open("wb") as output:
            assert self.cluster.spawn(command, stdout=output, stderr=output).wait(30) == 0
        return Counter(file.read_text().split())

    def definition(self, plural: str) -> Object:
        """The definition of a kind."""
        found: Object = self.cluster.api.get(f"{DEFINITIONS}/{plural}.{GROUP}")
        return found

    def said(self, plural: str) -> list[str]:
        """The versions that the definition says are stored."""
        return list(self.definition(plural)["status"]["storedVersions"])

    def note(self, plural: str) -> str:
        """The note of a migration that is not complete."""
        return str((self.definition(plural)["metadata"].get("annotations") or {}).get(NOTE, ""))

    def change(self, plural: str, version: str, served: tuple[str, ...] = ()) -> None:
        """Store in a version, and serve only those named, or all."""
        versions = self.definition(plural)["spec"]["versions"]
        for each in versions:
            each["storage"] = each["name"] == version
            each["served"] = not served or each["name"] in served
        self.patch(plural, {"spec": {"versions": versions}})

    def patch(self, plural: str, patch: Object) -> None:
        """Change a definition."""
        path = f"{DEFINITIONS}/{plural}.{GROUP}"
        self.cluster.api.request("PATCH", path, patch, "application/merge-patch+json")


class Command:
    """`stoker migrate storage-version` with a kubeconfig."""

    def __init__(self, kubeconfig: Path, output: Output) -> None:
        self._words = ["migrate", "storage-version", "--kubeconfig", str(kubeconfig)]
        self._output = output

    def __call__(self, *words: str) -> tuple[int, str]:
        """Run it to its end; the exit status and what it said."""
        self._output.readouterr()
        code = main([*self._words, *words])
        said = self._output.readouterr()
        return code, said.out + said.err

    def ended_by(
        self, what: signal.Signals, store: Store, plural: str, qps: int = 1
    ) -> tuple[int, str]:
        """Run it as a process that a signal ends after the first objects."""
        command = [sys.executable, "-m", "stoker", *self._words, plural, f"--qps={qps}"]
        mark = store.cluster.audit.mark()
        # A shell lets what it runs in the background ignore it, and so would all that we start.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        signal.signal(signal.SIGINT, before)
        store.cluster.until("the first object", lambda: written(store.cluster, mark))
        running.send_signal(what)
        _, said = running.communicate(timeout=60)
        return running.returncode, said


def scrape_config(name: str, **spec: object) -> Object:
    """A ScrapeConfig with a target of its own, and a field that v1 calls otherwise."""
    targets = [{"targets": [f"{name}.example:80"]}]
    proxy = {"proxyUrl": "http://proxy.example"}
    return resource("ScrapeConfig", name, {"staticConfigs": targets} | proxy | spec)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A control plane of its own, whose API server converts through our webhook."""
    with Cluster.start(nodes=1) as cluster:
        old = [f"--storage-version={plural}={old}" for plural, (old, _) in VERSIONS.items()]
        kinds = ("prometheus", "alertmanager", "scrapeconfig", "alertmanagerconfig")
        options = ("--no-descriptions", "--without-cel", "--conversion-webhook=stoker/webhook")
        install_crds(cluster, *kinds, *options, *old)
        made = Site(cluster, tmp_path_factory.mktemp("webhook"))
        for plural in VERSIONS:
            # The Service would need pods.
            client = made.client("/convert") | {"service": None}
            conversion = {"webhook": {"clientConfig": client}}
            versions = Store(cluster).definition(plural)["spec"]["versions"]
            for each in versions:
                # With the whole schema every change of a definition takes the API server seconds.
                each["schema"] = {"openAPIV3Schema": ANYTHING}
            spec = {"conversion": conversion, "versions": versions}
            Store(cluster).patch(plural, {"spec": spec})
        for name, kind in (("job", scrape_config), ("team", alertmanager_config)):
            for number in range(MANY):
                World(cluster, "default").put(kind(f"{name}-{number}"))
        yield made


@pytest.fixture
def store(site: Site) -> Store:
    """What the cluster stores."""
    return Store(site.cluster)


def kubeconfig_of(cluster: Cluster, role: str) -> Path:
    """A kubeconfig of somebody who has this ClusterRole and no other."""
    metadata = {"metadata": {"name": role}}
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    cluster.api.request("POST", accounts, metadata)
    bound = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": role, "namespace": "default"}],
    }
    cluster.api.request("POST", f"{RBAC}/clusterrolebindings", metadata | bound)
    asked = cluster.api.request("POST", f"{accounts}/{role}/token", {"spec": {}})
    file = cluster.directory / f"kubeconfig-{role}"
    file.write_text(kubeconfig(cluster.url, asked["status"]["token"], cluster.ca_file))
    return file


@pytest.fixture(scope="module")
def account(site: Site) -> Path:
    """A kubeconfig of somebody who may do what `deploy/storage-version` allows, and no more."""
    site.cluster.kubectl("apply", "-k", str(ROLE))
    return kubeconfig_of(site.cluster, "stoker-storage-version")


@pytest.fixture
def migrate(account: Path, capsys: Output) -> Command:
    """The command as somebody who may do just what it needs."""
    return Command(account, capsys)


def refuse(cluster: Cluster, name: str) -> None:
    """Have the API server refuse every write of an AlertmanagerConfig."""
    rule = {
        "apiGroups": [GROUP],
        "apiVersions": ["*"],
        "operations": ["UPDATE"],
        "resources": ["alertmanagerconfigs"],
    }
    check = {"expression": f"object.metadata.name != {name!r}", "message": "frozen by us"}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [check]}
    policy = {"metadata": {"name": "frozen"}, "spec": spec}
    binding = {"policyName": "frozen", "validationActions": ["Deny"]}
    bound = {"metadata": {"name": "frozen"}, "spec": binding}
    cluster.api.request("POST", f"{ADMISSION}/validatingadmissionpolicies", policy)
    cluster.api.request("POST", f"{ADMISSION}/validatingadmissionpolicybindings", bound)
    cluster.until("refusals", lambda: not is_writable(cluster, name))


def is_writable(cluster: Cluster, name: str) -> bool:
    """Whether an AlertmanagerConfig can be changed."""
    patch, path = {"metadata": {"labels": {"tried": "yes"}}}, f"{ALERTMANAGER_CONFIGS}/{name}"
    try:
        cluster.api.request("PATCH", f"{path}?dryRun=All", patch, "application/merge-patch+json")
    except ApiError:
        return False
    return True


def test_what_is_refused_is_named_and_nothing_is_trimmed(
    site: Site, store: Store, migrate: Command, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that is forgotten half-way is made again; a webhook that is down is told."""
    cluster, plural = site.cluster, "alertmanagerconfigs"
    store.change(plural, "v1beta1")
    assert site.webhook.stop() == 0
    code, said = migrate(plural)
    assert code == 1
    assert "conversion webhook" in said
    assert "See that `stoker webhook` runs" in said
    site.webhook = Process(cluster, site.folder, site.port)

    refuse(cluster, "team-3")
    monkeypatch.setattr(storage_version, "PAGE", 3)
    code, said = migrate("amcfg", "--dry-run")
    assert code == 1
    assert f"{MANY - 1} of {MANY} objects would be stored as v1beta1" in said
    assert store.versions(plural) == {"v1alpha1": MANY}
    forgotten: list[str] = []

    def forget_once(request: web.Request) -> web.Response | None:
        if "continue" not in request.query or forgotten:
            return None
        forgotten.append(request.path)
        return status(410, "Expired")

    tried: Counter[str] = Counter()

    def count_and_forget(request: web.Request) -> web.Response | None:
        if request.method == "PATCH" and plural in request.path.split("/"):
            tried[request.path] += 1
        return forget_once(request)

    with Gateway(cluster) as gateway:
        gateway.fault = count_and_forget
        code, said = Command(gateway.kubeconfig, capsys)("amcfg", "--dry-run")
        assert f"{MANY - 1} of {MANY} objects would be stored as v1beta1" in said
        assert forgotten
        assert (len(tried), tried.total()) == (MANY, MANY)
        forgotten.clear()
        gateway.fault = forget_once
        code, said = Command(gateway.kubeconfig, capsys)()
    assert forgotten
    assert code == 1
    assert "  default/team-3: " in said
    assert "frozen by us" in said
    assert store.versions(plural) == {"v1alpha1": 1, "v1beta1": MANY - 1}
    assert store.said(plural) == ["v1alpha1", "v1beta1"]
    cluster.api.request("DELETE", f"{ADMISSION}/validatingadmissionpolicybindings/frozen")
    cluster.until("no refusals", lambda: is_writable(cluster, "team-3"))
    mark = cluster.audit.mark()
    assert migrate("alertmanagerconfig")[0] == 0
    assert [each.name for each in written(cluster, mark)] == ["team-3"]
    # There and back.
    store.change(plural, "v1alpha1")
    assert migrate()[0] == 0
    assert store.versions(plural) == {"v1alpha1": MANY}
    assert store.said(plural) == ["v1alpha1"]


def written(cluster: Cluster, mark: int) -> list[Write]:
    """What was written to objects of the two kinds since a mark, by us and by the operator."""
    return [each for each in cluster.audit.since(mark, "stoker") if each.resource in VERSIONS]


def test_somebody_without_the_role_is_told_what_is_missing(
    site: Site, store: Store, capsys: Output
) -> None:
    """Nothing is written before everything is allowed."""
    groups = {"apiextensions.k8s.io": "customresourcedefinitions", GROUP: "scrapeconfigs"}
    rules = [
        {"apiGroups": [group], "resources": [plural], "verbs": ["get", "list"]}
        for group, plural in groups.items()
    ]
    role = {"metadata": {"name": "reader"}, "rules": rules}
    site.cluster.api.request("POST", f"{RBAC}/clusterroles", role)
    code, said = Command(kubeconfig_of(site.cluster, "reader"), capsys)("scrapeconfig")
    assert code == 2
    assert f"you cannot patch scrapeconfigs.{GROUP}: deploy/storage-version has the role" in said
    assert not store.note("scrapeconfigs")


def test_objects_come_into_the_new_version_and_the_operator_never_loses_one(
    site: Site, store: Store, migrate: Command
) -> None:
    """Stopped half-way it goes on; then the old version may go, and the webhook with it.

    The operator writes nothing while objects are migrated, and follows to the new version.
    """
    cluster, world = site.cluster, World(site.cluster, "default")
    world.put(prometheus("main"), alertmanager("main"))
    with Running.start(cluster, "--namespaces=default") as operator:
        world.until("all jobs", lambda: has_jobs(world, range(MANY)))
        for number in range(MANY):
            for kind, name in (("scrapeconfig", "job"), ("alertmanagerconfig", "team")):
                world.until("a binding", partial(accepted, world, kind, f"{name}-{number}"))
        # The stored version is not served for a while: the webhook gives what there is.
        store.change("scrapeconfigs", "v1alpha1", served=("v1beta1", "v1"))
        moves(world, "aside.example:80")
        store.change("scrapeconfigs", "v1alpha1")
        world.until("the way back", lambda: "is watched as v1alpha1" in operator.log())
        mark = cluster.audit.mark()
        for plural, (old, new) in VERSIONS.items():
            store.change(plural, new)
            assert store.versions(plural) == {old: MANY}
        assert migrate.ended_by(signal.SIGKILL, store, "alertmanagerconfigs")[0] < 0
        code, said = migrate.ended_by(signal.SIGINT, store, "scrapeconfigs")
        assert code == 130
        assert f" of {MANY} stored as v1; the same command goes on from there" in said
        for plural, (old, new) in VERSIONS.items():
            assert 0 < store.versions(plural)[new] < MANY
            assert store.said(plural) == [old, new]
            assert new in store.note(plural)
        assert migrate()[0] == 0
        for plural, (_, new) in VERSIONS.items():
            assert store.versions(plural) == {new: MANY}
            assert store.said(plural) == [new]
            assert not store.note(plural)
        writes = written(cluster, mark)
        assert {each.agent.partition("/")[0] for each in writes} == {"stoker-migrate"}
        # Each once, save for one that was under way when it was killed.
        assert 2 * MANY <= len(writes) <= 2 * MANY + 2
        assert not [each for each in world.writes(mark) if each.resource == "secrets"]
        assert "nothing to do, all are stored as v1" in migrate("scfg")[1]

        for plural, (_, new) in VERSIONS.items():
            store.change(plural, new, served=(new,))
        moves(world, "moved.example:80")
        assert f"scrapeconfigs.{GROUP} in namespace default is watched as v1" in operator.log()
        assert migrate()[0] == 0
        # From here on nothing needs to be converted, not even to know who owns which field.
        assert site.webhook.stop() == 0
        for plural, (_, new) in VERSIONS.items():
            kept = [v for v in store.definition(plural)["spec"]["versions"] if v["name"] == new]
            store.patch(plural, {"spec": {"versions": kept}})
        moves(world, "again.example:80")
        words = ["explain", "scrapeconfig", "default/job-0"]
        assert main([*words, "--kubeconfig", str(cluster.kubeconfig)]) == 0
        kept = cluster.until("an answer", lambda: cluster.api.get(ALERTMANAGER_CONFIGS)["items"])
        assert len(kept) == MANY


def moves(world: World, target: str) -> None:
    """A change in the new version reaches the configuration, and the others are all still there."""
    spec = {"staticConfigs": [{"targets": [target]}], "proxyURL": "http://proxy.example"}
    changed = resource("ScrapeConfig", "job-0", spec) | {"apiVersion": f"{GROUP}/v1"}
    world.until("a version that is served", lambda: world.cluster.api.get(SCRAPE_CONFIGS))
    world.put(changed)
    world.until("the change", lambda: target in configuration(world))
    assert has_jobs(world, range(1, MANY))
    assert configuration(world).count("proxy_url: http://proxy.example") == MANY

    def observed() -> bool:
        found = world.cluster.api.get(f"{SCRAPE_CONFIGS}/job-0")
        condition = found["status"]["bindings"][0]["conditions"][0]
        current = condition["observedGeneration"] == found["metadata"]["generation"]
        return bool(condition["status"] == "True" and current)

    world.until("its binding", observed)


def has_jobs(world: World, numbers: range) -> bool:
    """Whether the configuration has these ScrapeConfigs."""
    text = configuration(world)
    return all(f"job-{number}.example:80" in text for number in numbers)


def accepted(world: World, kind: str, name: str) -> bool:
    """Whether a resource is bound."""
    bindings = world.bindings(kind, name)
    return bool(bindings and all(each["status"] == "True" for each in bindings.values()))
