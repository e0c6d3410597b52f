"""Every object that stoker builds is one that a real API server takes, and gives back unchanged.

What comes back is filled with defaults and written the server's way. It must not count as
different from what was sent: otherwise each reconciliation would write it again.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import pytest

from stoker.api.core import Object
from stoker.api.crd import GROUP
from stoker.build.drift import drift
from stoker.build.objects import Contents, objects_of
from stoker.build.site import Site
from stoker.errors import WorkloadError
from stoker.kube import access
from stoker.kube.client import Client
from stoker.kube.resources import resource_of
from stoker.select.workload import scraper_of
from stoker.settings import Capabilities, ObjectSettings
from tests.conformance.cases import Case, default_folder, suites
from tests.conformance.objects import prometheus_service
from tests.conformance.workloads import (
    agent_daemon_set,
    agent_stateful_set,
    server_stateful_set,
)
from tests.fuzz.building import NAMESPACE, built
from tests.fuzz.objects import manifest
from tests.fuzz.rich import RICH
from tests.fuzz.world import admitted, typed
from tests.live.dry_run import MANAGER, answers
from tests.unit.test_split import MANY, kept_of
from tools.cluster import Cluster

UID: Final = "11111111-1111-4111-8111-111111111111"

# The suites of objects: what builds them, the kind of their owner, and how many can be built.
SUITES: Final[dict[str, tuple[Callable[[dict[str, Any]], Object], str, int]]] = {
    "statefulset-prometheus": (server_stateful_set, "Prometheus", 124),
    "statefulset-prometheus-derived": (server_stateful_set, "Prometheus", 132),
    "statefulset-agent": (agent_stateful_set, "PrometheusAgent", 23),
    "statefulset-agent-derived": (agent_stateful_set, "PrometheusAgent", 198),
    "daemonset-agent": (agent_daemon_set, "PrometheusAgent", 11),
    "daemonset-agent-derived": (agent_daemon_set, "PrometheusAgent", 187),
    "service-prometheus-derived": (prometheus_service, "Prometheus", 10),
}

# Inputs of the peer's unit tests that make no object for any server, and what that says.
_NO_IMAGE: Final = "containers[2].image: Required value"
_NO_SIZE: Final = "resources[storage]: Required value"
_NO_NAME: Final = "env[0].valueFrom.secretKeyRef.name: Invalid value"
_NO_TOPOLOGY: Final = "podAffinityTerm.topologyKey: Required value"
REFUSED: Final = {
    "statefulset-prometheus/TestAdditionalContainers-001": _NO_IMAGE,
    "statefulset-prometheus/TestStatefulSetEphemeral-001": _NO_SIZE,
    "statefulset-prometheus/TestStatefulSetPVC-001": _NO_SIZE,
    "statefulset-prometheus/TestThanosBlockDuration-001": _NO_NAME,
    "statefulset-prometheus/TestThanosDelayedCompaction-002": _NO_NAME,
    "statefulset-prometheus/TestThanosDelayedCompaction-005": _NO_NAME,
    "statefulset-prometheus/TestThanosObjectStorage-001": _NO_NAME,
    "statefulset-prometheus/TestThanosTracing-001": _NO_NAME,
    "statefulset-prometheus/TestThanosWithNamedPVC-001": _NO_SIZE,
    "statefulset-agent-derived/TestAdditionalContainers-002": _NO_IMAGE,
    "statefulset-agent-derived/TestStatefulSetEphemeral-001": _NO_SIZE,
    "statefulset-agent-derived/TestStatefulSetPVC-001": _NO_SIZE,
    "statefulset-agent-derived/TestThanosWithNamedPVC-001": _NO_SIZE,
    "daemonset-agent-derived/TestAdditionalContainers-001": _NO_IMAGE,
    "daemonset-agent-derived/TestPodTemplateConfig-001": _NO_TOPOLOGY,
}


def recorded() -> dict[str, Object]:
    """Build the objects of all recorded cases but those in which there is nothing to build."""
    folder = default_folder()
    if not folder.is_dir():
        count = sum(count for _, _, count in SUITES.values())
        pytest.skip(f"{count} recorded objects are missing: no folder {folder}")
    present = suites(folder)
    made: dict[str, Object] = {}
    for suite, (build, kind, count) in SUITES.items():
        found = {}
        for case in present[suite].cases():
            try:
                found[f"{suite}/{case.name}"] = placed(build(identified(case, kind)))
            except WorkloadError:
                assert "error" in case.expect, case.name
        assert len(found) == count, suite
        made |= found
    return made


# What API servers drop that are older than this, with no word about it.
SINCE = {
    "spec.persistentVolumeClaimRetentionPolicy": 27,
    "spec.template.spec.hostUsers": 33,
    "spec.updateStrategy.rollingUpdate.maxUnavailable": 35,
}

# Older ones take a StatefulSet whatever its template and claims say; its pods cannot be made.
JUDGED_SINCE = 34


def kept(drift: str | None, minor: int) -> str | None:
    """Where an object differs from what was written, unless the server is too old for that."""
    return drift if minor >= SINCE.get(drift or "", 0) else None


def identified(case: Case, kind: str) -> dict[str, Any]:
    """Name the owner of a case, as the peer's tests often do not."""
    workload = case.given["workload"]
    version = "v1alpha1" if kind == "PrometheusAgent" else "v1"
    metadata = {name: value for name, value in workload["metadata"].items() if value}
    owner = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": kind,
        "metadata": {"name": "test", **metadata, "namespace": "default", "uid": UID},
    }
    return case.given | {"workload": workload | owner}


