"""What a release consists of, each part as one or two files of dist/."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tools.release import krew
from tools.release.archives import EPOCH, tar_gz
from tools.release.changelog import FILE, section_of

CHARTS = ("stoker", "stoker-crds")


class PartError(Exception):
    """A part could not be made; the message ends with what was said last."""


def make(tree: Path, version: str, target: Path) -> list[Path]:
    """Make all parts of a release from a tree that has been prepared for it; the files."""
    target.mkdir(parents=True)
    for part in PARTS:
        part(tree, version, target)
    return sorted(target.iterdir())


def _package(tree: Path, _version: str, target: Path) -> None:
    """The wheel, and the sources that it is made from."""
    _run(tree, "hatchling", "build", "--directory", str(target))


def _requirements(tree: Path, version: str, target: Path) -> None:
    """What the wheel needs, pinned by hash."""
    locked = tree / "requirements" / "stoker.txt"
    shutil.copyfile(locked, target / f"stoker-{version}-requirements.txt")


def _charts(tree: Path, version: str, target: Path) -> None:
    """Both charts, as `helm package` names them."""
    for chart in CHARTS:
        folder = tree / "charts" / chart
        files = [path for path in folder.rglob("*") if path.is_file()]
        (target / f"{chart}-{version}.tgz").write_bytes(tar_gz(folder, files, chart))


def _manifests(tree: Path, version: str, target: Path) -> None:
    """The folders for kustomize."""
    folder = tree / "deploy"
    files = [path for path in folder.rglob("*") if path.is_file()]
    made = tar_gz(folder, files, "deploy")
    (target / f"stoker-deploy-{version}.tar.gz").write_bytes(made)


def _plugin(tree: Path, version: str, target: Path) -> None:
    """The plugin for kubectl, as krew installs it; it has the wheel in it."""
    content = krew.archive(tree, version, target)
    (target / f"stoker-krew-{version}.tar.gz").write_bytes(content)
    text = krew.manifest((tree / krew.TEMPLATE).read_text(), version, content)
    (target / f"stoker-krew-{version}.yaml").write_text(text)


def _manual(tree: Path, version: str, target: Path) -> None:
    """A manual page for each command."""
    folder = target / "man"
    _run(tree, "tools.manual", str(folder))
    made = tar_gz(folder, folder.iterdir(), "man1")
    shutil.rmtree(folder)
    (target / f"stoker-man-{version}.tar.gz").write_bytes(made)


def _definitions(tree: Path, version: str, target: Path) -> None:
    """The definitions, whole and without descriptions: those fit what `kubectl apply` can store."""
    for name, options in (("", []), ("-short", ["--no-descriptions"])):
        text = _run(tree, "stoker", "crds", *options)
        (target / f"stoker-definitions{name}-{version}.yaml").write_text(text)


def _materials(tree: Path, version: str, target: Path) -> None:
    """Everything that is installed with it, as CycloneDX."""
    _run(tree, "tools.sbom", "--output", str(target / f"stoker-{version}.cdx.json"))


def _notes(tree: Path, version: str, target: Path) -> None:
    """What is new in it."""
    text = section_of((tree / FILE).read_text(), version)
    (target / f"stoker-{version}-notes.md").write_text(text)


PARTS: tuple[Callable[[Path, str, Path], None], ...] = (
    _package,
    _requirements,
    _charts,
    _manifests,
    _plugin,
    _manual,
    _definitions,
    _materials,
    _notes,
)


def _run(tree: Path, module: str, *words: str) -> str:
    """Run a module of the tree, not of whatever is installed; what it prints."""
    environment = os.environ | {
        "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SOURCE_DATE_EPOCH": str(EPOCH),
    }
    answer = subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        raise PartError(f"{module} failed: {answer.stderr.strip()[-2000:]}")
    return answer.stdout
