"""What the checks of one object may use, and what they used.

Checks read the values behind references through a `Reading`, which remembers each of them: whoever
keeps a verdict can tell when to ask again, and the certificates and keys that were read are the
files that must be mounted.
"""

from functools import lru_cache

from stoker.api.core import SecretKeySelector
from stoker.limits import Limits
from stoker.select.assets import Assets, Missing, Reference, Source, source_of
from stoker.select.workload import Scraper
from stoker.validate.budget import Meter
from stoker.validate.findings import Finding, Findings, Reason
from stoker.version import Version, parse_version

_NOT_FOUND = {
    "Secret": Reason.SECRET_NOT_FOUND,
    "ConfigMap": Reason.CONFIG_MAP_NOT_FOUND,
}
_UTF8_NAMES = "3.0.0"
LEGACY = "Legacy"


class Reading:
    """The workload that asks, the namespace of the object, and the values behind references.

    With `limits`, an object that reads or mounts more than one may is an OverBudgetError.
    """

    def __init__(
        self, scraper: Scraper, assets: Assets, namespace: str, limits: Limits | None = None
    ) -> None:
        self.spec = scraper.spec
        self.version = scraper.version
        self.namespace = namespace
        self.capabilities = scraper.capabilities
        self.reads: dict[Source, str | Missing] = {}
        self.files: dict[str, str] = {}
        self._assets = assets
        self._meter = Meter(limits)

    def knows(self, since: str) -> bool:
        """Whether the workload's version is that one or newer."""
        return _at_least(self.version, since)

    @property
    def utf8_names(self) -> bool:
        """Whether the version allows any character in the name of a label."""
        return _at_least(self.version, _UTF8_NAMES)

    def legacy_names(self, scheme: str | None = None) -> bool:
        """Whether relabeling takes legacy names only; `scheme` is that of the resource."""
        return not self.utf8_names or (scheme or self.spec.name_validation_scheme) == LEGACY

    def value(self, reference: Reference | None) -> str | None:
        """The text behind a reference; None where it leads nowhere."""
        source = source_of(reference, self.namespace)
        found = self._read(source) if source else None
        if found is None or isinstance(found, Missing):
            return None
        self._meter.spend("values-read", len(found))
        return found

    def keep_file(self, reference: Reference | None, text: str) -> None:
        """Note that the value behind a reference must be mounted as a file."""
        source = source_of(reference, self.namespace)
        if source and source.file_name not in self.files:
            self._meter.spend("file-bytes", len(text))
            self.files[source.file_name] = text

    def unresolved(self, reference: Reference | None, path: str) -> Findings:
        """A finding where a reference that must lead somewhere does not."""
        source = source_of(reference, self.namespace)
        if source is None:
            yield Finding(path, Reason.REQUIRED, "names no key of a Secret or ConfigMap")
            return
        found = self._read(source)
        if isinstance(found, Missing):
            yield Finding(path, _reason(found), str(found))

    def unresolved_if_named(self, reference: Reference | None, path: str) -> Findings:
        """The same for a reference that may name nothing."""
        if source_of(reference, self.namespace):
            yield from self.unresolved(reference, path)

    def unresolved_unless_optional(
        self, reference: SecretKeySelector | None, path: str
    ) -> Findings:
        """The same for a reference that can say itself that its value may be missing.

        One that cannot be read may well be there.
        """
        source = source_of(reference, self.namespace)
        if reference is None or source is None:
            return
        found = self._read(source) if reference.optional else None
        if not reference.optional or (isinstance(found, Missing) and found.problem):
            yield from self.unresolved(reference, path)

    def _read(self, source: Source) -> str | Missing:
        if source not in self.reads:
            self.reads[source] = self._assets.value(source)
        return self.reads[source]


def _reason(missing: Missing) -> Reason:
    if missing.unsure:
        return Reason.NOT_KNOWN
    if missing.problem:
        return Reason.NOT_READABLE
    return Reason.KEY_NOT_FOUND if missing.object_exists else _NOT_FOUND[missing.source.kind]


@lru_cache(maxsize=4096)
def _at_least(version: Version, since: str) -> bool:
    return version >= parse_version(since)
