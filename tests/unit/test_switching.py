"""Where a change of an agent's mode stands, seen from what exists."""

from copy import deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from stoker.api.core import Object, ObjectMeta
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgentSpec
from stoker.plan.existing import Running
from stoker.plan.switching import (
    Found,
    Switch,
    apart,
    old_places,
    switch_of,
    switched,
    usual_names,
)
from stoker.ref import Ref
from stoker.select.workload import Scraper

SECRET = Ref("Secret", "shop", "prom-agent-light-switch")


def agent(mode: str) -> Scraper:
    """An agent in a mode."""
    return Scraper(
        namespace="shop",
        name="light",
        spec=convert(PrometheusAgentSpec, {"mode": mode}),
        agent=True,
        daemon_set=mode == "DaemonSet",
    )


def running(status: Object, *, generation: int = 1, **spec: Any) -> Running:
    """A StatefulSet or DaemonSet of the agent, of one replica."""
    metadata = ObjectMeta(name="prom-agent-light", namespace="shop", generation=generation)
    template = {"template": WANTED[1]["spec"]["template"]}
    return Running(metadata=metadata, spec={"replicas": 1} | template | spec, status=status)


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
ON_NODES: list[Object] = [WANTED[0], WANTED[1] | {"kind": "DaemonSet"}]
OWN = ["prom-agent-light-switch"]
APART_SET = running(
    {"observedGeneration": 1, "updatedReplicas": 1, "readyReplicas": 1},
    template=apart(agent("StatefulSet"), WANTED)[1]["spec"]["template"],
)
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


APART_DAEMON = running(READY_DAEMON.status or {}, template=(APART_SET.spec or {})["template"])
DAEMON = Ref("DaemonSet", "shop", "prom-agent-light")


def daemon(**status: int) -> Running:
    """A DaemonSet that lacks something."""
    full: Any = READY_DAEMON.status
    return running(full | status)


def test_nothing_is_kept_where_there_is_one_mode() -> None:
    """An agent that does not change its mode, and a server, are no special case."""
    assert switch_of(agent("StatefulSet"), WANTED, Found([NEW_SET], [], [])) == Switch()
    assert switch_of(agent("DaemonSet"), ON_NODES, Found([], [daemon(numberAvailable=0)], [])) == (
        Switch()
    )
    server = Scraper(namespace="shop", name="main", spec=agent("").spec)
    assert switch_of(server, WANTED, Found([READY_SET], [READY_DAEMON], OWN)) == Switch()


def test_stateful_sets_stay_until_there_is_an_agent_on_every_node() -> None:
    """Not seen by its controller, not on all nodes, old pods, no nodes: all mean waiting."""
    lacking: list[list[Running]] = [
        [],
        [daemon(numberAvailable=2)],
        [daemon(updatedNumberScheduled=2)],
        [daemon(desiredNumberScheduled=0)],
        [running(READY_DAEMON.status or {}, generation=2)],
        # It reads what the StatefulSet reads, as an earlier stoker made it: it will be rolled.
        [READY_DAEMON],
    ]
    for daemons in lacking:
        switch = switch_of(agent("DaemonSet"), ON_NODES, Found([READY_SET], daemons, []))
        assert Ref("StatefulSet", "shop", "prom-agent-light") in switch.kept
        assert switch.waits_for
    done = switch_of(agent("DaemonSet"), ON_NODES, Found([READY_SET], [APART_DAEMON], []))
    assert Ref("StatefulSet", "shop", "prom-agent-light") not in done.kept


@pytest.mark.parametrize("mode", ["DaemonSet", "StatefulSet"])
def test_new_pods_never_read_what_the_old_ones_read(mode: str) -> None:
    """Whichever that is: neither mode sees the configuration of the other."""
    wanted = ON_NODES if mode == "DaemonSet" else WANTED
    usual = ["prom-agent-light", "prom-agent-light-scrape-0"]
    for old, apart_now, theirs in (
        (READY_SET, True, usual),
        (APART_SET, False, OWN),
    ):
        found = Found([old], [], usual + OWN)
        if mode == "StatefulSet":
            found = Found([], [old], usual + OWN)
        switch = switch_of(agent(mode), wanted, found)
        assert switch.apart is apart_now
        assert {Ref("Secret", "shop", each) for each in theirs} < switch.kept


