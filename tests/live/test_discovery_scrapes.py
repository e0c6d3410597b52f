"""Agents on nodes whose targets the operator finds, really scraping.

Each target is scraped once in each interval by the agent of its node, by agents that may ask the
API server nothing, whoever comes, goes, moves or is killed, and while the discovery changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.builders import resource, secret
from tests.live.changing import ENDING
from tests.live.operating import Running
from tests.live.outlet import FLAGS, Outlet
from tests.live.scraping import target
from tests.live.stage import (
    ALONE,
    APPS,
    INTERVAL,
    NODES,
    Stage,
    Try,
    agents,
    node_of,
    open_stage,
    paused,
    plain_monitor,
    pods_of,
    team_pod,
)
from tools import namespace
from tools.api import Api, ApiError
from tools.pods.account import token_of

Object = dict[str, Any]

KUBERNETES, OPERATOR = "Kubernetes", "Operator"
# New pods come beside old ones, which go when these have been ready for so long.
SETTLING = 10
# And until they have ended, by whom that is seen, and by the next scrape.
HAND_OVER = SETTLING + ENDING + 4 * INTERVAL
BESIDE: Object = {
    "minReadySeconds": SETTLING,
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}},
}


@pytest.fixture(autouse=True)
def namespaces() -> None:
    """Real scrapes need a network of their own."""
    if not namespace.launcher():
        pytest.skip("this machine does not let us make network namespaces")


class Replicas:
    """Operators that serve through the outlet, started and killed at will."""

    def __init__(self, stage: Stage, outlet: Outlet, stack: ExitStack) -> None:
        self._stage = stage
        self._outlet = outlet
        self._stack = stack

    def start(self, *flags: str) -> None:
        """Start one more."""
        made = Running.start(self._stage.cluster, *FLAGS, *flags)
        self._outlet.operators.append(self._stack.enter_context(made))

    def kill(self) -> None:
        """Kill all of them."""
        for each in self._outlet.operators:
            each.kill()
        self._outlet.operators.clear()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Targets on five nodes, and nobody who scrapes them."""
    with open_stage(tmp_path) as made:
        made.furnish()
        yield made


@pytest.fixture
def operators(stage: Stage) -> Iterator[Replicas]:
    """Operators, none yet."""
    with ExitStack() as stack:
        yield Replicas(stage, stack.enter_context(Outlet(stage.cluster)), stack)


def set_discovery(stage: Stage, discovery: str, **on_nodes: Any) -> None:
    """Have the agents find their targets so."""
    # As admission would have it, which this cluster does without.
    account = {"serviceAccountName": "default"}
    stage.home.put(agents(daemonSet={"discovery": discovery} | on_nodes, **account))


def test_each_target_is_scraped_once_by_the_agent_of_its_node(
    stage: Stage, operators: Replicas
) -> None:
    """By two replicas, through changes of everything, and while nobody is there to ask.

    At the end all that a pod of an agent can read is searched for credentials.
    """
    operators.start()
    operators.start()
    set_discovery(stage, OPERATOR)
    stage.holds()

    # A node joins, with pods of its own; pods move, a monitor changes, and a node leaves.
    stage.cluster.add_node("late")
    for team in stage.teams:
        team.put(*(team_pod(app, 9, "late") for app in APPS))
        for app in ("plain", "shop"):
            path = team.path("pods", f"{app}-0")
            stage.cluster.api.request("DELETE", path, {"gracePeriodSeconds": 0})
            team.put(team_pod(app, 0, "node-1"))
    stage.plain_port = "admin"
    for team in stage.teams:
        team.put(plain_monitor("admin"))
    stage.cluster.remove_node("node-2")
    stage.list_external()
    stage.holds()
    assert {node_of(pod) for pod in pods_of(stage.home)} == {*NODES, "late"} - {"node-2"}

    # Nobody is there: agents go on with what they have, also the one that is started anew.
    operators.kill()
    stage.holds()
    operators.start(ALONE)
    for team in stage.teams:
        team.put(team_pod("plain", 8, "node-0"))
    stage.holds()

    holds_no_other_credentials(stage)


# --- What lies on a node --------------------------------------------------------------------------


def holds_no_other_credentials(stage: Stage) -> None:
    """See that a pod can read the credentials of targets on its node, and no others."""
    nodes = dict(zip(("red", "green", "blue"), ("node-0", "node-1", "late"), strict=True))
    words = {node: f"word-of-{team}" for team, node in nodes.items()}
    for team in stage.teams:
        team.put(secret("login", {"user": "me", "word": f"word-of-{team.namespace}"}))
        login = {"username": _key("user"), "password": _key("word")}
        endpoint = {"port": "web", "basicAuth": login}
        spec = {"selector": {"matchLabels": {"app": "vault"}}, "podMetricsEndpoints": [endpoint]}
        team.put(resource("PodMonitor", "vault", spec))
        team.put(target("vault", nodes[team.namespace], {"app": "vault"}))
    readable = {node_of(pod): pod for pod in pods_of(stage.home)}
    assert len(readable) >= 3

    def found() -> bool:
        return all(
            {each for each in words.values() if each in all_that_is_read(stage, pod)}
            == ({words[node]} if node in words else set())
            for node, pod in readable.items()
        )

    stage.home.until("each node to have its own", found)
    # The last target leaves its node, and with it the password.
    stage.cluster.api.request(
        "DELETE", stage.teams[0].path("pods", "vault"), {"gracePeriodSeconds": 0}
    )
    del words["node-0"]
    stage.home.until("the password to leave", found)
    for pod in readable.values():
        assert_asks_nothing(stage, pod)


