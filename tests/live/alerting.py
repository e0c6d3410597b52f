"""What an Alertmanager and a ThanosRuler go through alike: life, other people, bad settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from tests.live.operating import Object, Running, World
from tests.live.test_operator import container, failed, found, gone, service
from tests.live.test_operator_storage import storage, storage_class


class Kind:
    """A kind of workload: how one is made, what its objects are called, who looks after it."""

    def __init__(self, name: str, make: Callable[..., Object], prefix: str, main: str) -> None:
        self.name = name
        self.make = make
        self.prefix = prefix
        self.main = main
        self.service = f"{prefix}-operated"

    def arguments(self, world: World, name: str = "main") -> list[str]:
        """The command line in the pods."""
        there = found(world, "statefulset", f"{self.prefix}-{name}")
        arguments: list[str] = container(there, self.main)["args"]
        return arguments


def pods(world: World, kind: Kind, count: int) -> Object:
    """Wait until there are so many pods, all as they should be; the status."""

    def status() -> Object:
        there: Object = world.settled(kind.name, "main")["status"]
        assert there["replicas"] == there["availableReplicas"] == count
        return there

    return world.until(f"{count} pods", status)


def lives(world: World, operator: Running, kind: Kind, objects: Iterable[str]) -> None:
    """Create, change, scale, delete, create again: objects, pods, status and metrics follow."""
    name = f"{kind.prefix}-main"
    world.put(kind.make("main"))
    status = pods(world, kind, 1)
    assert status["updatedReplicas"] == 1
    assert "shardStatuses" not in status
    assert "shards" not in status

    changed: Object = {
        "image": "example.org/it:v0.1",
        "minReadySeconds": 1,
        "podMetadata": {"annotations": {"example.org/a": "b"}},
        "containers": [{"name": kind.main, "env": [{"name": "ZONE", "value": "a"}]}],
    }
    world.patch(kind.name, "main", {"spec": changed})
    world.settled(kind.name, "main")
    made = found(world, "statefulset", name)
    assert made["spec"]["minReadySeconds"] == 1
    assert made["spec"]["template"]["metadata"]["annotations"]["example.org/a"] == "b"
    assert container(made, kind.main)["image"] == changed["image"]
    assert {"name": "ZONE", "value": "a"} in container(made, kind.main)["env"]

    labels = dict.fromkeys(made["metadata"]["labels"])
    world.patch("statefulset", name, {"metadata": {"labels": labels}})
    world.until("the labels again", lambda: labels.keys() <= labels_of(world, name))
    for replicas in (3, 2):
        world.patch(kind.name, "main", {"spec": {"replicas": replicas}})
        pods(world, kind, replicas)
        counted(world, operator, replicas)

    world.delete(kind.name, "main")
    for each, its in (("statefulset", name), ("service", kind.service)):
        gone(world, each, its)
    world.until("nothing of it to be left", lambda: owned(world, objects) == [])
    counted(world, operator, 0)
    world.put(kind.make("main"))
    pods(world, kind, 1)


def counted(world: World, operator: Running, replicas: int) -> None:
    """Wait until the metrics tell so many replicas."""
    asked = {"namespace": world.namespace, "name": "main"}
    name = "prometheus_operator_spec_replicas"
    world.until(f"{name} {replicas}", lambda: operator.metric(name, **asked) == replicas)


def labels_of(world: World, name: str) -> set[str]:
    """The labels of a StatefulSet."""
    return set(found(world, "statefulset", name)["metadata"].get("labels") or ())


def owned(world: World, kinds: Iterable[str]) -> list[str]:
    """The objects that belong to somebody."""
    there = [each["metadata"] for kind in kinds for each in world.list(kind)]
    return [each["name"] for each in there if each.get("ownerReferences")]


def put_right(world: World, kind: Kind, ours: dict[str, str]) -> None:
    """What others delete comes back, what they change is undone, what they add to metadata stays.

    `ours` are objects by their kinds.
    """
    world.put(kind.make("main"))
    world.settled(kind.name, "main")
    noted = {"labels": {"team": "a"}, "annotations": {"example.org/note": "b"}}
    for each, name in ours.items():
        world.patch(each, name, {"metadata": noted})
    before = {each: content(world, each, name) for each, name in ours.items()}
    broken: dict[str, Object] = {
        "statefulset": {"spec": {"replicas": 0, "template": {"spec": {"hostNetwork": True}}}},
        "service": {"spec": {"selector": {"more": "junk"}}},
        "secret": {"data": {"more": "anVuaw=="}},
        "configmap": {"data": {"more": "junk"}},
    }
    for each, name in ours.items():
        world.patch(each, name, broken[each])
    for each, name in ours.items():
        world.until(f"{each} to be right", partial(is_as, world, each, name, before[each]))
        metadata = found(world, each, name)["metadata"]
        assert metadata["labels"]["team"] == "a"
        assert metadata["annotations"]["example.org/note"] == "b"
    for each, name in ours.items():
        world.delete(each, name)
    for each, name in ours.items():
        world.until(f"{each} to be back", partial(is_as, world, each, name, before[each]))
    world.settled(kind.name, "main")


def content(world: World, kind: str, name: str) -> Any:
    """What an object says, but for what the API server makes of it."""
    there = found(world, kind, name)
    if "data" in there:
        return there["data"]
    spec = there["spec"]
    if kind == "service":
        return spec["selector"], spec["ports"]
    return spec["replicas"], spec["template"]


def is_as(world: World, kind: str, name: str, before: Any) -> bool:
    """Whether an object says what it said."""
    return bool(content(world, kind, name) == before)


def needs(world: World, kind: Kind) -> None:
    """Nothing is made before the Service and the storage class are there that it names."""
    name = f"{kind.prefix}-main"
    world.put(kind.make("main", serviceName="mine", replicas=0, storage=storage(world, "1Gi")))
    assert f"there is no StorageClass `{world.namespace}`" in failed(world, kind.name, "main")
    world.put(storage_class(world))
    world.until("the Service", partial(says, world, kind, "there is no Service `mine`"))
    world.put(service("mine", wrong="selector"))
    world.until("its selector", partial(says, world, kind, "does not select the pods"))
    assert not world.list("statefulset")
    world.put(service("mine", **{"app.kubernetes.io/instance": "main"}))
    world.settled(kind.name, "main")
    made = found(world, "statefulset", name)
    assert made["spec"]["serviceName"] == "mine"
    (template,) = made["spec"]["volumeClaimTemplates"]
    assert template["spec"]["storageClassName"] == world.namespace
    assert world.get("service", kind.service) is None

    world.patch(kind.name, "main", {"spec": {"storage": storage(world, "2Gi")}})
    world.settled(kind.name, "main")
    (template,) = found(world, "statefulset", name)["spec"]["volumeClaimTemplates"]
    assert template["spec"]["resources"]["requests"]["storage"] == "2Gi"


def says(world: World, kind: Kind, words: str) -> bool:
    """Whether a workload gives this as the reason why it cannot be reconciled."""
    return words in failed(world, kind.name, "main")


def keeps_what_it_has(world: World, kind: Kind, wrong: dict[str, Object]) -> None:
    """A workload that cannot be says why and keeps its objects; it recovers when it is mended.

    `wrong` are settings by words of the reason.
    """
    name = f"{kind.prefix}-main"
    world.put(kind.make("main"))
    world.settled(kind.name, "main")
    before = found(world, "statefulset", name)["metadata"]["generation"]
    for words, spec in wrong.items():
        world.patch(kind.name, "main", {"spec": spec})
        assert words in failed(world, kind.name, "main")
        assert found(world, "statefulset", name)["metadata"]["generation"] == before
        world.patch(kind.name, "main", {"spec": dict.fromkeys(spec)})
        world.settled(kind.name, "main")
