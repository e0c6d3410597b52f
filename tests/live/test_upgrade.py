"""From the last release to this tree and back, on a running cluster: docs/releasing.md.

Definitions and operator are exchanged one at a time, in every order. After each step the operator
in charge takes a change of a resource of each sort; nothing has rolled then, and nothing is lost.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.builders import (
    agent,
    alert,
    alertmanager,
    alertmanager_config,
    pod_monitor,
    prometheus,
    resource,
    service_monitor,
    thanos_ruler,
)
from tests.live.operating import PROGRAM, Object, Running, World
from tests.live.test_daemonset import on_nodes
from tools.cluster import Cluster
from tools.crds import install_crds

ROOT = Path(__file__).parents[2]
# Until there is a release: where a release could be made for the first time.
BASE = "49094e853869e4d47232b7f0fdbe0cd2f2fe6ecb"
Program = tuple[str, ...]

WORKLOADS = (
    prometheus("main", replicas=2, shards=2),
    on_nodes("light"),
    agent("heavy"),
    alertmanager("main", replicas=3),
    thanos_ruler("main"),
)
# All there is to take: first the definitions, first the operator, and either back first.
STEPS = (
    ("definitions", "new"),
    ("operator", "new"),
    ("operator", "old"),
    ("definitions", "old"),
    ("operator", "new"),
    ("definitions", "new"),
    ("definitions", "old"),
    ("operator", "old"),
)
# How many workloads select one.
BINDINGS = {
    "ServiceMonitor": 3,
    "PodMonitor": 3,
    "Probe": 2,
    "ScrapeConfig": 2,
    "PrometheusRule": 2,
    "AlertmanagerConfig": 1,
}
# Those of four replicas of Prometheus, two of agents on nodes, and so on.
PODS = 4 + 2 + 1 + 3 + 1
MADE = ("statefulset", "daemonset", "service", "secret", "configmap")


def resources(number: int) -> tuple[Object, ...]:
    """One of each sort; the number makes all of them other than they were."""
    interval = f"{number}s"
    targets = {"staticConfig": {"static": ["https://example.com"]}}
    probe = {"prober": {"url": "prober:9115"}, "targets": targets, "interval": interval}
    scraped = {"staticConfigs": [{"targets": ["example.com:80"]}], "scrapeInterval": interval}
    return (
        service_monitor("shop", interval=interval),
        pod_monitor("shop", interval=interval),
        resource("Probe", "front", probe),
        resource("ScrapeConfig", "files", scraped),
        resource("PrometheusRule", "alerts", alert("shop", f"up == {number}")),
        alertmanager_config("team", {"name": "number", "value": str(number)}),
    )


class Seen(NamedTuple):
    """What must be the same before and after."""

    pods: dict[str, str]
    templates: dict[str, Any]
    made: set[str]
    written: dict[str, str]
    taken: dict[str, dict[str, str]]


def last_release() -> str:
    """The newest tag of a release that this tree comes from; before the first, a commit."""
    tag = _git("describe", "--tags", "--abbrev=0", "--match=v*", "--exclude=*-*", "HEAD~1")
    return tag.stdout.decode().strip() or BASE


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    """How stoker is called as it was released, with the libraries of today, and as it is here."""
    release, folder = last_release(), tmp_path_factory.mktemp("released")
    archive = _git("archive", release, "src")
    if archive.returncode:
        pytest.fail(f"{release} is not in this clone; fetch it with: git fetch --unshallow --tags")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as sources:
        sources.extractall(folder, filter="data")
    old = ("env", f"PYTHONPATH={folder / 'src'}", *PROGRAM)
    where = [*old[:2], sys.executable, "-c", "import stoker; print(stoker.__file__)"]
    assert subprocess.check_output(where, text=True).startswith(str(folder))
    return {"old": old, "new": PROGRAM}


@pytest.fixture
def site(programs: dict[str, Program]) -> Iterator[Site]:
    """A cluster with workloads and what they select, by the last release."""
    with Cluster.start(nodes=2) as cluster:
        site = Site(World(cluster, "default"), programs)
        site.use("definitions", "old")
        site.world.put(*WORKLOADS)
        site.use("operator", "old")
        try:
            yield site
        finally:
            site.close()


class Site:
    """A cluster, and which definitions and which operator it has now."""

    def __init__(self, world: World, programs: dict[str, Program]) -> None:
        self.world = world
        self._programs = programs
        self._operator: Running | None = None
        self._number = 7000

    def use(self, what: str, which: str) -> None:
        """Exchange the definitions or the operator."""
        program = self._programs[which]
        if what == "definitions":
            install_crds(self.world.cluster, program=program)
        else:
            self.close()
            self._operator = Running.start(
                self.world.cluster, "--namespaces=default", program=program
            )

    def close(self) -> None:
        """End the operator, in order."""
        if self._operator:
            self._operator.stop()
            self._operator.__exit__(None)

    def seen(self) -> Seen:
        """What there is, once the operator in charge has taken a change of every resource."""
        self._number += 1
        changed = resources(self._number)
        self.world.put(*changed)
        for each in changed:
            self.world.until(f"bindings of {_name(each)}", partial(self._taken, each))
        for each in WORKLOADS:
            self.world.settled(*_place(each))
        self.world.until_still()
        sets = [*self.world.list("statefulset"), *self.world.list("daemonset")]
        return Seen(
            pods={_name(each): each["metadata"]["uid"] for each in self.world.list("pod")},
            templates={_name(each): each["spec"]["template"] for each in sets},
            made={f"{kind} {_name(each)}" for kind in MADE for each in self.world.list(kind)},
            written={_key(each): self._written(each) for each in (*WORKLOADS, *changed)},
            taken={_key(each): self._taken(each) for each in changed},
        )

    def _written(self, each: Object) -> str:
        """What a user wrote, as it is stored, but for the number."""
        stored = self.world.get(*_place(each)) or {}
        return json.dumps(stored["spec"], sort_keys=True).replace(str(self._number), "a number")

    def _taken(self, each: Object) -> dict[str, str]:
        """Which workloads have a resource, all of them as it is now; an AssertionError if not."""
        generation = (self.world.get(*_place(each)) or {})["metadata"]["generation"]
        bindings = self.world.bindings(*_place(each))
        assert len(bindings) == BINDINGS[each["kind"]]
        assert {each["observedGeneration"] for each in bindings.values()} == {generation}
        return {workload: each["status"] for workload, each in bindings.items()}


def _place(each: Object) -> tuple[str, str]:
    return each["kind"].lower(), _name(each)


def _key(each: Object) -> str:
    return " ".join(_place(each))


def _name(each: Object) -> str:
    return str(each["metadata"]["name"])


def test_from_the_last_release_to_this_tree_and_back(site: Site) -> None:
    """No pod rolls and nothing is lost at any step, definitions first or last."""
    first = site.seen()
    assert len(first.pods) == PODS
    for what, which in STEPS:
        print(f"{which} {what}")
        site.use(what, which)
        now = site.seen()
        assert now.templates == first.templates
        assert now.pods == first.pods
        assert now.made >= first.made
        assert now.written == first.written
        assert now.taken == first.taken
