"""What becomes of an Alertmanager.

The AlertmanagerConfig that it starts from, if it names one, is a resource like the others; it makes
the base of the configuration instead of a piece of it.
"""

from collections.abc import Iterable, Mapping

from stoker.api.alertmanager import Alertmanager
from stoker.api.core import Object
from stoker.build.alerting.objects import AlertmanagerContents, alertmanager_objects
from stoker.build.alerting.paths import CONFIG_KEY
from stoker.build.remembered import Built
from stoker.generate.alertmanager.config import CONFIG_FILE, config_source, terms_of
from stoker.generate.alertmanager.kept import KIND, KeptAlerting
from stoker.generate.alertmanager.zero import without_zero_durations
from stoker.generate.draft import Ignored
from stoker.generate.fragments import OWN
from stoker.plan.existing import NOTHING, Existing
from stoker.plan.kept import FullVerdict
from stoker.ref import Ref
from stoker.select.assets import WholeAssets
from stoker.select.choice import AlertmanagerConfig, Resource
from stoker.settings import Capabilities, ObjectSettings
from stoker.validate.features import alertmanager_notes
from stoker.validate.findings import Finding
from stoker.validate.verdicts import Verdict
from stoker.version import Version


def objects_of_alertmanager(
    workload: Alertmanager,
    _: Capabilities,
    settings: ObjectSettings,
    contents: AlertmanagerContents,
    built: Built,
) -> list[Object]:
    """The objects; WorkloadError where the workload asks for what cannot be built."""
    return alertmanager_objects(workload, settings, contents, built)


class KeptAlertmanager:
    """What becomes of one Alertmanager, changed piece by piece (`stoker.plan.kept.Kept`)."""

    def __init__(
        self, alertmanager: Alertmanager, capabilities: Capabilities, assets: WholeAssets
    ) -> None:
        self._alerting = KeptAlerting(
            alertmanager,
            assets,
            deny_files=capabilities.deny_files,
            limits=capabilities.limits,
        )
        self._alertmanager = alertmanager
        self._look_beside(assets)

    # --- Changes ----------------------------------------------------------------------------------

    def set_workload(self, alertmanager: Alertmanager, assets: WholeAssets) -> None:
        """Take another state of the Alertmanager."""
        before = self._root
        self._alerting.set_alertmanager(alertmanager, assets)
        self._alertmanager = alertmanager
        if self._root != before:
            self._exchange_root(before, assets)
        self._look_beside(assets)

    def put_all(self, resources: Mapping[Ref, Resource], assets: WholeAssets) -> None:
        """Add or change AlertmanagerConfigs."""
        configs = {
            key: each for key, each in resources.items() if isinstance(each, AlertmanagerConfig)
        }
        if self._root in configs:
            self._alerting.set_root(configs[self._root], assets)
        self._alerting.put_all(configs, assets)

    def remove(self, key: Ref, assets: WholeAssets) -> None:
        """Drop an AlertmanagerConfig that is gone or no longer applies."""
        self._alerting.remove(key)
        if key == self._root:
            self._alerting.set_root(None, assets)

    def touched(self, objects: Iterable[Ref], assets: WholeAssets) -> None:
        """Secrets and ConfigMaps were added, changed or deleted."""
        changed = set(objects)
        self._alerting.touched(changed, assets)
        if self._own_secret in changed:
            self._look_beside(assets)

    def _exchange_root(self, before: Ref | None, assets: WholeAssets) -> None:
        """Start from another AlertmanagerConfig: that of before may now be one of the others."""
        known = self._alerting.verdicts
        root = known.get(self._root) if self._root else None
        self._alerting.set_root(root.resource if root else None, assets)
        both = [key for key in (before, self._root) if key in known]
        self._alerting.put_all({key: known[key].resource for key in both if key}, assets)

    def _look_beside(self, assets: WholeAssets) -> None:
        """Take what lies beside the configuration in the user's own Secret, such as templates."""
        found = assets.all_of(self._own_secret) if self._own_secret else {}
        self._beside = {key: value for key, value in found.items() if key != CONFIG_FILE}

    # --- Answers ----------------------------------------------------------------------------------

    def contents(self, assets: WholeAssets, existing: Existing = NOTHING) -> AlertmanagerContents:
        """What the objects of the Alertmanager carry; WorkloadError where there is nothing."""
        return AlertmanagerContents(
            config_files={**self._beside, CONFIG_KEY: self._alerting.gzip()},
            asset_files=self._alerting.asset_files,
        )

    def text(self) -> str:
        """The configuration before it is compressed; WorkloadError where there is none."""
        return self._alerting.text()

    def take_news(self) -> set[Ref]:
        """The AlertmanagerConfigs that were judged or dropped since this was asked."""
        return self._alerting.take_news()

    @property
    def version(self) -> Version:
        """The version that runs."""
        return terms_of(self._alertmanager).version

    @property
    def verdicts(self) -> Mapping[Ref, Verdict]:
        """What became of each AlertmanagerConfig; a copy."""
        return dict(self._alerting.verdicts)

    @property
    def ignored(self) -> Mapping[Ref, tuple[Ignored, ...]]:
        """What the version does not know, by resource; its own under `OWN`; a copy."""
        _, zero = without_zero_durations(self._alertmanager.spec)
        own = (*zero, *self._alerting.ignored.get(OWN, ()))
        return {**self._alerting.ignored, **({OWN: own} if own else {})}

    def verdict(self, key: Ref) -> FullVerdict | None:
        """What became of one AlertmanagerConfig, and what of it the version does not know."""
        found = self._alerting.verdicts.get(key)
        return None if found is None else (found, self._alerting.ignored.get(key, ()))

    @property
    def is_empty(self) -> bool:
        """Whether AlertmanagerConfigs are asked for, and none applies."""
        asks = self._alertmanager.spec.alertmanager_config_selector is not None
        return asks and not self._alerting.verdicts

    @property
    def notes(self) -> tuple[Finding, ...]:
        """Features with which it ends at once."""
        return tuple(
            alertmanager_notes(self._alertmanager.spec.enable_features or (), self.version)
        )

    def refers_to(self, key: Ref) -> bool:
        """Whether a Secret or ConfigMap was looked for, whether or not it exists."""
        return key in self._alerting.references

    @property
    def _root(self) -> Ref | None:
        """The AlertmanagerConfig that the configuration starts from."""
        start = self._alertmanager.spec.alertmanager_configuration
        namespace = self._alertmanager.metadata.namespace or ""
        return Ref(KIND, namespace, start.name or "") if start else None

    @property
    def _own_secret(self) -> Ref | None:
        """The Secret with the configuration of the user's own, whether or not it exists."""
        if self._alertmanager.spec.alertmanager_configuration is not None:
            return None
        source = config_source(self._alertmanager)
        return source.ref
