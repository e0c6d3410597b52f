"""Targets as we work them out are those of a real Prometheus, label by label."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stoker.__main__ import main
from stoker.targets.job import Defaults, Job, expanded, job_of
from stoker.targets.objects import TargetSources
from stoker.version import parse_version
from tests.live.operating import World as Place
from tests.targets.judge import INTERVAL, Prometheus, pools_of, prometheus
from tests.targets.monitors import blocks, manifests, workloads
from tests.targets.relabelings import jobs
from tests.targets.worlds import furnish, world_of
from tools.cluster import Cluster
from tools.stages import DEAD
from tools.waiting import NotInTimeError, until

Object = dict[str, Any]
Output = pytest.CaptureFixture[str]
# Some are too many to be shown, or too large to be tried.
MOST = 0.6

NEWEST = parse_version("3.15.0")
DEFAULTS = Defaults(interval=INTERVAL)


def test_relabelings_do_what_prometheus_does(tmp_path: Path) -> None:
    """Jobs at random, each with candidates of its own."""
    written = list(jobs(0, 1500))
    ours = pools_of([job_of(each, NEWEST, DEFAULTS) for each in written], TargetSources())
    with prometheus(written, tmp_path) as judge:
        assert_equal(judge.agrees(lambda: ours))


def furnished(
    cluster: Cluster, new_namespace: Callable[[], str], *, by_hand: bool
) -> tuple[list[str], list[str]]:
    """Two namespaces full of pods, Services and endpoints, and the nodes, of which one is dead."""
    namespaces = [new_namespace(), new_namespace()]
    nodes = [each["metadata"]["name"] for each in cluster.api.get("/api/v1/nodes")["items"]]
    if DEAD not in nodes:
        cluster.add_dead_node()
    alive = [each for each in nodes if each != DEAD]
    for number, namespace in enumerate(namespaces):
        furnish(Place(cluster, namespace), alive, number, by_hand=by_hand)
    return namespaces, [*alive, DEAD]


def test_targets_of_monitors_are_those_of_prometheus(
    cluster: Cluster, new_namespace: Callable[[], str], tmp_path: Path
) -> None:
    """Made-up pods, Services and endpoints, for the jobs that we write for made-up monitors."""
    namespaces, nodes = furnished(cluster, new_namespace, by_hand=True)
    made = list(blocks(1, namespaces, cluster.kubeconfig, [nodes[0], DEAD]))
    parsed: list[Job] = [job_of(block, NEWEST, DEFAULTS, known) for block, known in made]
    with prometheus([expanded(block, known) for block, known in made], tmp_path) as judge:
        assert_equal(judge.agrees(lambda: pools_of(parsed, world_of(cluster.api))))


def test_explain_foresees_the_targets_that_prometheus_has(
    crds: Cluster, new_namespace: Callable[[], str], tmp_path: Path, capsys: Output
) -> None:
    """Of all kinds, for a server and for agents on nodes: which are left, by their labels.

    Endpoints are those of Kubernetes: of others, what explain reads is only a part.
    """
    namespaces, nodes = furnished(crds, new_namespace, by_hand=False)
    asked = list(manifests(2, namespaces))
    Place(crds, namespaces[0]).put(*workloads(namespaces[0]).values(), *asked)
    made = list(blocks(2, namespaces, crds.kubeconfig, nodes))

    def foreseen(each: Object) -> dict[str, set[str]]:
        words = [each["kind"].lower(), each["metadata"]["name"], "-n", namespaces[0]]
        main(["explain", *words, "--kubeconfig", str(crds.kubeconfig), "-o", "json"])
        return told_by(json.loads(capsys.readouterr().out), each)

    with prometheus([expanded(block, known) for block, known in made], tmp_path) as judge:
        last: list[str] = []

        def same() -> bool:
            theirs = {job: inside(every, namespaces) for job, every in judged(judge).items()}
            found = [
                (job, inside(every, namespaces))
                for each in asked
                for job, every in foreseen(each).items()
            ]
            last[:] = [
                f"{job}: {sorted(ours ^ theirs.get(job, set()))}"
                for job, ours in found
                if ours != theirs.get(job, set())
            ]
            last.extend([] if len(found) >= MOST * len(theirs) else [f"too few: {len(found)}"])
            return not last

        try:
            until("the same targets", same, 60)
        except NotInTimeError:
            assert_equal(last)


def inside(targets: set[str], namespaces: list[str]) -> set[str]:
    """Those of these namespaces, or of none: others are of other tests, and may be going."""
    return {each for each in targets if json.loads(each).get("namespace") in (None, *namespaces)}


def judged(judge: Prometheus) -> dict[str, set[str]]:
    """The labels of targets by workload and job, those of all nodes together."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, pool in judge.pools().items():
        who, _, job = name.split("/", 2)
        if not job.endswith("/alone"):
            # The judge's jobs have names of their own.
            found[f"{who}/{job}"] |= {each.replace(f'"{name}"', f'"{job}"') for each in pool.active}
    return found


def told_by(explanation: Object, asked: Object) -> dict[str, set[str]]:
    """The same as it is foreseen, where all of it is told."""
    kind, name = asked["kind"], asked["metadata"]["name"]
    job = f"{kind[0].lower()}{kind[1:]}/{asked['metadata']['namespace']}/{name}"
    found = {}
    for search in explanation["searches"]:
        for workload in search["workloads"]:
            who = "server" if workload.startswith("Prometheus ") else "agent"
            for number, end in enumerate(search["endpoints"]):
                index = f"/{number}" if kind in ("ServiceMonitor", "PodMonitor") else ""
                every = [labels_of(each) for each in end["examples"]]
                if end["targets"] is None or end["targets"] > len(every):
                    continue
                found[f"{who}/{job}{index}"] = {
                    json.dumps(labels, sort_keys=True, ensure_ascii=False) for labels in every
                }
    return found


def labels_of(example: Object) -> dict[str, str]:
    """The labels of a target that is foreseen."""
    return {each["name"]: each["value"] for each in example["labels"]}


def assert_equal(differences: list[str]) -> None:
    """That there are none; the first of them, where there are."""
    assert not differences, f"{len(differences)} differences\n" + "\n".join(differences[:20])
