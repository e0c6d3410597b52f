"""The manifests below example/: valid, used to the last of them, and in nobody's way."""

from pathlib import Path

import pytest

from stoker.__main__ import main
from stoker.api.prometheus import PrometheusAgent
from stoker.offline.manifests import read
from stoker.offline.migration.targets import overlaps
from stoker.offline.world import World, world_of

DAEMON_SET = Path(__file__).parents[2] / "example" / "prometheus-agent" / "daemonset"
COMMON = DAEMON_SET / "common.yaml"
SCENARIOS = sorted(path for path in DAEMON_SET.glob("*.yaml") if path != COMMON)

Capture = pytest.CaptureFixture[str]


def world(*paths: Path) -> World:
    """What the manifests at the paths describe."""
    return world_of(read(map(str, paths)))


def test_there_is_a_manifest_for_each_scenario() -> None:
    """All nodes, a pool, a log on the node, each kind of monitor, and an agent beside it (D9)."""
    assert [path.stem for path in SCENARIOS] == [
        "all-nodes",
        "beside-statefulset",
        "host-path-wal",
        "node-pool",
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
    assert main(["render", str(COMMON), str(path)]) == 0
    summary = capsys.readouterr().err
    assert "rejected  " not in summary
    assert "note  " not in summary
    assert ": 0 used" not in summary
    assert "made      DaemonSet monitoring/" in summary
    found = world(COMMON, path)
    used = [line for line in summary.splitlines() if line.startswith("  used ")]
    assert len(used) == len(found.resources)


def test_scenarios_can_be_applied_together() -> None:
    """No monitor is taken by two agents."""
    found = world(DAEMON_SET)
    assert not found.refused
    agents = [each for each in found.workloads if isinstance(each, PrometheusAgent)]
    assert [overlaps(each, found) for each in agents] == [()] * 7
