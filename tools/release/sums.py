"""Checksums of all files of a release, and a signature of them."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path

SUMS = "SHA256SUMS"
# What the signature is for: one made for something else is not taken for it.
NAMESPACE = "stoker-release"


def summed(files: Iterable[Path]) -> str:
    """A line for each file, as `sha256sum --check` reads them."""
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files)
    return "\n".join(lines) + "\n"


def sign(sums: Path, key: Path) -> Path:
    """Sign the checksums with an SSH key, or a public one whose agent has the other half."""
    signature = sums.with_name(f"{sums.name}.sig")
    signature.unlink(missing_ok=True)
    command = ["ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(sums)]
    subprocess.run(command, check=True, capture_output=True)
    return signature
