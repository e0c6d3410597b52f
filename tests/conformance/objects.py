"""Replays suites about the pieces of workload objects: containers, Secrets, Services, names."""

from typing import Any, Final

import msgspec

from stoker.api.alertmanager import Alertmanager
from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.prometheus import Prometheus
from stoker.api.thanosruler import ThanosRuler
from stoker.api.workload import Argument, DnsConfig, HostAlias, WebConfig
from stoker.build.args import with_additional
from stoker.build.image import image_path
from stoker.build.merge import merge_containers
from stoker.build.names import stateful_set_name, unique_label
from stoker.build.pod import dns_config, host_aliases, startup_probe_timing
from stoker.build.reloader import ReloaderPlan, reloader_container
from stoker.build.secrets import sharded
from stoker.build.services import (
    ALERTMANAGER,
    THANOS_RULER,
    Governing,
    check_custom_service,
    governing_service,
    service_of,
)
from stoker.build.webconfig import WEB_CONFIG_FILE, web_config_mount
from stoker.errors import WorkloadError
from stoker.generate.webconfig import web_config_text
from stoker.select.workload import Scraper
from stoker.select.workload import scraper_of as workload_for
from stoker.settings import Capabilities, ObjectSettings, Reloader
from tests.conformance.cases import Case
from tests.conformance.compare import differences, without_nulls
from tests.conformance.done_without import stateful_set_selector
from tests.conformance.replay import (
    Context,
    Outcome,
    error_outcome,
    object_outcome,
    outcome_of,
    replays,
)

_PLAN: Final = {
    "name": "name",
    "init": "initContainer",
    "config_file": "configFile",
    "config_envsubst_file": "configEnvsubstFile",
    "watched_directories": "watchedDirectories",
    "reload_url": "reloadURL",
    "runtime_info_url": "runtimeInfoURL",
    "use_signal": "useSignal",
    "listen_local": "listenLocal",
    "local_host": "localHost",
    "web_config_file": "webConfigFile",
    "log_level": "logLevel",
    "log_format": "logFormat",
    "image_pull_policy": "imagePullPolicy",
    "shard": "shard",
    "inzone_shard": "inzoneShard",
    "zone": "zone",
    "node_name": "withNodeNameEnv",
    "volume_mounts": "volumeMounts",
}
_RELOADER: Final = {
    "image": "image",
    "cpu_request": "cpuRequests",
    "cpu_limit": "cpuLimits",
    "memory_request": "memoryRequests",
    "memory_limit": "memoryLimits",
    "probes": "enableProbes",
}


def object_settings(config: dict[str, Any]) -> ObjectSettings:
    """The flags of a case."""
    return ObjectSettings(
        labels=config.get("labels") or {}, annotations=config.get("annotations") or {}
    )


@replays("config-reloader", "config-reloader-derived")
def reloader(case: Case, context: Context) -> Outcome:
    """The container that reloads."""
    given = without_nulls(case.given)
    plan = {name: given[theirs] for name, theirs in _PLAN.items() if theirs in given}
    settings = {name: given["config"][theirs] for name, theirs in _RELOADER.items()}
    made = reloader_container(msgspec.convert(plan, ReloaderPlan), Reloader(**settings))
    expected = {"image": ""} | case.expect["container"]
    return object_outcome(expected, made)


@replays("webconfig", "webconfig-derived")
def web_configuration(case: Case, context: Context) -> Outcome:
    """The file that tells a web server how to listen, and how a pod gets it."""
    given = without_nulls(case.given)
    web = convert(WebConfig, given["fields"])
    mount = web_config_mount(given["mountingDir"], given["secretName"], web)
    made = {
        "config": web_config_text(web, given["mountingDir"]),
        "secretKey": WEB_CONFIG_FILE,
        "argument": msgspec.to_builtins(mount.argument),
        "volumes": mount.volumes,
        "volumeMounts": mount.mounts,
    }
    found = object_outcome(case.expect, made)
    return Outcome(found.difference, exact=made["config"] == case.expect["config"])


@replays("misc-merge-containers")
def merged_containers(case: Case, context: Context) -> Outcome:
    """A user's containers over ours."""
    given = without_nulls(case.given)
    made = merge_containers(given.get("base", []), given.get("patches"), "spec.containers")
    return object_outcome(case.expect, {"containers": made})


@replays("misc-image-path", "misc-image-path-derived")
def image(case: Case, context: Context) -> Outcome:
    """The image of a container."""
    given = case.given
    members = ("image", "baseImage", "version", "tag", "sha")
    try:
        made = image_path(*(given[name] for name in members))
    except WorkloadError as error:
        return error_outcome(case.expect, str(error))
    return outcome_of(differences(case.expect, {"image": made}))


@replays("misc-build-args")
def command_line(case: Case, context: Context) -> Outcome:
    """Our arguments and the user's."""
    given = {name: [convert(Argument, one) for one in args] for name, args in case.given.items()}
    try:
        made = with_additional(given["args"], given["additionalArgs"], "spec.additionalArgs")
    except WorkloadError as error:
        return error_outcome(case.expect, str(error))
    return outcome_of(differences(case.expect, {"args": made}))


