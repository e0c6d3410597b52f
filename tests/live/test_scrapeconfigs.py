"""ScrapeConfigs from beginning to end: the operator writes, a real Prometheus finds and scrapes."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.__main__ import main
from stoker.api.crd import GROUP
from tests.builders import prometheus, resource, stored_secret
from tests.live.naming import RESOLVER, RESOLVING, Records, name_server, write
from tests.live.operating import Object, Running, World
from tests.live.scraping import PORTS, active_targets, allow_discovery, exporter, our_reloader
from tools.cluster import Cluster
from tools.crds import install_crds
from tools.podrunner import PodRunner

Targets = dict[str, set[str]]
"""The instances of each job."""

PORT = PORTS["web"]
# Names that the test's own name server knows, at addresses where the exporter answers.
SHOP, BANK = "10.244.200.1", "10.244.200.2"
RECORDS: Records = {
    "shop.example": {"A": [SHOP, BANK]},
    "bank.example": {"A": [BANK]},
    "_web._tcp.bank.example": {"SRV": [["bank.example", PORTS["admin"]]]},
}


def scrape_config(name: str, **spec: Any) -> Object:
    """A ScrapeConfig."""
    return resource("ScrapeConfig", name, spec)


def static(name: str, *hosts: str) -> Object:
    """A ScrapeConfig of targets that it names itself."""
    return scrape_config(name, staticConfigs=[{"targets": [f"{each}:{PORT}" for each in hosts]}])


def additional(host: str) -> Object:
    """The Secret with a job in the words of Prometheus."""
    jobs = [{"job_name": "by-hand", "static_configs": [{"targets": [f"{host}:{PORT}"]}]}]
    return stored_secret("jobs", {"jobs.yaml": json.dumps(jobs)})


def scraper(*namespaces: str) -> Object:
    """A Prometheus that asks our name server, with the ScrapeConfigs of these namespaces."""
    own = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(namespaces)}
    return prometheus(
        "main",
        scrapeInterval="1s",
        additionalArgs=[{"name": "scrape.discovery-reload-interval", "value": "100ms"}],
        scrapeConfigNamespaceSelector={"matchExpressions": [own]},
        additionalScrapeConfigs={"name": "jobs", "key": "jobs.yaml"},
        **RESOLVING,
        **our_reloader(),
    )


def scraped(pods: PodRunner, address: str) -> Targets:
    """What a Prometheus scrapes, less what does not answer."""
    found: Targets = {}
    for each in active_targets(pods, address):
        if each["health"] == "up":
            found.setdefault(each["scrapePool"], set()).add(each["labels"]["instance"])
    return found


def test_prometheus_scrapes_what_scrapeconfigs_say(
    world: World, new_namespace: Callable[[], str], tmp_path: Path
) -> None:
    """Targets that are listed, in the DNS, or nodes; of both namespaces; added, changed, removed.

    And the jobs of `additionalScrapeConfigs` beside them.

    (peer scenarios: Scrape Config Creation, Scrape Config Lifecycle, Scrape Config Lifecycle In
    Different Ns, Scrape Config DNSSD, Scrape Config Kube Node, Prom Additional Scrape Config)
    """
    cluster, beside = world.cluster, World(world.cluster, new_namespace())
    if not cluster.namespaces:
        pytest.skip("this machine does not let us make network namespaces")
    names = tmp_path / "names.json"
    write(names, RECORDS)
    here, there = world.namespace, beside.namespace
    allow_discovery(cluster, here)
    by_name = {"names": ["shop.example"], "type": "A", "port": PORT, "refreshInterval": "1s"}
    by_service = {"names": ["_web._tcp.bank.example"], "refreshInterval": "1s"}
    to_exporter = {
        "sourceLabels": ["__address__"],
        "regex": "(.*):.*",
        "targetLabel": "__address__",
    }
    world.put(
        scraper(here, there), RESOLVER, additional(SHOP), static("listed", SHOP),
        scrape_config("hosts", dnsSDConfigs=[by_name]),
        scrape_config("services", dnsSDConfigs=[by_service]),
        scrape_config(
            "nodes",
            kubernetesSDConfigs=[{"role": "Node"}],
            relabelings=[to_exporter | {"replacement": f"$1:{PORT}"}],
        ),
    )  # fmt: skip
    beside.put(static("listed", SHOP, BANK))
    nodes = {each["metadata"]["name"] for each in world.list("nodes")}
    with (
        Running.start(cluster, f"--namespaces={here},{there}"),
        name_server(cluster, names),
        exporter(cluster),
        PodRunner(cluster, here) as pods,
    ):
        [pod] = pods.until_running(here, "app.kubernetes.io/name=prometheus")
        address = pods.address(pod)

        def until_scraped(expected: Targets) -> None:
            world.until("the targets", lambda: scraped(pods, address) == expected)

        wanted: Targets = {
            "by-hand": {f"{SHOP}:{PORT}"},
            f"scrapeConfig/{here}/listed": {f"{SHOP}:{PORT}"},
            f"scrapeConfig/{there}/listed": {f"{SHOP}:{PORT}", f"{BANK}:{PORT}"},
            f"scrapeConfig/{here}/hosts": {f"{SHOP}:{PORT}", f"{BANK}:{PORT}"},
            f"scrapeConfig/{here}/services": {f"bank.example:{PORTS['admin']}"},
            f"scrapeConfig/{here}/nodes": nodes,
        }
        until_scraped(wanted)

        world.put(static("listed", BANK), additional(BANK), static("late", SHOP))
        beside.put(static("listed", BANK))
        changed = {f"{BANK}:{PORT}"}
        late: Targets = {f"scrapeConfig/{here}/late": {f"{SHOP}:{PORT}"}, "by-hand": changed}
        listed = {f"scrapeConfig/{each}/listed": changed for each in (here, there)}
        until_scraped(wanted | late | listed)

        world.patch("prometheus", "main", {"spec": {"additionalScrapeConfigs": None}})
        for each in ("hosts", "services", "nodes", "listed"):
            world.delete("scrapeconfig", each)
        beside.delete("scrapeconfig", "listed")
        until_scraped({f"scrapeConfig/{here}/late": {f"{SHOP}:{PORT}"}})


@pytest.fixture
def graduated() -> Iterator[World]:
    """A cluster that serves ScrapeConfigs in v1 only."""
    with Cluster.start(nodes=1) as cluster:
        install_crds(cluster, "prometheus", "scrapeconfig", "--scrapeconfig-version=v1")
        yield World(cluster, "default")


def jobs(world: World) -> dict[str, Object]:
    """The jobs in the configuration of a Prometheus, by name."""
    found = world.get("secret", "prometheus-main") or {}
    text = gzip.decompress(b64decode(found["data"]["prometheus.yaml.gz"]))
    listed = yaml.load(text, Loader=yaml.CSafeLoader)["scrape_configs"]
    return {each["job_name"]: each for each in listed}


def test_scrapeconfigs_of_v1_live_the_same_life(
    graduated: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Added, changed and removed, where the API server knows no other version.

    (peer scenarios: Scrape Config Creation, Scrape Config Lifecycle)
    """

    def put(host: str) -> None:
        made = static("listed", host) | {"apiVersion": f"{GROUP}/v1"}
        made["spec"]["relabelings"] = [{"action": "Keep", "sourceLabels": ["a"], "regex": "b"}]
        graduated.cluster.kubectl("apply", "-f", "-", input=json.dumps(made))

    name = "scrapeConfig/default/listed"

    def targets() -> Any:
        return jobs(graduated)[name]["static_configs"][0]["targets"]

    graduated.put(prometheus("main"))
    put(SHOP)
    with Running.start(graduated.cluster, "--namespaces=default"):
        graduated.until("the job", lambda: targets() == [f"{SHOP}:{PORT}"])
        put(BANK)
        graduated.until("another target", lambda: targets() == [f"{BANK}:{PORT}"])
        actions = [each.get("action") for each in jobs(graduated)[name]["relabel_configs"]]
        assert "keep" in actions
        # Who compares with the cluster sees it in that version, too.
        manifest = tmp_path / "main.json"
        manifest.write_text(json.dumps(prometheus("main") | {"apiVersion": f"{GROUP}/v1"}))
        flags = ["--kubeconfig", str(graduated.cluster.kubeconfig), "-n", "default"]
        status = main(["diff", str(manifest), *flags, "--flag=namespaces=default"])
        assert (status, capsys.readouterr().out) == (0, "nothing would change\n")
        graduated.cluster.kubectl("delete", "scrapeconfig", "listed")
        graduated.until("no job", lambda: not jobs(graduated))
