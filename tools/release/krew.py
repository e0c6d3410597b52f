"""A manifest for krew, kubectl's manager of plugins, and the archive that it names.

stoker is a Python package, so the archive has a program that installs it: at the first call, from
the wheel in the archive and what is locked with it, into a folder of its own.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from tools.release.archives import tar_gz

FOLDER = Path("deploy/krew")
TEMPLATE = FOLDER / "stoker.yaml"
PROGRAM = FOLDER / "kubectl-stoker"


def archive(tree: Path, version: str, target: Path) -> bytes:
    """The program, the wheel and the licence; the wheel is in `target` already."""
    place = target / "krew"
    place.mkdir()
    wheel = next(target.glob("*.whl"))
    locked = tree / "requirements" / "stoker.txt"
    for path in (tree / PROGRAM, tree / "LICENSE", wheel, locked):
        shutil.copy(path, place / path.name)
    (place / "version").write_text(f"{version}\n")
    made = tar_gz(place, list(place.iterdir()), "stoker")
    shutil.rmtree(place)
    return made


def manifest(template: str, version: str, content: bytes) -> str:
    """The template with the version and the checksum of the archive."""
    filled = template.replace("VERSION", version)
    return filled.replace("SHA256", hashlib.sha256(content).hexdigest())
