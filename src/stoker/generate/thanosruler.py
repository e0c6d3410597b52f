"""The file that tells a Thanos Ruler where to send its results.

Thanos reads Prometheus' own settings for remote write, strictly, with the Prometheus that it is
built with. What that does not know would keep Thanos from starting, so it is left out and reported.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.api.thanosruler import ThanosRuler
from stoker.errors import UnknownError, WorkloadError
from stoker.generate.block import text_of
from stoker.generate.draft import Ignored, ScraperDraft
from stoker.generate.remote import remote_write
from stoker.select.assets import Assets, Missing, Source
from stoker.select.workload import Scraper
from stoker.validate.findings import Reason, nothing_known
from stoker.validate.reading import ScraperReading
from stoker.validate.workload import remote_writes
from stoker.version import Version, needs_version, parse_version

REMOTE_WRITE_FILE: Final = "remote-write.yaml"
"""The key of the Secret, and the name of the file."""

REMOTE_WRITE_SINCE: Final = "0.24.0"
"""The first Thanos whose Ruler can send its results."""

CERTIFICATES: Final = "/etc/thanos/certs"

_PATH: Final = "spec.remoteWrite"

# The Prometheus that a Thanos is built with, from its module's requirements, newest first.
_LIBRARIES: Final = (
    ("0.42.0", "3.9.0"),
    ("0.41.0", "3.8.0"),
    ("0.40.0", "3.5.0"),
    ("0.39.0", "3.3.0"),
    ("0.38.0", "3.1.0"),
    ("0.37.0", "2.55.0"),
    ("0.36.0", "2.52.0"),
    ("0.35.0", "2.51.0"),
    ("0.34.0", "2.48.0"),
    ("0.33.0", "2.47.0"),
    ("0.32.0", "2.44.0"),
    ("0.31.0", "2.42.0"),
    ("0.30.0", "2.40.0"),
    ("0.29.0", "2.39.0"),
    ("0.28.0", "2.38.0"),
    ("0.26.0", "2.33.0"),
)
_OLDEST_LIBRARY: Final = "2.31.0"


class RemoteWriteFile(Struct, frozen=True):
    """The text, and what a caller must know about it.

    `files`: what the text refers to, to be mounted. `reads`: the values that went in, so that the
    text can be made again when one changes. `ignored`: what this version does not know.
    """

    text: str
    files: dict[str, str]
    reads: dict[Source, str | Missing]
    ignored: tuple[Ignored, ...]


class _RulerDraft(ScraperDraft):
    """A draft whose files lie where the pods of a Thanos Ruler mount them."""

    directory = CERTIFICATES


def library_version(version: Version) -> str:
    """The version of Prometheus that a version of Thanos reads settings with."""
    found = (library for since, library in _LIBRARIES if version >= parse_version(since))
    return next(found, _OLDEST_LIBRARY)


def remote_write_file(ruler: ThanosRuler, assets: Assets, version: Version) -> RemoteWriteFile:
    """The file for a Ruler of this version; WorkloadError where Thanos would not load it."""
    library = library_version(version)
    reader = _reader(ruler, library)
    entries = ruler.spec.remote_write or ()
    reading = ScraperReading(reader, assets, reader.namespace)
    found = tuple(remote_writes(entries, reading, _PATH))
    # What is certainly wrong comes first.
    for finding in sorted(found, key=lambda each: each.reason is Reason.NOT_KNOWN):
        error = UnknownError if nothing_known(found) else WorkloadError
        raise error(finding.path, finding.message)
    text, draft = _written(ruler, assets, library)
    return RemoteWriteFile(
        text,
        reading.files,
        reading.reads | draft.reads,
        tuple(_ignored(draft, version, library, any_written=bool(entries))),
    )


def remote_write_text(ruler: ThanosRuler, assets: Assets, version: Version) -> str:
    """The text of that file alone, though the values behind its references are not judged."""
    return _written(ruler, assets, library_version(version))[0]


def _written(ruler: ThanosRuler, assets: Assets, library: str) -> tuple[str, ScraperDraft]:
    reader, entries = _reader(ruler, library), ruler.spec.remote_write or ()
    draft = _RulerDraft(reader, assets, reader.namespace)
    written = [remote_write(entry, draft, f"{_PATH}[{i}]") for i, entry in enumerate(entries)]
    return text_of({"remote_write": written}), draft


def _reader(ruler: ThanosRuler, library: str) -> Scraper:
    """The Prometheus inside Thanos, as generators and checks know it."""
    return Scraper(
        namespace=ruler.metadata.namespace or "",
        name=ruler.metadata.name or "",
        spec=PrometheusCommonSpec(version=library),
    )


def _ignored(
    draft: ScraperDraft, version: Version, library: str, *, any_written: bool
) -> list[Ignored]:
    if any_written and version < parse_version(REMOTE_WRITE_SINCE):
        return [Ignored(_PATH, needs_version("Thanos", REMOTE_WRITE_SINCE))]
    built = f"Thanos {version} is built with {library}"
    return [replace(one, reason=f"{one.reason}; {built}") for one in draft.ignored]
