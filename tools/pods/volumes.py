"""The volumes of a pod as directories of this machine.

What comes from Secrets and ConfigMaps is swapped as kubelet does it: the files are in a directory
named after the time, ``..data`` is a symbolic link to it, and each name a link through that. A
change is a new directory and one rename of ``..data``, so nobody ever sees half of it.
"""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.pods.fields import NotYetError, field_of

Object = dict[str, Any]
Files = dict[str, bytes]


@dataclass(frozen=True)
class Sources:
    """Where the contents of volumes come from: objects by kind and name, tokens by request."""

    find: Callable[[str, str], Object | None]
    token: Callable[[str | None], str]


class Volumes:
    """The volumes of one pod: `own` is its directory, `node` stands for the disk of its node."""

    def __init__(self, pod: Object, own: Path, node: Path) -> None:
        self._pod = pod
        self._own = own
        self._node = node
        self._declared: dict[str, Object] = {
            each["name"]: each for each in pod["spec"].get("volumes", [])
        }
        self._written: dict[str, Files] = {}

    def refresh(self, sources: Sources) -> list[str]:
        """Bring all volumes up to date; what is missing is told, and stays as it was."""
        missing = []
        for name, volume in self._declared.items():
            try:
                self._refresh(name, _contents(volume, self._pod, sources))
            except NotYetError as error:
                missing.append(str(error))
        return missing

    def _refresh(self, name: str, contents: Files | None) -> None:
        if contents is None:
            self.path(name).mkdir(parents=True, exist_ok=True)
        elif contents != self._written.get(name):
            swap(self.path(name), contents)
            self._written[name] = contents

    def path(self, name: str) -> Path:
        """Where a volume is."""
        volume = self._declared[name]
        if "hostPath" in volume:
            path: str = volume["hostPath"]["path"]
            return self._node / os.path.normpath(path).lstrip("/")
        return self._own / name

    def mounted(self, name: str, inner: str) -> Path:
        """What a mount shows: a volume, or a directory or file in it, which is made if need be."""
        volume = self.path(name)
        shown = volume / os.path.normpath(f"/{inner}").lstrip("/")
        if not shown.exists():
            shown.mkdir(parents=True)
        # Of a file that is swapped, a mount keeps showing the version that it began with.
        return shown.resolve()


def swap(directory: Path, files: Files) -> None:
    """Replace all files of a directory at once."""
    directory.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="..", dir=directory))
    made.chmod(0o755)
    for name, content in files.items():
        file = made / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    data, scratch = directory / "..data", directory / "..data_tmp"
    old = data.resolve() if data.is_symlink() else None
    scratch.symlink_to(made.name)
    scratch.rename(data)
    _link(directory, {name.split("/")[0] for name in files})
    if old:
        shutil.rmtree(old)


def _link(directory: Path, names: set[str]) -> None:
    there = {entry.name for entry in directory.iterdir() if not entry.name.startswith("..")}
    for name in names - there:
        (directory / name).symlink_to(f"..data/{name}")
    for name in there - names:
        (directory / name).unlink()


def _contents(volume: Object, pod: Object, sources: Sources) -> Files | None:
    """The files of a volume that comes from objects; None for a directory to write to."""
    if "secret" in volume or "configMap" in volume:
        return dict(_from_source(_named(volume), pod, sources))
    if "projected" in volume:
        listed = volume["projected"].get("sources", [])
        return {k: v for each in listed for k, v in _from_source(each, pod, sources)}
    if "downwardAPI" in volume:
        return dict(_from_source(volume, pod, sources))
    if "emptyDir" in volume or "hostPath" in volume:
        return None
    kinds = ", ".join(volume.keys() - {"name"})
    raise NotYetError(f"volume {volume['name']}: {kinds} does not exist here")


def _named(volume: Object) -> Object:
    """A volume as a source: a Secret's name is a different member there."""
    if "secret" not in volume:
        return volume
    secret = volume["secret"]
    return {"secret": {**secret, "name": secret["secretName"]}}


def _from_source(source: Object, pod: Object, sources: Sources) -> Iterator[tuple[str, bytes]]:
    if "downwardAPI" in source:
        for item in source["downwardAPI"].get("items", []):
            yield item["path"], field_of(pod, item["fieldRef"]["fieldPath"]).encode()
    elif "serviceAccountToken" in source:
        asked = source["serviceAccountToken"]
        yield asked["path"], sources.token(asked.get("audience")).encode()
    else:
        kind = "secret" if "secret" in source else "configMap"
        yield from _from_object(kind, source[kind], sources)


def _from_object(kind: str, wanted: Object, sources: Sources) -> Iterator[tuple[str, bytes]]:
    found = sources.find(kind, wanted["name"])
    optional = wanted.get("optional", False)
    if found is None:
        if optional:
            return
        raise NotYetError(f"{kind} {wanted['name']} does not exist")
    data = data_of(found)
    for item in wanted.get("items") or [{"key": key, "path": key} for key in data]:
        if item["key"] in data:
            yield item["path"], data[item["key"]]
        elif not optional:
            raise NotYetError(f"{kind} {wanted['name']} has no {item['key']}")


def data_of(found: Mapping[str, Any]) -> Files:
    """The contents of a Secret or a ConfigMap."""
    data = found.get("data") or {}
    # Only Secrets have a type; members of a list do not tell their kind.
    encoded = data if "type" in found else found.get("binaryData") or {}
    plain = {} if "type" in found else data
    decoded = {key: base64.b64decode(value) for key, value in encoded.items()}
    return {**decoded, **{key: value.encode() for key, value in plain.items()}}
