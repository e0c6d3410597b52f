"""Workloads and rules that cannot be as they are: one reason, with the path to the field.

All go the whole way, from the resource to the objects that would be written.
"""

from typing import Any

import pytest

from stoker.api.core import Object
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.api.rules import PrometheusRule
from stoker.build.objects import MOST_SHARDS, objects_of
from stoker.build.site import Site
from stoker.errors import WorkloadError
from stoker.plan import KeptScraper
from stoker.ref import ref_of
from stoker.select.assets import AssetsAtHand
from stoker.settings import Capabilities, ObjectSettings
from tests.builders import alert, typed

NOTHING = AssetsAtHand()
INTERVALS = {"scrapeInterval": "30s", "evaluationInterval": "30s"}


def kept(spec: dict[str, Any], *, agent: bool = False) -> tuple[KeptScraper, Site]:
    """The workload `main` in the namespace `shop`."""
    model: Any = PrometheusAgent if agent else Prometheus
    scraper = typed(model, "main", INTERVALS | spec, uid="u-1")
    found = KeptScraper(scraper, Capabilities(), NOTHING)
    return found, Site(scraper, found.scraper, ObjectSettings())


def objects(spec: dict[str, Any], *, agent: bool = False) -> list[Object]:
    """All objects of a workload."""
    found, site = kept(spec, agent=agent)
    return objects_of(site, found.contents(NOTHING))


def pod(spec: dict[str, Any]) -> Object:
    """The pods of a workload."""
    found: Object = objects(spec)[-1]["spec"]["template"]["spec"]
    return found


def patch(**members: Any) -> dict[str, Any]:
    """A workload with a patch of the container of Prometheus."""
    return {"containers": [{"name": "ok", "image": "x"}, {"name": "prometheus", **members}]}


PATCHES = [
    ({"containers": [{}]}, "spec.containers[0].name"),
    ({"containers": [{"name": ""}]}, "spec.containers[0].name"),
    ({"containers": [{"name": 5}]}, "spec.containers[0].name"),
    ({"initContainers": [{"image": "x"}]}, "spec.initContainers[0].name"),
    (patch(env="A=1"), "spec.containers[1].env"),
    (patch(env=["A"]), "spec.containers[1].env[0]"),
    (patch(env=[{"name": "A"}, {"value": "1"}]), "spec.containers[1].env[1]"),
    (patch(env=[{"name": {}}]), "spec.containers[1].env[0]"),
    (patch(ports=[{"name": "web"}]), "spec.containers[1].ports[0]"),
    (patch(livenessProbe="none"), "spec.containers[1].livenessProbe"),
    (patch(livenessProbe={"httpGet": [1]}), "spec.containers[1].livenessProbe.httpGet"),
    (patch(image={"name": "x"}), "spec.containers[1].image"),
    (patch(args={"a": "b"}), "spec.containers[1].args"),
    (patch(**{"$retainKeys": 5}), "spec.containers[1].$retainKeys"),
    (
        patch(**{"$deleteFromPrimitiveList/args": 5}),
        "spec.containers[1].$deleteFromPrimitiveList/args",
    ),
    (
        patch(**{"$setElementOrder/env": ["A"]}, env=[{"name": "A"}]),
        "spec.containers[1].$setElementOrder/env[0]",
    ),
    (
        {"containers": [{"name": "new", "env": "A"}, {"name": "new", "env": [{"name": "A"}]}]},
        "spec.containers[0].env",
    ),
]


@pytest.mark.parametrize(("spec", "path"), PATCHES)
def test_a_patch_of_a_container_needs_a_name_and_the_right_shape(
    spec: dict[str, Any], path: str
) -> None:
    """A schema keeps most of these out; one that is older than a field does not."""
    with pytest.raises(WorkloadError) as caught:
        objects(spec)
    assert caught.value.path == path


CLASHES = [
    ({"volumes": [{"name": "config"}]}, "spec.volumes[0].name"),
    ({"volumes": [{"name": "x"}, {"name": "x"}]}, "spec.volumes[1].name"),
    ({"volumes": [{"name": "prometheus-main-rulefiles-0"}]}, "spec.volumes[0].name"),
    ({"volumes": [{"emptyDir": {}}]}, "spec.volumes[0].name"),
    ({"volumes": [{"name": ["x"]}]}, "spec.volumes[0].name"),
    ({"volumeMounts": [{"name": "x", "mountPath": "/prometheus"}]}, "spec.volumeMounts[0]"),
    ({"volumeMounts": [{"name": "x", "mountPath": {}}]}, "spec.volumeMounts[0].mountPath"),
    (
        {"storage": {"volumeClaimTemplate": {"metadata": {"name": "config-out"}}}},
        "spec.storage.volumeClaimTemplate.metadata.name",
    ),
]


