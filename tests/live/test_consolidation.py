"""Monitors as ScrapeConfigs on a real control plane: the same targets, and the operator's flag."""

from __future__ import annotations

import gzip
import json
import re
import threading
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.api.core import LabelSelector
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.consolidate import Inexpressible, consolidated, terms_of
from stoker.consolidate.configs import Consolidable
from stoker.select.assets import AssetsAtHand
from stoker.select.consolidated import CONSOLIDATED_FROM
from stoker.select.workload import Scraper
from tests.builders import prometheus, resource, service_monitor
from tests.conformance.cases import default_folder, suites
from tests.conformance.test_consolidation import monitors as recorded_monitors
from tests.equivalence import jobs_of
from tests.live.discovering import Pair, found_by_both
from tests.live.installing import kustomized, overlay
from tests.live.operating import Object, Running, World
from tests.live.scraping import target
from tests.promtool import refusals
from tests.unit.test_consolidate import MONITORS, VALUES, WORKLOADS, workload
from tools.api import ApiError, kubeconfig
from tools.cluster import Cluster

# Longer than anything waits here that was put off: the operator has no timers but the Lease's.
QUIET_SECONDS = 3.0
NAMESPACE_DEPTH = "/api/v1/namespaces/shop".count("/")
Case = tuple[Consolidable, Scraper, AssetsAtHand]
# What Kubernetes takes for the name of a port, or most of it.
_PORT = re.compile(r"(?=.{1,15}$)[a-z][a-z0-9]*(-[a-z0-9]+)*")

# --- The same targets -----------------------------------------------------------------------------


def own_cases() -> Iterator[Case]:
    """Our examples of monitors under our examples of workloads."""
    for spec in WORKLOADS.values():
        for monitor in MONITORS.values():
            yield monitor, workload(**spec), VALUES


def recorded_cases() -> Iterator[Case]:
    """Those of the recorded cases, where there are any."""
    found = suites(default_folder())
    for case in found["prometheus-config"].cases() if found else ():
        yield from recorded_monitors(case, agent=False)


def pairs_of(cases: Iterator[Case]) -> tuple[list[Pair], list[Consolidable]]:
    """The jobs of monitors with those of their ScrapeConfigs, each pair once; and the monitors."""
    pairs: dict[str, Pair] = {}
    converted = []
    for monitor, known, assets in cases:
        terms = terms_of(known)
        made = None if isinstance(terms, Inexpressible) else consolidated(monitor, terms)
        if made is None or made.problems or is_contradictory(monitor):
            continue
        converted.append(monitor)
        before = jobs_of(monitor, known, assets)
        after = [job for each in made.configs for job in jobs_of(each, known, assets)]
        pairs |= {str(one): (one, other) for one, other in zip(before, after, strict=True)}
    return list(pairs.values()), converted


def test_scrape_configs_find_the_targets_of_the_monitors(
    town: Town, cluster: Cluster, tmp_path: Path
) -> None:
    """Prometheus finds the same targets with the same labels, and drops as many."""
    pairs, converted = pairs_of(own_cases())
    recorded, more = pairs_of(recorded_cases())
    town.populate(converted + more)
    found = found_by_both([*pairs, *recorded], cluster.kubeconfig, tmp_path)
    own = found[: len(pairs)]
    print(f"{len(pairs)} pairs of our own, {len(recorded)} recorded")
    print(f"{sum(bool(each.active) for each in found)} of them find targets")
    assert sum(bool(each.active) for each in own) > 0.7 * len(own)


