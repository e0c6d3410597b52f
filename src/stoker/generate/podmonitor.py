"""Scrape jobs of PodMonitors: targets are ports of pods.

Under a DaemonSet each agent watches the pods of its own node only, if it watches any.
"""

from collections.abc import Iterator

from stoker.api.monitors import PodEndpoint, PodMonitor, PodMonitorSpec
from stoker.generate import relabel
from stoker.generate.block import Block
from stoker.generate.draft import ScraperDraft
from stoker.generate.jobs import POD_MONITOR, JobSource, endpoint_job, source
from stoker.generate.kubernetes import (
    OWN_NODE,
    POD,
    kubernetes_sd_config,
    namespaces_of,
    role_selector,
    selected_by_api,
    selected_labels,
)
from stoker.generate.limits import attached_metadata


def pod_monitor_jobs(monitor: PodMonitor, draft: ScraperDraft) -> Iterator[Block]:
    """The jobs of a PodMonitor, one for each endpoint, made as they are asked for."""
    of, spec = source(POD_MONITOR, monitor, draft), monitor.spec
    discovery = _discovery(spec, of)
    for index, endpoint in enumerate(spec.pod_metrics_endpoints or ()):
        yield endpoint_job(of, index, endpoint, discovery, _steps(spec, endpoint, of))


def _discovery(spec: PodMonitorSpec, of: JobSource) -> Block:
    draft = of.draft
    labels = selected_labels(spec, draft)
    return kubernetes_sd_config(
        POD,
        namespaces_of(spec.namespace_selector, draft),
        draft,
        attach=attached_metadata(spec.attach_metadata, of.chosen, draft),
        selectors=role_selector(POD, labels, OWN_NODE if draft.scraper.looks_at_own_node else ""),
    )


def _steps(spec: PodMonitorSpec, endpoint: PodEndpoint, of: JobSource) -> list[Block]:
    steps = [relabel.JOB_NAME]
    if endpoint.filter_running is not False:
        steps.append(relabel.NOT_FINISHED)
    if not selected_by_api(spec, of.draft):
        steps += relabel.selector_steps("pod", spec.selector)
    steps += _port(endpoint)
    steps += (relabel.NAMESPACE, relabel.CONTAINER, relabel.POD)
    steps += relabel.label_copies("pod", spec.pod_target_labels or ())
    steps += relabel.label_copies("pod", of.draft.spec.pod_target_labels or ())
    steps.append(relabel.fixed("job", of.name))
    steps += relabel.job_from_label("pod", spec.job_label)
    steps += relabel.endpoint_name(endpoint)
    return steps


def _port(endpoint: PodEndpoint) -> list[Block]:
    port = endpoint.port or endpoint.port_number or endpoint.target_port
    return relabel.container_port(port) if port else []
