"""What becomes of a Prometheus or PrometheusAgent."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from stoker.api.core import Object, SecretKeySelector
from stoker.api.rules import PrometheusRule
from stoker.build.names import prefix_of
from stoker.build.objects import Contents, objects_of
from stoker.build.remembered import Built
from stoker.build.secrets import further_files
from stoker.build.site import Site
from stoker.errors import WorkloadError
from stoker.generate.draft import Ignored
from stoker.generate.fragments import KeptConfiguration, StandIns
from stoker.generate.nodejobs import NodeJob
from stoker.generate.prometheus import Additional
from stoker.generate.rulebook import KeptRules, prometheus_terms
from stoker.generate.rules import MOUNTED_BY_PROMETHEUS, names_to_mount
from stoker.plan.existing import NOTHING, Existing
from stoker.plan.kept import FullVerdict
from stoker.ref import Ref
from stoker.select.assets import Assets, Missing, Source, source_of
from stoker.select.choice import RULE_KIND, Monitor, Resource
from stoker.select.workload import AnyPrometheus, Scraper, scraper_of
from stoker.settings import Capabilities, ObjectSettings
from stoker.validate.features import scraper_notes
from stoker.validate.findings import Finding
from stoker.validate.verdicts import Verdict
from stoker.version import Version
from stoker.yamltree import YamlError, parse


def scraper_objects(
    prometheus: AnyPrometheus,
    capabilities: Capabilities,
    settings: ObjectSettings,
    contents: Contents,
    built: Built,
) -> list[Object]:
    """The objects; WorkloadError where the workload asks for what cannot be built."""
    site = Site(prometheus, scraper_of(prometheus, capabilities), settings)
    return objects_of(site, contents, built)


class KeptScraper:
    """What becomes of one Prometheus or PrometheusAgent, changed piece by piece.

    The `assets` of each call know what the resources that it concerns refer to, and the workload.
    A workload whose version or additional configuration cannot be read is a WorkloadError, and
    nothing changes.
    """

    def __init__(
        self,
        prometheus: AnyPrometheus,
        capabilities: Capabilities,
        assets: Assets,
        stand_ins: StandIns | None = None,
    ) -> None:
        self._capabilities = capabilities
        scraper = scraper_of(prometheus, capabilities)
        self._rules = KeptRules(prometheus_terms(scraper), MOUNTED_BY_PROMETHEUS)
        self._mounted = names_to_mount(prefix_of(scraper), 1, MOUNTED_BY_PROMETHEUS)
        self._additional = _additional(scraper, assets)
        mounted = () if scraper.agent else self._mounted
        self._configuration = KeptConfiguration(
            scraper, assets, self._additional, mounted, stand_ins
        )
        self._scraper, self.scraper = prometheus, scraper
        self._additional_objects = _additional_objects(scraper)

    # --- Changes ----------------------------------------------------------------------------------

    def set_workload(self, prometheus: AnyPrometheus, assets: Assets) -> None:
        """Take another state of the workload, or of its additional configuration."""
        scraper = scraper_of(prometheus, self._capabilities)
        terms, found = prometheus_terms(scraper), _additional(scraper, assets)
        self._configuration.set_workload(
            scraper, assets, found, () if scraper.agent else self._mounted
        )
        self._rules.set_workload(terms)
        self._scraper, self.scraper, self._additional = prometheus, scraper, found
        self._additional_objects = _additional_objects(scraper)

    def put_all(self, resources: Mapping[Ref, Resource], assets: Assets) -> None:
        """Add or change resources that apply to the workload."""
        monitors = {}
        for key, resource in resources.items():
            if isinstance(resource, PrometheusRule):
                self._rules.put(key, resource)
            elif isinstance(resource, Monitor):
                monitors[key] = resource
        self._configuration.put_all(monitors, assets)

    def remove(self, key: Ref, assets: Assets) -> None:
        """Drop a resource that is gone or no longer applies; an unknown one is fine."""
        self._part(key).remove(key)

    def touched(self, objects: Iterable[Ref], assets: Assets) -> None:
        """Secrets and ConfigMaps were added, changed or deleted."""
        changed = set(objects)
        if changed & self._additional_objects:
            self.set_workload(self._scraper, assets)
        self._configuration.touched(changed, assets)

    # --- Answers ----------------------------------------------------------------------------------

    def contents(self, assets: Assets, existing: Existing = NOTHING) -> Contents:
        """What the objects of the workload carry; WorkloadError where there is nothing."""
        rule_files: list[Mapping[str, str]] | tuple[()] = ()
        if not self.scraper.agent:
            rule_files = self._rules.config_maps(existing.rules)
            self._mount(len(rule_files), assets)
        further = further_files(self.scraper, existing.secrets)
        return Contents(
            config_files=self._configuration.config_files(further),
            asset_files=self._configuration.asset_files,
            rule_files=rule_files,
            node_jobs=self.node_jobs,
            node_files=self.node_files,
        )

    @property
    def node_jobs(self) -> Mapping[Ref, tuple[NodeJob, ...]]:
        """The jobs of each resource where nodes get portions; a copy.

        What did not change is the same object as before.
        """
        return self._configuration.node_jobs

    @property
    def node_files(self) -> Mapping[str, str]:
        """The files that those jobs read: name to text."""
        return self._configuration.node_files

    def take_news(self) -> set[Ref]:
        """The resources that were judged or dropped since this was asked."""
        return self._configuration.take_news() | self._rules.take_news()

    def text(self) -> str:
        """The configuration before it is compressed; WorkloadError where there is none."""
        return self._configuration.text()

    @property
    def version(self) -> Version:
        """The version that runs."""
        return self.scraper.version

    @property
    def verdicts(self) -> Mapping[Ref, Verdict]:
        """What became of each resource; a copy."""
        return {**self._configuration.verdicts, **self._rules.verdicts}

    @property
    def ignored(self) -> Mapping[Ref, tuple[Ignored, ...]]:
        """What the version does not know, by resource; the workload's own under `OWN`; a copy."""
        return {**self._configuration.ignored, **self._rules.ignored}

    def verdict(self, key: Ref) -> FullVerdict | None:
        """What became of one resource, and what of it the version does not know."""
        part = self._part(key)
        found = part.verdicts.get(key)
        return None if found is None else (found, part.ignored.get(key, ()))

    @property
    def is_empty(self) -> bool:
        """Whether no resource applies to the workload."""
        return not self._configuration.verdicts and not self._rules.verdicts

    def _part(self, key: Ref) -> KeptConfiguration | KeptRules:
        return self._rules if key.kind == RULE_KIND.name else self._configuration

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What should be known of a workload that runs."""
        return tuple(scraper_notes(self._scraper.spec, self.scraper.version))

    def refers_to(self, key: Ref) -> bool:
        """Whether a Secret or ConfigMap was looked for, whether or not it exists."""
        return key in self._additional_objects or key in self._configuration.references

    def _mount(self, count: int, assets: Assets) -> None:
        """Name as many ConfigMaps with rules in the configuration as there are."""
        mounted = names_to_mount(prefix_of(self.scraper), count, MOUNTED_BY_PROMETHEUS)
        if mounted != self._mounted:
            self._mounted = mounted
            self._configuration.set_workload(self.scraper, assets, self._additional, mounted)


# --- Configuration in Prometheus' own syntax ------------------------------------------------------

# The members of the spec that refer to it.
_ADDITIONAL: Final = {
    "scrape_configs": ("additional_scrape_configs", "additionalScrapeConfigs"),
    "alert_relabel_configs": ("additional_alert_relabel_configs", "additionalAlertRelabelConfigs"),
    "alertmanagers": ("additional_alert_manager_configs", "additionalAlertManagerConfigs"),
}


def additional_sources(scraper: Scraper) -> Iterator[tuple[str, str, Source]]:
    """The additional parts: what they are of, the path to them, and where they lie."""
    for part, (attribute, name) in _ADDITIONAL.items():
        reference: SecretKeySelector | None = getattr(scraper.spec, attribute, None)
        source = source_of(reference, scraper.namespace)
        if source is not None:
            yield part, f"spec.{name}", source


def _additional_objects(scraper: Scraper) -> frozenset[Ref]:
    return frozenset(source.ref for _, _, source in additional_sources(scraper))


def _additional(scraper: Scraper, assets: Assets) -> Additional:
    found = {
        part: _listed(source, path, assets) for part, path, source in additional_sources(scraper)
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
