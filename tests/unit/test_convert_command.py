"""`stoker convert`: monitors among manifests as ScrapeConfigs, and kinds in other versions."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.__main__ import main

MONITORS = """
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: shop, uid: one, labels: {team: shop}}
spec: {selector: {}, endpoints: [{port: http}, {port: admin}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
---
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: main, namespace: monitoring}
spec: {podTargetLabels: [version]}
---
apiVersion: monitoring.coreos.com/v1alpha1
kind: PrometheusAgent
metadata: {name: elsewhere, namespace: monitoring}
spec: {}
"""
FILES = """
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: files, namespace: shop}
spec: {selector: {}, endpoints: [{port: http, bearerTokenFile: /token}]}
"""
VERSIONED = """
apiVersion: monitoring.coreos.com/v1alpha1
kind: ScrapeConfig
metadata: {name: list, namespace: shop}
spec: {proxyUrl: "http://proxy", staticConfigs: [{targets: [a]}]}
status: {bindings: []}
---
apiVersion: monitoring.coreos.com/v1beta1
kind: AlertmanagerConfig
metadata: {name: team, namespace: shop}
spec: {route: {receiver: team}, receivers: [{name: team}]}
"""


class Told:
    """A call of the command: its exit status, the objects that it printed, and its words."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.status = main(["convert", *arguments])
        out, self.words = capsys.readouterr()
        self.objects: list[dict[str, Any]] = list(yaml.safe_load_all(out)) if out else []

    @property
    def names(self) -> list[str]:
        """The names of the objects."""
        return [each["metadata"]["name"] for each in self.objects]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Have the monitors in a file."""
    path = tmp_path / "monitors.yaml"
    path.write_text(MONITORS)
    return path


def test_monitors_are_printed_as_scrape_configs(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One for each endpoint; what is no monitor is passed over, and nobody owns the result."""
    told = Told(capsys, str(written))
    assert (told.status, told.words) == (0, "")
    assert told.names == ["servicemonitor-web-0", "servicemonitor-web-1"]
    for each in told.objects:
        assert each["kind"] == "ScrapeConfig"
        assert each["metadata"]["labels"]["team"] == "shop"
        assert "ownerReferences" not in each["metadata"]


def test_what_cannot_be_expressed_is_told_with_its_path(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the rest is converted."""
    written.write_text(MONITORS + FILES)
    told = Told(capsys, str(written))
    assert told.status == 1
    assert "ServiceMonitor shop/files: spec.endpoints[0].bearerTokenFile:" in told.words
    assert len(told.objects) == 2


def test_a_workload_brings_its_terms(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it adds to the jobs of monitors is written into the ScrapeConfigs."""
    told = Told(capsys, str(written), "--workload", "monitoring/main")
    assert told.status == 0
    steps = told.objects[0]["spec"]["relabelings"]
    assert "version" in [each.get("targetLabel") for each in steps]


def test_a_workload_that_is_not_there_is_an_error(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is converted for somebody else."""
    told = Told(capsys, str(written), "--workload", "other")
    assert (told.status, told.objects) == (2, [])
    assert "other" in told.words


def test_a_workload_that_keeps_its_monitors_is_an_error(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An old Prometheus, say; the path tells what is in the way."""
    written.write_text(MONITORS.replace("podTargetLabels: [version]", "version: v2.20.0"))
    told = Told(capsys, str(written), "--workload", "main")
    assert (told.status, told.objects) == (2, [])
    assert "spec.version" in told.words


def test_kinds_with_versions_are_converted_when_asked(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also the ScrapeConfigs that monitors become; a version that a kind lacks is told."""
    written.write_text(f"{MONITORS}\n---{VERSIONED}")
    told = Told(capsys, str(written), "--to", "v1")
    assert told.status == 1
    assert "AlertmanagerConfig shop/team" in told.words
    assert {each["apiVersion"] for each in told.objects} == {"monitoring.coreos.com/v1"}
    (listed,) = (each for each in told.objects if each["metadata"]["name"] == "list")
    assert listed["spec"]["proxyURL"] == "http://proxy"
    assert "status" not in listed
    steps = told.objects[0]["spec"]["relabelings"]
    assert steps[0]["action"] == "Keep"


@pytest.mark.parametrize(
    ("kind", "rest", "reason"),
    [
        ("v1, kind: Secret", "metadata: text", "metadata: expected an object"),
        ("v1, kind: Secret", "data: text", "data: expected an object"),
        ("v1, kind: ConfigMap", "data: [text]", "data: expected an object"),
        ("v1, kind: Namespace", "metadata: {labels: x}", "metadata.labels: expected an object"),
        ("v1, kind: Service", "metadata: text", ""),
        ("monitoring.coreos.com/v1, kind: Probe", "metadata: [a]", "metadata: expected an object"),
        ("monitoring.coreos.com/v1alpha1, kind: ScrapeConfig", "metadata: 1", "metadata: expected"),
    ],
)
def test_a_manifest_of_a_strange_shape_is_told_and_the_rest_converted(
    kind: str, rest: str, reason: str, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever stands where metadata and data should be."""
    strange = f"{{apiVersion: {kind}, {rest}, spec: {{scheme: HTTP}}}}"
    written.write_text(f"{VERSIONED}\n---\n{strange}")
    told = Told(capsys, str(written), "--to", "v1alpha1")
    assert reason in told.words
    assert told.status == (1 if reason else 0)
    assert [each["metadata"]["name"] for each in told.objects[:2]] == ["list", "team"]


def test_files_are_written_to_a_folder(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One for each ScrapeConfig."""
    out = tmp_path / "out"
    told = Told(capsys, str(written), "-o", str(out))
    assert (told.status, told.objects) == (0, [])
    assert sorted(path.name for path in out.glob("*.yaml")) == [
        "scrapeconfig-shop-servicemonitor-web-0.yaml",
        "scrapeconfig-shop-servicemonitor-web-1.yaml",
    ]


def test_nothing_to_convert_is_an_error(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A ScrapeConfig is nothing to convert unless a version is asked for."""
    written.write_text(VERSIONED)
    told = Told(capsys, str(written))
    assert (told.status, told.objects) == (2, [])


def test_render_shows_what_the_flag_of_the_operator_does(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ScrapeConfigs are among the objects, and the configuration is made of them."""
    written.write_text(MONITORS.replace("podTargetLabels: [version]", "serviceMonitorSelector: {}"))
    both = written.read_text().replace("namespace: monitoring", "namespace: shop")
    written.write_text(both)
    words = ["render", str(written), "--workload", "shop/main", "--consolidate-monitors"]
    assert main(words) == 0
    out, said = capsys.readouterr()
    assert "ScrapeConfig shop/servicemonitor-web-0" in said
    kinds = [each["kind"] for each in yaml.safe_load_all(out)]
    assert kinds.count("ScrapeConfig") == 2
    assert main([*words, "--config-only"]) == 0
    text = capsys.readouterr().out
    assert "- job_name: scrapeConfig/shop/servicemonitor-web-1\n" in text
    assert "serviceMonitor/shop/web" not in text