class Town:
    """Services, pods and Ingresses for monitors to find, each kind for all others to leave out."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._created: list[str] = []

    def populate(self, monitors: Sequence[Consolidable]) -> None:
        """Have something for each of these monitors."""
        wanted: dict[str, tuple[str, Object]] = {}
        for monitor in monitors:
            for namespace in namespaces_of(monitor):
                labels = labels_of(monitor)
                known = str((namespace, sorted(labels.items())))
                wanted.setdefault(known, (namespace, labels))
        ports = sorted({name for monitor in monitors for name in port_names(monitor)})[:30]
        for namespace in {namespace for namespace, _ in wanted.values()} - {"default"}:
            self._create("/api/v1/namespaces", {"metadata": {"name": namespace}})
            account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
            self._cluster.until(f"{namespace}", partial(self._cluster.api.get, account))
        names = {f"found-{index}": each for index, each in enumerate(wanted.values())}
        for name, (namespace, labels) in names.items():
            self._populate(namespace, name, labels, ports)
        self._cluster.until("both pods of each Service", lambda: self._has_pods(names))

    def _populate(self, namespace: str, name: str, labels: Object, ports: list[str]) -> None:
        """Have two pods and a Service, and an Ingress, that have these labels."""
        numbers = {"one": 8080, "two": 9100} | {each: 10000 + at for at, each in enumerate(ports)}
        listed = [{"name": each, "containerPort": number} for each, number in numbers.items()]
        core = f"/api/v1/namespaces/{namespace}"
        for each in ("a", "b"):
            pod = target(f"{name}-{each}", "node-0", {**labels, "who": name, "version": each})
            pod["spec"]["containers"][0]["ports"] = listed
            self._create(f"{core}/pods", pod)
        offered = [{"name": each["name"], "port": each["containerPort"]} for each in listed]
        spec: Object = {"selector": {"who": name}, "ports": offered}
        metadata = {"name": name, "labels": {**labels, "team": "shop"}}
        self._create(f"{core}/services", {"metadata": metadata, "spec": spec})
        backend = {"service": {"name": name, "port": {"number": 8080}}}
        paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
        rules = [{"host": f"{name}.example", "http": {"paths": paths}}]
        ingress = {"metadata": metadata, "spec": {"rules": rules}}
        self._create(f"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses", ingress)

    def _has_pods(self, names: Iterable[str]) -> bool:
        """Whether Services of these names have two addresses each, in both ways to ask for them."""
        slices = self._cluster.api.get("/apis/discovery.k8s.io/v1/endpointslices")["items"]
        ready = Counter(
            each["metadata"]["labels"].get("kubernetes.io/service-name")
            for each in slices
            for one in each.get("endpoints") or ()
            if one["conditions"].get("ready")
        )
        listed = Counter(
            each["metadata"]["name"]
            for each in self._cluster.api.get("/api/v1/endpoints")["items"]
            for subset in each.get("subsets") or ()
            for _ in subset.get("addresses") or ()
        )
        return all(ready[name] == listed[name] == 2 for name in names)

    def _create(self, path: str, body: Object) -> None:
        self._cluster.api.request("POST", path, body)
        self._created.append(f"{path}/{body['metadata']['name']}")

    def leave(self) -> None:
        """Delete what other tests might find; the rest goes with its namespace."""
        for path in self._created:
            is_namespace = path.count("/") == NAMESPACE_DEPTH
            if is_namespace or "/default/" in path:
                self._cluster.api.request("DELETE", path)


@pytest.fixture
def town(cluster: Cluster) -> Iterator[Town]:
    """A place to populate, left as it was."""
    made = Town(cluster)
    yield made
    made.leave()


def namespaces_of(monitor: Consolidable) -> set[str]:
    """Where a monitor looks, and where it is."""
    spec: Any = monitor.spec
    source = spec.targets.ingress if isinstance(monitor, Probe) else spec
    selector = source.namespace_selector if source else None
    return {monitor.metadata.namespace or "default", *((selector and selector.match_names) or ())}


def is_contradictory(monitor: Consolidable) -> bool:
    """Whether a label must have two values, so that there is nothing to find."""
    selector = getattr(monitor.spec, "selector", None) or LabelSelector()
    labels = selector.match_labels or {}
    return any(
        each.operator == "In" and labels.get(each.key, "") not in ("", *(each.values or ()))
        for each in selector.match_expressions or ()
    )


def labels_of(monitor: Consolidable) -> dict[str, str]:
    """Labels that a monitor selects, as far as that is easy to tell."""
    spec: Any = monitor.spec
    source = spec.targets.ingress if isinstance(monitor, Probe) else spec
    selector = source.selector if source else None
    if selector is None:
        return {}
    found = dict(selector.match_labels or {})
    for each in selector.match_expressions or ():
        if each.operator in ("In", "Exists"):
            found[each.key] = (each.values or ("any",))[0]
    return found


def port_names(monitor: Consolidable) -> Iterator[str]:
    """The names of ports that a monitor asks for."""
    spec: Any = monitor.spec
    endpoints: Any = ()
    if isinstance(monitor, ServiceMonitor):
        endpoints = spec.endpoints
    elif isinstance(monitor, PodMonitor):
        endpoints = spec.pod_metrics_endpoints or ()
    for each in endpoints:
        for port in (each.port, each.target_port):
            if isinstance(port, str) and _PORT.fullmatch(port):
                yield port


# --- The flag -------------------------------------------------------------------------------------


class Watched:
    """Every configuration that a workload has had since it was watched, as jobs by name."""

    def __init__(self, world: World, secret: str) -> None:
        self.seen: list[str] = []
        self._world = world
        self._secret = secret
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        version = ""
        while not self._stopped.wait(0.02):
            found = None
            # The API server is busy: it is asked again.
            with suppress(OSError, HTTPException, ApiError):
                found = self._world.get("secret", self._secret)
            if found and found["metadata"]["resourceVersion"] != version:
                version = found["metadata"]["resourceVersion"]
                self.seen.append(text_in(found))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch for as long as the block runs."""
        self._thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            self._thread.join()


