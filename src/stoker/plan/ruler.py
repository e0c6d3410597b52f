"""What becomes of a ThanosRuler: its rules, and the file that says where results go."""

from collections.abc import Iterable, Mapping

from stoker.api.core import Object
from stoker.api.rules import PrometheusRule
from stoker.api.thanosruler import ThanosRuler
from stoker.build.alerting.objects import RulerContents, ruler_objects
from stoker.build.alerting.site import AlertSite
from stoker.build.remembered import Built
from stoker.errors import WorkloadError
from stoker.generate.draft import Ignored
from stoker.generate.fragments import OWN
from stoker.generate.rulebook import KeptRules, thanos_terms
from stoker.generate.rules import MOUNTED_BY_RULER
from stoker.generate.thanosruler import RemoteWriteFile, remote_write_file
from stoker.plan.existing import NOTHING, Existing
from stoker.plan.kept import FullVerdict
from stoker.ref import Ref
from stoker.select.assets import Assets, Noted
from stoker.select.choice import Resource
from stoker.settings import Capabilities, ObjectSettings
from stoker.validate.findings import Finding
from stoker.validate.rules import thanos_reader
from stoker.validate.syntax import enforced_label_problem
from stoker.validate.verdicts import Verdict
from stoker.version import Version


def objects_of_ruler(
    workload: ThanosRuler,
    _: Capabilities,
    settings: ObjectSettings,
    contents: RulerContents,
    built: Built,
) -> list[Object]:
    """The objects; WorkloadError where the workload asks for what cannot be built."""
    return ruler_objects(workload, settings, contents, built)


class KeptRuler:
    """What becomes of one ThanosRuler, changed piece by piece (`stoker.plan.kept.Kept`)."""

    def __init__(self, ruler: ThanosRuler, capabilities: Capabilities, assets: Assets) -> None:
        self.version: Version = _version(ruler)
        self._limits = capabilities.limits
        self._rules = KeptRules(thanos_terms(ruler.spec, self._limits), MOUNTED_BY_RULER)
        self._ruler = ruler
        self._set_remote_write(assets)

    # --- Changes ----------------------------------------------------------------------------------

    def set_workload(self, ruler: ThanosRuler, assets: Assets) -> None:
        """Take another state of the ThanosRuler."""
        version, terms = _version(ruler), thanos_terms(ruler.spec, self._limits)
        self._rules.set_workload(terms)
        self._ruler, self.version = ruler, version
        self._set_remote_write(assets)

    def put_all(self, resources: Mapping[Ref, Resource], assets: Assets) -> None:
        """Add or change PrometheusRules."""
        for key, resource in resources.items():
            if isinstance(resource, PrometheusRule):
                self._rules.put(key, resource)

    def remove(self, key: Ref, assets: Assets) -> None:
        """Drop a PrometheusRule that is gone or no longer applies."""
        self._rules.remove(key)

    def touched(self, objects: Iterable[Ref], assets: Assets) -> None:
        """Secrets and ConfigMaps were added, changed or deleted."""
        if self._read & set(objects):
            self._set_remote_write(assets)

    def _set_remote_write(self, assets: Assets) -> None:
        noted = Noted(assets)
        self._remote_write: RemoteWriteFile | WorkloadError
        try:
            self._remote_write = remote_write_file(self._ruler, noted, self.version)
        except WorkloadError as error:
            self._remote_write = error
        self._read = {each.ref for each in noted.sources}

    # --- Answers ----------------------------------------------------------------------------------

    def contents(self, assets: Assets, existing: Existing = NOTHING) -> RulerContents:
        """What the objects of the ThanosRuler carry; WorkloadError where there is nothing."""
        made = self._usable()
        return RulerContents(
            remote_write=made.text,
            asset_files=made.files,
            rule_files=self._rules.config_maps(existing.rules),
        )

    def text(self) -> str:
        """The file that says where results go, if anywhere; WorkloadError where there is none."""
        return self._usable().text if self._ruler.spec.remote_write else ""

    def take_news(self) -> set[Ref]:
        """The PrometheusRules that were judged or dropped since this was asked."""
        return self._rules.take_news()

    @property
    def verdicts(self) -> Mapping[Ref, Verdict]:
        """What became of each PrometheusRule; a copy."""
        return dict(self._rules.verdicts)

    @property
    def ignored(self) -> Mapping[Ref, tuple[Ignored, ...]]:
        """What the version does not know, by resource; its own under `OWN`; a copy."""
        made = self._remote_write
        own = made.ignored if isinstance(made, RemoteWriteFile) else ()
        return {**self._rules.ignored, **({OWN: own} if own else {})}

    def verdict(self, key: Ref) -> FullVerdict | None:
        """What became of one PrometheusRule, and what of it the version does not know."""
        found = self._rules.verdicts.get(key)
        return None if found is None else (found, self._rules.ignored.get(key, ()))

    @property
    def is_empty(self) -> bool:
        """Whether no PrometheusRule applies."""
        return not self._rules.verdicts

    @property
    def notes(self) -> tuple[Finding, ...]:
        """Nothing else should be known."""
        return ()

    def refers_to(self, key: Ref) -> bool:
        """Whether a Secret or ConfigMap was looked for, whether or not it exists."""
        return key in self._read

    def _usable(self) -> RemoteWriteFile:
        label = self._ruler.spec.enforced_namespace_label or ""
        legacy = thanos_reader(self.version).legacy_names
        problem = enforced_label_problem(label, legacy=legacy)
        if problem:
            raise WorkloadError("spec.enforcedNamespaceLabel", problem)
        if isinstance(self._remote_write, WorkloadError):
            raise type(self._remote_write)(self._remote_write.path, self._remote_write.reason)
        return self._remote_write


def _version(ruler: ThanosRuler) -> Version:
    """The version that runs; WorkloadError where it cannot be read."""
    return AlertSite(ruler, ObjectSettings()).version
