"""One part of the configuration while it is written: what it may use, and what was noticed.

Generators are functions from a typed resource to a `Block` (an ordered mapping for the emitter).
They get a `Draft`, which knows the workload, resolves references, and collects what the reader of
the result must know: fields left out because the workload's version does not know them, and the
keys of Secrets and ConfigMaps that were read, so that the text can be kept until one changes.

Version knowledge is a table of `Key`: which member of the configuration a field becomes, and which
versions know it. The same rows make the report of what was left out.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Struct

from stoker.errors import below
from stoker.generate.block import Block
from stoker.limits import Limits
from stoker.select.assets import Assets, Missing, Reference, Source, source_of
from stoker.select.workload import Scraper
from stoker.validate.budget import Meter
from stoker.validate.findings import json_names
from stoker.version import Version, parse_version

CERTIFICATES = "/etc/prometheus/certs"


class Ignored(Struct, frozen=True):
    """A field that was left out because the workload's version does not know it."""

    path: str
    reason: str


class Draft:
    """What a generator works with: the workload, references, and notes for the reader."""

    def __init__(
        self, scraper: Scraper, assets: Assets, namespace: str, limits: Limits | None = None
    ) -> None:
        self.scraper = scraper
        self.spec = scraper.spec
        self.version = scraper.version
        self.namespace = namespace
        self.ignored: list[Ignored] = []
        self.reads: dict[Source, str | Missing] = {}
        self.meter = Meter(limits)
        self._assets = assets

    def since(self, version: str) -> bool:
        """Whether the workload's version is that one or newer."""
        return self.version >= parse_version(version)

    def value(self, reference: Reference | None) -> str | None:
        """The text behind a reference; None where there is none or it leads nowhere."""
        source = source_of(reference, self.namespace)
        if source is None:
            return None
        found = self._assets.value(source)
        self.reads[source] = found
        if isinstance(found, Missing):
            return None
        self.meter.spend("configuration-bytes", len(found), apart="values")
        return found

    def file(self, reference: Reference | None) -> str | None:
        """The path of the file that will hold the value behind a reference."""
        source = source_of(reference, self.namespace)
        return f"{CERTIFICATES}/{source.file_name}" if source else None

    def ignore(self, path: str, reason: str) -> None:
        """Note that a field was left out."""
        self.ignored.append(Ignored(path, reason))


Write: TypeAlias = Callable[[Any, Draft, str], Any]


class Key(Struct, frozen=True):
    """A member of the configuration and the field it comes from.

    `since` is the first version that knows the member, `until` the first that no longer does.
    `write` turns the field's value (with the draft and the field's path) into the member's; where
    it returns None the member is left out. Without `keep_empty`, an empty string counts as unset.
    """

    name: str
    field: str = ""
    since: str = ""
    until: str = ""
    write: Write | None = None
    keep_empty: bool = False

    def known_to(self, version: Version) -> bool:
        """Whether a version of Prometheus knows this member."""
        if self.since and version < parse_version(self.since):
            return False
        return not (self.until and version >= parse_version(self.until))

    @property
    def versions(self) -> str:
        """The versions that know it, in words."""
        return f"needs Prometheus {self.since} or newer" if self.since else f"gone in {self.until}"


def put(block: Block, keys: tuple[Key, ...], source: Any, draft: Draft, path: str) -> None:
    """Add the members that a table makes of an object's fields, in the order of the table."""
    for key, attribute, json_name, known in _rows(keys, type(source), draft.version):
        value = getattr(source, attribute)
        if value is None or (value == "" and not key.keep_empty):
            continue
        here = below(path, json_name)
        if not known:
            draft.ignore(here, key.versions)
            continue
        written = key.write(value, draft, here) if key.write else value
        if written is not None:
            block[key.name] = written


KeyRow: TypeAlias = tuple[Key, str, str, bool]
_ROWS: dict[tuple[int, type, Version], tuple[tuple[Key, ...], list[KeyRow]]] = {}
# All tables for a few dozen versions. Users say which versions there are, and may say many.
_MOST_ROWS: Final = 8192


def _rows(keys: tuple[Key, ...], model: type, version: Version) -> list[KeyRow]:
    """A table for a type and a version: attribute, JSON name, and whether the version knows it.

    Tables are constants of their modules, so they are told apart by identity; the entry holds on to
    its table, so that no other can take its place.
    """
    place = (id(keys), model, version)
    found = _ROWS.get(place)
    if found is None:
        if len(_ROWS) >= _MOST_ROWS:
            _ROWS.clear()
        names = json_names(model)
        attributes = [(key, key.field or key.name) for key in keys]
        found = _ROWS[place] = (
            keys,
            [(key, name, names[name], key.known_to(version)) for key, name in attributes],
        )
    return found[1]
