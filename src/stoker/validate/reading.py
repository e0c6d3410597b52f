"""The one reader of references: what an object asks of Secrets and ConfigMaps, and what it got.

    Reading            the values behind references, and a note of each that was asked for
    ├── CheckReading       for checks: findings about what is missing, files that must be mounted
    │   ├── ScraperReading     for a Prometheus or an agent
    │   └── AlertReading       for an Alertmanager (alertmanager/reading.py)
    └── Draft              for generators: what is written, what is left out (generate/draft.py)

Whoever keeps what was made from a `Reading` keeps its `reads` too, and can tell when to ask again.
"""

from functools import lru_cache
from typing import ClassVar

from stoker.api.core import SecretKeySelector
from stoker.errors import ResourceError
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
_NAMES_NOTHING = "names no key of a Secret or ConfigMap"
_UTF8_NAMES = "3.0.0"
LEGACY = "Legacy"


class Reading:
    """The values behind the references of one object.

    namespace   where its references lead: that of the object
    reads       each key that was asked for, and what is there
    meter       what the values cost; with `limits`, an object that reads more than one may is an
                OverBudgetError
    """

    counted_as: ClassVar[str] = "values-read"
    """The limit that values are counted against."""

    def __init__(self, assets: Assets, namespace: str, limits: Limits | None = None) -> None:
        self.namespace = namespace
        self.reads: dict[Source, str | Missing] = {}
        self.meter = Meter(limits)
        self._assets = assets

    def names(self, reference: Reference | None) -> bool:
        """Whether a reference names anything."""
        return source_of(reference, self.namespace) is not None

    def found(self, reference: Reference | None) -> str | Missing | None:
        """What is behind a reference, or why it is not there; None where it names nothing."""
        source = source_of(reference, self.namespace)
        if source is None:
            return None
        found = self.reads.get(source)
        if found is None:
            found = self.reads[source] = self._assets.value(source)
        return found

    def value(self, reference: Reference | None, path: str = "spec") -> str | None:
        """The text behind a reference; None where it leads nowhere."""
        found = self.found(reference)
        if not isinstance(found, str):
            return None
        self.meter.spend(self.counted_as, len(found), path, apart="values")
        return found

    def needed(self, reference: Reference | None, path: str) -> str:
        """The text behind a reference; ResourceError at `path` where it leads nowhere."""
        text = self.value(reference, path)
        if text is None:
            raise ResourceError(path, str(self.found(reference) or _NAMES_NOTHING))
        return text


class CheckReading(Reading):
    """What the checks of one object may use, and what they noted.

    version   that of the program that will read the configuration
    files     what must be mounted: the name of each file and its text
    """

    def __init__(
        self, version: Version, assets: Assets, namespace: str, limits: Limits | None = None
    ) -> None:
        super().__init__(assets, namespace, limits)
        self.version = version
        self.files: dict[str, str] = {}

    def knows(self, since: str) -> bool:
        """Whether the workload's version is that one or newer."""
        return _at_least(self.version, since)

    def keep_file(self, reference: Reference | None, text: str) -> None:
        """Note that the value behind a reference must be mounted as a file."""
        source = source_of(reference, self.namespace)
        if source and source.file_name not in self.files:
            self.meter.spend("file-bytes", len(text))
            self.files[source.file_name] = text

    def unresolved(self, reference: Reference | None, path: str) -> Findings:
        """A finding where a reference that must lead somewhere does not."""
        found = self.found(reference)
        if found is None:
            yield Finding(path, Reason.REQUIRED, _NAMES_NOTHING)
        elif isinstance(found, Missing):
            yield Finding(path, _reason(found), str(found))

    def unresolved_if_named(self, reference: Reference | None, path: str) -> Findings:
        """The same for a reference that need not name anything."""
        if self.names(reference):
            yield from self.unresolved(reference, path)

    def unresolved_unless_optional(
        self, reference: SecretKeySelector | None, path: str
    ) -> Findings:
        """The same for a reference that can itself allow its value to be missing.

        A value that cannot be read is reported all the same: it may well be there.
        """
        if reference is None or not self.names(reference):
            return
        found = self.found(reference) if reference.optional else None
        if not reference.optional or (isinstance(found, Missing) and found.problem):
            yield from self.unresolved(reference, path)


class ScraperReading(CheckReading):
    """What checks for a Prometheus or an agent may use: its settings too."""

    def __init__(
        self, scraper: Scraper, assets: Assets, namespace: str, limits: Limits | None = None
    ) -> None:
        super().__init__(scraper.version, assets, namespace, limits)
        self.spec = scraper.spec
        self.capabilities = scraper.capabilities

    @property
    def utf8_names(self) -> bool:
        """Whether the version allows any character in the name of a label."""
        return _at_least(self.version, _UTF8_NAMES)

    def legacy_names(self, scheme: str | None = None) -> bool:
        """Whether relabeling takes legacy names only; `scheme` is that of the resource."""
        return not self.utf8_names or (scheme or self.spec.name_validation_scheme) == LEGACY


def _reason(missing: Missing) -> Reason:
    if missing.unsure:
        return Reason.NOT_KNOWN
    if missing.problem:
        return Reason.NOT_READABLE
    return Reason.KEY_NOT_FOUND if missing.object_exists else _NOT_FOUND[missing.source.kind]


@lru_cache(maxsize=4096)
def _at_least(version: Version, since: str) -> bool:
    return version >= parse_version(since)
