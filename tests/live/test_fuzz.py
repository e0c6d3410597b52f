"""Made-up resources for a fixed time, and what Prometheus itself reads in hostile strings."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.error import HTTPError
from urllib.request import urlopen

import yaml

from stoker.api.decode import convert
from stoker.api.prometheus import Prometheus
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.select.assets import AssetsAtHand
from stoker.settings import Capabilities
from tests.fuzz.__main__ import described
from tests.fuzz.objects import manifest
from tests.fuzz.properties import inspected
from tests.fuzz.run import fuzz, smallest
from tests.fuzz.strings import HOSTILE
from tests.fuzz.world import World
from tests.planning import decide
from tools.build import binaries
from tools.ports import held_port
from tools.waiting import until

SEED, COUNT = 20261115, 5000
INTERVALS = {"scrapeInterval": "30s", "evaluationInterval": "30s"}


def test_no_resource_breaks_a_configuration() -> None:
    """Whatever is made up is rejected with a reason, or loads, and is read as it was written."""
    report, failures = fuzz(SEED, COUNT)
    print(dict(report.counts))
    assert not failures, "\n\n".join(map(described, failures[:5]))
    assert report.counts["resources tried"] == COUNT
    # Where everything is rejected, nothing is proved.
    assert report.counts["accepted"] > COUNT / 4
    assert report.counts["workloads accepted"] > report.counts["workloads tried"] / 4


def test_a_fault_is_found_and_made_small() -> None:
    """With the enforced step in front of the users' own, one of them is enough to be told."""
    steps = [{"action": "labeldrop", "regex": "tenant"}]
    resource = manifest("PodMonitor", {"podMetricsEndpoints": []}, "team-a", "good")
    endpoint = {"port": "web", "relabelings": steps}
    tenants = manifest("PodMonitor", {"podMetricsEndpoints": [endpoint]}, "team-b", "bad")
    spec = {"enforcedNamespaceLabel": "tenant", "podMonitorNamespaceSelector": {}, "shards": 2}
    workload = manifest(
        "Prometheus", spec | {"podMonitorSelector": {}, **INTERVALS}, "team-a", "it"
    )
    world = World(Capabilities(), workload, (resource, tenants))
    assert inspected(world).problems == []
    with patch("stoker.generate.jobs._steps", lambda of, *_: of.enforced + steps):
        (problem,) = inspected(world).problems
        small = smallest(1, problem, world).world
    assert [one["spec"] for one in small.resources] == [{"podMetricsEndpoints": [{}]}]
    assert small.workload["spec"].keys() == spec.keys() - {"shards"} | {"podMonitorSelector"}


def test_prometheus_reads_every_hostile_string_as_it_was_written(tmp_path: Path) -> None:
    """Names and values come back from Prometheus' own reader; half a character is replaced."""
    texts = {f"p{index}": [text] for index, text in enumerate(HOSTILE)}
    names = {text: ["x"] for text in HOSTILE if text and valid(text) == text}
    params = texts | names
    file = tmp_path / "prometheus.yaml"
    file.write_text(configuration_with({"params": params}), newline="")
    with running(file) as address:
        text = answer(f"{address}/api/v1/status/config")["data"]["yaml"]
    # Prometheus writes some of them plain: to this reader every scalar is a string.
    read = yaml.load(text, yaml.BaseLoader)  # noqa: S506 (it makes nothing but strings)
    expected = {name: [valid(each) for each in values] for name, values in params.items()}
    assert read["scrape_configs"][0]["params"] == expected


def valid(text: str) -> str:
    """Replace what is no character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def configuration_with(spec: dict[str, Any]) -> str:
    """Write the configuration of a Prometheus with one ScrapeConfig."""
    metadata = {"namespace": "team", "name": "hostile"}
    everything: dict[str, Any] = {"scrapeConfigSelector": {}, "scrapeConfigNamespaceSelector": {}}
    scraper = convert(Prometheus, {"metadata": metadata, "spec": INTERVALS | everything})
    resource = convert(ScrapeConfig, {"metadata": metadata, "spec": spec})
    decision = decide(scraper, [resource], {"team": {}}, AssetsAtHand(), Capabilities())
    assert not decision.problem
    assert all(verdict.accepted for verdict in decision.verdicts.values())
    return decision.text


@contextmanager
def running(file: Path) -> Iterator[str]:
    """Run a Prometheus with a configuration; give its address."""
    address = f"127.0.0.1:{held_port()}"
    command = [
        str(binaries("prometheus")["prometheus"]),
        f"--config.file={file}",
        f"--storage.tsdb.path={file.parent / 'data'}",
        f"--web.listen-address={address}",
    ]
    log = file.parent / "log"
    with log.open("w") as output, subprocess.Popen(command, stderr=output) as process:
        try:
            until_ready(process, f"http://{address}", log)
            yield f"http://{address}"
        finally:
            process.terminate()


def until_ready(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Wait until it has read its configuration."""

    def is_ready() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            with urlopen(f"{address}/-/ready", timeout=30):
                return True
        except HTTPError as error:
            # Not yet; the answer holds a connection.
            error.close()
            return False

    until("Prometheus to be ready", is_ready)


def answer(url: str) -> Any:
    """Ask for JSON."""
    with urlopen(url, timeout=30) as response:
        return json.load(response)
