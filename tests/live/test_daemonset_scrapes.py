"""Agents, really scraping: each target once per interval, by the right agent."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.live.changing import (
    DAEMON_SET,
    RELOADERS,
    STATEFUL_SET,
    Step,
    measured,
    set_mode,
)
from tests.live.operating import Running
from tests.live.stage import (
    ALONE,
    APPS,
    NODES,
    Stage,
    agents,
    node_of,
    open_stage,
    plain_monitor,
    pods_of,
    team_pod,
)
from tests.live.succession import Succession
from tools import namespace


@pytest.fixture(autouse=True)
def namespaces() -> None:
    """Real scrapes need a network of their own."""
    if not namespace.launcher():
        pytest.skip("this machine does not let us make network namespaces")


def test_each_target_is_scraped_once_by_the_agent_of_its_node(tmp_path: Path) -> None:
    """It holds from the start, and again after nodes, pods and monitors have changed.

    Each scrape is counted; one node is tainted, and the names of two differ in a dot only.
    """
    with open_stage(tmp_path) as stage, Running.start(stage.cluster, ALONE):
        stage.furnish()
        stage.home.put(agents())
        # Pods come and move here.
        stage.nudges = True
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
        left = {*NODES, "late"} - {"node-2"}
        assert {node_of(pod) for pod in pods_of(stage.home)} == left


@pytest.mark.parametrize("reloader", RELOADERS)
def test_a_change_of_mode_leaves_no_target_alone_whoever_is_killed(
    tmp_path: Path, reloader: str
) -> None:
    """To a DaemonSet and back, each at first taken back, with an operator killed at each write.

    No target waits for longer than two intervals, none is scraped by both modes for longer than the
    hand-over needs, and no agent scrapes for the other mode. `python -m tests.modes` has all
    kinds of change.
    """
    flags = (ALONE, *RELOADERS[reloader])
    with open_stage(tmp_path) as stage, Succession(stage.cluster, *flags) as operators:

        def change(*steps: Step) -> None:
            found = measured(stage, operators, steps, random.Random(0), kill=True)
            assert found.kills
            assert found.is_kept, found

        stage.furnish()
        set_mode(stage, STATEFUL_SET)
        stage.begins()
        before = uids_of(stage)
        change(Step(DAEMON_SET, "one ready"), Step(STATEFUL_SET, "settled"))
        # It was taken back half-way: the old pod went on as if nothing had been.
        assert uids_of(stage) == before
        change(Step(DAEMON_SET, "settled"))
        stage.holds()
        before = uids_of(stage)
        change(Step(STATEFUL_SET, "all ready"), Step(DAEMON_SET, "settled"))
        assert uids_of(stage) == before
        change(Step(STATEFUL_SET, "settled"))
        stage.holds()


def uids_of(stage: Stage) -> set[str]:
    """The pods of agents that there are."""
    return {pod["metadata"]["uid"] for pod in pods_of(stage.home)}