def placed(made: Object, namespace: str = "default") -> Object:
    """Put an object into a namespace."""
    return made | {"metadata": made["metadata"] | {"namespace": namespace}}


def own(namespace: str) -> dict[str, Object]:
    """Build all objects of our own workloads."""
    made: dict[str, Object] = {}
    for kind, specs in RICH.items():
        for number, spec in enumerate(specs):
            workload, sound = admitted(manifest(kind, spec, NAMESPACE, f"{kind.lower()}-{number}"))
            assert sound, spec
            workload["metadata"]["uid"] = UID
            for each in built(workload, ObjectSettings()):
                name = f"{kind} {number}: {each['kind']} {each['metadata']['name']}"
                made[name] = placed(each, namespace)
    return made


def test_the_server_takes_every_recorded_object_and_changes_nothing(
    cluster: Cluster, minor: int
) -> None:
    """Only what is in the table is refused, and for the reason given there."""
    objects = recorded()
    found = dict(zip(objects, answers(cluster, objects.values()), strict=True))
    refused = {name for name in REFUSED if minor >= JUDGED_SINCE or name.startswith("daemonset")}
    assert {name for name, answer in found.items() if answer.error} == refused
    for name in refused:
        assert REFUSED[name] in found[name].refusal
    drifted = {name: kept(answer.drift, minor) for name, answer in found.items()}
    assert {name: drift for name, drift in drifted.items() if drift} == {}


def test_the_server_takes_every_object_of_our_own_workloads(
    cluster: Cluster, namespace: str, minor: int
) -> None:
    """Secrets, ConfigMaps, Services, StatefulSets and DaemonSets of rich and of bare workloads."""
    objects = own(namespace)
    assert {each["kind"] for each in objects.values()} == {
        *("ConfigMap", "Secret", "Service", "StatefulSet", "DaemonSet")
    }
    found = dict(zip(objects, answers(cluster, objects.values()), strict=True))
    assert {name: answer.refusal for name, answer in found.items() if answer.error} == {}
    drifted = {name: kept(answer.drift, minor) for name, answer in found.items()}
    assert {name: drift for name, drift in drifted.items() if drift} == {}


def test_the_server_takes_the_objects_of_a_configuration_in_several_files(
    cluster: Cluster, namespace: str
) -> None:
    """Each further file has its Secret and its reloaders, which all have a place in the pod."""
    workload = manifest("Prometheus", {"shards": 2}, namespace, "split")
    workload["metadata"]["uid"] = UID
    scraper = typed(workload)
    contents = Contents(config_files=kept_of(MANY).config_files(), asset_files={"a": "b"})
    assert len(contents.config_files) > 3
    site = Site(scraper, scraper_of(scraper, Capabilities()), ObjectSettings())
    objects = objects_of(site, contents)
    found = answers(cluster, objects)
    assert [
        answer.refusal or answer.drift for answer in found if answer.refusal or answer.drift
    ] == []


def test_an_object_that_is_there_is_not_written_twice(
    cluster: Cluster, namespace: str, minor: int
) -> None:
    """What was written and is read again is right, and to apply it again would change nothing."""
    objects = list(map(orphaned, own(namespace).values()))

    async def written() -> list[tuple[str, str | None, bool]]:
        async with Client(access.kubeconfig(cluster.kubeconfig)) as client:
            return [await twice(client, each) for each in objects]

    found = asyncio.run(written())
    assert [each for each in found if kept(each[1], minor) or not each[2]] == []


def orphaned(made: Object) -> Object:
    """Take its owner from an object: Kubernetes deletes what belongs to one that is not there."""
    metadata = made["metadata"]
    return made | {"metadata": {k: v for k, v in metadata.items() if k != "ownerReferences"}}


async def twice(client: Client, wanted: Object) -> tuple[str, str | None, bool]:
    """Write an object: its name, how it differs once read, and whether it stays as it is."""
    await client.apply(wanted, manager=MANAGER)
    name = wanted["metadata"]["name"]
    live = await client.get(resource_of(wanted), wanted["metadata"]["namespace"], name)
    again = await client.apply(wanted, manager=MANAGER)
    same = content(again) == content(live)
    return name, drift(wanted, live, MANAGER), same


def content(found: Object) -> Object:
    """Take from an object what others write: its status, and the version that makes."""
    others = ("resourceVersion", "managedFields")
    metadata = {key: value for key, value in found["metadata"].items() if key not in others}
    return {key: value for key, value in found.items() if key != "status"} | {"metadata": metadata}