def text_in(secret: Object) -> str:
    """The configuration that a Secret holds."""
    return gzip.decompress(b64decode(secret["data"]["prometheus.yaml.gz"])).decode()


def configuration(world: World) -> str:
    """The configuration of the Prometheus `main`."""
    found = world.get("secret", "prometheus-main")
    assert found
    return text_in(found)


def jobs_in(text: str) -> list[str]:
    """The names of all jobs, without the namespace."""
    lines = [line for line in text.splitlines() if line.startswith("- job_name: ")]
    return [line.split(": ", 1)[1].replace(line.split("/")[1] + "/", "") for line in lines]


def jobs(world: World) -> set[str]:
    """The names of all jobs that the Prometheus `main` has now."""
    return set(jobs_in(configuration(world)))


def scrape_configs(world: World) -> dict[str, Object]:
    """All ScrapeConfigs by name."""
    return {each["metadata"]["name"]: each for each in world.list("scrapeconfigs")}


CONSOLIDATED = {
    "scrapeConfig/servicemonitor-web-0",
    "serviceMonitor/files/0",
    "scrapeConfig/podmonitor-pods-0",
    "scrapeConfig/podmonitor-pods-1",
    "scrapeConfig/probe-sites-0",
    "scrapeConfig/own",
}
SEPARATE = {
    "serviceMonitor/files/0",
    "serviceMonitor/web/0",
    "podMonitor/pods/0",
    "podMonitor/pods/1",
    "probe/sites",
    "scrapeConfig/own",
}


def monitors() -> list[Object]:
    """Monitors of all kinds, one that no ScrapeConfig can express, and a user's ScrapeConfig."""
    selector = {"matchLabels": {"app": "web"}}
    ends = [{"port": "web"}, {"portNumber": 8081}]
    static = {"staticConfig": {"static": ["https://a.example"]}}
    return [
        service_monitor("web"),
        service_monitor("files", bearerTokenFile="/token"),
        resource("PodMonitor", "pods", {"selector": selector, "podMetricsEndpoints": ends}),
        resource("Probe", "sites", {"prober": {"url": "prober:9115"}, "targets": static}),
        resource("ScrapeConfig", "own", {"staticConfigs": [{"targets": ["a:1"]}]}),
    ]