@pytest.mark.parametrize("mode", ["DaemonSet", "StatefulSet"])
def test_a_change_that_is_taken_back_rolls_nothing(mode: str) -> None:
    """The pods that were there first go on with what they read, and the new ones go."""
    for first, second in ((READY_SET, APART_SET), (APART_SET, READY_SET)):
        found = Found([first], [second], ["prom-agent-light", *OWN])
        wanted = WANTED
        if mode == "DaemonSet":
            ready = running(READY_DAEMON.status or {}, template=(first.spec or {})["template"])
            found, wanted = Found([second], [ready], ["prom-agent-light", *OWN]), ON_NODES
        switch = switch_of(agent(mode), wanted, found)
        made = switched(agent(mode), wanted, switch)
        assert made[1]["spec"]["template"] == (first.spec or {})["template"]
        assert not [kind for kind, _, _ in switch.kept if kind != "Secret"]


def test_old_pods_stay_while_the_new_ones_are_about_to_roll() -> None:
    """What they say of themselves is about what they were."""
    other = deepcopy(WANTED)
    other[1]["spec"]["template"]["spec"]["priorityClassName"] = "high"
    found = Found([READY_SET], [APART_DAEMON], ["prom-agent-light", *OWN])
    assert DAEMON in switch_of(agent("StatefulSet"), other, found).kept
    assert DAEMON not in switch_of(agent("StatefulSet"), WANTED, found).kept


def test_new_pods_count_when_they_have_been_ready_for_a_while() -> None:
    """During the change `minReadySeconds` is at least ten, and else the user's."""
    for mode, sets, daemons in (
        ("DaemonSet", [READY_SET], []),
        ("StatefulSet", [], [READY_DAEMON]),
    ):
        wanted = ON_NODES if mode == "DaemonSet" else WANTED
        switch = switch_of(agent(mode), wanted, Found(sets, daemons, []))
        assert switched(agent(mode), wanted, switch)[1]["spec"]["minReadySeconds"] == 10
        patient = deepcopy(wanted)
        patient[1]["spec"]["minReadySeconds"] = 30
        assert switched(agent(mode), patient, switch)[1]["spec"]["minReadySeconds"] == 30
    assert switched(agent("StatefulSet"), WANTED, Switch()) == WANTED
    ready: Object = {"observedGeneration": 1, "updatedReplicas": 1, "readyReplicas": 1}
    for available, kept in ((0, True), (1, False)):
        counting = running(
            ready | {"availableReplicas": available},
            minReadySeconds=10,
            template=(APART_SET.spec or {})["template"],
        )
        switch = switch_of(agent("StatefulSet"), WANTED, Found([counting], [READY_DAEMON], OWN))
        assert (Ref("DaemonSet", "shop", "prom-agent-light") in switch.kept) == kept


def test_a_daemon_set_stays_until_the_stateful_sets_are_ready_on_secrets_of_their_own() -> None:
    """Pods of the DaemonSet never see the configuration for all targets."""
    usual = ["prom-agent-light", "prom-agent-light-scrape-0"]
    kept = {Ref("Secret", "shop", each) for each in usual}
    for sets in ([], [NEW_SET]):
        switch = switch_of(agent("StatefulSet"), WANTED, Found(sets, [READY_DAEMON], usual))
        assert switch.apart
        assert switch.kept == {Ref("DaemonSet", "shop", "prom-agent-light")} | kept
    ready = switch_of(agent("StatefulSet"), WANTED, Found([APART_SET], [READY_DAEMON], usual + OWN))
    assert ready.apart
    assert ready.kept == kept
    assert ready.waits_for


def test_pods_go_on_with_their_own_secrets() -> None:
    """To roll them for the sake of a name would leave targets without anybody."""
    assert switch_of(agent("StatefulSet"), WANTED, Found([APART_SET], [], OWN)) == (
        Switch(apart=True)
    )
    assert switch_of(agent("DaemonSet"), ON_NODES, Found([], [APART_DAEMON], OWN)) == (
        Switch(apart=True)
    )


def test_secrets_of_their_own_go_when_all_pods_read_the_usual_ones() -> None:
    """A pod that was not rolled yet may be started again, and reads them then."""
    rolling = switch_of(agent("StatefulSet"), WANTED, Found([NEW_SET], [], OWN))
    assert rolling.kept == {SECRET}
    assert rolling.waits_for
    assert not rolling.apart
    assert switch_of(agent("StatefulSet"), WANTED, Found([READY_SET], [], OWN)) == Switch()


