"""The configuration of a workload in parts: its own sections, and a part for each resource.

The texts of resources are written when they are asked for, one by one. Secrets' values are never
at hand here: whatever assets are given, the writers see them through `Masked`, which only names
such values, and says of one that it is another than before. What a user keeps whole in a Secret,
such as additional jobs, is named as well.

    Prometheus, PrometheusAgent   global … scrape_configs, resources, additional, storage …; rules
    Alertmanager                  the base, and what each AlertmanagerConfig adds to it
    ThanosRuler                   where results go; rules
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from stoker.api.alertmanager import Alertmanager
from stoker.api.rules import PrometheusRule
from stoker.api.thanosruler import ThanosRuler
from stoker.build.names import prefix_of
from stoker.errors import FieldError, WorkloadError
from stoker.generate.alertmanager.config import (
    DEFAULT_CONFIGURATION,
    base_of,
    config_source,
    piece_of,
    terms_of,
)
from stoker.generate.alertmanager.frame import whole_text
from stoker.generate.block import text_of
from stoker.generate.fragments import StandIns, jobs_of
from stoker.generate.prometheus import Frame, agent_frame, kinds_of, server_frame
from stoker.generate.rulebook import RuleTerms, prometheus_terms, thanos_terms
from stoker.generate.rules import MOUNTED_BY_PROMETHEUS, names_to_mount, rule_file
from stoker.generate.thanosruler import remote_write_text
from stoker.plan.scraper import additional_sources
from stoker.ref import Ref
from stoker.select.assets import Assets, Missing, Source
from stoker.select.choice import RULE_KIND, Monitor, Resource
from stoker.select.workload import AnyPrometheus, Scraper, Workload, scraper_of
from stoker.settings import DEFAULT_THANOS_VERSION, Capabilities
from stoker.version import parse_version
from stoker.view.masked import Links, Masked

_SECTION: Final = re.compile(r"^(?=[a-z_]+:)", re.MULTILINE)
_ON_THEIR_NODES: Final = (
    "scrape_configs: []\n# Each job is a file of its own, on the nodes that get it:\n"
)
_HIDDEN: Final = "# not shown: it is in {} ({})\n"


class OwnSection(Struct, frozen=True):
    """A part that the workload itself makes."""

    title: str
    text: str


class Materials(Struct, frozen=True, kw_only=True):
    """What a configuration is written from.

    `used` are the resources in it. `find` gives one of them, None if it is gone. `before` are the
    values that there were: others are marked. `rule_files` is how many ConfigMaps hold its rules.
    `stand_ins` finds the ScrapeConfigs in place of a monitor; None where monitors stay themselves.
    """

    used: Sequence[Ref]
    find: Callable[[Ref], Resource | None]
    assets: Assets
    before: Assets | None = None
    capabilities: Capabilities = Capabilities()
    rule_files: int = 1
    stand_ins: StandIns | None = None


PartOwner: TypeAlias = OwnSection | Ref


class Layout(Struct, frozen=True):
    """The parts in their order; those of resources are not written yet."""

    places: Sequence[PartOwner]
    write: Callable[[Ref], str]

    def text(self, place: PartOwner) -> str:
        """The whole text of a part."""
        return place.text if isinstance(place, OwnSection) else self.write(place)

    def titled(self, title: str) -> PartOwner | None:
        """The part with a title, None if there is none."""
        return next((each for each in self.places if title_at(each) == title), None)


def title_at(place: PartOwner) -> str:
    """What a part is called."""
    if isinstance(place, OwnSection):
        return place.title
    return f"{place.kind[:1].lower()}{place.kind[1:]}/{place.namespace}/{place.name}"


def layout_of(workload: Workload, materials: Materials) -> Layout:
    """The parts of a workload's configuration; WorkloadError where it cannot be configured."""
    masked = Masked(materials.assets, materials.before)
    if isinstance(workload, Alertmanager):
        return _of_alertmanager(workload, materials, masked)
    if isinstance(workload, ThanosRuler):
        return _of_ruler(workload, materials, masked)
    return _of_scraper(workload, materials, masked)


def _written(materials: Materials, write: Callable[[Any], str]) -> Callable[[Ref], str]:
    def text(entry: Ref) -> str:
        found = materials.find(entry)
        if found is None:
            return "# it is gone\n"
        try:
            return write(found)
        except FieldError as error:
            # The writer saw names in place of values, and may take one for a wrong value.
            return f"# cannot be shown without the values of Secrets: {error}\n"

    return text


# --- Prometheus and PrometheusAgent ---------------------------------------------------------------


