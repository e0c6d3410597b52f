"""What prometheus-operator runs stays: the same pods of the same templates when we take over.

The pod templates here are written down as that operator writes them; what else there is of a pod
is compared by the recorded cases (`tests/conformance`), where they lie beside the repository.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from stoker.api.core import Object
from stoker.api.monitors import PodMonitor
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.rules import PrometheusRule
from stoker.api.thanosruler import ThanosRuler
from stoker.build.drift import differences
from stoker.generate.rules import CONFIG_MAP_LIMIT
from stoker.plan import Existing, kept_of, objects_for, shared_service_of
from stoker.ref import ref_of
from stoker.select.assets import AssetsAtHand
from stoker.select.workload import Workload
from stoker.settings import Capabilities, ObjectSettings
from tests.builders import alert, typed
from tests.planning import decide

CAPABILITIES, SETTINGS = Capabilities(), ObjectSettings()
HALF = CONFIG_MAP_LIMIT // 2 - 1000

Files = Mapping[str, str]


def made(model: type[Any], name: str, spec: Object) -> Any:
    """An object of one of our kinds."""
    return typed(model, name, spec, uid=f"uid-of-{name}")


def rule(name: str, expr: str = "up", size: int = HALF) -> PrometheusRule:
    """A PrometheusRule of about so many bytes."""
    found: PrometheusRule = made(
        PrometheusRule, name, alert("a", expr, annotations={"note": "x" * size})
    )
    return found


def ruler(**spec: Any) -> ThanosRuler:
    """A ThanosRuler that selects everything."""
    found: ThanosRuler = made(
        ThanosRuler, "main", {"ruleSelector": {}, "queryEndpoints": ["query:1"], **spec}
    )
    return found


def objects(
    workload: Workload, rules: Sequence[PrometheusRule], theirs: Sequence[Files]
) -> list[Object]:
    """What we make of a workload whose ConfigMaps with rules are there."""
    kept = kept_of(workload, CAPABILITIES, AssetsAtHand())
    kept.put_all({ref_of(each): each for each in rules}, AssetsAtHand())
    contents = kept.contents(AssetsAtHand(), Existing(rules=theirs))
    return objects_for(workload, CAPABILITIES, SETTINGS, contents)


def of_kind(found: Sequence[Object], kind: str) -> list[Object]:
    """The objects of a kind."""
    return [each for each in found if each["kind"] == kind]


def held(found: Sequence[Object]) -> list[Files]:
    """What each ConfigMap with rules holds."""
    return [each["data"] for each in of_kind(found, "ConfigMap")]


def mounted(found: Sequence[Object]) -> Object:
    """What a pod has of rules: volumes, mounts by container, watched folders."""
    pod = of_kind(found, "StatefulSet")[0]["spec"]["template"]["spec"]
    return {
        "volumes": [each["name"] for each in pod["volumes"] if "rulefiles" in each["name"]],
        "mounts": {
            each["name"]: [
                one["mountPath"] for one in each["volumeMounts"] if "rulefiles" in one["name"]
            ]
            for each in pod["containers"]
        },
        "watched": [
            argument.partition("=")[2]
            for argument in pod["containers"][1]["args"]
            if argument.startswith("--watched-dir=") and "rulefiles" in argument
        ],
    }


def as_the_peer_mounts(count: int) -> Object:
    """The rules of a ThanosRuler's pod with so many ConfigMaps, as prometheus-operator has it."""
    names = [f"thanos-ruler-main-rulefiles-{number}" for number in range(count)]
    folders = [f"/etc/thanos/rules/{name}" for name in names]
    return {
        "volumes": names,
        "mounts": {"thanos-ruler": folders, "config-reloader": folders},
        "watched": folders,
    }


