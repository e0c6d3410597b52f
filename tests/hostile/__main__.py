"""Send folders of hostile objects through `stoker render`; promtool and amtool judge what it makes.

    python -m tests.hostile [--seed N] [--count M] [--folders K] [--keep DIR]

A folder has as many hostile objects as `--count` says, a third each rules, monitors and
AlertmanagerConfigs, made from its seed; the next folder has the next seed. What is refused is
printed with the smallest object that is at fault. `--corpus` sends the corpus itself instead. Exit
status 1 if anything was refused.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hostile.corpus import corpus
from tests.hostile.folder import Refusal, blamed, fill, refused, render
from tests.hostile.generate import folder
from tests.hostile.payload import Json


def main(arguments: list[str] | None = None) -> int:
    """Try folders, and print what became of them."""
    parser = argparse.ArgumentParser("python -m tests.hostile", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="that of the first folder (0)")
    parser.add_argument("--count", type=int, default=900, help="hostile objects in a folder (900)")
    parser.add_argument("--folders", type=int, default=1, help="how many (1)")
    parser.add_argument("--corpus", action="store_true", help="the corpus itself, and no mutation")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="leave what is made in this folder"
    )
    options = parser.parse_args(arguments)
    total: Counter[str] = Counter()
    failures: list[Refusal] = []
    for title, objects in _folders(options):
        with TemporaryDirectory() as scratch:
            counts, found = tried(objects, (options.keep or Path(scratch)) / title)
        print(f"{title}: {dict(counts)}, {len(found)} refused", flush=True)
        for each in found:
            print(each, end="\n\n", flush=True)
        total += counts
        failures += found
    print(f"all: {dict(total)}, {len(failures)} files refused")
    return 1 if failures else 0


def _folders(options: argparse.Namespace) -> Iterator[tuple[str, list[Json]]]:
    if options.corpus:
        yield "corpus", corpus()
        return
    for seed in range(options.seed, options.seed + options.folders):
        yield f"seed-{seed}", folder(seed, options.count)


def tried(objects: list[Json], place: Path) -> tuple[Counter[str], list[Refusal]]:
    """What became of a folder: how much was used, rejected and refused, and what is at fault."""
    fill(place / "in", objects)
    said = render(place / "in", place / "out")
    words = (line.split(maxsplit=1)[0] for line in said.splitlines() if line.strip())
    counts = Counter(word for word in words if word in ("used", "rejected", "refused"))
    return counts, blamed(objects, refused(place / "out"))


if __name__ == "__main__":
    sys.exit(main())
