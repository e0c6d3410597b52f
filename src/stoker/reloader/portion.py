"""The portion of a node in its folder: jobs, targets and TLS files, and what becomes of changes.

    targets/STEM.json   each replaced by itself: Prometheus notices, and does not reload for it
    jobs, tls           links into ..data
    ..data              link to the edition that lies in place
    ..new               link to the newest edition, which Prometheus is to load
    ..good              link to the last edition that Prometheus has loaded
    ..7/jobs/, ..7/tls/ an edition: jobs and TLS files that belong together
    ..part/             what is being received or made

An edition is made beside the others, of second names for the files that stay, and put in place by
renaming a link. So whenever the process is killed, what lies in place is a whole edition, with its
targets. What is not wanted any longer goes when Prometheus was asked to load the edition without
it; whatever is left over by a kill is found at the next start, reported to the server as something
that is there, and goes with the next commit.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import threading
from collections.abc import Iterable, Mapping

from stoker.reloader.files import linked
from stoker.reloader.frames import BadPortionError
from stoker.reloader.incoming import MOST_BYTES, MOST_FILES, Incoming, digest_of, is_path, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_EDITION: Final = re.compile(r"\.\.([0-9]{1,18})")
_NAMED: Final = re.compile(rb"/tls/([A-Za-z0-9._-]+)")

_JOBS, _TARGETS, _TLS = "jobs", "targets", "tls"
_DATA, _NEW, _GOOD, _PART = "..data", "..new", "..good", "..part"


class Portion:
    """The folder. One thread receives and commits, another has Prometheus load what it finds.

    `digests` are those of the files that lie there, by their paths.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._active = 0
        self.digests: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self._open()

    @property
    def newest(self) -> int:
        """The number of the newest edition; 0 before the first commit."""
        return self._linked(_NEW)

    def tell(self, have: dict[str, str]) -> None:
        """The server hears that this lies there, and will send the rest."""
        with self._lock:
            self._told = have

    def receive(self) -> Incoming:
        """Begin to receive again; what was received and not committed is dropped."""
        with self._lock:
            self._clear_parts()
            return Incoming(os.path.join(self._folder, _PART, "files"))

    def commit(self, incoming: Incoming, digest: object, count: object) -> None:
        """Put together what arrived, if it is the whole; BadPortionError if it is not.

        Targets are in place after it. The rest is the newest edition, for `activate`.
        """
        with self._lock:
            digests = self._after(incoming)
            if len(digests) != count or whole(digests) != digest:
                raise BadPortionError("the files are not those that the server counts")
            try:
                self._commit(digests, incoming)
            except OSError:
                # Half of it may be done: what lies there is what counts.
                self._scan()
                raise

    def _commit(self, digests: dict[str, str], incoming: Incoming) -> None:
        if self._bytes_of(digests, incoming) > MOST_BYTES or len(digests) > MOST_FILES:
            raise BadPortionError("the portion is too large")
        for path, (part, _) in incoming.parts.items():
            if _folder_of(path) == _TARGETS:
                os.replace(part, self._path(path))
        before, now = _without_targets(self.digests), _without_targets(digests)
        renewed = not self.newest or before != now
        if renewed:
            self._make_edition(digests, incoming)
        self.digests = self._told = digests
        if not renewed:
            self._remove_targets()

    # --- What Prometheus loads --------------------------------------------------------------------

    def begin(self) -> None:
        """Put in place what Prometheus can start with: what it has loaded before, if anything."""
        with self._lock:
            self._place(self._linked(_GOOD) or self.newest)

    def activate(self) -> None:
        """Put the newest edition in place."""
        with self._lock:
            self._active = self.newest
            self._place(self._active)

    def accept(self) -> None:
        """The edition in place was loaded."""
        with self._lock:
            if self._active:
                self._link(_GOOD, self._active)

    def put_back(self) -> None:
        """Put the last edition that was loaded in place again, if there is one."""
        with self._lock:
            self._place(self._linked(_GOOD))

    def tidy(self) -> None:
        """Remove what is not wanted any longer, after the newest edition was to be loaded."""
        with self._lock:
            if self._active != self.newest or not self._active:
                return
            used = {self._linked(name) for name in (_DATA, _NEW, _GOOD)}
            for number in used - {0}:
                self._prune(number)
            for name in self._editions() - {f"..{number}" for number in used}:
                _remove(self._path(name))
            self._remove_targets()

    def _prune(self, number: int) -> None:
        """Remove jobs of an edition that are gone, and TLS files that no job needs."""
        self._keep_only(f"..{number}/{_JOBS}", self._wanted(_JOBS))
        kept = self._wanted(_TLS) | self._named_by(self._linked(_GOOD))
        self._keep_only(f"..{number}/{_TLS}", kept)

    def _named_by(self, number: int) -> set[str]:
        """The TLS files that jobs of an edition name, and that do not only go by it."""
        found: set[str] = set()
        folder = os.path.join(self._folder, f"..{number}", _JOBS)
        for job in os.listdir(folder) if number else ():
            if f"{_JOBS}/{job}" in self.digests:
                with open(os.path.join(folder, job), "rb") as file:
                    for line in file:
                        found.update(name.decode() for name in _NAMED.findall(line))
        return found

    def _remove_targets(self) -> None:
        self._keep_only(_TARGETS, self._wanted(_TARGETS))

    def _keep_only(self, folder: str, names: set[str]) -> None:
        for name in os.listdir(os.path.join(self._folder, folder)):
            if name not in names:
                os.unlink(os.path.join(self._folder, folder, name))

    def _wanted(self, folder: str) -> set[str]:
        return {path.partition("/")[2] for path in self.digests if _folder_of(path) == folder}

    # --- Editions ---------------------------------------------------------------------------------

    def _make_edition(self, digests: Mapping[str, str], incoming: Incoming) -> None:
        """Make an edition of what stays and what is new, and let it be the newest.

        TLS files that are not wanted any longer lie in it until the configuration that names them
        is not the one that Prometheus has.
        """
        before, made = self.newest, os.path.join(self._folder, _PART, "edition")
        for folder in (made, os.path.join(made, _JOBS), os.path.join(made, _TLS)):
            self._make_folder(folder)
        for path in _without_targets(digests):
            linked(self._place_of(path, incoming, before), os.path.join(made, path))
        placed = self._path(f"..{self._linked(_DATA)}/{_TLS}")
        for name in os.listdir(placed) if os.path.isdir(placed) else ():
            if f"{_TLS}/{name}" not in digests:
                linked(os.path.join(placed, name), os.path.join(made, _TLS, name))
        number = 1 + max((int(name[2:]) for name in self._editions()), default=0)
        os.rename(made, self._path(f"..{number}"))
        self._link(_NEW, number)

    def _editions(self) -> set[str]:
        return {name for name in os.listdir(self._folder) if _EDITION.fullmatch(name)}

    def _place(self, number: int) -> None:
        if number and number != self._linked(_DATA):
            self._link(_DATA, number)

    def _linked(self, name: str) -> int:
        """The number of the edition that a link leads to; 0 if there is none."""
        with contextlib.suppress(OSError):
            target = os.readlink(self._path(name))
            if _EDITION.fullmatch(target) and os.path.isdir(self._path(target)):
                return int(target[2:])
        return 0

    def _link(self, name: str, number: int) -> None:
        self._link_to(name, f"..{number}")

    def _link_to(self, name: str, target: str) -> None:
        made = self._path(f"{_PART}/link")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(made)
        os.symlink(target, made)
        os.replace(made, self._path(name))

    # --- What lies there --------------------------------------------------------------------------

    def _open(self) -> None:
        """Find what lies there, and remove what is of no use to anybody."""
        self._make_folder(self._folder)
        self._make_folder(self._path(_TARGETS))
        self._clear_parts()
        for folder in (_JOBS, _TLS):
            if not os.path.islink(self._path(folder)):
                self._link_to(folder, f"{_DATA}/{folder}")
        used = {f"..{self._linked(name)}" for name in (_DATA, _NEW, _GOOD)}
        for name in self._editions() - used:
            _remove(self._path(name))
        if not self.newest and (placed := self._linked(_DATA)):
            self._link(_NEW, placed)
        self._scan()

    def _scan(self) -> None:
        """Find out what lies there."""
        newest, found = self.newest, {_TARGETS: _TARGETS}
        if newest:
            found |= {each: f"..{newest}/{each}" for each in (_JOBS, _TLS)}
        self.digests = {
            path: digest_of(self._path(f"{place}/{name}"))
            for folder, place in found.items()
            for name in os.listdir(self._path(place))
            if is_path(path := f"{folder}/{name}")
        }

    def _clear_parts(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            _remove(self._path(_PART))
        self._make_folder(self._path(_PART))
        self._make_folder(self._path(f"{_PART}/files"))

    def _make_folder(self, path: str) -> None:
        """A folder in which may write who may write beside it: containers can differ in users."""
        if not os.path.isdir(path):
            os.mkdir(path)
            os.chmod(path, stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode))

    def _after(self, incoming: Incoming) -> dict[str, str]:
        digests = {path: each for path, each in self._told.items() if path not in incoming.gone}
        return digests | {path: digest for path, (_, digest) in incoming.parts.items()}

    def _bytes_of(self, digests: Iterable[str], incoming: Incoming) -> int:
        newest = self.newest
        return sum(os.path.getsize(self._place_of(each, incoming, newest)) for each in digests)

    def _place_of(self, path: str, incoming: Incoming, newest: int) -> str:
        if path in incoming.parts:
            return incoming.parts[path][0]
        return self._path(path if _folder_of(path) == _TARGETS else f"..{newest}/{path}")

    def _path(self, path: str) -> str:
        return os.path.join(self._folder, path)


def _remove(path: str) -> None:
    """Remove a folder with all that is in it; what the library has for it takes a megabyte."""
    for name in os.listdir(path):
        inner = os.path.join(path, name)
        if os.path.isdir(inner) and not os.path.islink(inner):
            _remove(inner)
        else:
            os.unlink(inner)
    os.rmdir(path)


def _folder_of(path: str) -> str:
    return path.partition("/")[0]


def _without_targets(digests: Mapping[str, str]) -> dict[str, str]:
    return {path: each for path, each in digests.items() if _folder_of(path) != _TARGETS}
