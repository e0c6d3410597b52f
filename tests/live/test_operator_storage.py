"""Storage of workloads: its class, its size, and StatefulSets that must be replaced."""

from functools import partial
from typing import Any

import pytest

from tests.builders import agent, prometheus
from tests.live.operating import Object, Running, World
from tests.live.test_operator import failed, found

CLAIM = "prometheus-main-db-prometheus-main-0"


def storage_class(world: World, *, grows: bool = True) -> Object:
    """A class without a provisioner, whose volumes a test makes itself."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": world.namespace},
        "provisioner": "kubernetes.io/no-provisioner",
        "allowVolumeExpansion": grows,
    }


def storage(world: World, size: str, **metadata: Any) -> Object:
    """The storage of a workload."""
    spec = {"storageClassName": world.namespace, "resources": {"requests": {"storage": size}}}
    return {"volumeClaimTemplate": {"metadata": metadata, "spec": spec}}


def bind(world: World) -> None:
    """Make the volume for the claim, before that: a pod that had to wait is tried again late."""
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": world.namespace},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": world.namespace,
            "hostPath": {"path": "/data"},
            "claimRef": {"namespace": world.namespace, "name": CLAIM},
        },
    }
    world.cluster.api.request("POST", "/api/v1/persistentvolumes", volume)


def claimed(world: World) -> str:
    """What the claim asks for."""
    size: str = found(world, "persistentvolumeclaim", CLAIM)["spec"]["resources"]["requests"][
        "storage"
    ]
    return size


@pytest.mark.parametrize(
    ("kind", "make"),
    [("prometheus", prometheus), ("prometheusagent", agent)],
    ids=["server", "agent"],
)
def test_a_storage_class_must_be_there(
    world: World, operator: Running, kind: str, make: Any
) -> None:
    """Without it nothing is made; once it is there, all is.

    (peer scenario: Prometheus Agent Check Storage Class)
    """
    world.put(make("main", replicas=0, storage=storage(world, "1Gi")))
    assert f"there is no StorageClass `{world.namespace}`" in failed(world, kind, "main")
    assert not world.list("statefulset")
    world.put(storage_class(world))
    world.settled(kind, "main")
    assert world.list("statefulset")


def test_storage_grows_and_pods_stay(world: World, operator: Running) -> None:
    """The claim is told, the StatefulSet is replaced, and its pod goes on under the new one.

    (peer scenarios: Prom Storage Update, Prom Storage Labels Annotations)
    """
    world.put(storage_class(world))
    labels = {"labels": {"team": "a"}, "annotations": {"example.org/a": "b"}}
    bind(world)
    world.put(prometheus("main", storage=storage(world, "1Gi", **labels)))
    world.settled("prometheus", "main")
    metadata = found(world, "persistentvolumeclaim", CLAIM)["metadata"]
    assert metadata["labels"]["team"] == "a"
    assert metadata["annotations"]["example.org/a"] == "b"
    before = found(world, "statefulset", "prometheus-main")["metadata"]["uid"]
    pod = found(world, "pod", "prometheus-main-0")["metadata"]["uid"]
    world.patch("statefulset", "prometheus-main", {"metadata": {"labels": {"of": "a-user"}}})

    world.patch("prometheus", "main", {"spec": {"storage": storage(world, "2Gi", **labels)}})
    world.settled("prometheus", "main")
    world.until("the claim to grow", lambda: claimed(world) == "2Gi")
    made = found(world, "statefulset", "prometheus-main")
    template = made["spec"]["volumeClaimTemplates"][0]
    assert template["spec"]["resources"]["requests"]["storage"] == "2Gi"
    assert made["metadata"]["uid"] != before
    assert made["metadata"]["labels"]["of"] == "a-user"
    adopted = world.until("the pod to be adopted", partial(_owned_by, world, made))
    assert adopted["metadata"]["uid"] == pod

    # Other things that cannot be changed are no different.
    world.patch("prometheus", "main", {"spec": {"podManagementPolicy": "OrderedReady"}})
    world.settled("prometheus", "main")
    again = found(world, "statefulset", "prometheus-main")
    assert again["spec"]["podManagementPolicy"] == "OrderedReady"
    assert again["metadata"]["uid"] != made["metadata"]["uid"]
    adopted = world.until("the pod to be adopted", partial(_owned_by, world, again))
    assert adopted["metadata"]["uid"] == pod


@pytest.mark.parametrize("grows", [True, False], ids=["that can grow", "that cannot"])
def test_claims_of_a_set_that_was_deleted_grow_if_they_can(
    world: World, operator: Running, grows: bool
) -> None:
    """They outlive it. It is made again as it is wanted now, whatever becomes of them."""
    world.put(storage_class(world, grows=grows))
    bind(world)
    world.put(prometheus("main", storage=storage(world, "1Gi")))
    world.settled("prometheus", "main")
    before = found(world, "statefulset", "prometheus-main")["metadata"]["uid"]
    world.patch("prometheus", "main", {"spec": {"paused": True}})
    world.until("the pause", lambda: found(world, "prometheus", "main")["status"].get("paused"))
    world.delete("statefulset", "prometheus-main")

    more = {"paused": False, "storage": storage(world, "2Gi")}
    world.patch("prometheus", "main", {"spec": more})
    world.settled("prometheus", "main")
    made = found(world, "statefulset", "prometheus-main")
    assert made["metadata"]["uid"] != before
    assert (claimed(world) == "2Gi") is grows
    said = f"claim {CLAIM} cannot grow to 2Gi"
    assert (said in operator.log()) is not grows


def _owned_by(world: World, stateful_set: Object) -> Object:
    pod = found(world, "pod", "prometheus-main-0")
    assert pod["metadata"]["ownerReferences"][0]["uid"] == stateful_set["metadata"]["uid"]
    return pod


def test_storage_that_cannot_grow_stays_as_it_is(world: World, operator: Running) -> None:
    """The workload says so, nothing of it is replaced, and it goes on when the class allows it."""
    world.put(storage_class(world, grows=False))
    bind(world)
    world.put(prometheus("main", storage=storage(world, "1Gi")))
    world.settled("prometheus", "main")
    before = found(world, "statefulset", "prometheus-main")["metadata"]

    world.patch("prometheus", "main", {"spec": {"storage": storage(world, "2Gi")}})
    why = failed(world, "prometheus", "main")
    assert "spec.storage.volumeClaimTemplate" in why
    assert f"claim {CLAIM} cannot grow to 2Gi" in why
    after = found(world, "statefulset", "prometheus-main")["metadata"]
    assert (after["uid"], after["generation"]) == (before["uid"], before["generation"])
    assert claimed(world) == "1Gi"

    world.put(storage_class(world))
    world.settled("prometheus", "main")
    assert claimed(world) == "2Gi"
