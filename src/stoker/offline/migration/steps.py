"""What to do for a change of mode, in order, with the commands."""

import json
from collections.abc import Iterator
from shlex import quote
from typing import Final

from msgspec.structs import replace

from stoker.api.core import Object
from stoker.api.monitors import ServiceMonitorSpec
from stoker.api.prometheus import PrometheusAgent
from stoker.generate.servicemonitor import role_of
from stoker.offline.migration.fields import DAEMON_SET, Loss, merge_patch
from stoker.select.workload import scraper_of
from stoker.settings import Capabilities

# Pods, StatefulSets, DaemonSets and claims of an agent, and of nothing else.
_OF_AGENT: Final = "app.kubernetes.io/name=prometheus-agent,operator.prometheus.io/name"


def steps(  # noqa: PLR0913 - what the steps depend on
    agent: PrometheusAgent,
    mode: str,
    gone: tuple[Loss, ...],
    *,
    homeless: bool,
    lost: bool,
    beside: Object | None,
    in_cluster: bool,
) -> tuple[str, ...]:
    """The steps, each a sentence, with a command after a colon where there is one."""
    where = f"-n {quote(agent.metadata.namespace or '')}"
    name = quote(agent.metadata.name or "")
    found = [*_first(where, homeless, beside)]
    if lost:
        found.append(
            "have agents where the lost targets are, by tolerations, nodeSelector and affinity, "
            "or let another Prometheus or agent take their monitors, or let them go"
        )
    if mode == DAEMON_SET:
        found += _reading_rights(agent)
    found.append(_change(where, name, mode, gone, in_cluster))
    found += _waiting(where, name, mode)
    found += _cleaning(agent, where, mode)
    return tuple(found)


def _first(where: str, homeless: bool, beside: Object | None) -> Iterator[str]:
    if beside:
        name = quote(str(beside["metadata"]["name"]))
        yield (
            f"create the agent {name} (printed too) and wait for it: "
            f"kubectl wait {where} prometheusagent/{name} --for=condition=Available"
        )
    if homeless:
        yield "give what is homeless another agent, as with --beside, or let it go"


def _reading_rights(agent: PrometheusAgent) -> Iterator[str]:
    account = agent.spec.service_account_name or "default"
    user = quote(f"system:serviceaccount:{agent.metadata.namespace}:{account}")
    on_nodes = replace(agent, spec=replace(agent.spec, mode=DAEMON_SET))
    scraper = scraper_of(on_nodes, Capabilities())
    words, plural = _READ[role_of(ServiceMonitorSpec(), scraper).member.name]
    yield (
        f"see that the agents may read {words} (only for ServiceMonitors): "
        f"kubectl auth can-i watch {plural} -A --as={user}"
    )


# What is read to find endpoints, in words and as kubectl calls it.
_READ: Final = {
    "endpointslice": ("EndpointSlices", "endpointslices.discovery.k8s.io"),
    "endpoints": ("Endpoints", "endpoints"),
}


def _change(where: str, name: str, mode: str, gone: tuple[Loss, ...], in_cluster: bool) -> str:
    patch = json.dumps(merge_patch(gone, mode), separators=(",", ":"))
    command = f"kubectl patch {where} prometheusagent {name} --type=merge -p '{patch}'"
    if in_cluster:
        return f"change the agent, all fields at once: {command}"
    return f"apply the new manifest as you always do; by hand the same is: {command}"


def _waiting(where: str, name: str, mode: str) -> Iterator[str]:
    new, old = ("daemonset", "statefulset") if mode == DAEMON_SET else ("statefulset", "daemonset")
    yield (
        f"the operator makes the {new}, waits until its pods are ready, then deletes the {old}; "
        "until then Reconciled has the reason SwitchingMode and targets may be scraped by both: "
        f"kubectl wait {where} --for=delete {old} -l {_OF_AGENT}={name} --timeout=30m"
    )
    yield f"see that all is well: kubectl get {where} prometheusagent {name}"


def _cleaning(agent: PrometheusAgent, where: str, mode: str) -> Iterator[str]:
    spec, name = agent.spec, agent.metadata.name or ""
    storage, nodes = spec.storage, spec.daemon_set.storage if spec.daemon_set else None
    if mode == DAEMON_SET and storage and storage.volume_claim_template:
        yield (
            "delete the claims when nothing in them is wanted: "
            f"kubectl get {where} pvc -l {_OF_AGENT}={quote(name)}"
        )
    if mode != DAEMON_SET and nodes and nodes.host_path:
        directory = nodes.host_path.path.rstrip("/")
        yield f"delete {directory}/{agent.metadata.namespace}/{name} on the nodes"
