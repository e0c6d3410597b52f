"""`prometheus.yaml` as a whole: the sections in their order, around the jobs of all resources.

    frame.head        global, runtime, rule_files     the workload
    scrape_configs    fragment, fragment, …           one for each configuration resource
    frame.additional                                  jobs in Prometheus' own syntax
    frame.tail        storage, alerting, …            the workload

A fragment is the text of one resource's jobs, and what was noticed while it was written. It depends
on the resource, the workload, and the values that it read, so it can be kept until one of them
changes; the frame is small. A resource that cannot be written is left out and reported, and all
others load; a workload that cannot be configured is a `WorkloadError`.

Where each node gets a portion (`nodejobs`) the file has no jobs: it names the files in which they
come, and a fragment has them one by one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from stoker.api.convert import as_written
from stoker.api.monitors import PodMonitor, Probe, ServiceMonitor
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import ResourceError, WorkloadError
from stoker.generate.alerting import alerting_section
from stoker.generate.block import Block, text_of
from stoker.generate.draft import Ignored, ScraperDraft
from stoker.generate.grammar import Member
from stoker.generate.nodejobs import JOB_FILES, NodeDraft, NodeJob, node_jobs
from stoker.generate.podmonitor import pod_monitor_jobs
from stoker.generate.probe import probe_job
from stoker.generate.remote import remote_read_section, remote_write_section
from stoker.generate.scrapeconfig import scrape_config_job
from stoker.generate.sections import (
    SPEC,
    global_section,
    otlp_section,
    rule_files_section,
    runtime_section,
    storage_section,
    tracing_section,
)
from stoker.generate.servicemonitor import service_monitor_jobs
from stoker.generate.sharding import divided
from stoker.select.assets import Assets, Missing, Source
from stoker.select.choice import Monitor
from stoker.select.workload import Scraper
from stoker.validate.budget import Meter

Reads: TypeAlias = dict[Source, str | Missing]

SCRAPE_CONFIG_FILES: Final = Member("scrape_config_files", since="2.43.0")
"""Where further files with jobs are named."""


class Additional(Struct, frozen=True, kw_only=True):
    """What users wrote in Prometheus' own syntax, parsed; None where there is nothing."""

    scrape_configs: Sequence[Any] | None = None
    alert_relabel_configs: Sequence[Any] | None = None
    alertmanagers: Sequence[Any] | None = None


NOTHING_ADDITIONAL: Final = Additional()


class Fragment(Struct, frozen=True):
    """The jobs of one resource; with a `problem`, it has none.

    Where each node gets a portion, `jobs` are in place of the text, and `files` what they read.
    """

    text: str
    ignored: tuple[Ignored, ...] = ()
    reads: Reads = {}
    problem: ResourceError | None = None
    jobs: tuple[NodeJob, ...] = ()
    files: Mapping[str, str] = {}

    @property
    def shown(self) -> str:
        """The jobs as people read them, in one text wherever they go."""
        return self.text or "".join(each.item for each in self.jobs)


class Frame(Struct, frozen=True):
    """All of a configuration that the workload itself makes; `files` are those that it reads."""

    head: str
    additional: str
    tail: str
    ignored: tuple[Ignored, ...] = ()
    reads: Reads = {}
    files: tuple[str, ...] = ()


def server_frame(
    scraper: Scraper,
    assets: Assets,
    additional: Additional = NOTHING_ADDITIONAL,
    rule_config_maps: Sequence[str] = (),
) -> Frame:
    """What surrounds the jobs in the configuration of a server."""
    draft = ScraperDraft(scraper, assets, scraper.namespace)
    head = {
        "global": global_section(draft),
        "runtime": runtime_section(draft),
        "rule_files": rule_files_section(rule_config_maps, draft),
    }
    alerting = alerting_section(draft, additional.alert_relabel_configs, additional.alertmanagers)
    tail = {
        "storage": storage_section(draft),
        "alerting": alerting,
        "remote_write": remote_write_section(draft) or None,
        "remote_read": remote_read_section(draft) or None,
        "otlp": otlp_section(draft),
        "tracing": tracing_section(draft),
    }
    return _frame(draft, head, additional_jobs(additional.scrape_configs, draft), tail)


def agent_frame(
    scraper: Scraper, assets: Assets, additional: Additional = NOTHING_ADDITIONAL
) -> Frame:
    """What surrounds the jobs in the configuration of an agent."""
    draft = ScraperDraft(scraper, assets, scraper.namespace)
    head = {
        "global": global_section(draft),
        "runtime": runtime_section(draft),
        SCRAPE_CONFIG_FILES.name: [JOB_FILES] if scraper.portions else None,
    }
    tail = {
        "storage": storage_section(draft),
        "remote_write": remote_write_section(draft) or None,
        "otlp": otlp_section(draft),
        "tracing": tracing_section(draft),
    }
    jobs = [] if scraper.daemon_set else additional_jobs(additional.scrape_configs, draft)
    return _frame(draft, head, jobs, tail)


