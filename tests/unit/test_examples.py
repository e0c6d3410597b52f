"""The manifests below example/: valid, used to the last of them, and in nobody's way."""

import json
from pathlib import Path

import pytest
import yaml

from stoker.__main__ import main
from stoker.api.prometheus import PrometheusAgent
from stoker.offline.manifests import read
from stoker.offline.migration.targets import overlaps
from stoker.offline.objects import rendered
from stoker.offline.world import World, world_of
from stoker.settings import OperatorSettings

EXAMPLE = Path(__file__).parents[2] / "example"
DAEMON_SET = EXAMPLE / "prometheus-agent" / "daemonset"
COMMON, APPS = DAEMON_SET / "common.yaml", DAEMON_SET / "apps.yaml"
# Its pods depend on flags of the operator.
OPERATOR_DISCOVERY = DAEMON_SET / "operator-discovery.yaml"
SCENARIOS = sorted(path for path in DAEMON_SET.glob("*.yaml") if path not in (COMMON, APPS))

Capture = pytest.CaptureFixture[str]


def world(*paths: Path) -> World:
    """What the manifests at the paths describe."""
    return world_of(read(map(str, paths)))


def test_there_is_a_manifest_for_each_scenario() -> None:
    """All nodes, a pool, a log on the node, each kind of monitor, and an agent beside it."""
    assert [path.stem for path in SCENARIOS] == [
        "all-nodes",
        "beside-statefulset",
        "downward-api",
        "host-path-wal",
        "node-pool",
        "operator-discovery",
        "podmonitors",
        "servicemonitors",
    ]
    text = (DAEMON_SET / "README.md").read_text()
    assert all(f"]({path.name})" in text for path in DAEMON_SET.glob("*.yaml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_is_valid_and_everything_in_it_is_used(path: Path, capsys: Capture) -> None:
    """`stoker lint` and `stoker render` have nothing to say, and each agent has targets."""
    assert main(["lint", "--strict", str(path)]) == 0
    capsys.readouterr()
    portions = path == OPERATOR_DISCOVERY
    assert main(["render", str(COMMON), str(path), *(["--config-only"] if portions else [])]) == 0
    summary = capsys.readouterr().err
    assert "rejected  " not in summary
    assert "note  " not in summary
    assert ": 0 used" not in summary
    assert portions or "made      DaemonSet monitoring/" in summary
    found = world(COMMON, path)
    used = [line for line in summary.splitlines() if line.startswith("  used ")]
    assert len(used) == len(found.resources)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_monitors_of_a_scenario_find_what_runs_beside_them(path: Path, capsys: Capture) -> None:
    """So the page of the examples shows as amber what is meant to be."""
    for each in world(path).resources:
        kind, name = type(each).__name__, f"{each.metadata.namespace}/{each.metadata.name}"
        words = ["explain", kind, name, "--from", str(COMMON), str(APPS), str(path)]
        assert main(words) == 0, capsys.readouterr().out


def test_the_downward_api_reaches_what_the_example_says() -> None:
    """The reloaders know the node, Prometheus its address; Kubernetes fills in the words."""
    found = world(COMMON, DAEMON_SET / "downward-api.yaml")
    [made] = rendered(found, found.workloads, OperatorSettings())
    [daemon_set] = [each for each in made.objects if each["kind"] == "DaemonSet"]
    pod = daemon_set["spec"]["template"]["spec"]
    sources = {
        each["name"]: {one["name"]: one.get("valueFrom") for one in each.get("env", ())}
        for each in (*pod["initContainers"], *pod["containers"])
    }
    node = {"fieldRef": {"fieldPath": "spec.nodeName"}}
    assert sources["config-reloader"]["NODE_NAME"] == node
    assert sources["init-config-reloader"]["NODE_NAME"] == node
    assert sources["prometheus"]["HOST_IP"] == {"fieldRef": {"fieldPath": "status.hostIP"}}
    assert sources["prometheus"]["GOMAXPROCS"]["resourceFieldRef"]["resource"] == "limits.cpu"
    [prometheus] = [each for each in pod["containers"] if each["name"] == "prometheus"]
    assert "--web.external-url=http://$(HOST_IP):9090" in prometheus["args"]
    assert "agent_node: $(NODE_NAME)" in made.plan.text


def test_scenarios_can_be_applied_together() -> None:
    """No monitor is taken by two agents."""
    found = world(DAEMON_SET)
    assert not found.refused
    agents = [each for each in found.workloads if isinstance(each, PrometheusAgent)]
    assert [overlaps(each, found) for each in agents] == [()] * 9


# --- The shop, which `make run` shows -------------------------------------------------------------

SURPRISES = {
    "servicemonitor shop/checkout": "port `metrcis` not found; Service shop/checkout has "
    "`metrics`, `admin`; did you mean `metrics`?",
    "servicemonitor shop/recommendations": "has no key `tokne`",
    "servicemonitor payments/ledger": "spec.endpoints[0].bearerTokenFile: files of the container",
    "rule monitoring/backups": "has `scope=gloabl` (misspelt?)",
    "servicemonitor shop/stock": "scraped by Prometheus monitoring/main: 2 targets",
}


@pytest.mark.parametrize("resource", SURPRISES)
def test_each_surprise_is_explained_as_its_comment_says(resource: str, capsys: Capture) -> None:
    """The command beside it names the cause in its first line."""
    path = EXAMPLE / "surprises.yaml"
    assert f"#    stoker explain {resource} --from example/" in path.read_text()
    main(["explain", *resource.split(), "--from", str(EXAMPLE)])
    headline, *others = capsys.readouterr().out.splitlines()
    assert SURPRISES[resource] in headline
    if resource.endswith("stock"):
        assert any("ignored: spec.scrapeNativeHistograms" in line for line in others)


@pytest.mark.parametrize(
    ("resource", "targets"),
    [
        ("servicemonitor shop/cart", [3]),
        ("servicemonitor shop/catalogue", [2]),
        # An agent on nodes and a Prometheus, which find the same.
        ("podmonitor payments/settlement", [2]),
        ("podmonitor monitoring/node-exporter", [3]),
    ],
)
def test_the_targets_of_the_shop_can_be_counted(
    resource: str, targets: list[int], capsys: Capture
) -> None:
    """What runs is among the manifests, and Prometheus may see it."""
    assert main(["explain", *resource.split(), "--from", str(EXAMPLE), "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["targets"] for each in told["searches"]] == targets
    assert [each["lacks"] + each["unknown"] for each in told["access"] if each["lacks"]] == []


def test_the_converted_monitor_is_what_convert_makes(tmp_path: Path, capsys: Capture) -> None:
    """The ScrapeConfig in converted.yaml is the command's own work, not an imitation."""
    spec = {
        "selector": {"matchLabels": {"app": "delivery"}},
        "endpoints": [{"port": "metrics", "interval": "1m"}],
    }
    metadata = {"name": "delivery", "namespace": "shop"}
    kind = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor"}
    (tmp_path / "delivery.yaml").write_text(
        yaml.safe_dump(kind | {"metadata": metadata, "spec": spec})
    )
    others = [str(EXAMPLE / name) for name in ("prometheus.yaml", "namespaces.yaml")]
    words = ["--workload", "monitoring/main", "--to", "v1"]
    assert main(["convert", str(tmp_path), *others, *words]) == 0
    made = yaml.safe_load(capsys.readouterr().out)
    kept, *_ = yaml.safe_load_all((EXAMPLE / "converted.yaml").read_text())
    assert kept == made


def test_first_steps_show_what_lint_says_of_the_examples(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who types the command sees what the page shows, to the last number."""
    monkeypatch.chdir(EXAMPLE.parent)
    assert main(["lint", "example/"]) == 1
    assert f"\n```\n{capsys.readouterr().out}```\n" in Path("docs/first-steps.md").read_text()