@replays("misc-startup-probe")
def startup(case: Case, context: Context) -> Outcome:
    """How long a container may take to start."""
    period, threshold = startup_probe_timing(case.given["maximumStartupDurationSeconds"])
    made = {"periodSeconds": period, "failureThreshold": threshold}
    return outcome_of(differences(case.expect, made))


@replays("misc-sharded-secret")
def sharded_secret(case: Case, context: Context) -> Outcome:
    """Data over several Secrets."""
    data = {key: "x" * size for key, size in case.given["dataSizes"].items()}
    made = sharded(Prometheus(), ObjectSettings(), case.given["name"], data)
    return outcome_of(differences(case.expect, {"shards": [_sizes(one) for one in made]}))


def _sizes(secret: Object) -> Object:
    """The name of a Secret and how many bytes there are in each key."""
    padding = {key: text[-2:].count("=") for key, text in secret["data"].items()}
    sizes = {key: len(text) // 4 * 3 - padding[key] for key, text in secret["data"].items()}
    return {"name": secret["metadata"]["name"], "dataSizes": sizes}


@replays("misc-dns-config")
def resolver(case: Case, context: Context) -> Outcome:
    """Resolver settings of pods."""
    made = dns_config(convert(DnsConfig, without_nulls(case.given["dnsConfig"])))
    return object_outcome(case.expect, {"dnsConfig": made})


@replays("misc-host-aliases")
def hosts(case: Case, context: Context) -> Outcome:
    """Lines of `/etc/hosts`."""
    aliases = [convert(HostAlias, one) for one in case.given["hostAliases"] or []]
    return object_outcome(case.expect, {"hostAliases": host_aliases(aliases)})


@replays("misc-resource-namer")
def volume_names(case: Case, context: Context) -> Outcome:
    """Names of volumes."""
    try:
        made = unique_label(case.given["prefix"], case.given["name"])
    except WorkloadError as error:
        return error_outcome(case.expect, str(error))
    return outcome_of(differences(case.expect, {"label": made}))


@replays("misc-custom-governing-service")
def custom_service(case: Case, context: Context) -> Outcome:
    """A user's own Service."""
    given = case.given
    services = given["services"] or []
    try:
        check_custom_service(
            given["namespace"], given["serviceName"], services, given["selectorLabels"]
        )
    except WorkloadError as error:
        return error_outcome(case.expect, str(error))
    return error_outcome(case.expect, None)


@replays("misc-statefulset-key")
def stateful_set_names(case: Case, context: Context) -> Outcome:
    """The StatefulSet of a shard."""
    namespace, name = case.given["key"].split("/")
    agent = case.given["workloadKind"] == "PrometheusAgent"
    workload = Scraper(namespace=namespace, name=name, spec=Prometheus().spec, agent=agent)
    made = f"{namespace}/{stateful_set_name(workload, case.given['shard'])}"
    return outcome_of(differences(case.expect, {"statefulSetKey": made}))


@replays("misc-statefulset-label-selector")
def stateful_set_labels(case: Case, context: Context) -> Outcome:
    """How all StatefulSets of a mode are found."""
    made = {"selector": stateful_set_selector(case.given["mode"])}
    return outcome_of(differences(case.expect, made))


@replays("service-prometheus-derived")
def service_of_prometheus(case: Case, context: Context) -> Outcome:
    """The Service of Prometheus servers."""
    return _service_outcome(case, prometheus_service(case.given))


def prometheus_service(given: dict[str, Any]) -> Object:
    """What stoker makes of the input of a case."""
    workload = convert(Prometheus, without_nulls(given["workload"]))
    scraper = workload_for(workload, Capabilities())
    return governing_service(workload, scraper, object_settings(given["config"]))


@replays("service-alertmanager-derived")
def service_of_alertmanager(case: Case, context: Context) -> Outcome:
    """The Service of Alertmanagers."""
    return _service_outcome(case, _service(case, Alertmanager, ALERTMANAGER))


@replays("service-thanosruler-derived")
def service_of_thanos_ruler(case: Case, context: Context) -> Outcome:
    """The Service of ThanosRulers."""
    return _service_outcome(case, _service(case, ThanosRuler, THANOS_RULER))


def _service(case: Case, model: Any, kind: Governing) -> Object:
    workload = convert(model, without_nulls(case.given["workload"]))
    assert isinstance(workload, Alertmanager | ThanosRuler)
    settings = object_settings(case.given["config"])
    return service_of(kind, workload, settings, workload.spec.port_name)


def _service_outcome(case: Case, made: Object) -> Outcome:
    """Go's objects do not say of which kind they are."""
    said = {"apiVersion": "v1", "kind": "Service"}
    return object_outcome(said | case.expect["service"], made)
