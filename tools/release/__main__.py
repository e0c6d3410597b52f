"""Makes a release from this repository: `make release VERSION=1.2.3`.

A copy of the tree is prepared (the version is written wherever it stands, the fragments become a
section of the changelog), all parts are made from the copy, and what was prepared comes back to the
tree, to be committed. With --dry-run nothing comes back. A version that is prepared already is
made as it is: the same bytes each time.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.release import changelog, numbering, parts, sums

ROOT = Path(__file__).parents[2]


def main(argv: list[str] | None = None) -> int:
    """Make a release; the exit status."""
    options = _options(argv)
    if not numbering.VERSION.fullmatch(options.version):
        return _refused(f"{options.version!r} is not a version: three numbers, as in 1.2.3")
    if not options.dry_run and _git("status", "--porcelain"):
        return _refused("there are changes that are not committed: commit them, or use --dry-run")
    with tempfile.TemporaryDirectory(prefix="stoker-release-") as scratch:
        tree = Path(scratch, f"stoker-{options.version}")
        copy(tree)
        try:
            changed = prepare(tree, options.version, _git("log", "-1", "--format=%cs"))
            made = parts.make(tree, options.version, Path(scratch, "dist"))
        except (changelog.FragmentError, LookupError, parts.PartError) as error:
            return _refused(str(error))
        publish(made, options.output, options.key)
        if not options.dry_run:
            _bring_back(tree, changed)
            _say_what_is_left(options.version)
    return 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("version", help="three numbers, as in 1.2.3")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist", help="default: dist/")
    parser.add_argument("--key", type=Path, help="sign the checksums with this SSH key")
    parser.add_argument("--dry-run", action="store_true", help="leave the tree as it is")
    return parser.parse_args(argv)


def copy(tree: Path) -> None:
    """Copy what git knows of, as it is now."""
    for name in filter(None, _git("ls-files", "-z").split("\0")):
        if (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)


def prepare(tree: Path, version: str, date: str) -> list[Path]:
    """Write the version and the changelog; the files that this may have changed or removed."""
    places = numbering.write(tree, version)
    file = tree / changelog.FILE
    text = file.read_text() if file.exists() else ""
    waiting = changelog.fragment_files(tree / changelog.FOLDER)
    if changelog.section_of(text, version):
        if waiting:
            raise LookupError(f"{version} is in the changelog, and {len(waiting)} fragments wait")
        return places
    sentences = changelog.fragments(tree / changelog.FOLDER)
    if not text:
        sentences = changelog.of_the_first(sentences)
    file.write_text(changelog.with_section(text, changelog.section(version, date, sentences)))
    for path in waiting:
        path.unlink()
    return [*places, changelog.FILE, *(path.relative_to(tree) for path in waiting)]


def publish(made: list[Path], output: Path, key: Path | None) -> None:
    """Put the files where they are wanted, with their checksums; those of another release go."""
    output.mkdir(parents=True, exist_ok=True)
    for older in (*output.glob("stoker-*"), *output.glob(f"{sums.SUMS}*")):
        older.unlink()
    for path in made:
        shutil.copyfile(path, output / path.name)
        print(output / path.name)
    file = output / sums.SUMS
    file.write_text(sums.summed(made))
    print(file)
    if key is not None:
        print(sums.sign(file, key))


def _bring_back(tree: Path, changed: list[Path]) -> None:
    for path in changed:
        if (tree / path).exists():
            shutil.copy(tree / path, ROOT / path)
        else:
            (ROOT / path).unlink()


def _say_what_is_left(version: str) -> None:
    print(f"\nWhat is left: read CHANGELOG.md, then commit it as 'Release {version}',")
    print(f"tag it (git tag --sign v{version}) and make it once more: the bytes are the same.")


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return answer.stdout.strip()


def _refused(why: str) -> int:
    print(f"release: {why}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
