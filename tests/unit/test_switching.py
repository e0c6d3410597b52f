"""Where a change of an agent's mode stands (D7), seen from what exists."""

from typing import Any

from stoker.api.core import Object, ObjectMeta
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgentSpec
from stoker.run.caches import Running
from stoker.run.switching import Found, Switch, apart, switch_of
from stoker.select.workload import Workload

SECRET = ("Secret", "shop", "prom-agent-light-switch")


def agent(mode: str) -> Workload:
    """An agent in a mode."""
    return Workload(
        namespace="shop",
        name="light",
        spec=convert(PrometheusAgentSpec, {"mode": mode}),
        agent=True,
        daemon_set=mode == "DaemonSet",
    )


def running(status: Object, *, generation: int = 1) -> Running:
    """A StatefulSet or DaemonSet of the agent, of one replica."""
    metadata = ObjectMeta(name="prom-agent-light", namespace="shop", generation=generation)
    return Running(metadata=metadata, spec={"replicas": 1}, status=status)


READY_SET = running({"observedGeneration": 1, "updatedReplicas": 1, "readyReplicas": 1})
NEW_SET = running({"observedGeneration": 1, "updatedReplicas": 1, "readyReplicas": 0})
READY_DAEMON = running(
    {
        "observedGeneration": 1,
        "desiredNumberScheduled": 3,
        "updatedNumberScheduled": 3,
        "numberAvailable": 3,
    }
)
WANTED: list[Object] = [
    {"kind": "Secret", "metadata": {"name": "prom-agent-light"}},
    {
        "kind": "StatefulSet",
        "metadata": {"name": "prom-agent-light"},
        "spec": {
            "template": {
                "spec": {
                    "volumes": [
                        {"name": "config", "secret": {"secretName": "prom-agent-light"}},
                        {"name": "other", "secret": {"secretName": "prom-agent-light"}},
                    ]
                }
            }
        },
    },
]


def daemon(**status: int) -> Running:
    """A DaemonSet that lacks something."""
    full: Any = READY_DAEMON.status
    return running(full | status)


def test_nothing_is_kept_where_there_is_one_mode() -> None:
    """An agent that does not change its mode, and a server, are no special case."""
    assert switch_of(agent("StatefulSet"), WANTED, Found([NEW_SET], [], False)) == Switch()
    assert switch_of(agent("DaemonSet"), [], Found([], [daemon(numberAvailable=0)], False)) == (
        Switch()
    )
    server = Workload(namespace="shop", name="main", spec=agent("").spec)
    assert switch_of(server, WANTED, Found([READY_SET], [READY_DAEMON], True)) == Switch()


def test_stateful_sets_stay_until_there_is_an_agent_on_every_node() -> None:
    """Not seen by its controller, not on all nodes, old pods, no nodes: all mean waiting."""
    lacking: list[list[Running]] = [
        [],
        [daemon(numberAvailable=2)],
        [daemon(updatedNumberScheduled=2)],
        [daemon(desiredNumberScheduled=0)],
        [running(READY_DAEMON.status or {}, generation=2)],
    ]
    for daemons in lacking:
        switch = switch_of(agent("DaemonSet"), [], Found([READY_SET], daemons, False))
        assert switch.kept == {("StatefulSet", "shop", "prom-agent-light")}
        assert switch.waits_for
        assert not switch.apart
    assert switch_of(agent("DaemonSet"), [], Found([READY_SET], [READY_DAEMON], False)) == Switch()


def test_a_daemon_set_stays_until_the_stateful_sets_are_ready_on_a_secret_of_their_own() -> None:
    """Pods of the DaemonSet never see the configuration for all targets."""
    for sets in ([], [NEW_SET]):
        switch = switch_of(agent("StatefulSet"), WANTED, Found(sets, [READY_DAEMON], False))
        assert switch.apart
        assert switch.kept == {("DaemonSet", "shop", "prom-agent-light")}
    ready = switch_of(agent("StatefulSet"), WANTED, Found([READY_SET], [READY_DAEMON], True))
    assert ready.apart
    assert ready.kept == frozenset()
    assert ready.waits_for


def test_the_secret_of_its_own_goes_when_all_pods_read_the_usual_one() -> None:
    """A pod that was not rolled yet may be started again, and reads it then."""
    rolling = switch_of(agent("StatefulSet"), WANTED, Found([NEW_SET], [], True))
    assert rolling.kept == {SECRET}
    assert not rolling.apart
    assert switch_of(agent("StatefulSet"), WANTED, Found([READY_SET], [], True)) == Switch()


def test_only_the_configuration_goes_apart() -> None:
    """The Secret has another name, and the volume of the configuration names it; else nothing."""
    secret, stateful_set = apart(agent("StatefulSet"), WANTED)
    assert secret["metadata"]["name"] == "prom-agent-light-switch"
    config, other = stateful_set["spec"]["template"]["spec"]["volumes"]
    assert config["secret"]["secretName"] == "prom-agent-light-switch"
    assert other == WANTED[1]["spec"]["template"]["spec"]["volumes"][1]
    assert WANTED[0]["metadata"]["name"] == "prom-agent-light"
