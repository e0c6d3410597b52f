"""With an enforced namespace label, no monitor makes a series with another namespace's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusSpec
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.generate.block import text_of
from stoker.generate.draft import ScraperDraft
from stoker.generate.scrapeconfig import scrape_config_job
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from stoker.validate.reading import ScraperReading
from stoker.validate.scrapeconfig import scrape_config
from tests.live.enforcing import (
    Json,
    Laid,
    Series,
    Server,
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
from tools.waiting import until

ENFORCED: Json = {"enforcedNamespaceLabel": LABEL}
# What makes Prometheus write more of what it scrapes than it does by itself.
FEATURES = (
    "--enable-feature=exemplar-storage,extra-scrape-metrics,metadata-wal-records,"
    "created-timestamp-zero-ingestion,type-and-unit-labels"
)


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


@pytest.fixture(scope="module")
def made(
    laid: list[Laid], tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Series], list[Series]]:
    """All series that come of all tricks: where the label is enforced, and where it is not."""
    folder = tmp_path_factory.mktemp("lists")
    lists_for(laid, folder)
    jobs = [jobs_by_name(laid, folder, spec) for spec in (ENFORCED, {})]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(running(config_of(each), tmp_path_factory.mktemp("run"), FEATURES))
            for each in jobs
        ]
        held, free = (scraped(one, len(each)) for one, each in zip(servers, jobs, strict=True))
    return held, free


def jobs_by_name(laid: list[Laid], folder: Path, spec: Json) -> dict[str, Json]:
    """The jobs of monitors, and of what stands in for them; some have nothing that can."""
    tricks, again = ([one for one in laid if one.stands_in is each] for each in (False, True))
    found = [*jobs_of(again, folder, **spec), *jobs_of(tricks, folder, **spec)]
    return {job["job_name"]: job for job in found}


def config_of(jobs: Mapping[str, Json]) -> Json:
    """A configuration with these jobs."""
    return {"global": {"scrape_interval": "5s"}, "scrape_configs": list(jobs.values())}


def test_no_series_carries_the_label_of_another_namespace(
    laid: list[Laid], made: tuple[list[Series], list[Series]]
) -> None:
    """Nor is there one without the label; what Prometheus itself writes of targets included."""
    found = made[0]
    names = {one.host: one.trick.name for one in laid}
    wrong = [each for each in found if each.get(LABEL) != TENANT]
    assert not wrong, [(names.get(host_of(each)), each) for each in wrong[:5]]
    metrics = {each["__name__"] for each in found}
    assert {"up", "scrape_duration_seconds", "claims", "plain", "claims.more"} <= metrics
    lost = {one.host for one in laid if not one.stands_in} - set(map(host_of, found))
    assert not lost, sorted(names[host] for host in lost)


def test_the_same_tricks_work_where_nothing_is_enforced(
    laid: list[Laid], made: tuple[list[Series], list[Series]]
) -> None:
    """So the test above can fail."""
    theirs = {(host_of(each), each["__name__"]) for each in made[1] if each.get(LABEL) == VICTIM}
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
        active = until("both targets of each", lambda: found_all(server, 2 * len(laid)))
        # A pod answers nobody outside its cluster, and what Prometheus says of that is enough.
        found = scraped(server, len({str(each["labels"]) for each in active}))
    assert [each for each in found if each.get(LABEL) != tenant] == []
    of_victim = [each for each in active if victim in each["discoveredLabels"].values()]
    assert len(of_victim) >= len(laid)


def found_all(server: Server, count: int) -> list[Json]:
    """The targets, once there are so many."""
    active: list[Json] = server.ask("targets", state="active")["activeTargets"]
    return active if len(active) == count else []


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
    workload = Scraper(namespace="monitoring", name="main", spec=spec)
    metadata = {"name": "legacy", "namespace": TENANT}
    given = {"metadata": metadata, "spec": {"nameValidationScheme": "Legacy"}}
    config = convert(ScrapeConfig, given)
    job = scrape_config_job(config, ScraperDraft(workload, AssetsAtHand(), TENANT))
    (refusal,) = refusals([text_of({"scrape_configs": [job]})])
    assert '"a-b" is invalid' in refusal
    (finding,) = scrape_config(config, ScraperReading(workload, AssetsAtHand(), TENANT))
    assert finding.path == "spec.nameValidationScheme"
