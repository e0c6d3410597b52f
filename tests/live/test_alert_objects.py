"""Objects of Alertmanager and ThanosRuler are ones that a real API server takes, unchanged.

And the real Alertmanager knows every flag that we give it.
"""

import asyncio
import subprocess
from typing import Any, Final

import pytest

from stoker.api.alertmanager import Alertmanager
from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.thanosruler import ThanosRuler
from stoker.build.alerting.objects import (
    AlertmanagerContents,
    RulerContents,
    alertmanager_objects,
    ruler_objects,
)
from stoker.build.alerting.paths import CONFIG_KEY
from stoker.errors import WorkloadError
from stoker.generate.thanosruler import remote_write_file
from stoker.kube import access
from stoker.kube.client import Client
from stoker.select.assets import AssetsAtHand
from stoker.settings import DEFAULT_THANOS_VERSION, ObjectSettings
from stoker.version import parse_version
from tests.conformance.alert_workloads import alertmanager_stateful_set, ruler_stateful_set
from tests.conformance.cases import default_folder, suites
from tests.fuzz.examples import Spec
from tests.fuzz.objects import manifest
from tests.fuzz.world import admitted
from tests.live.dry_run import answers
from tests.live.test_objects import UID, identified, orphaned, placed, twice
from tools.build import binaries
from tools.cluster import Cluster

SUITES: Final[dict[str, tuple[Any, str, int]]] = {
    "statefulset-alertmanager": (alertmanager_stateful_set, "Alertmanager", 33),
    "statefulset-alertmanager-derived": (alertmanager_stateful_set, "Alertmanager", 32),
    "statefulset-thanosruler": (ruler_stateful_set, "ThanosRuler", 53),
}

# Inputs of the peer's unit tests that make no object for any server, and what that says.
_NO_IMAGE: Final = "image: Required value"
_NO_SIZE: Final = "resources[storage]: Required value"
_NO_TOPOLOGY: Final = "podAffinityTerm.topologyKey: Required value"
REFUSED: Final = {
    "statefulset-alertmanager/TestPodTemplateConfig-001": _NO_TOPOLOGY,
    "statefulset-alertmanager/TestStatefulSetEphemeral-001": _NO_SIZE,
    "statefulset-alertmanager/TestStatefulSetPVC-001": _NO_SIZE,
    **{
        f"statefulset-alertmanager-derived/TestMakeStatefulSetSpecPeerName-00{number}": _NO_IMAGE
        for number in (1, 2, 3, 4)
    },
    "statefulset-thanosruler/TestAdditionalContainers-001": _NO_IMAGE,
    "statefulset-thanosruler/TestPodTemplateConfig-001": _NO_TOPOLOGY,
    "statefulset-thanosruler/TestStatefulSetEphemeral-001": _NO_SIZE,
    "statefulset-thanosruler/TestStatefulSetPVC-001": _NO_SIZE,
}

