"""Fields that were applied and are not there: seen where they are lost, and nowhere else."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stoker.api.admit import admit
from stoker.api.kinds import version_of
from stoker.explain.pruned import losses
from stoker.offline.manifests import Manifest, read
from stoker.offline.world import world_of
from stoker.view.rivals import rivals_of

ROOT = Path(__file__).parents[2]
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
Object = dict[str, Any]


def valid_manifests() -> Iterator[Object]:
    """Objects of our kinds in which nothing is wrong or unknown."""
    folders = [str(ROOT / "example"), str(ROOT / "tests" / "golden")]
    for each in read(folders):
        if isinstance(each, Manifest):
            found = each.object
            version = version_of(str(found.get("apiVersion")), str(found.get("kind")))
            admission = admit(version, found) if version else None
            if admission and not admission.findings and not admission.unknown:
                yield found


def stored(manifest: Object, applied: Object) -> Any:
    """An object as a cluster has it, after something was applied."""
    annotations = {ANNOTATION: json.dumps(applied)}
    metadata = manifest["metadata"] | {"annotations": annotations}
    world = world_of([Manifest("a", 1, 1, manifest | {"metadata": metadata})])
    return (*world.workloads, *world.resources)[0]


def test_what_is_stored_as_it_was_applied_has_lost_nothing() -> None:
    """Whatever kind, version and field it is."""
    found = list(valid_manifests())
    assert len(found) > 40
    assert [losses(stored(each, each)) for each in found] == [[]] * len(found)


MONITOR: Object = {
    "apiVersion": "monitoring.coreos.com/v1",
    "kind": "ServiceMonitor",
    "metadata": {"name": "cart", "namespace": "shop"},
    "spec": {"selector": {}, "endpoints": [{"port": "web"}, {"port": "admin"}]},
}


def test_a_lost_field_is_named_with_its_cause() -> None:
    """What our definitions know was dropped by older ones; what they do not is misspelt."""
    second = {"port": "admin", "enableHttp2": False, "intervall": "5s", "path": None}
    spec = MONITOR["spec"] | {"endpoints": [{"port": "web"}, second]}
    assert [str(each) for each in losses(stored(MONITOR, MONITOR | {"spec": spec}))] == [
        "spec.endpoints[1].enableHttp2 was applied, but dropped: "
        "the CRDs of the cluster do not know it",
        "spec.endpoints[1].intervall was applied, but dropped: there is no such field",
    ]


@pytest.mark.parametrize(
    "applied",
    [
        "no JSON",
        [],
        MONITOR | {"apiVersion": "monitoring.coreos.com/v2", "spec": {"colour": "red"}},
        MONITOR | {"spec": None},
    ],
)
def test_an_annotation_that_says_nothing_is_passed_over(applied: Any) -> None:
    """It is a user's, and may hold anything."""
    assert losses(stored(MONITOR, applied)) == []


def test_two_operators_are_seen_by_their_names() -> None:
    """Only who writes the status looks after a workload."""
    both = [{"manager": name, "subresource": "status"} for name in ("stoker", "PrometheusOperator")]
    assert rivals_of(both) == ("PrometheusOperator", "stoker")
    assert rivals_of([*both[:1], {"manager": "kubectl", "subresource": "status"}]) == ()
    assert rivals_of([{"manager": each["manager"]} for each in both]) == ()
    assert rivals_of(None) == ()
