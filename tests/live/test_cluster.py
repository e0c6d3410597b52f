"""The test cluster itself: what the other live tests take for granted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stoker.api.kinds import KINDS
from tools import namespace as namespaces
from tools.cluster import Cluster, ClusterError
from tools.crds import cluster_with_crds
from tools.waiting import until

ROOT = Path(__file__).parents[2]

CALLER = """
import sys, time
from tools.cluster import Cluster
cluster = Cluster.start(nodes=1, namespaces=sys.argv[1] == "True")
sleeper = cluster.spawn(["sleep", "86399"])
print(cluster.directory, flush=True)
time.sleep(600)
"""


def pod_template(labels: dict[str, str]) -> dict[str, Any]:
    """Make a template whose container never runs: kwok only says that it does."""
    containers = [{"name": "main", "image": "none"}]
    return {"metadata": {"labels": labels}, "spec": {"containers": containers}}


def running_pods(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    """List the pods of a namespace that are Running and have an address."""
    pods: list[dict[str, Any]] = cluster.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return [p for p in pods if p["status"]["phase"] == "Running" and p["status"].get("podIP")]


def processes_with(text: str) -> list[int]:
    """List the processes that have a text in their command line or environment."""
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _mentions(entry, text)]


def _mentions(process: Path, text: str) -> bool:
    try:
        return any(text.encode() in (process / f).read_bytes() for f in ("cmdline", "environ"))
    except OSError:
        return False


def test_clusters_begin_with_the_same_definitions_and_share_nothing(
    cluster: Cluster, namespace: str
) -> None:
    """They were installed once, not in each cluster; what is made in one is not in another."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    with cluster_with_crds(nodes=0) as other:
        found = [each.api.get(definitions)["items"] for each in (cluster, other)]
        one, another = ({each["metadata"]["uid"] for each in items} for items in found)
        # Tests may have added some to the first.
        assert another <= one
        assert len(another) == len(KINDS)
        names = [each["metadata"]["name"] for each in other.api.get("/api/v1/namespaces")["items"]]
        assert namespace not in names
        assert other.api.get("/api/v1/nodes")["items"] == []


def test_three_nodes_are_ready(cluster: Cluster) -> None:
    """A started cluster has its nodes Ready at once: nobody has to wait after the start."""
    listed = json.loads(cluster.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    ready = {
        node["metadata"]["name"]: condition["status"]
        for node in listed
        for condition in node["status"]["conditions"]
        if condition["type"] == "Ready"
    }
    assert ready == {"node-0": "True", "node-1": "True", "node-2": "True"}


def test_a_daemon_set_follows_the_nodes(cluster: Cluster, namespace: str) -> None:
    """One Running pod per node, also for a node that comes later, and none for one that went."""
    labels = {"app": "agent"}
    daemon_set = {
        "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": labels}, "template": pod_template(labels)},
    }
    path = f"/apis/apps/v1/namespaces/{namespace}/daemonsets"
    cluster.api.request("POST", path, daemon_set)

    def await_pods_on(*nodes: str) -> None:
        def placed() -> bool:
            pods = running_pods(cluster, namespace)
            return sorted(pod["spec"]["nodeName"] for pod in pods) == sorted(nodes)

        cluster.until(f"one pod on each of {nodes}", placed)

    three = ("node-0", "node-1", "node-2")
    await_pods_on(*three)
    cluster.add_node("late", {"role": "extra"})
    try:
        await_pods_on(*three, "late")
    finally:
        cluster.remove_node("late")
    await_pods_on(*three)


def test_namespaces_are_distinct_and_clean(
    cluster: Cluster, new_namespace: Callable[[], str]
) -> None:
    """What a test makes in its namespace is not seen in another."""
    first, second = new_namespace(), new_namespace()
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}
    cluster.kubectl("apply", "-n", first, "-f", "-", input=json.dumps(manifest))
    names = [cluster.kubectl("get", "cm", "-n", n, "-o", "name").stdout for n in (first, second)]
    assert "configmap/mine" in names[0]
    assert "configmap/mine" not in names[1]


def test_a_failing_kubectl_says_why(cluster: Cluster) -> None:
    """An error of kubectl is an error in the test, unless the test asked for it."""
    with pytest.raises(ClusterError, match="not found"):
        cluster.kubectl("get", "pod", "nobody")
    assert cluster.kubectl("get", "pod", "nobody", check=False).returncode == 1


def test_a_pod_address_answers_inside(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """With namespaces, a server on all addresses answers at the address of any pod."""
    if not cluster.namespaces:
        pytest.skip("this machine does not let us make network namespaces")
    pod = {**pod_template({}), "metadata": {"name": "target"}}
    cluster.api.request("POST", f"/api/v1/namespaces/{namespace}/pods", pod)
    [running] = cluster.until("the pod", lambda: running_pods(cluster, namespace))
    address = running["status"]["podIP"]
    assert address.startswith("10.244.")

    server = [sys.executable, "-m", "http.server", "8080", "--bind", "0.0.0.0"]  # noqa: S104
    served = cluster.spawn(server, cwd=tmp_path, stderr=subprocess.DEVNULL)
    connect = f"import socket; socket.create_connection(({address!r}, 8080), 5).close()"

    def answers() -> bool:
        return cluster.spawn([sys.executable, "-c", connect], stderr=subprocess.DEVNULL).wait() == 0

    cluster.until("an answer from the pod address", answers)
    served.terminate()
    assert served.wait() == -signal.SIGTERM


def test_what_runs_inside_reaches_the_api_server(cluster: Cluster) -> None:
    """A spawned process finds the API server with the KUBECONFIG that it is given."""
    kubectl = cluster.kubectl_path
    process = cluster.spawn([kubectl, "get", "nodes", "-o", "name"], stdout=subprocess.PIPE)
    output = process.communicate()[0].decode()
    assert process.returncode == 0
    assert output.split() == ["node/node-0", "node/node-1", "node/node-2"]


@pytest.mark.parametrize("isolated", [True, False])
def test_a_killed_caller_leaves_nothing_behind(isolated: bool) -> None:
    """However the caller ends, every process and file of its cluster goes with it."""
    if isolated and not namespaces.launcher():
        pytest.skip("this machine does not let us make namespaces")
    command = [sys.executable, "-c", CALLER, str(isolated)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None
        directory = Path(caller.stdout.readline().strip())
        # etcd, API server, controllers, scheduler, kwok, supervisor, and the sleeper.
        assert len(processes_with(str(directory))) >= 7
        caller.kill()
    until("all processes have ended", lambda: not processes_with(str(directory)))
    until("the directory is gone", lambda: not directory.exists())


def test_a_component_that_dies_is_named(tmp_path: Path) -> None:
    """When a process of the control plane ends early, the error has its name and its log."""
    with Cluster.start(nodes=0, directory=tmp_path / "cluster") as cluster:
        [etcd] = processes_with(f"--data-dir={cluster.directory}")
        os.kill(etcd, signal.SIGKILL)
        with pytest.raises(ClusterError, match="etcd ended with status -9"):
            cluster.until("never", lambda: False)
