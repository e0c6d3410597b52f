"""An image in the layout of the Open Container Initiative, as one archive, byte for byte the same.

A file system is divided into layers by path: a new version of stoker leaves what is below it.
See the OCI image specification 1.1.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

_MEDIA = "application/vnd.oci.image"
_EPOCH = 315532800
_CREATED = "1980-01-01T00:00:00Z"
# Folders that a container gets of its own may be written to by anybody, as everywhere.
_ANYBODY = {"tmp": 0o1777}


class Layer(NamedTuple):
    """A part of the file system: what it is, and which paths belong to it."""

    what: str
    has: Callable[[str], bool]


class _Blob(NamedTuple):
    media: str
    content: bytes

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"

    def descriptor(self, **more: Any) -> dict[str, Any]:
        told = {"mediaType": self.media, "digest": self.digest, "size": len(self.content)}
        return told | more


def archive(
    root: Path, layers: Iterable[Layer], settings: dict[str, Any], *, machine: str, name: str
) -> tuple[bytes, str]:
    """The archive, and the digest of the image in it.

    `settings` are those of a container (`User`, `Env`, `Entrypoint`, `Labels`, …).
    """
    parts = list(layers)
    tars = [_tar(root, paths) for paths in _divided(root, parts)]
    blobs = [_Blob(f"{_MEDIA}.layer.v1.tar+gzip", _zipped(each)) for each in tars]
    config = _config(tars, [part.what for part in parts], settings, machine)
    manifest = _json(
        f"{_MEDIA}.manifest.v1+json",
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": config.descriptor(),
            "layers": [blob.descriptor() for blob in blobs],
            "annotations": settings.get("Labels", {}),
        },
    )
    named = {"org.opencontainers.image.ref.name": name}
    index = {
        "schemaVersion": 2,
        "mediaType": f"{_MEDIA}.index.v1+json",
        "manifests": [manifest.descriptor(annotations=named)],
    }
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": _text(index)}
    for blob in (*blobs, config, manifest):
        files[f"blobs/sha256/{blob.digest.partition(':')[2]}"] = blob.content
    return _packed(files), manifest.digest


def _config(tars: list[bytes], said: list[str], settings: dict[str, Any], machine: str) -> _Blob:
    return _json(
        f"{_MEDIA}.config.v1+json",
        {
            "created": _CREATED,
            "architecture": machine,
            "os": "linux",
            "config": settings,
            "rootfs": {
                "type": "layers",
                "diff_ids": [f"sha256:{hashlib.sha256(each).hexdigest()}" for each in tars],
            },
            "history": [{"created": _CREATED, "created_by": what} for what in said],
        },
    )


def _divided(root: Path, layers: list[Layer]) -> list[list[Path]]:
    """The paths of each layer: a file is in the last that has it, a folder where it is needed."""
    parts: list[set[Path]] = [set() for _ in layers]
    for path in _below(root):
        inside = str(path.relative_to(root))
        place = max(index for index, layer in enumerate(layers) if layer.has(inside))
        parts[place].add(path)
        parts[place].update(each for each in path.parents if root in each.parents)
    return [sorted(part) for part in parts]


def _below(root: Path) -> Iterator[Path]:
    """Every file and link, and folders with nothing in them."""
    for folder, folders, files in os.walk(root):
        linked = [name for name in folders if Path(folder, name).is_symlink()]
        yield from (Path(folder, name) for name in (*files, *linked))
        if not files and not folders:
            yield Path(folder)


def _tar(root: Path, paths: Iterable[Path]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as layer:
        for path in paths:
            inside = str(path.relative_to(root))
            entry = tarfile.TarInfo(inside)
            entry.mtime = _EPOCH
            if path.is_symlink():
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, os.readlink(path), 0o777
                layer.addfile(entry)
            elif path.is_dir():
                entry.type, entry.mode = tarfile.DIRTYPE, _ANYBODY.get(inside, 0o755)
                layer.addfile(entry)
            else:
                content = path.read_bytes()
                runs = path.stat().st_mode & stat.S_IXUSR
                entry.size, entry.mode = len(content), 0o755 if runs else 0o644
                layer.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def _zipped(content: bytes) -> bytes:
    made = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=made, mode="wb", mtime=0, compresslevel=9) as stream:
        stream.write(content)
    return made.getvalue()


def _packed(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as packed:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(files[name]), _EPOCH, 0o644
            packed.addfile(entry, io.BytesIO(files[name]))
    return made.getvalue()


def _text(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def _json(media: str, value: object) -> _Blob:
    return _Blob(media, _text(value))
