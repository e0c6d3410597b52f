"""The replay of whole namespaces: what it must see, and what it says of the peer."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests import amtool, promtool
from tests.builders import thing
from tests.conformance.cases import WORLDS, Case, recorded_worlds
from tests.conformance.exceptions import is_deliberate
from tests.conformance.worlds import lines, objects_of, workloads_of

GROUP = "monitoring.coreos.com"
SET = "statefulsets/prometheus-main"
CONFIGURATIONS = ("prometheus.yaml.gz", "alertmanager.yaml.gz")


def resource(kind: str, name: str, spec: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    """A resource of the namespace `shop`."""
    return thing(kind, name, version=version, spec=spec)


def namespace() -> dict[str, Any]:
    """A namespace with a Prometheus, a ThanosRuler, a monitor, a rule and a bad ScrapeConfig."""
    selectors: dict[str, Any] = {
        "serviceMonitorSelector": {},
        "scrapeConfigSelector": {},
        "ruleSelector": {},
    }
    scaleway = {"accessKey": "a", "secretKey": {"name": "s", "key": "k"}, "projectID": "1"}
    rule = {"name": "a", "rules": [{"record": "a:b", "expr": "up"}]}
    return {
        "namespace": "shop",
        "flags": [],
        "secretsAndConfigMaps": {"s": {"k": "v"}},
        "resources": [
            resource("Prometheus", "main", selectors),
            resource("ThanosRuler", "main", {"ruleSelector": {}, "queryEndpoints": ["q:1"]}),
            resource("ServiceMonitor", "cart", {"selector": {}, "endpoints": [{"port": "web"}]}),
            resource("PrometheusRule", "up", {"groups": [rule]}),
            resource(
                "ScrapeConfig",
                "far",
                {"scalewaySDConfigs": [scaleway | {"role": "Instance"}]},
                "v1alpha1",
            ),
        ],
    }


@pytest.fixture
def case() -> Case:
    """A namespace of which the peer made what we make; every test changes something of that."""
    given = namespace()
    made = {name: each for one in workloads_of(given) for name, each in objects_of(one).items()}
    return Case(WORLDS, "made-up", given, {"objects": deepcopy(made)})


def template(case: Case) -> Any:
    """The pod template of the Prometheus, as the peer made it."""
    return case.expect["objects"][SET]["spec"]["template"]


def test_equal_namespaces_have_no_differences(case: Case) -> None:
    """Nor does it count what an API server fills in."""
    pod = template(case)["spec"]
    pod |= {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "securityContext": {}}
    pod["containers"][0]["terminationMessagePath"] = "/dev/termination-log"
    case.expect["objects"][SET]["spec"]["revisionHistoryLimit"] = 10
    assert list(lines(case)) == []


def test_another_argument_volume_or_label_of_a_pod_is_seen(case: Case) -> None:
    """Each of them rolls pods, and none is on purpose."""
    template(case)["spec"]["containers"][0]["args"].append("--new")
    template(case)["spec"]["volumes"].append({"name": "more", "emptyDir": {}})
    template(case)["metadata"]["labels"]["team"] = "a"
    found = list(lines(case))
    assert len(found) == 3
    assert not any(map(is_deliberate, found))


def test_an_object_that_only_one_makes_is_seen(case: Case) -> None:
    """Whoever of the two it is."""
    objects = case.expect["objects"]
    objects["secrets/more"] = objects["secrets/prometheus-main-web-config"]
    del objects["secrets/prometheus-main"]
    assert [line for line in lines(case) if not is_deliberate(line)] == [
        "secrets/more: only made by the peer",
        "secrets/prometheus-main: only made by us",
    ]


def test_a_job_that_we_leave_out_is_told_with_our_reason(case: Case) -> None:
    """The rest of the file must still be the same."""
    files = case.expect["objects"]["secrets/prometheus-main"]["data"]
    job = "- job_name: scrapeConfig/shop/far\n  scaleway_sd_configs: []\n"
    text = files["prometheus.yaml.gz"]
    files["prometheus.yaml.gz"] = text.replace("scrape_configs:\n", f"scrape_configs:\n{job}")
    (found,) = lines(case)
    assert "scrapeConfig/shop/far: left out: spec.scalewaySDConfigs[0].accessKey" in found
    assert is_deliberate(found)
    files["prometheus.yaml.gz"] = files["prometheus.yaml.gz"].replace("honor_labels: false", "")
    assert [line for line in lines(case) if not is_deliberate(line)]


def test_a_job_of_a_monitor_that_we_use_must_be_the_same(case: Case) -> None:
    """Its text, too: the order of members counts."""
    files = case.expect["objects"]["secrets/prometheus-main"]["data"]
    first, second = "  honor_labels: false\n", "  scrape_interval: 30s\n"
    text = files["prometheus.yaml.gz"]
    assert first in text
    files["prometheus.yaml.gz"] = text.replace(first, "").replace(
        "- job_name: serviceMonitor/shop/cart/0\n",
        f"- job_name: serviceMonitor/shop/cart/0\n{second}{first}",
    )
    assert any(not is_deliberate(line) for line in lines(case))


def test_a_rule_file_that_only_the_peer_has_is_seen(case: Case) -> None:
    """No resource of ours explains it."""
    objects = case.expect["objects"]
    objects["configmaps/thanos-ruler-main-rulefiles-0"]["data"]["shop-other-UID.yaml"] = (
        "groups: []"
    )
    (found,) = lines(case)
    assert "only one of the two has this file" in found
    assert not is_deliberate(found)


@pytest.mark.live
def test_what_we_leave_out_of_a_recorded_namespace_would_have_been_refused(
    conformance: Path,
) -> None:
    """Prometheus and Alertmanager refuse the peer's file, and take ours."""
    suite = recorded_worlds(conformance)
    if not suite.folder.is_dir():
        pytest.skip(f"no recorded namespaces beside {conformance}")
    texts: dict[tuple[str, bool], list[tuple[str, str, str]]] = {}
    for case in suite.cases():
        ours = {
            name: each for one in workloads_of(case.given) for name, each in objects_of(one).items()
        }
        for name, key, why in _left_out(case):
            theirs = case.expect["objects"][name]["data"][key]
            kind = (key, name.startswith("secrets/prom-agent"))
            texts.setdefault(kind, []).append((why, theirs, ours[name]["data"][key]))
    assert len(texts) == 3
    for (key, agent), found in texts.items():
        whys, theirs, ours_texts = zip(*found, strict=True)
        if key == "alertmanager.yaml.gz":
            answers = [amtool.refusals(list(each)) for each in (theirs, ours_texts)]
        else:
            answers = [promtool.refusals(list(each), agent=agent) for each in (theirs, ours_texts)]
        assert [why for why, told in zip(whys, answers[0], strict=True) if not told] == []
        assert not any(answers[1])


def _left_out(case: Case) -> set[tuple[str, str, str]]:
    """The files of which we leave something out that the program itself would refuse."""
    found = set()
    for line in lines(case):
        name, _, rest = line.partition(" ")
        key = rest.partition(" ")[0]
        # Of Azure the peer drops what is wrong, so that Prometheus would take the rest.
        if key in CONFIGURATIONS and ": left out: " in line and "azureSDConfigs" not in line:
            found.add((name, key, f"{case.name}: {line}"))
    return found
