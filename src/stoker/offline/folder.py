"""A folder that holds what one run made, and nothing else.

    out/.stoker-render                     the list of all files here
    out/secret-monitoring-….yaml
    out/readable/…

Files of an earlier run are replaced, or removed where they are not made any more; they are known by
the list. A folder with anything else in it is left alone: somebody's work may be in there. Whatever
an object is called, its file lies in the folder, and no two objects share one.
"""

import json
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from stoker.errors import StokerError

LIST: Final = ".stoker-render"

_PLAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")
_NOT_PLAIN: Final = re.compile(r"[^-a-z0-9.]+")
_LONGEST: Final = 200
_DIGEST: Final = 10
_HEADING: Final = "# Files that `stoker render` wrote here; the next run replaces them."
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def safe_name(words: Sequence[str], ending: str = "", taken: Container[str] = ()) -> str:
    """A file's name made of words; with a hash where they are no name, or that one is taken."""
    joined = "-".join(words)
    plain = f"{joined}{ending}"
    if len(joined) <= _LONGEST and _PLAIN.fullmatch(joined) and plain not in taken:
        return plain
    digest = sha256(json.dumps(words).encode()).hexdigest()[:_DIGEST]
    return f"{_NOT_PLAIN.sub('_', joined.lower())[:_LONGEST].strip('.')}-{digest}{ending}"


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Make the folder hold these files, by their paths in it, and no others.

    StokerError where there is something else; nothing is touched then.
    """
    found = _found(folder)
    ours = _listed(folder) if LIST in found else set()
    foreign = sorted(found - ours - {LIST})
    if foreign:
        reason = f"`{foreign[0]}` is not from an earlier run; name a new or empty folder"
        raise StokerError(f"{folder}: {reason}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Listed before they are there: a run that is interrupted leaves nothing that is not known.
    _create(folder, {LIST: _list_of(found | files.keys())})
    _remove(folder, found - {LIST})
    _create(folder, files)
    _create(folder, {LIST: _list_of(files)})


def _found(folder: Path, below: str = "") -> set[str]:
    """The paths of all files in a folder, if it exists; links are files, wherever they lead."""
    found: set[str] = set()
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return found
    for entry in entries:
        path = f"{below}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            found |= _found(Path(entry.path), f"{path}/")
        else:
            found.add(path)
    return found


def _listed(folder: Path) -> set[str]:
    text = (folder / LIST).read_text(encoding="utf-8", errors="replace")
    return {line for line in text.splitlines() if not line.startswith("#")}


def _list_of(paths: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in (_HEADING, *sorted(set(paths) - {LIST})))


def _remove(folder: Path, paths: Iterable[str]) -> None:
    """Remove files, and the folders that are empty without them."""
    for path in paths:
        (folder / path).unlink()
        for above in (folder / path).relative_to(folder).parents[:-1]:
            with suppress(OSError):
                (folder / above).rmdir()


def _create(folder: Path, files: Mapping[str, str]) -> None:
    """Write files that only the user can read, as many hold secrets; a link is not followed."""
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        with os.fdopen(os.open(place, _NEW, 0o600), "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
