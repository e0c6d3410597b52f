"""Pins the dependencies of pyproject.toml with hashes, for every platform and Python we support.

    python -m tools.lock

Writes requirements/stoker.txt (what the operator's image installs) and requirements/dev.txt (that
and the tools), and of the latter what a wheel is built with, requirements/build.txt. The resolver
is fetched into a throw-away environment; nothing else needs it.
"""

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESOLVER = "uv==0.13.7"
LOCKS = {"requirements/stoker.txt": [], "requirements/dev.txt": ["--extra", "dev"]}
# The builder and what it needs, as in pyproject.toml.
BUILDER = ("hatchling", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers")


def main() -> int:
    """Resolve and write both files."""
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        binaries = Path(directory) / "bin"
        subprocess.run([binaries / "pip", "install", "--quiet", RESOLVER], check=True)
        for target, extra in LOCKS.items():
            _compile(binaries / "uv", target, extra)
    text = (ROOT / "requirements/dev.txt").read_text()
    (ROOT / "requirements/build.txt").write_text(build_requirements(text))
    return 0


def build_requirements(dev: str) -> str:
    """The pins of requirements/dev.txt that building a wheel takes."""
    head, *pins = re.split(r"^(?=[a-z])", dev, flags=re.MULTILINE)
    return head + "".join(pin for pin in pins if pin.split("==")[0] in BUILDER)


def _compile(uv: Path, target: str, extra: list[str]) -> None:
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--upgrade"]
    silence = ["--no-emit-index-url", "--no-emit-find-links", "--quiet"]
    header = ["--custom-compile-command", "make lock"]
    command: list[str | Path] = [uv, "pip", "compile", "pyproject.toml", *extra]
    command += ["--output-file", target, *options, *silence, *header]
    subprocess.run(command, cwd=ROOT, check=True)
    pins = sum("==" in line for line in (ROOT / target).read_text().splitlines())
    print(f"{target}: {pins} packages")


if __name__ == "__main__":
    sys.exit(main())
