"""The rules of one workload, kept and changed piece by piece.

    put, remove     a PrometheusRule    one verdict, one file, one ConfigMap
    set_workload    the workload        the files that what changed of it has a part in

Each PrometheusRule is a file, judged and written on its own, and the files lie in ConfigMaps. Where
each of them lies is remembered: a changed file stays in its ConfigMap, which has room to grow that
no new file gets, and leaves it for the first with room only when it has outgrown that too. The
first answer begins with what the ConfigMaps of the
cluster hold; where hardly a third of their room is in use later, all are filled afresh. That moves
files, and Prometheus forgets since when an alert of a moved file is pending, so it must be rare.

Pods mount what exists, and some that do not exist yet. One more than these is another pod template,
and all pods roll; so all are filled afresh before that, and a ConfigMap that is mounted because it
exists stays when it is empty, be it one of a peer's that is taken over.

The files are kept compressed, one by one, and unpacked by whoever reads them. A ConfigMap that did
not change is the same object in the next answer, so its texts need no comparing.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from msgspec import Struct

from stoker.api.prometheus import PrometheusSpec
from stoker.api.rules import PrometheusRule
from stoker.api.thanosruler import ThanosRulerSpec
from stoker.errors import WorkloadError
from stoker.generate.draft import Ignored
from stoker.generate.ledger import Ledger
from stoker.generate.rules import (
    CONFIG_MAP_LIMIT,
    GROWN_LIMIT,
    MOST_FILES,
    Enforcement,
    RuleFile,
    enforcement_of,
    file_name,
    rule_file,
    split_files,
    text_size,
)
from stoker.limits import NO_CHANGES, Limits
from stoker.ref import Ref
from stoker.select.choice import RULE_KIND
from stoker.select.workload import Scraper
from stoker.settings import DEFAULT_THANOS_VERSION
from stoker.validate.rules import RuleReader, prometheus_reader, thanos_reader
from stoker.validate.unforeseen import unforeseen
from stoker.validate.verdicts import Verdict
from stoker.version import parse_version

# One in so many bytes of room must be in use, or all ConfigMaps are filled afresh. Then it is about
# every second one at least, so it takes many changes until that is done again.
_NEEDED_SHARE: Final = 3


class RuleTerms(Struct, frozen=True):
    """All of a workload that its rules depend on."""

    reader: RuleReader
    enforcement: Enforcement = Enforcement()


def prometheus_terms(scraper: Scraper) -> RuleTerms:
    """What the rules of a Prometheus depend on; WorkloadError if its version cannot be read."""
    try:
        reader = prometheus_reader(scraper)
    except ValueError as error:
        raise WorkloadError("spec.version", str(error)) from None
    spec = scraper.spec
    held = enforcement_of(spec) if isinstance(spec, PrometheusSpec) else Enforcement()
    return RuleTerms(reader, held)


def thanos_terms(spec: ThanosRulerSpec, limits: Limits = NO_CHANGES) -> RuleTerms:
    """What the rules of a Thanos Ruler depend on; WorkloadError if its version cannot be read."""
    try:
        version = parse_version(spec.version or DEFAULT_THANOS_VERSION)
    except ValueError as error:
        raise WorkloadError("spec.version", str(error)) from None
    reader = thanos_reader(version, tuple(spec.enable_features or ()), limits)
    return RuleTerms(reader, enforcement_of(spec))


class KeptRules:
    """The rules of one workload: what became of each PrometheusRule, and its ConfigMaps."""

    def __init__(self, terms: RuleTerms, mounted: int) -> None:
        """`mounted`: how many ConfigMaps pods mount, whether they exist or not."""
        self._terms = terms
        self._mounted = mounted
        self._ledger = Ledger()
        self._shelves: list[_Shelf] | None = None
        # Files that are others since the last answer, or are gone.
        self._pending: dict[str, str | None] = {}

    # --- Changes ----------------------------------------------------------------------------------

    def set_workload(self, terms: RuleTerms) -> None:
        """Take another state of the workload; rules are judged again if it matters to them."""
        before, self._terms = self._terms, terms
        if before != terms:
            every = self._ledger.resources.items()
            self.put_all({key: rule for key, rule in every if _is_other(rule, before, terms)})

    def put(self, key: Ref, rule: PrometheusRule) -> None:
        """Add a PrometheusRule that applies to the workload, or take another state of it."""
        made = self._made(rule)
        self._note(key, Verdict(RULE_KIND.name, rule, made.findings), made.ignored)
        self._pending[made.name] = None if made.findings else made.text

    def _made(self, rule: PrometheusRule) -> RuleFile:
        """The file of a PrometheusRule, even of one that we fail on."""
        try:
            return rule_file(rule, self._terms.reader, self._terms.enforcement)
        except Exception as error:
            return RuleFile(file_name(rule.metadata), findings=(unforeseen(error),))

    def put_all(self, rules: Mapping[Ref, PrometheusRule]) -> None:
        """Add or change many."""
        for key, rule in rules.items():
            self.put(key, rule)

    def remove(self, key: Ref) -> None:
        """Drop a PrometheusRule that is gone or no longer applies; an unknown one is fine."""
        self._note(key, None)

    def _note(self, key: Ref, verdict: Verdict | None, ignored: tuple[Ignored, ...] = ()) -> None:
        before = self._ledger.note(key, verdict, ignored)
        if before is not None:
            self._pending[file_name(before.resource.metadata)] = None

    # --- Answers ----------------------------------------------------------------------------------

    def config_maps(self, before: Sequence[Mapping[str, str]] = ()) -> list[Mapping[str, str]]:
        """The files of each ConfigMap, at least one; the same object where nothing changed.

        The first answer begins with `before`, what each of them holds now.
        """
        there = len(before if self._shelves is None else self._shelves)
        # Those that are mounted because they exist must go on existing.
        pinned = there if there > self._mounted else 0
        made = self._shelves or []
        if self._shelves is None:
            made = _filled(self._pending, before, pinned)
        elif self._pending:
            made = _rearranged(self._shelves, self._pending, self._mounted)
        self._shelves, self._pending = [*made, *[_EMPTY] * (pinned - len(made))], {}
        return list(self._shelves)

    def take_news(self) -> set[Ref]:
        """The PrometheusRules that were judged or dropped since this was asked."""
        return self._ledger.take_news()

    @property
    def verdicts(self) -> Mapping[Ref, Verdict]:
        """What became of each PrometheusRule."""
        return self._ledger.verdicts

    @property
    def ignored(self) -> Mapping[Ref, tuple[Ignored, ...]]:
        """What the version does not know, by PrometheusRule."""
        return self._ledger.ignored


def _is_other(rule: PrometheusRule, before: RuleTerms, after: RuleTerms) -> bool:
    """Whether a rule must be made again for other terms: not where only others are spared."""
    if before.reader != after.reader:
        return True
    labels = [
        terms.enforcement.label if terms.enforcement.concerns(rule.metadata) else ""
        for terms in (before, after)
    ]
    return labels[0] != labels[1]


# --- ConfigMaps -----------------------------------------------------------------------------------


class _Shelf(Mapping[str, str]):
    """The files of one ConfigMap by name, which never change; packed until they are read."""

    __slots__ = ("_packed", "size")

    def __init__(self, packed: Mapping[str, bytes], size: int) -> None:
        self._packed = packed
        self.size = size

    def __getitem__(self, name: str) -> str:
        return _unpacked(self._packed[name])

    def __contains__(self, name: object) -> bool:
        return name in self._packed

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._packed))

    def __len__(self) -> int:
        return len(self._packed)

    def changed(self, files: Mapping[str, str | None]) -> "_Shelf":
        """Another one, where these files are others or, with None, gone."""
        if not files:
            return self
        packed, size = dict(self._packed), self.size
        for name, text in files.items():
            if name in packed:
                size -= text_size(_unpacked(packed.pop(name)))
            if text is not None:
                packed[name] = _packed(text)
                size += text_size(text)
        return _Shelf(packed, size)


_EMPTY: Final = _Shelf({}, 0)


def _filled(
    files: Mapping[str, str | None], before: Sequence[Mapping[str, str]] = (), pinned: int = 0
) -> list[_Shelf]:
    present = {name: text for name, text in files.items() if text is not None}
    return [_EMPTY.changed(held) for held in split_files(present, before, pinned)]


def _rearranged(
    shelves: Sequence[_Shelf], files: Mapping[str, str | None], least: int
) -> list[_Shelf]:
    """The ConfigMaps after these files were changed or, with None, dropped.

    Pods mount `least` of them at least.
    """
    kept = [_kept(shelf, files) for shelf in shelves]
    homeless = {
        name: text
        for name, text in files.items()
        if text is not None and not any(name in shelf for shelf in kept)
    }
    placed = _placed(kept, homeless)
    while len(placed) > 1 and not placed[-1]:
        placed.pop()
    mounted = max(len(shelves), least)
    if len(placed) > mounted or (mounted == least and _is_wasteful(placed)):
        anew = _filled({name: text for shelf in placed for name, text in shelf.items()})
        return anew if len(anew) < len(placed) else placed
    return placed


def _is_wasteful(shelves: Sequence[_Shelf]) -> bool:
    """Whether so little room is in use that all should be filled afresh."""
    needed = _NEEDED_SHARE * sum(shelf.size for shelf in shelves)
    return needed < (len(shelves) - 1) * CONFIG_MAP_LIMIT


def _kept(shelf: _Shelf, files: Mapping[str, str | None]) -> _Shelf:
    """A ConfigMap with those of its files that still fit."""
    here = {name: text for name, text in files.items() if name in shelf and shelf[name] != text}
    without = shelf.changed(dict.fromkeys(here))
    room = GROWN_LIMIT - without.size
    fitting = {}
    for name, text in sorted(here.items()):
        if text is not None and text_size(text) <= room:
            room -= text_size(text)
            fitting[name] = text
    return without.changed(fitting)


def _placed(shelves: Sequence[_Shelf], files: Mapping[str, str]) -> list[_Shelf]:
    """The ConfigMaps with more files, each in the first that has room."""
    rooms = [_room(shelf.size, len(shelf)) for shelf in shelves]
    coming: list[dict[str, str]] = [{} for _ in shelves]
    for name, text in sorted(files.items()):
        room = _Room(text_size(text), 1)
        place = next((at for at, free in enumerate(rooms) if room.fits(free)), len(rooms))
        if place == len(rooms):
            rooms.append(_room(0, 0))
            coming.append({})
        rooms[place] = _Room(rooms[place].size - room.size, rooms[place].files - 1)
        coming[place][name] = text
    both = zip_longest(shelves, coming, fillvalue=_EMPTY)
    return [shelf.changed(more) for shelf, more in both]


class _Room(NamedTuple):
    """Room for files: bytes, and how many."""

    size: int
    files: int

    def fits(self, free: "_Room") -> bool:
        """Whether there is as much as this."""
        return self.size <= free.size and self.files <= free.files


def _room(size: int, files: int) -> _Room:
    """What is left for new files beside so many, of this size."""
    return _Room(CONFIG_MAP_LIMIT - size, MOST_FILES - files)


# --- Compression ----------------------------------------------------------------------------------

# What is found in most files, the commonest last: a short file repeats little of itself.
_COMMON: Final = (
    b"runbook_url: https:// query_offset: keep_firing_for: severity: critical severity: info "
    b"histogram_quantile(0.99, sum by (le) (rate(increase(_total[1h])) absent( offset unless on "
    b"(namespace, pod) group_left() {{ $labels.instance }} {{ $labels.namespace }}/{{ $labels.pod "
    b"}} {{ $value | humanize }} {{ $value | humanizePercentage }}groups:\n- interval: 30s\n"
    b'  labels:\n  name: \n  rules:\n  - expr: sum by (namespace) (rate({job=""}[5m]))\n'
    b"    labels:\n    record: \n  - alert: \n    annotations:\n      description: |-\n"
    b"      summary: \n    expr: up == 0\n    for: 15m\n    labels:\n      severity: warning\n"
)
_LEVEL: Final = 6
_RAW: Final = -zlib.MAX_WBITS


def _packed(text: str) -> bytes:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW, zdict=_COMMON)
    return packer.compress(text.encode()) + packer.flush()


def _unpacked(packed: bytes) -> str:
    return zlib.decompressobj(_RAW, zdict=_COMMON).decompress(packed).decode()
