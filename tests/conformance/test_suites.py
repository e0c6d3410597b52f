"""Each registered suite, replayed whole."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases import CRDS, WORLDS, Suite
from tests.conformance.exceptions import unknown_names, unseen
from tests.conformance.replay import WAYS, Context, Way
from tests.conformance.runner import all_suites, describe, run
from tests.conformance.worlds import lines

# How many cases were recorded: a folder with fewer has lost some.
RECORDED = {
    CRDS: 10,
    "crd-validation": 332,
    "crd-validation-derived": 1074,
    "prometheus-config": 448,
    "prometheus-config (v1beta1)": 123,
    "prometheus-config (v1)": 123,
    "prometheus-config-error": 1,
    "agent-config": 9,
    "agent-config-derived": 316,
    "misc-validate-remotewrite": 20,
    "misc-scrape-timeout": 5,
    "selection-servicemonitor": 18,
    "selection-podmonitor": 17,
    "selection-probe": 23,
    "selection-scrapeconfig": 121,
    "api-validate": 76,
    "assets-store": 43,
    "misc-validate-relabelconfig": 25,
    "misc-load-secret-ref": 6,
    "misc-label-selection-changed": 6,
    "misc-k8s-sd-config": 9,
    "misc-scrape-honor": 12,
    "misc-merge-scrapeclass-tls": 4,
    "misc-enforce-namespace-relabelings": 3,
    "promql-derived": 1894,
    "rules": 18,
    "rules-validate": 6,
    "rules-enforce-namespace": 6,
    "rules-configmaps": 4,
    "misc-append-configmap-names": 2,
    "misc-reloader-ordinal": 6,
    "misc-flags": 11,
    "misc-feature-gates": 2,
    "misc-map-merge": 2,
    "misc-namespaces-finalize": 4,
    "misc-merge-allow-lists": 4,
    "misc-listwatch": 12,
    "misc-finalizer-patch": 6,
    "kubelet-node-address-priority": 6,
    "kubelet-node-addresses": 8,
    "kubelet-sync": 11,
    "status-prometheus": 8,
    "misc-combined-reason": 8,
    "misc-combined-status": 9,
    "misc-equal-conditions": 7,
    "misc-shard-retention": 6,
    "misc-shard-retention-grace-period": 9,
    "misc-statefulset-repair": 6,
    "config-reloader": 78,
    "config-reloader-derived": 18,
    "webconfig": 18,
    "webconfig-derived": 3,
    "misc-merge-containers": 18,
    "misc-image-path": 63,
    "misc-image-path-derived": 66,
    "misc-build-args": 3,
    "misc-startup-probe": 9,
    "misc-sharded-secret": 5,
    "misc-dns-config": 1,
    "misc-host-aliases": 3,
    "misc-resource-namer": 11,
    "misc-custom-governing-service": 3,
    "misc-statefulset-key": 2,
    "misc-statefulset-label-selector": 2,
    "service-prometheus-derived": 10,
    "service-alertmanager-derived": 8,
    "service-thanosruler-derived": 5,
    "statefulset-prometheus": 128,
    "statefulset-prometheus-derived": 132,
    "statefulset-agent": 23,
    "statefulset-agent-derived": 199,
    "daemonset-agent": 11,
    "daemonset-agent-derived": 188,
    "misc-common-args": 12,
    "misc-topology-zone": 6,
    "misc-inzone-shard": 14,
    "misc-node-selector-zone": 8,
    "misc-input-hash": 8,
    "misc-create-or-update": 20,
    "statefulset-alertmanager": 33,
    "statefulset-alertmanager-derived": 32,
    "statefulsetspec-alertmanager": 30,
    "statefulset-thanosruler": 54,
    "statefulsetspec-thanosruler": 2,
    "thanosruler-config": 4,
    "clustertlsconfig": 11,
    "alertmanager-config": 88,
    "alertmanager-load": 51,
    "alertmanager-sanitize": 193,
    "alertmanager-config-selection": 54,
    "alertmanager-provision": 8,
    "misc-alertmanager-httpconfig": 7,
    "misc-alertmanager-validate-url": 8,
    "misc-alertmanager-zero-durations": 8,
    "alertmanagerconfig-conversion-derived": 171,
    "alertmanagerconfig-validate-v1beta1": 30,
    "alertmanagerconfig-validate-v1beta1-derived": 83,
    "alertmanagerconfig-validate-v1alpha1-derived": 92,
    "api-parse-range": 49,
    "admission": 15,
    WORLDS: 60,
}


def parameters() -> list[object]:
    """One test per way of replaying, named after its line in the report."""
    return [
        pytest.param(way, id=way.label, marks=[pytest.mark.live] if way.live else [])
        for way in WAYS
    ]


@pytest.mark.parametrize("way", parameters())
def test_every_case_comes_out_as_recorded(
    way: Way, conformance: Path, request: pytest.FixtureRequest
) -> None:
    """What the peer did with the same input, stoker does, exceptions aside."""
    # A fixture cannot be asked for from the threads in which cases are replayed.
    cluster: Any = request.getfixturevalue("cluster") if way.live else None
    with Context(lambda: nullcontext(cluster)) as context:
        result = run(way, suite_of(conformance, way.suite), context)
    assert result.cases == RECORDED.get(way.label, RECORDED[way.suite])
    assert not result.failures, describe(result)


def suite_of(conformance: Path, name: str) -> Suite:
    """The suite of this name; what the peer made of whole namespaces may not lie beside."""
    found = all_suites(conformance)
    if name == WORLDS and name not in found:
        pytest.skip(f"{RECORDED[WORLDS]} recorded namespaces are missing beside {conformance}")
    return found[name]


def test_every_difference_on_purpose_is_seen_in_some_namespace(conformance: Path) -> None:
    """A class of differences that nothing shows any longer is not needed."""
    found = [line for case in suite_of(conformance, WORLDS).cases() for line in lines(case)]
    assert not unseen(found)


def test_exceptions_name_cases_that_exist(conformance: Path) -> None:
    """An exception for a case that nobody recorded is a mistake."""
    assert not unknown_names(all_suites(conformance))
