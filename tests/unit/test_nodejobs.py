"""Jobs of which each node gets those that have a target there."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.api.decode import convert
from stoker.api.monitors import PodMonitor, ServiceMonitor
from stoker.api.prometheus import PrometheusAgentSpec
from stoker.generate.fragments import KeptConfiguration
from stoker.generate.nodejobs import stem_of
from stoker.ref import Ref, ref_of
from stoker.select.assets import SECRET, AssetsAtHand
from stoker.select.choice import Monitor
from stoker.select.workload import Scraper
from stoker.targets.job import job_of
from stoker.version import parse_version
from stoker.yamltree import parse
from tests.builders import typed
from tests.unit.test_validate import CERTIFICATE

TLS = {"ca": {"secret": {"name": "tls", "key": "ca"}}}
VALUES = AssetsAtHand(
    {
        Ref(SECRET, "shop", "tls"): {"ca": CERTIFICATE},
        Ref(SECRET, "shop", "login"): {"name": "clerk", "word": "hunter2"},
        Ref(SECRET, "shop", "sink"): {"ca": CERTIFICATE, "word": "sesame"},
    }
)
LOGIN = {
    "username": {"name": "login", "key": "name"},
    "password": {"name": "login", "key": "word"},
}


def scraper(**spec: Any) -> Scraper:
    """An agent on nodes that get portions."""
    made = convert(PrometheusAgentSpec, {"mode": "DaemonSet"} | spec)
    return Scraper(
        namespace="shop", name="a", spec=made, agent=True, daemon_set=True, portions=True
    )


def till(**endpoint: Any) -> ServiceMonitor:
    """A ServiceMonitor."""
    spec = {"selector": {}, "endpoints": [{"port": "web"} | endpoint]}
    return typed(ServiceMonitor, "till", spec)


def stock(*endpoints: Any) -> PodMonitor:
    """A PodMonitor."""
    return typed(PodMonitor, "stock", {"selector": {}, "podMetricsEndpoints": list(endpoints)})


def kept(*monitors: Monitor, **spec: Any) -> KeptConfiguration:
    """The configuration of an agent with these monitors."""
    made = KeptConfiguration(scraper(**spec), VALUES)
    made.put_all({ref_of(each): each for each in monitors}, VALUES)
    return made


def test_the_configuration_names_files_and_has_no_jobs() -> None:
    """Nothing of a monitor is in what all nodes get."""
    made = kept(till(basicAuth=LOGIN))
    text = parse(made.text())
    assert text["scrape_config_files"] == ["/etc/prometheus/config_out/portion/jobs/*.yaml"]
    assert text["scrape_configs"] == []
    assert "hunter2" not in made.text()


def test_a_job_reads_its_targets_from_a_file() -> None:
    """All else of it is as with a discovery, credentials included."""
    [(job,)] = kept(till(basicAuth=LOGIN)).node_jobs.values()
    [text] = parse(job.text)["scrape_configs"]
    assert text["job_name"] == job.name == "serviceMonitor/shop/till/0"
    assert text["basic_auth"] == {"username": "clerk", "password": "hunter2"}
    targets = f"/etc/prometheus/config_out/portion/targets/{job.stem}.json"
    assert text["file_sd_configs"] == [{"files": [targets]}]
    steps = job.block["relabel_configs"]
    forget = {"action": "labeldrop", "regex": "__meta_filepath"}
    assert text["relabel_configs"] == [forget, *steps]
    assert "kubernetes_sd_configs" not in text


@pytest.mark.parametrize("version", ["v2.43.0", "v2.51.0", "v3.14.0"])
def test_a_job_for_nodes_says_nothing_of_a_node(version: str) -> None:
    """Who finds its targets decides that, and can tell from the block what to look for."""
    monitors = till(), stock({"port": "web"})
    classes = [{"name": "c", "default": True, "attachMetadata": {"node": True}}]
    made = kept(*monitors, version=version, scrapeClasses=classes)
    assert len(made.node_jobs) == 2
    for (job,) in made.node_jobs.values():
        assert "$(" not in job.text
        understood = job_of(job.block, parse_version(version))
        [discovery] = understood.discoveries
        assert discovery.with_node
        assert discovery.role in ("endpointslice", "pod")


def test_certificates_of_a_job_come_with_it() -> None:
    """The Secret that all nodes mount has those of the workload alone."""
    remote = {"url": "https://sink", "tlsConfig": {"ca": {"secret": {"name": "sink", "key": "ca"}}}}
    classes = [{"name": "c", "default": True, "tlsConfig": TLS}]
    made = kept(
        till(tlsConfig={"ca": {"secret": {"name": "sink", "key": "ca"}}}),
        stock({"port": "web"}, {"port": "admin", "tlsConfig": {"insecureSkipVerify": True}}),
        remoteWrite=[remote],
        scrapeClasses=classes,
    )
    assert set(made.asset_files) == {"0_shop_sink_ca"}
    jobs = {job.name: job for jobs in made.node_jobs.values() for job in jobs}
    assert jobs["serviceMonitor/shop/till/0"].files == ("0_shop_sink_ca",)
    assert jobs["podMonitor/shop/stock/0"].files == ("0_shop_tls_ca",)
    assert (
        "/etc/prometheus/config_out/portion/tls/0_shop_tls_ca"
        in jobs["podMonitor/shop/stock/0"].text
    )
    assert made.node_files == {"0_shop_sink_ca": CERTIFICATE, "0_shop_tls_ca": CERTIFICATE}


def test_what_did_not_change_is_the_same_object() -> None:
    """Whoever keeps targets of jobs can see what to look at again."""
    made = kept(till(), stock({"port": "web"}))
    before = made.node_jobs
    made.put_all({ref_of(each): each for each in (till(), stock({"port": "other"}))}, VALUES)
    after = made.node_jobs
    same, other = ref_of(till()), ref_of(stock())
    assert after[same] is before[same]
    assert after[other] != before[other]
    made.remove(same)
    assert set(made.node_jobs) == {other}
    assert set(before) == {same, other}


def test_a_monitor_that_is_refused_has_no_jobs() -> None:
    """Nor has one that was accepted before."""
    made = kept(till(basicAuth=LOGIN))
    made.put(ref_of(till()), till(interval="soon"), VALUES)
    assert made.node_jobs == {}
    assert made.node_files == {}


def test_a_password_that_changes_changes_its_job() -> None:
    """And no other."""
    made = kept(till(basicAuth=LOGIN), stock({"port": "web"}))
    before = made.node_jobs
    login = Ref(SECRET, "shop", "login")
    made.touched([login], AssetsAtHand({login: {"name": "clerk", "word": "correct horse"}}))
    changed = [key for key, jobs in made.node_jobs.items() if jobs is not before[key]]
    assert changed == [ref_of(till())]
    assert "correct horse" in made.node_jobs[ref_of(till())][0].text


@given(st.text(max_size=400), st.text(max_size=400))
def test_names_of_files_are_names_of_files(one: str, other: str) -> None:
    """Whatever a job is called, and no two jobs have one."""
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,200}", stem_of(one))
    assert (stem_of(one) == stem_of(other)) == (one == other)
