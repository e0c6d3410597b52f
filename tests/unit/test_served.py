"""Which version of a resource is asked for, and how objects in it become typed."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from stoker.api.crd import GROUP
from stoker.cluster.kinds import RESOURCES
from stoker.errors import DecodeError
from stoker.kube.reading import slim
from stoker.kube.resources import OURS, ApiResource, versions_of
from stoker.kube.served import chosen, priority, storage_hash

ALPHA, BETA, V1 = (
    ApiResource(GROUP, name, "scrapeconfigs", "ScrapeConfig")
    for name in ("v1alpha1", "v1beta1", "v1")
)


def test_the_hash_is_that_of_kubernetes() -> None:
    """What a real API server says of a definition that stores v1alpha1, and then v1beta1."""
    configs = ApiResource(GROUP, "v1alpha1", "alertmanagerconfigs", "AlertmanagerConfig")
    assert storage_hash(configs) == "95DNJ6wsUCg="
    beta = ApiResource(GROUP, "v1beta1", "alertmanagerconfigs", "AlertmanagerConfig")
    assert storage_hash(beta) == "uhnXxbA1b18="


@pytest.mark.parametrize(
    ("served", "stored", "current", "wanted"),
    [
        ((ALPHA, BETA, V1), ALPHA, ALPHA, ALPHA),
        ((ALPHA, BETA, V1), V1, ALPHA, V1),
        ((BETA, V1), BETA, ALPHA, BETA),
        # The stored version is not served, so nobody says which one it is.
        ((ALPHA, BETA), None, ALPHA, ALPHA),
        ((BETA, V1), None, ALPHA, V1),
        # There is none that we know, or no definition at all.
        ((), None, ALPHA, ALPHA),
    ],
)
def test_the_stored_version_is_used_where_it_is_served(
    served: tuple[ApiResource, ...],
    stored: ApiResource | None,
    current: ApiResource,
    wanted: ApiResource,
) -> None:
    """Else the one in use, as long as it is there, and else the highest."""
    told = storage_hash(stored) if stored else ""
    assert chosen(dict.fromkeys(served, told), current) == wanted


def test_versions_have_the_order_of_kubernetes() -> None:
    """Stable ones first, then beta, then alpha; the highest number first; others last."""
    ordered = ["v10", "v2", "v1", "v2beta1", "v1beta12", "v1beta2", "v3alpha1", "v1alpha1", "odd"]
    shuffled = sorted(ordered)
    assert sorted(shuffled, key=priority, reverse=True) == ordered


def test_the_version_of_our_types_is_the_first_to_try() -> None:
    """Clusters that know no other are the most."""
    assert RESOURCES["ScrapeConfig"].versions[0] == OURS["ScrapeConfig"] == ALPHA
    assert set(versions_of(ALPHA)) == {ALPHA, BETA, V1}
    assert len(RESOURCES["ServiceMonitor"].versions) == 1


def read(kind: str, version: str, spec: dict[str, Any], **metadata: Any) -> Any:
    """An object of a kind as the caches read it."""
    given = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": kind,
        "metadata": {"name": "x", "namespace": "n", **metadata},
        "spec": spec,
    }
    return slim(RESOURCES[kind].read)(msgspec.Raw(json.dumps(given).encode()))


def test_objects_of_all_versions_become_the_same_typed_object() -> None:
    """Fields with another name are found, and what is large and read by nobody is left out."""
    copy = {"kubectl.kubernetes.io/last-applied-configuration": "long", "own": "kept"}
    old = read("ScrapeConfig", "v1alpha1", {"proxyUrl": "http://proxy"})
    assert old.spec.proxy_url == "http://proxy"
    for version in ("v1beta1", "v1"):
        new = read("ScrapeConfig", version, {"proxyURL": "http://proxy"}, annotations=dict(copy))
        assert new.spec == old.spec
        assert new.api_version == f"{GROUP}/{version}"
        assert new.metadata.annotations == {"own": "kept"}
    intervals = [{"name": "night", "timeIntervals": [{"months": ["may"]}]}]
    alpha = read("AlertmanagerConfig", "v1alpha1", {"muteTimeIntervals": intervals})
    beta = read("AlertmanagerConfig", "v1beta1", {"timeIntervals": intervals})
    assert alpha.spec == beta.spec


@pytest.mark.parametrize("version", ["v1alpha1", "v1"])
def test_an_object_of_wrong_types_is_set_aside_in_any_version(version: str) -> None:
    """It is a DecodeError with the path, which the watch knows how to pass over."""
    with pytest.raises(DecodeError) as caught:
        read("ScrapeConfig", version, {"staticConfigs": 7})
    assert "staticConfigs" in caught.value.path


def test_a_version_that_nobody_knows_is_set_aside() -> None:
    """A newer definition may serve it; it cannot be read here."""
    with pytest.raises(DecodeError, match="v7"):
        read("ScrapeConfig", "v7", {})
