"""The configuration of one workload, kept and changed piece by piece.

    put, remove     a resource          one verdict, one fragment, one compressed run
    touched         Secrets, ConfigMaps what read them, if the values that it read are others now
    set_workload    the workload        the frame; fragments only if what they depend on changed

The text is that of `server_config` and `agent_config` for the accepted resources. It is kept in
compressed runs alone (`stream`), and of each resource the verdict. Nothing that a change does is
proportional to the number of resources, except that the compressed runs are joined.

No resource can stop others: one that cannot be used is left out and its verdict says why,
also where its job has the name of an additional one, or where no Secret could hold it. What
is wrong with the workload itself is raised when its configuration is asked for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.declare import OF_JOBS
from stoker.api.prometheus_common import PrometheusCommonSpec
from stoker.api.schema import marked
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.errors import UnknownError, WorkloadError
from stoker.generate.block import scalar
from stoker.generate.draft import Ignored
from stoker.generate.ledger import Ledger, files_differ
from stoker.generate.nodejobs import NodeJob
from stoker.generate.prometheus import (
    NOTHING_ADDITIONAL,
    Additional,
    Fragment,
    Frame,
    agent_frame,
    fragment,
    kinds_of,
    server_frame,
    whole_text,
)
from stoker.generate.split import (
    HANDY_PIECE,
    LARGEST_FILE,
    LARGEST_PIECE,
    MAIN_FILE,
    split_files,
    stays_split,
    too_large,
)
from stoker.generate.stream import Stream, gzip_member
from stoker.ref import Ref
from stoker.select.assets import Assets, Noted, Source
from stoker.select.choice import Monitor
from stoker.select.workload import Scraper
from stoker.validate.budget import stopped
from stoker.validate.findings import Finding, Reason, decisive, nothing_known
from stoker.validate.unforeseen import unforeseen
from stoker.validate.verdicts import Verdict, judge, select

OWN: Final = Ref("", "", "")
"""The workload itself, where it stands among the resources."""

StandIns: TypeAlias = Callable[[Monitor, Scraper], Sequence[ScrapeConfig]]
"""The ScrapeConfigs whose jobs are used in place of a monitor's own; none: its own are."""

_AT_ONCE: Final = 256
"""How many texts there may be beside the compressed ones while many are made."""


_NOTHING: Final = Fragment("")


def settings_of_jobs(scraper: Scraper) -> tuple[Any, ...]:
    """All of a workload that the jobs of resources depend on."""
    spec: PrometheusCommonSpec = scraper.spec
    fixed = (scraper.namespace, scraper.agent, scraper.daemon_set, scraper.portions)
    said = ((name, getattr(spec, name)) for name in marked(type(spec), OF_JOBS))
    return *fixed, scraper.capabilities, *said


def jobs_of(
    resource: Monitor, scraper: Scraper, assets: Assets, stand_ins: StandIns | None = None
) -> Fragment:
    """The fragment of a resource, with the jobs of the ScrapeConfigs in its place, if any are.

    Everything else about it stays the resource's own.
    """
    own = fragment(resource, scraper, assets)
    if stand_ins is None or own.problem:
        return own
    made = [fragment(each, scraper, assets) for each in stand_ins(resource, scraper)]
    if not made or any(each.problem for each in made):
        return own
    return replace(own, text="".join(each.text for each in made))


class _Ends(Struct, frozen=True):
    """A frame and its two ends, compressed; the first for a text with and without resources."""

    frame: Frame
    head: bytes
    head_alone: bytes
    tail: bytes


def _ends(frame: Frame) -> _Ends:
    begin = gzip_member(f"{frame.head}scrape_configs:\n")
    empty = gzip_member(f"{frame.head}scrape_configs: []\n")
    tail = gzip_member(frame.additional + frame.tail)
    return _Ends(frame, begin, begin if frame.additional else empty, tail)


