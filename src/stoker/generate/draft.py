"""One part of a configuration while it is written: what it may use, and what was noticed.

Generators are functions from a typed resource to a `Block` (an ordered mapping for the emitter).
They get a `Draft`: a `Reading`, so that the text can be made again when a value that it read
changes, and beside that the version it is for, and notes of the fields that were left out because
this version does not know them.
"""

from typing import ClassVar

from msgspec import Struct

from stoker.limits import Limits
from stoker.select.assets import Assets, Reference, source_of
from stoker.select.workload import Scraper
from stoker.validate.reading import Reading
from stoker.version import Version, Versioned

CERTIFICATES = "/etc/prometheus/certs"


class Ignored(Struct, frozen=True):
    """A field that was left out because the workload's version does not know it."""

    path: str
    reason: str


class Draft(Reading):
    """What a generator works with, and its notes for whoever reads the result.

    version   that of the program that will read the configuration
    ignored   the fields that were left out, each with the reason
    files     the names of the files that were referred to, in order
    """

    counted_as = "configuration-bytes"
    program: ClassVar[str] = "Prometheus"
    """What the program is called where something is too new for it."""
    directory: ClassVar[str] = CERTIFICATES
    """Where the program finds the values that are mounted as files."""
    keeps_empty: ClassVar[bool] = True
    """Whether a list or mapping that was written empty is a member all the same."""

    def __init__(
        self, version: Version, assets: Assets, namespace: str, limits: Limits | None = None
    ) -> None:
        super().__init__(assets, namespace, limits)
        self.version = version
        self.ignored: list[Ignored] = []
        self.files: dict[str, None] = {}

    def file(self, reference: Reference | None) -> str | None:
        """The path of the file that will hold the value behind a reference."""
        source = source_of(reference, self.namespace)
        if source is None:
            return None
        self.files[source.file_name] = None
        return f"{self.directory}/{source.file_name}"

    def ignore(self, path: str, reason: str) -> None:
        """Note that a field was left out."""
        self.ignored.append(Ignored(path, reason))

    def ignore_unknown(self, path: str, row: Versioned) -> None:
        """Note that a field was left out, since the version does not know what it becomes."""
        self.ignore(path, row.lacking(self.program))


class ScraperDraft(Draft):
    """What is written for a Prometheus or an agent: its settings decide too."""

    def __init__(
        self, scraper: Scraper, assets: Assets, namespace: str, limits: Limits | None = None
    ) -> None:
        super().__init__(scraper.version, assets, namespace, limits)
        self.scraper = scraper
        self.spec = scraper.spec
