"""What becomes of a workload: the same answer for the operator, `render` and everybody else.

    workload, candidates, values ──> select ──> validate ──> generate ──> Decision ──> objects

`KeptScraper` is what becomes of one Prometheus or PrometheusAgent, changed piece by piece, as the
operator needs it. `decide` is the same for everything at once, as a value: what was selected and
what was rejected, what the workload's version ignores, and what its objects carry, or the reason
why there is nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from stoker.api.core import SecretKeySelector
from stoker.api.prometheus import PrometheusAgent
from stoker.api.rules import PrometheusRule
from stoker.build.names import prefix_of
from stoker.build.objects import Contents
from stoker.errors import WorkloadError
from stoker.generate.draft import Ignored
from stoker.generate.fragments import OWN, KeptConfiguration, ResourceKey
from stoker.generate.prometheus import Additional
from stoker.generate.rulebook import KeptRules, prometheus_terms
from stoker.generate.rules import names_to_mount
from stoker.select.assets import Assets, Missing, Source, source_of
from stoker.select.choice import RULE_KIND, Candidate, NamespaceLabels, applicable
from stoker.select.references import ObjectKey
from stoker.select.workload import Scraper, Workload, workload_of
from stoker.settings import Capabilities
from stoker.validate.features import agent_notes
from stoker.validate.findings import Finding, Findings
from stoker.validate.verdicts import Verdict
from stoker.yamltree import YamlError, parse

__all__ = ["OWN", "Decision", "KeptScraper", "decide", "key_of"]


class Decision(Struct, frozen=True):
    """What becomes of a workload; with a `problem` there are no contents.

    `verdicts` are on monitors and PrometheusRules. `ignored` are the fields that the version does
    not know, by resource; the workload's own are under `OWN`. `notes` are about a workload that
    runs, though hardly as it was meant. `text` is the configuration before it is compressed.
    """

    workload: Workload
    verdicts: tuple[Verdict, ...] = ()
    ignored: Mapping[ResourceKey, tuple[Ignored, ...]] = {}
    text: str = ""
    contents: Contents | None = None
    problem: str = ""
    notes: tuple[Finding, ...] = ()


def decide(
    scraper: Scraper,
    candidates: Iterable[Candidate],
    namespaces: NamespaceLabels,
    assets: Assets,
    capabilities: Capabilities,
) -> Decision:
    """Select, validate and generate for one Prometheus or PrometheusAgent."""
    workload = workload_of(scraper, capabilities)
    chosen = {key_of(each): each for each in applicable(workload, candidates, namespaces)}
    try:
        kept = KeptScraper(scraper, capabilities, assets)
    except WorkloadError as error:
        return Decision(workload, problem=str(error))
    kept.put_all(chosen, assets)
    verdicts = tuple(kept.verdicts[key] for key in chosen)
    try:
        contents = kept.contents(assets)
    except WorkloadError as error:
        return Decision(workload, verdicts, kept.ignored, problem=str(error), notes=kept.notes)
    return Decision(workload, verdicts, kept.ignored, kept.text(), contents, notes=kept.notes)


def key_of(resource: Candidate) -> ResourceKey:
    """The key of a resource among all that apply to a workload."""
    metadata = resource.metadata
    return type(resource).__name__, f"{metadata.namespace or ''}/{metadata.name or ''}"


class KeptScraper:
    """What becomes of one Prometheus or PrometheusAgent, changed piece by piece.

    The `assets` of each call know what the resources that it concerns refer to, and the workload.
    A workload whose version or additional configuration cannot be read is a WorkloadError, and
    nothing changes.
    """

    def __init__(self, scraper: Scraper, capabilities: Capabilities, assets: Assets) -> None:
        self._capabilities = capabilities
        workload = workload_of(scraper, capabilities)
        self._rules = KeptRules(prometheus_terms(workload))
        self._mounted: list[str] = names_to_mount(prefix_of(workload), 1)
        self._additional = _additional(workload, assets)
        self._configuration = KeptConfiguration(
            workload, assets, self._additional, () if workload.agent else self._mounted
        )
        self._scraper, self.workload = scraper, workload

    # --- Changes ----------------------------------------------------------------------------------

    def set_workload(self, scraper: Scraper, assets: Assets) -> None:
        """Take another state of the workload, or of its additional configuration."""
        workload = workload_of(scraper, self._capabilities)
        terms, found = prometheus_terms(workload), _additional(workload, assets)
        self._configuration.set_workload(
            workload, assets, found, () if workload.agent else self._mounted
        )
        self._rules.set_workload(terms)
        self._scraper, self.workload, self._additional = scraper, workload, found

    def put_all(self, resources: Mapping[ResourceKey, Candidate], assets: Assets) -> None:
        """Add or change resources that apply to the workload."""
        monitors = {}
        for key, resource in resources.items():
            if isinstance(resource, PrometheusRule):
                self._rules.put(key, resource)
            else:
                monitors[key] = resource
        self._configuration.put_all(monitors, assets)

    def remove(self, key: ResourceKey) -> None:
        """Drop a resource that is gone or no longer applies; an unknown one is fine."""
        self._part(key).remove(key)

    def touched(self, objects: Iterable[ObjectKey], assets: Assets) -> None:
        """Secrets and ConfigMaps were added, changed or deleted."""
        changed = set(objects)
        if changed & self._additional_objects():
            self.set_workload(self._scraper, assets)
        self._configuration.touched(changed, assets)

    # --- Answers ----------------------------------------------------------------------------------

    def contents(
        self,
        assets: Assets,
        rules_before: Sequence[Mapping[str, str]] = (),
        further_files: int = 0,
    ) -> Contents:
        """What the objects of the workload carry; WorkloadError where there is nothing.

        `rules_before` is what the ConfigMaps with rules hold now, `further_files` how many Secrets
        with further files of the configuration there are.
        """
        rule_files: Sequence[Mapping[str, str]] = ()
        if not self.workload.agent:
            rule_files = self._rules.config_maps(rules_before)
            self._mount(len(rule_files), assets)
        return Contents(
            config_files=self._configuration.config_files(further_files),
            asset_files=self._configuration.asset_files,
            rule_files=rule_files,
        )

    def take_news(self) -> set[ResourceKey]:
        """The resources that were judged or dropped since this was asked."""
        return self._configuration.take_news() | self._rules.take_news()

    def text(self) -> str:
        """The configuration before it is compressed; WorkloadError where there is none."""
        return self._configuration.text()

    @property
    def verdicts(self) -> Mapping[ResourceKey, Verdict]:
        """What became of each resource; a copy."""
        return {**self._configuration.verdicts, **self._rules.verdicts}

    @property
    def ignored(self) -> Mapping[ResourceKey, tuple[Ignored, ...]]:
        """What the version does not know, by resource; the workload's own under `OWN`; a copy."""
        return {**self._configuration.ignored, **self._rules.ignored}

    def verdict(self, key: ResourceKey) -> tuple[Verdict, tuple[Ignored, ...]] | None:
        """What became of one resource, and what of it the version does not know."""
        part = self._part(key)
        found = part.verdicts.get(key)
        return None if found is None else (found, part.ignored.get(key, ()))

    @property
    def is_empty(self) -> bool:
        """Whether no resource applies to the workload."""
        return not self._configuration.verdicts and not self._rules.verdicts

    def _part(self, key: ResourceKey) -> KeptConfiguration | KeptRules:
        return self._rules if key[0] == RULE_KIND.name else self._configuration

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What should be known of a workload that runs."""
        return tuple(_notes(self._scraper, self.workload))

    def refers_to(self, key: ObjectKey) -> bool:
        """Whether a Secret or ConfigMap was looked for, whether or not it exists."""
        return key in self._configuration.references or key in self._additional_objects()

    def _mount(self, count: int, assets: Assets) -> None:
        """Name as many ConfigMaps with rules in the configuration as there are."""
        mounted = names_to_mount(prefix_of(self.workload), count)
        if mounted != self._mounted:
            self._mounted = mounted
            self._configuration.set_workload(self.workload, assets, self._additional, mounted)

    def _additional_objects(self) -> frozenset[ObjectKey]:
        sources = (source for _, _, source in _additional_sources(self.workload))
        return frozenset((each.kind, each.namespace, each.name) for each in sources)


def _notes(scraper: Scraper, workload: Workload) -> Findings:
    if isinstance(scraper, PrometheusAgent):
        yield from agent_notes(scraper.spec, workload.version)


# --- Configuration in Prometheus' own syntax ------------------------------------------------------

# The members of the spec that refer to it.
_ADDITIONAL: Final = {
    "scrape_configs": ("additional_scrape_configs", "additionalScrapeConfigs"),
    "alert_relabel_configs": ("additional_alert_relabel_configs", "additionalAlertRelabelConfigs"),
    "alertmanagers": ("additional_alert_manager_configs", "additionalAlertManagerConfigs"),
}


def _additional_sources(workload: Workload) -> Iterator[tuple[str, str, Source]]:
    """The parts that there are: what they are of, the path to them, and where they lie."""
    for part, (attribute, name) in _ADDITIONAL.items():
        reference: SecretKeySelector | None = getattr(workload.spec, attribute, None)
        source = source_of(reference, workload.namespace)
        if source is not None:
            yield part, f"spec.{name}", source


def _additional(workload: Workload, assets: Assets) -> Additional:
    found = {
        part: _listed(source, path, assets) for part, path, source in _additional_sources(workload)
    }
    return Additional(**found)


def _listed(source: Source, path: str, assets: Assets) -> list[Any] | None:
    """The list that a Secret's key holds as YAML, which is the user's own and trusted."""
    text = assets.value(source)
    if isinstance(text, Missing):
        # Whether that is a fault is for validation to say.
        return None
    try:
        parsed = parse(text)
    except YamlError as error:
        # Only the place: the text is a Secret's, and the reason might quote it.
        place = f"line {error.line}, column {error.column}"
        raise WorkloadError(path, f"the value is not YAML: see {place}") from None
    if parsed is not None and not isinstance(parsed, list):
        raise WorkloadError(path, "the value is not a list")
    return parsed or []
