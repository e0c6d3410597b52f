"""The portions of one workload: for each node that is asked for, its files and their digests.

A node has what is on it, and the strays that it is given (`strays`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct, field

from stoker.generate.nodejobs import NodeJob
from stoker.portions.candidates import group_on, strays_given
from stoker.portions.placed import Known, PlacedJob, Shared, digest_of, targets_file
from stoker.portions.strays import Agents, Moved, Strays
from stoker.portions.whereabouts import Only, SourceObject, Touched, Whereabouts
from stoker.ref import Ref
from stoker.targets.discovery import CannotTellError, Group
from stoker.targets.job import NO_DEFAULTS, Defaults
from stoker.version import Version

_NEVER: Final = 0
# Files up to this size are remembered for a moment, because they are wanted again at once.
_MOST_TEXT: Final = 128 * 1024
# What jobs keep on the nodes that were looked at last, in bytes: a pod that is replaced changes its
# node several times within seconds, each time a small part of one file.
_MOST_KEPT: Final = 1024 * 1024


class _Part(NamedTuple):
    """What of a source a node has: what is on the node, or strays."""

    source: SourceObject
    stray: bool = False


class _Targets(Struct):
    """What one job finds for a node: from which objects, and the digest of its file."""

    sources: set[tuple[Shared, _Part]] = field(default_factory=set)
    digest: str = ""


_Keeping = tuple[str, Shared, _Part]
# Beside its characters, what a text takes in memory.
_BESIDE: Final = 128


def _size_of(written: tuple[bytes, ...]) -> int:
    return sum(len(each) + _BESIDE for each in written)


class _OnNode(Struct):
    """What is known of a node: since which state of the jobs, and what changed since.

    `kept` is what jobs keep of parts, by their stems, as far as it is remembered: so many bytes.
    """

    as_of: int = _NEVER
    touched: dict[_Part, Only] = field(default_factory=dict)
    found: dict[str, _Targets] = field(default_factory=dict)
    kept: dict[_Keeping, tuple[bytes, ...]] = field(default_factory=dict)
    size: int = 0

    def keep(self, key: _Keeping, written: tuple[bytes, ...]) -> None:
        """Remember what a job keeps of a part; nothing of it if it is nothing, or too much."""
        self.size -= _size_of(self.kept.pop(key, ()))
        size = _size_of(written)
        if written and self.size + size <= _MOST_KEPT:
            self.kept[key] = written
            self.size += size

    def drop(self, stems: set[str]) -> None:
        """Forget what these jobs keep."""
        for key in [each for each in self.kept if each[0] in stems]:
            self.keep(key, ())


class Portions:
    """What each node gets of one workload; nothing is worked out before it is asked for.

    `problems` are jobs that no node gets, with the reason.
    """

    def __init__(
        self, places: Whereabouts, version: Version, defaults: Defaults = NO_DEFAULTS
    ) -> None:
        self.problems: dict[str, str] = {}
        self._places = places
        self._strays = Strays(places)
        self._known = Known(version, defaults)
        self._state = _NEVER
        self._given: Mapping[Ref, tuple[NodeJob, ...]] = {}
        self._jobs: dict[str, PlacedJob] = {}
        self._files: dict[str, tuple[str, bytes]] = {}
        self._by_space: dict[tuple[str, str], list[Shared]] = {}
        self._reads_moment = False
        self._nodes: dict[str, _OnNode] = {}
        # The nodes of which something is remembered, that of the last look last; bytes of it all.
        self._recent: dict[str, _OnNode] = {}
        self._size = 0
        # The files that were made last, and for which node: whoever has them digested wants them.
        self._made: tuple[str, dict[str, bytes]] = ("", {})

    def set_jobs(
        self, jobs: Mapping[Ref, tuple[NodeJob, ...]], files: Mapping[str, str]
    ) -> set[str]:
        """Take the jobs of all monitors, and the TLS files that they read.

        Returns the nodes that may have something else now. What is the same object as before, or
        equal to it, costs next to nothing.
        """
        self._state += 1
        moved = [key for key in {*self._given, *jobs} if self._given.get(key) is not jobs.get(key)]
        gone = {each.stem for key in moved for each in self._given.get(key, ())}
        come = {each.stem: each for key in moved for each in jobs.get(key, ())}
        for stem in gone - come.keys():
            self._remove(stem)
        for stem, job in come.items():
            self._add(stem, job)
        self._given = dict(jobs)
        self._files = {name: self._file(name, text.encode()) for name, text in files.items()}
        self._reads_moment = any(each.reads_moment for each in self._jobs.values())
        self._known.forget()
        self._by_space = {}
        for shared in self._known.all:
            for space in shared.spaces:
                self._by_space.setdefault(space, []).append(shared)
        return set(self._nodes)

    def set_agents(self, agents: Agents | None) -> set[str]:
        """Take where the agents of the workload are, so that strays are given to them.

        None, as at first: what is on no node that asks is nobody's. Returns the nodes that may have
        something else now.
        """
        other, moved = self._strays.set_agents(agents)
        own = [Moved(node, source) for node in other for source in self._places.on(node)]
        return self._note(own, stray=False) | self._note(moved, stray=True)

    def touch(self, touched: Iterable[Touched]) -> set[str]:
        """Take up what is to be looked at again; the nodes that may have something else now."""
        nodes = set()
        for node, source, only in touched:
            if only is Only.OF_MOMENT and not self._reads_moment:
                continue
            if self._strays.are_at(node):
                nodes |= self._note(self._strays.look(source), stray=True)
            else:
                nodes |= self._note([Moved(node, source)], stray=False, only=only)
        return nodes

    def _note(self, parts: Iterable[Moved], *, stray: bool, only: Only = Only.ALL) -> set[str]:
        nodes = set()
        for node, source in parts:
            known = self._nodes.get(node)
            if known is not None and any(self._seeing(source, only)):
                part = _Part(source, stray)
                known.touched[part] = only if known.touched.get(part, only) is only else Only.ALL
                nodes.add(node)
        return nodes

    def digests(self, node: str) -> dict[str, str]:
        """The files of a node, each with its digest: all of one state."""
        known = self._brought_up(node)
        found: dict[str, str] = {}
        for stem, targets in known.found.items():
            job = self._jobs[stem]
            found[job.path], found[job.targets] = job.digest, targets.digest
            for path, name in job.tls:
                found[path] = self._files[name][0]
        return found

    def text(self, node: str, path: str) -> bytes:
        """A file of a node; KeyError where it has none of that name now."""
        known = self._brought_up(node)
        folder, _, name = path.partition("/")
        if folder == "tls":
            return self._files[name][1]
        stem = name.rpartition(".")[0]
        if stem not in known.found:
            raise KeyError(path)
        if folder == "jobs":
            return self._jobs[stem].text
        made = self._made[1].get(stem)
        if made is None:
            before = known.size
            made = self._file_of(node, stem, known)
            self._remember(node, known, before)
        return made

    def changes_of(self, node: str) -> int | None:
        """In how much there is to look to bring a node up; None where that is everything."""
        known = self._nodes.get(node)
        return len(known.touched) if known and known.as_of == self._state else None

    def forget(self, node: str) -> None:
        """Nobody asks for this node any longer."""
        self._nodes.pop(node, None)
        self._forget_kept(node)

    def __len__(self) -> int:
        """How many nodes are kept up."""
        return len(self._nodes)

    # --- Jobs -------------------------------------------------------------------------------------

    def _add(self, stem: str, job: NodeJob) -> None:
        known = self._jobs.get(stem)
        since = known.since if known and known.job.block == job.block else self._state
        self._remove(stem)
        try:
            placed = PlacedJob(job, self._known, since)
        except CannotTellError as error:
            self.problems[stem] = str(error)
            return
        self._jobs[stem] = placed
        for shared in placed.shared:
            shared.jobs[stem] = placed

    def _remove(self, stem: str) -> None:
        self.problems.pop(stem, None)
        known = self._jobs.pop(stem, None)
        for shared in known.shared if known else ():
            shared.jobs.pop(stem, None)

    def _file(self, name: str, text: bytes) -> tuple[str, bytes]:
        known = self._files.get(name)
        return known if known and known[1] == text else (digest_of(text), text)

    # --- Nodes ------------------------------------------------------------------------------------

    def _brought_up(self, node: str) -> _OnNode:
        """What is known of a node, after a look at all that changed since the last one."""
        known = self._nodes.setdefault(node, _OnNode())
        if self._made[0] != node:
            self._made = node, {}
        if known.as_of == self._state and not known.touched:
            return known
        before = known.size
        moved: set[str] = set()
        if known.as_of != self._state:
            gone = known.found.keys() - self._jobs.keys()
            for stem in gone:
                del known.found[stem]
            known.drop(gone)
            moved |= self._look_for_new(node, known)
            known.as_of = self._state
        touched, known.touched = known.touched, {}
        for part, only in touched.items():
            for shared in self._seeing(part.source, only):
                moved |= self._look(node, known, part, shared, shared.jobs.values())
        for stem in moved:
            self._settle(node, known, stem)
        self._remember(node, known, before)
        return known

    def _remember(self, node: str, known: _OnNode, before: int) -> None:
        """Note that a node was looked at now, and forget what others keep if it is too much."""
        self._size += known.size - before
        self._recent.pop(node, None)
        if known.size:
            self._recent[node] = known
        while self._size > _MOST_KEPT and len(self._recent) > 1:
            self._forget_kept(next(iter(self._recent)))

    def _forget_kept(self, node: str) -> None:
        known = self._recent.pop(node, None)
        if known:
            self._size -= known.size
            known.kept, known.size = {}, 0

    def _look_for_new(self, node: str, known: _OnNode) -> set[str]:
        """Look at all sources for jobs that are newer than what is known."""
        moved = set()
        new: dict[Shared, list[PlacedJob]] = {}
        for stem, job in self._jobs.items():
            if job.since > known.as_of:
                if known.found.pop(stem, None):
                    moved.add(stem)
                for shared in job.shared:
                    new.setdefault(shared, []).append(job)
        known.drop(moved)
        for part in self._parts(node) if new else ():
            for shared in self._seeing(part.source):
                moved |= self._look(node, known, part, shared, new.get(shared, ()))
        return moved

    def _parts(self, node: str) -> Iterator[_Part]:
        """All that a node may have targets in."""
        if not self._strays.are_at(node):
            yield from map(_Part, self._places.on(node))
        yield from (_Part(each, stray=True) for each in self._strays.of(node))

    def _look(
        self,
        node: str,
        known: _OnNode,
        part: _Part,
        shared: Shared,
        jobs: Iterable[PlacedJob],
    ) -> set[str]:
        """Look at a part of a source for some jobs; those that find, or found, something in it."""
        moved = set()
        group: Group | None = None
        if jobs:
            group = self._group(node, part, shared)
        for job in jobs:
            stem = job.job.stem
            found = known.found.get(stem)
            written = tuple(job.keeps(group)) if group else ()
            if written:
                if known.kept.get((stem, shared, part)) == written:
                    continue
                known.keep((stem, shared, part), written)
                found = found or known.found.setdefault(stem, _Targets())
                found.sources.add((shared, part))
                moved.add(stem)
            elif found and (shared, part) in found.sources:
                known.keep((stem, shared, part), ())
                found.sources.discard((shared, part))
                moved.add(stem)
        return moved

    def _settle(self, node: str, known: _OnNode, stem: str) -> None:
        found = known.found.get(stem)
        if found and found.sources:
            text = self._file_of(node, stem, known)
            found.digest = digest_of(text)
            if len(text) <= _MOST_TEXT:
                self._made[1][stem] = text
            else:
                self._made[1].pop(stem, None)
        else:
            known.found.pop(stem, None)
            self._made[1].pop(stem, None)

    def _file_of(self, node: str, stem: str, known: _OnNode) -> bytes:
        parts = known.found[stem].sources
        every = (self._kept(node, known, (stem, *each)) for each in parts)
        return targets_file(written for found in every for written in found)

    def _kept(self, node: str, known: _OnNode, key: _Keeping) -> tuple[bytes, ...]:
        """What a job keeps of a part of a source."""
        found = known.kept.get(key)
        if found is None:
            stem, shared, part = key
            group = self._group(node, part, shared)
            found = tuple(self._jobs[stem].keeps(group)) if group else ()
            known.keep(key, found)
        return found

    def _group(self, node: str, part: _Part, shared: Shared) -> Group | None:
        version = self._known.version
        if part.stray:
            return strays_given(self._strays, node, part.source, shared.discovery, version)
        if self._strays.are_at(node):
            return None
        return group_on(self._places, node, part.source, shared.discovery, version)

    def _seeing(self, source: SourceObject, only: Only = Only.ALL) -> Iterator[Shared]:
        """The discoveries that look at a source, or those that a change of it concerns."""
        for namespace in (source.namespace, ""):
            for shared in self._by_space.get((source.role, namespace), ()):
                if shared.sees(only):
                    yield shared
