"""Targets as we work them out are those of a real Prometheus, label by label."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stoker.targets.job import Defaults, Job, expanded, job_of
from stoker.targets.objects import TargetSources
from stoker.version import parse_version
from tests.live.operating import World as Place
from tests.targets.judge import INTERVAL, pools_of, prometheus
from tests.targets.monitors import blocks
from tests.targets.relabelings import jobs
from tests.targets.worlds import furnish, world_of
from tools.cluster import Cluster
from tools.stages import DEAD

NEWEST = parse_version("3.15.0")
DEFAULTS = Defaults(interval=INTERVAL)


def test_relabelings_do_what_prometheus_does(tmp_path: Path) -> None:
    """Jobs at random, each with candidates of its own."""
    written = list(jobs(0, 1500))
    ours = pools_of([job_of(each, NEWEST, DEFAULTS) for each in written], TargetSources())
    with prometheus(written, tmp_path) as judge:
        assert_equal(judge.agrees(lambda: ours))


def test_targets_of_monitors_are_those_of_prometheus(
    cluster: Cluster, new_namespace: Callable[[], str], tmp_path: Path
) -> None:
    """Made-up pods, Services and endpoints, for the jobs that we write for made-up monitors."""
    namespaces = [new_namespace(), new_namespace()]
    nodes = [each["metadata"]["name"] for each in cluster.api.get("/api/v1/nodes")["items"]]
    nodes = [each for each in nodes if each != DEAD]
    if len(nodes) == len(cluster.api.get("/api/v1/nodes")["items"]):
        cluster.add_dead_node()
    for number, namespace in enumerate(namespaces):
        furnish(Place(cluster, namespace), nodes, number)
    made = list(blocks(1, namespaces, cluster.kubeconfig, [nodes[0], DEAD]))
    parsed: list[Job] = [job_of(block, NEWEST, DEFAULTS, known) for block, known in made]
    with prometheus([expanded(block, known) for block, known in made], tmp_path) as judge:
        assert_equal(judge.agrees(lambda: pools_of(parsed, world_of(cluster.api))))


def assert_equal(differences: list[str]) -> None:
    """That there are none; the first of them, where there are."""
    assert not differences, f"{len(differences)} differences\n" + "\n".join(differences[:20])
