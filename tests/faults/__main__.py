"""Run the fault campaign: `python -m tests.faults --help`."""

from __future__ import annotations

import sys

from tests.faults.oracle import expectations
from tests.faults.script import SCRIPT
from tests.faults.world import new_ground
from tools.progress import say


def main() -> int:
    """Run the script without faults, twice side by side."""
    with new_ground() as ground:
        for each in expectations(ground, SCRIPT, say):
            say(f"{len(each.writes):3} writes, {each.seconds:5.1f} s: {each.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
