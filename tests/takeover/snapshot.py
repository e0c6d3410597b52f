"""What an operator has in a cluster at a time, and what of it another one left alone.

before = Snapshot.of(cluster)
…
Changes.between(before, Snapshot.of(cluster)).rolled
"""

import time
from collections.abc import Iterator
from typing import Any, Final, Self

from msgspec import Struct, field

from stoker.api.core import Object
from stoker.kube.resources import resource_of
from tests.conformance.compare import differences
from tests.takeover.operators import WORKLOADS, workloads
from tests.takeover.recording import key_of, recorded
from tools.cluster import Cluster

_KINDS: Final = (
    *(("v1", kind) for kind in ("Secret", "ConfigMap", "Service")),
    *(("apps/v1", kind) for kind in ("StatefulSet", "DaemonSet")),
)
_SETS: Final = ("statefulsets", "daemonsets")
# Pods come one after the other, each a moment after the one before.
_STILL_SECONDS: Final = 3.0
_DEADLINE: Final = 300.0

# An object or a pod: its namespace, and its plural and name.
Key = tuple[str, str]


class Snapshot(Struct, frozen=True):
    """All objects of all workloads as they are recorded, and their pods.

    :ivar objects: the objects
    :ivar generations: of StatefulSets and DaemonSets
    :ivar pods: the UIDs of pods that are there to stay
    :ivar problems: of workloads that are not reconciled, what their status says
    """

    objects: dict[Key, Object]
    generations: dict[Key, int]
    pods: dict[Key, str]
    problems: dict[Key, str]

    @classmethod
    def of(cls, cluster: Cluster) -> Self:
        """What is there now."""
        objects: dict[Key, Object] = {}
        generations: dict[Key, int] = {}
        for found in _owned(cluster):
            key = found["metadata"]["namespace"], key_of(found)
            objects[key] = recorded(found)
            if key[1].startswith(_SETS):
                generations[key] = found["metadata"]["generation"]
        return cls(objects, generations, _pods(cluster), _problems(cluster))

    @classmethod
    def settled(cls, cluster: Cluster) -> Self:
        """What is there once Kubernetes has done what the objects ask for."""
        found, since = cls.of(cluster), time.monotonic()

        def is_settled() -> bool:
            nonlocal found, since
            if (now := cls.of(cluster)) != found:
                found, since = now, time.monotonic()
            return time.monotonic() - since > _STILL_SECONDS and _is_observed(cluster)

        cluster.until("Kubernetes to be done", is_settled, _DEADLINE)
        return found

    def in_namespace(self, namespace: str) -> dict[str, Object]:
        """The objects of a world."""
        return {name: each for (its, name), each in self.objects.items() if its == namespace}


def _owned(cluster: Cluster) -> Iterator[Object]:
    for version, kind in _KINDS:
        listed = cluster.api.get(resource_of({"apiVersion": version, "kind": kind}).path(None))
        for each in listed["items"]:
            owners = each["metadata"].get("ownerReferences") or ()
            if any(owner["kind"] in WORKLOADS for owner in owners):
                yield each | {"apiVersion": version, "kind": kind}


def _is_observed(cluster: Cluster) -> bool:
    """Whether the controllers know all sets as they are."""
    return all(
        (each.get("status") or {}).get("observedGeneration") == each["metadata"]["generation"]
        for plural in _SETS
        for each in cluster.api.get(f"/apis/apps/v1/{plural}")["items"]
    )


def _pods(cluster: Cluster) -> dict[Key, str]:
    return {
        (pod["metadata"]["namespace"], pod["metadata"]["name"]): pod["metadata"]["uid"]
        for pod in cluster.api.get("/api/v1/pods")["items"]
        if not pod["metadata"].get("deletionTimestamp")
    }


def _problems(cluster: Cluster) -> dict[Key, str]:
    return {
        (each["metadata"]["namespace"], f"{each['kind']} {each['metadata']['name']}"): found[
            "message"
        ]
        for each in workloads(cluster)
        for found in (each.get("status") or {}).get("conditions") or ()
        if (found["type"], found["status"]) == ("Reconciled", "False")
    }


class Changes(Struct, frozen=True):
    """What became of a snapshot.

    :ivar rolled: StatefulSets and DaemonSets with another pod template, and each difference
    :ivar respecified: those whose generation alone went up
    :ivar replaced: pods that are gone, or others under the same name
    :ivar lost: objects that are gone
    :ivar gained: objects that were not there
    :ivar told: how many Secrets and ConfigMaps have another text
    """

    rolled: dict[Key, list[str]] = field(default_factory=dict)
    respecified: dict[Key, list[str]] = field(default_factory=dict)
    replaced: list[Key] = field(default_factory=list)
    lost: list[Key] = field(default_factory=list)
    gained: list[Key] = field(default_factory=list)
    told: list[Key] = field(default_factory=list)

    @classmethod
    def between(cls, before: Snapshot, after: Snapshot) -> Self:
        """What changed from one to the other."""
        both = sorted(before.objects.keys() & after.objects.keys())
        changed = {key: list(_differences(before, after, key)) for key in before.generations}
        pods = before.pods
        return cls(
            rolled={key: each for key, each in changed.items() if _rolls(each)},
            respecified={
                key: changed[key]
                for key, generation in before.generations.items()
                if key in after.generations
                and after.generations[key] != generation
                and not _rolls(changed[key])
            },
            replaced=sorted(key for key, uid in pods.items() if after.pods.get(key) != uid),
            lost=sorted(before.objects.keys() - after.objects.keys()),
            gained=sorted(after.objects.keys() - before.objects.keys()),
            told=[
                key
                for key in both
                if before.objects[key].get("data") != after.objects[key].get("data")
            ],
        )

    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {
            "pod templates changed": len(self.rolled),
            "other changes of a set's spec": len(self.respecified),
            "pods replaced": len(self.replaced),
            "objects gone": len(self.lost),
            "objects added": len(self.gained),
            "Secrets and ConfigMaps with another content": len(self.told),
        }


def _differences(before: Snapshot, after: Snapshot, key: Key) -> Iterator[str]:
    def spec(found: Snapshot) -> Any:
        return found.objects.get(key, {}).get("spec")

    return differences(spec(before), spec(after))


def _rolls(lines: list[str]) -> bool:
    return any(line.startswith("template") for line in lines)
