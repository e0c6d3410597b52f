"""Archives with the same bytes whoever makes them, wherever and whenever."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

# The oldest that all formats can say; no clock has a part in it.
EPOCH = 315532800


def tar_gz(root: Path, files: Iterable[Path], top: str) -> bytes:
    """Files below a root, packed below a folder `top`; for everybody to read, owned by nobody."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(files):
            entry = tarfile.TarInfo(f"{top}/{path.relative_to(root)}")
            content = path.read_bytes()
            entry.size, entry.mtime = len(content), EPOCH
            entry.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            archive.addfile(entry, io.BytesIO(content))
    outer = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=outer, mode="wb", mtime=0, compresslevel=9) as stream:
        stream.write(inner.getvalue())
    return outer.getvalue()
