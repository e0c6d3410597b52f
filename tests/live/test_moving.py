"""Taking over from prometheus-operator, and giving back, by typing what docs/moving.md says.

The cluster has what prometheus-operator leaves there: its Deployment, and the objects of several
workloads under its name. The commands of the page are run as they stand, in order. The pods of both
operators come to life on kwok nodes, which run nothing; so stoker is started as a process, with the
rights of its service account, while its Deployment has pods.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.builders import agent, alertmanager, prometheus, service_monitor
from tests.live.operating import Object, World
from tests.live.test_operator import found
from tests.live.test_operator_access import Site
from tests.live.test_operator_takeover import (
    _give_back,
    _pods,
    _taken,
    as_the_peer,
    objects_of_the_peer,
)
from tools.cluster import Cluster
from tools.crds import install_crds

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "moving.md"
VOLUMES = [{"name": "more", "emptyDir": {"sizeLimit": "1Mi"}}]
WORKLOADS = {
    "prometheus": ("prometheus-main", prometheus("main", replicas=2, volumes=VOLUMES)),
    "prometheusagent": ("prom-agent-main", agent("main")),
    "alertmanager": ("alertmanager-main", alertmanager("main")),
}
FLAGS = ["--kubelet-service=kube-system/kubelet", "--annotations=example.org/note=it's $HOME"]
PODS = 4
# The move brings the definitions that are not there; the largest two are not.
DEFINED = (*WORKLOADS, "thanosruler", "servicemonitor", "podmonitor", "probe", "prometheusrule")


def steps() -> dict[str, list[str]]:
    """The blocks to type, by the heading they stand under."""
    text = PAGE.read_text()
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)[1:]
    return {
        title: re.findall(r"^```sh\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
        for title, body in zip(parts[::2], parts[1::2], strict=True)
    }


class Typist:
    """Somebody who follows the page."""

    def __init__(self, cluster: Cluster, home: Path) -> None:
        self._files = {"/tmp/": f"{home}/"}  # noqa: S108 (the page's, replaced by our own)
        self._home = home
        shutil.copytree(ROOT / "deploy", home / "deploy")
        folders = (str(cluster.kubectl_path.parent), str(Path(sys.executable).parent))
        self._environment = os.environ | {
            "KUBECONFIG": str(cluster.kubeconfig),
            "KUBECACHEDIR": str(home / "cache"),
            "PATH": os.pathsep.join((*folders, os.environ["PATH"])),
        }

    def types(self, step: str) -> str:
        """All commands of a step; what they print. One that fails is an error."""
        title = next(each for each in steps() if each.startswith(step))
        said = ""
        for block in steps()[title]:
            text = block.replace(*next(iter(self._files.items())))
            answer = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", text],
                cwd=self._home,
                env=self._environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert answer.returncode == 0, f"{text}\n{answer.stdout}{answer.stderr}"
            said += answer.stdout
        return said


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A cluster of our own, with definitions that somebody else installed."""
    with Cluster.start(nodes=2) as cluster:
        install_crds(cluster, "--no-descriptions", *DEFINED)
        yield Site(cluster, cluster.url)


def deployment_of_the_peer() -> Object:
    """prometheus-operator's Deployment, as far as it matters here."""
    labels = {"app.kubernetes.io/name": "prometheus-operator"}
    container = {"name": "prometheus-operator", "image": "example.org/peer", "args": FLAGS}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "prometheus-operator", "namespace": "monitoring"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def furnish(site: Site) -> World:
    """Make everything that prometheus-operator has in the cluster."""
    world, home = site.world("shop"), site.world("monitoring")
    path = "/apis/apps/v1/namespaces/monitoring/deployments"
    site.cluster.api.request("POST", path, deployment_of_the_peer())
    world.put(service_monitor("shop"), *(made for _, made in WORKLOADS.values()))
    shared: set[tuple[str, str]] = set()
    for kind in WORKLOADS:
        made = list(objects_of_the_peer(world, kind, "main"))
        as_the_peer(world, *(each for each in made if _key(each) not in shared))
        shared |= {_key(each) for each in made}
    world.until("the pods", lambda: _pods(world, PODS))
    home.until("its pod", lambda: home.list("pod"))
    return world


def _arguments(site: Site) -> list[str]:
    """What our operator is started with."""
    path = "/apis/apps/v1/namespaces/stoker/deployments/stoker-operator"
    (container,) = site.cluster.api.get(path)["spec"]["template"]["spec"]["containers"]
    found: list[str] = container["args"]
    return found


def _key(each: Object) -> tuple[str, str]:
    return each["kind"], each["metadata"]["name"]


def test_the_page_leads_there_and_back(site: Site, tmp_path: Path) -> None:
    """Every command works, no generation goes up, no pod goes, and the peer can have it back."""
    world = furnish(site)
    pods = _pods(world, PODS)
    typist = Typist(site.cluster, tmp_path)

    before = typist.types("1.")
    assert before.startswith("nothing would happen to ")
    assert "pods roll" not in before
    assert "ScrapeConfig" in before
    assert "is not installed" in before
    typist.types("2.")
    assert _arguments(site)[-2:] == FLAGS
    with site.started(*FLAGS):
        for kind, (name, _) in WORKLOADS.items():
            world.settled(kind, "main")
            world.until(f"{name} to be ours", partial(_taken, world, name))
        assert _pods(world, PODS) == pods
        world.until("a binding", lambda: world.bindings("servicemonitor", "shop"))
    typist.types("3.")
    for name, _ in WORKLOADS.values():
        generation = found(world, "statefulset", name)["metadata"]["generation"]
        assert generation == 1
    _give_back(world, "prometheus-main")
    assert _pods(world, PODS) == pods
    typist.types("When you stay")
