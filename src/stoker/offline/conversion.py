"""Manifests as `stoker convert` gives them back: monitors as ScrapeConfigs, or in other versions.

    monitors ──> consolidate ──> ScrapeConfigs ─┐
    ScrapeConfigs, AlertmanagerConfigs ─────────┴──> in the version that was asked for

Everything else is nobody's business here. A namespace that a manifest leaves out is `default`, as
everywhere offline: what a monitor scrapes depends on it.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.convert import converted
from stoker.api.core import Object
from stoker.api.crd import GROUP
from stoker.api.scrapeconfig.v1alpha1 import ScrapeConfig
from stoker.consolidate import (
    DEFAULT_TERMS,
    Inexpressible,
    Terms,
    consolidated,
    manifest_of,
    terms_of,
)
from stoker.consolidate.configs import Consolidable
from stoker.errors import FieldError, StokerError
from stoker.offline.manifests import Document, Manifest
from stoker.offline.world import World, world_of
from stoker.ref import ref_of
from stoker.select.workload import AnyPrometheus, scraper_of
from stoker.settings import Capabilities

_OLDEST: Final = "v1alpha1"
_SEVERAL_VERSIONS: Final = ("ScrapeConfig", "AlertmanagerConfig")


class Conversion(Struct, frozen=True):
    """What manifests became: objects, and lines about what stays as it is.

    `found` tells whether there was anything to convert.
    """

    objects: tuple[Object, ...]
    problems: tuple[str, ...]
    found: bool


def conversion(readings: Iterable[Document], workload: str, version: str) -> Conversion:
    """Convert all that can be converted.

    Monitors are converted for the workload of this name, or for one that asks for nothing unusual;
    StokerError where there is no such workload, or where none of its monitors can be converted.
    Without a version, only monitors are, to the oldest one.
    """
    given = list(readings)
    world = world_of(given)
    objects: list[Object] = []
    problems = [_refusal(each.source, each.subject, each.reasons) for each in world.refused]
    terms = _terms(world, workload)
    monitors = [each for each in world.resources if isinstance(each, Consolidable)]
    for monitor in monitors:
        made = consolidated(monitor, terms)
        objects += [manifest_of(_unowned(each)) for each in made.configs]
        problems += [f"{ref_of(monitor)}: {each}" for each in made.problems]
    versioned = list(_versioned(given)) if version else []
    objects += versioned
    done, failed = _in_version(objects, version or _OLDEST)
    found = bool(monitors or versioned)
    return Conversion(tuple(done), (*problems, *failed), found)


def _terms(world: World, wanted: str) -> Terms:
    if not wanted:
        return DEFAULT_TERMS
    for workload in world.workloads:
        metadata = workload.metadata
        named = (metadata.name, f"{metadata.namespace}/{metadata.name}")
        if isinstance(workload, AnyPrometheus) and wanted in named:
            return _usable_terms(workload)
    raise StokerError(f"there is no Prometheus or PrometheusAgent called {wanted}")


def _usable_terms(workload: AnyPrometheus) -> Terms:
    try:
        found = terms_of(scraper_of(workload, Capabilities()))
    except ValueError as error:
        raise FieldError("spec.version", str(error)) from None
    if isinstance(found, Inexpressible):
        raise StokerError(f"{ref_of(workload)} keeps its monitors: {found}")
    return found


def _unowned(config: ScrapeConfig) -> ScrapeConfig:
    """One that a user puts in the place of the monitor: it must not go with the monitor."""
    return replace(config, metadata=replace(config.metadata, owner_references=None))


def _versioned(readings: list[Document]) -> Iterator[Object]:
    """The objects whose kinds have several versions, less what only a cluster gives them."""
    for each in readings:
        # What has no metadata that can be read was refused in the world already.
        if not isinstance(each, Manifest) or not isinstance(each.object.get("metadata"), dict):
            continue
        group = str(each.object.get("apiVersion", "")).partition("/")[0]
        if group == GROUP and each.object.get("kind") in _SEVERAL_VERSIONS:
            yield {name: value for name, value in each.object.items() if name != "status"}


def _in_version(objects: Iterable[Object], version: str) -> tuple[list[Object], list[str]]:
    done: list[Object] = []
    failed: list[str] = []
    for each in objects:
        metadata = each["metadata"]
        title = f"{each['kind']} {metadata.get('namespace', 'default')}/{metadata.get('name')}"
        try:
            made = converted(each, f"{GROUP}/{version}")
        except FieldError as error:
            failed.append(f"{title}: {error}")
            continue
        done.append(made.object)
        failed += [f"{title}: {found.path}: {found.message}" for found in made.findings]
    return done, failed


def _refusal(source: str, subject: str, reasons: Iterable[str]) -> str:
    place = " ".join(part for part in (source, subject) if part)
    return f"{place}: {'; '.join(reasons)}"