@pytest.mark.parametrize(("spec", "path"), CLASHES)
def test_a_volume_that_clashes_with_ours_is_refused(spec: dict[str, Any], path: str) -> None:
    """A claim of that name would be mounted in its place without a word from Kubernetes."""
    with pytest.raises(WorkloadError) as caught:
        objects(spec)
    assert caught.value.path.startswith(path)


@pytest.mark.parametrize(
    ("spec", "path", "agent"),
    [
        ({"additionalArgs": [{"name": "config.file"}]}, "spec.additionalArgs[0]", False),
        (
            {"additionalArgs": [{"name": "a"}, {"name": "no-web.enable-lifecycle"}]},
            "spec.additionalArgs[1]",
            False,
        ),
        ({"additionalArgs": [{"name": "storage.agent.path"}]}, "spec.additionalArgs[0]", True),
        (
            {"thanos": {"additionalArgs": [{"name": "prometheus.url"}]}},
            "spec.thanos.additionalArgs[0]",
            False,
        ),
    ],
)
def test_an_argument_of_ours_is_refused(spec: dict[str, Any], path: str, agent: bool) -> None:
    """Whose value would count, if the program took both, nobody could say."""
    with pytest.raises(WorkloadError) as caught:
        objects(spec, agent=agent)
    assert caught.value.path == path
    assert "the operator sets" in caught.value.reason


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"version": "newest"}, "spec.version"),
        ({"version": "v4.0.0"}, "spec.version"),
        ({"version": "1.8.2"}, "spec.version"),
        ({"thanos": {"version": "newest"}}, "spec.thanos.version"),
    ],
)
def test_an_unknown_version_is_refused(spec: dict[str, Any], path: str) -> None:
    """Flags and configuration of a version that we do not know would be guesses."""
    with pytest.raises(WorkloadError) as caught:
        objects(spec)
    assert caught.value.path == path


def test_what_would_occupy_the_operator_is_refused() -> None:
    """There is a StatefulSet for each shard, and a digit too many is soon written."""
    assert len(objects({"shards": 3})) == len(objects({"shards": 1})) + 2
    with pytest.raises(WorkloadError) as caught:
        objects({"shards": 2_000_000_000})
    assert caught.value.path == "spec.shards"
    assert str(MOST_SHARDS) in caught.value.reason


def test_what_kubernetes_keeps_by_key_has_each_key_once() -> None:
    """A Secret that is listed twice is one; which of two constraints counts, nobody knows."""
    listed = [{"name": "registry"}, {"name": "other"}, {"name": "registry"}]
    made = pod({"imagePullSecrets": listed})["imagePullSecrets"]
    assert made == [{"name": "registry"}, {"name": "other"}]
    spread = {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}
    with pytest.raises(WorkloadError) as caught:
        objects({"topologySpreadConstraints": [spread, spread | {"maxSkew": 2}]})
    assert caught.value.path == "spec.topologySpreadConstraints[1]"


# --- Rules ----------------------------------------------------------------------------------------


def rule(name: str, **members: Any) -> PrometheusRule:
    """A PrometheusRule with one alert."""
    return typed(PrometheusRule, name, alert("shop", **members), uid=name)


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"annotations": {"summary": "{{ $value | humanise }}"}}, "annotations[summary]"),
        ({"annotations": {"summary": "{{ if }}"}}, "annotations[summary]"),
        ({"labels": {"severity": "{{ $labels.x"}}, "labels[severity]"),
        ({"expr": "rates(up[5m])"}, "expr"),
        ({"expr": "up =="}, "expr"),
    ],
)
def test_a_rule_that_is_wrong_is_left_out_and_the_rest_is_built(
    members: dict[str, Any], path: str
) -> None:
    """Prometheus would load none of the rules for one that it cannot read."""
    found, site = kept({"ruleSelector": {}})
    rules = {ref_of(each): each for each in (rule("good"), rule("bad", **members))}
    found.put_all(rules, NOTHING)
    good, bad = (found.verdicts[key] for key in rules)
    assert good.accepted
    assert not bad.accepted
    assert f"spec.groups[0].rules[0].{path}" in bad.message
    made = objects_of(site, found.contents(NOTHING))
    files = [file for each in made if each["kind"] == "ConfigMap" for file in each["data"]]
    assert files == ["shop-good-good.yaml"]
    assert made[-1]["kind"] == "StatefulSet"
