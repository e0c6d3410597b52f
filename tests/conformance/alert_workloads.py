"""Replays the suites of Alertmanager's and ThanosRuler's objects.

The peer's tests call functions below those that fill in defaults, and without an API server, which
does so too. Ours fill in what is unset, so the same is done to what was recorded.
"""

import base64
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

import msgspec

from stoker.api.alertmanager import Alertmanager, ClusterTlsConfig
from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.thanosruler import ThanosRuler
from stoker.build.alerting import alertmanager, thanosruler
from stoker.build.alerting.clustertls import CLUSTER_TLS_FILE, cluster_tls_mount
from stoker.build.alerting.names import cluster_tls_name
from stoker.build.alerting.objects import ruler_config_secret
from stoker.build.alerting.site import AlertSite
from stoker.build.site import TlsAssets
from stoker.errors import WorkloadError
from stoker.generate.clustertls import cluster_tls_text
from stoker.generate.thanosruler import REMOTE_WRITE_FILE, remote_write_file
from stoker.settings import ObjectSettings
from tests.conformance.cases import Case
from tests.conformance.compare import without_nulls
from tests.conformance.configuration import contents_of
from tests.conformance.replay import (
    Context,
    Outcome,
    error_outcome,
    object_outcome,
    replays,
)
from tests.conformance.workloads import settings_of

# What a flag without a value, which no program would start with, has by default.
_UNSET: Final = {
    "--data.retention": "--data.retention=120h",
    "--eval-interval": "--eval-interval=15s",
    "--tsdb.retention": "--tsdb.retention=24h",
}
_PORTS: Final = {9093: "web", 10902: "web"}


@replays("statefulset-alertmanager", "statefulset-alertmanager-derived")
def stateful_set_of_alertmanager(case: Case, context: Context) -> Outcome:
    """Build the StatefulSet of an Alertmanager."""
    return _outcome(case, alertmanager_stateful_set)


@replays("statefulsetspec-alertmanager")
def spec_of_alertmanager(case: Case, context: Context) -> Outcome:
    """Build what is in the StatefulSet of an Alertmanager, less its storage."""
    return _spec_outcome(case, alertmanager_stateful_set)


@replays("statefulset-thanosruler")
def stateful_set_of_ruler(case: Case, context: Context) -> Outcome:
    """Build the StatefulSet of a ThanosRuler."""
    return _outcome(case, ruler_stateful_set)


@replays("statefulsetspec-thanosruler")
def spec_of_ruler(case: Case, context: Context) -> Outcome:
    """Build what is in the StatefulSet of a ThanosRuler, less its storage."""
    return _spec_outcome(case, ruler_stateful_set)


@replays("clustertlsconfig")
def cluster_tls(case: Case, context: Context) -> Outcome:
    """The file for TLS between members, and how a pod gets it."""
    given = without_nulls(case.given)
    tls = convert(ClusterTlsConfig, given["clusterTLS"]) if "clusterTLS" in given else None
    workload = convert(Alertmanager, {"metadata": {"name": given["name"]}})
    secret = cluster_tls_name(AlertSite(workload, ObjectSettings()))
    mount = cluster_tls_mount(given["mountingDir"], secret, tls)
    made = {
        "config": cluster_tls_text(tls, given["mountingDir"]),
        "secretKey": CLUSTER_TLS_FILE,
        "secretName": secret,
        "argument": msgspec.to_builtins(mount.argument),
        "volumes": mount.volumes,
        "volumeMounts": mount.mounts,
    }
    found = object_outcome(case.expect, made)
    return Outcome(found.difference, exact=made["config"] == case.expect["config"])


@replays("thanosruler-config")
def remote_write_of_ruler(case: Case, context: Context) -> Outcome:
    """The file that says where a ThanosRuler sends its results, and the Secret that holds it."""
    workload = convert(ThanosRuler, without_nulls(case.given["workload"]))
    site = AlertSite(workload, settings_of(case.given["config"]))
    made = remote_write_file(workload, contents_of(case.given), site.version)
    secret = ruler_config_secret(site, made.text)
    secret["metadata"]["namespace"] = site.namespace
    key = secret["data"][REMOTE_WRITE_FILE]
    assert base64.b64decode(key).decode() == made.text
    shown = {"config": made.text, "configKey": REMOTE_WRITE_FILE, "secret": secret}
    found = object_outcome(case.expect, shown)
    return Outcome(found.difference, exact=made.text == case.expect["config"])


def alertmanager_stateful_set(given: dict[str, Any]) -> Object:
    """What stoker makes of the input of a case."""
    return alertmanager.stateful_set(
        convert(Alertmanager, without_nulls(given["workload"])),
        alert_settings(given["config"]),
        tls_assets=_assets(given),
        input_hash=given.get("inputHash") or "",
    )


def ruler_stateful_set(given: dict[str, Any]) -> Object:
    """What stoker makes of the input of a case."""
    return thanosruler.stateful_set(
        convert(ThanosRuler, without_nulls(given["workload"])),
        alert_settings(given["config"]),
        rule_config_maps=given["ruleConfigMapNames"] or (),
        tls_assets=_assets(given),
        input_hash=given.get("inputHash") or "",
    )


def alert_settings(config: dict[str, Any]) -> ObjectSettings:
    """The flags of the operator, as a case has them."""
    image = config.get("alertmanagerDefaultBaseImage", "")
    return msgspec.structs.replace(settings_of(config), alertmanager_base_image=image)


def _outcome(case: Case, build: Callable[[dict[str, Any]], Object]) -> Outcome:
    try:
        made = build(case.given)
    except WorkloadError as error:
        return error_outcome(case.expect, str(error))
    if "error" in case.expect:
        return error_outcome(case.expect, None)
    expected = case.expect["statefulSet"]
    # The peer leaves the type of an object to its client.
    typeless = {name: value for name, value in made.items() if name not in ("apiVersion", "kind")}
    return object_outcome(expected | {"spec": _filled(expected["spec"])}, typeless)


def _spec_outcome(case: Case, build: Callable[[dict[str, Any]], Object]) -> Outcome:
    made = build(case.given)
    data = f"{made['metadata']['name']}-"
    volumes = made["spec"]["template"]["spec"]["volumes"]
    volumes[:] = [one for one in volumes if not one["name"].startswith(data)]
    return object_outcome(_filled(case.expect["statefulSetSpec"]), made["spec"])


def _filled(spec: Object) -> Object:
    """A recorded spec with the defaults of what its workload leaves unset."""
    filled: Object = {"replicas": 1, **deepcopy(spec)}
    pod = filled["template"]["spec"]
    for one in [*pod["containers"], *(pod.get("initContainers") or ())]:
        if one["name"].endswith("config-reloader"):
            one.setdefault("image", "")
    main = pod["containers"][0]
    main["args"] = [_UNSET.get(word, word) for word in main["args"]]
    main.setdefault("resources", {}).setdefault("requests", {}).setdefault("memory", "200Mi")
    for port in main["ports"]:
        if not port.get("name"):
            port["name"] = _PORTS[port["containerPort"]]
    for probe in ("livenessProbe", "readinessProbe"):
        asked = main.get(probe, {}).get("httpGet")
        if asked and not asked["port"]:
            asked["port"] = _PORTS[9093]
    return filled


def _assets(given: dict[str, Any]) -> TlsAssets:
    return TlsAssets(given["tlsSecrets"]["name"], given["tlsSecrets"]["shards"])