def _frame(draft: ScraperDraft, head: Block, jobs: list[Block], tail: Block) -> Frame:
    return Frame(
        _sections_text(head),
        _part(jobs),
        _sections_text(tail),
        tuple(draft.ignored),
        draft.reads,
        tuple(draft.files),
    )


def _sections_text(sections: Block) -> str:
    return _part({name: section for name, section in sections.items() if section is not None})


def _part(value: Block | list[Block]) -> str:
    """The text of a part of the file, which may be empty."""
    return text_of(value) if value else ""


# --- The jobs of resources ------------------------------------------------------------------------


# How the jobs of each kind are made, in the order in which a server has them.
_MAKERS: Final[Mapping[type, Callable[[Any, ScraperDraft], Iterable[Block]]]] = {
    ServiceMonitor: service_monitor_jobs,
    PodMonitor: pod_monitor_jobs,
    Probe: lambda probe, draft: [probe_job(probe, draft)],
    ScrapeConfig: lambda config, draft: [scrape_config_job(config, draft)],
}
_SERVER: Final = tuple(each.__name__ for each in _MAKERS)
# The peer's agents have the first two the other way round, and on nodes nothing else.
_AGENT_ON_NODE: Final = (PodMonitor.__name__, ServiceMonitor.__name__)
_AGENT: Final = (*_AGENT_ON_NODE, *(each for each in _SERVER if each not in _AGENT_ON_NODE))


def kinds_of(scraper: Scraper) -> tuple[str, ...]:
    """The kinds that a workload scrapes, in the order of their jobs."""
    if not scraper.agent:
        return _SERVER
    return _AGENT_ON_NODE if scraper.daemon_set else _AGENT


def fragment(resource: Monitor, scraper: Scraper, assets: Assets) -> Fragment:
    """The jobs of one resource as text, or one by one where each node gets a portion."""
    draft = _draft(resource, scraper, assets)
    try:
        made = _MAKERS[type(resource)](resource, draft)
        if isinstance(draft, NodeDraft):
            jobs = tuple(node_jobs(made, draft))
            return Fragment(
                "", _ignored(resource, draft), draft.reads, jobs=jobs, files=draft.texts
            )
        text = "".join(_metered(made, draft.meter))
    except ResourceError as error:
        return Fragment("", _ignored(resource, draft), draft.reads, error)
    return Fragment(text, _ignored(resource, draft), draft.reads)


def job_blocks(resource: Monitor, scraper: Scraper, assets: Assets) -> list[Block]:
    """The jobs of one resource, before they are text; ResourceError where it can have none."""
    draft = _draft(resource, scraper, assets)
    return list(_MAKERS[type(resource)](resource, draft))


def _draft(resource: Monitor, scraper: Scraper, assets: Assets) -> ScraperDraft:
    made = NodeDraft if scraper.portions else ScraperDraft
    return made(scraper, assets, resource.metadata.namespace or "", scraper.capabilities.limits)


def _metered(jobs: Iterable[Block], meter: Meter) -> Iterator[str]:
    """The text of each job, as long as they are not too much together."""
    for job in jobs:
        text = text_of([job])
        meter.spend("configuration-bytes", len(text))
        yield text


def _ignored(resource: Monitor, draft: ScraperDraft) -> tuple[Ignored, ...]:
    """What was left out, in the words of the version in which the user wrote the resource."""
    written = (resource.api_version, type(resource).__name__)
    return tuple(Ignored(*as_written(*written, one.path, one.reason)) for one in draft.ignored)


def whole_text(frame: Frame, fragments: Sequence[str]) -> str:
    """The file: a frame around the texts of fragments."""
    jobs = "".join(fragments) + frame.additional
    scrape_configs = f"scrape_configs:\n{jobs}" if jobs else "scrape_configs: []\n"
    return frame.head + scrape_configs + frame.tail


# --- Additional jobs ------------------------------------------------------------------------------


def additional_jobs(configs: Sequence[Any] | None, draft: ScraperDraft) -> list[Block]:
    """Jobs in Prometheus' own syntax, divided among shards unless they do that themselves."""
    path = f"{SPEC}.additionalScrapeConfigs"
    jobs = []
    names = set()
    for index, config in enumerate(configs or ()):
        if not isinstance(config, dict):
            raise WorkloadError(path, f"item {index} is not a scrape configuration")
        name = str(config.get("job_name"))
        if name in names:
            raise WorkloadError(path, f"there are two jobs named {name}")
        names.add(name)
        jobs.append(_divided(config, draft))
    return jobs


def _divided(config: Block, draft: ScraperDraft) -> Block:
    steps = config.get("relabel_configs") or []
    if not isinstance(steps, list):
        return config
    together = divided(steps, draft)
    return config if together is steps else config | {"relabel_configs": together}