def test_only_the_configuration_goes_apart() -> None:
    """The Secret has another name, and the volume of the configuration names it; else nothing."""
    secret, stateful_set = apart(agent("StatefulSet"), WANTED)
    assert secret["metadata"]["name"] == "prom-agent-light-switch"
    config, other = stateful_set["spec"]["template"]["spec"]["volumes"]
    assert config["secret"]["secretName"] == "prom-agent-light-switch"
    assert other == WANTED[1]["spec"]["template"]["spec"]["volumes"][1]
    assert WANTED[0]["metadata"]["name"] == "prom-agent-light"


def test_all_files_of_a_large_configuration_go_apart() -> None:
    """Jobs are in further Secrets then: what pods of a DaemonSet read there must stay theirs."""
    names = ["prom-agent-light", "prom-agent-light-scrape-0", "prom-agent-light-scrape-1"]
    large = deepcopy(WANTED)
    large[1]["spec"]["template"]["spec"]["volumes"][0] = {
        "name": "config",
        "projected": {"sources": [{"secret": {"name": each}} for each in names]},
    }
    others = [{"kind": "Secret", "metadata": {"name": each}} for each in names[1:]]
    *secrets, stateful_set = apart(agent("StatefulSet"), [*others, *large])
    own = ["prom-agent-light-switch", *(f"prom-agent-light-switch-scrape-{n}" for n in (0, 1))]
    assert {each["metadata"]["name"] for each in secrets} == set(own)
    volume = stateful_set["spec"]["template"]["spec"]["volumes"][0]
    assert [each["secret"]["name"] for each in volume["projected"]["sources"]] == own
    assert usual_names(agent("StatefulSet"), [*own, "other"]) == [*names, "other"]


@pytest.mark.parametrize("mode", ["DaemonSet", "StatefulSet"])
def test_a_change_is_held_where_pods_want_the_same_port_of_a_node(mode: str) -> None:
    """Nothing is begun, the old pods stay, and it says what to do; in both directions."""
    wanted = deepcopy(ON_NODES if mode == "DaemonSet" else WANTED)
    wanted[1]["spec"]["template"]["spec"]["hostNetwork"] = True
    old = running(READY_DAEMON.status or {}, template=wanted[1]["spec"]["template"])
    if mode == "DaemonSet":
        old = running(READY_SET.status or {}, template=wanted[1]["spec"]["template"])
    found = Found([old], [], ["prom-agent-light"])
    if mode == "StatefulSet":
        found = Found([], [old], ["prom-agent-light"])
    switch = switch_of(agent(mode), wanted, found)
    assert switch.held
    assert "delete" in switch.waits_for
    assert switched(agent(mode), wanted, switch) == []
    other = "StatefulSet" if mode == "DaemonSet" else "DaemonSet"
    assert Ref(other, "shop", "prom-agent-light") in switch.kept
    # The ways out: without hostNetwork, without the old ones, and where these have no pods.
    plain = ON_NODES if mode == "DaemonSet" else WANTED
    assert not switch_of(agent(mode), plain, found).held
    assert not switch_of(agent(mode), wanted, Found([], [], ["prom-agent-light"])).held
    if mode == "DaemonSet":
        status = {"observedGeneration": 1, "replicas": 0, "updatedReplicas": 0}
        none = running(status, replicas=0, template=wanted[1]["spec"]["template"])
        assert not switch_of(agent(mode), wanted, Found([none], [], [])).held


def test_new_pods_are_left_as_they_are_while_a_change_is_held() -> None:
    """Ports that are asked for half-way: nothing is rolled, and what new pods read is current."""
    wanted = deepcopy(ON_NODES)
    wanted[1]["spec"]["template"]["spec"]["hostNetwork"] = True
    old = running(READY_SET.status or {}, template=wanted[1]["spec"]["template"])
    new = running(daemon(numberAvailable=2).status or {}, template=APART_DAEMON.spec["template"])  # type: ignore[index]
    switch = switch_of(agent("DaemonSet"), wanted, Found([old], [new], ["prom-agent-light", *OWN]))
    assert switch.held
    assert DAEMON in switch.kept
    [secret] = switched(agent("DaemonSet"), wanted, switch)
    assert secret["metadata"]["name"] == "prom-agent-light-switch"