def _key(key: str) -> Object:
    return {"name": "login", "key": key}


def all_that_is_read(stage: Stage, pod: Object) -> str:
    """All files of a pod's volumes, whether anybody names them or not, and its environment."""
    folder = stage.cluster.directory / "pods" / "live" / pod["metadata"]["uid"] / "volumes"
    files = [each for each in folder.rglob("*") if each.is_file() and "db" not in each.parts]
    texts = [str(pod["spec"])]
    for each in files:
        try:
            texts.append(each.read_bytes().decode("latin-1"))
        except FileNotFoundError:
            continue
    return "\n".join(texts)


def assert_asks_nothing(stage: Stage, pod: Object) -> None:
    """See that a pod has no token for the API server, nor any use for the one it has there."""
    mounted = [volume for volume in pod["spec"]["volumes"] if "projected" in volume]
    sources = [source for volume in mounted for source in volume["projected"]["sources"]]
    tokens = [each["serviceAccountToken"] for each in sources if "serviceAccountToken" in each]
    assert [each["audience"] for each in tokens] == ["stoker-portions"]
    assert pod["spec"]["automountServiceAccountToken"] is False
    token = token_of(stage.cluster.api, pod, "stoker-portions")
    with pytest.raises(ApiError) as error:
        Api(stage.cluster.url, token, stage.cluster.ca_file).get("/api/v1/pods")
    assert error.value.status == 401


# --- From one discovery to the other --------------------------------------------------------------


def test_a_change_of_discovery_leaves_no_target_alone(stage: Stage, operators: Replicas) -> None:
    """To the operator's and back, the first time taken back half-way and with an operator killed.

    Where new pods come beside old ones no target waits for longer than two intervals, and none is
    scraped by two for longer than the hand-over.
    """
    operators.start(ALONE)
    set_discovery(stage, KUBERNETES, **BESIDE)
    before = stage.begins()
    begin = time.time()
    with paused() as late:
        set_discovery(stage, OPERATOR, **BESIDE)
        stage.home.until("a pod with portions", lambda: len(with_portions(stage)) >= 1)
        operators.kill()
        operators.start(ALONE)
        stage.home.until("some pods with portions", lambda: len(with_portions(stage)) >= 2)
        # What both read is there for as long as both are.
        assert {"prom-agent-main", "prom-agent-main-portions"} <= secrets_of(stage)
        set_discovery(stage, KUBERNETES, **BESIDE)
        rolled(stage, KUBERNETES)
        assert not {each for each in secrets_of(stage) if "-portions" in each}
        set_discovery(stage, OPERATOR, **BESIDE)
        rolled(stage, OPERATOR)
        assert "prom-agent-main" not in secrets_of(stage)
        set_discovery(stage, KUBERNETES, **BESIDE)
        rolled(stage, KUBERNETES)
        after = stage.begins()
        end = time.time()
        stage.arrived(end, after)
    tries = stage.tries(begin, end)
    assert tries.keys() == {each.target for each in before}
    both = chain.from_iterable(map(pairwise, tries.values()))
    gap = max(later.time - sooner.time for sooner, later in both)
    overlap = max(map(overlap_of, tries.values()))
    print(f"gap {gap:.1f}, overlap {overlap:.1f}, late {max(late):.1f}")
    assert gap <= 2 * INTERVAL + max(late)
    assert overlap <= HAND_OVER + max(late)
    nodes, seen = stage.targets(), dict[str, set[str]]()
    for each, every in tries.items():
        for one in every:
            seen.setdefault(one.agent, set()).add(nodes[each])
    assert {len(found) for found in seen.values()} == {1}


def overlap_of(every: Sequence[Try]) -> float:
    """The longest time for which two agents scraped a target; no pod comes back."""
    times: dict[str, list[float]] = {}
    for each in every:
        times.setdefault(each.agent, []).append(each.time)
    spans = [(min(found), max(found)) for found in times.values()]
    both = (min(a[1], b[1]) - max(a[0], b[0]) for a, b in combinations(spans, 2))
    return max(0.0, *both)


def with_portions(stage: Stage) -> list[Object]:
    """The pods that get portions and are ready."""
    return [each for each in pods_of(stage.home) if _has(each) and stage.pods.ready(each)]


def _has(pod: Object) -> bool:
    return any(each["name"] == "portion-token" for each in pod["spec"]["volumes"])


def rolled(stage: Stage, discovery: str) -> None:
    """Wait until all pods find their targets so, and nothing is left of the other way."""

    def done() -> bool:
        pods = pods_of(stage.home)
        same = all(_has(each) == (discovery == OPERATOR) for each in pods)
        other = "prom-agent-main" if discovery == OPERATOR else "prom-agent-main-portions"
        return same and len(pods) == len(NODES) and other not in secrets_of(stage)

    stage.home.until(f"all pods with {discovery}", done)


def secrets_of(stage: Stage) -> set[str]:
    """The names of the Secrets of the agents."""
    return {each["metadata"]["name"] for each in stage.home.list("secrets")}