def start(world: World, account: Path, *flags: str) -> Running:
    """Start an operator for the namespace."""
    scope = f"--namespaces={world.namespace}"
    # The role is for the Lease of one of them, and here are two at a time.
    alone = "--leader-election=false"
    return Running.start(world.cluster, scope, alone, *flags, kubeconfig=account)


@pytest.fixture
def account(world: World, tmp_path: Path) -> Path:
    """A kubeconfig of who may do what `deploy/namespaced` and `deploy/consolidate` allow."""
    folder = overlay(tmp_path, "namespaced", "consolidate", namespace=world.namespace)
    kinds = ("ServiceAccount", "Role", "RoleBinding")
    roles = [each for each in kustomized(folder) if each["kind"] in kinds]
    world.cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(roles))
    path = f"/api/v1/namespaces/{world.namespace}/serviceaccounts/stoker-operator/token"
    token = world.cluster.api.request("POST", path, {"spec": {}})["status"]["token"]
    config = json.loads(kubeconfig(world.cluster.url, token, world.cluster.ca_file))
    config["contexts"][0]["context"]["namespace"] = world.namespace
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    return file


def test_monitors_are_kept_as_scrape_configs_while_the_flag_is_set(
    world: World, account: Path
) -> None:
    """They are written, owned, mended and removed; the job is there at any moment."""
    world.put(prometheus("main"), *monitors())
    with start(world, account):
        world.until("a configuration", lambda: jobs(world) == SEPARATE)
    watched = Watched(world, "prometheus-main")
    with watched.watching():
        with start(world, account, "--consolidate-monitors") as running:
            world.until("jobs of ScrapeConfigs", lambda: jobs(world) == CONSOLIDATED)
            assert refusals([configuration(world)]) == [""]
            check_owned(world)
            check_bindings(world)
            check_follows(world)
            check_mended(world)
            check_foreign_name(world)
            check_monitor_gone(world)
            check_all_is_told(world)
            assert "a fault in the operator" not in running.log()
            assert "scrapeconfigs is forbidden" not in running.log()
        check_restart_is_quiet(world, account)
        with start(world, account):
            world.until("no more ScrapeConfigs", lambda: set(scrape_configs(world)) == OWN)
            # The configuration came first.
            assert jobs(world) == AFTERWARDS
    for text in watched.seen:
        seen = jobs_in(text)
        assert {"serviceMonitor/web/0", "scrapeConfig/servicemonitor-web-0"} & set(seen)
        assert {"probe/sites", "scrapeConfig/probe-sites-0"} & set(seen)
        # Prometheus would refuse it.
        assert len(seen) == len(set(seen))


OWN = {"own", "podmonitor-clash-0"}
AFTERWARDS = {each for each in SEPARATE if "pods" not in each} | {
    "podMonitor/clash/0",
    "scrapeConfig/podmonitor-clash-0",
}


