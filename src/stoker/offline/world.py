"""A directory as a cluster: manifests to the typed objects that the core works with.

Each object of our kinds goes through the same gate as on a cluster (`admit`: pruned, defaulted,
validated); what a cluster would refuse is set aside with its reasons and does not exist for the
rest. Of other kinds only those are kept that the configuration depends on (namespaces for their
labels, Secrets and ConfigMaps for their values), and those that explain who is scraped.
"""

import base64
import binascii
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar
from uuid import NAMESPACE_OID, uuid5

from msgspec import Struct

from stoker.api.admit import admit
from stoker.api.convert import typed
from stoker.api.crd import KindVersion
from stoker.api.decode import convert
from stoker.api.kinds import version_of
from stoker.api.rules import PrometheusRule
from stoker.errors import DecodeError
from stoker.offline.manifests import Document, Manifest, Unreadable
from stoker.offline.problems import is_ours, problems
from stoker.ref import Ref, ref_of
from stoker.select.assets import CONFIG_MAP, SECRET, AssetsAtHand
from stoker.select.choice import NAMESPACE_NAME, Resource
from stoker.select.workload import Workload
from stoker.targets.objects import ObjectModel
from stoker.view.objects import MODELS
from stoker.view.rivals import rivals_of

T = TypeVar("T", bound=ObjectModel | Workload | Resource)

DEFAULT_NAMESPACE = "default"


class Place(Struct, frozen=True):
    """Where an object is written: file, first line of its document, and the path in that."""

    source: str
    line: int
    path: str = ""


class Refused(Struct, frozen=True):
    """An object that a cluster would not have taken, or a file that holds none.

    `line` is where its document begins, 0 where unknown, `path` leads to it from there.
    """

    source: str
    subject: str
    reasons: tuple[str, ...]
    line: int = 0
    path: str = ""


class World(Struct):
    """What is in the directory; `resources` are what workloads are configured with.

    `surroundings` are Services, pods, roles and the like; `unread` those that could not be read,
    which harms nobody but who asks for an explanation. `rivals` are the operators that share a
    workload, where a manifest comes from a cluster and shows that. `doubled` are sentences about
    objects that are there more than once. `places` says where those of our kinds are written.
    `dropped` are fields that no definition has, which an API server drops without a word.
    """

    workloads: list[Workload] = []
    resources: list[Resource] = []
    namespaces: dict[str, dict[str, str]] = {}
    contents: dict[Ref, Mapping[str, str | bytes]] = {}
    refused: list[Refused] = []
    surroundings: list[ObjectModel] = []
    unread: list[Refused] = []
    rivals: dict[Ref, tuple[str, ...]] = {}
    doubled: tuple[tuple[str, str], ...] = ()
    places: dict[Ref, Place] = {}
    dropped: dict[Ref, tuple[str, ...]] = {}

    @property
    def assets(self) -> AssetsAtHand:
        """The values of all Secrets and ConfigMaps; a cluster may have others."""
        return AssetsAtHand(self.contents, partial=True)


def world_of(readings: Iterable[Document]) -> World:
    """The world that manifests describe; of an object that is there twice the last one."""
    return settled(gathered(readings))


def gathered(readings: Iterable[Document]) -> World:
    """Everything that manifests describe, one after the other."""
    world = World()
    for reading in readings:
        if isinstance(reading, Unreadable) and reading.stranger:
            continue
        if isinstance(reading, Unreadable):
            world.refused.append(Refused(reading.source, "", (reading.reason,), reading.line))
        else:
            _add(world, reading)
    return world


def settled(world: World) -> World:
    """The world as a cluster would have it in the end, each object once."""
    world.doubled = tuple(_doubled([*world.workloads, *world.resources]))
    world.workloads = _last(world.workloads)
    world.resources = _last(world.resources)
    world.surroundings = _last(world.surroundings)
    return world


def _doubled(objects: Iterable[Workload | Resource]) -> Iterator[tuple[str, str]]:
    for ref, count in Counter(map(ref_of, objects)).items():
        if count > 1:
            yield str(ref), f"there are {count} manifests of it; the last one counts"


def _last(objects: Iterable[T]) -> list[T]:
    # Those without a name get one in a cluster, each another.
    named = {str(ref_of(each)) if each.metadata.name else id(each): each for each in objects}
    return list(named.values())


def placed(metadata: dict[str, Any], namespace: str = DEFAULT_NAMESPACE) -> dict[str, Any]:
    """Metadata of an object that is in this namespace, if it names none."""
    named = {"namespace": namespace} | metadata
    return named | {"namespace": named["namespace"] or namespace}


def _add(world: World, manifest: Manifest) -> None:
    kind = str(manifest.object.get("kind", ""))
    api_version = str(manifest.object.get("apiVersion", ""))
    version = version_of(api_version, kind)
    if version is not None:
        _add_ours(world, manifest, version)
    elif api_version == "v1" and kind in _CORE:
        _add_core(world, manifest)
    elif (api_version, kind) in MODELS:
        _add_surrounding(world, manifest, MODELS[api_version, kind])
    elif is_ours(manifest.object):
        _refuse_ours(world, manifest)


def _add_surrounding(world: World, manifest: Manifest, model: type[ObjectModel]) -> None:
    metadata = manifest.object.get("metadata")
    if isinstance(metadata, dict):
        metadata = placed(metadata)
    try:
        world.surroundings.append(convert(model, manifest.object | {"metadata": metadata}))
    except DecodeError as error:
        world.unread.append(_refused(manifest, str(error)))


