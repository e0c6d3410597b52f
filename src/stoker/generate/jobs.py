"""What the scrape jobs of ServiceMonitors, PodMonitors and Probes have in common.

A job is a discovery of candidates, the request to send, and steps that keep the right targets and
label them. The steps come in this order: the operator's own, those of the scrape class, the user's,
the enforced namespace label, and last the division among shards, so that no user can label their
targets out of the last two.
"""

from typing import Any, Final

from msgspec import Struct

from stoker.api.common import RelabelConfig
from stoker.api.core import ObjectMeta, SecretKeySelector
from stoker.api.monitors import ServiceEndpoint
from stoker.api.prometheus_common import ScrapeClass
from stoker.api.scrape import Endpoint, ScrapeSettings
from stoker.generate.block import Block
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, put
from stoker.generate.http import PROXY, basic_auth, oauth2
from stoker.generate.limits import (
    BODY_SIZE_LIMIT,
    LIMITS,
    class_path,
    put_authorization,
    put_histograms,
    put_honored,
    put_limits,
    put_protocols,
    put_staleness,
    put_timestamps,
    put_tls,
    scrape_class,
)
from stoker.generate.relabel import namespace_steps, relabel_configs
from stoker.generate.sharding import sharding_steps
from stoker.generate.values import lower, parameters


class JobKind(Struct, frozen=True):
    """A kind of monitor: how its jobs are called, its resource, the member with its endpoints."""

    job: str
    resource: str
    endpoints: str = ""


SERVICE_MONITOR: Final = JobKind("serviceMonitor", "servicemonitors", "spec.endpoints")
POD_MONITOR: Final = JobKind("podMonitor", "podmonitors", "spec.podMetricsEndpoints")
PROBE: Final = JobKind("probe", "probes")


class JobSource(Struct, frozen=True):
    """The resource that jobs are written for, and what its endpoints share."""

    kind: JobKind
    metadata: ObjectMeta
    settings: ScrapeSettings
    chosen: ScrapeClass | None
    enforced: list[Block]
    draft: ScraperDraft

    @property
    def name(self) -> str:
        """Namespace and name."""
        return f"{self.metadata.namespace or ''}/{self.metadata.name or ''}"

    @property
    def job_name(self) -> str:
        """The name of its job, or what the names of its jobs begin with."""
        return f"{self.kind.job}/{self.name}"


def source(kind: JobKind, monitor: Any, draft: ScraperDraft) -> JobSource:
    """The source of the jobs for a monitor."""
    return JobSource(
        kind=kind,
        metadata=monitor.metadata,
        settings=monitor.spec,
        chosen=scrape_class(monitor.spec, draft),
        enforced=namespace_steps(kind.resource, monitor.metadata, draft),
        draft=draft,
    )


def _token(reference: SecretKeySelector, draft: ScraperDraft, _path: str) -> str | None:
    return draft.value(reference)


REDIRECTS: Final = (
    Member("follow_redirects", since="2.26.0"),
    Member("enable_http2", since="2.35.0"),
)
_REQUEST: Final = (
    Member("scrape_interval", "interval"),
    Member("scrape_timeout"),
    Member("metrics_path", "path"),
    Member("params", write=parameters),
    Member("scheme", write=lower),
    *REDIRECTS,
)
_OAUTH2: Final = Member("oauth2", since="2.27.0", write=oauth2)
_TOKEN_OR_PASSWORD: Final = (
    Member("bearer_token", "bearer_token_secret", write=_token),
    Member("basic_auth", write=basic_auth),
)
CREDENTIALS: Final = (*_TOKEN_OR_PASSWORD, _OAUTH2)

# What stands before and after `tls_config`: the peer has another order for each kind.
_OF_SERVICES: Final = ((*PROXY, _OAUTH2), (Member("bearer_token_file"), *_TOKEN_OR_PASSWORD))
_OF_PODS: Final = ((), (*CREDENTIALS, *PROXY))


def endpoint_job(
    of: JobSource, index: int, endpoint: Endpoint, discovery: Block, steps: list[Block]
) -> Block:
    """The job of one endpoint of a ServiceMonitor or PodMonitor."""
    draft, path = of.draft, f"{of.kind.endpoints}[{index}]"
    job: Block = {"job_name": f"{of.job_name}/{index}"}
    put_honored(job, endpoint.honor_labels, draft)
    put_timestamps(job, endpoint.honor_timestamps, draft, path)
    put_staleness(job, endpoint, draft, path)
    job["kubernetes_sd_configs"] = [discovery]
    put(job, _REQUEST, endpoint, draft, path)
    before, after = _OF_SERVICES if isinstance(endpoint, ServiceEndpoint) else _OF_PODS
    put(job, before, endpoint, draft, path)
    put_tls(job, endpoint, of.chosen, draft, path)
    put(job, after, endpoint, draft, path)
    put_authorization(job, endpoint, of.chosen, draft, path)
    steps += target_steps(of, endpoint.relabelings, f"{path}.relabelings")
    job["relabel_configs"] = steps + sharding_steps(draft)
    put_settings(job, of)
    put_sample_steps(job, of, endpoint.metric_relabelings, f"{path}.metricRelabelings")
    return job


def target_steps(of: JobSource, own: tuple[RelabelConfig, ...] | None, path: str) -> list[Block]:
    """The steps for targets that follow the operator's own."""
    defaults = of.chosen.relabelings if of.chosen else None
    return _steps(of, defaults, "relabelings", own, path)


def put_sample_steps(
    job: Block, of: JobSource, own: tuple[RelabelConfig, ...] | None, path: str
) -> None:
    """Add the steps for samples."""
    defaults = of.chosen.metric_relabelings if of.chosen else None
    steps = _steps(of, defaults, "metricRelabelings", own, path)
    if steps:
        job["metric_relabel_configs"] = steps


def _steps(
    of: JobSource,
    defaults: tuple[RelabelConfig, ...] | None,
    member: str,
    own: tuple[RelabelConfig, ...] | None,
    path: str,
) -> list[Block]:
    steps = relabel_configs(own, of.draft, path)
    if defaults and of.chosen:
        at = f"{class_path(of.chosen, of.draft)}.{member}"
        steps = relabel_configs(defaults, of.draft, at) + steps
    return steps + of.enforced


def put_settings(job: Block, of: JobSource) -> None:
    """Add limits, histograms and protocols."""
    settings, draft = of.settings, of.draft
    put_limits(job, LIMITS, settings, draft, "spec")
    put_histograms(job, settings, draft, "spec")
    put_protocols(job, settings, of.chosen, draft, "spec")
    put_limits(job, (BODY_SIZE_LIMIT,), settings, draft, "spec")
