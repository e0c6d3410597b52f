"""The configuration of one Alertmanager, kept and changed piece by piece.

    put_all, remove    AlertmanagerConfigs    one verdict, one piece, four runs of text
    touched            Secrets, ConfigMaps    what read them, if the values are others now
    set_root           the global AlertmanagerConfig    the base

One bad AlertmanagerConfig is left out and its verdict says why; the others stay (the peer stops for
all). So is what there is no room for (`amroom`). What is wrong with the base is raised when the
configuration is asked for.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from msgspec.structs import replace

from stoker.api.alertmanager import Alertmanager
from stoker.errors import OverBudgetError, ResourceError, UnknownError, WorkloadError
from stoker.generate.alertmanager.config import (
    AlertTerms,
    Base,
    Contribution,
    base_of,
    joined_piece,
    piece_of,
    root_name,
    terms_of,
)
from stoker.generate.alertmanager.frame import GAPS, AlertFrame, Texts, frame_of, piece_texts
from stoker.generate.alertmanager.room import (
    NO_ROOM,
    LeftOut,
    Size,
    left_out,
    size_of,
    without_room,
)
from stoker.generate.draft import Ignored
from stoker.generate.fragments import OWN
from stoker.generate.ledger import Ledger, files_differ
from stoker.generate.stream import Stream, gzip_member
from stoker.limits import NO_CHANGES, Limits
from stoker.ref import Ref
from stoker.select.assets import Assets, Noted
from stoker.validate.alertmanager.config import Config, alertmanager_config, global_settings
from stoker.validate.alertmanager.reading import AlertReading
from stoker.validate.budget import Meter, stopped
from stoker.validate.findings import Finding, Reason, decisive, nothing_known
from stoker.validate.unforeseen import unforeseen
from stoker.validate.verdicts import NOTHING, Verdict

KIND: Final = "AlertmanagerConfig"


class KeptAlerting:
    """The configuration of one Alertmanager.

    The `assets` of each call know what the objects that it concerns refer to, and the Alertmanager.
    `root` is the AlertmanagerConfig that `spec.alertmanagerConfiguration` names. With `deny_files`,
    tenants must not name files of Alertmanager's container. `limits`: what one object may cost.
    """

    def __init__(
        self,
        alertmanager: Alertmanager,
        assets: Assets,
        *,
        root: Config | None = None,
        deny_files: bool = False,
        limits: Limits = NO_CHANGES,
    ) -> None:
        self._terms = terms_of(alertmanager, deny_files=deny_files, limits=limits)
        self._alertmanager = alertmanager
        self._root = root
        self._ledger = Ledger()
        self._runs: dict[str, Stream[str]] = {gap: Stream() for gap in GAPS}
        self._lengths: dict[Ref, int] = {}
        self._sizes: dict[Ref, Size] = {}
        self._left_out: dict[Ref, LeftOut] = {}
        self._asset_files: dict[str, str] | None = None
        self._own_files: dict[str, str] = {}
        self._set_base(assets)

    # --- Changes ----------------------------------------------------------------------------------

    def set_alertmanager(self, alertmanager: Alertmanager, assets: Assets) -> None:
        """Take another state of the Alertmanager."""
        fixed = self._terms
        terms = terms_of(alertmanager, deny_files=fixed.deny_files, limits=fixed.limits)
        changed, self._terms, self._alertmanager = terms != self._terms, terms, alertmanager
        self._rebase(assets, again=changed)

    def set_root(self, root: Config | None, assets: Assets) -> None:
        """Take another state of the global AlertmanagerConfig."""
        self._root = root
        self._rebase(assets)

    def put_all(self, resources: Mapping[Ref, Config], assets: Assets) -> None:
        """Add AlertmanagerConfigs that apply, or take other states of them."""
        texts: dict[Ref, Texts] = {}
        for key, resource in resources.items():
            verdict, piece = self._made(key, resource, assets)
            verdict, written = self._written(verdict, piece)
            self._note(key, verdict, piece.ignored)
            texts[key] = written
            self._left_out.pop(key, None)
        self._set_texts(texts)
        self._fit()

    def put(self, key: Ref, resource: Config, assets: Assets) -> None:
        """Add one, or take another state of it."""
        self.put_all({key: resource}, assets)

    def remove(self, key: Ref) -> None:
        """Drop one that is gone or no longer applies; an unknown one is fine."""
        self._note(key, None, ())
        self._left_out.pop(key, None)
        self._set_texts({key: dict.fromkeys(GAPS, "")})
        del self._lengths[key]
        self._fit()

    def touched(self, objects: Iterable[Ref], assets: Assets) -> None:
        """Secrets and ConfigMaps were added, changed or deleted."""
        changed = set(objects)
        if OWN in self._ledger.readers(changed):
            self._rebase(assets)
        self.put_all(self._ledger.stale(changed, assets), assets)

    # --- Answers ----------------------------------------------------------------------------------

    def take_news(self) -> set[Ref]:
        """The AlertmanagerConfigs that were judged or dropped since this was asked."""
        return self._ledger.take_news()

    def text(self) -> str:
        """The whole text; WorkloadError where there is none."""
        if self._usable().verbatim is not None:
            return self._usable().verbatim or ""
        return "".join(
            self._runs[part].text() if part in self._runs else part for part in self._layout()
        )

    def gzip(self) -> bytes:
        """The whole text, compressed; WorkloadError where there is none."""
        if self._usable().verbatim is not None:
            return gzip_member(self._usable().verbatim or "")
        members: list[bytes] = []
        for part in self._layout():
            members += self._runs[part].members() if part in self._runs else [gzip_member(part)]
        return b"".join(members)

    @property
    def verdicts(self) -> Mapping[Ref, Verdict]:
        """What became of each AlertmanagerConfig."""
        return self._ledger.verdicts

    @property
    def ignored(self) -> Mapping[Ref, tuple[Ignored, ...]]:
        """What the version does not know, by object; the Alertmanager's own under `OWN`."""
        return self._ledger.ignored

    @property
    def references(self) -> AbstractSet[Ref]:
        """The Secrets and ConfigMaps that were looked for, whether or not they exist."""
        return self._ledger.references.objects

    @property
    def asset_files(self) -> Mapping[str, str]:
        """The files to mount: name to text."""
        if self._asset_files is None:
            self._asset_files = dict(self._own_files)
            for verdict in self._ledger.verdicts.values():
                self._asset_files |= verdict.files
        return self._asset_files

    @property
    def template_files(self) -> tuple[str, ...]:
        """The names of the template files that the configuration loads."""
        return self._base.template_files if isinstance(self._base, Base) else ()

    # --- The base ---------------------------------------------------------------------------------

    def _set_base(self, assets: Assets) -> None:
        self._base: Base | WorkloadError
        self._frame: AlertFrame | None = None
        # The global one lies beside the Alertmanager.
        namespace = self._root.metadata.namespace if self._root else self._terms.namespace
        reading, seen = _reading(self._terms, assets, namespace or ""), Noted(assets)
        try:
            self._check_base(reading)
            self._base = base_of(self._alertmanager, self._root, seen)
        except WorkloadError as error:
            self._base = error
        made = self._base if isinstance(self._base, Base) else Base()
        self._own_files, self._asset_files = reading.files, None
        self._ledger.references.put(OWN, {*reading.reads, *seen.sources})
        self._ledger.note_ignored(OWN, made.ignored)
        if made.verbatim is None:
            self._frame = frame_of(made.tree)

    def _check_base(self, reading: AlertReading) -> None:
        """What a global AlertmanagerConfig and the settings beside it must be."""
        configuration = self._alertmanager.spec.alertmanager_configuration
        if configuration is None or self._root is None:
            return
        path = "spec.alertmanagerConfiguration"
        found = [*alertmanager_config(self._root, reading)]
        if configuration.global_ is not None:
            found += global_settings(configuration.global_, reading, f"{path}.global")
        if found:
            error = UnknownError if nothing_known(found) else WorkloadError
            raise error(path, "; ".join(map(str, decisive(found))))

    def _rebase(self, assets: Assets, *, again: bool = False) -> None:
        """Make the base again, and the pieces if they depend on what is different in it."""
        before = self._met()
        self._set_base(assets)
        if again or before != self._met():
            self.put_all(self._ledger.resources, assets)

    def _met(self) -> Any:
        """All of the base that a piece may clash with."""
        base = self._base
        return (base.common, base.names, base.verbatim) if isinstance(base, Base) else None

    def _usable(self) -> Base:
        if isinstance(self._base, WorkloadError):
            raise type(self._base)(self._base.path, self._base.reason)
        return self._base

    def _layout(self) -> list[str]:
        self._usable()
        filled = {gap: bool(run.members()) for gap, run in self._runs.items()}
        return self._frame.layout(filled) if self._frame else []

    # --- Room -------------------------------------------------------------------------------------

    def _fit(self) -> None:
        """Leave out what there is no room for, and take back what there is room for again."""
        if not self._left_out and self._size().fits:
            return
        before = set(self._left_out)
        sizes = {key: each.size for key, each in self._left_out.items()}
        whole = sum(sizes.values(), self._size())
        self._leave_out(without_room(sizes | self._sizes_of_all(), whole))
        while not self._size().fits and any(self._lengths.values()):
            more = without_room(self._sizes_of_all(), self._size())
            self._leave_out(more | self._left_out.keys())
        self._ledger.news |= before ^ self._left_out.keys()

    def _leave_out(self, keys: set[Ref]) -> None:
        """Leave these out and no others."""
        texts: dict[Ref, Texts] = {}
        for key in self._left_out.keys() - keys:
            back = self._left_out.pop(key)
            self._ledger.verdicts[key], texts[key] = back.verdict, back.texts()
        going = keys - self._left_out.keys()
        for key, of_key in self._texts(going).items():
            verdict = self._ledger.verdicts[key]
            self._left_out[key] = left_out(verdict, of_key)
            texts[key] = dict.fromkeys(GAPS, "")
            finding = Finding("spec", Reason.CONFLICT, NO_ROOM)
            self._ledger.verdicts[key] = replace(verdict, findings=(finding,), files={})
        self._set_texts(texts)
        self._asset_files = None

    def _texts(self, keys: AbstractSet[Ref]) -> dict[Ref, Texts]:
        """The texts of these; each run of the configuration is unpacked once."""
        names = {key.path for key in keys}
        found = {gap: run.parts(names) for gap, run in self._runs.items()}
        return {key: {gap: found[gap].get(key.path, "") for gap in GAPS} for key in keys}

    def _set_texts(self, texts: Mapping[Ref, Texts]) -> None:
        for key, of_key in texts.items():
            self._lengths[key] = sum(map(len, of_key.values()))
            self._sizes.pop(key, None)
        for gap, run in self._runs.items():
            run.change({key.path: of_key[gap] or None for key, of_key in texts.items()})

    def _size(self) -> Size:
        """What all pieces take; how far they can be compressed only where it matters."""
        length = sum(self._lengths.values())
        # A letter has at most four bytes.
        whole = Size(length, 4 * length)
        if whole.fits:
            return whole
        members = (member for run in self._runs.values() for member in run.members())
        return Size(length, sum(map(len, members)))

    def _sizes_of_all(self) -> dict[Ref, Size]:
        """The sizes of what is in the configuration."""
        present = {key for key, length in self._lengths.items() if length}
        for key, texts in self._texts(present - self._sizes.keys()).items():
            self._sizes[key] = size_of("".join(texts.values()))
        return {key: self._sizes[key] for key in present}

    # --- One AlertmanagerConfig -------------------------------------------------------------------

    def _made(self, key: Ref, resource: Config, assets: Assets) -> tuple[Verdict, Contribution]:
        """What becomes of an object, even of one that we fail on."""
        noted = Noted(assets)
        try:
            return self._joined(key, resource, noted)
        except Exception as error:
            return Verdict(KIND, resource, (unforeseen(error),), noted.reads()), Contribution({})

    def _joined(self, key: Ref, resource: Config, assets: Assets) -> tuple[Verdict, Contribution]:
        verdict, piece = verdict_on(resource, self._terms, assets)
        if self._is_root(key):
            return verdict, Contribution({})
        base = self._base
        if not verdict.accepted or not isinstance(base, Base) or base.verbatim is not None:
            return verdict, piece
        try:
            return verdict, joined_piece(piece, base)
        except ResourceError as error:
            return _rejected(verdict, error), Contribution({})

    def _written(self, verdict: Verdict, piece: Contribution) -> tuple[Verdict, Texts]:
        """The text of a piece; none of it where that is too much."""
        texts = piece_texts(piece.tree)
        try:
            Meter(self._terms.limits).spend("configuration-bytes", sum(map(len, texts.values())))
        except OverBudgetError as error:
            return _rejected(verdict, error), dict.fromkeys(GAPS, "")
        return verdict, texts

    def _is_root(self, key: Ref) -> bool:
        """Whether it is the global one, which is in the base already."""
        if self._alertmanager.spec.alertmanager_configuration is None:
            return False
        try:
            name = root_name(self._alertmanager)
        except WorkloadError:
            return False
        return (key.namespace, key.name) == (self._terms.namespace, name)

    def _note(self, key: Ref, verdict: Verdict | None, ignored: tuple[Ignored, ...]) -> None:
        if files_differ(self._ledger.note(key, verdict, ignored), verdict):
            self._asset_files = None


def verdict_on(resource: Config, terms: AlertTerms, assets: Assets) -> tuple[Verdict, Contribution]:
    """What an Alertmanager makes of an AlertmanagerConfig, whatever its base, and what it adds."""
    reading = _reading(terms, assets, resource.metadata.namespace or "")
    findings = tuple(alertmanager_config(resource, reading))
    read = reading.reads or NOTHING
    if findings:
        return Verdict(KIND, resource, findings, read), Contribution({})
    verdict = Verdict(KIND, resource, (), read, reading.files or NOTHING)
    try:
        piece = piece_of(resource, terms, assets)
    except ResourceError as error:
        return _rejected(verdict, error), Contribution({})
    reads = {**reading.reads, **piece.reads}
    return replace(verdict, reads=reads) if reads else verdict, piece


def _rejected(verdict: Verdict, error: ResourceError) -> Verdict:
    return replace(verdict, findings=(stopped(error),), files={})


def _reading(terms: AlertTerms, assets: Assets, namespace: str) -> AlertReading:
    return AlertReading(
        terms.version,
        assets,
        namespace,
        features=terms.features,
        deny_files=terms.deny_files,
        limits=terms.limits,
    )
