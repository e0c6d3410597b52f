"""Agents, really scraping: each target once, by the right agent (D7, D8)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.live.operating import Running
from tests.live.scraping import asked
from tests.live.stage import (
    ALONE,
    APPS,
    Scrape,
    Stage,
    agents,
    node_of,
    open_stage,
    plain_monitor,
    pods_of,
    team_pod,
)

# In seconds. As short as gaps of two of them can be told from a busy machine.
INTERVAL = 2
TICK = 0.1


def test_each_target_is_scraped_once_by_the_agent_of_its_node(tmp_path: Path) -> None:
    """It holds from the start, and again after nodes, pods and monitors have changed."""
    with open_stage(tmp_path) as (stage, _):
        stage.furnish()
        stage.home.put(agents())
        stage.holds()

        # A node joins, with pods of its own.
        stage.cluster.add_node("late")
        for team in stage.teams:
            team.put(*(team_pod(app, 9, "late") for app in APPS))
        stage.list_external()
        stage.holds()

        # Pods move: replaced by others of the same name elsewhere.
        for team in stage.teams:
            for app in ("plain", "shop"):
                name = f"{app}-0"
                path = team.path("pods", name)
                stage.cluster.api.request("DELETE", path, {"gracePeriodSeconds": 0})
                team.put(team_pod(app, 0, "node-1"))
        stage.list_external()
        stage.holds()

        # A monitor changes.
        stage.plain_port = "admin"
        for team in stage.teams:
            team.put(plain_monitor("admin"))
        stage.holds()

        # A node leaves, with its agent and all of its pods.
        stage.cluster.remove_node("node-2")
        stage.list_external()
        stage.holds()
        assert {node_of(pod) for pod in pods_of(stage.home)} == {"node-0", "node-1", "late"}


def test_a_switch_of_modes_loses_no_target_and_no_agent_acts_for_the_other_mode(
    tmp_path: Path,
) -> None:
    """To a DaemonSet, at first taken back, and back with an operator that is killed half-way (D7).

    During a switch each sample is from an old agent that does what it did, or from a new one that
    does what it should; the receiver and the targets themselves tell the same. No target waits for
    longer than two intervals.
    """
    with open_stage(tmp_path) as (stage, operator):
        stage.furnish()
        stage.home.put(agents("StatefulSet", INTERVAL))
        before = stage.begins()
        [old] = pods_of(stage.home)

        with unbroken(stage, before):
            stage.home.put(agents("DaemonSet", INTERVAL))
            stage.home.until("new agents", lambda: len(pods_of(stage.home)) > 1)
            stage.home.put(agents("StatefulSet", INTERVAL))
            settle(stage, "statefulset")
        # It was taken back half-way: the old pod went on as if nothing had been.
        assert uids_of(stage) == {old["metadata"]["uid"]}
        before = stage.begins()

        with watched(stage, before):
            stage.home.put(agents("DaemonSet", INTERVAL))
            settle(stage, "daemonset")
        # It never saw what is for others: a reloader that fills in less would not have refused it.
        assert "NODE_NAME" not in stage.pods.logs(old, "config-reloader")
        stage.holds()

        before = stage.begins()
        with watched(stage, before):
            mark = stage.cluster.audit.mark()
            stage.home.put(agents("StatefulSet", INTERVAL))
            stage.home.until(
                "the StatefulSet",
                lambda: any(
                    each.resource == "statefulsets"
                    for each in stage.cluster.audit.since(mark, "stoker")
                ),
            )
            operator.kill()
            with Running.start(stage.cluster, ALONE):
                settle(stage, "statefulset")
        stage.holds()
        assert len(pods_of(stage.home)) == 1
        # The DaemonSet read the Secret apart, so these pods read the usual one.
        stage.home.until(
            "the Secret apart to go",
            lambda: stage.home.get("secret", "prom-agent-main-switch") is None,
        )
        assert stage.home.get("secret", "prom-agent-main")


@contextmanager
def watched(stage: Stage, before: list[Scrape]) -> Iterator[None]:
    """See that nothing is lost and nobody does what he should not, from here to a settled end."""
    begin, counts, addresses = time.time(), asked(stage.pods), stage.addresses(before)
    with unbroken(stage, before):
        yield
        after = stage.begins()
        end = time.time()
    assert set(stage.received(begin, end)) == {*before, *after}
    for instance, new in stage.addresses(after).items():
        assert stage.askers(counts)[instance] == new | addresses[instance]


@contextmanager
def unbroken(stage: Stage, before: list[Scrape]) -> Iterator[None]:
    """See that no target waits for longer than two intervals, from here to a settled end."""
    begin = time.time()
    with paused() as longest:
        yield
        after = stage.begins()
        # What is over too soon would have no room for a gap.
        end = max(time.time(), begin + 3 * INTERVAL)
        stage.home.until("that time", lambda: time.time() > end)
    # Samples of a target arrive in order: with a later one, none is still on its way.
    stage.home.until("what came later", lambda: set(stage.received(end, time.time())) >= set(after))
    gaps = stage.longest_gaps(begin, end)
    assert gaps.keys() == {each[:3] for each in before}
    allowed = 2 * INTERVAL + max(longest)
    assert max(gaps.values()) <= allowed, {k: v for k, v in gaps.items() if v > allowed}


@contextmanager
def paused() -> Iterator[list[float]]:
    """By how much this process woke too late each time: then nobody else was on time either."""
    late, ended = [0.0], threading.Event()

    def watch() -> None:
        before = time.monotonic()
        while not ended.wait(TICK):
            now = time.monotonic()
            late.append(now - before - TICK)
            before = now

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield late
    finally:
        ended.set()
        watching.join()


def uids_of(stage: Stage) -> set[str]:
    """The pods of agents that there are."""
    return {pod["metadata"]["uid"] for pod in pods_of(stage.home)}


def settle(stage: Stage, kind: str) -> None:
    """Wait until the agent has workloads of this kind and of no other."""
    other = {"daemonset": "statefulset", "statefulset": "daemonset"}[kind]

    def settled() -> bool:
        return len(stage.home.list(kind)) == 1 and not stage.home.list(other)

    stage.home.until(f"nothing but a {kind}", settled)