_KEY: Final = {"name": "vault", "key": "plain"}
_TLS: Final[Spec] = {
    "cert": {"secret": _KEY},
    "keySecret": _KEY,
    "client_ca": {"configMap": _KEY},
    "clientAuthType": "RequireAndVerifyClientCert",
}
_CLIENT_TLS: Final[Spec] = {
    "ca": {"configMap": _KEY},
    "cert": {"secret": _KEY},
    "keySecret": _KEY,
    "serverName": "members",
}
_POD: Final[Spec] = {
    "podMetadata": {"labels": {"team": "shop"}, "annotations": {"note": "a: b"}},
    "replicas": 3,
    "serviceAccountName": "alerts",
    "priorityClassName": "important",
    "imagePullPolicy": "IfNotPresent",
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
        }
    ],
    "securityContext": {"fsGroup": 2000, "runAsNonRoot": True, "runAsUser": 1000},
    "resources": {"limits": {"cpu": 2, "memory": "100Mi"}},
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["mail.internal"]}],
    "dnsConfig": {"options": [{"name": "ndots", "value": "1"}, {"name": "edns0"}]},
    "enableServiceLinks": False,
    "minReadySeconds": 10,
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
    "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1024Mi"}}],
    "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    "initContainers": [{"name": "chown", "image": "tool:1", "command": ["sh", "-c", "true"]}],
    "storage": {
        "volumeClaimTemplate": {
            "metadata": {"name": "kept", "labels": {"tier": "fast"}},
            "spec": {"resources": {"requests": {"storage": "1Gi"}}},
        }
    },
    "portName": "alerts",
    "routePrefix": "/alerts",
    "logLevel": "debug",
    "logFormat": "json",
}
RICH: Final[dict[str, list[Spec]]] = {
    "Alertmanager": [
        {},
        {
            **_POD,
            "automountServiceAccountToken": False,
            "secrets": ["tokens", "mail.example.com"],
            "configMaps": ["words"],
            "alertmanagerConfiguration": {
                "templates": [{"secret": _KEY}, {"configMap": {"name": "words", "key": "a.tmpl"}}]
            },
            "retention": "240h",
            "limits": {"maxSilences": 50, "maxPerSilenceBytes": "64KiB"},
            "enableFeatures": ["receiver-name-in-metrics"],
            "externalUrl": "https://alerts.example.com/alerts",
            "web": {"tlsConfig": _TLS, "getConcurrency": 10, "timeout": 30},
            "additionalPeers": ["elsewhere:9094"],
            "clusterLabel": "all",
            "clusterAdvertiseAddress": "10.0.0.1:9094",
            "clusterGossipInterval": "100ms",
            "clusterPushpullInterval": "30s",
            "clusterPeerTimeout": "10s",
            "clusterTLS": {"server": _TLS, "client": _CLIENT_TLS},
            "containers": [
                {"name": "alertmanager", "env": [{"name": "TZ", "value": "UTC"}]},
                {"name": "proxy", "image": "proxy:1"},
            ],
            "additionalArgs": [{"name": "alerts.gc-interval", "value": "10m"}],
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
        },
        {"version": "v0.21.0", "listenLocal": True, "hostNetwork": True, "serviceName": "own"},
    ],
    "ThanosRuler": [
        {"queryEndpoints": ["dnssrv+_http._tcp.query"]},
        {
            **_POD,
            "queryConfig": _KEY,
            "alertmanagersConfig": _KEY,
            "objectStorageConfig": _KEY,
            "tracingConfig": _KEY,
            "alertRelabelConfigs": _KEY,
            "evaluationInterval": "1d",
            "ruleQueryOffset": "1m",
            "ruleConcurrentEval": 4,
            "ruleOutageTolerance": "2h",
            "ruleGracePeriod": "5m",
            "resendDelay": "2m",
            "alertQueryUrl": "https://query.example.com",
            "alertDropLabels": ["pod"],
            "labels": {"cluster": 'a "b" \\'},
            "retention": "7d",
            "remoteWrite": [{"url": "https://storage/write"}],
            "externalPrefix": "/alerts",
            "web": {"tlsConfig": _TLS, "httpConfig": {"headers": {"xFrameOptions": "Deny"}}},
            "grpcServerTlsConfig": {"certFile": "/tls.crt", "keyFile": "/tls.key"},
            "enableFeatures": ["promql-experimental-functions"],
            "additionalArgs": [{"name": "query.http-method", "value": "GET"}],
        },
        {
            "version": "v0.20.0",
            "queryEndpoints": ["a:10902", "b:10902"],
            "alertmanagersUrl": ["http://a:9093"],
            "listenLocal": True,
            "storage": {"emptyDir": {"medium": "Memory"}},
        },
    ],
}


