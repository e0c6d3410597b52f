"""`prometheus.yaml` as a whole: what comes where, and what is left out."""

from typing import Any

import pytest
import yaml

from stoker.api.decode import convert
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.prometheus import PrometheusAgentSpec, PrometheusSpec
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import WorkloadError
from stoker.generate.prometheus import Additional, agent_frame, fragment, server_frame, whole_text
from stoker.ref import Ref
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Scraper
from stoker.settings import Capabilities
from tests.builders import typed
from tests.whole import Resources, agent_config, server_config

NOTHING = AssetsAtHand()
PLAIN = Capabilities(shard_retention=False, topology_sharding=False)
NAMED: dict[str, Any] = {"metadata": {"namespace": "shop", "name": "cart"}}
SERVICE_MONITOR = convert(
    ServiceMonitor, NAMED | {"spec": {"selector": {}, "endpoints": [{"port": "web"}]}}
)
POD_MONITOR = convert(
    PodMonitor, NAMED | {"spec": {"selector": {}, "podMetricsEndpoints": [{"port": "web"}]}}
)
PROBE = convert(
    Probe,
    NAMED
    | {
        "spec": {
            "prober": {"url": "prober:9115"},
            "targets": {"staticConfig": {"static": ["https://shop"]}},
        }
    },
)
SCRAPE_CONFIG = convert(
    ScrapeConfig, NAMED | {"spec": {"staticConfigs": [{"targets": ["shop:80"]}]}}
)
AZURE = convert(
    ScrapeConfig,
    NAMED
    | {
        "spec": {
            "azureSDConfigs": [
                {
                    "subscriptionID": "s",
                    "authenticationMethod": "OAuth",
                    "tenantID": "t",
                    "clientID": "c",
                    "clientSecret": {"name": "absent", "key": "secret"},
                }
            ]
        }
    },
)
ALL = Resources(
    service_monitors={"shop/cart": SERVICE_MONITOR},
    pod_monitors={"shop/cart": POD_MONITOR},
    probes={"shop/cart": PROBE},
    scrape_configs={"shop/cart": SCRAPE_CONFIG},
)


def server(spec: dict[str, Any] | None = None, capabilities: Capabilities = PLAIN) -> Scraper:
    """The server `main` in `shop`."""
    found = convert(PrometheusSpec, spec or {})
    return Scraper(namespace="shop", name="main", spec=found, capabilities=capabilities)


def agent(spec: dict[str, Any] | None = None, *, daemon_set: bool = False) -> Scraper:
    """The agent `main` in `shop`."""
    return Scraper(
        namespace="shop",
        name="main",
        spec=convert(PrometheusAgentSpec, spec or {}),
        agent=True,
        daemon_set=daemon_set,
        capabilities=PLAIN,
    )


def kinds(text: str) -> list[str]:
    """The beginnings of the names of all jobs."""
    jobs = yaml.safe_load(text)["scrape_configs"]
    return [job["job_name"].split("/")[0] for job in jobs]


def test_an_empty_server_still_has_a_configuration() -> None:
    """Prometheus must be able to start before there is anything to scrape."""
    found = server_config(server({"version": "v3.10.0"}), Resources(), NOTHING)
    assert found.text == (
        'global:\n  scrape_interval: ""\n  external_labels:\n'
        "    prometheus: shop/main\n    prometheus_replica: $(POD_NAME)\n"
        '  evaluation_interval: ""\n'
        "scrape_configs: []\n"
    )
    assert (found.ignored, found.rejected, found.reads) == ({}, {}, {})


COMMON: dict[str, Any] = {
    "runtime": {"goGC": 50},
    "tsdb": {"outOfOrderTimeWindow": "1m"},
    "remoteWrite": [{"url": "http://store"}],
    "otlp": {"keepIdentifyingResourceAttributes": True},
    "tracingConfig": {"endpoint": "collector:4317"},
}


def test_sections_of_a_server_are_in_order() -> None:
    """The order is the peer's, so that taking over changes no text."""
    spec = COMMON | {"ruleSelector": {}, "remoteRead": [{"url": "http://store"}], "alerting": {}}
    found = server_config(server(spec), Resources(), NOTHING, rule_config_maps=["rules-0"])
    assert list(yaml.safe_load(found.text)) == [
        "global",
        "runtime",
        "rule_files",
        "scrape_configs",
        "storage",
        "alerting",
        "remote_write",
        "remote_read",
        "otlp",
        "tracing",
    ]


def test_sections_of_an_agent_are_in_order() -> None:
    """Nothing of rules, alerts or queries, whatever is added."""
    additional = Additional(alert_relabel_configs=[{}], alertmanagers=[{}])
    found = agent_config(agent(COMMON), Resources(), NOTHING, additional)
    sections = ["global", "runtime", "scrape_configs", "storage", "remote_write", "otlp", "tracing"]
    assert list(yaml.safe_load(found.text)) == sections


def test_jobs_of_a_server_and_of_an_agent_are_in_order() -> None:
    """Kind by kind; a user's own jobs come last."""
    additional = Additional(scrape_configs=[{"job_name": "own"}])
    text = server_config(server(), ALL, NOTHING, additional).text
    assert kinds(text) == ["serviceMonitor", "podMonitor", "probe", "scrapeConfig", "own"]
    text = agent_config(agent(), ALL, NOTHING, additional).text
    assert kinds(text) == ["podMonitor", "serviceMonitor", "probe", "scrapeConfig", "own"]