def filled_by_the_peer(names: str) -> list[Files]:
    """Two rules of half a ConfigMap in each, in the order of their names."""
    files = held(objects(ruler(), [rule(name) for name in names], ()))
    assert [len(each) for each in files] == [2] * (len(names) // 2)
    return files


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_ruler_mounts_the_config_maps_with_rules_that_there_are(count: int) -> None:
    """No more and no fewer: any other number would replace its pods."""
    names = "abcdefghij"[: 2 * count]
    theirs = filled_by_the_peer(names)
    found = objects(ruler(), [rule(name) for name in names], theirs)
    assert mounted(found) == as_the_peer_mounts(count)
    assert held(found) == theirs


def test_a_ruler_without_rules_mounts_one_empty_config_map() -> None:
    """It is there with prometheus-operator too."""
    assert mounted(objects(ruler(), [], [{}])) == as_the_peer_mounts(1)


def test_a_ruler_keeps_its_pods_when_a_rule_of_the_peers_is_left_out() -> None:
    """What we reject empties a ConfigMap, but the pod template names it."""
    theirs = filled_by_the_peer("abcdef")
    rules = [*map(rule, "abcd"), rule("e", "up =="), rule("f", "rate(up)")]
    found = objects(ruler(), rules, theirs)
    assert mounted(found) == as_the_peer_mounts(3)
    assert held(found) == [*theirs[:2], {}]


def test_a_ruler_gets_one_more_config_map_only_when_there_is_no_room() -> None:
    """Its pods are replaced then, as with prometheus-operator; not when rules become fewer."""
    theirs = filled_by_the_peer("abcd")
    more = objects(ruler(), [*map(rule, "abcd"), rule("e")], theirs)
    assert mounted(more) == as_the_peer_mounts(3)
    fewer = objects(ruler(), [rule("a")], held(more))
    assert mounted(fewer) == as_the_peer_mounts(3)
    again = objects(ruler(), [rule("a"), rule("z", size=2 * HALF)], held(fewer))
    assert mounted(again) == as_the_peer_mounts(3)


def test_a_prometheus_keeps_its_pods_when_it_has_more_config_maps_than_it_mounts_anyway() -> None:
    """Three are mounted in any case; of four or more, as many as there are."""
    workload = made(Prometheus, "main", {"ruleSelector": {}})
    for count, expected in ((1, 3), (3, 3), (5, 5)):
        names = "abcdefghij"[: 2 * count]
        theirs = held(objects(workload, [rule(name) for name in names], ()))
        assert len(theirs) == count
        found = objects(workload, [rule("a")], theirs)
        assert len(mounted(found)["volumes"]) == expected
        pods = [of_kind(each, "StatefulSet") for each in (found, objects(workload, [], theirs))]
        assert not list(differences(pods[0][0], pods[1][0], "stoker"))


# --- Agents with shards ---------------------------------------------------------------------------


def agent(**spec: Any) -> PrometheusAgent:
    """An agent that selects everything."""
    selectors: Object = {"serviceMonitorSelector": {}, "podMonitorSelector": {}}
    found: PrometheusAgent = made(PrometheusAgent, "edge", selectors | spec)
    return found


def test_the_service_of_agents_has_the_label_of_prometheus() -> None:
    """Monitors and dashboards select by it."""
    labels = shared_service_of([agent()], CAPABILITIES, SETTINGS)["metadata"]["labels"]
    assert labels["operated-prometheus"] == "true"
    assert "operated-prometheus-agent" not in labels


def test_shards_of_an_agent_do_not_outlive_being_scaled_away() -> None:
    """They answer no queries; only a server's targets are kept from shards that live on."""
    workload = agent(shards=3)
    monitor = made(PodMonitor, "cart", {"podMetricsEndpoints": [{"port": "web"}]})
    decision = decide(workload, [monitor], {"shop": {}}, AssetsAtHand(), CAPABILITIES)
    assert "modulus: 3" in decision.text
    assert "__tmp_current_shard" not in decision.text
    found = objects_for(workload, CAPABILITIES, SETTINGS, decision.contents)
    assert [each["metadata"]["name"] for each in of_kind(found, "StatefulSet")] == [
        "prom-agent-edge",
        "prom-agent-edge-shard-1",
        "prom-agent-edge-shard-2",
    ]
    assert not any("http-client-file" in each["metadata"]["name"] for each in found)