def built(kind: str, spec: Spec, name: str) -> list[Object]:
    """Build all objects of a workload that an API server has stored."""
    stored, sound = admitted(manifest(kind, spec, "monitoring", name))
    assert sound, spec
    stored["metadata"]["uid"] = UID
    assets = {"0_monitoring_vault_plain": "secret"}
    if kind == "Alertmanager":
        files: dict[str, str | bytes] = {CONFIG_KEY: b"\x1f\x8b", "more.tmpl": "text"}
        carried = AlertmanagerContents(config_files=files, asset_files=assets)
        return alertmanager_objects(convert(Alertmanager, stored), ObjectSettings(), carried)
    workload = convert(ThanosRuler, stored)
    version = parse_version(workload.spec.version or DEFAULT_THANOS_VERSION)
    text = remote_write_file(workload, AssetsAtHand({}), version).text
    contents = RulerContents(remote_write=text, asset_files=assets, rule_files=[{"a.yaml": "b"}])
    return ruler_objects(workload, ObjectSettings(), contents)


def own(namespace: str) -> dict[str, Object]:
    """Build all objects of rich and of bare workloads."""
    made: dict[str, Object] = {}
    for kind, specs in RICH.items():
        for number, spec in enumerate(specs):
            for each in built(kind, spec, f"{kind.lower()}-{number}"):
                name = f"{kind} {number}: {each['kind']} {each['metadata']['name']}"
                made[name] = placed(each, namespace)
    return made


def recorded() -> dict[str, Object]:
    """Build the objects of all recorded cases but those in which there is nothing to build."""
    folder = default_folder()
    if not folder.is_dir():
        pytest.skip(f"recorded objects are missing: no folder {folder}")
    present = suites(folder)
    made: dict[str, Object] = {}
    for suite, (build, kind, count) in SUITES.items():
        before = len(made)
        for case in present[suite].cases():
            try:
                made[f"{suite}/{case.name}"] = placed(build(identified(case, kind)))
            except WorkloadError:
                assert "error" in case.expect, case.name
        assert len(made) - before == count, suite
    return made


def test_the_server_takes_every_object_of_rich_alert_workloads(
    cluster: Cluster, namespace: str
) -> None:
    """Secrets, ConfigMaps, Services and StatefulSets, in a strict dry run, without a difference."""
    objects = own(namespace)
    kinds = {each["kind"] for each in objects.values()}
    assert kinds == {"ConfigMap", "Secret", "Service", "StatefulSet"}
    found = dict(zip(objects, answers(cluster, objects.values()), strict=True))
    assert {name: answer.refusal for name, answer in found.items() if answer.error} == {}
    assert {name: answer.drift for name, answer in found.items() if answer.drift} == {}


def test_the_server_takes_every_recorded_alert_object(cluster: Cluster) -> None:
    """Only what is in the table is refused, and for the reason given there."""
    objects = recorded()
    found = dict(zip(objects, answers(cluster, objects.values()), strict=True))
    assert {name for name, answer in found.items() if answer.error} == REFUSED.keys()
    for name, fragment in REFUSED.items():
        assert fragment in found[name].refusal
    assert {name: answer.drift for name, answer in found.items() if answer.drift} == {}


def test_an_alert_object_that_is_there_is_not_written_twice(
    cluster: Cluster, namespace: str
) -> None:
    """What was written and is read again is right, and to apply it again would change nothing."""
    objects = list(map(orphaned, own(namespace).values()))

    async def written() -> list[tuple[str, str | None, bool]]:
        async with Client(access.kubeconfig(cluster.kubeconfig)) as client:
            return [await twice(client, each) for each in objects]

    found = asyncio.run(written())
    assert [each for each in found if each[1] or not each[2]] == []


@pytest.mark.parametrize("number", [0, 1])
def test_alertmanager_knows_every_flag_of_ours(number: int) -> None:
    """The real one reads the command line of a bare and of a rich workload without complaint."""
    objects = built("Alertmanager", RICH["Alertmanager"][number], "main")
    containers = objects[-1]["spec"]["template"]["spec"]["containers"]
    words = next(one["args"] for one in containers if one["name"] == "alertmanager")
    program = str(binaries("alertmanager")["alertmanager"])
    done = subprocess.run(
        [program, *words, "--version"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