def test_an_agent_on_every_node_scrapes_what_has_a_node() -> None:
    """All else would be scraped once for each node."""
    additional = Additional(scrape_configs=[{"job_name": "own"}])
    text = agent_config(agent(daemon_set=True), ALL, NOTHING, additional).text
    assert kinds(text) == ["podMonitor", "serviceMonitor"]


def test_resources_of_a_kind_are_ordered_by_key() -> None:
    """Whatever the order in which they were found."""
    other = typed(ScrapeConfig, "z", {"jobName": "x"}, "a")
    found = Resources(scrape_configs={"shop/cart": SCRAPE_CONFIG, "a/z": other})
    jobs = yaml.safe_load(server_config(server(), found, NOTHING).text)["scrape_configs"]
    assert [job["job_name"] for job in jobs] == ["scrapeConfig/a/z", "scrapeConfig/shop/cart"]


def test_a_file_is_its_frame_around_its_fragments() -> None:
    """So that one changed resource costs one fragment."""
    workload = server()
    parts = [
        fragment(one, workload, NOTHING).text
        for one in (SERVICE_MONITOR, POD_MONITOR, PROBE, SCRAPE_CONFIG)
    ]
    joined = whole_text(server_frame(workload, NOTHING), parts)
    assert joined == server_config(workload, ALL, NOTHING).text
    assert whole_text(agent_frame(agent(), NOTHING), []).endswith("scrape_configs: []\n")


def test_a_resource_that_cannot_be_written_is_left_out_and_reported() -> None:
    """All others load, and the Secret that is missing is remembered."""
    found = server_config(
        server(), Resources(probes=ALL.probes, scrape_configs={"shop/cart": AZURE}), NOTHING
    )
    assert kinds(found.text) == ["probe"]
    assert list(found.rejected) == [Ref("ScrapeConfig", "shop", "cart")]
    assert [source.name for source in found.reads] == ["absent"]


def test_what_was_ignored_is_told_for_each_resource() -> None:
    """The workload's own fields under an empty name."""
    spec = {"version": "v2.30.0", "nameValidationScheme": "Legacy"}
    monitor = convert(
        ServiceMonitor,
        NAMED | {"spec": {"selector": {}, "endpoints": [{"port": "web", "enableHttp2": True}]}},
    )
    resources = Resources(service_monitors={"shop/cart": monitor})
    found = server_config(server(spec), resources, NOTHING)
    paths = {key: [one.path for one in fields] for key, fields in found.ignored.items()}
    assert paths == {
        Ref("", "", ""): ["spec.nameValidationScheme"],
        Ref("ServiceMonitor", "shop", "cart"): ["spec.endpoints[0].enableHttp2"],
    }


# --- Additional jobs ------------------------------------------------------------------------------


def added(configs: list[Any], workload: Scraper) -> list[dict[str, Any]]:
    """The jobs that a user's own configurations become."""
    text = server_config(workload, Resources(), NOTHING, Additional(scrape_configs=configs)).text
    jobs: list[dict[str, Any]] = yaml.safe_load(text)["scrape_configs"]
    return jobs


def test_the_jobs_of_a_user_are_kept_as_they_are() -> None:
    """Members and their order too."""
    configs = [{"static_configs": [{"targets": ["a:1"]}], "job_name": "own", "honor_labels": None}]
    found = added(configs, server())
    assert found == configs
    assert list(found[0]) == list(configs[0])


def test_the_jobs_of_a_user_are_divided_among_shards() -> None:
    """After the user's own steps, which may set what is hashed."""
    steps = [{"action": "keep", "source_labels": ["a"], "regex": "b"}]
    workload = server({"shards": 3})
    plain, own = added(
        [{"job_name": "plain"}, {"job_name": "own", "relabel_configs": steps, "scheme": "https"}],
        workload,
    )
    assert [step.get("modulus") for step in plain["relabel_configs"]] == [None, 3, None]
    assert own["relabel_configs"] == steps + plain["relabel_configs"]
    assert list(own) == ["job_name", "relabel_configs", "scheme"]


@pytest.mark.parametrize(
    "step",
    [
        {"action": "keep", "source_labels": ["mine"], "regex": "$(SHARD)"},
        {"action": "keep", "source_labels": ["zone", "mine"], "regex": "a;$(INZONE_SHARD)"},
    ],
)
def test_jobs_that_are_divided_already_are_left_alone(step: dict[str, Any]) -> None:
    """Divided twice, targets would belong to no shard."""
    configs = [{"job_name": "own", "relabel_configs": [step]}]
    assert added(configs, server({"shards": 3})) == configs


def test_shards_that_only_answer_queries_scrape_nothing_of_a_user() -> None:
    """A shard that was scaled away may be kept for its data."""
    retain = {"shardRetentionPolicy": {"whenScaled": "Retain"}}
    job = added([{"job_name": "own"}], server(retain, Capabilities()))[0]
    assert {"source_labels": ["__tmp_current_shard"], "regex": "0", "action": "keep"} in job[
        "relabel_configs"
    ]
    assert added([{"job_name": "own"}], server({}, Capabilities())) == [{"job_name": "own"}]


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        (["own"], "item 0 is not a scrape configuration"),
        ([{"job_name": "own"}, {"job_name": "own"}], "two jobs named own"),
    ],
)
def test_what_no_prometheus_would_load_is_refused(configs: list[Any], problem: str) -> None:
    """The configuration that runs stays."""
    with pytest.raises(WorkloadError, match=problem):
        added(configs, server())
