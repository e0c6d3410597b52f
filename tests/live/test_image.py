"""What the image is made of, installed as the Containerfile does it, but for the engine.

Needs the package index, so it is not among the unit tests.
"""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from stoker import __version__

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "stoker"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sources."""
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*command, "--directory", target], cwd=ROOT, check=True, capture_output=True)
    return next(target.glob("stoker-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the locked requirements and the wheel, and nothing else."""
    home = tmp_path_factory.mktemp("image") / "stoker"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    install = [*pip, "--python", str(home / "bin/python"), "install", "--no-compile", "--no-deps"]
    locked = ["--require-hashes", "--only-binary=:all:", "--requirement"]
    subprocess.run([*install, *locked, ROOT / "requirements/stoker.txt"], check=True)
    subprocess.run([*install, "--no-index", wheel], check=True)
    # Nothing that one of them needs is missing.
    subprocess.run([*pip, "--python", str(home / "bin/python"), "check"], check=True)
    return home


def said(installed: Path, *words: str) -> str:
    """What the command prints, started in an empty folder by somebody without a home."""
    environment = {"PATH": os.defpath, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    answer = subprocess.run(
        [installed / "bin" / "stoker", *words],
        cwd=installed.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """Schemas, pages, styles: what is beside the code is there too, and nothing of the tests."""
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    found = (path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*") if path.is_file())
    # Caches of tools are none of it.
    sources = {str(path) for path in found if not re.search(r"/(\.|__pycache__)", f"/{path}")}
    assert names == sources


def test_the_commands_start_with_what_is_locked(installed: Path) -> None:
    """Every command can at least explain itself, and the one with the schemas works."""
    assert said(installed, "--version") == f"stoker {__version__}\n"
    assert "--namespaces" in said(installed, "operator", "--help")
    assert "--web.listen-address" in said(installed, "webhook", "--help")
    for command in ("crds", "explain", "lint", "migrate", "reloader", "render"):
        assert command in said(installed, command, "--help")
    assert "kind: CustomResourceDefinition" in said(installed, "crds", "probe")
