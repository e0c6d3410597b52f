"""`stoker render` of Alertmanagers and ThanosRulers."""

from pathlib import Path

import pytest
import yaml

from tests.unit.test_render_objects import Answer, Captured, rendered

ALERTING = """
---
apiVersion: monitoring.coreos.com/v1
kind: Alertmanager
metadata: {name: main, namespace: monitoring}
spec: {alertmanagerConfigSelector: {}, alertmanagerConfigNamespaceSelector: {}}
---
apiVersion: monitoring.coreos.com/v1beta1
kind: AlertmanagerConfig
metadata: {name: good, namespace: shop}
spec: {route: {receiver: team}, receivers: [{name: team}]}
---
apiVersion: monitoring.coreos.com/v1alpha1
kind: AlertmanagerConfig
metadata: {name: bad, namespace: shop}
spec: {route: {receiver: none}, receivers: [{name: team}]}
---
apiVersion: v1
kind: Secret
metadata: {name: alertmanager-main, namespace: monitoring}
stringData:
  alertmanager.yaml: "{route: {receiver: own}, receivers: [{name: own}]}"
  a.tmpl: text
---
apiVersion: monitoring.coreos.com/v1
kind: ThanosRuler
metadata: {name: main, namespace: monitoring}
spec: {ruleSelector: {}, queryEndpoints: ["query:1"]}
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: rules, namespace: monitoring}
spec: {groups: [{name: a, rules: [{record: "a:b", expr: up}]}]}
"""


@pytest.fixture
def alerting(tmp_path: Path, capsys: Captured) -> Answer:
    """All objects."""
    return rendered(tmp_path, capsys, ALERTING)


def test_both_become_all_their_objects(alerting: Answer) -> None:
    """What the pods mount, the Service, the StatefulSet; a rejected resource is named."""
    assert alerting.status == 1
    assert alerting.names == [
        "Secret alertmanager-main-generated",
        "Secret alertmanager-main-tls-assets-0",
        "Secret alertmanager-main-web-config",
        "Secret alertmanager-main-cluster-tls-config",
        "Service alertmanager-operated",
        "StatefulSet alertmanager-main",
        "ConfigMap thanos-ruler-main-rulefiles-0",
        "Secret thanos-ruler-main-config",
        "Secret thanos-ruler-main-tls-assets-0",
        "Secret thanos-ruler-main-web-config",
        "Service thanos-ruler-operated",
        "StatefulSet thanos-ruler-main",
    ]
    secret = alerting.one("Secret", "alertmanager-main-generated")
    assert set(secret["data"]) == {"alertmanager.yaml.gz", "a.tmpl"}
    assert "rejected  AlertmanagerConfig shop/bad: spec.route" in alerting.summary
    assert "Alertmanager monitoring/main (0.34.0): 1 used, 1 rejected" in alerting.summary
    assert "ThanosRuler monitoring/main (0.42.4): 1 used, 0 rejected" in alerting.summary


def test_the_configuration_can_be_had_alone(tmp_path: Path, capsys: Captured) -> None:
    """Of a ThanosRuler that sends its results nowhere there is none."""
    answer = rendered(tmp_path, capsys, ALERTING, "--config-only")
    (found,) = yaml.safe_load_all(answer.text)
    assert [each["name"] for each in found["receivers"]] == ["own", "shop/good/team"]
    out = tmp_path / "out"
    rendered(tmp_path, capsys, ALERTING, "--config-only", "-o", str(out))
    (file,) = (out / "readable").rglob("*.yaml")
    assert file.name == "alertmanager.yaml"
    assert yaml.safe_load(file.read_text()) == found
