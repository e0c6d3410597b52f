"""The objects that the operator would create for the workloads of a directory.

    World ──decide──> Decision ──objects_for──> objects ──> Rendered

They are complete manifests. What only a cluster knows is absent: the UIDs of owners (an object of
an owner without one would be deleted at once), which StorageClasses there are, and what the
objects held before.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stoker.api.core import Object
from stoker.consolidate import manifest_of, stand_ins_of
from stoker.errors import WorkloadError
from stoker.generate.split import MAIN_FILE
from stoker.generate.stream import gzip_member
from stoker.offline.world import World
from stoker.plan import Decision, decide, objects_for, outline_of, shared_service_of
from stoker.ref import Ref, ref_of, ref_of_manifest
from stoker.select.assets import SECRET
from stoker.select.choice import UNMANAGED, is_unmanaged
from stoker.select.workload import AnyPrometheus, Workload, scraper_of
from stoker.settings import OperatorSettings, capabilities_with

_SHARED: Final = ("Service", "ScrapeConfig")
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
        return str(ref_of(self.decision.owner))

    @property
    def is_faulty(self) -> bool:
        """Whether something of it, or of what it selects, is not used as it is written."""
        rejected = any(not verdict.accepted for verdict in self.decision.verdicts)
        return bool(self.problem or self.decision.problem) or rejected


def decided(world: World, owners: Iterable[Workload], settings: OperatorSettings) -> list[Rendered]:
    """What becomes of these workloads of the world, without their objects."""
    facts = capabilities_with(settings)
    stand_ins = stand_ins_of if settings.consolidate_monitors else None
    return [
        Rendered(
            decide(
                each, world.resources, world.namespaces, world.assets, facts, stand_ins=stand_ins
            ),
            notes=tuple(_notes(each, settings)),
        )
        for each in owners
    ]


def rendered(
    world: World, owners: Iterable[Workload], settings: OperatorSettings
) -> list[Rendered]:
    """What becomes of these workloads of the world, and their objects, each only once."""
    return _distinct(_built(world, each, settings) for each in decided(world, owners, settings))


def _built(world: World, found: Rendered, settings: OperatorSettings) -> Rendered:
    owner, contents = found.decision.owner, found.decision.contents
    if contents is None:
        return found
    if is_unmanaged(owner, settings):
        contents = _without_configuration(world, owner, contents, settings)
    try:
        objects = objects_for(owner, capabilities_with(settings), settings.objects, contents)
    except WorkloadError as error:
        return replace(found, problem=str(error))
    made = (
        _shared(world, owner, settings) if each["kind"] == "Service" else each for each in objects
    )
    both = (*made, *_scrape_configs(found.decision, settings))
    return replace(found, objects=tuple(map(_applicable, both)))


def _scrape_configs(decision: Decision, settings: OperatorSettings) -> Iterator[Object]:
    """The ScrapeConfigs that the operator would keep for the monitors of a workload."""
    owner = decision.owner
    if not settings.consolidate_monitors or not isinstance(owner, AnyPrometheus):
        return
    workload = scraper_of(owner, capabilities_with(settings))
    for verdict in decision.verdicts:
        if verdict.accepted:
            yield from map(manifest_of, stand_ins_of(verdict.resource, workload))


def _notes(owner: Workload, settings: OperatorSettings) -> Iterator[str]:
    if owner.spec.paused:
        yield _PAUSED
    if is_unmanaged(owner, settings):
        yield UNMANAGED


def _without_configuration(
    world: World, owner: Workload, contents: Any, settings: OperatorSettings
) -> Any:
    """The user's Secret is left alone; an empty one lets the pods start until it is there."""
    outline = outline_of(owner, capabilities_with(settings), settings.objects)
    exists = Ref(SECRET, outline.namespace, outline.configuration) in world.contents
    return replace(contents, config_files={} if exists else {MAIN_FILE: gzip_member("")})


def _applicable(made: Object) -> Object:
    """An object that an API server takes: no owner without a UID."""
    metadata = dict(made["metadata"])
    owners = [owner for owner in metadata.pop("ownerReferences", ()) if owner["uid"]]
    return made | {"metadata": metadata | ({"ownerReferences": owners} if owners else {})}


# --- Objects of several workloads -----------------------------------------------------------------


def _shared(world: World, owner: Workload, settings: OperatorSettings) -> Object:
    """The Service of the workloads of this kind and namespace."""
    namespace = owner.metadata.namespace
    sharing = (
        each
        for each in world.workloads
        if type(each) is type(owner) and each.metadata.namespace == namespace
    )
    return shared_service_of(sharing, capabilities_with(settings), settings.objects)


_Taken: TypeAlias = dict[Ref, Rendered]


def _distinct(found: Iterable[Rendered]) -> list[Rendered]:
    """The same, less objects that belong to a workload before them."""
    taken: _Taken = {}
    kept = []
    for each in found:
        own = _after(each, taken)
        taken |= {ref_of_manifest(made): own for made in own.objects}
        kept.append(own)
    return kept


def _after(each: Rendered, taken: _Taken) -> Rendered:
    """A workload after others: what they share is there already; nothing else may be."""
    own, notes = [], list(each.notes)
    for made in each.objects:
        if ref_of_manifest(made) not in taken:
            own.append(made)
            continue
        ref = ref_of_manifest(made)
        other = taken[ref]
        if ref.kind not in _SHARED:
            reason = f"{ref} is that of {other.title}: rename one of them"
            return replace(each, objects=(), problem=reason)
        notes.append(f"shares {ref} with {other.title}")
    return replace(each, objects=tuple(own), notes=tuple(notes))
