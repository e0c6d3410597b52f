"""`stoker migrate agent-mode` on a real cluster: what it prints is taken by the API server."""

import json
import shlex
import subprocess
import sys
from typing import Any

from tests.builders import resource
from tests.live.operating import World

Object = dict[str, Any]


def migrated(world: World, *words: str) -> tuple[int, str]:
    """Exit status and output of the real command."""
    command = [sys.executable, "-m", "stoker", "migrate", "agent-mode"]
    where = ["--kubeconfig", str(world.cluster.kubeconfig)]
    done = subprocess.run([*command, *where, *words], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, done.stdout


def probe() -> Object:
    """A Probe of one address."""
    targets = {"staticConfig": {"static": ["https://example.com"]}}
    return resource("Probe", "front", {"prober": {"url": "prober:9115"}, "targets": targets})


def pod_monitor() -> Object:
    """A PodMonitor of everything."""
    return resource("PodMonitor", "all", {"selector": {}, "podMetricsEndpoints": [{"port": "web"}]})


def test_an_agent_of_a_cluster_is_migrated_there_and_back(world: World) -> None:
    """What is homeless and scraped twice is seen; manifest and patch are taken, and change mode."""
    name = f"{world.namespace}/light"
    world.put(
        resource(
            "PrometheusAgent",
            "light",
            {"replicas": 2, "podMonitorSelector": {}, "probeSelector": {}, "version": "v3.5.0"},
        ),
        resource("Prometheus", "main", {"podMonitorSelector": {}}),
        pod_monitor(),
        probe(),
    )
    status, output = migrated(world, "--to", "DaemonSet", "-o", "json", name)
    told = json.loads(output)
    assert status == 1
    assert {each["field"] for each in told["removed"]} == {"replicas", "probeSelector"}
    assert told["homeless"] == [f"Probe {world.namespace}/front"]
    assert [each["workload"] for each in told["overlaps"]] == [f"Prometheus {world.namespace}/main"]
    _, manifests = migrated(world, "--to", "DaemonSet", "--beside", name)
    kubectl = world.cluster.kubectl
    kubectl("apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-",
            input=manifests.split("---\n")[1])  # fmt: skip
    kubectl("replace", "--dry-run=server", "-f", "-", input=manifests.split("---\n")[2])
    [change] = [step for step in told["steps"] if "kubectl patch" in step]
    kubectl(*shlex.split(change.partition("kubectl ")[2]))
    found = world.get("prometheusagent", "light") or {}
    assert found["spec"] == told["manifest"]["spec"]
    assert migrated(world, "--to", "DaemonSet", name)[1] == ""
    told = json.loads(migrated(world, "--to", "StatefulSet", "-o", "json", name)[1])
    assert told["patch"] == {"spec": {"mode": "StatefulSet"}}
    assert told["homeless"] == []