def test_what_is_being_deleted_is_not_ready() -> None:
    """Its status is not touched again: a change that is taken back twice would end too soon."""
    metadata = replace(APART_DAEMON.metadata, deletion_timestamp="2026-11-16T12:00:00Z")
    going = replace(APART_DAEMON, metadata=metadata)
    for daemons, kept in (([APART_DAEMON], False), ([going], True)):
        found = Found([READY_SET], daemons, ["prom-agent-light", *OWN])
        switch = switch_of(agent("DaemonSet"), ON_NODES, found)
        assert (Ref("StatefulSet", "shop", "prom-agent-light") in switch.kept) is kept


def test_a_change_waits_for_pods_that_are_rolled_between_the_two_secrets() -> None:
    """They read both, so that there is none for the new pods; and both are kept current."""
    rolling = running({"observedGeneration": 1, "updatedReplicas": 0, "readyReplicas": 1})
    found = Found([rolling], [], ["prom-agent-light", *OWN])
    assert old_places(agent("DaemonSet"), found) == (False, True)
    switch = switch_of(agent("DaemonSet"), ON_NODES, found)
    assert "rolled" in switch.waits_for
    assert SECRET in switch.kept
    assert switched(agent("DaemonSet"), ON_NODES, switch) == []
    for done in (
        Found([READY_SET], [], ["prom-agent-light", *OWN]),
        Found([rolling], [], ["prom-agent-light"]),
        Found([rolling], [APART_DAEMON], ["prom-agent-light", *OWN]),
    ):
        assert old_places(agent("DaemonSet"), done) == (False,)
        assert "rolled" not in switch_of(agent("DaemonSet"), ON_NODES, done).waits_for


def test_a_change_goes_on_without_pods_that_are_excused_and_without_no_others() -> None:
    """Nodes that are lost do not hold it up; a set of which nothing is ready always does."""
    made = replace(APART_DAEMON.metadata, uid="new")
    for available, excused, kept in ((2, 1, False), (1, 1, True), (2, 0, True), (0, 3, True)):
        status = (READY_DAEMON.status or {}) | {"numberAvailable": available}
        new = replace(APART_DAEMON, metadata=made, status=status)
        found = Found([READY_SET], [new], ["prom-agent-light", *OWN], {"new": excused})
        switch = switch_of(agent("DaemonSet"), ON_NODES, found)
        assert (Ref("StatefulSet", "shop", "prom-agent-light") in switch.kept) is kept
        assert switch.starts == (frozenset({"new"}) if kept else frozenset())
    for replicas, ready, excused, kept in ((2, 1, 1, False), (1, 0, 1, True), (2, 0, 2, True)):
        counts = {"observedGeneration": 1, "updatedReplicas": replicas, "readyReplicas": ready}
        new = replace(
            APART_SET, metadata=made, spec=(APART_SET.spec or {}) | {"replicas": replicas}
        )
        found = Found([replace(new, status=counts)], [READY_DAEMON], OWN, {"new": excused})
        assert (DAEMON in switch_of(agent("StatefulSet"), WANTED, found).kept) is kept


def test_it_says_what_a_change_waits_for() -> None:
    """Each step in its own words, and whose pods are to be looked at."""
    going = replace(READY_DAEMON.metadata, deletion_timestamp="2026-11-16T12:00:00Z", uid="old")
    leaving = replace(READY_DAEMON, metadata=going)
    secrets = ["prom-agent-light", *OWN]
    switch = switch_of(agent("StatefulSet"), WANTED, Found([APART_SET], [leaving], secrets))
    assert "DaemonSet goes with its pods" in switch.waits_for
    assert switch.leaves == {"old"}
    back = switch_of(agent("DaemonSet"), ON_NODES, Found([APART_SET], [leaving], secrets))
    assert "still being deleted" in back.waits_for
    assert back.leaves == {"old"}
    nowhere = running(
        {"observedGeneration": 1, "desiredNumberScheduled": 0},
        template=(APART_SET.spec or {})["template"],
    )
    none = switch_of(agent("DaemonSet"), ON_NODES, Found([READY_SET], [nowhere], secrets))
    assert "no node fits" in none.waits_for
