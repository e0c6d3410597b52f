"""The recorded cases: where they lie, which suites there are, and one case at a time.

The folder is `$STOKER_CONFORMANCE`, or `../shared/conformance` beside the repository. Each folder
in it, and in its `derived/`, is a suite, and each file a case, read when its turn comes. Three
things are different: `promql-derived` is one file with a list of cases, `crds/` holds the peer's
CustomResourceDefinitions (a case each, the CRD itself being what is expected), and a very long
string is written as `{"$repeat": "a", "$count": 1000}`, or as a `{"$join": […]}` with such ones in
it. What the peer made of whole namespaces lies
in a folder beside it, `worlds`.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

ROOT: Final = Path(__file__).parents[2]
CRDS: Final = "crds"
WORLDS: Final = "worlds"
_LIST: Final = "cases.json"


class Case(Struct, frozen=True):
    """What went into the peer, and what came out."""

    suite: str
    name: str
    given: dict[str, Any]
    expect: dict[str, Any]


class Suite(Struct, frozen=True):
    """A folder of cases."""

    name: str
    folder: Path

    def names(self) -> list[str]:
        """The names of all cases, in order."""
        return [name for name, _ in self._entries()]

    def cases(self) -> Iterator[Case]:
        """Every case, read from its file when it is asked for."""
        for name, entry in self._entries():
            recorded = _read(entry) if isinstance(entry, Path) else entry
            if self.name == CRDS:
                recorded = {"given": {}, "expect": recorded}
            yield Case(self.name, name, recorded["given"], recorded["expect"])

    def _entries(self) -> list[tuple[str, Any]]:
        if (self.folder / _LIST).exists():
            return [(f"{i:04}", entry) for i, entry in enumerate(_read(self.folder / _LIST))]
        return [(path.stem, path) for path in sorted(self.folder.glob("*.json"))]


def default_folder() -> Path:
    """Where the cases are unless somebody says otherwise."""
    return Path(os.environ.get("STOKER_CONFORMANCE") or ROOT.parent / "shared" / "conformance")


def suites(folder: Path) -> dict[str, Suite]:
    """All suites of recorded cases by name; none where the folder is absent."""
    found = [path for top in (folder, folder / "derived") for path in sorted(_folders(top))]
    return {
        path.name: Suite(path.name, path) for path in found if path.name not in (CRDS, "derived")
    }


def recorded_worlds(folder: Path) -> Suite:
    """What the peer made of whole namespaces: a folder of its own, beside that of all suites."""
    return Suite(WORLDS, folder.parent / WORLDS)


def peer_crds(folder: Path) -> Suite:
    """The peer's CustomResourceDefinitions in the form of a suite."""
    return Suite(CRDS, folder / CRDS)


def _folders(top: Path) -> Iterator[Path]:
    if top.is_dir():
        yield from (path for path in top.iterdir() if path.is_dir())


def _read(path: Path) -> Any:
    return json.loads(path.read_text(), object_hook=_repeated)


def _repeated(value: dict[str, Any]) -> Any:
    if value.keys() == {"$repeat", "$count"}:
        return value["$repeat"] * value["$count"]
    if value.keys() == {"$join"}:
        return "".join(value["$join"])
    return value