class KeptConfiguration:
    """The configuration of one workload, changed piece by piece.

    The `assets` of each call know what the resources that it concerns refer to, and the workload.
    """

    def __init__(
        self,
        scraper: Scraper,
        assets: Assets,
        additional: Additional = NOTHING_ADDITIONAL,
        rule_config_maps: Sequence[str] = (),
        stand_ins: StandIns | None = None,
    ) -> None:
        self._stand_ins = stand_ins
        self._jobs: Stream[tuple[int, str]] = Stream()
        self._ledger = Ledger()
        self._asset_files: dict[str, str] | None = None
        self._node_jobs: dict[Ref, tuple[NodeJob, ...]] = {}
        self._files_of_jobs: dict[Ref, Mapping[str, str]] = {}
        self._node_files: dict[str, str] | None = None
        self._settings: tuple[Any, ...] = ()
        self.set_workload(scraper, assets, additional, rule_config_maps)

    # --- Changes ----------------------------------------------------------------------------------

    def set_workload(
        self,
        scraper: Scraper,
        assets: Assets,
        additional: Additional = NOTHING_ADDITIONAL,
        rule_config_maps: Sequence[str] = (),
    ) -> None:
        """Take another state of the workload, of its additional configuration or its rules.

        WorkloadError, and nothing changes, where the version cannot be read.
        """
        try:
            self._version = scraper.version
        except ValueError as error:
            raise WorkloadError("spec.version", str(error)) from None
        self._workload = scraper
        self._additional, self._rule_config_maps = additional, rule_config_maps
        self._order = {kind: place for place, kind in enumerate(kinds_of(scraper))}
        self._set_frame(assets)
        self._taken = frozenset() if scraper.daemon_set else _taken_names(additional)
        settings = (*settings_of_jobs(scraper), self._taken)
        if settings != self._settings:
            self._settings = settings
            self._jobs = Stream()
            self.put_all(self._ledger.resources, assets)

    def put(self, key: Ref, resource: Monitor, assets: Assets) -> None:
        """Add a resource that applies to the workload, or take another state of it."""
        self.put_all({key: resource}, assets)

    def put_all(self, resources: Mapping[Ref, Monitor], assets: Assets) -> None:
        """Add or change many resources; each run of the text is compressed once."""
        keys = sorted(resources, key=self._place)
        for start in range(0, len(keys), _AT_ONCE):
            texts: dict[tuple[int, str], str | None] = {}
            for key in keys[start : start + _AT_ONCE]:
                verdict, made = self._verdict_on(resources[key], assets)
                self._note(key, verdict, made)
                texts[self._place(key)] = made.text or None
            self._jobs.change(texts)

    def remove(self, key: Ref) -> None:
        """Drop a resource that is gone or no longer applies; an unknown one is fine."""
        self._note(key, None, _NOTHING)
        self._jobs.remove(self._place(key))

    def touched(self, objects: Iterable[Ref], assets: Assets) -> None:
        """Secrets and ConfigMaps were added, changed or deleted."""
        changed = set(objects)
        if OWN in self._ledger.readers(changed):
            self._set_frame(assets)
        self.put_all(self._ledger.stale(changed, assets), assets)

    # --- Answers ----------------------------------------------------------------------------------

    def take_news(self) -> set[Ref]:
        """The resources that were judged or dropped since this was asked."""
        return self._ledger.take_news()

    def gzip(self) -> bytes:
        """The whole text, compressed; WorkloadError where there is none."""
        ends, members = self._usable(), self._jobs.members()
        return b"".join((ends.head if members else ends.head_alone, *members, ends.tail))

    def text(self) -> str:
        """The whole text; WorkloadError where there is none."""
        return whole_text(self._usable().frame, [self._jobs.text()])

    def config_files(self, now: int = 0) -> dict[str, bytes]:
        """The compressed files by name, each to be put into a Secret of its own.

        One file, as long as it fits. `now` is the number of further files that there are already.
        WorkloadError where there is no configuration, or where the version needs it in one file.
        """
        whole = self.gzip()
        if len(whole) <= LARGEST_FILE and not stays_split(len(whole), self._version, now):
            return {MAIN_FILE: whole}
        pieces = self._jobs.pieces(HANDY_PIECE)
        return split_files(self._usable().frame, pieces, self._version, now)

    @property
    def verdicts(self) -> Mapping[Ref, Verdict]:
        """What became of each resource."""
        return self._ledger.verdicts

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the workload itself; there is no configuration then."""
        return self._own.findings

    @property
    def ignored(self) -> Mapping[Ref, tuple[Ignored, ...]]:
        """What the version does not know, by resource; the workload's own under `OWN`."""
        return self._ledger.ignored

    @property
    def references(self) -> AbstractSet[Ref]:
        """The Secrets and ConfigMaps that were looked for, whether or not they exist."""
        return self._ledger.references.objects

    @property
    def asset_files(self) -> Mapping[str, str]:
        """The files to mount: name to text."""
        if self._asset_files is None:
            self._asset_files = self._mounted()
        return self._asset_files

    def _mounted(self) -> dict[str, str]:
        own = dict(self._own.own_files)
        if self._workload.portions:
            # What jobs read goes where they go.
            return {name: own[name] for name in self._frame_files if name in own}
        for verdict in self._ledger.verdicts.values():
            own |= verdict.files
        return own

    @property
    def node_jobs(self) -> Mapping[Ref, tuple[NodeJob, ...]]:
        """The jobs of each resource where nodes get portions; a copy.

        What did not change is the same object as before.
        """
        return dict(self._node_jobs)

    @property
    def node_files(self) -> Mapping[str, str]:
        """The files that the jobs of portions read: name to text."""
        if self._node_files is None:
            together = (files.items() for files in self._files_of_jobs.values())
            self._node_files = dict(chain.from_iterable(together))
        return self._node_files

    # --- The workload -----------------------------------------------------------------------------

    def _set_frame(self, assets: Assets) -> None:
        self._own = select(self._workload, (), {}, assets)
        self._asset_files = None
        self._frame_files: tuple[str, ...] = ()
        self._made_ends: _Ends | WorkloadError
        reads: dict[Source, Any] = dict(self._own.own_reads)
        ignored: tuple[Ignored, ...] = ()
        try:
            frame = self._frame(assets)
            self._made_ends, ignored = _ends(frame), frame.ignored
            self._frame_files = frame.files
            reads |= frame.reads
        except WorkloadError as error:
            self._made_ends = error
        self._ledger.note_ignored(OWN, ignored)
        self._ledger.references.put(OWN, reads)

    def _frame(self, assets: Assets) -> Frame:
        if self._own.findings:
            error = UnknownError if nothing_known(self._own.findings) else WorkloadError
            raise error("", "; ".join(map(str, decisive(self._own.findings))))
        if self._workload.agent:
            return agent_frame(self._workload, assets, self._additional)
        return server_frame(self._workload, assets, self._additional, self._rule_config_maps)

    def _usable(self) -> _Ends:
        ends = self._made_ends
        if isinstance(ends, WorkloadError):
            raise type(ends)(ends.path, ends.reason)
        return ends

    # --- One resource -----------------------------------------------------------------------------

    def _place(self, key: Ref) -> tuple[int, str]:
        return self._order.get(key.kind, len(self._order)), f"{key.namespace}/{key.name}"

    def _verdict_on(self, resource: Monitor, assets: Assets) -> tuple[Verdict, Fragment]:
        """What becomes of a resource, even of one that we fail on."""
        noted = Noted(assets)
        try:
            return self._made(resource, noted)
        except Exception as error:
            kind, reads = type(resource).__name__, noted.reads()
            return Verdict(kind, resource, (unforeseen(error),), reads), _NOTHING

    def _made(self, resource: Monitor, assets: Assets) -> tuple[Verdict, Fragment]:
        verdict = judge(self._workload, resource, assets)
        if not verdict.accepted or verdict.kind not in self._order:
            return verdict, _NOTHING
        made = jobs_of(resource, self._workload, assets, self._stand_ins)
        if made.reads:
            verdict = replace(verdict, reads={**verdict.reads, **made.reads})
        finding = self._finding(made)
        if finding is None:
            return verdict, made
        return replace(verdict, findings=(finding,), files={}), replace(
            made, text="", jobs=(), files={}
        )

    def _finding(self, made: Fragment) -> Finding | None:
        """What is wrong with jobs that the resource itself does not show."""
        if made.problem:
            return stopped(made.problem)
        for name in self._taken:
            if f"\n- job_name: {scalar(name)}\n" in f"\n{made.text}":
                message = f"the workload has an additional scrape configuration named `{name}`"
                return Finding("", Reason.DUPLICATE, message)
        text = made.text or "".join(job.text for job in made.jobs)
        # A character takes at most four bytes.
        size = len(gzip_member(text)) if 4 * len(text) > LARGEST_PIECE else 0
        if size > LARGEST_PIECE:
            return Finding("spec", Reason.INVALID_VALUE, f"its configuration {too_large(size)}")
        return None

    def _note(self, key: Ref, verdict: Verdict | None, made: Fragment) -> None:
        """Keep what became of a resource; nothing for one that is gone."""
        if files_differ(self._ledger.note(key, verdict, made.ignored), verdict):
            self._asset_files = None
        self._note_jobs(key, made)

    def _note_jobs(self, key: Ref, made: Fragment) -> None:
        """Keep the jobs for nodes; those that are as they were stay the same objects."""
        if not made.jobs:
            self._node_jobs.pop(key, None)
        elif made.jobs != self._node_jobs.get(key):
            self._node_jobs[key] = made.jobs
        if made.files != self._files_of_jobs.pop(key, {}):
            self._node_files = None
        if made.files:
            self._files_of_jobs[key] = made.files


def _taken_names(additional: Additional) -> frozenset[str]:
    """The names of additional jobs that the job of a resource could have too.

    Those have a kind, a namespace and a name in them.
    """
    jobs = (job for job in additional.scrape_configs or () if isinstance(job, dict))
    names = (str(job.get("job_name")) for job in jobs)
    return frozenset(name for name in names if name.count("/") >= 2)
