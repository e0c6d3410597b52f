"""What Prometheus' own discovery misses, and we say so: it is looked at on a real Prometheus."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.builders import pod
from tests.live.operating import World
from tools.build import binaries
from tools.ports import held_port

Object = dict[str, Any]

ADDRESS = "10.1.2.3:80"


def test_a_port_that_no_service_names_is_missed_where_the_slice_comes_first(
    world: World, tmp_path: Path
) -> None:
    """Until something of the slice or its Service changes: `docs/guides/agent-daemonset.md`.

    Portions have it whichever comes first (`tests/unit/test_portions.py`). Should this fail,
    Prometheus looks again by itself, and the guide must not say otherwise.
    """
    path = f"/api/v1/namespaces/{world.namespace}/serviceaccounts"
    world.cluster.api.request("POST", path, {"metadata": {"name": "apps"}})
    world.put(*late_service(world.namespace))
    port = held_port()
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(prometheus(world, tmp_path, port), stderr=log)

    def found(role: str) -> set[str]:
        with urlopen(f"http://127.0.0.1:{port}/api/v1/targets", timeout=10) as answer:
            targets = json.load(answer)["data"]["activeTargets"]
        by_role = (each["discoveredLabels"] for each in targets if each["scrapePool"] == role)
        return {each["__address__"] for each in by_role}

    try:
        world.until("the slice", lambda: found("endpointslice") == {ADDRESS})
        world.put(pod("late", {}, {"web": 80, "admin": 81}, "node-0", serviceAccountName="apps"))
        ports = world.until("the pod", lambda: found("pod"))
        [admin] = (each for each in ports if each.endswith(":81"))
        assert found("endpointslice") == {ADDRESS}
        world.patch("services", "late", {"metadata": {"annotations": {"look": "again"}}})
        world.until("the port", lambda: found("endpointslice") == {ADDRESS, admin})
    finally:
        process.terminate()
        process.wait()


def late_service(namespace: str) -> tuple[Object, Object]:
    """A Service and its slice, which names a pod that is not there."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "late"},
        "spec": {"ports": [{"name": "web", "port": 80}]},
    }
    endpoint = {
        "addresses": [ADDRESS.partition(":")[0]],
        "nodeName": "node-0",
        "targetRef": {"kind": "Pod", "namespace": namespace, "name": "late"},
    }
    made = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "late", "labels": {"kubernetes.io/service-name": "late"}},
        "addressType": "IPv4",
        "ports": [{"name": "web", "port": 80}],
        "endpoints": [endpoint],
    }
    return service, made


def prometheus(world: World, folder: Path, port: int) -> list[str]:
    """The command of a Prometheus with a job for each of two roles, called like it."""
    where = {"names": [world.namespace]}
    about = {"kubeconfig_file": str(world.cluster.kubeconfig), "namespaces": where}
    jobs = [
        {"job_name": role, "kubernetes_sd_configs": [about | {"role": role}]}
        for role in ("endpointslice", "pod")
    ]
    config = {"global": {"scrape_interval": "1h"}, "scrape_configs": jobs}
    file = folder / "prometheus.yml"
    file.write_text(json.dumps(config))
    return [
        str(binaries("prometheus")["prometheus"]),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
