"""Scrape jobs of ServiceMonitors: targets are found through the endpoints of Services.

Endpoints come from Endpoints or EndpointSlices; the labels that Prometheus gives them differ by
that role. Under a DaemonSet each agent that looks for targets keeps those of its own node, by the
node's name in the endpoint itself: an endpoint whose pod the agent does not see would otherwise be
everyone's. Ports of containers that no Service exposes have no endpoint, but a pod whose node is
known.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from stoker.api.monitors import ServiceEndpoint, ServiceMonitor, ServiceMonitorSpec
from stoker.generate import relabel
from stoker.generate.block import Block, Constant
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member
from stoker.generate.jobs import SERVICE_MONITOR, JobSource, endpoint_job, source
from stoker.generate.kubernetes import (
    ENDPOINT_SLICE,
    ENDPOINTS,
    OWN_NODE,
    POD,
    SERVICE,
    kubernetes_sd_config,
    namespaces_of,
    role_selector,
    selected_by_api,
    selected_labels,
)
from stoker.generate.limits import attached_metadata
from stoker.select.workload import Scraper


class Role(Struct, frozen=True):
    """A way to find endpoints, and what Prometheus calls what it finds.

    `member` and `node` tell which versions know the role, and the node's name in it.
    """

    member: Member
    port: str
    node: Member
    behind: tuple[Block, Block]


def _named(prefix: str, kind: str) -> Block:
    """A step that names the node or pod behind an endpoint."""
    return Constant(
        {
            "source_labels": [f"{prefix}_address_target_kind", f"{prefix}_address_target_name"],
            "separator": ";",
            "regex": f"{kind};(.*)",
            "replacement": "${1}",
            "target_label": kind.lower(),
        }
    )


def _behind(prefix: str) -> tuple[Block, Block]:
    return _named(prefix, "Node"), _named(prefix, "Pod")


_ENDPOINTS: Final = Role(
    Member(ENDPOINTS),
    port="__meta_kubernetes_endpoint_port_name",
    node=Member("__meta_kubernetes_endpoint_node_name"),
    behind=_behind("__meta_kubernetes_endpoint"),
)
_SLICES: Final = Role(
    Member(ENDPOINT_SLICE, since="2.21.0"),
    port="__meta_kubernetes_endpointslice_port_name",
    node=Member("__meta_kubernetes_endpointslice_endpoint_node_name", since="2.52.0"),
    behind=_behind("__meta_kubernetes_endpointslice"),
)


def service_monitor_jobs(monitor: ServiceMonitor, draft: ScraperDraft) -> Iterator[Block]:
    """The jobs of a ServiceMonitor, one for each endpoint, made as they are asked for."""
    of, spec = source(SERVICE_MONITOR, monitor, draft), monitor.spec
    role = _role(spec, draft)
    discovery = _discovery(spec, role, of)
    for index, endpoint in enumerate(spec.endpoints):
        yield endpoint_job(of, index, endpoint, discovery, _steps(spec, endpoint, role, draft))


def role_of(spec: ServiceMonitorSpec, scraper: Scraper) -> Role:
    """The way in which a workload finds the endpoints of a ServiceMonitor."""
    wanted = spec.service_discovery_role or scraper.spec.service_discovery_role
    if not scraper.daemon_set and wanted != "EndpointSlice":
        return _ENDPOINTS
    needed = _SLICES.node if scraper.looks_at_own_node else _SLICES.member
    usable = needed.known_to(scraper.version) and scraper.capabilities.endpoint_slices
    return _SLICES if usable else _ENDPOINTS


def _role(spec: ServiceMonitorSpec, draft: ScraperDraft) -> Role:
    role = role_of(spec, draft.scraper)
    if role is _ENDPOINTS and spec.service_discovery_role == "EndpointSlice":
        draft.ignore("spec.serviceDiscoveryRole", "EndpointSlices cannot be used: Endpoints are")
    return role


def _discovery(spec: ServiceMonitorSpec, role: Role, of: JobSource) -> Block:
    draft = of.draft
    labels = selected_labels(spec, draft)
    own_node = OWN_NODE if draft.scraper.looks_at_own_node else ""
    return kubernetes_sd_config(
        role.member.name,
        namespaces_of(spec.namespace_selector, draft),
        draft,
        attach=attached_metadata(spec.attach_metadata, of.chosen, draft),
        selectors=[
            *role_selector(role.member.name, labels),
            *role_selector(SERVICE, labels),
            *role_selector(POD, field=own_node),
        ],
    )


def _steps(
    spec: ServiceMonitorSpec, endpoint: ServiceEndpoint, role: Role, draft: ScraperDraft
) -> list[Block]:
    steps = [relabel.JOB_NAME]
    if draft.scraper.looks_at_own_node:
        steps += _of_own_node(role, draft)
    if not selected_by_api(spec, draft):
        steps += relabel.selector_steps("service", spec.selector)
    steps += _port(endpoint, role)
    steps += role.behind
    steps += (relabel.NAMESPACE, relabel.SERVICE, relabel.POD, relabel.CONTAINER)
    if endpoint.filter_running is not False:
        steps.append(relabel.NOT_FINISHED)
    steps += relabel.label_copies("service", spec.target_labels or ())
    steps += relabel.label_copies("pod", spec.pod_target_labels or ())
    steps += relabel.label_copies("pod", draft.spec.pod_target_labels or ())
    steps.append(relabel.SERVICE_AS_JOB)
    steps += relabel.job_from_label("service", spec.job_label)
    steps += relabel.endpoint_name(endpoint)
    return steps


def _of_own_node(role: Role, draft: ScraperDraft) -> list[Block]:
    """Steps that keep the targets of the agent's own node.

    The names are compared as texts where the version can: in an expression, the dot of one node's
    name matches the dash of another's, unless the reloader escapes it.
    """
    nodes = [role.node.name, "__meta_kubernetes_pod_node_name"]
    if not _COMPARED.known_to(draft.version):
        return [{"action": "keep", "source_labels": nodes, "regex": _OWN_NODE_OF_BOTH}]
    return [
        {
            "source_labels": nodes,
            "target_label": "__tmp_target_node",
            "regex": "(.+);.*|;(.+)",
            "replacement": "${1}${2}",
        },
        {"target_label": "__tmp_own_node", "replacement": "$(NODE_NAME)"},
        {
            "action": _COMPARED.name,
            "source_labels": ["__tmp_target_node"],
            "target_label": "__tmp_own_node",
        },
    ]


_COMPARED: Final = Member("keepequal", since="2.41.0")
_OWN_NODE_OF_BOTH: Final = "$(NODE_NAME);.*|;$(NODE_NAME)"


def _port(endpoint: ServiceEndpoint, role: Role) -> list[Block]:
    port, target = endpoint.port, endpoint.target_port
    if port:
        return [relabel.kept(role.port, relabel.literal(port))]
    return relabel.container_port(target) if target else []
