"""From a monitor to ScrapeConfigs whose jobs find the same targets and scrape them the same way."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from msgspec import Struct

from stoker.api.common import RelabelConfig
from stoker.api.core import ObjectMeta
from stoker.api.monitors import PodMonitor, Probe, Prober, ServiceMonitor
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig, ScrapeConfigSpec
from stoker.consolidate.names import metadata_of
from stoker.consolidate.requests import credentials_of, request_of, request_problems, settings_of
from stoker.consolidate.targets import discovery_of, static_targets, steps_of
from stoker.consolidate.terms import DEFAULT_TERMS, Inexpressible, Terms, terms_of
from stoker.errors import below
from stoker.generate.block import Block
from stoker.generate.draft import ScraperDraft
from stoker.generate.jobs import POD_MONITOR, PROBE, SERVICE_MONITOR
from stoker.generate.limits import scrape_class
from stoker.generate.podmonitor import pod_monitor_jobs
from stoker.generate.probe import probe_job
from stoker.generate.relabel import fixed, namespace_steps
from stoker.generate.scrapeconfig import SCRAPE_CONFIG
from stoker.generate.servicemonitor import service_monitor_jobs
from stoker.generate.sharding import PROBED, depends_on_shard, sharding_steps
from stoker.select.assets import AssetsAtHand
from stoker.select.choice import Resource
from stoker.select.workload import Scraper

Consolidable: TypeAlias = ServiceMonitor | PodMonitor | Probe

_RELABELED: Final = (
    "the scrape class relabels targets after the operator's own steps, for a ScrapeConfig before"
)
_DIVIDED: Final = (
    "a step depends on the shard: targets of a ScrapeConfig would be divided by such steps alone"
)
_SPARED: Final = (
    "the workload spares the monitor, and not its ScrapeConfig, from the enforced namespace label"
)


class Consolidated(Struct, frozen=True):
    """The ScrapeConfigs of a monitor; none where there are `problems`."""

    configs: tuple[ScrapeConfig, ...] = ()
    problems: tuple[Inexpressible, ...] = ()


def consolidated(monitor: Consolidable, terms: Terms = DEFAULT_TERMS) -> Consolidated:
    """The ScrapeConfigs for a monitor under workloads with these terms."""
    draft = ScraperDraft(terms.scraper, AssetsAtHand(), monitor.metadata.namespace or "")
    kind = _KINDS[type(monitor)]
    chosen = scrape_class(monitor.spec, draft)
    problems = [*_class_problems(monitor, draft)]
    authenticates = bool(chosen and chosen.authorization)
    for path, source in kind.sources(monitor):
        problems += request_problems(source, path, class_authenticates=authenticates)
    problems += kind.problems(monitor)
    if problems:
        return Consolidated(problems=tuple(problems))
    made = tuple(
        ScrapeConfig(metadata=metadata_of(monitor, index, terms), spec=spec)
        for index, spec in enumerate(kind.specs(monitor, draft, terms))
    )
    problem = next(_enforcement_problems(monitor, made, draft), None)
    if problem:
        return Consolidated(problems=(problem,))
    return Consolidated(tuple(_enforced(monitor, each, draft) for each in made))


def stand_ins_of(resource: Resource, scraper: Scraper) -> tuple[ScrapeConfig, ...]:
    """The ScrapeConfigs that a workload scrapes in place of a monitor; none: it stays as it is."""
    if not isinstance(resource, Consolidable):
        return ()
    terms = terms_of(scraper)
    return () if isinstance(terms, Inexpressible) else consolidated(resource, terms).configs


def _step_problems(steps: tuple[RelabelConfig, ...] | None, path: str) -> Iterator[Inexpressible]:
    """A ScrapeConfig with a step like this is taken to divide its targets by itself."""
    for index, step in enumerate(steps or ()):
        if depends_on_shard(step.regex):
            yield Inexpressible(f"{path}[{index}].regex", _DIVIDED)


def _class_problems(monitor: Consolidable, draft: ScraperDraft) -> Iterator[Inexpressible]:
    chosen = scrape_class(monitor.spec, draft)
    if chosen and chosen.relabelings:
        yield Inexpressible("spec.scrapeClass", _RELABELED)


# --- The enforced namespace -----------------------------------------------------------------------


def _enforced_on(resource: str, metadata: ObjectMeta, draft: ScraperDraft) -> list[Block]:
    return namespace_steps(resource, metadata, draft)


def _enforcement_problems(
    monitor: Consolidable, made: tuple[ScrapeConfig, ...], draft: ScraperDraft
) -> Iterator[Inexpressible]:
    if _enforced_on(_KINDS[type(monitor)].resource, monitor.metadata, draft):
        return
    for each in made:
        if _enforced_on(SCRAPE_CONFIG.resource, each.metadata, draft):
            yield Inexpressible("", _SPARED)


def _enforced(monitor: Consolidable, made: ScrapeConfig, draft: ScraperDraft) -> ScrapeConfig:
    """With the label on samples where a workload spares ScrapeConfigs, but not this monitor.

    On targets it is among the steps already; on samples the generator sees to it otherwise.
    """
    wanted = _enforced_on(_KINDS[type(monitor)].resource, monitor.metadata, draft)
    if not wanted or _enforced_on(SCRAPE_CONFIG.resource, made.metadata, draft):
        return made
    (step,) = wanted
    last = RelabelConfig(
        target_label=step["target_label"], replacement=step["replacement"], action="replace"
    )
    steps = (*(made.spec.metric_relabelings or ()), last)
    spec = ScrapeConfigSpec(**{**_members(made.spec), "metric_relabelings": steps})
    return ScrapeConfig(metadata=made.metadata, spec=spec)


def _members(spec: ScrapeConfigSpec) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in spec.__struct_fields__}


# --- ServiceMonitors and PodMonitors --------------------------------------------------------------


def _endpoints(monitor: Any) -> tuple[Any, ...]:
    spec = monitor.spec
    found: tuple[Any, ...] | None = getattr(spec, "endpoints", None)
    return (found if found is not None else spec.pod_metrics_endpoints) or ()


def _endpoint_sources(monitor: Any) -> Iterator[tuple[str, Any]]:
    path = _KINDS[type(monitor)].path
    for index, endpoint in enumerate(_endpoints(monitor)):
        yield f"{path}[{index}]", endpoint


def _endpoint_problems(monitor: Any) -> Iterator[Inexpressible]:
    for path, endpoint in _endpoint_sources(monitor):
        yield from _step_problems(endpoint.relabelings, below(path, "relabelings"))
    selector = monitor.spec.namespace_selector
    if selector and "" in (selector.match_names or ()):
        path = "spec.namespaceSelector.matchNames"
        yield Inexpressible(path, "an empty name means every namespace; say `any: true`")


def _endpoint_specs(monitor: Any, draft: ScraperDraft, terms: Terms) -> Iterator[ScrapeConfigSpec]:
    jobs = _KINDS[type(monitor)].jobs(monitor, draft)
    added = len(sharding_steps(draft))
    for endpoint, job in zip(_endpoints(monitor), jobs, strict=True):
        steps = job["relabel_configs"][:-added]
        yield _spec(
            settings_of(monitor.spec),
            request_of(endpoint),
            credentials_of(endpoint),
            honor_labels=bool(endpoint.honor_labels),
            kubernetes_sd_configs=_discoveries(job, terms),
            relabelings=steps_of(steps, job["job_name"], named=bool(endpoint.relabelings)),
            metric_relabelings=_explicit(endpoint.metric_relabelings),
        )


# --- Probes ---------------------------------------------------------------------------------------


def _probe_sources(probe: Probe) -> Iterator[tuple[str, Any]]:
    yield "spec", probe.spec


def _probe_problems(probe: Probe) -> Iterator[Inexpressible]:
    prober, targets = probe.spec.prober or Prober(), probe.spec.targets
    if not prober.path:
        yield Inexpressible("spec.prober.path", "is empty; the usual one is `/probe`")
    listed = targets.static_config if targets else None
    path = "spec.targets"
    if listed:
        yield from _step_problems(
            listed.relabeling_configs, below(path, "staticConfig.relabelingConfigs")
        )
        path = below(path, "staticConfig.static")
        if not listed.static:
            yield Inexpressible(path, "lists no targets")
        elif "" in listed.static:
            yield Inexpressible(path, "a target of a ScrapeConfig cannot be empty")
    elif targets is None or targets.ingress is None:
        yield Inexpressible(path, "there is nothing to probe")
    else:
        path = below(path, "ingress")
        steps = targets.ingress.relabeling_configs
        yield from _step_problems(steps, below(path, "relabelingConfigs"))
        if "" in _namespaces(targets.ingress):
            reason = "an empty name means every namespace; say `any: true`"
            yield Inexpressible(below(path, "namespaceSelector.matchNames"), reason)


def _namespaces(targets: Any) -> tuple[str, ...]:
    selector = targets.namespace_selector
    return (selector.match_names if selector else None) or ()


def _probe_specs(probe: Probe, draft: ScraperDraft, terms: Terms) -> Iterator[ScrapeConfigSpec]:
    (job,) = _KINDS[Probe].jobs(probe, draft)
    spec = probe.spec
    # What is probed is hashed, not the prober's address: that step is needed, the others are added.
    added = len(sharding_steps(draft, PROBED, zoned=False)) - 1
    steps = job["relabel_configs"][:-added]
    if not spec.job_name:
        # The first step of all keeps the name; only then may `job` get another value.
        steps = [steps[0], fixed("job", job["job_name"]), *steps[1:]]
    yield _spec(
        settings_of(spec),
        request_of(spec.prober),
        request_of(spec),
        credentials_of(spec),
        honor_timestamps=True,
        params={name: tuple(values) for name, values in job.get("params", {}).items()} or None,
        job_name=None,
        static_configs=static_targets(job.get("static_configs", ())),
        kubernetes_sd_configs=_discoveries(job, terms),
        relabelings=steps_of(steps, job["job_name"], named=_probe_relabels(probe)),
        metric_relabelings=_explicit(spec.metric_relabelings),
    )


def _probe_relabels(probe: Probe) -> bool:
    targets = probe.spec.targets
    found = targets and (targets.static_config or targets.ingress)
    return bool(found and found.relabeling_configs)


# --- What they share ------------------------------------------------------------------------------


def _spec(*parts: dict[str, Any], **more: Any) -> ScrapeConfigSpec:
    members: dict[str, Any] = {}
    for each in parts:
        members |= {name: value for name, value in each.items() if value is not None}
    if "scheme" in members:
        # Both spellings mean the same; newer versions would have to remember the unusual one.
        members["scheme"] = members["scheme"].lower()
    return ScrapeConfigSpec(**{**members, **more})


def _discoveries(job: Block, terms: Terms) -> Any:
    blocks = job.get("kubernetes_sd_configs", ())
    return tuple(discovery_of(each, terms.api_server) for each in blocks) or None


def _explicit(steps: tuple[RelabelConfig, ...] | None) -> tuple[RelabelConfig, ...] | None:
    """The user's steps with the action that the API server would fill in, in the usual spelling."""
    made = (
        RelabelConfig(
            **{name: getattr(each, name) for name in each.__struct_fields__ if name != "action"},
            action=(each.action or "replace").lower(),
        )
        for each in steps or ()
    )
    return tuple(made) or None


