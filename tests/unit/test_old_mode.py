"""What pods of the mode that an agent is leaving go on with."""

from collections.abc import Sequence
from typing import Any

import pytest

from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.prometheus import PrometheusAgent
from stoker.build.objects import Contents
from stoker.generate.split import MAIN_FILE, file_name
from stoker.plan.existing import OldConfiguration, Running
from stoker.plan.old_mode import OldMode, old_configuration, old_mode_of, together
from stoker.plan.switching import Found
from stoker.select.workload import scraper_of
from stoker.settings import Capabilities, ObjectSettings
from stoker.validate.workload import mode_rules
from tests.builders import typed


def agent(mode: str, **spec: Any) -> PrometheusAgent:
    """An agent in a mode."""
    return typed(PrometheusAgent, "light", {"mode": mode} | spec, uid="u")


def running(shard: int = 0, *, reads: str = "", env: Sequence[str] = ()) -> Running:
    """A StatefulSet or DaemonSet of the agent, as far as it matters here."""
    variables = [{"name": name, "value": "x"} for name in env]
    names = [reads or "prom-agent-light", "prom-agent-light-tls-assets-0"]
    sources = [{"secret": {"name": each}} for each in names]
    template: Object = {
        "metadata": {"labels": {"app.kubernetes.io/version": "3.1.0"}},
        "spec": {
            "containers": [{"name": "config-reloader", "env": variables}],
            "volumes": [
                {"name": "config", "secret": {"secretName": names[0]}},
                {"name": "tls-assets", "projected": {"sources": sources[1:]}},
            ],
        },
    }
    labels = {"operator.prometheus.io/shard": str(shard)}
    metadata = {"name": "x", "namespace": "shop", "generation": 1, "labels": labels}
    status = {"observedGeneration": 1, "updatedReplicas": 1, "replicas": 1}
    return convert(
        Running, {"metadata": metadata, "spec": {"template": template}} | {"status": status}
    )


def old_of(
    workload: PrometheusAgent, sets: list[Running], daemons: list[Running]
) -> OldMode | None:
    """The mode that an agent is leaving."""
    return old_mode_of(workload, scraper_of(workload, Capabilities()), Found(sets, daemons, []))


def test_an_agent_that_stays_as_it_is_leaves_no_mode() -> None:
    """Nothing is kept beside it, and nothing costs anything."""
    assert old_of(agent("DaemonSet"), [], [running()]) is None
    assert old_of(agent("StatefulSet"), [running(), running(1)], []) is None


def test_old_stateful_sets_divide_targets_as_they_did() -> None:
    """By as many shards as there are, for the version that they run, and without the new mode."""
    new = agent("DaemonSet", version="3.9.0", daemonSet={"minReadySeconds": 3})
    old = old_of(new, [running(), running(2), running(1)], [])
    assert old is not None
    spec = old.agent.spec
    assert (spec.mode, spec.shards, spec.version) == ("StatefulSet", 3, "3.1.0")
    assert not list(mode_rules(spec))
    assert not old.problem


def test_an_old_daemon_set_has_nothing_that_is_forbidden_there() -> None:
    """The rules of modes find nothing wrong with it, whatever the agent got for its new mode."""
    forbidden = {
        "replicas": 2,
        "shards": 3,
        "storage": {"emptyDir": {}},
        "probeSelector": {},
        "scrapeConfigSelector": {},
        "additionalScrapeConfigs": {"name": "a", "key": "b"},
        "shardingStrategy": {"mode": "Classic"},
    }
    old = old_of(agent("StatefulSet", **forbidden), [], [running(reads="prom-agent-light-switch")])
    assert old is not None
    assert not list(mode_rules(old.agent.spec))
    assert old.agent.spec.mode == "DaemonSet"
    assert old.apart == (True,)


def test_labels_with_the_name_of_the_node_are_not_for_old_stateful_sets() -> None:
    """Their reloaders do not know it, and would refuse the file or write nonsense."""
    new = agent("DaemonSet", externalLabels={"agent_node": "$(NODE_NAME)", "cluster": "a"})
    old = old_of(new, [running()], [])
    assert old is not None
    assert old.agent.spec.external_labels == {"cluster": "a"}
    assert not old.problem


@pytest.mark.parametrize(
    ("spec", "variables", "reason"),
    [
        ({"remoteWrite": [{"url": "http://a/$(NODE_NAME)"}]}, (), "NODE_NAME"),
        ({}, ("TOPOLOGY_ZONE",), "zones"),
    ],
)
def test_what_old_pods_would_misread_is_not_written(
    spec: Object, variables: tuple[str, ...], reason: str
) -> None:
    """They keep what they have, and it is said why."""
    old = old_of(agent("DaemonSet", **spec), [running(env=variables)], [])
    assert old is not None
    assert reason in old.problem


def test_a_word_about_the_node_in_a_container_is_none_in_the_configuration() -> None:
    """Kubernetes fills in variables of containers by itself."""
    container = {"name": "beside", "args": ["--node=$(NODE_NAME)"]}
    old = old_of(agent("DaemonSet", containers=[container]), [running()], [])
    assert old is not None
    assert not old.problem


def test_old_pods_get_no_more_than_they_mount() -> None:
    """They are not rolled: a file in a Secret that they do not mount would be missing."""
    old = old_of(agent("DaemonSet"), [running()], [])
    assert old is not None
    workload = scraper_of(old.agent, Capabilities())
    one = Contents(config_files={MAIN_FILE: b""}, asset_files={"a": "b"})
    more = Contents(config_files={file_name(0): b"", MAIN_FILE: b""}, asset_files={"a": "b"})
    found = old_configuration(old, workload, ObjectSettings(), one)
    assert [each["metadata"]["name"] for each in found.secrets] == ["prom-agent-light"]
    assert (found.files, found.problem) == ({"a": "b"}, "")
    assert old_configuration(old, workload, ObjectSettings(), more).problem


def test_files_of_both_modes_are_together_unless_that_would_roll_pods() -> None:
    """Both read one Secret with files; a further one would be news to the template."""
    new = Contents(config_files={}, asset_files={"a": "new", "b": "b"})
    both, old = together(new, OldConfiguration(files={"a": "old", "c": "c"}))
    assert both.asset_files == {"a": "new", "b": "b", "c": "c"}
    assert not old.problem
    alone, none = together(new, OldConfiguration(files={"d": "x" * 2**20}))
    assert alone == new
    assert none.problem