def _of_scraper(workload: AnyPrometheus, materials: Materials, masked: Masked) -> Layout:
    scraper = scraper_of(workload, materials.capabilities)
    terms = prometheus_terms(scraper)
    frame = _frame(scraper, materials, masked)
    order = {kind: place for place, kind in enumerate(kinds_of(scraper))}
    jobs = [each for each in materials.used if each.kind in order]
    jobs.sort(key=lambda each: (order[each.kind], f"{each.namespace}/{each.name}"))
    hidden = list(_hidden(scraper, masked))
    any_jobs = bool(jobs) or any(part == "additional" for part, _ in hidden)
    heading = f"scrape_configs:{'' if any_jobs else ' []'}\n"
    places: list[PartOwner] = [
        *_sections(frame.head),
        OwnSection("scrape_configs", _ON_THEIR_NODES if scraper.portions else heading),
        *jobs,
        *(OwnSection(title, text) for title, text in hidden),
        *_sections(frame.tail),
        *(each for each in materials.used if each.kind == RULE_KIND.name),
    ]

    def write(resource: Resource) -> str:
        if isinstance(resource, PrometheusRule):
            return _rules(resource, terms)
        if not isinstance(resource, Monitor):
            return ""
        made = jobs_of(resource, scraper, masked, materials.stand_ins)
        if made.problem:
            raise made.problem
        return made.shown

    return Layout(places, _written(materials, write))


def _frame(scraper: Scraper, materials: Materials, masked: Masked) -> Frame:
    if scraper.agent:
        return agent_frame(scraper, masked)
    mounted = names_to_mount(prefix_of(scraper), materials.rule_files, MOUNTED_BY_PROMETHEUS)
    return server_frame(scraper, masked, rule_config_maps=mounted)


def _sections(text: str) -> Iterator[OwnSection]:
    """A text cut where its members begin."""
    for part in _SECTION.split(text):
        if part:
            yield OwnSection(part.partition(":")[0], part)


_ADDITIONAL_TITLES: Final = {
    "scrape_configs": "additional",
    "alert_relabel_configs": "additional alert relabelling",
    "alertmanagers": "additional alertmanagers",
}


def _hidden(scraper: Scraper, masked: Masked) -> Iterator[tuple[str, str]]:
    """What stands in Secrets as it is, only named."""
    for part, path, source in additional_sources(scraper):
        there = isinstance(masked.value(source), str)
        if there and not (scraper.daemon_set and part == "scrape_configs"):
            yield _ADDITIONAL_TITLES[part], _HIDDEN.format(masked.place(source), path)


def _rules(rule: PrometheusRule, terms: RuleTerms) -> str:
    return rule_file(rule, terms.reader, terms.enforcement).text


# --- Alertmanager ---------------------------------------------------------------------------------


def _of_alertmanager(workload: Alertmanager, materials: Materials, masked: Masked) -> Layout:
    terms = terms_of(
        workload,
        deny_files=materials.capabilities.deny_files,
        limits=materials.capabilities.limits,
    )
    start = workload.spec.alertmanager_configuration
    root = (workload.metadata.namespace or "", start.name) if start else None
    used = [each for each in materials.used if (each.namespace, each.name) != root]
    places: list[PartOwner] = [_base(workload, materials, masked, root), *used]

    def write(config: Any) -> str:
        links = Links(masked)
        return links.undone(text_of(piece_of(config, terms, links).tree))

    return Layout(places, _written(materials, write))


def _base(
    workload: Alertmanager,
    materials: Materials,
    masked: Masked,
    root: tuple[str, str | None] | None,
) -> OwnSection:
    if root is None:
        return OwnSection("base", _own_file(config_source(workload), masked))
    entry = next((each for each in materials.used if (each.namespace, each.name) == root), None)
    config: Any = materials.find(entry) if entry else None
    links = Links(masked)
    try:
        return OwnSection(
            "base", links.undone(whole_text(base_of(workload, config, links).tree, ()))
        )
    except WorkloadError as error:
        return OwnSection("base", f"# cannot be shown without the values of Secrets: {error}\n")


def _own_file(source: Source, masked: Masked) -> str:
    """A user's own file lies in a Secret whole, so nothing of it is shown."""
    found = masked.assets.value(source)
    if (isinstance(found, Missing) and not found.problem) or found == "":
        return f"{DEFAULT_CONFIGURATION}\n"
    return _HIDDEN.format(masked.place(source), "spec.configSecret")


# --- ThanosRuler ----------------------------------------------------------------------------------


def _of_ruler(workload: ThanosRuler, materials: Materials, masked: Masked) -> Layout:
    terms = thanos_terms(workload.spec, materials.capabilities.limits)
    places: list[PartOwner] = list(materials.used)
    if workload.spec.remote_write:
        version = parse_version(workload.spec.version or DEFAULT_THANOS_VERSION)
        places.insert(0, OwnSection("remote-write", remote_write_text(workload, masked, version)))
    return Layout(places, _written(materials, lambda rule: _rules(rule, terms)))
