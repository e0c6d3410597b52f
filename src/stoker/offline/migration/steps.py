"""What to do for a change of mode, in order, with the commands."""

import json
from collections.abc import Iterator
from shlex import quote
from typing import Final

from stoker.api.core import Object
from stoker.api.monitors import ServiceMonitorSpec
from stoker.api.prometheus import PrometheusAgent
from stoker.build.names import daemon_set_name
from stoker.generate.servicemonitor import role_of
from stoker.offline.migration.fields import DAEMON_SET, STATEFUL_SET
from stoker.select.workload import Scraper, scraper_of
from stoker.settings import Capabilities

# Pods, StatefulSets, DaemonSets and claims of an agent, and of nothing else.
_OF_AGENT: Final = "app.kubernetes.io/name=prometheus-agent,operator.prometheus.io/name"


def steps(  # noqa: PLR0913 - what the steps depend on
    agent: PrometheusAgent,
    after: PrometheusAgent,
    patch: Object,
    *,
    homeless: bool,
    lost: bool,
    beside: Object | None,
    in_cluster: bool,
) -> tuple[str, ...]:
    """The steps, each a sentence, with a command after a colon where there is one."""
    mode = after.spec.mode or STATEFUL_SET
    old, new = (scraper_of(each, Capabilities()) for each in (agent, after))
    where = f"-n {quote(agent.metadata.namespace or '')}"
    name = quote(agent.metadata.name or "")
    found = [*_first(where, homeless, beside)]
    if lost:
        shared = " or targetsWithoutAgent: Spread," if new.portions else ""
        found.append(
            f"have agents where the lost targets are, by tolerations, nodeSelector and affinity,"
            f"{shared} or let another Prometheus or agent take their monitors, or let them go"
        )
    if new.portions and not old.portions:
        found.append(_OPERATOR)
    elif not new.portions and (mode == DAEMON_SET or old.portions):
        found += _reading_rights(after, anew=old.portions)
    found.append(_change(where, name, patch, in_cluster))
    if old.daemon_set and new.daemon_set:
        found.append(_rollout(where, new))
    else:
        found += _waiting(where, name, mode)
    found += _cleaning(agent, where, mode)
    if new.portions and not old.portions:
        found.append(_less_rights(after))
    return tuple(found)


_OPERATOR: Final = (
    "see that the operator runs with --node-discovery-url and with its own image as "
    "--prometheus-config-reloader, and may list and watch pods, services, endpointslices and nodes"
)


def _rollout(where: str, scraper: Scraper) -> str:
    return (
        "the operator replaces the agents as spec.daemonSet.updateStrategy says: "
        f"kubectl rollout status {where} daemonset/{quote(daemon_set_name(scraper))}"
    )


def _less_rights(agent: PrometheusAgent) -> str:
    account = agent.spec.service_account_name or "default"
    return (
        f"when nobody else runs as service account {account}, take its roles away: "
        f"kubectl get clusterrolebindings,rolebindings -A -o wide | grep -w {quote(account)}"
    )


def _first(where: str, homeless: bool, beside: Object | None) -> Iterator[str]:
    if beside:
        name = quote(str(beside["metadata"]["name"]))
        yield (
            f"create the agent {name} (printed too) and wait for it: "
            f"kubectl wait {where} prometheusagent/{name} --for=condition=Available"
        )
    if homeless:
        yield "give what is homeless another agent, as with --beside, or let it go"


def _reading_rights(agent: PrometheusAgent, *, anew: bool) -> Iterator[str]:
    """What agents must be allowed that find their targets themselves; `anew` if none did before."""
    account = agent.spec.service_account_name or "default"
    user = quote(f"system:serviceaccount:{agent.metadata.namespace}:{account}")
    scraper = scraper_of(agent, Capabilities())
    words, plural = _READ[role_of(ServiceMonitorSpec(), scraper).member.name]
    for each in ("pods", "services") if anew else ():
        yield (
            f"see that the agents may list and watch {each} wherever they look for targets: "
            f"kubectl auth can-i watch {each} -A --as={user}"
        )
    yield (
        f"see that the agents may read {words} (only for ServiceMonitors): "
        f"kubectl auth can-i watch {plural} -A --as={user}"
    )


# What is read to find endpoints, in words and as kubectl calls it.
_READ: Final = {
    "endpointslice": ("EndpointSlices", "endpointslices.discovery.k8s.io"),
    "endpoints": ("Endpoints", "endpoints"),
}


def _change(where: str, name: str, patch: Object, in_cluster: bool) -> str:
    text = json.dumps(patch, separators=(",", ":"))
    command = f"kubectl patch {where} prometheusagent {name} --type=merge -p '{text}'"
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
