"""An agent on nodes that changes its discovery: what pods read stays until they are replaced."""

from typing import Any

import pytest

from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgent
from stoker.build.objects import Contents
from stoker.generate.split import MAIN_FILE
from stoker.plan.existing import Running
from stoker.plan.old_mode import old_configuration, old_mode_of
from stoker.plan.switching import Found, old_discovery, switch_of
from stoker.ref import Ref
from stoker.select.workload import Scraper, scraper_of
from stoker.settings import Capabilities, NodeServer, ObjectSettings
from tests.builders import typed

KUBERNETES, OPERATOR = "Kubernetes", "Operator"
OTHER = {KUBERNETES: OPERATOR, OPERATOR: KUBERNETES}
PREFIX = {KUBERNETES: "prom-agent-light", OPERATOR: "prom-agent-light-portions"}
ROLLED = {"desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3}
HALF = ROLLED | {"updatedNumberScheduled": 1}
SETTINGS = ObjectSettings(node_server=NodeServer(url="https://a.b:8443", ca="ours"))


def agent(discovery: str, mode: str = "DaemonSet", **spec: Any) -> PrometheusAgent:
    """An agent with a discovery."""
    on_nodes = {"daemonSet": {"discovery": discovery}} if mode == "DaemonSet" else {}
    return typed(PrometheusAgent, "light", {"mode": mode} | on_nodes | spec, uid="u")


def scraper(discovery: str, mode: str = "DaemonSet") -> Scraper:
    """The same as generators see it."""
    return scraper_of(agent(discovery, mode), Capabilities())


def reading(name: str, status: Object, kind: str = "DaemonSet", generation: int = 1) -> Running:
    """A DaemonSet whose latest template reads the configuration of this name."""
    files = name.removesuffix("-switch") + "-tls-assets-0"
    volumes = [
        {"name": "config", "secret": {"secretName": name}},
        {"name": "tls-assets", "projected": {"sources": [{"secret": {"name": files}}]}},
    ]
    template = {"spec": {"volumes": volumes, "containers": []}}
    metadata = {"name": "prom-agent-light", "namespace": "shop", "generation": generation}
    status = {"observedGeneration": 1} | status
    return convert(
        Running,
        {"metadata": metadata | {"labels": {}}, "spec": {"template": template}, "status": status},
    )


def secrets(*prefixes: str) -> list[str]:
    """The Secrets of the agent: those of these configurations, and what all of them have."""
    return ["prom-agent-light-web-config"] + [
        name for each in prefixes for name in (each, f"{each}-tls-assets-0")
    ]


BOTH = secrets(*PREFIX.values())


@pytest.mark.parametrize("discovery", [KUBERNETES, OPERATOR])
@pytest.mark.parametrize(
    ("status", "rolled", "generation"),
    [(ROLLED, False, 1), (HALF, True, 1), (ROLLED, True, 2), ({}, True, 1)],
    ids=["not begun", "half-way", "not seen", "no status"],
)
def test_secrets_of_the_other_discovery_stay_until_all_pods_are_rolled(
    discovery: str, status: Object, rolled: bool, generation: int
) -> None:
    """Also before the DaemonSet is written, and before its controller has seen that it was."""
    reads = PREFIX[discovery if rolled else OTHER[discovery]]
    found = Found([], [reading(reads, status, generation=generation)], BOTH)
    switch = switch_of(scraper(discovery), [], found)
    other = PREFIX[OTHER[discovery]]
    names = {each.name for each in switch.kept}
    assert names == {other, f"{other}-tls-assets-0"}
    assert switch.what == "discovery"
    assert switch.waits_for


@pytest.mark.parametrize("discovery", [KUBERNETES, OPERATOR])
def test_they_go_when_all_are(discovery: str) -> None:
    """Nothing is kept, and nothing is said."""
    found = Found([], [reading(PREFIX[discovery], ROLLED)], BOTH)
    switch = switch_of(scraper(discovery), [], found)
    assert (switch.kept, switch.waits_for) == (frozenset(), "")


def test_a_roll_of_any_other_sort_is_no_change_of_discovery() -> None:
    """Where there are no Secrets of the other one, nobody reads them."""
    found = Found([], [reading(PREFIX[KUBERNETES], HALF)], secrets(PREFIX[KUBERNETES]))
    assert old_discovery(scraper(KUBERNETES), found) is None
    assert old_discovery(scraper(KUBERNETES, "StatefulSet"), found) is None


@pytest.mark.parametrize("discovery", [KUBERNETES, OPERATOR])
def test_what_old_pods_read_is_kept_current(discovery: str) -> None:
    """As the agent would be with the other discovery, in the Secrets that these pods mount."""
    found = Found([], [reading(PREFIX[discovery], HALF)], BOTH)
    old = old_mode_of(agent(discovery), scraper(discovery), found)
    assert old is not None
    known = scraper_of(old.agent, Capabilities())
    assert known.portions == (discovery == KUBERNETES)
    contents = Contents(config_files={MAIN_FILE: b"text"}, asset_files={"a": "b"})
    made = old_configuration(old, known, SETTINGS, contents)
    other = PREFIX[OTHER[discovery]]
    written = {each["metadata"]["name"]: set(each["data"]) for each in made.secrets}
    beside = {"portion-ca.pem"} if discovery == KUBERNETES else set()
    assert written == {other: {MAIN_FILE} | beside, f"{other}-tls-assets-0": {"a"}}
    # New pods have files of their own.
    assert made.files == {}


def test_pods_that_came_by_a_change_of_mode_keep_the_names_that_they_know() -> None:
    """A DaemonSet that took over from StatefulSets reads the configuration by another name."""
    apart = f"{PREFIX[KUBERNETES]}-switch"
    known = [apart, f"{PREFIX[KUBERNETES]}-tls-assets-0", *secrets(PREFIX[OPERATOR])]
    found = Found([], [reading(PREFIX[OPERATOR], HALF)], known)
    switch = switch_of(scraper(OPERATOR), [], found)
    assert Ref("Secret", "shop", apart) in switch.kept
    old = old_mode_of(agent(OPERATOR), scraper(OPERATOR), found)
    assert old is not None
    assert old.apart == (True,)


@pytest.mark.parametrize("discovery", [KUBERNETES, OPERATOR])
def test_a_change_of_mode_keeps_what_pods_of_either_discovery_read(discovery: str) -> None:
    """From nodes to a StatefulSet: the pods on nodes go on with all that they mount."""
    daemon_set = reading(PREFIX[discovery], ROLLED)
    found = Found([], [daemon_set], secrets(PREFIX[discovery]))
    new = agent(discovery, "StatefulSet")
    old = old_mode_of(new, scraper_of(new, Capabilities()), found)
    assert old is not None
    assert scraper_of(old.agent, Capabilities()).portions == (discovery == OPERATOR)
    assert old.own_files == (discovery == OPERATOR)
    switch = switch_of(scraper_of(new, Capabilities()), [], found)
    if discovery == OPERATOR:
        names = {each.name for each in switch.kept}
        assert {PREFIX[OPERATOR], f"{PREFIX[OPERATOR]}-tls-assets-0"} <= names
