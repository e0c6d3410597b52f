"""Where the version stands: decided in one place, written wherever people copy it from."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path("src/stoker/__init__.py")
# What stands before the version, in each file that has it, and what follows.
_CHART = (r"^(?:appV|v)ersion: ", r"$")
PLACES: dict[Path, tuple[str, str]] = {
    SOURCE: (r'^__version__ = "', r'"$'),
    Path("charts/stoker/Chart.yaml"): _CHART,
    Path("charts/stoker-crds/Chart.yaml"): _CHART,
    Path("docs/image.md"): (r"(?:stoker-image-|images\.example\.org/stoker:)", ""),
    Path("docs/install.md"): (r'(?:images\.example\.org/stoker:|newTag: "|stoker(?:-\w+)*-)', ""),
    Path("docs/operator.md"): (r'newTag: "', r'"'),
    Path("docs/reloader.md"): (r"images\.example\.org/stoker:", ""),
}
_NUMBER = r"(?:0|[1-9]\d*)"
VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")


def read(root: Path) -> str:
    """The version that a tree has."""
    found = re.search(rf'^__version__ = "({VERSION.pattern})"$', (root / SOURCE).read_text(), re.M)
    if found is None:
        raise LookupError(f"{SOURCE} names no version")
    return found[1]


def write(root: Path, version: str) -> list[Path]:
    """Write the version wherever it stands; the files, as seen from the root."""
    for path in PLACES:
        (root / path).write_text(written(path, (root / path).read_text(), version))
    return list(PLACES)


def written(path: Path, text: str, version: str) -> str:
    """The text of one of the files, with this version."""
    before, after = PLACES[path]
    pattern = re.compile(rf"(?P<before>{before}){VERSION.pattern}(?={after})", re.MULTILINE)
    changed, count = pattern.subn(rf"\g<before>{version}", text)
    if not count:
        raise LookupError(f"{path} names no version")
    return changed
