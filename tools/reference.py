"""Writes docs/reference/ anew from the declarations: `make reference`."""

import sys
from pathlib import Path

from stoker.api.kinds import KINDS
from stoker.api.reference import pages

TARGET = Path(__file__).parent.parent / "docs/reference"


def main() -> int:
    """Replace every page; pages of kinds that are gone go too."""
    for stale in TARGET.glob("*.md"):
        stale.unlink()
    for page in pages(KINDS):
        (TARGET / page.name).write_text(page.text)
        print(TARGET.name, page.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