class _Kind(Struct, frozen=True):
    """What is different about a kind of monitor.

    `sources` are the parts that speak of requests, with their paths; `problems` are about targets.
    """

    resource: str
    path: str
    jobs: Callable[[Any, ScraperDraft], Iterable[Block]]
    sources: Callable[[Any], Iterator[tuple[str, Any]]]
    problems: Callable[[Any], Iterator[Inexpressible]]
    specs: Callable[[Any, ScraperDraft, Terms], Iterator[ScrapeConfigSpec]]


def _of_endpoints(kind: Any, jobs: Callable[[Any, ScraperDraft], Iterable[Block]]) -> _Kind:
    return _Kind(
        kind.resource,
        kind.endpoints,
        jobs,
        _endpoint_sources,
        _endpoint_problems,
        _endpoint_specs,
    )


_KINDS: Final[dict[type, _Kind]] = {
    ServiceMonitor: _of_endpoints(SERVICE_MONITOR, service_monitor_jobs),
    PodMonitor: _of_endpoints(POD_MONITOR, pod_monitor_jobs),
    Probe: _Kind(
        PROBE.resource,
        "spec",
        lambda probe, draft: [probe_job(probe, draft)],
        _probe_sources,
        _probe_problems,
        _probe_specs,
    ),
}
