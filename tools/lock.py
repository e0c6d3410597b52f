"""Pins the dependencies of pyproject.toml with hashes, for every platform and Python we support.

    python -m tools.lock
    python -m tools.lock --dry-run

Writes requirements/stoker.txt (what the operator's image installs) and requirements/dev.txt (that
and the tools), and of the latter what a wheel is built with, requirements/build.txt. The resolver
is fetched into a throw-away environment; nothing else needs it. A dry run writes nothing, says what
is newer, and fails if anything is.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import throwaway
from tools.sbom import pins

ROOT = Path(__file__).parent.parent
RESOLVER = "uv==0.13.7"
LOCKS = {"requirements/stoker.txt": [], "requirements/dev.txt": ["--extra", "dev"]}
# The builder and what it needs, as in pyproject.toml.
BUILDER = ("hatchling", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers")


def main(argv: list[str] | None = None) -> int:
    """Resolve, and write all files or say what is newer."""
    parser = argparse.ArgumentParser(prog="python -m tools.lock", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="write nothing; fail if it would")
    options = parser.parse_args(argv)
    with throwaway.environment(RESOLVER) as programs, tempfile.TemporaryDirectory() as scratch:
        made = {each: _compiled(programs / "uv", each, Path(scratch)) for each in LOCKS}
    if options.dry_run:
        return _told(made)
    for name, text in made.items():
        (ROOT / name).write_text(text)
        print(f"{name}: {len(pins(text))} packages")
    (ROOT / "requirements/build.txt").write_text(build_requirements(made["requirements/dev.txt"]))
    return 0


def newer(before: str, after: str) -> list[str]:
    """What is pinned otherwise than before, a line for each package."""
    old, new = ({each.name: each.version for each in pins(text)} for text in (before, after))
    return [
        f"{name}: {old.get(name, 'none')} → {new.get(name, 'none')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


def _told(made: dict[str, str]) -> int:
    lines = {line for name, text in made.items() for line in newer((ROOT / name).read_text(), text)}
    print("\n".join(sorted(lines)) or "All pins are the newest.")
    return 1 if lines else 0


def build_requirements(dev: str) -> str:
    """The pins of requirements/dev.txt that building a wheel takes."""
    head, *parts = re.split(r"^(?=[a-z])", dev, flags=re.MULTILINE)
    return head + "".join(pin for pin in parts if pin.split("==")[0] in BUILDER)


def _compiled(uv: Path, target: str, scratch: Path) -> str:
    made = scratch / Path(target).name
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--upgrade"]
    silence = ["--no-emit-index-url", "--no-emit-find-links", "--quiet"]
    header = ["--custom-compile-command", "make lock"]
    command: list[str | Path] = [uv, "pip", "compile", "pyproject.toml", *LOCKS[target]]
    command += ["--output-file", made, *options, *silence, *header]
    subprocess.run(command, cwd=ROOT, check=True)
    return made.read_text()


if __name__ == "__main__":
    sys.exit(main())
