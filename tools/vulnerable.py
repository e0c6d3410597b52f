"""Asks PyPI whether anything that is locked has known holes: `make audit`.

It needs PyPI's own JSON pages, which mirrors of packages mostly lack; then it fails and says so.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools import throwaway
from tools.sbom import ROOT

AUDITOR = "pip-audit==2.10.1"
LOCKS = ("requirements/stoker.txt", "requirements/dev.txt")


def main() -> int:
    """Ask about each lock file; the exit status is the worst."""
    with throwaway.environment(AUDITOR) as programs:
        command: list[str | Path] = [
            programs / "pip-audit",
            "--disable-pip",
            "--require-hashes",
            "--strict",
        ]
        return max(
            subprocess.run([*command, "--requirement", lock], cwd=ROOT, check=False).returncode
            for lock in LOCKS
        )


if __name__ == "__main__":
    sys.exit(main())
