"""Replays the suites of workload objects: the same resource makes the same StatefulSet."""

from collections.abc import Callable
from typing import Any

from stoker.api.core import Object
from stoker.api.decode import convert
from stoker.api.prometheus import Prometheus, PrometheusAgent
from stoker.build import agent, prometheus
from stoker.build.arguments import common_arguments
from stoker.build.hashing import content_hash
from stoker.build.site import Site, TlsAssets
from stoker.build.topology import node_selector, shard_in_zone, zone_of
from stoker.errors import WorkloadError
from stoker.settings import ObjectSettings, Reloader
from tests.conformance.cases import Case
from tests.conformance.compare import comparable_object, differences, without_nulls
from tests.conformance.configuration import workload_of
from tests.conformance.replay import (
    PASSED,
    Context,
    Outcome,
    error_outcome,
    object_outcome,
    outcome_of,
    replays,
)


@replays("statefulset-prometheus", "statefulset-prometheus-derived")
def stateful_set_of_server(case: Case, context: Context) -> Outcome:
    """Build the StatefulSet of a shard of a server."""
    return _outcome(case, "statefulSet", server_stateful_set)


@replays("statefulset-agent", "statefulset-agent-derived")
def stateful_set_of_agent(case: Case, context: Context) -> Outcome:
    """Build the StatefulSet of a shard of an agent."""
    return _outcome(case, "statefulSet", agent_stateful_set)


@replays("daemonset-agent", "daemonset-agent-derived")
def daemon_set_of_agent(case: Case, context: Context) -> Outcome:
    """Build the DaemonSet of an agent."""
    return _outcome(case, "daemonSet", agent_daemon_set)


def server_stateful_set(given: dict[str, Any]) -> Object:
    """What stoker makes of the input of a case."""
    return prometheus.stateful_set(
        _site(given, is_agent=False),
        given["shard"],
        name=given["name"],
        rule_config_maps=given["ruleConfigMapNames"] or (),
        tls_assets=_assets(given),
        input_hash=given["inputHash"],
    )


def agent_stateful_set(given: dict[str, Any]) -> Object:
    """What stoker makes of the input of a case."""
    return agent.stateful_set(
        _site(given, is_agent=True),
        given["shard"],
        name=given["name"],
        tls_assets=_assets(given),
        input_hash=given["inputHash"],
    )


def agent_daemon_set(given: dict[str, Any]) -> Object:
    """What stoker makes of the input of a case."""
    return agent.daemon_set(_site(given, is_agent=True), tls_assets=_assets(given))


@replays("misc-common-args")
def common_command_line(case: Case, context: Context) -> Outcome:
    """The arguments that servers and agents share."""
    made = [
        {"name": one.name} | ({"value": one.value} if one.value else {})
        for one in common_arguments(workload_of(case.given))
    ]
    return outcome_of(differences(case.expect["args"], made))


@replays("misc-topology-zone")
def zone(case: Case, context: Context) -> Outcome:
    """The zone of a shard."""
    made = zone_of(workload_of(case.given), case.given["shard"])
    return outcome_of(differences(case.expect["zone"], made))


@replays("misc-inzone-shard")
def shard_within_zone(case: Case, context: Context) -> Outcome:
    """The number of a shard within its zone."""
    made = shard_in_zone(workload_of(case.given), case.given["shard"])
    return outcome_of(differences(case.expect["inzoneShard"], made))


@replays("misc-node-selector-zone")
def nodes_of_zone(case: Case, context: Context) -> Outcome:
    """The nodes that a shard may run on."""
    made = node_selector(workload_of(case.given), case.given["shard"])
    return outcome_of(differences(comparable_object(case.expect["nodeSelector"] or {}), made))


@replays("misc-input-hash")
def hash_of_input(case: Case, context: Context) -> Outcome:
    """Whether a change shows in the hash; what does not change makes no difference."""
    first, second = (content_hash(without_nulls(case.given[name])) for name in ("a", "b"))
    equal = first == second
    return PASSED if equal == case.expect["equal"] else Outcome(f"equal is {equal}")


def _outcome(case: Case, member: str, build: Callable[[dict[str, Any]], Object]) -> Outcome:
    try:
        made = build(case.given)
    except WorkloadError as error:
        return error_outcome(case.expect, str(error))
    if "error" in case.expect:
        return error_outcome(case.expect, None)
    # The peer leaves the type of an object to its client.
    typeless = {name: value for name, value in made.items() if name not in ("apiVersion", "kind")}
    return object_outcome(case.expect[member], typeless)


def _site(given: dict[str, Any], *, is_agent: bool) -> Site:
    model: Any = PrometheusAgent if is_agent else Prometheus
    workload = convert(model, without_nulls(given["workload"]))
    return Site(workload, workload_of(given, agent=is_agent), settings_of(given["config"]))


def _assets(given: dict[str, Any]) -> TlsAssets:
    return TlsAssets(given["tlsSecrets"]["name"], given["tlsSecrets"]["shards"])


def settings_of(config: dict[str, Any]) -> ObjectSettings:
    """The flags of the operator, as a case has them."""
    reloader = config["reloaderConfig"]
    return ObjectSettings(
        local_host=config["localHost"],
        cluster_domain=config.get("clusterDomain", ""),
        reloader=Reloader(
            image=reloader["image"],
            cpu_request=reloader["cpuRequests"],
            cpu_limit=reloader["cpuLimits"],
            memory_request=reloader["memoryRequests"],
            memory_limit=reloader["memoryLimits"],
            probes=reloader["enableProbes"],
        ),
        prometheus_base_image=config.get("prometheusDefaultBaseImage", ""),
        thanos_base_image=config.get("thanosDefaultBaseImage", ""),
        labels=config.get("labels") or {},
        annotations=config.get("annotations") or {},
    )
