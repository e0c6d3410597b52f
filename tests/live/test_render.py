"""What `stoker render` prints is taken by a real API server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from stoker.build.drift import drift
from stoker.build.names import FIELD_MANAGER
from stoker.cluster.live import beside_others
from stoker.ref import Ref, ref_of_manifest
from stoker.select.workload import CONTROLLER_ID
from tests.builders import agent, alertmanager, prometheus, resource, service_monitor
from tests.live.operating import Object, Running, World
from tools.cluster import Cluster

EXAMPLE = Path(__file__).parents[2] / "example"
_DRY_RUN = ("apply", "--dry-run=server", "--output=name", "-f")


def rendered(*options: str) -> str:
    """The output of the real command on our example, which has mistakes in it."""
    command = [sys.executable, "-m", "stoker", "render", str(EXAMPLE), "--quiet", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def shop(crds: Cluster) -> Iterator[Cluster]:
    """The cluster with the namespaces of the example, for this file."""
    namespaces = str(EXAMPLE / "namespaces.yaml")
    crds.kubectl("apply", "-f", namespaces)
    yield crds
    crds.kubectl("delete", "--wait=false", "-f", namespaces)


def test_an_api_server_takes_every_object_of_the_example(shop: Cluster, tmp_path: Path) -> None:
    """From a pipe, and from a folder, in which what is for reading is passed over."""
    text = rendered()
    expected = sorted(
        f"{each['kind'].lower()}/{each['metadata']['name']}" for each in yaml.safe_load_all(text)
    )
    assert "statefulset/prometheus-main" in expected
    assert "daemonset/prom-agent-nodes" in expected
    taken = shop.kubectl(*_DRY_RUN, "-", input=text).stdout.replace(".apps/", "/").split()
    assert sorted(taken) == expected
    rendered("-o", str(tmp_path / "out"))
    taken = shop.kubectl(*_DRY_RUN, str(tmp_path / "out")).stdout.replace(".apps/", "/").split()
    assert sorted(taken) == expected


def test_kubectl_refuses_what_is_for_reading(shop: Cluster) -> None:
    """A Secret that was unpacked would leave pods without a configuration."""
    done = shop.kubectl(*_DRY_RUN, "-", input=rendered("--unpack"), check=False)
    assert done.returncode
    assert 'unknown field "unpacked"' in done.stderr


FLAGS = ("controller-id=blue", "labels=team=platform", "annotations=seen=yes")
BLUE = {"annotations": {CONTROLLER_ID: "blue"}}
KINDS = {
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "Service": "services",
    "StatefulSet": "statefulsets.apps",
    "DaemonSet": "daemonsets.apps",
}


def test_render_shows_what_a_running_operator_has_written(
    crds: Cluster, namespace: str, tmp_path: Path
) -> None:
    """Also beside one of another operator, one that is unmanaged, and agents of both modes."""
    world = World(crds, namespace)
    given = [
        _meant(prometheus("main", portName="mine", ruleSelector={})),
        prometheus("theirs", portName="theirs"),
        _meant(resource("Prometheus", "bare", {"replicas": 0})),
        _meant(agent("light")),
        _meant(
            resource("PrometheusAgent", "nodes", {"mode": "DaemonSet", "podMonitorSelector": {}})
        ),
        _meant(alertmanager("main")),
        service_monitor("web"),
        service_monitor("bad", interval="10s", scrapeTimeout="20s"),
    ]
    with Running.start(crds, f"--namespaces={namespace}", *(f"--{flag}" for flag in FLAGS)):
        world.put(*given)
        world.settled("prometheus", "main")
        world.settled("alertmanager", "main")
        world.until("a DaemonSet", lambda: world.get("daemonsets.apps", "prom-agent-nodes"))
        world.until_still()
        there = {
            Ref(kind, namespace, each["metadata"]["name"]): each
            for kind, plural in KINDS.items()
            for each in world.list(plural)
            if each["metadata"].get("ownerReferences")
        }
    shown = {ref_of_manifest(each): each for each in _shown(world, given, tmp_path)}
    assert shown.keys() == there.keys()
    assert Ref("StatefulSet", namespace, "prometheus-theirs") not in shown
    for ref, each in shown.items():
        # The items of a list do not say what they are.
        live = {"apiVersion": each["apiVersion"], "kind": ref.kind} | there[ref]
        # Owners of what is shared stay in the order in which they came.
        assert drift(beside_others(each, live), live, FIELD_MANAGER) is None, ref


def _meant(workload: Object) -> Object:
    return workload | {"metadata": workload["metadata"] | BLUE}


def _shown(world: World, given: list[Object], folder: Path) -> list[Object]:
    """What is rendered of objects as the cluster has them, with their UIDs."""
    found = [world.get(each["kind"].lower(), each["metadata"]["name"]) for each in given]
    path = folder / "world.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": found}))
    flags = [word for flag in FLAGS for word in ("--flag", flag)]
    command = [sys.executable, "-m", "stoker", "render", str(path), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return list(yaml.safe_load_all(done.stdout))
