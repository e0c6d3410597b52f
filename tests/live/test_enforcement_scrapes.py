"""With an enforced namespace label, no monitor makes a series with another namespace's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusSpec
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.generate.block import text_of
from stoker.generate.draft import Draft
from stoker.generate.scrapeconfig import scrape_config_job
from stoker.select.assets import Contents
from stoker.select.workload import Workload
from stoker.validate.scope import Scope
from stoker.validate.scrapeconfig import scrape_config
from tests.live.enforcing import (
    Laid,
    Series,
    host_of,
    jobs_in,
    jobs_of,
    lists_for,
    running,
    scraped,
    targets,
)
from tests.live.scraping import PORTS, target
from tests.live.tricks import LABEL, NOWHERE, TARGET, TENANT, TRICKS, VICTIM, Trick
from tests.promtool import refusals
from tools.cluster import Cluster

ENFORCED: dict[str, Any] = {"enforcedNamespaceLabel": LABEL}
FREE: dict[str, Any] = {}


@pytest.fixture(scope="module")
def laid() -> Iterator[list[Laid]]:
    """Every trick by its monitor, and by the ScrapeConfigs that can stand in for the monitor."""
    with targets() as port:
        yield [
            Laid(trick, number, port, stands_in)
            for stands_in in (False, True)
            for number, trick in enumerate(TRICKS)
            if not stands_in or trick.kind != "ScrapeConfig"
        ]


def made(laid: list[Laid], folder: Path, spec: dict[str, Any]) -> list[Series]:
    """All series of a Prometheus that scrapes every trick once."""
    lists_for(laid, folder)
    jobs = [
        job
        for stands_in in (False, True)
        for job in jobs_of([one for one in laid if one.stands_in is stands_in], folder, **spec)
    ]
    # Where no ScrapeConfig can stand in for a monitor, it is there twice.
    by_name = {job["job_name"]: job for job in reversed(jobs)}
    global_ = {"scrape_interval": "5s", "scrape_timeout": "5s"}
    config = {"global": global_, "scrape_configs": list(by_name.values())}
    with running(config, folder / "run") as server:
        return scraped(server, len(by_name))


def test_no_series_carries_the_label_of_another_namespace(laid: list[Laid], tmp_path: Path) -> None:
    """Nor is there one without the label; what Prometheus itself writes of targets included."""
    found = made(laid, tmp_path, ENFORCED)
    wrong = [each for each in found if each.get(LABEL) != TENANT]
    names = {one.host: one.trick.name for one in laid}
    assert not wrong, [(names.get(host_of(each)), each) for each in wrong[:5]]
    assert {"up", "scrape_duration_seconds", "claims", "plain"} <= {
        each["__name__"] for each in found
    }
    lost = {one.host for one in laid if not one.stands_in} - set(map(host_of, found))
    assert not lost, sorted(names[host] for host in lost)


def test_the_same_tricks_work_where_nothing_is_enforced(laid: list[Laid], tmp_path: Path) -> None:
    """So the test above can fail."""
    theirs = {
        (host_of(each), each["__name__"])
        for each in made(laid, tmp_path, FREE)
        if each.get(LABEL) == VICTIM
    }
    failed = [
        one.trick.name
        for one in laid
        if one.trick.shows != NOWHERE and not one.stands_in
        if (one.host, one.trick.shows) not in theirs
    ]
    assert failed == []


def test_what_is_found_in_a_cluster_is_held_too(
    cluster: Cluster, new_namespace: Callable[[], str], tmp_path: Path
) -> None:
    """Pods, Services and Ingresses of two namespaces, and monitors of one that want both."""
    tenant, victim = new_namespace(), new_namespace()
    for namespace in (tenant, victim):
        furnish(cluster, namespace)
    tricks = [each for each in TRICKS if each.found and each.shows == TARGET]
    laid = [Laid(everywhere(each), at, 1, False, tenant) for at, each in enumerate(tricks)]
    jobs = jobs_in(cluster, laid, tmp_path, **ENFORCED)
    global_ = {"scrape_interval": "5s", "scrape_timeout": "1s"}
    with running({"global": global_, "scrape_configs": jobs}, tmp_path / "run") as server:
        # A pod answers nobody outside its cluster, and what Prometheus says of that is enough.
        found = scraped(server, 2 * len(laid))
        active = server.ask("targets", state="active")["activeTargets"]
    assert [each for each in found if each.get(LABEL) != tenant] == []
    of_victim = [each for each in active if victim in each["discoveredLabels"].values()]
    assert len(of_victim) >= len(laid)


def everywhere(trick: Trick) -> Trick:
    """The same trick, in all namespaces."""
    spec = copy.deepcopy(trick.spec)
    place = spec["targets"]["ingress"] if trick.kind == "Probe" else spec
    place["namespaceSelector"] = {"any": True}
    return msgspec.structs.replace(trick, spec=spec)


def furnish(cluster: Cluster, namespace: str) -> None:
    """Have a pod, a Service and an Ingress, with labels that lie."""
    labels = {"app": "web", LABEL: VICTIM}
    core, named = f"/api/v1/namespaces/{namespace}", {"name": "web", "labels": labels}
    cluster.api.request("POST", f"{core}/pods", target("web", "node-0", labels))
    ports = [{"name": "web", "port": PORTS["web"]}]
    service = {"metadata": named, "spec": {"selector": {"app": "web"}, "ports": ports}}
    cluster.api.request("POST", f"{core}/services", service)
    backend = {"service": {"name": "web", "port": {"name": "web"}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    rules = [{"host": f"{namespace}.example", "http": {"paths": paths}}]
    ingresses = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses"
    cluster.api.request("POST", ingresses, {"metadata": named, "spec": {"rules": rules}})


def test_nobody_can_forbid_the_name_of_the_enforced_label() -> None:
    """Prometheus refuses the whole file for such a job: the ScrapeConfig is left out."""
    spec = convert(PrometheusSpec, {"enforcedNamespaceLabel": "a-b", "version": "v3.15.0"})
    workload = Workload(namespace="monitoring", name="main", spec=spec)
    metadata = {"name": "legacy", "namespace": TENANT}
    given = {"metadata": metadata, "spec": {"nameValidationScheme": "Legacy"}}
    config = convert(ScrapeConfig, given)
    job = scrape_config_job(config, Draft(workload, Contents(), TENANT))
    (refusal,) = refusals([text_of({"scrape_configs": [job]})])
    assert '"a-b" is invalid' in refusal
    (finding,) = scrape_config(config, Scope(workload, Contents(), TENANT))
    assert finding.path == "spec.nameValidationScheme"