def check_owned(world: World) -> None:
    """Each belongs to its monitor, has its labels, and has no binding."""
    made = scrape_configs(world)
    assert set(made) == {
        "own", "podmonitor-pods-0", "podmonitor-pods-1", "probe-sites-0", "servicemonitor-web-0",
    }  # fmt: skip
    monitor = world.get("servicemonitor", "web")
    assert monitor
    metadata = made["servicemonitor-web-0"]["metadata"]
    (owner,) = metadata["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (monitor["metadata"]["uid"], True)
    assert metadata["labels"][CONSOLIDATED_FROM] == "ServiceMonitor"
    assert not made["servicemonitor-web-0"].get("status")


def check_bindings(world: World) -> None:
    """The monitors say that they were accepted."""

    def accepted() -> bool:
        bound = [("servicemonitor", "web"), ("probe", "sites"), ("scrapeconfig", "own")]
        told = [world.bindings(*each)["prometheuses/main"]["status"] for each in bound]
        return told == ["True"] * len(bound)

    world.until("the bindings", accepted)


def check_follows(world: World) -> None:
    """A change of the monitor reaches its ScrapeConfig and the configuration made of that."""
    world.put(service_monitor("web", interval="17s"))
    world.until(
        "the ScrapeConfig to follow",
        lambda: scrape_configs(world)["servicemonitor-web-0"]["spec"]["scrapeInterval"] == "17s",
    )

    def follows() -> bool:
        text = configuration(world)
        return "17s" in text and "scrapeConfig/servicemonitor-web-0" in jobs_in(text)

    world.until("the configuration to follow", follows)


def check_mended(world: World) -> None:
    """What others do to one is undone, and never reaches the configuration."""
    name = "servicemonitor-web-0"
    world.patch("scrapeconfig", name, {"spec": {"scrapeInterval": "99s", "sampleLimit": 7}})

    def mended() -> bool:
        spec = scrape_configs(world)[name]["spec"]
        return spec["scrapeInterval"] == "17s" and "sampleLimit" not in spec

    world.until("the edit to be undone", mended)
    world.patch("scrapeconfig", name, {"metadata": {"ownerReferences": None}})
    world.until("its owner", lambda: scrape_configs(world)[name]["metadata"]["ownerReferences"])
    world.delete("scrapeconfig", "probe-sites-0")
    world.until("it to come back", lambda: "probe-sites-0" in scrape_configs(world))
    world.until("the jobs", lambda: jobs(world) == CONSOLIDATED)
    assert "99s" not in configuration(world)


def check_foreign_name(world: World) -> None:
    """A user's ScrapeConfig that has the name is left alone, and the monitor stays as it is."""
    theirs = resource(
        "ScrapeConfig", "podmonitor-clash-0", {"staticConfigs": [{"targets": ["b:1"]}]}
    )
    clash = {"selector": {}, "podMetricsEndpoints": [{"port": "web"}]}
    world.put(theirs, resource("PodMonitor", "clash", clash))
    world.until(
        "both jobs",
        lambda: (
            {"podMonitor/clash/0", "scrapeConfig/podmonitor-clash-0"}
            <= set(jobs_in(configuration(world)))
        ),
    )
    assert scrape_configs(world)["podmonitor-clash-0"]["spec"] == theirs["spec"]


def check_monitor_gone(world: World) -> None:
    """With the monitor its ScrapeConfigs go."""
    world.delete("podmonitor", "pods")
    world.until(
        "its ScrapeConfigs to go",
        lambda: not [name for name in scrape_configs(world) if "pods" in name],
    )
    world.until("its jobs to go", lambda: "pods" not in str(jobs(world)))


def check_all_is_told(world: World) -> None:
    """Nothing is left to be written: who comes next must find everything as it should be."""
    world.settled("prometheus", "main")

    def told() -> bool:
        bound = [("podmonitor", "clash"), ("scrapeconfig", "podmonitor-clash-0")]
        return all(world.bindings(*each)["prometheuses/main"] for each in bound)

    world.until("the last bindings", told)


def check_restart_is_quiet(world: World, account: Path) -> None:
    """Another process with the flag finds everything right, and nobody writes anything.

    Nor does an operator of others that has not the flag.
    """
    before = configuration(world)
    mark = world.cluster.audit.mark()
    with (
        start(world, account, "--consolidate-monitors") as running,
        start(world, account, "--controller-id=others"),
    ):
        world.until(
            "all to be looked at",
            lambda: running.metric("prometheus_operator_reconcile_operations_total") >= 1,
        )
        threading.Event().wait(QUIET_SECONDS)
    written = [each for each in world.writes(mark) if each.resource != "leases"]
    assert not written
    assert configuration(world) == before
