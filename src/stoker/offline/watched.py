"""Manifests that somebody is editing: read again when they change, file by file.

A file that did not change is not read again. One that cannot be read as a whole, as it is being
written or has a mistake, keeps what it held when it last could; the reason is shown beside that.
"""

import os
from collections.abc import Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from stoker.offline.lines import Lines
from stoker.offline.manifests import Manifest, Unreadable, files, read
from stoker.offline.problems import is_ours
from stoker.offline.world import DEFAULT_NAMESPACE, Place, Refused, World, gathered, settled
from stoker.page.answers import UnusableObject
from stoker.page.objects import Stored
from stoker.ref import Ref

Stamp: TypeAlias = tuple[int, int, int]

_NOTHING: Final = (0, 0, 0)
_KEPT: Final = "what the file held before is still shown"
_UNTOLD: Final = "not shown here, as the file has a Secret; `stoker lint` tells"


class _File(Struct, frozen=True):
    """What a file holds, or held when it could last be read; `whole` if it ever could."""

    stamp: Stamp
    world: World
    problems: tuple[UnusableObject, ...] = ()
    whole: bool = True


class Folder:
    """The manifests at and below a path, but for `exclude`; `look` finds out what changed."""

    def __init__(self, path: str, exclude: Sequence[str] = ()) -> None:
        self._path = path
        self._exclude = exclude
        self._base = path if os.path.isdir(path) else os.path.dirname(path) or "."
        self._files: dict[str, _File] = {}
        self._lost: tuple[Unreadable, ...] = ()
        self.read_files = 0

    @property
    def name(self) -> str:
        """What the folder is called, without what it lies in."""
        return f"{_readable(os.path.basename(os.path.realpath(self._base)))}/"

    def look(self) -> bool:
        """Read what changed since the last look; whether anything did."""
        listed = list(files(self._path, self._exclude))
        lost = tuple(each for each in listed if isinstance(each, Unreadable))
        before, self._files = self._files, {}
        for path in listed:
            if isinstance(path, str):
                self._files[path] = self._taken(path, before.get(path))
        changed = len(before) != len(self._files) or any(
            before.get(path) is not each for path, each in self._files.items()
        )
        changed, self._lost = changed or lost != self._lost, lost
        return changed

    def world(self) -> tuple[World, tuple[UnusableObject, ...]]:
        """All of it together, and what is wrong; of an object that is there twice the last one."""
        whole = World()
        problems = [self._problem(_refused(each), hide=False) for each in self._lost]
        for each in self._files.values():
            whole.namespaces |= each.world.namespaces
            whole.contents |= each.world.contents
            whole.rivals |= each.world.rivals
            whole.dropped |= each.world.dropped
            whole.places |= each.world.places
            whole.workloads += each.world.workloads
            whole.resources += each.world.resources
            whole.surroundings += each.world.surroundings
            problems += each.problems
        settled(whole)
        problems += [
            UnusableObject(source="", subject=title, reasons=(reason,))
            for title, reason in whole.doubled
        ]
        return whole, tuple(problems)

    def told(self, place: Place, path: str = "") -> str:
        """Where an object is written, or a field of it, as people read it."""
        line = Lines().line(place, path) if path else place.line
        return f"{_readable(os.path.relpath(place.source, self._base))}:{line}"

    def stored(self, ref: Ref, place: Place | None, refused: str) -> Stored | None:
        """The manifest of an object as it is written now; None if it is gone.

        `refused` is where one is that has no place in the world, as it cannot be used.
        """
        there = os.path.join(self._base, refused.rpartition(":")[0])
        source = os.path.normpath(place.source if place else there)
        paths = [path for path in self._files if os.path.normpath(path) == source]
        for each in read(paths):
            if isinstance(each, Manifest) and _is_it(each, ref) and is_ours(each.object):
                # What is beside it in a list is not to be shown.
                text = "" if each.path else each.text
                at = refused or self.told(Place(each.source, each.line))
                return Stored(object=each.object, text=text, place=at)
        return None

    def _taken(self, path: str, before: _File | None) -> _File:
        """A file as it is, or as it was last known."""
        stamp = stamp_of(path)
        if before is not None and before.stamp == stamp and stamp != _NOTHING:
            return before
        self.read_files += 1
        readings = list(read([path]))
        world = gathered(readings)
        whole = not any(isinstance(each, Unreadable) and not each.stranger for each in readings)
        hide = not whole and _has_secrets(path)
        problems = tuple(
            self._problem(each, hide=hide and not each.subject)
            for each in (*world.refused, *world.unread)
        )
        if not whole and before is not None and before.whole:
            return _File(stamp, before.world, tuple(map(_with_rest, problems)))
        return _File(stamp, world, problems, whole)

    def _problem(self, refused: Refused, *, hide: bool) -> UnusableObject:
        source = _readable(os.path.relpath(refused.source, self._base))
        place = source
        if refused.line:
            at = Place(refused.source, refused.line, refused.path)
            place = f"{source}:{Lines().line(at, refused.reasons[0])}"
        # What a parser quotes may be of a Secret.
        reasons = (_UNTOLD,) if hide else refused.reasons
        return UnusableObject(source=place, subject=refused.subject, reasons=reasons)


def _is_it(manifest: Manifest, ref: Ref) -> bool:
    found = manifest.object
    metadata = found.get("metadata")
    if found.get("kind") != ref.kind or not isinstance(metadata, dict):
        return False
    namespace = metadata.get("namespace") or DEFAULT_NAMESPACE
    return (namespace, metadata.get("name")) == (ref.namespace, ref.name)


def _readable(path: str) -> str:
    """A path as text, though its name may be in another encoding than that of JSON."""
    return os.fsencode(path).decode(errors="replace")


def stamp_of(path: str) -> Stamp:
    """What tells a file from the same file once it has changed."""
    try:
        found = os.stat(path)
    except OSError:
        return _NOTHING
    return found.st_mtime_ns, found.st_size, found.st_ino


def _has_secrets(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            return b"Secret" in stream.read()
    except OSError:
        return True


def _refused(lost: Unreadable) -> Refused:
    return Refused(lost.source, "", (lost.reason,), lost.line)


def _with_rest(problem: UnusableObject) -> UnusableObject:
    if problem.subject:
        return problem
    reasons = (*problem.reasons, _KEPT)
    return UnusableObject(source=problem.source, subject="", reasons=reasons)
