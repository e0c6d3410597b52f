"""The scrape job of a ScrapeConfig: any target that Prometheus can find, scraped in any way.

What to find is written by the tables in `discovery`; here are the request, the limits and the
relabeling around them. Unlike the monitors, a ScrapeConfig says for itself what its targets are
called: the operator adds no labels of Kubernetes objects. The namespace label is enforced on
samples, and on targets whether or not its own steps relabel them: lists and discoveries bring
labels too, and Prometheus puts a target's labels on `up` and the like. Its targets are divided
among shards by their address, whatever zone they are in, unless its own steps do that already.
"""

from typing import Final

from stoker.api.scrapeconfig.discovery.lists import StaticTargets
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig, ScrapeConfigSpec
from stoker.generate.block import Block
from stoker.generate.discovery import DISCOVERIES
from stoker.generate.discovery.rows import BASIC_AUTH, FOLLOW_REDIRECTS, HEADERS, OAUTH2, PROXY
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, put
from stoker.generate.jobs import JobKind, JobSource, put_sample_steps, source
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
)
from stoker.generate.order import in_order
from stoker.generate.relabel import JOB_NAME, relabel_configs
from stoker.generate.sharding import divided
from stoker.generate.values import escaping_scheme, lower, parameters

SCRAPE_CONFIG: Final = JobKind("scrapeConfig", "scrapeconfigs")
_SPEC: Final = "spec"


_REQUEST: Final = (
    Member("metrics_path"),
    Member("params", write=parameters),
    Member("enable_compression", since="2.49.0"),
    FOLLOW_REDIRECTS,
    Member("enable_http2", since="2.35.0"),
    HEADERS,
    Member("scrape_interval"),
    Member("scrape_timeout"),
)
_CONNECTION: Final = (Member("scheme", write=lower), *PROXY, BASIC_AUTH)
_MORE: Final = (OAUTH2, Member("extra_scrape_metrics", since="3.10.0"))

_NAMES: Final = (
    Member("metric_name_validation_scheme", "name_validation_scheme", since="3.0.0", write=lower),
    Member(
        "metric_name_escaping_scheme", "name_escaping_scheme", since="3.4.0", write=escaping_scheme
    ),
)


def scrape_config_job(config: ScrapeConfig, draft: ScraperDraft) -> Block:
    """The job of a ScrapeConfig; ResourceError where a discovery cannot be written."""
    of, spec = source(SCRAPE_CONFIG, config, draft), config.spec
    job: Block = {"job_name": of.job_name}
    put_timestamps(job, spec.honor_timestamps, draft, _SPEC)
    put_staleness(job, spec, draft, _SPEC)
    if spec.honor_labels is not None:
        put_honored(job, spec.honor_labels, draft)
    put(job, _REQUEST, spec, draft, _SPEC)
    put_protocols(job, spec, of.chosen, draft, _SPEC)
    put(job, _CONNECTION, spec, draft, _SPEC)
    put_authorization(job, spec, of.chosen, draft, _SPEC)
    put(job, _MORE, spec, draft, _SPEC)
    put_tls(job, spec, of.chosen, draft, _SPEC)
    put_limits(job, LIMITS, spec, draft, _SPEC)
    put_histograms(job, spec, draft, _SPEC)
    put_limits(job, (BODY_SIZE_LIMIT,), spec, draft, _SPEC)
    if spec.static_configs:
        job["static_configs"] = [_static(targets) for targets in spec.static_configs]
    put(job, DISCOVERIES, spec, draft, _SPEC)
    job["relabel_configs"] = _target_steps(of, spec)
    put_sample_steps(job, of, spec.metric_relabelings, "spec.metricRelabelings")
    put(job, _NAMES, spec, draft, _SPEC)
    return job


def _static(targets: StaticTargets) -> Block:
    return {"targets": list(targets.targets), "labels": in_order(targets.labels or {})}


def _target_steps(of: JobSource, spec: ScrapeConfigSpec) -> list[Block]:
    steps = [JOB_NAME]
    if of.chosen and of.chosen.relabelings:
        path = f"{class_path(of.chosen, of.draft)}.relabelings"
        steps += relabel_configs(of.chosen.relabelings, of.draft, path)
    if spec.job_name:
        steps.append({"target_label": "job", "action": "replace", "replacement": spec.job_name})
    if spec.relabelings:
        steps += relabel_configs(spec.relabelings, of.draft, "spec.relabelings")
    return divided(steps + of.enforced, of.draft)
