"""Scrape jobs of Probes: an exporter is asked to check each target.

What is probed goes into the request as the parameter `target` and becomes the `instance`; the
request itself goes to the prober.
"""

from typing import Final

from stoker.api.monitors import IngressTargets, Probe, ProbedTargets, Prober, ProbeSpec
from stoker.generate import relabel
from stoker.generate.block import Block
from stoker.generate.draft import ScraperDraft
from stoker.generate.grammar import Member, put
from stoker.generate.http import put_proxy
from stoker.generate.jobs import (
    CREDENTIALS,
    PROBE,
    REDIRECTS,
    JobSource,
    put_sample_steps,
    put_settings,
    source,
    target_steps,
)
from stoker.generate.kubernetes import INGRESS, kubernetes_sd_config, namespaces_of
from stoker.generate.limits import put_authorization, put_timestamps, put_tls
from stoker.generate.order import in_order
from stoker.generate.sharding import PROBED, sharding_steps
from stoker.generate.values import lower

_TIMING: Final = (Member("scrape_interval", "interval"), Member("scrape_timeout"))
_SCHEME: Final = (Member("scheme", write=lower),)
_NO_PROBER: Final = Prober()


def probe_job(probe: Probe, draft: ScraperDraft) -> Block:
    """The job of a Probe."""
    of, spec = source(PROBE, probe, draft), probe.spec
    prober = spec.prober or _NO_PROBER
    job: Block = {"job_name": of.job_name}
    put_timestamps(job, True, draft, "")
    job["metrics_path"] = prober.path or ""
    put(job, _TIMING, spec, draft, "spec")
    put(job, _SCHEME, prober, draft, "spec.prober")
    _put_params(job, spec)
    put_settings(job, of)
    put_proxy(job, prober, draft, "spec.prober")
    put(job, REDIRECTS, spec, draft, "spec")
    put_tls(job, spec, of.chosen, draft, "spec")
    _put_targets(job, spec, prober, of)
    put(job, CREDENTIALS, spec, draft, "spec")
    put_authorization(job, spec, of.chosen, draft, "spec")
    put_sample_steps(job, of, spec.metric_relabelings, "spec.metricRelabelings")
    return job


def _put_params(job: Block, spec: ProbeSpec) -> None:
    """Add the parameters of the request; `module` has a field of its own, which wins."""
    params = {"module": [spec.module]} if spec.module else {}
    for param in spec.params or ():
        params.setdefault(param.name, list(param.values or ()))
    if params:
        job["params"] = params


def _put_targets(job: Block, spec: ProbeSpec, prober: Prober, of: JobSource) -> None:
    """Add where targets come from, and the steps that turn them into requests to the prober."""
    targets = spec.targets
    steps = [relabel.JOB_NAME]
    if spec.job_name:
        steps.append(relabel.fixed("job", spec.job_name))
    if targets and targets.static_config:
        job["static_configs"] = [_static_targets(targets.static_config, of)]
        steps += (relabel.ADDRESS_AS_TARGET, *_to_prober(prober))
        own, path = targets.static_config.relabeling_configs, "spec.targets.staticConfig"
    elif targets and targets.ingress:
        job["kubernetes_sd_configs"] = [_ingress_discovery(targets.ingress, of.draft)]
        steps += _ingress_steps(targets.ingress, prober)
        own, path = targets.ingress.relabeling_configs, "spec.targets.ingress"
    else:
        own, path = None, ""
    steps += target_steps(of, own, f"{path}.relabelingConfigs")
    job["relabel_configs"] = steps + sharding_steps(of.draft, PROBED, zoned=False)


def _static_targets(targets: ProbedTargets, of: JobSource) -> Block:
    labels = {"namespace": of.metadata.namespace or "", **(targets.labels or {})}
    return {"targets": list(targets.static or ()), "labels": in_order(labels)}


def _ingress_discovery(targets: IngressTargets, draft: ScraperDraft) -> Block:
    return kubernetes_sd_config(INGRESS, namespaces_of(targets.namespace_selector, draft), draft)


def _ingress_steps(targets: IngressTargets, prober: Prober) -> list[Block]:
    return [
        *relabel.selector_steps("ingress", targets.selector),
        relabel.INGRESS_AS_TARGET,
        relabel.NAMESPACE,
        relabel.INGRESS,
        relabel.INGRESS_ADDRESS,
        *_to_prober(prober),
    ]


def _to_prober(prober: Prober) -> tuple[Block, Block]:
    return relabel.TARGET_AS_INSTANCE, relabel.fixed("__address__", prober.url)
