"""The objects that the operator would create for the workloads of a directory.

    World ──decide──> Decision ──objects_of──> objects ──> Rendered

They are complete manifests. What only a cluster knows is absent: the UIDs of owners (an object of
an owner without one would be deleted at once), which StorageClasses there are, and what the
objects held before.
"""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object, ObjectId, identity_of
from stoker.build.names import config_secret_name
from stoker.build.objects import Contents, objects_of
from stoker.build.services import shared_service
from stoker.build.site import Site
from stoker.decide import Decision, decide
from stoker.errors import WorkloadError
from stoker.generate.split import MAIN_FILE
from stoker.generate.stream import gzip_member
from stoker.offline.world import World
from stoker.select.assets import SECRET
from stoker.select.choice import UNMANAGED, is_unmanaged
from stoker.select.workload import Scraper
from stoker.settings import Capabilities, OperatorSettings

_PAUSED: Final = "spec.paused: the operator leaves its objects as they are until this is unset"


class Rendered(Struct, frozen=True):
    """What becomes of a workload; with a `problem`, or one of the decision's, no objects."""

    decision: Decision
    objects: tuple[Object, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Kind, namespace and name of the workload."""
        workload = self.decision.workload
        kind = "PrometheusAgent" if workload.agent else "Prometheus"
        return f"{kind} {workload.namespace}/{workload.name}"

    @property
    def is_faulty(self) -> bool:
        """Whether something of it, or of what it selects, is not used as it is written."""
        rejected = any(not verdict.accepted for verdict in self.decision.verdicts)
        return bool(self.problem or self.decision.problem) or rejected


def decided(
    world: World, scrapers: Iterable[Scraper], settings: OperatorSettings
) -> list[Rendered]:
    """What becomes of these workloads of the world, without their objects."""
    capabilities = Capabilities(
        topology_sharding=settings.gates["PrometheusTopologySharding"],
        shard_retention=settings.gates["PrometheusShardRetentionPolicy"],
    )
    return [
        Rendered(
            decide(each, world.resources, world.namespaces, world.assets, capabilities),
            notes=tuple(_notes(each, settings)),
        )
        for each in scrapers
    ]


def rendered(
    world: World, scrapers: Iterable[Scraper], settings: OperatorSettings
) -> list[Rendered]:
    """What becomes of these workloads of the world, and their objects, each only once."""
    scrapers = list(scrapers)
    pairs = zip(scrapers, decided(world, scrapers, settings), strict=True)
    return _distinct(_built(world, scraper, found, settings) for scraper, found in pairs)


def _built(world: World, scraper: Scraper, found: Rendered, settings: OperatorSettings) -> Rendered:
    decision = found.decision
    if decision.contents is None:
        return found
    contents = decision.contents
    if is_unmanaged(scraper, settings):
        contents = _without_configuration(world, decision, contents)
    site = Site(scraper, decision.workload, settings.objects)
    try:
        objects = objects_of(site, contents)
    except WorkloadError as error:
        return replace(found, problem=str(error))
    made = (_shared(world, site) if each["kind"] == "Service" else each for each in objects)
    return replace(found, objects=tuple(map(_applicable, made)))


def _notes(scraper: Scraper, settings: OperatorSettings) -> Iterator[str]:
    if scraper.spec.paused:
        yield _PAUSED
    if is_unmanaged(scraper, settings):
        yield UNMANAGED


def _without_configuration(world: World, decision: Decision, contents: Contents) -> Contents:
    """The user's Secret is left alone; an empty one lets the pods start until it is there."""
    workload = decision.workload
    exists = (SECRET, workload.namespace, config_secret_name(workload)) in world.contents
    return replace(contents, config_files={} if exists else {MAIN_FILE: gzip_member("")})


def _applicable(made: Object) -> Object:
    """An object that an API server takes: no owner without a UID."""
    metadata = dict(made["metadata"])
    owners = [owner for owner in metadata.pop("ownerReferences", ()) if owner["uid"]]
    return made | {"metadata": metadata | ({"ownerReferences": owners} if owners else {})}


# --- Objects of several workloads -----------------------------------------------------------------


def _shared(world: World, site: Site) -> Object:
    """The Service of the workloads of this kind and namespace."""
    own = site.owner.metadata.namespace
    sharing = (
        each
        for each in world.workloads
        if type(each) is type(site.owner) and each.metadata.namespace == own
    )
    return shared_service(sharing, site.workload.capabilities, site.settings)


_Taken: TypeAlias = dict[ObjectId, Rendered]


def _distinct(found: Iterable[Rendered]) -> list[Rendered]:
    """The same, less objects that belong to a workload before them."""
    taken: _Taken = {}
    kept = []
    for each in found:
        own = _after(each, taken)
        taken |= {identity_of(made): own for made in own.objects}
        kept.append(own)
    return kept


def _after(each: Rendered, taken: _Taken) -> Rendered:
    """A workload after others: the Service of all is there already; nothing else may be."""
    own, notes = [], list(each.notes)
    for made in each.objects:
        if identity_of(made) not in taken:
            own.append(made)
            continue
        kind, namespace, name = identity_of(made)
        other = taken[kind, namespace, name]
        if kind != "Service":
            reason = f"{kind} {namespace}/{name} is that of {other.title}: rename one of them"
            return replace(each, objects=(), problem=reason)
        notes.append(f"shares Service {namespace}/{name} with {other.title}")
    return replace(each, objects=tuple(own), notes=tuple(notes))