def _add_ours(world: World, manifest: Manifest, version: KindVersion) -> None:
    admission = admit(version, manifest.object)
    if admission.findings:
        _refuse_ours(world, manifest)
        return
    stored = admission.stored
    metadata = placed(stored.get("metadata") or {})
    name = metadata.get("name")
    if not name or not isinstance(name, str):
        # What is made up by an API server (`generateName`) has none here.
        _refuse_ours(world, manifest, "metadata.name: required, but missing")
        return
    if version.model is PrometheusRule:
        metadata = {"uid": _stand_in(metadata)} | metadata
    try:
        found = typed(stored | {"metadata": metadata})
    except DecodeError as error:
        _refuse(world, manifest, str(error))
        return
    world.places[ref_of(found)] = Place(manifest.source, manifest.line, manifest.path)
    if admission.unknown:
        world.dropped[ref_of(found)] = tuple(each.path for each in admission.unknown)
    if isinstance(found, Workload):
        world.workloads.append(found)
        written = _metadata(manifest).get("managedFields")
        world.rivals[ref_of(found)] = rivals_of(written)
    elif isinstance(found, Resource):
        world.resources.append(found)


def _refuse_ours(world: World, manifest: Manifest, otherwise: str = "") -> None:
    """Leave it out, for what `lint` says of it; `otherwise` where that is nothing."""
    errors = [problem for problem in problems(manifest.object) if not problem.warning]
    said = [f"{error.path}: {error.message}" for error in errors]
    _refuse(world, manifest, *(said if said or not otherwise else [otherwise]))


def _stand_in(metadata: dict[str, Any]) -> str:
    """A UID for a PrometheusRule, as a cluster would give it one: its file is named after it.

    Without one the files of `a/b-c` and `a-b/c` would have the same name. Workloads get none, as
    a cluster deletes what belongs to an owner that it does not know.
    """
    return str(uuid5(NAMESPACE_OID, f"{metadata['namespace']}/{metadata.get('name', '')}"))


def _add_core(world: World, manifest: Manifest) -> None:
    """Take a Namespace, Secret or ConfigMap, if it is one."""
    found = manifest.object
    labels = {"metadata.labels": _metadata(manifest).get("labels")}
    tables = {field: found.get(field) for field in ("metadata", "data", "stringData")} | labels
    wrong = [field for field, value in tables.items() if not isinstance(value, dict | None)]
    if wrong:
        _refuse(world, manifest, *(f"{field}: expected an object" for field in wrong))
    else:
        _CORE[found["kind"]](world, manifest)


def _add_namespace(world: World, manifest: Manifest) -> None:
    name, _ = _identity(manifest)
    labels = _metadata(manifest).get("labels") or {}
    # The API server reads a null here as an empty string.
    world.namespaces[name] = {
        str(key): "" if value is None else str(value) for key, value in labels.items()
    } | {NAMESPACE_NAME: name}


def _add_config_map(world: World, manifest: Manifest) -> None:
    name, namespace = _identity(manifest)
    data = manifest.object.get("data") or {}
    values: dict[str, str | bytes] = {
        key: value for key, value in data.items() if isinstance(value, str)
    }
    if len(values) != len(data):
        _refuse(world, manifest, "data: a value is not a string")
    world.contents[Ref(CONFIG_MAP, namespace, name)] = values


def _add_secret(world: World, manifest: Manifest) -> None:
    name, namespace = _identity(manifest)
    values: dict[str, str | bytes] = {}
    for key, encoded in (manifest.object.get("data") or {}).items():
        try:
            values[key] = _decoded(encoded)
        except (binascii.Error, TypeError, ValueError):
            _refuse(world, manifest, f"data.{key}: not base64")
    written = manifest.object.get("stringData") or {}
    values |= {key: value for key, value in written.items() if isinstance(value, str)}
    world.contents[Ref(SECRET, namespace, name)] = values


def _decoded(encoded: Any) -> str | bytes:
    """A value of a Secret as text, and as bytes where that is impossible."""
    if not isinstance(encoded, str):
        raise TypeError
    # An API server reads past the ends of lines, as in a block of YAML.
    decoded = base64.b64decode(encoded.translate(_LINE_ENDS), validate=True)
    try:
        return decoded.decode()
    except UnicodeDecodeError:
        return decoded


_LINE_ENDS = {ord("\r"): None, ord("\n"): None}
_CORE: dict[str, Callable[[World, Manifest], None]] = {
    "Namespace": _add_namespace,
    "ConfigMap": _add_config_map,
    "Secret": _add_secret,
}


def _identity(manifest: Manifest) -> tuple[str, str]:
    metadata = placed(_metadata(manifest))
    return str(metadata.get("name") or ""), str(metadata["namespace"])


def _metadata(manifest: Manifest) -> dict[str, Any]:
    metadata = manifest.object.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _refuse(world: World, manifest: Manifest, *reasons: str) -> None:
    world.refused.append(_refused(manifest, *reasons))


def _refused(manifest: Manifest, *reasons: str) -> Refused:
    name, namespace = _identity(manifest)
    subject = f"{manifest.object.get('kind')} {namespace}/{name}"
    return Refused(manifest.source, subject, reasons, manifest.line, manifest.path)
